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
	unsigned round;
	size_t edit;  /* under way */
	bool planned; /* its lines stand in `plan` */
	struct cli_plan plan;
	size_t line;  /* of the plan */
	bool changed; /* something of this edit was taken */
	int rc;       /* why the batch stopped */
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
	switch_call_end(&change->one->call, rc, NULL, problem);
}

/* The switch cannot be asked any more, and may have started anew: what it said yes to and nobody
 * has seen may be gone. */
static void end_unseen(struct cli_change *change, int rc, const struct problem *problem)
{
	const struct switch_request *request = change->one->call.request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == EDIT_TAKEN)
			request->results[i] = EDIT_UNKNOWN;
	}
	cli_change_end(change, rc, problem);
}

static enum edit_result *result_of(const struct cli_change *change)
{
	return &change->one->call.request->results[change->edit];
}

static bool has_taken(const struct cli_change *change)
{
	const struct switch_request *request = change->one->call.request;

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
	const struct switch_request *request = change->one->call.request;

	return cli_change_is_superseded(request, at) ||
	       cli_plan_holds(change->one->config, &request->edits[at]);
}

/* The edit under way did not go through: the batch ends here. */
static void cli_change_stop(struct cli_change *change, int rc, const struct problem *problem)
{
	*result_of(change) = change->changed ? EDIT_UNKNOWN : EDIT_REFUSED;
	change->rc = rc;
	change->problem = *problem;
}

/* False: no edit is left, or none that can be planned. */
static bool plan_edit(struct cli_change *change)
{
	const struct switch_request *request = change->one->call.request;
	struct problem problem = {0};
	int rc;

	/* The second round only touches what the first did not bring about. */
	while (change->round > 1 && change->edit < request->edit_count &&
	       cli_change_is_seen(change, change->edit))
		change->edit++;
	if (change->edit == request->edit_count)
		return false;
	change->planned = true;
	change->changed = change->round > 1;
	change->line = 0;
	change->plan.count = 0;
	rc = cli_plan_edit(change->one->config, &request->edits[change->edit], &change->plan,
			   &problem);
	if (!rc)
		return true;
	if (!problem_is_set(&problem))
		problem_set(&problem, rc, "an edit of switch %s cannot be planned",
			    change->one->call.endpoint.name);
	cli_change_stop(change, rc, &problem);
	return false;
}

static const char *cli_change_next(struct cli_switch *one)
{
	struct cli_change *change = one->change;

	while (!change->planned || change->line == change->plan.count) {
		if (change->planned) {
			*result_of(change) = EDIT_TAKEN;
			change->edit++;
		}
		if (!plan_edit(change))
			return NULL;
	}
	return change->plan.lines[change->line].text;
}

static bool cli_change_answered(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_change *change = one->change;
	const struct cli_line *line = &change->plan.lines[change->line];

	if (rc && !(rc == E_CONFLICT && line->optional)) {
		cli_change_stop(change, rc, problem);
		return false;
	}
	if (!rc)
		change->changed |= line->changes;
	change->line++;
	return true;
}

static void cli_change_ended(struct cli_switch *one, const struct cli_script_end *end)
{
	struct cli_change *change = one->change;

	if (end->lost && end->stage == CLI_SCRIPT_SENDING && !change->rc)
		/* Sent or not, whole or half: only a look will tell. */
		*result_of(change) =
			change->changed || (end->sent && change->plan.lines[change->line].changes)
				? EDIT_UNKNOWN
				: EDIT_NOT_TRIED;
	if (!change->rc && end->rc) {
		change->rc = end->rc;
		change->problem = end->problem;
	}
	if (end->lost)
		end_unseen(change, change->rc, &change->problem);
	else if (change->rc)
		end_refused(change);
	else
		cli_change_verify(change);
}

static void begin_round(struct cli_change *change)
{
	static const struct cli_script_row row = {
		.next = cli_change_next,
		.answered = cli_change_answered,
		.ended = cli_change_ended,
	};

	change->round++;
	change->edit = 0;
	change->planned = false;
	cli_script_start(change->one, &row);
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
	const struct switch_edit *edit = &change->one->call.request->edits[at];

	problem_set(ret, E_PROTOCOL, "switch %s accepted a change but does not show it",
		    change->one->call.endpoint.name);
	if (edit->kind == EDIT_PORT)
		problem_detail(ret, "port %s: its configuration shows another membership than sent",
			       edit->port);
	else
		problem_detail(ret, "VLAN %u is %s", edit->vlan,
			       edit->kind == EDIT_VLAN_CREATE ? "not there" : "still there");
	problem_hint(
		ret,
		"check the port on the switch; its software may read these commands differently");
}

static void cli_change_on_verified(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_change *change = one->change;
	const struct switch_request *request = one->call.request;
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
	const struct switch_request *request = one->call.request;

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
	cli_look_start(change->one, on_part_seen);
}

static void cli_change_verify(struct cli_change *change)
{
	cli_look_start(change->one, cli_change_on_verified);
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
	cli_look_start(one, cli_change_on_config);
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

	if (answer->rc && switch_call_may_repeat(&one->call, answer->rc)) {
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
				 one->call.endpoint.name);
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
