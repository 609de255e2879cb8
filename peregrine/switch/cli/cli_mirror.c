/* SWITCH_MIRROR: what there is is read, lines make it what is wanted, and it is read again. Whoever
 * asks, asks again when the session ends in between: it states the whole. It is not saved: a switch
 * that starts anew mirrors nothing. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/cli/cli_mirror_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

struct cli_mirroring {
	struct cli_switch *one;
	const struct cli_mirror *row;
	struct cli_mirror_want want;
	struct cli_mirrors there;
	struct cli_mirror_plan plan;
	size_t line;
	bool changed; /* lines were sent: it is read again */
	bool undoing; /* a session that was half made is ended; `rc` is why */
	int rc;       /* how it ends once the configuration mode is left */
	struct problem problem;
};

void cli_mirroring_free(struct cli_mirroring *mirroring)
{
	free(mirroring);
}

static void cli_mirror_end(struct cli_mirroring *mirroring, int rc, const struct problem *problem)
{
	cli_switch_end(mirroring->one, rc, NULL, problem);
}

static void cli_mirror_look(struct cli_mirroring *mirroring);
static void cli_mirror_enter_mode(struct cli_mirroring *mirroring);

/* --- leaving, reading back --- */

static void cli_mirror_on_left(void *context, const struct cli_answer *answer)
{
	struct cli_mirroring *mirroring = context;

	if (!answer->rc && answer->prompt->mode[0])
		cli_dialogue_break(mirroring->one->dialogue);
	if (mirroring->rc && mirroring->plan.opened && !answer->rc) {
		mirroring->undoing = true;
		mirroring->line = 0;
		cli_mirror_plan_undo(mirroring->row, mirroring->want.target, &mirroring->plan);
		cli_mirror_enter_mode(mirroring);
	} else if (mirroring->rc) {
		cli_mirror_end(mirroring, mirroring->rc, &mirroring->problem);
	} else if (answer->rc) {
		cli_mirror_end(mirroring, answer->rc, answer->problem);
	} else {
		cli_mirror_look(mirroring);
	}
}

static void cli_mirror_leave(struct cli_mirroring *mirroring)
{
	const struct cli_dialect *dialect = mirroring->one->dialect;

	if (dialect->config_enter && cli_dialogue_is_open(mirroring->one->dialogue))
		cli_switch_run(mirroring->one, dialect->config_leave, cli_mirror_on_left,
			       mirroring);
	else if (mirroring->rc)
		cli_mirror_end(mirroring, mirroring->rc, &mirroring->problem);
	else
		cli_mirror_look(mirroring);
}

/* Each port by itself: one that the switch does not take does not end the others. */
static void cli_mirror_verify(struct cli_mirroring *mirroring)
{
	const struct switch_request *request = mirroring->one->request;
	const char *name = mirroring->one->endpoint.name;
	size_t taken = 0;

	for (size_t i = 0; i < request->mirror_count; i++) {
		bool holds = cli_mirror_holds(mirroring->row, &mirroring->there,
					      request->mirrors[i].port, &mirroring->want);

		request->results[i] = holds ? EDIT_TAKEN : EDIT_REFUSED;
		taken += holds;
	}
	if (cli_mirror_has_more(mirroring->row, &mirroring->there, &mirroring->want)) {
		(void)problem_set(&mirroring->problem, E_PROTOCOL,
				  "switch %s said yes, but a mirror session is still there", name);
		problem_hint(&mirroring->problem, "end the session to %s on the switch",
			     mirroring->want.target);
		cli_mirror_end(mirroring, E_PROTOCOL, &mirroring->problem);
	} else if (request->mirror_count > 0 && taken == 0) {
		if (!problem_is_set(&mirroring->problem)) {
			(void)problem_set(&mirroring->problem, E_CONFLICT,
					  "switch %s said yes, but does not mirror", name);
			problem_hint(&mirroring->problem, "look at its mirror sessions there");
		}
		cli_mirror_end(mirroring, E_CONFLICT, &mirroring->problem);
	} else {
		cli_mirror_end(mirroring, 0, NULL);
	}
}

/* --- sending --- */

static void cli_mirror_next_line(struct cli_mirroring *mirroring);

static void cli_mirror_on_line(void *context, const struct cli_answer *answer)
{
	struct cli_mirroring *mirroring = context;
	struct cli_switch *one = mirroring->one;
	const struct cli_mirror_line *line = &mirroring->plan.lines[mirroring->line];
	struct problem problem = {0};
	char said[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc) {
		cli_mirror_end(mirroring, answer->rc, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	rc = cli_switch_verdict(one, verdict, line->text, said, &problem);
	if (rc && !problem_is_set(&mirroring->problem))
		mirroring->problem = problem;
	if (!mirroring->undoing && rc && (rc != E_CONFLICT || line->mirror == SIZE_MAX)) {
		mirroring->rc = rc;
		cli_mirror_leave(mirroring);
		return;
	}
	mirroring->line++;
	/* One more "exit" would end the session. */
	if (one->dialect->config_enter && !answer->prompt->mode[0] &&
	    mirroring->line < mirroring->plan.count) {
		if (!mirroring->rc)
			mirroring->rc = problem_set(&mirroring->problem, E_PROTOCOL,
						    "switch %s left configuration mode",
						    one->endpoint.name);
		mirroring->line = mirroring->plan.count;
	}
	cli_mirror_next_line(mirroring);
}

static void cli_mirror_next_line(struct cli_mirroring *mirroring)
{
	if (mirroring->line == mirroring->plan.count)
		cli_mirror_leave(mirroring);
	else
		cli_switch_run(mirroring->one, mirroring->plan.lines[mirroring->line].text,
			       cli_mirror_on_line, mirroring);
}

static void cli_mirror_on_entered(void *context, const struct cli_answer *answer)
{
	struct cli_mirroring *mirroring = context;
	struct cli_switch *one = mirroring->one;
	char said[160] = "no configuration mode came of it";
	enum cli_verdict verdict;

	if (answer->rc) {
		cli_mirror_end(mirroring, answer->rc, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	if (verdict == CLI_REFUSED || (verdict == CLI_FINE && !answer->prompt->mode[0]))
		verdict = CLI_DENIED;
	if (mirroring->undoing && verdict == CLI_FINE) {
		cli_mirror_next_line(mirroring);
		return;
	}
	if (mirroring->undoing) {
		cli_mirror_leave(mirroring);
		return;
	}
	mirroring->rc = cli_switch_verdict(one, verdict, one->dialect->config_enter, said,
					   &mirroring->problem);
	if (!mirroring->rc)
		cli_mirror_next_line(mirroring);
	else if (answer->prompt->mode[0])
		cli_mirror_leave(mirroring);
	else
		cli_mirror_end(mirroring, mirroring->rc, &mirroring->problem);
}

static void cli_mirror_enter_mode(struct cli_mirroring *mirroring)
{
	if (mirroring->one->dialect->config_enter)
		cli_switch_run(mirroring->one, mirroring->one->dialect->config_enter,
			       cli_mirror_on_entered, mirroring);
	else
		cli_mirror_next_line(mirroring);
}

static void cli_mirror_send(struct cli_mirroring *mirroring)
{
	int rc = cli_mirror_plan_make(mirroring->row, &mirroring->there, &mirroring->want,
				      &mirroring->plan, &mirroring->problem);

	if (rc) {
		cli_mirror_end(mirroring, rc, &mirroring->problem);
		return;
	}
	if (mirroring->plan.count == 0) {
		cli_mirror_verify(mirroring);
		return;
	}
	mirroring->changed = true;
	cli_mirror_enter_mode(mirroring);
}

/* --- looking --- */

static const char *cli_mirror_show_of(const struct cli_mirroring *mirroring)
{
	return mirroring->row->show ? mirroring->row->show : mirroring->one->dialect->show_config;
}

static void cli_mirror_on_looked(void *context, const struct cli_answer *answer)
{
	struct cli_mirroring *mirroring = context;
	struct cli_switch *one = mirroring->one;
	struct problem problem = {0};
	char said[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc && cli_switch_may_repeat(one, answer)) {
		cli_switch_run(one, cli_mirror_show_of(mirroring), cli_mirror_on_looked, mirroring);
		return;
	}
	if (answer->rc) {
		cli_mirror_end(mirroring, answer->rc, answer->problem);
		return;
	}
	one->again = false;
	/* A configuration may hold any words: only an answer of a line or two is a refusal. */
	verdict = strlen(answer->output) < 400
			  ? cli_answer_judge(one->dialect, answer->output, said, sizeof(said))
			  : CLI_FINE;
	rc = cli_switch_verdict(one, verdict, cli_mirror_show_of(mirroring), said, &problem);
	if (rc) {
		cli_mirror_end(mirroring, rc, &problem);
		return;
	}
	rc = cli_mirrors_read(mirroring->row, answer->output, &mirroring->there);
	if (rc) {
		(void)problem_set(&problem, rc, "switch %s has more mirror sessions than that",
				  one->endpoint.name);
		cli_mirror_end(mirroring, rc, &problem);
	} else if (mirroring->changed) {
		cli_mirror_verify(mirroring);
	} else {
		cli_mirror_send(mirroring);
	}
}

static void cli_mirror_look(struct cli_mirroring *mirroring)
{
	cli_switch_run(mirroring->one, cli_mirror_show_of(mirroring), cli_mirror_on_looked,
		       mirroring);
}

int cli_mirror_start(struct cli_switch *one)
{
	const struct switch_request *request = one->request;
	const struct switch_tunnel *tunnel = request->tunnel.to[0] ? &request->tunnel : NULL;
	const struct cli_mirror *row =
		tunnel ? cli_erspan_of(one->dialect) : cli_mirror_of(one->dialect);
	struct cli_mirroring *mirroring;

	for (size_t i = 0; i < request->mirror_count; i++)
		request->results[i] = EDIT_NOT_TRIED;
	if (!row) {
		one->early_rc =
			problem_set(&one->early, E_UNSUPPORTED,
				    tunnel ? "no session of %s is known that it sends itself"
					   : "no mirror session of %s is known",
				    one->family->title);
		problem_hint(&one->early,
			     tunnel ? "name a port of the switch instead: haasctl capture point %s "
				      "--port PORT --interface INTERFACE"
				    : "mirror the port of %s by hand to where the collector is, "
				      "and capture there",
			     one->endpoint.name);
		loop_timer_arm(one->timer, 0);
		return 0;
	}
	mirroring = calloc(1, sizeof(*mirroring));
	if (!mirroring)
		return -ENOMEM;
	mirroring->one = one;
	mirroring->row = row;
	mirroring->want = (struct cli_mirror_want){
		.mirrors = request->mirrors,
		.count = request->mirror_count,
		.target = request->mirror_count > 0 ? request->mirrors[0].target : request->port,
		.tunnel = tunnel};
	one->mirroring = mirroring;
	cli_mirror_look(mirroring);
	return 0;
}
