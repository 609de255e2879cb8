/* SWITCH_CHANGE and SWITCH_SAVE. A batch reads the configuration, sends the lines of each edit,
 * reads again and compares; what a family did not do as meant (a VLAN that stayed behind) is
 * planned once more from what is there now. No edit is taken that cannot be seen, also where a
 * later one was refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_CHANGE_ROUNDS = 2 };

struct cli_change {
	struct cli_switch *one;
	struct cli_look look;
	unsigned round;
	size_t edit; /* under way */
	struct cli_plan plan;
	size_t line;  /* of the plan */
	bool changed; /* something of this edit was taken */
	int rc;       /* how it ends once the configuration mode is left */
	struct problem problem;
};

void cli_change_free(struct cli_change *change)
{
	if (!change)
		return;
	cli_plan_done(&change->plan);
	free(change);
}

static void cli_change_end(struct cli_change *change, int rc, const struct problem *problem)
{
	cli_switch_end(change->one, rc, NULL, problem);
}

/* The switch cannot be asked any more, and may have started anew: what it said yes to and nobody
 * has seen may be gone. */
static void end_unseen(struct cli_change *change, int rc, const struct problem *problem)
{
	const struct switch_request *request = change->one->request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == EDIT_TAKEN)
			request->results[i] = EDIT_UNKNOWN;
	}
	cli_change_end(change, rc, problem);
}

static enum edit_result *result_of(const struct cli_change *change)
{
	return &change->one->request->results[change->edit];
}

static bool has_taken(const struct cli_change *change)
{
	const struct switch_request *request = change->one->request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == EDIT_TAKEN)
			return true;
	}
	return false;
}

/* --- sending --- */

static void cli_change_verify(struct cli_change *change);
static void verify_part(struct cli_change *change);

/* It was refused. What was said yes to before that is looked at, like all that is taken. */
static void end_refused(struct cli_change *change)
{
	if (has_taken(change))
		verify_part(change);
	else
		cli_change_end(change, change->rc, &change->problem);
}

static void cli_change_on_left(void *context, const struct cli_answer *answer)
{
	struct cli_change *change = context;

	/* Half a configuration session is worth nothing to the next call: a new one then. */
	if (!answer->rc && answer->prompt->mode[0])
		cli_dialogue_break(change->one->dialogue);
	if (change->rc && answer->rc)
		end_unseen(change, change->rc, &change->problem);
	else if (change->rc)
		end_refused(change);
	else if (answer->rc)
		end_unseen(change, answer->rc, answer->problem);
	else
		cli_change_verify(change);
}

static void cli_change_leave(struct cli_change *change)
{
	const struct cli_dialect *dialect = change->one->dialect;

	if (dialect->config_enter && cli_dialogue_is_open(change->one->dialogue))
		cli_switch_run(change->one, dialect->config_leave, cli_change_on_left, change);
	else if (change->rc)
		end_refused(change);
	else
		cli_change_verify(change);
}

/* The edit under way did not go through: the batch ends here. */
static void cli_change_stop(struct cli_change *change, int rc)
{
	*result_of(change) = change->changed ? EDIT_UNKNOWN : EDIT_REFUSED;
	change->rc = rc;
	cli_change_leave(change);
}

/* --- sending --- */

static void cli_change_next_line(struct cli_change *change);

/* A later edit of the same thing that was taken is the one that must be seen. */
static bool cli_change_is_superseded(const struct switch_request *request, size_t at)
{
	const struct switch_edit *edit = &request->edits[at];

	for (size_t i = at + 1; i < request->edit_count; i++) {
		const struct switch_edit *later = &request->edits[i];

		if (request->results[i] != EDIT_TAKEN ||
		    (edit->kind == EDIT_PORT) != (later->kind == EDIT_PORT))
			continue;
		if (edit->kind == EDIT_PORT ? strcmp(edit->port, later->port) == 0
					    : edit->vlan == later->vlan)
			return true;
	}
	return false;
}

static bool cli_change_is_seen(const struct cli_change *change, size_t at)
{
	const struct switch_request *request = change->one->request;

	return cli_change_is_superseded(request, at) ||
	       cli_plan_holds(change->one->config, &request->edits[at]);
}

static void cli_change_on_line(void *context, const struct cli_answer *answer)
{
	struct cli_change *change = context;
	struct cli_switch *one = change->one;
	const struct cli_line *line = &change->plan.lines[change->line];
	char said[160];
	enum cli_verdict verdict;

	if (answer->rc) {
		/* Sent or not, whole or half: only a look will tell. */
		*result_of(change) = change->changed || (answer->sent && line->changes)
					     ? EDIT_UNKNOWN
					     : EDIT_NOT_TRIED;
		end_unseen(change, answer->rc, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	if (verdict != CLI_FINE && !(verdict == CLI_REFUSED && line->optional)) {
		cli_change_stop(change, cli_switch_verdict(one, verdict, line->text, said,
							   &change->problem));
		return;
	}
	if (verdict == CLI_FINE)
		change->changed |= line->changes;
	if (one->dialect->config_enter && !answer->prompt->mode[0] &&
	    change->line + 1 < change->plan.count) {
		problem_set(&change->problem, E_PROTOCOL, "switch %s left configuration mode",
			    one->endpoint.name);
		problem_detail(&change->problem, "after \"%s\"", line->text);
		cli_change_stop(change, E_PROTOCOL);
		return;
	}
	change->line++;
	cli_change_next_line(change);
}

/* False: no edit is left, or none that can be planned. */
static bool plan_edit(struct cli_change *change)
{
	const struct switch_request *request = change->one->request;
	int rc;

	/* The second round only touches what the first did not bring about. */
	while (change->round > 1 && change->edit < request->edit_count &&
	       cli_change_is_seen(change, change->edit))
		change->edit++;
	if (change->edit == request->edit_count) {
		cli_change_leave(change);
		return false;
	}
	change->changed = change->round > 1;
	change->line = 0;
	change->plan.count = 0;
	rc = cli_plan_edit(change->one->config, &request->edits[change->edit], &change->plan,
			   &change->problem);
	if (!rc)
		return true;
	if (!problem_is_set(&change->problem))
		problem_set(&change->problem, rc, "an edit of switch %s cannot be planned",
			    change->one->endpoint.name);
	cli_change_stop(change, rc);
	return false;
}

static void cli_change_next_line(struct cli_change *change)
{
	while (change->line == change->plan.count) {
		*result_of(change) = EDIT_TAKEN;
		change->edit++;
		if (!plan_edit(change))
			return;
	}
	cli_switch_run(change->one, change->plan.lines[change->line].text, cli_change_on_line,
		       change);
}

static void first_line(struct cli_change *change)
{
	if (plan_edit(change))
		cli_change_next_line(change);
}

static void cli_change_on_entered(void *context, const struct cli_answer *answer)
{
	struct cli_change *change = context;
	struct cli_switch *one = change->one;
	const char *command = one->dialect->config_enter;
	char said[160] = "no configuration mode came of it";
	enum cli_verdict verdict;

	if (answer->rc) {
		end_unseen(change, answer->rc, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	/* A user without the right gets "Invalid input" here, or stays where he was. */
	if (verdict == CLI_REFUSED || (verdict == CLI_FINE && !answer->prompt->mode[0]))
		verdict = CLI_DENIED;
	if (verdict != CLI_FINE) {
		change->rc = cli_switch_verdict(one, verdict, command, said, &change->problem);
		if (answer->prompt->mode[0])
			cli_change_leave(change);
		else
			end_refused(change);
		return;
	}
	first_line(change);
}

static void begin_round(struct cli_change *change)
{
	change->round++;
	change->edit = 0;
	if (change->one->dialect->config_enter)
		cli_switch_run(change->one, change->one->dialect->config_enter,
			       cli_change_on_entered, change);
	else
		first_line(change);
}

/* --- reading back --- */

static void cli_change_on_config(struct cli_switch *one, int rc, const struct problem *problem)
{
	if (rc)
		cli_change_end(one->change, rc, problem);
	else
		begin_round(one->change);
}

static void cli_change_describe_unseen(const struct cli_change *change, size_t at,
				       struct problem *ret)
{
	const struct switch_edit *edit = &change->one->request->edits[at];

	problem_set(ret, E_PROTOCOL, "switch %s said yes, but it is not so",
		    change->one->endpoint.name);
	if (edit->kind == EDIT_PORT)
		problem_detail(ret, "port %s: its configuration shows another membership than sent",
			       edit->port);
	else
		problem_detail(ret, "VLAN %u is %s", edit->vlan,
			       edit->kind == EDIT_VLAN_CREATE ? "not there" : "still there");
	problem_hint(ret, "look at the port on the switch; its software may do something else with "
			  "these commands");
}

static void cli_change_on_verified(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_change *change = one->change;
	const struct switch_request *request = one->request;
	struct problem unseen = {0};

	if (rc) {
		end_unseen(change, rc, problem);
		return;
	}
	for (size_t i = 0; i < request->edit_count; i++) {
		if (cli_change_is_seen(change, i))
			continue;
		if (change->round < CLI_CHANGE_ROUNDS) {
			begin_round(change);
			return;
		}
		request->results[i] = EDIT_UNKNOWN;
		if (!problem_is_set(&unseen))
			cli_change_describe_unseen(change, i, &unseen);
	}
	if (problem_is_set(&unseen))
		cli_change_end(change, E_PROTOCOL, &unseen);
	else
		cli_change_end(change, 0, NULL);
}

/* Why it was refused is what is told. */
static void on_part_seen(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_change *change = one->change;
	const struct switch_request *request = one->request;

	(void)problem;
	if (rc) {
		end_unseen(change, change->rc, &change->problem);
		return;
	}
	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == EDIT_TAKEN && !cli_change_is_seen(change, i))
			request->results[i] = EDIT_UNKNOWN;
	}
	cli_change_end(change, change->rc, &change->problem);
}

static void verify_part(struct cli_change *change)
{
	cli_look_start(&change->look, change->one, on_part_seen);
}

static void cli_change_verify(struct cli_change *change)
{
	cli_look_start(&change->look, change->one, cli_change_on_verified);
}

static int cli_change_new(struct cli_switch *one)
{
	one->change = calloc(1, sizeof(*one->change));
	if (!one->change)
		return -ENOMEM;
	one->change->one = one;
	return 0;
}

int cli_change_start(struct cli_switch *one)
{
	int rc = cli_change_new(one);

	if (rc)
		return rc;
	for (size_t i = 0; i < one->request->edit_count; i++)
		one->request->results[i] = EDIT_NOT_TRIED;
	cli_look_start(&one->change->look, one, cli_change_on_config);
	return 0;
}

/* --- SWITCH_SAVE --- */

static void cli_change_on_saved(void *context, const struct cli_answer *answer)
{
	struct cli_change *change = context;
	struct cli_switch *one = change->one;
	const struct cli_dialect *dialect = one->dialect;
	char said[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc && cli_switch_may_repeat(one, answer)) {
		cli_switch_run(one, dialect->save, cli_change_on_saved, change);
		return;
	}
	if (answer->rc) {
		cli_change_end(change, answer->rc, answer->problem);
		return;
	}
	verdict = cli_answer_judge(dialect, answer->output, said, sizeof(said));
	rc = cli_switch_verdict(one, verdict, dialect->save, said, &change->problem);
	if (!rc && dialect->saved && !cli_pattern_matches(dialect->saved, answer->output)) {
		rc = problem_set(&change->problem, E_PROTOCOL,
				 "switch %s does not say that it saved its configuration",
				 one->endpoint.name);
		problem_detail(&change->problem, "\"%s\": %.300s", dialect->save, answer->output);
	}
	cli_change_end(change, rc, rc ? &change->problem : NULL);
}

int cli_save_start(struct cli_switch *one)
{
	int rc = cli_change_new(one);

	if (rc)
		return rc;
	cli_switch_run(one, one->dialect->save, cli_change_on_saved, one->change);
	return 0;
}
