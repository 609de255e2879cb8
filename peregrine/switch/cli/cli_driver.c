#include "peregrine/switch/cli/cli_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

/* Some think for long about "write memory" or a configuration of thousands of lines. */
enum { CLI_DRIVER_SILENCE_MS = 30000 };

static void cli_driver_call_forget(struct cli_switch *one)
{
	cli_change_free(one->change);
	one->change = NULL;
	cli_read_free(one->read);
	one->read = NULL;
	cli_round_free(one->round);
	one->round = NULL;
	cli_mirroring_free(one->mirroring);
	one->mirroring = NULL;
	cli_lagging_free(one->lagging);
	one->lagging = NULL;
	cli_config_free(one->config);
	one->config = NULL;
	loop_timer_disarm(one->timer);
	one->fn = NULL;
}

void cli_switch_end(struct cli_switch *one, int rc, struct switch_reading *reading,
		    const struct problem *problem)
{
	switch_call_fn fn = one->fn;
	void *context = one->context;
	/* It may live in what is forgotten here. */
	struct problem copy = problem ? *problem : (struct problem){0};

	cli_driver_call_forget(one);
	fn(context, rc, reading, problem ? &copy : NULL);
}

void cli_switch_run(struct cli_switch *one, const char *command, cli_answer_fn fn, void *context)
{
	uint32_t timeout_ms =
		one->endpoint.timeout_ms ? one->endpoint.timeout_ms : one->family->timeout_ms;

	if (timeout_ms < CLI_DRIVER_SILENCE_MS)
		timeout_ms = CLI_DRIVER_SILENCE_MS;
	cli_dialogue_run(one->dialogue, command, one->deadline_ms, timeout_ms, fn, context);
}

bool cli_switch_may_repeat(struct cli_switch *one, const struct cli_answer *answer)
{
	bool again = one->again && answer->rc == E_UNAVAILABLE;

	one->again = false;
	return again;
}

int cli_switch_verdict(const struct cli_switch *one, enum cli_verdict verdict, const char *command,
		       const char *line, struct problem *ret)
{
	const char *name = one->endpoint.name;
	int rc = 0;

	switch (verdict) {
	case CLI_FINE: return 0;
	case CLI_REFUSED:
		rc = problem_set(ret, E_CONFLICT, "switch %s refused a command", name);
		problem_hint(ret, "try it by hand on the switch, it may say more");
		break;
	case CLI_BUSY:
		rc = problem_set(ret, -EBUSY, "the configuration of switch %s is held by another",
				 name);
		problem_hint(ret, "see who is logged in there; it is tried again");
		break;
	case CLI_DENIED:
		rc = problem_set(ret, E_DENIED, "switch %s does not let user %s do that", name,
				 one->endpoint.ssh_user);
		problem_hint(ret, "give the user the right to configure VLANs and ports");
		break;
	}
	problem_detail(ret, "\"%s\": %s", command, line);
	return rc;
}

/* --- looking at the configuration --- */

static void look_failed(struct cli_look *look, int rc, const char *why)
{
	struct problem problem;

	problem_set(&problem, rc, "what switch %s printed cannot be read",
		    look->one->endpoint.name);
	problem_detail(&problem, "\"%s\": %s", look->command, why);
	look->done(look->one, rc, &problem);
}

static bool may_be_empty(const struct cli_dialect *dialect, const char *output)
{
	return dialect->empty_sign && cli_pattern_matches(dialect->empty_sign, output);
}

static void cli_driver_on_look(void *context, const struct cli_answer *answer)
{
	struct cli_look *look = context;
	struct cli_switch *one = look->one;
	struct problem problem;
	char line[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc && cli_switch_may_repeat(one, answer)) {
		cli_switch_run(one, look->command, cli_driver_on_look, look);
		return;
	}
	if (answer->rc) {
		look->done(one, answer->rc, answer->problem);
		return;
	}
	one->again = false;
	/* A configuration may hold any words: only an answer of a line or two is a refusal. */
	verdict = strlen(answer->output) < 400
			  ? cli_answer_judge(one->dialect, answer->output, line, sizeof(line))
			  : CLI_FINE;
	if (verdict != CLI_FINE) {
		rc = cli_switch_verdict(one, verdict, look->command, line, &problem);
		look->done(one, rc, &problem);
		return;
	}
	rc = cli_config_read(one->config, answer->output);
	if (rc) {
		look_failed(look, rc, error_text(rc));
		return;
	}
	if (look->command == one->dialect->show_config && one->dialect->show_vlans) {
		look->command = one->dialect->show_vlans;
		cli_switch_run(one, look->command, cli_driver_on_look, look);
		return;
	}
	/* Every switch has a VLAN 1, or a port: nothing at all is an answer that was not read. */
	if (!one->config->port_count && vlan_set_is_empty(&one->config->vlans) &&
	    !may_be_empty(one->dialect, answer->output)) {
		look_failed(look, E_PROTOCOL, "no port and no VLAN in it");
		return;
	}
	look->done(one, 0, NULL);
}

static void on_no_config(void *context, const struct cli_answer *answer)
{
	struct cli_look *look = context;

	(void)answer;
	look_failed(look, -ENOMEM, "no memory");
}

void cli_look_start(struct cli_look *look, struct cli_switch *one, cli_config_fn done)
{
	*look = (struct cli_look){.one = one, .command = one->dialect->show_config, .done = done};
	cli_config_free(one->config);
	one->config = NULL;
	cli_switch_run(one, look->command,
		       cli_config_new(one->dialect, &one->config) ? on_no_config
								  : cli_driver_on_look,
		       look);
}

/* --- the driver's row --- */

static void cli_driver_on_timer(void *context)
{
	struct cli_switch *one = context;
	struct problem problem = one->early;

	cli_switch_end(one, one->early_rc, NULL, &problem);
}

static void cli_driver_one_close(void *session)
{
	struct cli_switch *one = session;

	if (!one)
		return;
	if (one->timer)
		cli_driver_call_forget(one);
	cli_dialogue_free(one->dialogue);
	loop_timer_free(one->timer);
	switch_endpoint_wipe(&one->endpoint);
	free(one);
}

int cli_switch_open_on(const struct switch_stream_row *stream,
		       const struct switch_endpoint *endpoint, const struct switch_family *family,
		       const struct switch_host *host, void **ret_session, struct problem *problem)
{
	struct cli_switch *one;
	int rc;

	if (!family->cli) {
		problem_set(problem, -EINVAL, "switch %s: no command line is known of %s",
			    endpoint->name, family->title);
		return -EINVAL;
	}
	if (!endpoint->ssh_user[0]) {
		problem_set(problem, -EINVAL, "switch %s has no SSH user", endpoint->name);
		problem_hint(problem, "give it credentials for its command line");
		return -EINVAL;
	}
	one = calloc(1, sizeof(*one));
	if (!one)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	one->endpoint = *endpoint;
	one->family = family;
	one->dialect = family->cli;
	rc = loop_timer_new(host->loop, cli_driver_on_timer, one, &one->timer);
	if (!rc)
		rc = cli_dialogue_new(host->loop, stream, &one->endpoint, one->dialect,
				      &one->dialogue);
	if (rc) {
/* The next call needs a new session: the switch still prints what this one asked. */
		problem_set(problem, rc, "no timer for a switch");
		cli_driver_one_close(one);
		return rc;
	}
	*ret_session = one;
	return 0;
}

static int cli_driver_one_open(const struct switch_endpoint *endpoint,
			       const struct switch_family *family, const struct switch_host *host,
			       void **ret_session, struct problem *problem)
{
	return cli_switch_open_on(&ssh_switch_stream, endpoint, family, host, ret_session, problem);
}

static int (*const cli_driver_starts[SWITCH_OP_COUNT])(struct cli_switch *one) = {
	[SWITCH_READ] = cli_read_start,         [SWITCH_CHANGE] = cli_change_start,
	[SWITCH_SAVE] = cli_save_start,         [SWITCH_LOCATE] = cli_locate_start,
	[SWITCH_SAMPLING] = cli_sampling_start, [SWITCH_MIRROR] = cli_mirror_start,
	[SWITCH_LAG] = cli_lag_start,
};

static int cli_driver_one_start(void *session, const struct switch_request *request,
				int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct cli_switch *one = session;
	int rc;

	one->request = request;
	one->fn = fn;
	one->context = context;
	one->deadline_ms = deadline_ms;
	one->early_rc = 0;
	one->commands_before = cli_dialogue_commands(one->dialogue);
	one->again = cli_dialogue_is_open(one->dialogue);
	rc = cli_driver_starts[request->op](one);
	if (rc)
		cli_driver_call_forget(one);
	return rc;
}

static bool cli_driver_one_cancel(void *session)
{
	struct cli_switch *one = session;

	if (!one->fn)
		return true;
	cli_driver_call_forget(one);
	/* Whatever it prints now is not for the next call. */
	cli_dialogue_break(one->dialogue);
	return true;
}

const struct switch_driver cli_switch_driver = {
	.name = "cli",
	.open = cli_driver_one_open,
	.start = cli_driver_one_start,
	.cancel = cli_driver_one_cancel,
	.close = cli_driver_one_close,
	.locates = cli_locates,
	.mirrors = true,
	.lag_name = cli_lag_names,
};
