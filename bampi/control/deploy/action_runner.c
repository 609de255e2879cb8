#include "bampi/control/deploy/action_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/control/deploy/action_bmc.h"
#include "bampi/control/deploy/action_store.h"
#include "bampi/control/deploy/action_store_sql.h"
#include "bampi/control/deploy/deploy_json.h"

LEAKS_LEFT_TO_SANITIZER

#define ACTION_RUNNER_SUBJECT   "action"
#define ACTION_RUNNER_PERIOD_MS 5000
#define ACTION_RUNNER_RETRY_MS  1000
/* Ours at once, at most: so many claims one statement extends. */
#define ACTION_RUNNER_HELD_MAX ((size_t)ACTION_LIMIT * 4)
/* The queue's answer comes by its deadline (bmc_op_table). A claim without one is not kept for longer
 * than so much after it. */
#define ACTION_RUNNER_LATE_MS 60000

struct action {
	struct action_row row;
	struct action_runner *runner;
	struct fence *fence; /* its claim's */
	uint64_t ticket;
	int64_t until_ms; /* loop_now_ms: given up then */
	bool asked;       /* the BMC still works on it */
	bool ended;       /* the two below are set */
	bool saving;
	json_t *result;
	struct problem problem;
	struct action *prev, *next;
};

struct action_runner {
	struct loop *loop;
	struct action_runner_options options;
	struct action_runner_stats stats;
	struct work_cycle cycle;
	struct loop_timer *save_timer;
	struct loop_timer *extend_timer;
	bool saving, extending;
	bool one_by_one;             /* a batch was refused */
	int64_t claim_ms, extend_ms; /* clock_boot_ms when it was asked for */
	struct action *actions;
	size_t held;
};

static void action_free(struct action *action)
{
	if (action->asked)
		bmc_queue_cancel(action->runner->options.queue, action->ticket);
	fence_drop(action->fence);
	fence_unref(action->fence);
	DL_DELETE(action->runner->actions, action);
	action->runner->held--;
	json_decref(action->row.params);
	json_decref(action->result);
	free(action);
}

/* --- saving --- */

static void action_runner_on_saved(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct action_runner *runner = context;
	struct action *action;
	struct action *next;

	(void)result;
	runner->saving = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ACTION_RUNNER_SUBJECT, problem);
	DL_FOREACH_SAFE(runner->actions, action, next)
	{
		if (!action->saving)
			continue;
		action->saving = false;
		/* What cannot be written alone is given up: its claim runs out, and whoever is next
		 * decides. */
		if (rc == 0 || (rc != E_UNAVAILABLE && runner->one_by_one))
			action_free(action);
	}
	runner->one_by_one = rc != 0 && rc != E_UNAVAILABLE;
	if (rc == 0)
		notify_mark(runner->options.notify, NOTIFY_EVENT);
	loop_timer_arm(runner->save_timer, rc ? ACTION_RUNNER_RETRY_MS : 0);
}

static json_t *action_runner_row_of(const struct action *action)
{
	return json_pack("{s:I, s:I, s:o, s:o}", "id", (json_int_t)action->row.id, "generation",
			 (json_int_t)action->row.generation, "result",
			 action->result ? json_incref(action->result) : json_null(), "problem",
			 json_of_problem(&action->problem));
}

static void action_runner_save(void *context)
{
	struct action_runner *runner = context;
	json_t *rows = json_array();
	struct action *action;

	if (runner->cycle.connected && !runner->saving) {
		DL_FOREACH(runner->actions, action)
		{
			if (runner->one_by_one && json_array_size(rows) == 1)
				break;
			if (action->ended &&
			    json_array_append_new(rows, action_runner_row_of(action)) == 0)
				action->saving = true;
		}
		if (json_array_size(rows) > 0 &&
		    action_store_save(runner->options.db, rows, action_runner_on_saved, runner) ==
			    0)
			runner->saving = true;
	}
	json_decref(rows);
}

static void action_runner_end(struct action *action, json_t *result, const struct problem *problem)
{
	struct action_runner *runner = action->runner;
	char subject[80];

	action->asked = false;
	action->ended = true;
	action->result = result;
	if (problem)
		action->problem = *problem;
	(void)text_format(subject, sizeof(subject), "node %s", action->row.node);
	if (problem) {
		runner->stats.failed++;
		log_problem(LOG_LEVEL_WARN, subject, problem);
	} else {
		runner->stats.done++;
		log_info(subject, "%s done (action=%lld)", action->row.action,
			 (long long)action->row.id);
	}
	loop_timer_arm(runner->save_timer, 0);
}

/* --- doing --- */

static void action_runner_on_answer(void *context, int rc, const struct bmc_result *result,
				    const struct problem *problem)
{
	struct action *action = context;

	action->asked = false;
	if (rc == E_LAPSED) {
		log_problem(LOG_LEVEL_WARN, ACTION_RUNNER_SUBJECT, problem);
		action_free(action); /* as if we had died: whoever claims it next decides */
	} else if (rc) {
		action_runner_end(action, NULL, problem);
	} else {
		action_runner_end(action, action_result(result), NULL);
	}
}

static void action_runner_start(struct action_runner *runner, struct action *action)
{
	struct problem problem = {0};
	struct bmc_request request;
	struct bmc_ask ask = {.bmc_id = action->row.node_id,
			      .request = &request,
			      .priority = CALL_CHANGE,
			      .person = true};
	int rc;

	if (action->row.repeated && !action_is_repeatable(action->row.action)) {
		(void)problem_set(
			&problem, E_UNAVAILABLE,
			"bampid stopped during %s of node %s: it may have been done or not",
			action->row.action, action->row.node);
		problem_hint(&problem,
			     "look at the node's power, and ask again if it is still wanted");
		action_runner_end(action, NULL, &problem);
		return;
	}
	rc = action_request(action->row.action, action->row.params,
			    action->row.uefi ? BMC_FIRMWARE_UEFI : BMC_FIRMWARE_BIOS, &request,
			    &problem);
	if (rc == 0) {
		request.fence = action->fence;
		action->until_ms = loop_now_ms(runner->loop) +
				   bmc_op_table[request.op].deadline_ms + ACTION_RUNNER_LATE_MS;
		rc = bmc_queue_submit(runner->options.queue, &ask, action_runner_on_answer, action,
				      &action->ticket);
		if (rc)
			(void)problem_set(&problem, rc, "the BMC of node %s could not be asked: %s",
					  action->row.node, error_text(rc));
	}
	action->asked = rc == 0;
	if (rc)
		action_runner_end(action, NULL, &problem);
}

static void action_runner_on_claimed(void *context, int rc, const PGresult *result,
				     const struct problem *problem)
{
	struct action_runner *runner = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, ACTION_RUNNER_SUBJECT, problem);
	for (int row = 0; row < rows; row++) {
		struct action *action = calloc(1, sizeof(*action));

		if (!action)
			break; /* claimed again when the claim has passed */
		if (fence_new(fence_end_ms(runner->claim_ms, runner->options.claim_ms),
			      &action->fence) != 0) {
			free(action);
			break;
		}
		action->runner = runner;
		if (action_row_read(result, row, &action->row) != 0)
			log_warn(ACTION_RUNNER_SUBJECT,
				 "the parameters of an action cannot be read (action=%lld)",
				 (long long)action->row.id);
		DL_APPEND(runner->actions, action);
		runner->held++;
		action_runner_start(runner, action);
	}
	work_cycle_end(&runner->cycle, rows == ACTION_LIMIT ? 0 : ACTION_RUNNER_PERIOD_MS);
}

static bool action_runner_is_full(const struct action_runner *runner)
{
	return runner->held + (size_t)ACTION_LIMIT > ACTION_RUNNER_HELD_MAX;
}

static void action_runner_claim(void *context)
{
	struct action_runner *runner = context;
	const struct save_options options = {.owner = runner->options.owner,
					     .claim_ms = runner->options.claim_ms};

	if (action_runner_is_full(runner)) {
		work_cycle_end(&runner->cycle, ACTION_RUNNER_RETRY_MS);
		return;
	}
	runner->claim_ms = clock_boot_ms();
	if (action_store_claim(runner->options.db, &options, action_runner_on_claimed, runner) != 0)
		work_cycle_end(&runner->cycle, ACTION_RUNNER_RETRY_MS);
}

/* --- claims --- */

static void action_runner_on_extended(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct action_runner *runner = context;
	int rows = rc ? 0 : PQntuples(result);

	(void)problem;
	runner->extending = false;
	for (int row = 0; row < rows; row++) {
		struct action *action;
		struct action *next;

		DL_FOREACH_SAFE(runner->actions, action, next)
		{
			if (action->row.id != db_int(result, row, ACTION_EXTEND_ID, 0) ||
			    action->row.generation !=
				    db_int(result, row, ACTION_EXTEND_GENERATION, 0))
				continue;
			if (db_bool(result, row, ACTION_EXTEND_HELD))
				fence_extend(action->fence, fence_end_ms(runner->extend_ms,
									 runner->options.claim_ms));
			else if (!action->saving)
				action_free(action);
		}
	}
}

/* Of those whose BMC never answers the claim ends, as if we had died. */
static void action_runner_give_up(struct action_runner *runner)
{
	int64_t now_ms = loop_now_ms(runner->loop);
	struct action *action;
	struct action *next;

	DL_FOREACH_SAFE(runner->actions, action, next)
	{
		if (!action->asked || now_ms < action->until_ms)
			continue;
		log_warn(
			ACTION_RUNNER_SUBJECT,
			"%s of node %s has no answer long after its deadline: given up (action=%lld)",
			action->row.action, action->row.node, (long long)action->row.id);
		action_free(action);
	}
}

static void action_runner_extend(void *context)
{
	struct action_runner *runner = context;
	struct claim_key keys[ACTION_RUNNER_HELD_MAX];
	struct extend_options options = {
		.owner = runner->options.owner, .claim_ms = runner->options.claim_ms, .keys = keys};
	struct action *action;

	loop_timer_arm(runner->extend_timer, runner->options.claim_ms / 3);
	action_runner_give_up(runner);
	DL_FOREACH(runner->actions, action)
	{
		if (options.count < COUNT_OF(keys))
			keys[options.count++] =
				(struct claim_key){action->row.id, action->row.generation};
	}
	if (options.count == 0 || !runner->cycle.connected || runner->extending)
		return;
	runner->extend_ms = clock_boot_ms();
	runner->extending = action_store_extend(runner->options.db, &options,
						action_runner_on_extended, runner) == 0;
}

/* --- life --- */

void action_runner_wake(struct action_runner *runner)
{
	work_cycle_wake(&runner->cycle);
}

void action_runner_db_state(struct action_runner *runner, bool connected)
{
	work_cycle_connected(&runner->cycle, connected);
	if (connected)
		loop_timer_arm(runner->save_timer, 0);
}

const struct action_runner_stats *action_runner_stats(const struct action_runner *runner)
{
	return &runner->stats;
}

int action_runner_new(struct loop *loop, const struct action_runner_options *options,
		      struct action_runner **ret)
{
	struct action_runner *runner = calloc(1, sizeof(*runner));
	int rc;

	if (!runner)
		return -ENOMEM;
	*runner = (struct action_runner){.loop = loop, .options = *options};
	rc = work_cycle_open(&runner->cycle, loop, action_runner_claim, runner);
	if (rc == 0)
		rc = loop_timer_new(loop, action_runner_save, runner, &runner->save_timer);
	if (rc == 0)
		rc = loop_timer_new(loop, action_runner_extend, runner, &runner->extend_timer);
	if (rc) {
		action_runner_free(runner);
		return rc;
	}
	loop_timer_arm(runner->extend_timer, options->claim_ms / 3);
	work_cycle_connected(&runner->cycle, db_connected(options->db));
	*ret = runner;
	return 0;
}

void action_runner_free(struct action_runner *runner)
{
	struct action *action;
	struct action *next;

	if (!runner)
		return;
	DL_FOREACH_SAFE(runner->actions, action, next)
	action_free(action);
	work_cycle_close(&runner->cycle);
	loop_timer_free(runner->save_timer);
	loop_timer_free(runner->extend_timer);
	free(runner);
}
