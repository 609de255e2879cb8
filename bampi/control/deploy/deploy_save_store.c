#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/deploy_json.h"
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
	PART_DRIVE,
	PART_DRIVE_GONE,
	PART_CERTIFICATE,
	PART_EVENT,
	PART_COUNT
};

/* Rows that are not ours any more drop out here: PART_DEPLOYMENT locked those that are, so the
 * answer cannot change. */
#define OURS(columns)                                                                        \
	" from jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint" columns ")" \
	" join haas.deployment d on d.id = x.id and d.generation = x.generation join haas.node n on n.id = d.node_id "
#define TIME(column) "to_timestamp(" column " / 1000.0)"

/* clang-format off */
static const struct db_query deploy_save_store_queries[PART_COUNT] = {
	/* What is found out about drives is written there by triggers. Both whether or not the rows are ours: that is not known yet. */
	[PART_HEALTH_LOCK] = {"deploy_lock_health",
		"select haas.node_health_lock(array(select node_id from jsonb_to_recordset($1::jsonb) as x (node_id bigint)))", 1},
	[PART_NODE_LOCK] = {"deploy_lock_node",
		"select haas.node_lock(array(select node_id from jsonb_to_recordset($1::jsonb) as x (node_id bigint)))", 1},
	/* Due before its claim runs out: touched since the claim, so it is looked at again at once. */
	[PART_DEPLOYMENT] = {"deploy_save",
		"with x as (select * from jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint, state text, step text, step_index integer,"
		"  attempt integer, started_ms bigint, deadline_ms bigint, due_ms bigint, keep boolean, memo jsonb, problem jsonb, ended boolean)),"
		"locked as (select d.id from haas.deployment d join x on x.id = d.id and x.generation = d.generation order by d.id for no key update of d) "
		"update haas.deployment d set state = x.state::haas.deployment_state, step = x.step, step_index = x.step_index, attempt = x.attempt,"
		"  step_started_at = " TIME("x.started_ms") ", step_deadline_at = " TIME("x.deadline_ms") ","
		"  due_at = case when x.due_ms is null then null when d.due_at < coalesce(d.claim_until, 'infinity') then now() else " TIME("x.due_ms") " end,"
		"  claim_owner = case when x.keep then $2 end, claim_until = case when x.keep then now() + $3::bigint * interval '1 ms' end,"
		"  memo = x.memo, problem = x.problem, started_at = coalesce(d.started_at, now()),"
		"  ended_at = case when x.ended then now() end,"
		"  version = d.version + ((d.state::text, d.step, d.attempt) is distinct from (x.state, x.step, x.attempt))::integer "
		"from x join locked on locked.id = x.id where d.id = x.id and d.generation = x.generation returning d.id", 3},
	[PART_NODE_EVENT] = {"deploy_node_event",
		"select haas.node_transition(y.node_id, y.event::haas.node_event, 'bampid', y.detail) from ("
		" select d.node_id, x.event, x.detail" OURS(", event text, detail jsonb") "order by d.node_id offset 0) y", 1},
	[PART_PLACE] = {"deploy_ask_place",
		"select haas.node_place_ask(y.node_id, y.place) from (select d.node_id, x.place" OURS(", place text") "order by d.node_id offset 0) y", 1},
	[PART_STEP] = {"deploy_save_step",
		"insert into haas.deployment_step (deployment_id, step_index, step, state, attempt, started_at, ended_at, problem) "
		"select d.id, x.step_index, x.step, x.state, x.attempt, " TIME("x.started_ms") ", case when x.ended then now() end, x.problem"
		OURS(", step_index integer, step text, state text, attempt integer, started_ms bigint, ended boolean, problem jsonb")
		"on conflict (deployment_id, step_index, attempt) do update set state = excluded.state, ended_at = excluded.ended_at,"
		" problem = excluded.problem", 1},
	[PART_TASK_DROP] = {"deploy_drop_task",
		"update haas.agent_task set state = 'dropped', updated_at = now() where id = any (array(select t.id" OURS("")
		"join haas.agent_task t on t.deployment_id = d.id where t.state in ('queued', 'taken') order by t.id for no key update of t))"
		" and state in ('queued', 'taken')", 1},
	[PART_TASK_POST] = {"deploy_post_task",
		"insert into haas.agent_task (deployment_id, node_id, token, step, kind, params) "
		"select d.id, d.node_id, x.token, x.step, x.kind, x.params" OURS(", token text, step text, kind text, params jsonb"), 1},
	[PART_INTENT_REMOVE] = {"deploy_remove_intent",
		"delete from haas.boot_intent b using (select d.id" OURS("") ") y where b.deployment_id = y.id", 1},
	[PART_INTENT_PUT] = {"deploy_put_intent",
		"insert into haas.boot_intent (node_id, target, deployment_id, token, nonce, stored_digest) "
		"select d.node_id, x.target, d.id, x.token, x.nonce, case when x.target = 'agent' then i.stored_digest end"
		OURS(", target text, token text, nonce text") "left join haas.image i on i.id = d.image_id order by d.node_id "
		"on conflict (node_id) do update set target = excluded.target, deployment_id = excluded.deployment_id, token = excluded.token,"
		" nonce = excluded.nonce, stored_digest = excluded.stored_digest, changed_at = now()", 1},
	/* A NIC without a neighbour was not listened on for long enough: the one it had is kept. */
	[PART_INVENTORY] = {"deploy_put_inventory",
		"insert into haas.node_inventory as v (node_id, data, deployment_id) select d.node_id, x.data, d.id" OURS(", data jsonb") "order by d.node_id "
		"on conflict (node_id) do update set data = jsonb_set(excluded.data, '{nics}', coalesce("
		"  (select jsonb_agg(case when a.nic -> 'lldp' = 'null' and b.lldp is not null then a.nic || jsonb_build_object('lldp', b.lldp) else a.nic end"
		"    order by a.place) from jsonb_array_elements(excluded.data -> 'nics') with ordinality as a (nic, place)"
		"    left join lateral (select o -> 'lldp' as lldp from jsonb_array_elements(v.data -> 'nics') o where o -> 'mac' = a.nic -> 'mac' limit 1) b"
		"    on true), '[]')),"
		"  deployment_id = excluded.deployment_id, at = now()", 1},
	[PART_DRIVE] = {"deploy_put_drive",
		"insert into haas.drive as v (node_id, serial, name, model, kind, size_bytes, verdict, method, reason, verdict_at) "
		"select d.node_id, y.serial, coalesce(y.name, ''), coalesce(y.model, ''), coalesce(y.kind, ''), coalesce(y.size_bytes, 0),"
		" coalesce(y.verdict, 'unknown'), coalesce(y.method, ''), coalesce(y.reason, ''), case when y.verdict is not null then now() end"
		OURS(", drives jsonb")
		"cross join jsonb_to_recordset(x.drives) as y (serial text, name text, model text, kind text, size_bytes bigint, verdict text,"
		"  method text, reason text) order by d.node_id, y.serial "
		"on conflict (node_id, serial) do update set name = excluded.name, model = excluded.model,"
		" kind = case when excluded.kind = '' then v.kind else excluded.kind end, size_bytes = excluded.size_bytes,"
		" verdict = case when excluded.verdict_at is null then v.verdict else excluded.verdict end,"
		" method = case when excluded.verdict_at is null then v.method else excluded.method end,"
		" reason = case when excluded.verdict_at is null then v.reason else excluded.reason end,"
		" verdict_at = coalesce(excluded.verdict_at, v.verdict_at)", 1},
	[PART_DRIVE_GONE] = {"deploy_drop_drive",
		"delete from haas.drive v using (select d.node_id, x.drives" OURS(", drives jsonb") ") y"
		" where v.node_id = y.node_id and not exists (select from jsonb_array_elements(y.drives) z where z ->> 'serial' = v.serial)", 1},
	[PART_CERTIFICATE] = {"deploy_put_certificate",
		"insert into haas.certificate (node, deployment_id, body, previous_hash, hash, signature, public_key) "
		"select x.node, d.id, x.body, x.previous_hash, x.hash, x.signature, x.public_key from ("
		" select d.id, x.*" OURS(", ord integer, node text, body text, previous_hash text, hash text, signature text, public_key text")
		") x (deployment, id, generation, ord, node, body, previous_hash, hash, signature, public_key)"
		" join haas.deployment d on d.id = x.deployment order by x.ord", 1},
	[PART_EVENT] = {"deploy_event",
		"select haas.event_add('bampid', y.kind, 'node', y.name, y.tenant_id, y.message, y.detail) from ("
		" select x.kind, n.name, d.tenant_id, x.message, x.detail" OURS(", ord integer, kind text, message text, detail jsonb")
		"order by x.ord offset 0) y", 1},
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
			if (save->ids[i] == db_int(result, row, 0, 0))
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
	deploy_save_store_put(batch, object, "ended", json_boolean(advance->due_ms == 0));
	deploy_save_store_add(batch, PART_DEPLOYMENT, object);
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

static void add_tasks(struct deploy_save_store_batch *batch, const struct save_row *row)
{
	const struct outcome *outcome = &row->advance->outcome;
	json_t *object;

	if (outcome->drop_tasks || row->advance->due_ms == 0)
		deploy_save_store_add(batch, PART_TASK_DROP, deploy_save_store_row_of(row));
	if (outcome->post == TASK_NONE)
		return;
	object = deploy_save_store_row_of(row);
	deploy_save_store_put(batch, object, "token",
			      json_string(row->claimed->facts.intent.token));
	deploy_save_store_put(batch, object, "step", json_string(row->advance->step));
	deploy_save_store_put(batch, object, "kind", json_string(task_kind_words[outcome->post]));
	deploy_save_store_put(batch, object, "params",
			      outcome->post_params ? json_incref(outcome->post_params)
						   : json_object());
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
		deploy_save_store_add(batch, PART_DRIVE, object);
	}
	if (outcome->drives && outcome->drives_complete) {
		object = deploy_save_store_row_of(row);
		deploy_save_store_put(batch, object, "drives", json_incref(outcome->drives));
		deploy_save_store_add(batch, PART_DRIVE_GONE, object);
	}
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
			&deploy_save_store_queries[part], params[count],
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
		add_tasks(&batch, &rows[i]);
		add_intent(&batch, &rows[i]);
		deploy_save_store_add_place(&batch, &rows[i]);
		add_inventory(&batch, &rows[i]);
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
