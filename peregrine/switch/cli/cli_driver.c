#include "peregrine/switch/cli/cli_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

/* Some think for long about "write memory" or a configuration of thousands of lines. */
enum { CLI_DRIVER_SILENCE_MS = 30000 };

static void cli_driver_forget(void *session)
{
	struct cli_switch *one = session;

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
}

static const struct switch_call_row cli_driver_call = {.forget = cli_driver_forget};

void cli_switch_run(struct cli_switch *one, const char *command, cli_answer_fn fn, void *context)
{
	uint32_t timeout_ms = switch_call_timeout_ms(&one->call);

	if (timeout_ms < CLI_DRIVER_SILENCE_MS)
		timeout_ms = CLI_DRIVER_SILENCE_MS;
	cli_dialogue_guard(one->dialogue, one->call.request->fence);
	cli_dialogue_run(one->dialogue, command, one->call.deadline_ms, timeout_ms, fn, context);
}

int cli_switch_verdict(const struct cli_switch *one, enum cli_verdict verdict, const char *command,
		       const char *line, struct problem *ret)
{
	const char *name = one->call.endpoint.name;
	int rc = 0;

	switch (verdict) {
	case CLI_FINE: return 0;
	case CLI_REFUSED:
		rc = problem_set(ret, E_CONFLICT, "switch %s refused a command", name);
		problem_hint(ret, "try it by hand on the switch, it may say more");
		break;
	case CLI_BUSY:
		rc = problem_set(ret, -EBUSY,
				 "the configuration of switch %s is locked by another session",
				 name);
		problem_hint(ret, "see who is logged in there; it is tried again");
		break;
	case CLI_DENIED:
		rc = problem_set(ret, E_DENIED, "switch %s does not let user %s do that", name,
				 one->call.endpoint.ssh_user);
		problem_hint(ret, "give the user the right to configure VLANs and ports");
		break;
	}
	problem_detail(ret, "\"%s\": %s", command, line);
	return rc;
}

/* --- looking --- */

static void cli_driver_on_shown(void *context, const struct cli_answer *answer)
{
	struct cli_switch *one = context;
	struct problem problem = {0};
	char line[160];
	enum cli_verdict verdict = CLI_FINE;
	int rc;

	if (answer->rc && switch_call_may_repeat(&one->call, answer->rc)) {
		cli_switch_show(one, one->shown_by, one->shown);
		return;
	}
	if (answer->rc) {
		one->shown(one, answer->rc, "", answer->problem);
		return;
	}
	one->call.again = false;
	/* A configuration may hold any words: only an answer of a line or two is a refusal. */
	if (strlen(answer->output) < 400)
		verdict = cli_answer_judge(one->dialect, answer->output, line, sizeof(line));
	rc = cli_switch_verdict(one, verdict, one->shown_by, line, &problem);
	one->shown(one, rc, rc ? "" : answer->output, &problem);
}

void cli_switch_show(struct cli_switch *one, const char *command, cli_shown_fn shown)
{
	one->shown_by = command;
	one->shown = shown;
	cli_switch_run(one, command, cli_driver_on_shown, one);
}

static void look_failed(struct cli_switch *one, int rc, const char *why)
{
	struct problem problem;

	problem_set(&problem, rc, "the output of switch %s cannot be parsed",
		    one->call.endpoint.name);
	problem_detail(&problem, "\"%s\": %s", one->shown_by, why);
	one->looked(one, rc, &problem);
}

static bool may_be_empty(const struct cli_dialect *dialect, const char *output)
{
	return dialect->empty_sign && cli_pattern_matches(dialect->empty_sign, output);
}

static void cli_driver_on_look(struct cli_switch *one, int rc, const char *output,
			       const struct problem *problem)
{
	const struct cli_dialect *dialect = one->dialect;

	if (rc) {
		one->looked(one, rc, problem);
		return;
	}
	rc = one->config ? 0 : cli_config_new(dialect, &one->config);
	if (!rc)
		rc = cli_config_read(one->config, output);
	if (rc) {
		look_failed(one, rc, error_text(rc));
		return;
	}
	if (one->shown_by == dialect->show_config && dialect->show_vlans) {
		cli_switch_show(one, dialect->show_vlans, cli_driver_on_look);
		return;
	}
	/* Every switch has a VLAN 1, or a port: nothing at all is an answer that was not read. */
	if (!one->config->port_count && vlan_set_is_empty(&one->config->vlans) &&
	    !may_be_empty(dialect, output)) {
		look_failed(one, E_PROTOCOL, "no port and no VLAN in it");
		return;
	}
	one->looked(one, 0, NULL);
}

void cli_look_start(struct cli_switch *one, cli_config_fn looked)
{
	cli_config_free(one->config);
	one->config = NULL;
	one->looked = looked;
	cli_switch_show(one, one->dialect->show_config, cli_driver_on_look);
}

/* --- the driver's row --- */

static void cli_driver_one_close(void *session)
{
	struct cli_switch *one = session;

	if (!one)
		return;
	switch_call_close(&one->call);
	cli_dialogue_free(one->dialogue);
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
	one->dialect = family->cli;
	rc = switch_call_open(&one->call, &cli_driver_call, host->loop, endpoint, family, problem);
	if (!rc &&
	    cli_dialogue_new(host->loop, stream, &one->call.endpoint, one->dialect, &one->dialogue))
		rc = problem_set(problem, -ENOMEM, "no memory for a switch");
	if (rc) {
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
	[SWITCH_LAG] = cli_lag_start,           [SWITCH_APART] = cli_apart_start,
};

static int cli_driver_one_start(void *session, const struct switch_request *request,
				int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct cli_switch *one = session;

	switch_call_begin(&one->call, request, deadline_ms, fn, context);
	one->call.requests_before = cli_dialogue_commands(one->dialogue);
	one->call.again = cli_dialogue_is_open(one->dialogue);
	return switch_call_begun(&one->call, cli_driver_starts[request->op](one));
}

/* The next call needs a new session: the switch still prints what this one asked. */
static bool cli_driver_one_cancel(void *session)
{
	struct cli_switch *one = session;

	if (switch_call_forget(&one->call))
		cli_dialogue_break(one->dialogue);
	return true;
}

const struct switch_driver cli_switch_driver = {
	.name = "cli",
	.locks_out = true,
	.open = cli_driver_one_open,
	.start = cli_driver_one_start,
	.cancel = cli_driver_one_cancel,
	.close = cli_driver_one_close,
	.locates = cli_locates,
	.mirrors = true,
	.lag_name = cli_lag_names,
};
