#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/http/json_reader.h"

#include "bampi/control/deploy/deploy_claim_store_sql.h"
#include "bampi/control/deploy/deploy_store.h"

#define NUMBER_SIZE 24
#define JSON_MAX    ((size_t)4 << 20)

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
		array_add_int(&ids, db_int(claimed, row, DEPLOY_CLAIM_ID, 0));
		array_add_int(&generations, db_int(claimed, row, DEPLOY_CLAIM_GENERATION, 0));
	}
	array_end(&ids);
	array_end(&generations);
	if (ids.failed || generations.failed)
		return -ENOMEM;

	const char *params[] = {text_get(&ids), text_get(&generations)};
	const struct db_call calls[] = {{&deploy_facts_query, params, call->on_rows, call->context},
					{&deploy_next_query, NULL, call->on_next, call->context}};

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

	rc = db_submit(db, &deploy_claim_query, params, deploy_claim_store_on_claim, call);
	if (rc == 0)
		call = NULL; /* on_claim has it */
	return rc;
}

int64_t deploy_store_next_ms(const PGresult *result)
{
	int64_t next_ms;

	if (PQntuples(result) == 0 || db_is_null(result, 0, DEPLOY_NEXT_NEXT_MS))
		return -1;
	next_ms = db_int(result, 0, DEPLOY_NEXT_NEXT_MS, 0);
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
	return claim_extend(db, &deploy_extend_query, options, fn, context);
}

int deploy_store_head(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &deploy_chain_head_query, NULL, fn, context);
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
	int plan = WORD(plan_words, result, row, DEPLOY_FACTS_PLAN);
	int state = WORD(deployment_state_words, result, row, DEPLOY_FACTS_STATE);

	if (plan < 0 || state < 0)
		return E_MALFORMED;
	*d = (struct deployment_facts){
		.id = db_int(result, row, DEPLOY_FACTS_ID, 0),
		.generation = db_int(result, row, DEPLOY_FACTS_GENERATION, 0),
		.plan = (enum plan)plan,
		.state = (enum deployment_state)state,
		.step_index = (int)db_int(result, row, DEPLOY_FACTS_STEP_INDEX, 0),
		.attempt = (int)db_int(result, row, DEPLOY_FACTS_ATTEMPT, 0),
		.step_started_ms = db_int(result, row, DEPLOY_FACTS_STEP_STARTED_MS, 0),
		.step_deadline_ms = db_int(result, row, DEPLOY_FACTS_STEP_DEADLINE_MS, 0),
		.created_ms = db_int(result, row, DEPLOY_FACTS_CREATED_MS, 0),
		.tenant_id = db_int(result, row, DEPLOY_FACTS_TENANT_ID, 0),
	};
	(void)text_copy(d->step, sizeof(d->step), db_text(result, row, DEPLOY_FACTS_STEP, ""));
	(void)text_copy(d->actor, sizeof(d->actor), db_text(result, row, DEPLOY_FACTS_ACTOR, ""));
	(void)text_copy(ret->facts.tenant, sizeof(ret->facts.tenant),
			db_text(result, row, DEPLOY_FACTS_TENANT, ""));
	ret->facts.memo = memo_read(db_text(result, row, DEPLOY_FACTS_MEMO, NULL));
	deploy_claim_store_read_problem(result, row, DEPLOY_FACTS_PROBLEM, &ret->facts.problem);
	return deploy_claim_store_read_json(result, row, DEPLOY_FACTS_PARAMS, &ret->params);
}

static int deploy_claim_store_read_node(const PGresult *result, int row, struct node_facts *ret)
{
	int state = WORD(node_state_words, result, row, DEPLOY_FACTS_NODE_STATE);
	int secure_boot = WORD(node_secure_boot_words, result, row, DEPLOY_FACTS_SECURE_BOOT);

	if (state < 0 || secure_boot < 0)
		return E_MALFORMED;
	(void)text_copy(ret->pins.key, sizeof(ret->pins.key),
			db_text(result, row, DEPLOY_FACTS_ATTEST_KEY, ""));
	(void)text_copy(ret->pins.pcr7, sizeof(ret->pins.pcr7),
			db_text(result, row, DEPLOY_FACTS_ATTEST_PCR7, ""));
	ret->secure_boot = (enum node_secure_boot)secure_boot;
	ret->id = db_int(result, row, DEPLOY_FACTS_NODE_ID, 0);
	ret->state = (enum node_state)state;
	ret->dirty = db_bool(result, row, DEPLOY_FACTS_DIRTY);
	ret->firmware = strcmp(db_text(result, row, DEPLOY_FACTS_FIRMWARE, ""), "uefi") == 0
				? BMC_FIRMWARE_UEFI
				: BMC_FIRMWARE_BIOS;
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, row, DEPLOY_FACTS_NODE, ""));
	(void)text_copy(ret->serial, sizeof(ret->serial),
			db_text(result, row, DEPLOY_FACTS_SERIAL, ""));
	(void)text_copy(ret->boot_mac, sizeof(ret->boot_mac),
			db_text(result, row, DEPLOY_FACTS_BOOT_MAC, ""));
	return 0;
}

static int read_image(const PGresult *result, int row, struct claimed *ret)
{
	struct image_facts *image = &ret->facts.image;

	if (db_is_null(result, row, DEPLOY_FACTS_MANIFEST))
		return 0;
	ret->manifest = strdup(db_text(result, row, DEPLOY_FACTS_MANIFEST, ""));
	ret->signature = strdup(db_text(result, row, DEPLOY_FACTS_SIGNATURE, ""));
	if (!ret->manifest || !ret->signature)
		return -ENOMEM;
	image->present = true;
	image->withdrawn = db_bool(result, row, DEPLOY_FACTS_WITHDRAWN);
	image->root_partition = (int)db_int(result, row, DEPLOY_FACTS_ROOT_PARTITION, 1);
	(void)text_copy(image->stored_digest, sizeof(image->stored_digest),
			db_text(result, row, DEPLOY_FACTS_STORED_DIGEST, ""));
	return 0;
}

static int read_intent(const PGresult *result, int row, struct intent_facts *ret)
{
	int target = WORD(intent_target_words, result, row, DEPLOY_FACTS_INTENT_TARGET);

	if (target < 0)
		return E_MALFORMED;
	ret->target = (enum intent_target)target;
	ret->deployment_id = db_int(result, row, DEPLOY_FACTS_INTENT_DEPLOYMENT_ID, 0);
	(void)text_copy(ret->token, sizeof(ret->token),
			db_text(result, row, DEPLOY_FACTS_INTENT_TOKEN, ""));
	(void)text_copy(ret->nonce, sizeof(ret->nonce),
			db_text(result, row, DEPLOY_FACTS_INTENT_NONCE, ""));
	(void)text_copy(ret->agent_key, sizeof(ret->agent_key),
			db_text(result, row, DEPLOY_FACTS_INTENT_AGENT_KEY, ""));
	ret->fetched = db_bool(result, row, DEPLOY_FACTS_INTENT_FETCHED);
	(void)text_copy(ret->ended, sizeof(ret->ended),
			db_text(result, row, DEPLOY_FACTS_INTENT_ENDED, ""));
	return 0;
}

static int read_seen(const PGresult *result, int row, struct observation ret[SEEN_COUNT])
{
	CLEANUP(json_decrefp) json_t *all = NULL;
	int rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_OBSERVATIONS, &all);

	for (int kind = 0; rc == 0 && kind < SEEN_COUNT; kind++) {
		const json_t *seen = json_object_get(all, seen_words[kind]);
		const char *text = json_string_value(json_object_get(seen, "token"));

		ret[kind].at_ms = json_integer_value(json_object_get(seen, "at_ms"));
		ret[kind].bytes = json_integer_value(json_object_get(seen, "bytes"));
		(void)text_copy(ret[kind].token, sizeof(ret[kind].token), text ? text : "");
		text = json_string_value(json_object_get(seen, "detail"));
		(void)text_copy(ret[kind].detail, sizeof(ret[kind].detail), text ? text : "");
	}
	return rc;
}

static int deploy_claim_store_read_task(const PGresult *result, int row, struct claimed *ret)
{
	struct task_facts *task = &ret->facts.task;
	int kind = WORD(task_kind_words, result, row, DEPLOY_FACTS_TASK_KIND);
	int state = WORD(task_state_words, result, row, DEPLOY_FACTS_TASK_STATE);

	if (db_is_null(result, row, DEPLOY_FACTS_TASK_ID))
		return 0;
	if (kind < 0 || state < 0)
		return E_MALFORMED;
	task->id = db_int(result, row, DEPLOY_FACTS_TASK_ID, 0);
	task->kind = (enum task_kind)kind;
	task->state = (enum task_state)state;
	task->created_ms = db_int(result, row, DEPLOY_FACTS_TASK_CREATED_MS, 0);
	task->updated_ms = db_int(result, row, DEPLOY_FACTS_TASK_UPDATED_MS, 0);
	(void)text_copy(task->token, sizeof(task->token),
			db_text(result, row, DEPLOY_FACTS_TASK_TOKEN, ""));
	(void)text_copy(task->step, sizeof(task->step),
			db_text(result, row, DEPLOY_FACTS_TASK_STEP, ""));
	deploy_claim_store_read_problem(result, row, DEPLOY_FACTS_TASK_PROBLEM, &task->problem);
	return deploy_claim_store_read_json(result, row, DEPLOY_FACTS_TASK_RESULT, &ret->result);
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
	int rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_PLACE, &facts);
	const char *place = json_string_value(json_object_get(facts, "place"));
	int word;

	if (rc || !facts || json_is_null(facts))
		return rc;
	word = enum_value(place_words, PLACE_COUNT, place ? place : "");
	if (word < 0)
		return E_MALFORMED;
	ret->managed = true;
	ret->place = (enum place)word;
	ret->ports = (int)json_integer_value(json_object_get(facts, "ports"));
	ret->open = (int)json_integer_value(json_object_get(facts, "open"));
	ret->networks = (int)json_integer_value(json_object_get(facts, "networks"));
	problem_of_json(json_object_get(facts, "refused"), E_CONFLICT, &ret->refused);
	problem_of_json(json_object_get(facts, "problem"), E_CONFLICT, &ret->problem);
	deploy_claim_store_read_vlans(json_object_get(facts, "vlans"), ret);
	return 0;
}

static int read_attempts(const PGresult *result, int row, const struct deployment_facts *deployment,
			 int ret[PLAN_STEPS_MAX])
{
	const struct plan_row *plan = &plan_table[advance_plan(deployment)];
	CLEANUP(json_decrefp) json_t *all = NULL;
	int rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_ATTEMPTS, &all);

	for (size_t i = 0; rc == 0 && i < plan->count; i++) {
		char key[NUMBER_SIZE];

		(void)text_format(key, sizeof(key), "%d", plan->base + (int)i);
		ret[i] = (int)json_integer_value(json_object_get(all, key));
	}
	return rc;
}

int claimed_read(const PGresult *result, int row, unsigned http_port, struct claimed *ret)
{
	struct claimed claimed = {.now_ms = db_int(result, row, DEPLOY_FACTS_NOW_MS, 0)};
	const char *server = db_text(result, row, DEPLOY_FACTS_BOOT_SERVER, "");
	int rc = read_deployment(result, row, &claimed);

	claimed.facts.progress_ms = db_int(result, row, DEPLOY_FACTS_PROGRESS_MS, 0);
	claimed.facts.leased_ms = db_int(result, row, DEPLOY_FACTS_LEASED_MS, 0);
	claimed.facts.fresh_task = db_int(result, row, DEPLOY_FACTS_FRESH_TASK, 0);
	claimed.facts.certified = db_bool(result, row, DEPLOY_FACTS_CERTIFIED);
	(void)text_copy(claimed.chain_head, sizeof(claimed.chain_head),
			db_text(result, row, DEPLOY_FACTS_CHAIN_HEAD, CERTIFICATE_FIRST_HASH));
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
		rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_RESULTS,
						  &claimed.results);
	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_DRIVES,
						  &claimed.drives);
	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_PACKAGES,
						  &claimed.packages);
	if (rc == 0)
		rc = deploy_claim_store_read_json(result, row, DEPLOY_FACTS_VOLUMES,
						  &claimed.volumes);
	if (rc) {
		claimed_done(&claimed);
		ret->now_ms = db_int(result, row, DEPLOY_FACTS_NOW_MS, 0);
		ret->facts.deployment.id = db_int(result, row, DEPLOY_FACTS_ID, 0);
		ret->facts.deployment.generation = db_int(result, row, DEPLOY_FACTS_GENERATION, 0);
		return rc;
	}
	claimed.facts.deployment.params = claimed.params;
	claimed.facts.packages = claimed.packages;
	claimed.facts.volumes = claimed.volumes;
	claimed.facts.task.result = claimed.result;
	claimed.facts.results = claimed.results;
	claimed.facts.drives = claimed.drives;
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
	json_decref(claimed->drives);
	json_decref(claimed->packages);
	json_decref(claimed->volumes);
	free(claimed->manifest);
	free(claimed->signature);
	*claimed = (struct claimed){0};
}
