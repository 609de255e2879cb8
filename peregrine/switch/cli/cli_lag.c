/* SWITCH_LAG: the configuration is read, lines make or unmake the aggregate, and it is read again:
 * a yes counts when it can be read. What is not so then, or was cut off in the middle, is sent once
 * more from what is there. One that was refused half made is unmade. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_lag_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_LAG_ROUNDS = 2 }; /* of sending, each way */

struct cli_lagging {
	struct cli_switch *one;
	const struct cli_lag *row;
	struct switch_lag lag; /* as it is asked for; its undoing when that was refused */
	struct cli_plan plan;
	size_t line; /* under way */
	unsigned rounds;
	bool begun;   /* lines were sent */
	bool undoing; /* `problem` is why */
	int rc;       /* of this round, told once the configuration mode is left */
	struct problem problem;
};

void cli_lagging_free(struct cli_lagging *lagging)
{
	if (!lagging)
		return;
	cli_plan_done(&lagging->plan);
	free(lagging);
}

bool cli_lag_names(const struct switch_family *family, unsigned number, char ret[64])
{
	const struct cli_lag *row = family->cli ? cli_lag_of(family->cli) : NULL;

	return row && cli_lag_name(row, number, ret);
}

static void cli_lag_end(struct cli_lagging *lagging, int rc, const struct problem *problem)
{
	switch_call_end(&lagging->one->call, rc, NULL, problem);
}

/* --- sending --- */

static void cli_lag_look(struct cli_lagging *lagging);

static const char *cli_lag_next(struct cli_switch *one)
{
	const struct cli_lagging *lagging = one->lagging;

	return lagging->line < lagging->plan.count ? lagging->plan.lines[lagging->line].text : NULL;
}

/* What is undone goes as far as it can. */
static bool cli_lag_answered(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_lagging *lagging = one->lagging;
	const struct cli_line *line = &lagging->plan.lines[lagging->line++];

	lagging->begun = true;
	if (!rc || (rc == E_CONFLICT && line->optional) || lagging->undoing)
		return true;
	lagging->rc = rc;
	lagging->problem = *problem;
	return false;
}

/* After a break nobody knows what is there: it is looked at, as long as there is time and a round
 * left. */
static void cli_lag_ended(struct cli_switch *one, const struct cli_script_end *end)
{
	struct cli_lagging *lagging = one->lagging;
	bool again = lagging->rounds < CLI_LAG_ROUNDS && end->lost == E_UNAVAILABLE &&
		     clock_monotonic_ms() < one->call.deadline_ms;

	lagging->begun |= end->stage == CLI_SCRIPT_SENDING;
	if ((end->lost && !again) || (!end->lost && end->stage == CLI_SCRIPT_ENTERING))
		cli_lag_end(lagging, lagging->rc ? lagging->rc : end->rc,
			    lagging->rc ? &lagging->problem : &end->problem);
	else
		cli_lag_look(lagging);
}

static void cli_lag_send(struct cli_lagging *lagging)
{
	static const struct cli_script_row row = {
		.next = cli_lag_next,
		.answered = cli_lag_answered,
		.ended = cli_lag_ended,
	};

	lagging->rounds++;
	lagging->line = 0;
	cli_script_start(lagging->one, &row);
}

/* --- looking --- */

/* Yes was said, as often as it may be asked, and it is not so. */
static void say_unseen(struct cli_lagging *lagging)
{
	const struct switch_lag *lag = lagging->one->call.request->lag;

	lagging->rc = problem_set(&lagging->problem, E_PROTOCOL,
				  "switch %s accepted the commands, but aggregate %s is not %s",
				  lagging->one->call.endpoint.name, lag->name,
				  lag->make ? "made" : "unmade");
	problem_detail(&lagging->problem,
		       "its configuration shows other members, or another VLAN of them, than sent");
	problem_hint(&lagging->problem, "look at the aggregate on the switch");
}

static void cli_lag_go_on(struct cli_lagging *lagging)
{
	struct problem problem = {0};
	int rc;

	cli_plan_done(&lagging->plan);
	rc = cli_lag_plan(lagging->row, lagging->one->config, &lagging->lag, lagging->begun,
			  &lagging->plan, &problem);
	if (rc == 0 && lagging->plan.count > 0) {
		cli_lag_send(lagging);
		return;
	}
	if (rc == 0 && lagging->begun && !lagging->rc)
		say_unseen(lagging);
	if (lagging->rc)
		cli_lag_end(lagging, lagging->rc, &lagging->problem);
	else
		cli_lag_end(lagging, rc, rc ? &problem : NULL);
}

static void cli_lag_on_config(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_lagging *lagging = one->lagging;

	if (rc) {
		cli_lag_end(lagging, lagging->rc ? lagging->rc : rc,
			    lagging->rc ? &lagging->problem : problem);
		return;
	}
	if (lagging->begun && !lagging->rc) {
		if (cli_lag_holds(lagging->row, one->config, &lagging->lag)) {
			cli_lag_end(lagging, 0, NULL);
			return;
		}
		if (lagging->rounds == CLI_LAG_ROUNDS)
			say_unseen(lagging);
	}
	if (lagging->rc && !lagging->undoing && lagging->lag.make) {
		lagging->undoing = true;
		lagging->lag.make = false;
		lagging->rounds = 0;
	} else if (lagging->rc && (!lagging->undoing || lagging->rounds == CLI_LAG_ROUNDS)) {
		cli_lag_end(lagging, lagging->rc, &lagging->problem);
		return;
	}
	cli_lag_go_on(lagging);
}

static void cli_lag_look(struct cli_lagging *lagging)
{
	cli_look_start(lagging->one, cli_lag_on_config);
}

int cli_lag_start(struct cli_switch *one)
{
	const struct cli_lag *row = cli_lag_of(one->dialect);
	struct cli_lagging *lagging;

	if (!row) {
		(void)problem_set(&one->call.early, E_UNSUPPORTED, "no aggregate is made on %s",
				  one->call.family->title);
		problem_detail(&one->call.early, "%s", cli_lag_why_not(one->dialect));
		problem_hint(&one->call.early, "the operator makes it, with LACP and its fallback: "
					       "docs/switches.md, Bonds of nodes");
		return E_UNSUPPORTED;
	}
	lagging = calloc(1, sizeof(*lagging));
	if (!lagging)
		return -ENOMEM;
	lagging->one = one;
	lagging->row = row;
	lagging->lag = *one->call.request->lag;
	one->lagging = lagging;
	cli_lag_look(lagging);
	return 0;
}
