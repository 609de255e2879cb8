/* SWITCH_SAMPLING: the running configuration is read, what differs is sent, and read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/cli/cli_sampling_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_SAMPLING_ROUNDS = 3 }; /* of sending: off with what was ours, on with what is wanted */

struct cli_round {
	struct cli_switch *one;
	struct cli_plan plan;
	size_t line;
	size_t shown; /* of what shows it, so many came */
	struct text text;
	unsigned rounds;
	int rc; /* told once the configuration mode is left */
	struct problem problem;
};

void cli_round_free(struct cli_round *round)
{
	if (!round)
		return;
	cli_plan_done(&round->plan);
	text_done(&round->text);
	free(round);
}

static void cli_sampling_look(struct cli_round *round);

static void cli_sampling_on_left(void *context, const struct cli_answer *answer)
{
	struct cli_round *round = context;

	if (!answer->rc && answer->prompt->mode[0])
		cli_dialogue_break(round->one->dialogue);
	if (round->rc)
		cli_switch_end(round->one, round->rc, NULL, &round->problem);
	else if (answer->rc)
		cli_switch_end(round->one, answer->rc, NULL, answer->problem);
	else
		cli_sampling_look(round);
}

static void cli_sampling_leave(struct cli_round *round)
{
	const struct cli_dialect *dialect = round->one->dialect;

	if (dialect->config_enter)
		cli_switch_run(round->one, dialect->config_leave, cli_sampling_on_left, round);
	else
		cli_sampling_look(round);
}

static void cli_sampling_on_line(void *context, const struct cli_answer *answer)
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
	if (verdict == CLI_FINE && one->dialect->config_enter && !answer->prompt->mode[0])
		verdict = CLI_DENIED;
	round->rc = cli_switch_verdict(one, verdict, sent, said, &round->problem);
	if (round->rc && !answer->prompt->mode[0])
		cli_switch_end(one, round->rc, NULL, &round->problem);
	else if (round->rc || round->line == round->plan.count)
		cli_sampling_leave(round);
	else
		cli_switch_run(one, round->plan.lines[round->line++].text, cli_sampling_on_line,
			       round);
}

static void cli_sampling_done(struct cli_round *round, const struct sampling_found *found)
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

/* What is not shown as it is typed: turned into that, then planned on. */
static int plan_typed(struct cli_round *round, const char *text, struct sampling_found *ret)
{
	struct cli_switch *one = round->one;
	CLEANUP(text_done) struct text typed = {0};
	struct cli_sampling_about about = {.agent = one->endpoint.address, .ours = one->collector};
	int rc = one->dialect->sampling->typed(text, &typed);

	about.text = text_get(&typed);
	/* Of no port at all is an answer that was not read. */
	if (!rc && !strstr(about.text, "interface "))
		rc = E_PROTOCOL;
	return rc ? rc
		  : cli_sampling_plan(one->dialect, &about, &one->request->sampling, ret,
				      &round->plan);
}

/* 0, or why what it shows cannot be planned on. */
static int cli_sampling_make_plan(struct cli_round *round, const char *text,
				  struct sampling_found *ret)
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

static const char *cli_sampling_show_of(const struct cli_round *round)
{
	const struct cli_dialect *dialect = round->one->dialect;

	return dialect->sampling->typed ? dialect->sampling->shows[round->shown]
					: dialect->show_config;
}

/* Sends the plan, if there is one that may be sent. */
static void cli_sampling_go(struct cli_round *round, const struct sampling_found *found)
{
	struct cli_switch *one = round->one;

	if (!round->plan.count || !one->request->sampling.change ||
	    round->rounds++ == CLI_SAMPLING_ROUNDS)
		cli_sampling_done(round, found);
	else if (one->dialect->config_enter)
		cli_switch_run(one, one->dialect->config_enter, cli_sampling_on_line, round);
	else
		cli_switch_run(one, round->plan.lines[round->line++].text, cli_sampling_on_line,
			       round);
}

static void cli_sampling_show(struct cli_round *round);

static void on_text(void *context, const struct cli_answer *answer)
{
	struct cli_round *round = context;
	struct cli_switch *one = round->one;
	struct sampling_found found = {0};
	bool is_typed = one->dialect->sampling->typed != NULL;
	int rc;

	if (answer->rc && cli_switch_may_repeat(one, answer)) {
		cli_sampling_look(round);
		return;
	}
	if (answer->rc) {
		cli_switch_end(one, answer->rc, NULL, answer->problem);
		return;
	}
	one->again = false;
	text_addf(&round->text, "%s\n", answer->output);
	if (is_typed && one->dialect->sampling->shows[++round->shown]) {
		cli_sampling_show(round);
		return;
	}
	round->plan.count = round->line = 0;
	rc = round->text.failed ? -ENOMEM
	     : is_typed         ? plan_typed(round, text_get(&round->text), &found)
				: cli_sampling_make_plan(round, text_get(&round->text), &found);
	if (rc) {
		(void)problem_set(&round->problem, rc,
				  "what switch %s shows of its configuration cannot be read",
				  one->endpoint.name);
		round->shown = 0;
		problem_detail(&round->problem, "\"%s\"", cli_sampling_show_of(round));
		cli_switch_end(one, rc, NULL, &round->problem);
		return;
	}
	cli_sampling_go(round, &found);
}

static void cli_sampling_show(struct cli_round *round)
{
	cli_switch_run(round->one, cli_sampling_show_of(round), on_text, round);
}

static void cli_sampling_look(struct cli_round *round)
{
	round->shown = 0;
	text_clear(&round->text);
	cli_sampling_show(round);
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
	cli_sampling_look(one->round);
	return 0;
}
