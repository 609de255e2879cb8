#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/http/json_reader.h"

#include "bampi/control/deploy/deploy_store.h"

#define NUMBER_SIZE 24
#define JSON_MAX    ((size_t)4 << 20)

/* Times leave the database as milliseconds since 1970. */
#define MS(column) "floor(extract(epoch from " column ") * 1000)::bigint"

/* Who is further along goes first, as if due so much earlier per step begun: of ten thousand at
 * once the first are installed while the last still wait, instead of all going side by side.
 * Whoever has waited for longer than that goes before all of them, so nobody starves; cancel is
 * wanted soon. A BMC's answer counts as due now, not as due when the claim runs out. */
#define AHEAD "interval '2 minutes'"

#define DUE_AGAIN "now() + $2::bigint * interval '1 ms'"

/* A claimed row is due when the claim runs out: a deployment_touch before it is saved shows (it
 * makes the row due now), and save keeps it. Else what was observed between the two would wait for
 * the next poll.
 *
 * The facts are asked for when the claim is committed. In one statement the claim would undo the
 * touch of somebody who committed after its snapshot was taken, and the facts would not have what
 * he touched it for. In one transaction a bampid that stands still would hold the locks of all
 * these rows: what 256 of them say does not fit into the socket, so the commit behind it does not
 * come, and bampi-bootd waits with each observation for as long. */
/* clang-format off */
static const struct db_query deploy_claim_store_claim_query = {"deploy_claim",
	"update haas.deployment set claim_owner = $1, claim_until = " DUE_AGAIN ", generation = generation + 1, due_at = " DUE_AGAIN " "
	"where id = any (array("
	"  select id from haas.deployment"
	"  where due_at is not null and (due_at <= now() or id = any ($3::bigint[]))"
	"    and (claim_until is null or claim_until <= now() or claim_owner = $1)"
	"  order by least(due_at, now()) - " AHEAD " * (case state when 'queued' then 0 when 'cancelling' then 60 else step_index + 1 end)"
	"  limit 256 for no key update skip locked)) returning id, generation", 3};

/* Whoever has a new generation by now is not ours any more. */
static const struct db_query facts_query = {"deploy_facts",
	"select c.id, c.generation, c.plan, c.state, c.step, c.step_index, c.attempt, " MS("c.step_started_at") ", " MS("c.step_deadline_at") ", "
	MS("c.created_at") ", c.tenant_id, t.name, c.actor, c.params, c.memo, c.problem, "
	"n.id, n.name, n.serial, b.mac, n.state, n.dirty, n.firmware, "
	"i.manifest, encode(i.signature, 'hex'), i.stored_digest, i.root_partition, "
	"bi.target, bi.deployment_id, bi.token, bi.nonce, "
	"(select jsonb_object_agg(o.kind, jsonb_build_array(" MS("o.at") ", o.token, o.detail, o.bytes))"
	" from haas.boot_observation o where o.node_id = n.id), "
	"a.id, a.kind, a.state, a.token, a.step, " MS("a.created_at") ", " MS("a.updated_at") ", a.result, a.problem, "
	"(select " MS("p.updated_at") " from haas.progress p where p.deployment_id = c.id), "
	"(select jsonb_object_agg(s.step_index, s.attempt) from"
	" (select step_index, max(attempt) as attempt from haas.deployment_step where deployment_id = c.id group by 1) s), "
	"(select jsonb_object_agg(r.kind, r.result) from (select distinct on (x.kind) x.kind, x.result from haas.agent_task x"
	"  where x.deployment_id = c.id and x.state = 'done' and x.kind in ('erase', 'verify_erased', 'write_image') order by x.kind, x.id desc) r), "
	"case when c.plan = 'release' then"
	" (select jsonb_agg(jsonb_build_object('serial', v.serial, 'name', v.name)) from haas.drive v where v.node_id = n.id) end, "
	"exists (select from haas.certificate f where f.deployment_id = c.id), "
	"(select f.hash from haas.certificate f order by f.id desc limit 1), "
	"(select host(s.boot_server) from haas.lease l join haas.subnet s on s.id = l.subnet_id where l.mac = b.mac and l.state = 'bound' order by l.expires_at desc limit 1), "
	"haas.node_place_facts(n.id), "
	"case when c.plan in ('install', 'reinstall') and c.params ? 'packages' then haas.deployment_packages(c.params, c.tenant_id) end, "
	"case when c.plan in ('install', 'reinstall') then haas.node_volume_facts(n.id) end, "
	MS("clock_timestamp()") " "
	"from unnest($1::bigint[], $2::bigint[]) k (id, generation) join haas.deployment c on c.id = k.id and c.generation = k.generation"
	" join haas.node n on n.id = c.node_id"
	" left join haas.nic b on b.node_id = n.id and b.boot"
	" left join haas.tenant t on t.id = c.tenant_id"
	" left join haas.image i on i.id = c.image_id"
	" left join haas.boot_intent bi on bi.node_id = n.id"
	" left join lateral (select * from haas.agent_task x where x.deployment_id = c.id and x.step = c.step order by x.id desc limit 1) a on true "
	"order by c.id", 2};

enum column {
	ID, GENERATION, PLAN, STATE, STEP, STEP_INDEX, ATTEMPT, STEP_STARTED, STEP_DEADLINE, CREATED, TENANT_ID, TENANT, ACTOR, PARAMS, MEMO, PROBLEM,
	NODE_ID, NODE_NAME, NODE_SERIAL, NODE_MAC, NODE_STATE, NODE_DIRTY, NODE_FIRMWARE,
	IMAGE_MANIFEST, IMAGE_SIGNATURE, IMAGE_DIGEST, IMAGE_ROOT,
	INTENT_TARGET, INTENT_DEPLOYMENT, INTENT_TOKEN, INTENT_NONCE,
	SEEN,
	A_ID, A_KIND, A_STATE, A_TOKEN, A_STEP, A_CREATED, A_UPDATED, A_RESULT, A_PROBLEM,
	PROGRESS, ATTEMPTS, RESULTS, DRIVES, CERTIFIED, CHAIN_HEAD, BOOT_SERVER, PLACE, PACKAGES, VOLUMES, NOW,
};

static const struct db_query next_query = {"deploy_next",
	"select floor(extract(epoch from min(due_at) - clock_timestamp()) * 1000)::bigint from ("
	" select min(due_at) as due_at from haas.deployment where due_at > now()"
	" union all select min(due_at) from haas.node_action where due_at > now()) x", 0};

/* What we claimed ourselves meanwhile has a new generation, and is ours: its BMC job is known by the old one until its facts are there. */
static const struct db_query deploy_claim_store_extend_query = {"deploy_extend",
	"with k as (select * from unnest($1::bigint[], $2::bigint[]) as k (id, generation)), kept as ("
	" update haas.deployment d set claim_until = now() + $3::bigint * interval '1 ms' from k"
	" where d.id = any (array(select id from haas.deployment where id = any ($1::bigint[]) and claim_owner = $4 order by id for no key update))"
	" and d.id = k.id and d.generation = k.generation and d.claim_owner = $4 returning d.id) "
	"select k.id, k.generation from k where not exists (select from kept where kept.id = k.id)"
	" and not exists (select from haas.deployment d where d.id = k.id and d.claim_owner = $4)", 4};

static const struct db_query head_query = {"deploy_chain_head", "select hash from haas.certificate order by id desc limit 1", 0};
/* clang-format on */

struct claim_call {
	struct db *db;
	db_result_fn on_rows, on_next;
	void *context;
};

static int deploy_claim_store_ask_facts(const struct claim_call *call, const PGresult *claimed)
{
	CLEANUP(text_done) struct text ids = {0};
	CLEANUP(text_done) struct text generations = {0};

	array_begin(&ids);
	array_begin(&generations);
	for (int row = 0; row < PQntuples(claimed); row++) {
		array_add_int(&ids, db_int(claimed, row, 0, 0));
		array_add_int(&generations, db_int(claimed, row, 1, 0));
	}
	array_end(&ids);
	array_end(&generations);
	if (ids.failed || generations.failed)
		return -ENOMEM;

	const char *params[] = {text_get(&ids), text_get(&generations)};
	const struct db_call calls[] = {{&facts_query, params, call->on_rows, call->context},
					{&next_query, NULL, call->on_next, call->context}};

	return db_submit_all(call->db, calls, COUNT_OF(calls));
}

static void deploy_claim_store_on_claim(void *context, int rc, const PGresult *result,
					const struct problem *problem)
{
	CLEANUP(freep) struct claim_call *call = context;
	struct problem why = {0};

	if (rc == 0) {
		rc = deploy_claim_store_ask_facts(call, result);
		if (rc == 0)
			return;
		(void)problem_set(&why, rc, "the facts of a claim cannot be asked for: %s",
				  error_text(rc));
		problem = &why;
	}
	call->on_rows(call->context, rc, NULL, problem);
	call->on_next(call->context, rc, NULL, problem);
}

int deploy_store_claim(struct db *db, const struct claim_options *options, db_result_fn on_rows,
		       db_result_fn on_next, void *context)
{
	CLEANUP(text_done) struct text woken = {0};
	CLEANUP(freep) struct claim_call *call = malloc(sizeof(*call));
	char claim_ms[NUMBER_SIZE];
	int rc;

	array_begin(&woken);
	for (size_t i = 0; i < options->woken_count; i++)
		array_add_int(&woken, options->woken[i]);
	array_end(&woken);
	(void)text_format(claim_ms, sizeof(claim_ms), "%lld", (long long)options->claim_ms);
	if (woken.failed || !call)
		return -ENOMEM;
	*call = (struct claim_call){db, on_rows, on_next, context};

	const char *params[] = {options->owner, claim_ms, text_get(&woken)};

	rc = db_submit(db, &deploy_claim_store_claim_query, params, deploy_claim_store_on_claim,
		       call);
	if (rc == 0)
		call = NULL; /* on_claim has it */
	return rc;
}

int64_t deploy_store_next_ms(const PGresult *result)
{
	int64_t next_ms;

	if (PQntuples(result) == 0 || db_is_null(result, 0, 0))
		return -1;
	next_ms = db_int(result, 0, 0, 0);
	return next_ms > 0 ? next_ms : 0;
}

int claim_extend(struct db *db, const struct db_query *query, const struct extend_options *options,
		 db_result_fn fn, void *context)
{
	CLEANUP(text_done) struct text ids = {0};
	CLEANUP(text_done) struct text generations = {0};
	char claim_ms[NUMBER_SIZE];

	array_begin(&ids);
	array_begin(&generations);
	for (size_t i = 0; i < options->count; i++) {
		array_add_int(&ids, options->keys[i].id);
		array_add_int(&generations, options->keys[i].generation);
	}
	array_end(&ids);
	array_end(&generations);
	(void)text_format(claim_ms, sizeof(claim_ms), "%lld", (long long)options->claim_ms);
	if (ids.failed || generations.failed)
		return -ENOMEM;

	const char *params[] = {text_get(&ids), text_get(&generations), claim_ms, options->owner};

	return db_submit(db, query, params, fn, context);
}

int deploy_store_extend(struct db *db, const struct extend_options *options, db_result_fn fn,
			void *context)
{
	return claim_extend(db, &deploy_claim_store_extend_query, options, fn, context);
}

int deploy_store_head(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &head_query, NULL, fn, context);
}

/* --- reading --- */

static int deploy_claim_store_read_json(const PGresult *result, int row, int column, json_t **ret)
{
	const char *text = db_text(result, row, column, NULL);
	struct problem ignored = {0};

	return text ? json_read(text, strlen(text), JSON_MAX, ret, &ignored) : 0;
}

/* What it lacks stays empty. */
static void problem_of_json(const json_t *object, int code, struct problem *ret)
{
	const char *message = json_string_value(json_object_get(object, "message"));
	const char *text;

	if (!object || json_is_null(object))
		return;
	(void)problem_set(ret, code, "%s",
			  message && *message ? message : "a problem without a message");
	text = json_string_value(json_object_get(object, "detail"));
	problem_detail(ret, "%s", text ? text : "");
	text = json_string_value(json_object_get(object, "hint"));
	problem_hint(ret, "%s", text ? text : "");
}

static void deploy_claim_store_read_problem(const PGresult *result, int row, int column,
					    struct problem *ret)
{
	CLEANUP(json_decrefp) json_t *object = NULL;

	if (deploy_claim_store_read_json(result, row, column, &object) == 0)
		problem_of_json(object, E_PROTOCOL, ret);
}

#define WORD(words, result, row, column) \
	enum_value(words, COUNT_OF(words), db_text(result, row, column, ""))

static int read_deployment(const PGresult *result, int row, struct claimed *ret)
{
	struct deployment_facts *d = &ret->facts.deployment;
	int plan = WORD(plan_words, result, row, PLAN);
	int state = WORD(deployment_state_words, result, row, STATE);

	if (plan < 0 || state < 0)
		return E_MALFORMED;
	*d = (struct deployment_facts){
		.id = db_int(result, row, ID, 0),
		.generation = db_int(result, row, GENERATION, 0),
		.plan = (enum plan)plan,
		.state = (enum deployment_state)state,
		.step_index = (int)db_int(result, row, STEP_INDEX, 0),
		.attempt = (int)db_int(result, row, ATTEMPT, 0),
		.step_started_ms = db_int(result, row, STEP_STARTED, 0),
		.step_deadline_ms = db_int(result, row, STEP_DEADLINE, 0),
		.created_ms = db_int(result, row, CREATED, 0),
		.tenant_id = db_int(result, row, TENANT_ID, 0),
	};
	(void)text_copy(d->step, sizeof(d->step), db_text(result, row, STEP, ""));
	(void)text_copy(d->actor, sizeof(d->actor), db_text(result, row, ACTOR, ""));
	(void)text_copy(ret->facts.tenant, sizeof(ret->facts.tenant),
			db_text(result, row, TENANT, ""));
	ret->facts.memo = memo_read(db_text(result, row, MEMO, NULL));
	deploy_claim_store_read_problem(result, row, PROBLEM, &ret->facts.problem);
	return deploy_claim_store_read_json(result, row, PARAMS, &ret->params);
}

static int deploy_claim_store_read_node(const PGresult *result, int row, struct node_facts *ret)
{
	int state = WORD(node_state_words, result, row, NODE_STATE);

	if (state < 0)
		return E_MALFORMED;
	ret->id = db_int(result, row, NODE_ID, 0);
	ret->state = (enum node_state)state;
	ret->dirty = db_bool(result, row, NODE_DIRTY);
	ret->firmware = strcmp(db_text(result, row, NODE_FIRMWARE, ""), "uefi") == 0
				? BMC_FIRMWARE_UEFI
				: BMC_FIRMWARE_BIOS;
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, row, NODE_NAME, ""));
	(void)text_copy(ret->serial, sizeof(ret->serial), db_text(result, row, NODE_SERIAL, ""));
	(void)text_copy(ret->boot_mac, sizeof(ret->boot_mac), db_text(result, row, NODE_MAC, ""));
	return 0;
}

static int read_image(const PGresult *result, int row, struct claimed *ret)
{
	struct image_facts *image = &ret->facts.image;

	if (db_is_null(result, row, IMAGE_MANIFEST))
		return 0;
	ret->manifest = strdup(db_text(result, row, IMAGE_MANIFEST, ""));
	ret->signature = strdup(db_text(result, row, IMAGE_SIGNATURE, ""));
	if (!ret->manifest || !ret->signature)
		return -ENOMEM;
	image->present = true;
	image->root_partition = (int)db_int(result, row, IMAGE_ROOT, 1);
	(void)text_copy(image->stored_digest, sizeof(image->stored_digest),
			db_text(result, row, IMAGE_DIGEST, ""));
	return 0;
}

static int read_intent(const PGresult *result, int row, struct intent_facts *ret)
{
	int target = WORD(intent_target_words, result, row, INTENT_TARGET);

	if (target < 0)
		return E_MALFORMED;
	ret->target = (enum intent_target)target;
	ret->deployment_id = db_int(result, row, INTENT_DEPLOYMENT, 0);
	(void)text_copy(ret->token, sizeof(ret->token), db_text(result, row, INTENT_TOKEN, ""));
	(void)text_copy(ret->nonce, sizeof(ret->nonce), db_text(result, row, INTENT_NONCE, ""));
	return 0;
}

static int read_seen(const PGresult *result, int row, struct observation ret[SEEN_COUNT])
{
	CLEANUP(json_decrefp) json_t *all = NULL;
	int rc = deploy_claim_store_read_json(result, row, SEEN, &all);

	for (int kind = 0; rc == 0 && kind < SEEN_COUNT; kind++) {
		const json_t *seen = json_object_get(all, seen_words[kind]);
		const char *text = json_string_value(json_array_get(seen, 1));

		ret[kind].at_ms = json_integer_value(json_array_get(seen, 0));
		ret[kind].bytes = json_integer_value(json_array_get(seen, 3));
		(void)text_copy(ret[kind].token, sizeof(ret[kind].token), text ? text : "");
		text = json_string_value(json_array_get(seen, 2));
		(void)text_copy(ret[kind].detail, sizeof(ret[kind].detail), text ? text : "");
	}
	return rc;
}

static int deploy_claim_store_read_task(const PGresult *result, int row, struct claimed *ret)
{
	struct task_facts *task = &ret->facts.task;
	int kind = WORD(task_kind_words, result, row, A_KIND);
	int state = WORD(task_state_words, result, row, A_STATE);

	if (db_is_null(result, row, A_ID))
		return 0;
	if (kind < 0 || state < 0)
		return E_MALFORMED;
	task->id = db_int(result, row, A_ID, 0);
	task->kind = (enum task_kind)kind;
	task->state = (enum task_state)state;
	task->created_ms = db_int(result, row, A_CREATED, 0);
	task->updated_ms = db_int(result, row, A_UPDATED, 0);
	(void)text_copy(task->token, sizeof(task->token), db_text(result, row, A_TOKEN, ""));
	(void)text_copy(task->step, sizeof(task->step), db_text(result, row, A_STEP, ""));
	deploy_claim_store_read_problem(result, row, A_PROBLEM, &task->problem);
	return deploy_claim_store_read_json(result, row, A_RESULT, &ret->result);
}

static void deploy_claim_store_read_vlans(json_t *vlans, struct network_facts *ret)
{
	const char *network;
	json_t *vlan;

	json_object_foreach(vlans, network, vlan)
	{
		if (ret->vlan_count == NETWORK_VLANS_MAX || !json_is_integer(vlan))
			continue;
		ret->vlans[ret->vlan_count].network = strtoll(network, NULL, 10);
		ret->vlans[ret->vlan_count++].vlan = (int)json_integer_value(vlan);
	}
}

/* As node_place_facts gives it; null at a site without switches of ours. */
static int deploy_claim_store_read_network(const PGresult *result, int row,
					   struct network_facts *ret)
{
	CLEANUP(json_decrefp) json_t *facts = NULL;
	int rc = deploy_claim_store_read_json(result, row, PLACE, &facts);
	const char *place = json_string_value(json_array_get(facts, 0));
	int word;

	if (rc || !facts || json_is_null(facts))
		return rc;
	word = enum_value(place_words, PLACE_COUNT, place ? place : "");
	if (word < 0)
		return E_MALFORMED;
	ret->managed = true;
	ret->place = (enum place)word;
	ret->ports = (int)json_integer_value(json_array_get(facts, 1));
	ret->open = (int)json_integer_value(json_array_get(facts, 2));
	ret->networks = (int)json_integer_value(json_array_get(facts, 3));
	problem_of_json(json_array_get(facts, 4), E_CONFLICT, &ret->refused);
	problem_of_json(json_array_get(facts, 5), E_CONFLICT, &ret->problem);
	deploy_claim_store_read_vlans(json_array_get(facts, 6), ret);
	return 0;
}

static int read_attempts(const PGresult *result, int row, const struct deployment_facts *deployment,
			 int ret[PLAN_STEPS_MAX])
{
	const struct plan_row *plan = &plan_table[advance_plan(deployment)];
	CLEANUP(json_decrefp) json_t *all = NULL;
	int rc = deploy_claim_store_read_json(result, row, ATTEMPTS, &all);

	for (size_t i = 0; rc == 0 && i < plan->count; i++) {
		char key[NUMBER_SIZE];

		(void)text_format(key, sizeof(key), "%d", plan->base + (int)i);
		ret[i] = (int)json_integer_value(json_object_get(all, key));
	}
	return rc;
}

static int deploy_claim_store_read_results(const PGresult *result, int row, struct claimed *ret)
{
	json_t *drives = NULL;
	int rc = deploy_claim_store_read_json(result, row, RESULTS, &ret->results);

	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, DRIVES, &drives);
	if (rc || !drives)
		return rc;
	if (!ret->results)
		ret->results = json_object();
	return json_object_set_new(ret->results, "drives", drives) < 0 ? -ENOMEM : 0;
}

int claimed_read(const PGresult *result, int row, unsigned http_port, struct claimed *ret)
{
	struct claimed claimed = {.now_ms = db_int(result, row, NOW, 0)};
	const char *server = db_text(result, row, BOOT_SERVER, "");
	int rc = read_deployment(result, row, &claimed);

	claimed.facts.progress_ms = db_int(result, row, PROGRESS, 0);
	claimed.facts.certified = db_bool(result, row, CERTIFIED);
	(void)text_copy(claimed.chain_head, sizeof(claimed.chain_head),
			db_text(result, row, CHAIN_HEAD, CERTIFICATE_FIRST_HASH));
	if (server[0])
		(void)text_format(claimed.facts.boot_url, sizeof(claimed.facts.boot_url),
				  "http://%s:%u", server, http_port);
	if (rc == 0)
		rc = deploy_claim_store_read_node(result, row, &claimed.facts.node);
	if (rc == 0)
		rc = read_image(result, row, &claimed);
	if (rc == 0)
		rc = read_intent(result, row, &claimed.facts.intent);
	if (rc == 0)
		rc = read_seen(result, row, claimed.facts.seen);
	if (rc == 0)
		rc = deploy_claim_store_read_task(result, row, &claimed);
	if (rc == 0)
		rc = deploy_claim_store_read_network(result, row, &claimed.facts.network);
	if (rc == 0)
		rc = read_attempts(result, row, &claimed.facts.deployment, claimed.facts.attempts);
	if (rc == 0)
		rc = deploy_claim_store_read_results(result, row, &claimed);
	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, PACKAGES, &claimed.packages);
	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, VOLUMES, &claimed.volumes);
	if (rc) {
		claimed_done(&claimed);
		ret->now_ms = db_int(result, row, NOW, 0);
		ret->facts.deployment.id = db_int(result, row, ID, 0);
		ret->facts.deployment.generation = db_int(result, row, GENERATION, 0);
		return rc;
	}
	claimed.facts.deployment.params = claimed.params;
	claimed.facts.packages = claimed.packages;
	claimed.facts.volumes = claimed.volumes;
	claimed.facts.task.result = claimed.result;
	claimed.facts.results = claimed.results;
	claimed.facts.image.manifest = claimed.manifest;
	claimed.facts.image.signature = claimed.signature;
	*ret = claimed;
	return 0;
}

void claimed_done(struct claimed *claimed)
{
	json_decref(claimed->params);
	json_decref(claimed->result);
	json_decref(claimed->results);
	json_decref(claimed->packages);
	json_decref(claimed->volumes);
	free(claimed->manifest);
	free(claimed->signature);
	*claimed = (struct claimed){0};
}
