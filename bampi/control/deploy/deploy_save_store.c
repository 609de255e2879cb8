#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/control/deploy/deploy_json.h"
#include "bampi/control/deploy/deploy_save_store_sql.h"
#include "bampi/control/deploy/deploy_store.h"

/* One statement per kind of effect, each over all rows of the batch that have it; all of them one
 * transaction. Their order, and that of the rows within each, is the order of locks
 * (db/schema/node.sql). */
enum part {
	PART_HEALTH_LOCK,
	PART_NODE_LOCK,
	PART_DEPLOYMENT,
	PART_NODE_EVENT,
	PART_PLACE,
	PART_STEP,
	PART_TASK_DROP,
	PART_TASK_POST,
	PART_INTENT_REMOVE,
	PART_INTENT_PUT,
	PART_INVENTORY,
	PART_ATTESTATION,
	PART_DRIVE,
	PART_DRIVE_GONE,
	PART_CERTIFICATE,
	PART_EVENT,
	PART_PACE,
	PART_COUNT
};

static const struct db_query *const deploy_save_store_queries[PART_COUNT] = {
	[PART_HEALTH_LOCK] = &deploy_lock_health_query,
	[PART_NODE_LOCK] = &deploy_lock_node_query,
	[PART_DEPLOYMENT] = &deploy_save_query,
	[PART_NODE_EVENT] = &deploy_node_event_query,
	[PART_PLACE] = &deploy_ask_place_query,
	[PART_STEP] = &deploy_save_step_query,
	[PART_TASK_DROP] = &deploy_drop_task_query,
	[PART_TASK_POST] = &deploy_post_task_query,
	[PART_INTENT_REMOVE] = &deploy_remove_intent_query,
	[PART_INTENT_PUT] = &deploy_put_intent_query,
	[PART_INVENTORY] = &deploy_put_inventory_query,
	[PART_ATTESTATION] = &deploy_put_attestation_query,
	[PART_DRIVE] = &deploy_put_drive_query,
	[PART_DRIVE_GONE] = &deploy_drop_drive_query,
	[PART_CERTIFICATE] = &deploy_put_certificate_query,
	[PART_EVENT] = &deploy_event_query,
	[PART_PACE] = &deploy_learn_pace_query,
};

struct save {
	deploy_saved_fn fn;
	void *context;
	size_t waiting; /* results still to come */
	int rc;
	struct problem problem;
	size_t count;
	bool *saved;
	int64_t *ids;
};

static void save_free(struct save *save)
{
	if (!save)
		return;
	free(save->saved);
	free(save->ids);
	free(save);
}

static void deploy_save_store_on_part(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct save *save = context;

	(void)result;
	/* The first failure is the cause, the rest were aborted by it. */
	if (rc && !save->rc) {
		save->rc = rc;
		save->problem = *problem;
	}
	if (--save->waiting > 0)
		return;
	save->fn(save->context, save->rc, save->saved, &save->problem);
	save_free(save);
}

static void on_deployments(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	struct save *save = context;
	int rows = rc ? 0 : PQntuples(result);

	for (int row = 0; row < rows; row++)
		for (size_t i = 0; i < save->count; i++)
			if (save->ids[i] == db_int(result, row, DEPLOY_SAVE_ID, 0))
				save->saved[i] = true;
	deploy_save_store_on_part(context, rc, result, problem);
}

/* --- rows --- */

struct deploy_save_store_batch {
	json_t *parts[PART_COUNT]; /* arrays, NULL = no row */
	bool failed;
};

static void deploy_save_store_add(struct deploy_save_store_batch *batch, enum part part,
				  json_t *row)
{
	if (!batch->parts[part])
		batch->parts[part] = json_array();
	if (!row || json_array_append_new(batch->parts[part], row) < 0)
		batch->failed = true;
}

static json_t *deploy_save_store_row_of(const struct save_row *row)
{
	return json_pack("{s:I, s:I}", "id", (json_int_t)row->claimed->facts.deployment.id,
			 "generation", (json_int_t)row->claimed->facts.deployment.generation);
}

static json_t *deploy_save_store_node_of(const struct save_row *row)
{
	return json_pack("{s:I}", "node_id", (json_int_t)row->claimed->facts.node.id);
}

static void deploy_save_store_put(struct deploy_save_store_batch *batch, json_t *row,
				  const char *key, json_t *value)
{
	if (json_object_set_new(row, key, value) < 0)
		batch->failed = true;
}

static json_t *ms_or_null(int64_t ms)
{
	return ms ? json_integer(ms) : json_null();
}

static void add_deployment(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct advance *advance = row->advance;
	json_t *object = deploy_save_store_row_of(row);
	json_t *waits;

	deploy_save_store_put(batch, object, "state",
			      json_string(deployment_state_words[advance->state]));
	deploy_save_store_put(batch, object, "step", json_of_text(advance->step));
	deploy_save_store_put(batch, object, "step_index", json_integer(advance->step_index));
	deploy_save_store_put(batch, object, "attempt", json_integer(advance->attempt));
	deploy_save_store_put(batch, object, "started_ms", ms_or_null(advance->step_started_ms));
	deploy_save_store_put(batch, object, "deadline_ms", ms_or_null(advance->step_deadline_ms));
	deploy_save_store_put(batch, object, "due_ms", ms_or_null(advance->due_ms));
	deploy_save_store_put(batch, object, "keep",
			      json_boolean(row->keep_claim && advance->due_ms));
	deploy_save_store_put(batch, object, "memo", memo_json(&advance->memo));
	deploy_save_store_put(batch, object, "problem", json_of_problem(&advance->problem));
	waits = json_of_problem(advance->due_ms ? &advance->waits : NULL);
	if (json_is_object(waits))
		deploy_save_store_put(batch, waits, "kind",
				      json_string(wait_kind_words[advance->waits_kind]));
	deploy_save_store_put(batch, object, "waits", waits);
	deploy_save_store_put(batch, object, "ended", json_boolean(advance->due_ms == 0));
	deploy_save_store_add(batch, PART_DEPLOYMENT, object);
	if (advance->due_ms == 0 && advance->state == DEPLOYMENT_DONE)
		deploy_save_store_add(batch, PART_PACE, deploy_save_store_row_of(row));
}

static void deploy_save_store_add_steps(struct deploy_save_store_batch *batch,
					const struct save_row *row)
{
	for (size_t i = 0; i < row->advance->log_count; i++) {
		const struct step_log *log = &row->advance->logs[i];
		json_t *object = deploy_save_store_row_of(row);

		deploy_save_store_put(batch, object, "step_index", json_integer(log->step_index));
		deploy_save_store_put(batch, object, "step", json_string(log->step));
		deploy_save_store_put(batch, object, "state", json_string(log->state));
		deploy_save_store_put(batch, object, "attempt", json_integer(log->attempt));
		deploy_save_store_put(batch, object, "started_ms", ms_or_null(log->started_ms));
		deploy_save_store_put(batch, object, "ended", json_boolean(log->ended));
		deploy_save_store_put(batch, object, "problem", json_of_problem(log->problem));
		deploy_save_store_add(batch, PART_STEP, object);
	}
}

/* For this node, this boot, this agent, until the attempt's deadline: nobody waits for it longer. */
static json_t *deploy_save_store_sign(const struct save_row *row, const struct task_key *key)
{
	const struct facts *facts = &row->claimed->facts;
	const struct outcome *outcome = &row->advance->outcome;
	struct task_statement statement = {
		.task = facts->fresh_task,
		.deployment = facts->deployment.id,
		.issued_ms = row->claimed->now_ms,
		.expires_ms = row->advance->step_deadline_ms,
	};

	(void)text_copy(statement.kind, sizeof(statement.kind), task_kind_words[outcome->post]);
	(void)text_copy(statement.node, sizeof(statement.node), facts->node.name);
	(void)text_copy(statement.mac, sizeof(statement.mac), facts->node.boot_mac);
	(void)text_copy(statement.agent, sizeof(statement.agent), facts->intent.agent_key);
	digest_text(facts->intent.token, strlen(facts->intent.token), statement.boot);
	return task_sign(key, &statement, outcome->post_params);
}

static void add_tasks(struct deploy_save_store_batch *batch, const struct save_row *row,
		      const struct task_key *key)
{
	CLEANUP(json_decrefp) json_t *signature = NULL;
	const struct outcome *outcome = &row->advance->outcome;
	json_t *object;

	if (outcome->drop_tasks || row->advance->due_ms == 0)
		deploy_save_store_add(batch, PART_TASK_DROP, deploy_save_store_row_of(row));
	if (outcome->post == TASK_NONE)
		return;
	/* What cannot be signed is not posted: the step finds no task, and asks again. */
	signature = deploy_save_store_sign(row, key);
	if (!signature) {
		log_error("runner", "a task for node %s cannot be signed",
			  row->claimed->facts.node.name);
		return;
	}
	object = deploy_save_store_row_of(row);
	deploy_save_store_put(batch, object, "task",
			      json_integer((json_int_t)row->claimed->facts.fresh_task));
	deploy_save_store_put(batch, object, "token",
			      json_string(row->claimed->facts.intent.token));
	deploy_save_store_put(batch, object, "step", json_string(row->advance->step));
	deploy_save_store_put(batch, object, "kind", json_string(task_kind_words[outcome->post]));
	if (json_object_update(object, signature) < 0)
		batch->failed = true;
	deploy_save_store_add(batch, PART_TASK_POST, object);
}

static void add_intent(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct outcome *outcome = &row->advance->outcome;
	json_t *object = outcome->intent == INTENT_KEEP ? NULL : deploy_save_store_row_of(row);

	switch (outcome->intent) {
	case INTENT_KEEP: break;
	case INTENT_REMOVE: deploy_save_store_add(batch, PART_INTENT_REMOVE, object); break;
	case INTENT_PUT:
		deploy_save_store_put(batch, object, "target",
				      json_string(intent_target_words[outcome->intent_target]));
		deploy_save_store_put(batch, object, "token", json_string(outcome->intent_token));
		deploy_save_store_put(batch, object, "nonce", json_string(outcome->intent_nonce));
		deploy_save_store_add(batch, PART_INTENT_PUT, object);
		break;
	}
}

static void deploy_save_store_add_place(struct deploy_save_store_batch *batch,
					const struct save_row *row)
{
	json_t *object;

	if (row->advance->outcome.place == PLACE_NONE)
		return;
	deploy_save_store_add(batch, PART_NODE_LOCK, deploy_save_store_node_of(row));
	object = deploy_save_store_row_of(row);
	deploy_save_store_put(batch, object, "place",
			      json_string(place_words[row->advance->outcome.place]));
	deploy_save_store_add(batch, PART_PLACE, object);
}

static void add_inventory(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct outcome *outcome = &row->advance->outcome;
	json_t *object;

	if (outcome->inventory) {
		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, object, "data", json_incref(outcome->inventory));
		deploy_save_store_add(batch, PART_INVENTORY, object);
	}
	if (outcome->drives) {
		deploy_save_store_add(batch, PART_HEALTH_LOCK, deploy_save_store_node_of(row));
		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, object, "drives", json_incref(outcome->drives));
		deploy_save_store_put(batch, object, "complete",
				      json_boolean(outcome->drives_complete));
		deploy_save_store_add(batch, PART_DRIVE, object);
	}
	if (outcome->drives && outcome->drives_complete) {
		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, object, "drives", json_incref(outcome->drives));
		deploy_save_store_add(batch, PART_DRIVE_GONE, object);
	}
}

static void add_attestation(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct outcome *outcome = &row->advance->outcome;
	json_t *object;

	if (!outcome->judged)
		return;
	object = deploy_save_store_row_of(row);
	deploy_save_store_put(batch, object, "attested", json_boolean(outcome->attest.attested));
	deploy_save_store_put(batch, object, "why", json_string(outcome->attest.why));
	deploy_save_store_put(batch, object, "key", json_string(outcome->attest.pins.key));
	deploy_save_store_put(batch, object, "pcr7", json_string(outcome->attest.pins.pcr7));
	deploy_save_store_add(batch, PART_ATTESTATION, object);
}

static void add_certificate(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	json_t *object = row->certificate ? deploy_save_store_row_of(row) : NULL;

	if (!object)
		return;
	if (json_object_update(object, row->certificate) < 0)
		batch->failed = true;
	deploy_save_store_put(
		batch, object, "ord",
		json_integer((json_int_t)json_array_size(batch->parts[PART_CERTIFICATE])));
	deploy_save_store_add(batch, PART_CERTIFICATE, object);
}

static json_t *detail_of(const struct save_row *row)
{
	return json_pack("{s:I, s:s}", "deployment", (json_int_t)row->claimed->facts.deployment.id,
			 "plan", plan_words[row->claimed->facts.deployment.plan]);
}

static void add_events(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct advance *advance = row->advance;
	json_t *object;

	if (advance->outcome.event != NODE_EVENT_NONE) {
		deploy_save_store_add(batch, PART_NODE_LOCK, deploy_save_store_node_of(row));
		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, object, "event",
				      json_string(node_event_words[advance->outcome.event]));
		deploy_save_store_put(batch, object, "detail", detail_of(row));
		deploy_save_store_add(batch, PART_NODE_EVENT, object);
	}
	for (size_t i = 0; i < advance->event_count; i++) {
		const struct event_log *event = &advance->events[i];
		json_t *detail = detail_of(row);

		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, detail, "step", json_of_text(event->step));
		deploy_save_store_put(batch, detail, "attempt", json_integer(event->attempt));
		if (event->problem)
			deploy_save_store_put(batch, detail, "problem",
					      json_of_problem(event->problem));
		deploy_save_store_put(batch, object, "kind", json_string(event->kind));
		deploy_save_store_put(batch, object, "message", json_of_text(event->message));
		deploy_save_store_put(batch, object, "detail", detail);
		deploy_save_store_put(
			batch, object, "ord",
			json_integer((json_int_t)json_array_size(batch->parts[PART_EVENT])));
		deploy_save_store_add(batch, PART_EVENT, object);
	}
}

/* --- the transaction --- */

static int deploy_save_store_submit(struct db *db, const struct save_options *options,
				    const struct deploy_save_store_batch *batch, struct save *save)
{
	char *texts[PART_COUNT] = {0};
	const char *params[PART_COUNT][3] = {{0}};
	struct db_call calls[PART_COUNT];
	char claim_ms[24];
	size_t count = 0;
	int rc = 0;

	(void)text_format(claim_ms, sizeof(claim_ms), "%lld", (long long)options->claim_ms);
	for (int part = 0; part < PART_COUNT; part++) {
		if (!batch->parts[part])
			continue;
		texts[count] = json_dumps(batch->parts[part], JSON_COMPACT);
		if (!texts[count])
			rc = -ENOMEM;
		params[count][0] = texts[count];
		params[count][1] = options->owner;
		params[count][2] = claim_ms;
		calls[count] = (struct db_call){
			deploy_save_store_queries[part], params[count],
			part == PART_DEPLOYMENT ? on_deployments : deploy_save_store_on_part, save};
		count++;
	}
	save->waiting = count;
	if (rc == 0)
		rc = db_submit_all(db, calls, count);
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	return rc;
}

int deploy_store_save(struct db *db, const struct save_options *options,
		      const struct save_row rows[], size_t count, deploy_saved_fn fn, void *context)
{
	struct save *save = calloc(1, sizeof(*save));
	struct deploy_save_store_batch batch = {0};
	int rc;

	if (!save)
		return -ENOMEM;
	*save = (struct save){.fn = fn,
			      .context = context,
			      .count = count,
			      .saved = calloc(count, sizeof(bool)),
			      .ids = calloc(count, sizeof(int64_t))};
	batch.failed = !save->saved || !save->ids;
	for (size_t i = 0; i < count && !batch.failed; i++) {
		save->ids[i] = rows[i].claimed->facts.deployment.id;
		add_deployment(&batch, &rows[i]);
		deploy_save_store_add_steps(&batch, &rows[i]);
		add_tasks(&batch, &rows[i], options->task_key);
		add_intent(&batch, &rows[i]);
		deploy_save_store_add_place(&batch, &rows[i]);
		add_inventory(&batch, &rows[i]);
		add_attestation(&batch, &rows[i]);
		add_certificate(&batch, &rows[i]);
		add_events(&batch, &rows[i]);
	}
	rc = batch.failed ? -ENOMEM : deploy_save_store_submit(db, options, &batch, save);
	for (int part = 0; part < PART_COUNT; part++)
		json_decref(batch.parts[part]);
	if (rc)
		save_free(save);
	return rc;
}
