#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/control/deploy/steps/steps.h"

const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

const json_t *find_by(const json_t *array, const char *key, const char *value)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *row = json_array_get(array, i);

		if (strcmp(text_of(row, key), value) == 0)
			return row;
	}
	return NULL;
}

bool agent_work_is_old(const struct facts *facts)
{
	return facts->task.created_ms < facts->deployment.step_started_ms;
}

static int64_t agent_work_earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t agent_work_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Posting needs an agent that listens; without one the attempt ends before anything was done, and
 * the next one boots it again. */
static void agent_work_post(const struct facts *facts, int64_t now_ms, enum task_kind kind,
			    json_t *params, struct outcome *ret)
{
	if (!facts_agent_alive(facts, now_ms)) {
		outcome_fail(ret, E_UNAVAILABLE, "the agent of node %s is gone", facts->node.name);
		problem_hint(
			&ret->problem,
			"the console and the power of the node tell more: haasctl node console %s",
			facts->node.name);
		ret->untouched = true;
		json_decref(params);
		return;
	}
	/* A task is signed for one agent. */
	if (!facts->intent.agent_key[0]) {
		outcome_wait(ret, now_ms + facts->settings->poll_ms, E_TIMEOUT,
			     "the agent of node %s has told no key", facts->node.name);
		problem_hint(&ret->problem,
			     "its kernel gathers no randomness: look at haasctl node console %s",
			     facts->node.name);
		outcome_say(ret, "the agent of node %s has told no key", facts->node.name);
		ret->waits_kind = WAIT_AGENT;
		json_decref(params);
		return;
	}
	ret->drop_tasks = facts->task.id != 0 &&
			  (facts->task.state == TASK_QUEUED || facts->task.state == TASK_TAKEN);
	ret->post = kind;
	ret->post_params = params;
	outcome_wait(ret, now_ms + facts->settings->poll_ms, E_TIMEOUT,
		     "the agent of node %s did not take the task %s", facts->node.name,
		     task_kind_words[kind]);
	outcome_say(ret, "the agent of node %s has not taken the task %s", facts->node.name,
		    task_kind_words[kind]);
}

/* An agent that was heard lately works; else it is told for how long it was not. */
static void agent_work_say(const struct facts *facts, int64_t now_ms, enum task_kind kind,
			   int64_t heard_ms, struct outcome *ret)
{
	const char *name = facts->node.name;

	if (facts->task.state == TASK_QUEUED)
		outcome_say(ret, "the agent of node %s has not taken the task %s", name,
			    task_kind_words[kind]);
	else if (now_ms - heard_ms <= facts->settings->fresh_ms)
		outcome_say(ret, "the agent of node %s works on %s", name, task_kind_words[kind]);
	else
		outcome_say(ret, "the agent of node %s is not heard during %s", name,
			    task_kind_words[kind]);
	if (now_ms - heard_ms <= facts->settings->fresh_ms)
		return;
	ret->waits_kind = WAIT_AGENT;
	problem_detail(&ret->waits, "last heard %lld s ago",
		       (long long)((now_ms - heard_ms) / 1000));
}

/* The node started again while the agent worked: whatever it did is half done and nobody works on
 * it any more. */
static bool restarted_since(const struct facts *facts)
{
	return facts_seen_now(facts, SEEN_SCRIPT) &&
	       facts->seen[SEEN_SCRIPT].at_ms > facts->task.updated_ms &&
	       facts->seen[SEEN_SCRIPT].at_ms > facts->progress_ms;
}

static bool agent_work_repeatable(enum task_kind kind)
{
	return kind == TASK_INVENTORY || kind == TASK_CONFIGURE_OS || kind == TASK_PUT_PACKAGES ||
	       kind == TASK_VERIFY_ERASED || kind == TASK_ATTEST;
}

static void agent_work_watch(const struct facts *facts, int64_t now_ms, enum task_kind kind,
			     json_t *params, struct outcome *ret)
{
	const struct task_facts *task = &facts->task;
	int64_t heard_ms = agent_work_later(task->updated_ms, task->created_ms);
	int64_t lost_ms;

	if (task->state == TASK_TAKEN && restarted_since(facts)) {
		if (agent_work_repeatable(kind)) {
			agent_work_post(facts, now_ms, kind, params, ret);
			return;
		}
		json_decref(params);
		outcome_fail(ret, E_UNAVAILABLE,
			     "node %s started again while its agent worked on %s", facts->node.name,
			     task_kind_words[kind]);
		return;
	}
	json_decref(params);
	if (task->state == TASK_TAKEN)
		heard_ms = agent_work_later(heard_ms, facts->progress_ms);
	if (task->state == TASK_TAKEN && facts_seen_now(facts, SEEN_AGENT))
		heard_ms = agent_work_later(heard_ms, facts->seen[SEEN_AGENT].at_ms);
	lost_ms = heard_ms + facts->settings->stall_ms;
	if (now_ms >= lost_ms) {
		outcome_fail(ret, E_TIMEOUT,
			     task->state == TASK_QUEUED
				     ? "the agent of node %s does not take the task %s"
				     : "the agent of node %s has stopped reporting during %s",
			     facts->node.name, task_kind_words[kind]);
		problem_detail(&ret->problem, "last heard %lld s ago",
			       (long long)((now_ms - heard_ms) / 1000));
		ret->untouched = task->state == TASK_QUEUED;
		return;
	}
	outcome_wait(ret, agent_work_earlier(lost_ms, now_ms + facts->settings->poll_ms), E_TIMEOUT,
		     "%s on node %s exceeded its time limit", task_kind_words[kind],
		     facts->node.name);
	agent_work_say(facts, now_ms, kind, heard_ms, ret);
}

void agent_work_ended(const struct facts *facts, struct outcome *ret)
{
	outcome_fail(ret, E_DENIED, "%s", facts->intent.ended);
	problem_hint(&ret->problem, "haasctl alert list shows who asked, and where");
	ret->untouched = facts->task.id == 0;
}

bool agent_work(const struct facts *facts, int64_t now_ms, enum task_kind kind, json_t *params,
		struct outcome *ret)
{
	const struct task_facts *task = &facts->task;
	bool of_this_boot = facts_intent_is(facts, INTENT_AGENT) &&
			    strcmp(task->token, facts->intent.token) == 0;

	/* Whatever was reported in a boot whose token another machine may have is not believed. */
	if (facts_boot_ended(facts)) {
		json_decref(params);
		agent_work_ended(facts, ret);
		return false;
	}
	if (task->id != 0 && task->kind == kind) {
		switch (task->state) {
		case TASK_DONE: json_decref(params); return true;
		case TASK_QUEUED:
		case TASK_TAKEN:
			if (of_this_boot) {
				agent_work_watch(facts, now_ms, kind, params, ret);
				return false;
			}
			break;
		case TASK_FAILED:
			if (!agent_work_is_old(facts)) {
				json_decref(params);
				ret->verdict = STEP_FAILED;
				ret->problem = task->problem;
				if (!problem_is_set(&ret->problem))
					(void)problem_set(&ret->problem, E_PROTOCOL,
							  "the agent failed at %s",
							  task_kind_words[kind]);
				return false;
			}
			break;
		case TASK_DROPPED:
		case TASK_STATE_COUNT: break;
		}
	}
	agent_work_post(facts, now_ms, kind, params, ret);
	return false;
}
