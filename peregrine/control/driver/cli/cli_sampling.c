/* SWITCH_SAMPLING: the running configuration is read, what differs is sent, and read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/control/driver/cli/cli_sampling_policy.h"
#include "peregrine/control/driver/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { ROUNDS = 3 }; /* of sending: off with what was ours, on with what is wanted */

struct cli_round {
	struct cli_switch *one;
	struct cli_plan plan;
	size_t line;
	unsigned rounds;
	int rc; /* told once the configuration mode is left */
	struct problem problem;
};

void cli_round_free(struct cli_round *round)
{
	if (!round)
		return;
	cli_plan_done(&round->plan);
	free(round);
}

static void look(struct cli_round *round);

static void on_left(void *context, const struct cli_answer *answer)
{
	struct cli_round *round = context;

	if (!answer->rc && answer->prompt->mode[0])
		cli_dialogue_break(round->one->dialogue);
	if (round->rc)
		cli_switch_end(round->one, round->rc, NULL, &round->problem);
	else if (answer->rc)
		cli_switch_end(round->one, answer->rc, NULL, answer->problem);
	else
		look(round);
}

static void on_line(void *context, const struct cli_answer *answer)
{
	struct cli_round *round = context;
	struct cli_switch *one = round->one;
	const char *sent =
		round->line ? round->plan.lines[round->line - 1].text : one->dialect->config_enter;
	char said[160] = "no configuration mode came of it";
	enum cli_verdict verdict;

	if (answer->rc) {
		cli_switch_end(one, answer->rc, NULL, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	if (verdict == CLI_FINE && !answer->prompt->mode[0])
		verdict = CLI_DENIED;
	round->rc = cli_switch_verdict(one, verdict, sent, said, &round->problem);
	if (round->rc && !answer->prompt->mode[0])
		cli_switch_end(one, round->rc, NULL, &round->problem);
	else if (round->rc || round->line == round->plan.count)
		cli_switch_run(one, one->dialect->config_leave, on_left, round);
	else
		cli_switch_run(one, round->plan.lines[round->line++].text, on_line, round);
}

static void done(struct cli_round *round, const struct sampling_found *found)
{
	struct cli_switch *one = round->one;
	const struct sampling_wanted *wanted = &one->request->sampling;
	struct switch_reading reading = {.sampling = *found};

	if (found->agrees)
		(void)text_copy(one->collector, sizeof(one->collector),
				wanted->enabled ? wanted->collector : "");
	reading.requests = cli_dialogue_commands(one->dialogue) - one->commands_before;
	cli_switch_end(one, 0, &reading, NULL);
}

/* 0, or why what it shows cannot be planned on. */
static int plan(struct cli_round *round, const char *text, struct sampling_found *ret)
{
	struct cli_switch *one = round->one;
	struct cli_sampling_about about = {
		.text = text, .agent = one->endpoint.address, .ours = one->collector};
	struct cli_config *config = NULL;
	int rc = cli_config_new(one->dialect, &config);

	if (!rc)
		rc = cli_config_read(config, text);
	/* Nothing at all is an answer that was not read. */
	if (!rc && !config->port_count)
		rc = E_PROTOCOL;
	about.config = config;
	if (!rc)
		rc = cli_sampling_plan(one->dialect, &about, &one->request->sampling, ret,
				       &round->plan);
	cli_config_free(config);
	return rc;
}

static void on_text(void *context, const struct cli_answer *answer)
{
	struct cli_round *round = context;
	struct cli_switch *one = round->one;
	struct sampling_found found = {0};
	int rc;

	if (answer->rc && cli_switch_may_repeat(one, answer)) {
		look(round);
		return;
	}
	if (answer->rc) {
		cli_switch_end(one, answer->rc, NULL, answer->problem);
		return;
	}
	one->again = false;
	round->plan.count = round->line = 0;
	rc = plan(round, answer->output, &found);
	if (rc) {
		(void)problem_set(&round->problem, rc,
				  "what switch %s shows of its configuration cannot be read",
				  one->endpoint.name);
		problem_detail(&round->problem, "\"%s\"", one->dialect->show_config);
		cli_switch_end(one, rc, NULL, &round->problem);
		return;
	}
	if (!round->plan.count || !one->request->sampling.change || round->rounds++ == ROUNDS)
		done(round, &found);
	else
		cli_switch_run(one, one->dialect->config_enter, on_line, round);
}

static void look(struct cli_round *round)
{
	cli_switch_run(round->one, round->one->dialect->show_config, on_text, round);
}

int cli_sampling_start(struct cli_switch *one)
{
	if (!one->dialect->sampling) {
		one->early_rc =
			problem_set(&one->early, E_UNSUPPORTED,
				    "sampling of switch %s cannot be set up by its command line",
				    one->endpoint.name);
		problem_hint(&one->early, "set sFlow up by hand; what it then sends is taken");
		loop_timer_arm(one->timer, 0);
		return 0;
	}
	one->round = calloc(1, sizeof(*one->round));
	if (!one->round)
		return -ENOMEM;
	one->round->one = one;
	look(one->round);
	return 0;
}
