#include "bampi/control/deploy/advance_policy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/evidence.h"

#define BACKOFF_DOUBLINGS 4
#define UNTOUCHED_TRIES   3
#define CANCEL_POWER_MS \
	45000 /* a cancelled deployment ends within a minute, whatever the BMC does */

enum plan advance_plan(const struct deployment_facts *deployment)
{
	return deployment->state == DEPLOYMENT_CANCELLING ? PLAN_CANCEL : deployment->plan;
}

void advance_done(struct advance *advance)
{
	outcome_done(&advance->outcome);
}

static struct event_log *advance_policy_tell(struct advance *advance, const char *kind)
{
	struct event_log *event =
		&advance->events[advance->event_count < ADVANCE_EVENTS - 1 ? advance->event_count++
									   : ADVANCE_EVENTS - 1];

	*event = (struct event_log){.step = advance->step, .attempt = advance->attempt};
	(void)text_copy(event->kind, sizeof(event->kind), kind);
	return event;
}

static void log_step(struct advance *advance, const char *state, bool ended,
		     const struct problem *problem)
{
	struct step_log *last =
		advance->log_count > 0 ? &advance->logs[advance->log_count - 1] : NULL;

	/* Begun and ended in one look is one row. */
	if (!last || last->step_index != advance->step_index || last->attempt != advance->attempt)
		last = &advance->logs[advance->log_count++];
	*last = (struct step_log){
		.step_index = advance->step_index,
		.attempt = advance->attempt,
		.step = advance->step,
		.state = state,
		.started_ms = advance->step_started_ms,
		.ended = ended,
		.problem = problem,
	};
}

/* Where a repeated step starts: those that need the node in a certain shape bring it there first.
 */
static int start_index(const struct facts *facts, const struct plan_row *plan, int index,
		       int64_t now_ms)
{
	const struct step_row *row = &step_table[plan->steps[index]];
	int restart;

	if (facts->deployment.attempt == 0 || row->restart == STEP_COUNT)
		return index;
	if (!row->restart_always && facts_agent_alive(facts, now_ms))
		return index;
	restart = plan_find_id(plan, row->restart);
	return restart >= 0 ? restart : index;
}

static void advance_policy_begin(const struct facts *facts, const struct plan_row *plan,
				 int64_t now_ms, struct advance *ret)
{
	int index = ret->step_index - plan->base;
	const struct step_row *row = &step_table[plan->steps[index]];
	int64_t deadline_ms = facts->settings->deadline_ms[plan->steps[index]];

	ret->step = row->name;
	ret->attempt = facts->attempts[index] + 1;
	ret->step_started_ms = now_ms;
	if (plan == &plan_table[PLAN_CANCEL] && deadline_ms > CANCEL_POWER_MS)
		deadline_ms = CANCEL_POWER_MS;
	ret->step_deadline_ms = now_ms + deadline_ms;
	ret->new_attempt = true;
	ret->memo = memo_next_attempt(&facts->memo);
	log_step(ret, "running", false, NULL);
	if (ret->attempt > 1)
		(void)snprintf(advance_policy_tell(ret, "step.started")->message,
			       sizeof(ret->events[0].message), "%s started, attempt %d", row->name,
			       ret->attempt);
	else
		(void)snprintf(advance_policy_tell(ret, "step.started")->message,
			       sizeof(ret->events[0].message), "%s started", row->name);
}

static void advance_policy_end(struct advance *ret, enum deployment_state state,
			       const struct facts *facts)
{
	struct event_log *event;

	ret->state = state;
	ret->due_ms = 0;
	ret->step_deadline_ms = 0;
	event = advance_policy_tell(ret, state == DEPLOYMENT_DONE     ? "deployment.done"
					 : state == DEPLOYMENT_FAILED ? "deployment.failed"
								      : "deployment.cancelled");
	event->problem = problem_is_set(&ret->problem) ? &ret->problem : NULL;
	(void)snprintf(event->message, sizeof(event->message), "%s %s%s%.160s",
		       plan_words[facts->deployment.plan], deployment_state_words[state],
		       event->problem ? ": " : "", event->problem ? event->problem->message : "");
}

static void advance_policy_done(const struct facts *facts, const struct plan_row *plan,
				int64_t now_ms, struct advance *ret)
{
	int index = ret->step_index - plan->base;
	size_t next;

	log_step(ret, "done", true, NULL);
	(void)snprintf(advance_policy_tell(ret, "step.done")->message,
		       sizeof(ret->events[0].message), "%s done in %lld.%lld s", ret->step,
		       (long long)((now_ms - ret->step_started_ms) / 1000),
		       (long long)((now_ms - ret->step_started_ms) % 1000 / 100));
	ret->memo = memo_next_attempt(&facts->memo);
	if (ret->step_index >= ret->memo.furthest) {
		ret->memo.tries = 0;
		ret->memo.furthest = 0;
	}
	next = plan_pass_over(plan, (size_t)index + 1, facts);
	if (next == plan->count) {
		advance_policy_end(ret,
				   plan == &plan_table[PLAN_CANCEL] ? DEPLOYMENT_CANCELLED
								    : DEPLOYMENT_DONE,
				   facts);
		return;
	}
	ret->step = step_table[plan->steps[next]].name;
	ret->step_index = plan->base + (int)next;
	ret->attempt = 0;
	ret->step_started_ms = 0;
	ret->step_deadline_ms = 0;
	ret->new_attempt = true;
	ret->due_ms = now_ms;
}

/* Cancel ends in any case: what cannot be made sure of is said, and keeps the node out of use. */
static void cancel_goes_on(const struct facts *facts, const struct plan_row *plan, int64_t now_ms,
			   struct advance *ret)
{
	struct problem failure = ret->failure;

	advance_policy_done(facts, plan, now_ms, ret);
	ret->events[ret->event_count - 1] = (struct event_log){
		.step = step_table[STEP_POWER_OFF].name, .attempt = 1, .problem = &ret->failure};
	(void)text_copy(ret->events[ret->event_count - 1].kind, sizeof(ret->events[0].kind),
			"step.failed");
	(void)snprintf(ret->events[ret->event_count - 1].message, sizeof(ret->events[0].message),
		       "%s", failure.message);
	ret->logs[ret->log_count - 1].state = "failed";
	ret->logs[ret->log_count - 1].problem = &ret->failure;
	ret->memo.trouble = true;
	ret->problem = failure;
}

static void advance_policy_failed(const struct facts *facts, const struct plan_row *plan,
				  int64_t now_ms, struct advance *ret)
{
	const struct step_row *row = &step_table[plan->steps[ret->step_index - plan->base]];
	const struct outcome *outcome = &ret->outcome;
	int tries = facts->memo.tries + 1;
	int limit = row->destructive && outcome->untouched ? UNTOUCHED_TRIES : row->attempts;
	struct event_log *event;
	int64_t wait_ms;

	evidence_add(facts, now_ms, &ret->failure);
	ret->outcome.drop_tasks = true;
	if (plan == &plan_table[PLAN_CANCEL] && strcmp(row->name, "power_off") == 0) {
		cancel_goes_on(facts, plan, now_ms, ret);
		return;
	}
	log_step(ret, "failed", true, &ret->failure);
	event = advance_policy_tell(ret, "step.failed");
	event->problem = &ret->failure;
	if (outcome->permanent || tries >= limit) {
		(void)snprintf(event->message, sizeof(event->message), "%s failed: %s", ret->step,
			       ret->failure.message);
		ret->memo = facts->memo;
		ret->problem = ret->failure;
		advance_policy_end(ret, DEPLOYMENT_FAILED, facts);
		return;
	}
	wait_ms = facts->settings->backoff_ms
		  << (tries - 1 < BACKOFF_DOUBLINGS ? tries - 1 : BACKOFF_DOUBLINGS);
	(void)snprintf(event->message, sizeof(event->message),
		       "%s failed, next attempt in %lld s: %s", ret->step,
		       (long long)(wait_ms / 1000), ret->failure.message);
	ret->memo = memo_next_attempt(&facts->memo);
	ret->memo.tries = tries;
	if (ret->step_index > ret->memo.furthest)
		ret->memo.furthest = ret->step_index;
	ret->step_started_ms = 0;
	ret->step_deadline_ms = 0;
	ret->new_attempt = true;
	ret->due_ms = now_ms + wait_ms;
	(void)problem_set(&ret->waits, E_UNAVAILABLE, "%s failed: its next attempt waits",
			  ret->step);
	problem_detail(&ret->waits, "%s", ret->failure.message);
	problem_hint(&ret->waits, "%s", ret->failure.hint);
	ret->waits_kind = WAIT_RETRY;
}

static void advance_policy_waiting(const struct facts *facts, const struct plan_row *plan,
				   int64_t now_ms, struct advance *ret)
{
	struct outcome *outcome = &ret->outcome;
	bool acted = outcome->bmc_count > 0 || outcome->post != TASK_NONE ||
		     outcome->event != NODE_EVENT_NONE || outcome->intent != INTENT_KEEP ||
		     outcome->place != PLACE_NONE;

	if (now_ms >= ret->step_deadline_ms) {
		/* What it wishes for now comes too late. */
		outcome_done(outcome);
		advance_policy_failed(facts, plan, now_ms, ret);
		return;
	}
	ret->memo = outcome->memo;
	ret->waits = outcome->waits;
	ret->waits_kind = outcome->waits_kind;
	if (!problem_is_set(&ret->waits))
		(void)problem_set(&ret->waits, E_UNAVAILABLE, "waits for %s",
				  step_table[plan->steps[ret->step_index - plan->base]].waits_for);
	ret->due_ms = outcome->until_ms < ret->step_deadline_ms ? outcome->until_ms
								: ret->step_deadline_ms;
	if (!acted && ret->due_ms <= now_ms)
		ret->due_ms = now_ms + 1000; /* a step that only looks may not spin */
}

static void advance_policy_judge(const struct facts *facts, const struct plan_row *plan,
				 int64_t now_ms, struct advance *ret)
{
	ret->failure = ret->outcome.problem;
	if (ret->outcome.note[0])
		(void)text_copy(advance_policy_tell(ret, "step.note")->message,
				sizeof(ret->events[0].message), ret->outcome.note);
	switch (ret->outcome.verdict) {
	case STEP_DONE: advance_policy_done(facts, plan, now_ms, ret); break;
	case STEP_FAILED: advance_policy_failed(facts, plan, now_ms, ret); break;
	case STEP_WAITING: advance_policy_waiting(facts, plan, now_ms, ret); break;
	}
}

void advance_end(const struct facts *facts, const struct problem *why, struct advance *ret)
{
	*ret = (struct advance){.step = facts->deployment.step,
				.step_index = facts->deployment.step_index,
				.attempt = facts->deployment.attempt};
	ret->memo = facts->memo;
	ret->problem = *why;
	advance_policy_end(ret, DEPLOYMENT_FAILED, facts);
}

/* A row that this bampid does not understand (written by a newer one) must end, not spin. */
static void unknown_step(const struct facts *facts, struct advance *ret)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_UNSUPPORTED, "plan %s has no step %s",
			  plan_words[facts->deployment.plan], facts->deployment.step);
	problem_hint(
		&problem,
		"a bampid of another version worked on it: run one version, then haasctl deployment retry %lld",
		(long long)facts->deployment.id);
	advance_end(facts, &problem, ret);
}

/* --- several steps in one look --- */

/* The step that just ended wishes for nothing that the next one would have to see done, and the
 * next one was never begun: then these facts are all that is to be known of it. */
static bool goes_on_at_once(const struct facts *facts, const struct plan_row *plan,
			    const struct advance *advance)
{
	const struct outcome *outcome = &advance->outcome;

	return outcome->verdict == STEP_DONE && advance->due_ms != 0 &&
	       advance->log_count < ADVANCE_STEPS && outcome->intent == INTENT_KEEP &&
	       outcome->event == NODE_EVENT_NONE && outcome->post == TASK_NONE &&
	       outcome->bmc_count == 0 && !outcome->certify &&
	       facts->attempts[advance->step_index - plan->base] == 0;
}

/* What was found stays to be written; a step that has just begun has found nothing yet. */
static void keep_findings(struct outcome *before, struct outcome *outcome)
{
	assert(!outcome->inventory && !outcome->drives);
	outcome->inventory = before->inventory;
	outcome->drives = before->drives;
	outcome->drives_complete = before->drives_complete;
	outcome->drop_tasks |= before->drop_tasks;
	if (before->judged) {
		outcome->judged = true;
		outcome->attest = before->attest;
	}
	before->inventory = NULL;
	before->drives = NULL;
}

/* The facts as they are for a step that begins now. */
static void facts_begin(struct facts *facts, const struct advance *advance)
{
	facts->memo = advance->memo;
	facts->deployment.attempt = advance->attempt;
	facts->deployment.step_started_ms = advance->step_started_ms;
	facts->deployment.step_deadline_ms = advance->step_deadline_ms;
	facts->bmc.state = BMC_WORK_NONE;
}

static void advance_policy_go_on(struct facts *facts, const struct plan_row *plan, int64_t now_ms,
				 struct advance *ret)
{
	while (goes_on_at_once(facts, plan, ret)) {
		struct outcome before = ret->outcome;

		ret->outcome = (struct outcome){0};
		ret->waits = (struct problem){0};
		facts->memo = ret->memo;
		advance_policy_begin(facts, plan, now_ms, ret);
		facts_begin(facts, ret);
		facts->task = (struct task_facts){0};
		step_table[plan->steps[ret->step_index - plan->base]].run(facts, now_ms,
									  &ret->outcome);
		keep_findings(&before, &ret->outcome);
		outcome_done(&before);
		advance_policy_judge(facts, plan, now_ms, ret);
	}
}

void advance_decide(const struct facts *facts, int64_t now_ms, struct advance *ret)
{
	const struct plan_row *plan = &plan_table[advance_plan(&facts->deployment)];
	const struct deployment_facts *deployment = &facts->deployment;
	int index = deployment->step[0] ? plan_find(plan, deployment->step) : 0;
	struct facts now = *facts;

	*ret = (struct advance){
		.state = deployment->state == DEPLOYMENT_QUEUED ? DEPLOYMENT_WAITING
								: deployment->state,
		.step_started_ms = deployment->step_started_ms,
		.step_deadline_ms = deployment->step_deadline_ms,
		.attempt = deployment->attempt,
		.memo = facts->memo,
	};
	if (index < 0) {
		unknown_step(facts, ret);
		return;
	}
	if (facts->memo.trouble)
		ret->problem = facts->problem;
	if (deployment->step_started_ms == 0) {
		index = start_index(facts, plan, index, now_ms);
		index = (int)plan_pass_over(plan, (size_t)index, facts);
	}
	if ((size_t)index ==
	    plan->count) { /* it waited for the last switch, and that was taken away */
		ret->step_index = plan->base + index - 1;
		ret->step = deployment->step;
		advance_policy_end(ret, DEPLOYMENT_DONE, facts);
		return;
	}
	ret->step_index = plan->base + index;
	ret->step = step_table[plan->steps[index]].name;
	if (deployment->step_started_ms == 0) {
		advance_policy_begin(facts, plan, now_ms, ret);
		facts_begin(&now, ret);
	}
	/* The newest task that the facts hold may be of the step before. */
	if (strcmp(now.task.step, ret->step) != 0)
		now.task = (struct task_facts){0};
	step_table[plan->steps[index]].run(&now, now_ms, &ret->outcome);
	advance_policy_judge(&now, plan, now_ms, ret);
	advance_policy_go_on(&now, plan, now_ms, ret);
}
