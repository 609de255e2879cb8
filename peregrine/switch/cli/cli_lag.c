/* SWITCH_LAG: the configuration is read, lines make or unmake the aggregate, and it is read again:
 * a yes counts when it can be read. What is not so then, or was cut off in the middle, is sent once
 * more from what is there. One that was refused half made is unmade. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/cli/cli_lag_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_LAG_ROUNDS = 2 }; /* of sending, each way */

struct cli_lagging {
	struct cli_switch *one;
	const struct cli_lag *row;
	struct switch_lag lag; /* as it is asked for; its undoing when that was refused */
	struct cli_look look;
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
	cli_switch_end(lagging->one, rc, NULL, problem);
}

static void cli_lag_look(struct cli_lagging *lagging);

/* Nobody knows what is there: it is looked at, as long as there is time and a round left. */
static void cli_lag_broken(struct cli_lagging *lagging, const struct cli_answer *answer)
{
	if (lagging->rounds < CLI_LAG_ROUNDS && answer->rc == E_UNAVAILABLE &&
	    clock_monotonic_ms() < lagging->one->deadline_ms)
		cli_lag_look(lagging);
	else
		cli_lag_end(lagging, answer->rc, answer->problem);
}

/* --- sending --- */

static void cli_lag_on_left(void *context, const struct cli_answer *answer)
{
	struct cli_lagging *lagging = context;

	if (!answer->rc && answer->prompt->mode[0])
		cli_dialogue_break(lagging->one->dialogue);
	if (answer->rc)
		cli_lag_broken(lagging, answer);
	else
		cli_lag_look(lagging);
}

static void cli_lag_leave_mode(struct cli_lagging *lagging)
{
	const struct cli_dialect *dialect = lagging->one->dialect;

	if (dialect->config_enter && cli_dialogue_is_open(lagging->one->dialogue))
		cli_switch_run(lagging->one, dialect->config_leave, cli_lag_on_left, lagging);
	else
		cli_lag_look(lagging);
}

static void cli_lag_next_line(struct cli_lagging *lagging);

static void cli_lag_on_line(void *context, const struct cli_answer *answer)
{
	struct cli_lagging *lagging = context;
	struct cli_switch *one = lagging->one;
	const struct cli_line *line = &lagging->plan.lines[lagging->line];
	char said[160] = "configuration mode has ended";
	enum cli_verdict verdict;

	lagging->begun = true;
	if (answer->rc) {
		cli_lag_broken(lagging, answer);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	if (verdict == CLI_REFUSED && line->optional)
		verdict = CLI_FINE;
	lagging->line++;
	if (verdict == CLI_FINE && one->dialect->config_enter && !answer->prompt->mode[0] &&
	    lagging->line < lagging->plan.count)
		verdict = CLI_REFUSED;
	/* What is undone goes as far as it can. */
	if (verdict != CLI_FINE && !lagging->undoing) {
		lagging->rc = cli_switch_verdict(one, verdict, line->text, said, &lagging->problem);
		cli_lag_leave_mode(lagging);
		return;
	}
	cli_lag_next_line(lagging);
}

static void cli_lag_next_line(struct cli_lagging *lagging)
{
	if (lagging->line == lagging->plan.count)
		cli_lag_leave_mode(lagging);
	else
		cli_switch_run(lagging->one, lagging->plan.lines[lagging->line].text,
			       cli_lag_on_line, lagging);
}

static void cli_lag_on_entered(void *context, const struct cli_answer *answer)
{
	struct cli_lagging *lagging = context;
	struct cli_switch *one = lagging->one;
	char said[160] = "no configuration mode came of it";
	struct problem problem = {0};
	enum cli_verdict verdict;
	int rc;

	if (answer->rc) {
		cli_lag_broken(lagging, answer);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	if (verdict == CLI_REFUSED || (verdict == CLI_FINE && !answer->prompt->mode[0]))
		verdict = CLI_DENIED;
	rc = cli_switch_verdict(one, verdict, one->dialect->config_enter, said, &problem);
	if (rc)
		cli_lag_end(lagging, lagging->rc ? lagging->rc : rc,
			    lagging->rc ? &lagging->problem : &problem);
	else
		cli_lag_next_line(lagging);
}

static void cli_lag_send(struct cli_lagging *lagging)
{
	lagging->rounds++;
	lagging->line = 0;
	if (lagging->one->dialect->config_enter)
		cli_switch_run(lagging->one, lagging->one->dialect->config_enter,
			       cli_lag_on_entered, lagging);
	else
		cli_lag_next_line(lagging);
}

/* --- looking --- */

/* Yes was said, as often as it may be asked, and it is not so. */
static void say_unseen(struct cli_lagging *lagging)
{
	const struct switch_lag *lag = lagging->one->request->lag;

	lagging->rc = problem_set(
		&lagging->problem, E_PROTOCOL, "switch %s said yes, but aggregate %s is not %s",
		lagging->one->endpoint.name, lag->name, lag->make ? "made" : "unmade");
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
	cli_look_start(&lagging->look, lagging->one, cli_lag_on_config);
}

int cli_lag_start(struct cli_switch *one)
{
	const struct cli_lag *row = cli_lag_of(one->dialect);
	struct cli_lagging *lagging;

	if (!row) {
		one->early_rc = problem_set(&one->early, E_UNSUPPORTED,
					    "no aggregate is made on %s", one->family->title);
		problem_detail(&one->early, "%s", cli_lag_why_not(one->dialect));
		problem_hint(&one->early, "the operator makes it, with LACP and its fallback: "
					  "docs/switches.md, Bonds of nodes");
		loop_timer_arm(one->timer, 0);
		return 0;
	}
	lagging = calloc(1, sizeof(*lagging));
	if (!lagging)
		return -ENOMEM;
	lagging->one = one;
	lagging->row = row;
	lagging->lag = *one->request->lag;
	one->lagging = lagging;
	cli_lag_look(lagging);
	return 0;
}
