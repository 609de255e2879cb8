/* SWITCH_CHANGE and SWITCH_SAVE. Where the switch has a candidate, a batch is one commit: lock, one
 * <edit-config> per step, validate, commit, read back, confirm, unlock; nothing of it is in force
 * before the commit, and nothing is left when one step is refused. Else every step is an
 * <edit-config> of the running configuration with rollback-on-error. A refusal is believed when the
 * thing is as it was, a yes when it is as it shall be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/netconf/netconf_plan_policy.h"
#include "peregrine/switch/netconf/netconf_switch.h"

LEAKS_LEFT_TO_SANITIZER

/* What is done one after another; what the switch does not have, or what was not reached, is passed
 * over. */
enum netconf_change_stage {
	STAGE_LOCK_RUNNING,
	STAGE_LOCK_CANDIDATE,
	STAGE_EDIT,
	STAGE_VALIDATE,
	STAGE_COMMIT,
	STAGE_VERIFY,
	STAGE_CONFIRM,
	STAGE_CANCEL,
	STAGE_DISCARD,
	STAGE_UNLOCK_CANDIDATE,
	STAGE_UNLOCK_RUNNING,
	STAGE_COMPARE,
	STAGE_OVER
};

struct netconf_change {
	struct netconf_switch *one;
	struct netconf_config *before;
	struct netconf_plan plan;
	size_t step;
	enum netconf_change_stage stage;
	unsigned capabilities;
	bool is_running_locked, is_candidate_locked;
	bool is_edited;    /* the candidate may hold something */
	bool is_committed; /* a commit was sent */
	bool waits;        /* .. that must be confirmed */
	bool is_left_over; /* something was not cleared away */
	int rc;            /* how it ends */
	struct problem problem;
};

void netconf_change_free(struct netconf_change *change)
{
	if (!change)
		return;
	netconf_config_free(change->before);
	netconf_plan_done(&change->plan);
	free(change);
}

static bool netconf_change_has(const struct netconf_change *change,
			       enum netconf_capability capability)
{
	return (change->capabilities & (unsigned)capability) != 0;
}

static bool uses_candidate(const struct netconf_change *change)
{
	return netconf_change_has(change, NETCONF_CANDIDATE);
}

static void netconf_change_fail(struct netconf_change *change, int rc,
				const struct problem *problem)
{
	if (change->rc)
		return; /* the first counts */
	change->rc = rc;
	change->problem = *problem;
}

/* A later edit of the same thing that was taken is the one that must be seen. */
static bool netconf_change_is_superseded(const struct switch_request *request, size_t at)
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

/* --- what is said of the edits --- */

static void set_results(struct netconf_change *change, enum edit_result from, enum edit_result to)
{
	const struct switch_request *request = change->one->call.request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == from)
			request->results[i] = to;
	}
}

static void netconf_change_describe_unseen(const struct netconf_change *change, size_t at,
					   struct problem *ret)
{
	const struct switch_edit *edit = &change->one->call.request->edits[at];

	problem_set(ret, E_PROTOCOL, "switch %s accepted a change but does not show it",
		    change->one->call.endpoint.name);
	if (edit->kind == EDIT_PORT)
		problem_detail(ret, "port %s has another membership than sent", edit->port);
	else
		problem_detail(ret, "VLAN %u is %s", edit->vlan,
			       edit->kind == EDIT_VLAN_CREATE ? "not there" : "still there");
	problem_hint(ret,
		     "check the port on the switch; its software may read this model differently");
}

/* Is it there, or a later one of the same thing? */
static bool netconf_change_is_seen(const struct netconf_change *change, size_t at)
{
	const struct switch_request *request = change->one->call.request;

	return netconf_change_is_superseded(request, at) ||
	       netconf_plan_holds(change->one->config, &request->edits[at]);
}

/* Everything was said yes to: is it there? */
static void judge_taken(struct netconf_change *change)
{
	const struct switch_request *request = change->one->call.request;
	struct problem unseen;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (netconf_change_is_seen(change, i)) {
			request->results[i] = EDIT_TAKEN;
			continue;
		}
		request->results[i] = EDIT_UNKNOWN;
		netconf_change_describe_unseen(change, i, &unseen);
		netconf_change_fail(change, E_PROTOCOL, &unseen);
	}
}

/* Something was refused: what is as it was, was not done. What was said yes to before that is
 * looked at as well. */
static void judge_refused(struct netconf_change *change)
{
	const struct switch_request *request = change->one->call.request;

	for (size_t i = 0; i < request->edit_count; i++) {
		const struct switch_edit *edit = &request->edits[i];

		if (request->results[i] == EDIT_TAKEN && !netconf_change_is_seen(change, i))
			request->results[i] = EDIT_UNKNOWN;
		else if (request->results[i] == EDIT_UNKNOWN &&
			 netconf_plan_same(change->before, change->one->config, edit))
			request->results[i] = EDIT_REFUSED;
	}
}

/* --- one stage after another --- */

static void netconf_change_next(struct netconf_change *change);

/* The session is gone, and with it locks, candidate and a commit that waits. */
static void netconf_change_broken(struct netconf_change *change,
				  const struct netconf_answer *answer)
{
	const struct switch_request *request = change->one->call.request;
	bool candidate = uses_candidate(change);

	if (change->stage == STAGE_EDIT && !candidate && answer->sent)
		request->results[change->plan.steps[change->step].edit] = EDIT_UNKNOWN;
	/* It may have started anew: what it said yes to is gone then, unless it was seen since. */
	if (!candidate && change->stage <= STAGE_VERIFY)
		set_results(change, EDIT_TAKEN, EDIT_UNKNOWN);
	if (candidate && change->is_committed)
		for (size_t i = 0; i < request->edit_count; i++)
			request->results[i] = EDIT_UNKNOWN;
	netconf_change_fail(change, answer->rc, answer->problem);
	switch_call_end(&change->one->call, change->rc, NULL, &change->problem);
}

/* A step of the running configuration that was refused: those before it stand. */
static void refused_edit(struct netconf_change *change)
{
	const struct netconf_step *step = &change->plan.steps[change->step];

	/* Believed at once only where nothing can be half done: nothing is in force yet. */
	change->one->call.request->results[step->edit] =
		uses_candidate(change) ? EDIT_REFUSED : EDIT_UNKNOWN;
}

static void netconf_change_on_answer(void *context, const struct netconf_answer *answer)
{
	struct netconf_change *change = context;
	const struct switch_request *request = change->one->call.request;
	bool yes = answer->rc == 0;

	if (answer->rc && !answer->refused) {
		netconf_change_broken(change, answer);
		return;
	}
	if (answer->rc && change->stage < STAGE_CANCEL)
		netconf_change_fail(change, answer->rc, answer->problem);
	else if (answer->rc) /* no way back but to go: locks and candidate go with us */
		change->is_left_over = true;
	switch (change->stage) {
	case STAGE_LOCK_RUNNING: change->is_running_locked = yes; break;
	case STAGE_LOCK_CANDIDATE: change->is_candidate_locked = yes; break;
	case STAGE_EDIT:
		if (!yes) {
			refused_edit(change);
			break;
		}
		if (!uses_candidate(change))
			request->results[change->plan.steps[change->step].edit] = EDIT_TAKEN;
		if (++change->step < change->plan.count) {
			change->stage--; /* it comes again */
			break;
		}
		break;
	case STAGE_COMMIT:
		change->is_edited = change->is_edited && !yes;
		change->waits = change->waits && yes;
		/* All or nothing, it says; it is looked at. */
		for (size_t i = 0; i < request->edit_count; i++)
			request->results[i] = yes ? EDIT_TAKEN : EDIT_UNKNOWN;
		break;
	case STAGE_CONFIRM:
		change->waits = change->waits && !yes;
		if (!yes)
			set_results(change, EDIT_TAKEN, EDIT_UNKNOWN);
		break;
	case STAGE_CANCEL:
		/* Taken back, all of it: what is as it was then was not done. */
		change->waits = false;
		set_results(change, EDIT_TAKEN, EDIT_UNKNOWN);
		break;
	case STAGE_VALIDATE:
		if (!yes)
			set_results(change, EDIT_NOT_TRIED, EDIT_REFUSED);
		break;
	case STAGE_VERIFY:
	case STAGE_DISCARD:
	case STAGE_UNLOCK_CANDIDATE:
	case STAGE_UNLOCK_RUNNING:
	case STAGE_COMPARE:
	case STAGE_OVER: break;
	}
	change->stage++;
	netconf_change_next(change);
}

static void netconf_change_run(struct netconf_change *change, const char *what,
			       const char *operation)
{
	netconf_switch_run(change->one, what, operation, NETCONF_EXPECT_OK,
			   netconf_change_on_answer, change);
}

static void send_edit(struct netconf_change *change)
{
	CLEANUP(text_done) struct text operation = {0};
	bool candidate = uses_candidate(change);

	change->is_edited = candidate;
	text_addf(&operation,
		  "<edit-config><target><%s/></target><default-operation>merge</default-operation>",
		  candidate ? "candidate" : "running");
	if (netconf_change_has(change, NETCONF_ROLLBACK_ON_ERROR))
		text_add(&operation, "<error-option>rollback-on-error</error-option>");
	text_addf(&operation, "<config xmlns:nc=\"%s\">%s</config></edit-config>", NETCONF_BASE,
		  change->plan.steps[change->step].xml);
	netconf_change_run(change, "edit-config", text_get(&operation));
}

static void send_commit(struct netconf_change *change)
{
	uint16_t seconds = change->one->dialect->confirm_s;
	char operation[128];

	change->is_committed = true;
	change->waits = seconds && netconf_change_has(change, NETCONF_CONFIRMED_COMMIT);
	text_format(operation, sizeof(operation),
		    change->waits ? "<commit><confirmed/><confirm-timeout>%u</confirm-timeout>"
				    "</commit>"
				  : "<commit/>",
		    seconds);
	netconf_change_run(change, "commit", operation);
}

static void netconf_change_on_verified(struct netconf_switch *one, int rc,
				       const struct problem *problem)
{
	struct netconf_change *change = one->change;

	if (rc) {
		set_results(change, EDIT_TAKEN, EDIT_UNKNOWN);
		netconf_change_fail(change, rc, problem);
	} else {
		judge_taken(change);
	}
	if (!netconf_session_is_open(one->session)) {
		switch_call_end(&one->call, change->rc, NULL, &change->problem);
		return;
	}
	change->stage++;
	netconf_change_next(change);
}

static void on_compared(struct netconf_switch *one, int rc, const struct problem *problem)
{
	struct netconf_change *change = one->change;

	(void)problem; /* the first counts */
	if (rc)
		set_results(change, EDIT_TAKEN, EDIT_UNKNOWN);
	else
		judge_refused(change);
	change->stage++;
	netconf_change_next(change);
}

static bool has_unknown(const struct netconf_change *change)
{
	const struct switch_request *request = change->one->call.request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->results[i] == EDIT_UNKNOWN)
			return true;
	}
	return false;
}

#define TARGET(operation, store) "<" operation "><target><" store "/></target></" operation ">"

/* Does the stage have something to do? */
static bool netconf_change_is_due(const struct netconf_change *change)
{
	bool good = change->rc == 0;
	bool candidate = good && uses_candidate(change);

	switch (change->stage) {
	case STAGE_LOCK_CANDIDATE:
	case STAGE_COMMIT: return candidate;
	case STAGE_EDIT: return good && change->step < change->plan.count;
	case STAGE_VALIDATE: return candidate && netconf_change_has(change, NETCONF_VALIDATE);
	case STAGE_VERIFY: return good;
	case STAGE_CONFIRM: return good && change->waits;
	case STAGE_CANCEL: return change->waits;
	case STAGE_DISCARD: return change->is_edited;
	case STAGE_UNLOCK_CANDIDATE: return change->is_candidate_locked;
	case STAGE_UNLOCK_RUNNING: return change->is_running_locked;
	case STAGE_COMPARE: return !good && has_unknown(change);
	case STAGE_LOCK_RUNNING:
	case STAGE_OVER: break;
	}
	return true;
}

static const struct {
	const char *what, *operation;
} netconf_change_fixed[STAGE_OVER + 1] = {
	[STAGE_LOCK_RUNNING] = {"lock", TARGET("lock", "running")},
	[STAGE_LOCK_CANDIDATE] = {"lock", TARGET("lock", "candidate")},
	[STAGE_VALIDATE] = {"validate", "<validate><source><candidate/></source></validate>"},
	[STAGE_CONFIRM] = {"commit", "<commit/>"},
	[STAGE_CANCEL] = {"cancel-commit", "<cancel-commit/>"},
	[STAGE_DISCARD] = {"discard-changes", "<discard-changes/>"},
	[STAGE_UNLOCK_CANDIDATE] = {"unlock", TARGET("unlock", "candidate")},
	[STAGE_UNLOCK_RUNNING] = {"unlock", TARGET("unlock", "running")},
};

static void netconf_change_enter(struct netconf_change *change)
{
	switch ((int)change->stage) {
	case STAGE_EDIT: send_edit(change); break;
	case STAGE_COMMIT: send_commit(change); break;
	case STAGE_VERIFY: netconf_switch_look(change->one, netconf_change_on_verified); break;
	case STAGE_COMPARE: netconf_switch_look(change->one, on_compared); break;
	case STAGE_OVER:
		if (change->is_left_over)
			netconf_session_break(change->one->session);
		switch_call_end(&change->one->call, change->rc, NULL, &change->problem);
		break;
	default:
		netconf_change_run(change, netconf_change_fixed[change->stage].what,
				   netconf_change_fixed[change->stage].operation);
		break;
	}
}

static void netconf_change_next(struct netconf_change *change)
{
	while (!netconf_change_is_due(change))
		change->stage++;
	netconf_change_enter(change);
}

/* --- starting --- */

static void netconf_change_on_config(struct netconf_switch *one, int rc,
				     const struct problem *problem)
{
	struct netconf_change *change = one->change;
	const struct switch_request *request = one->call.request;
	struct problem refused = {0};

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	change->before = one->config;
	one->config = NULL;
	change->capabilities = netconf_session_capabilities(one->session);
	for (size_t i = 0; i < request->edit_count; i++) {
		rc = netconf_plan_edit(change->before, &request->edits[i], i, &change->plan,
				       &refused);
		if (!rc)
			continue;
		request->results[i] = EDIT_REFUSED;
		switch_call_end(&one->call, rc, NULL, &refused);
		return;
	}
	netconf_change_next(change);
}

static int netconf_change_new(struct netconf_switch *one)
{
	one->change = calloc(1, sizeof(*one->change));
	if (!one->change)
		return -ENOMEM;
	one->change->one = one;
	return 0;
}

int netconf_change_start(struct netconf_switch *one)
{
	int rc = netconf_change_new(one);

	if (rc)
		return rc;
	netconf_switch_look(one, netconf_change_on_config);
	return 0;
}

/* --- SWITCH_SAVE --- */

static void netconf_change_on_saved(void *context, const struct netconf_answer *answer)
{
	struct netconf_change *change = context;
	struct netconf_switch *one = change->one;

	if (answer->rc && switch_call_may_repeat(&one->call, answer->rc)) {
		(void)netconf_save_start(one);
		return;
	}
	switch_call_end(&one->call, answer->rc, NULL, answer->problem);
}

/* What it can do is known after its hello: the first operation is one that any switch answers. */
static void on_known(struct netconf_switch *one, int rc, const struct problem *problem)
{
	static const char copy[] = "<copy-config><target><startup/></target><source><running/>"
				   "</source></copy-config>";

	/* Without a startup configuration, running is what it starts with (RFC 6241, 8.7). */
	if (rc || !(netconf_session_capabilities(one->session) & NETCONF_STARTUP))
		switch_call_end(&one->call, rc, NULL, problem);
	else
		netconf_switch_run(one, "copy-config", copy, NETCONF_EXPECT_OK,
				   netconf_change_on_saved, one->change);
}

int netconf_save_start(struct netconf_switch *one)
{
	int rc = one->change ? 0 : netconf_change_new(one);

	if (rc)
		return rc;
	if (one->dialect->save)
		netconf_switch_run(one, "saving", one->dialect->save, NETCONF_EXPECT_ANY,
				   netconf_change_on_saved, one->change);
	else
		netconf_switch_look(one, on_known);
	return 0;
}
