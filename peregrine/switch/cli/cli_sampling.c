/* SWITCH_SAMPLING: the running configuration is read, what differs is sent, and read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

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

static const char *cli_sampling_next(struct cli_switch *one)
{
	const struct cli_round *round = one->round;

	return round->line < round->plan.count ? round->plan.lines[round->line].text : NULL;
}

static bool cli_sampling_answered(struct cli_switch *one, int rc, const struct problem *problem)
{
	(void)problem;
	one->round->line++;
	return !rc;
}

static void cli_sampling_ended(struct cli_switch *one, const struct cli_script_end *end)
{
	if (end->rc)
		switch_call_end(&one->call, end->rc, NULL, &end->problem);
	else
		cli_sampling_look(one->round);
}

static void cli_sampling_done(struct cli_round *round, const struct sampling_found *found)
{
	struct cli_switch *one = round->one;
	const struct sampling_wanted *wanted = &one->call.request->sampling;
	struct switch_reading reading = {.sampling = *found};

	if (found->agrees)
		(void)text_copy(one->collector, sizeof(one->collector),
				wanted->enabled ? wanted->collector : "");
	reading.requests = cli_dialogue_commands(one->dialogue) - one->call.requests_before;
	switch_call_end(&one->call, 0, &reading, NULL);
}

/* What is not shown as it is typed: turned into that, then planned on. */
static int plan_typed(struct cli_round *round, const char *text, struct sampling_found *ret)
{
	struct cli_switch *one = round->one;
	CLEANUP(text_done) struct text typed = {0};
	struct cli_sampling_about about = {.agent = one->call.endpoint.address,
					   .ours = one->collector};
	int rc = one->dialect->sampling->typed(text, &typed);

	about.text = text_get(&typed);
	/* Of no port at all is an answer that was not read. */
	if (!rc && !strstr(about.text, "interface "))
		rc = E_PROTOCOL;
	return rc ? rc
		  : cli_sampling_plan(one->dialect, &about, &one->call.request->sampling, ret,
				      &round->plan);
}

/* 0, or why what it shows cannot be planned on. */
static int cli_sampling_make_plan(struct cli_round *round, const char *text,
				  struct sampling_found *ret)
{
	struct cli_switch *one = round->one;
	struct cli_sampling_about about = {
		.text = text, .agent = one->call.endpoint.address, .ours = one->collector};
	struct cli_config *config = NULL;
	int rc = cli_config_new(one->dialect, &config);

	if (!rc)
		rc = cli_config_read(config, text);
	/* Nothing at all is an answer that was not read. */
	if (!rc && !config->port_count)
		rc = E_PROTOCOL;
	about.config = config;
	if (!rc)
		rc = cli_sampling_plan(one->dialect, &about, &one->call.request->sampling, ret,
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
	static const struct cli_script_row row = {
		.next = cli_sampling_next,
		.answered = cli_sampling_answered,
		.ended = cli_sampling_ended,
	};
	struct cli_switch *one = round->one;

	if (!round->plan.count || !one->call.request->sampling.change ||
	    round->rounds++ == CLI_SAMPLING_ROUNDS)
		cli_sampling_done(round, found);
	else
		cli_script_start(one, &row);
}

static void cli_sampling_show(struct cli_round *round);

static void on_text(struct cli_switch *one, int rc, const char *output,
		    const struct problem *problem)
{
	struct cli_round *round = one->round;
	struct sampling_found found = {0};
	struct problem unread = {0};
	bool is_typed = one->dialect->sampling->typed != NULL;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	text_addf(&round->text, "%s\n", output);
	if (is_typed && one->dialect->sampling->shows[++round->shown]) {
		cli_sampling_show(round);
		return;
	}
	round->plan.count = round->line = 0;
	rc = round->text.failed ? -ENOMEM
	     : is_typed         ? plan_typed(round, text_get(&round->text), &found)
				: cli_sampling_make_plan(round, text_get(&round->text), &found);
	if (rc) {
		(void)problem_set(&unread, rc, "the configuration of switch %s cannot be parsed",
				  one->call.endpoint.name);
		round->shown = 0;
		problem_detail(&unread, "\"%s\"", cli_sampling_show_of(round));
		switch_call_end(&one->call, rc, NULL, &unread);
		return;
	}
	cli_sampling_go(round, &found);
}

static void cli_sampling_show(struct cli_round *round)
{
	cli_switch_show(round->one, cli_sampling_show_of(round), on_text);
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
		(void)problem_set(&one->call.early, E_UNSUPPORTED,
				  "sampling of switch %s cannot be set up by its command line",
				  one->call.endpoint.name);
		problem_hint(&one->call.early,
			     "set sFlow up by hand; its samples are then accepted");
		return E_UNSUPPORTED;
	}
	one->round = calloc(1, sizeof(*one->round));
	if (!one->round)
		return -ENOMEM;
	one->round->one = one;
	cli_sampling_look(one->round);
	return 0;
}
