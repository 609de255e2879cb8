#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/json_text.h"

#include "peregrine/control/reconcile/intent_store_sql.h"
#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

#define RECONCILE_CLAIM_AFTER_FAIL_MS 1000

/* --- claims --- */

/* What is under way ends as the switches answer, and nothing more of it is sent. */
static void reconcile_claim_give_up(struct engine_fabric *fabric, bool overtaken)
{
	for (size_t i = 0; i < fabric->batch_count; i++)
		batch_abandon(fabric->batches[i]);
	fabric_unfence(fabric, overtaken);
}

void fabric_unfence(struct engine_fabric *fabric, bool overtaken)
{
	if (overtaken)
		fence_drop(fabric->fence);
	fence_unref(fabric->fence);
	fabric->fence = NULL;
}

static int reconcile_claim_fence(struct engine_fabric *fabric)
{
	int64_t end_ms = fence_end_ms(fabric->claim_boot_ms, fabric->reconcile->options.claim_ms);

	if (!fabric->fence)
		return fence_new(end_ms, &fabric->fence);
	fence_extend(fabric->fence, end_ms);
	return 0;
}

static void reconcile_claim_on_claimed(void *context, int rc, const PGresult *result,
				       const struct problem *problem)
{
	struct engine_fabric *fabric = context;
	struct reconcile *reconcile = fabric->reconcile;
	int64_t generation;

	(void)problem;
	fabric->step = FABRIC_IDLE;
	if (rc || PQntuples(result) == 0) {
		reconcile_claim_give_up(fabric, rc == 0);
		fabric->claimed = false;
		fabric->retry_ms =
			clock_monotonic_ms() + (rc ? RECONCILE_CLAIM_AFTER_FAIL_MS : 5000);
		return;
	}
	generation = db_int(result, 0, FABRIC_CLAIM_GENERATION, 0);
	if (!fabric->claimed || generation != fabric->generation) {
		reconcile_claim_give_up(fabric, false);
		fabric->resumed = false;
	}
	fabric->generation = generation;
	fabric->claimed = reconcile_claim_fence(fabric) == 0;
	fabric->held_until_ms = fabric->claim_until_ms;
	fabric->fresh = false;
	reconcile_wake(reconcile);
}

void fabric_claim(struct engine_fabric *fabric)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct claim_ask ask = {.fabric_id = fabric->id,
				      .owner = fabric->owner,
				      .claim_ms = reconcile->options.claim_ms,
				      .fresh = fabric->fresh || !fabric->claimed};

	/* From before it was asked: the database's clock began later. */
	fabric->claim_until_ms = clock_monotonic_ms() + reconcile->options.claim_ms;
	fabric->claim_boot_ms = clock_boot_ms();
	fabric->step = FABRIC_CLAIMING;
	if (intent_store_claim(reconcile->options.db, &ask, reconcile_claim_on_claimed, fabric))
		fabric->step = FABRIC_IDLE;
}

struct fence *reconcile_fence(const struct reconcile *reconcile, int64_t fabric_id)
{
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		if (reconcile->fabrics[i]->id == fabric_id)
			return reconcile->fabrics[i]->fence;
	}
	return NULL;
}

int64_t reconcile_claim(const struct reconcile *reconcile, int64_t fabric_id)
{
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		const struct engine_fabric *fabric = reconcile->fabrics[i];

		if (fabric->id == fabric_id)
			return fabric->claimed && fabric->held_until_ms > clock_monotonic_ms()
				       ? fabric->generation
				       : 0;
	}
	return 0;
}

/* --- what an earlier life left --- */

static const char *unfinished_state(const struct reconcile *reconcile, const PGresult *result,
				    int row)
{
	const char *text = db_text(result, row, CHANGE_UNFINISHED_EDIT, "{}");
	const struct known_switch *known =
		book_find(&reconcile->book, db_int(result, row, CHANGE_UNFINISHED_SWITCH_ID, 0));
	const char *state = "unknown";
	struct problem ignored = {0};
	json_t *edit = NULL;
	const char *port;
	const char *kind;

	if (!known || !known->read || known->stale ||
	    json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &edit, &ignored))
		return state;
	port = json_string_value(json_object_get(edit, "port"));
	kind = json_string_value(json_object_get(edit, "kind"));
	if (port && kind && strncmp(kind, "aggregate_", 10) == 0) {
		bool made = known_port_named(known, port) != NULL;

		state = made == (strcmp(kind, "aggregate_make") == 0) ? "applied" : "undone";
	} else if (!port) {
		bool exists = vlan_set_has(
			&known->vlans, (unsigned)json_integer_value(json_object_get(edit, "vlan")));
		bool create = kind && strcmp(kind, "vlan_create") == 0;

		state = exists == create ? "applied" : "undone";
	} else {
		const struct known_port *at = known_port_named(known, port);
		const json_t *after = json_object_get(edit, "after");
		struct port_vlans vlans = {
			.trunk = json_is_true(json_object_get(after, "trunk")),
			.apart = json_is_true(json_object_get(after, "apart")),
			.native = (uint16_t)json_integer_value(json_object_get(after, "native"))};
		const char *tagged = json_string_value(json_object_get(after, "tagged"));

		if (at && at->vlans && tagged && vlan_set_parse(tagged, &vlans.tagged) == 0)
			state = port_vlans_equal(at->vlans, &vlans) ? "applied" : "undone";
	}
	json_decref(edit);
	return state;
}

/* Each batch that was under way is closed with what the switches show; the pass that follows goes
 * on from there, to whatever is wanted by now. */
static int unfinished_rows(const struct reconcile *reconcile, const PGresult *result,
			   struct text *json)
{
	int64_t batch = 0;
	bool all = true;

	json_begin_array(json, NULL);
	for (int row = 0; row <= PQntuples(result); row++) {
		int64_t next = row < PQntuples(result)
				       ? db_int(result, row, CHANGE_UNFINISHED_BATCH_ID, 0)
				       : 0;
		const char *state;

		if (next != batch && batch != 0) {
			json_end_array(json);
			json_put_string(json, "state", all ? "done" : "undone");
			json_begin_object(json, "problem");
			json_put_string(json, "message",
					"the peregrined that owned the batch went away");
			json_put_string(
				json, "hint",
				"the next batch continues from the present state of the switches");
			json_end_object(json);
			json_end_object(json);
		}
		if (next == 0)
			break;
		if (next != batch) {
			json_begin_object(json, NULL);
			json_put_int(json, "batch", next);
			json_begin_array(json, "changes");
			batch = next;
			all = true;
		}
		if (db_is_null(result, row, CHANGE_UNFINISHED_ID))
			continue;
		state = unfinished_state(reconcile, result, row);
		all &= strcmp(state, "applied") == 0;
		json_begin_object(json, NULL);
		json_put_int(json, "id", db_int(result, row, CHANGE_UNFINISHED_ID, 0));
		json_put_string(json, "state", state);
		json_end_object(json);
	}
	json_end_array(json);
	return json->failed ? -ENOMEM : 0;
}

static void reconcile_claim_on_closed(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct engine_fabric *fabric = context;

	(void)problem;
	if (rc || PQntuples(result) == 0) {
		fabric_lost(fabric, rc == 0);
		return;
	}
	fabric->resumed = true;
	fabric_done(fabric, true);
}

static void on_unfinished(void *context, int rc, const PGresult *result,
			  const struct problem *problem)
{
	struct engine_fabric *fabric = context;
	struct reconcile *reconcile = fabric->reconcile;
	const struct claim_key key = fabric_key(fabric);
	CLEANUP(text_done) struct text json = {0};

	(void)problem;
	if (rc) {
		fabric_lost(fabric, false);
		return;
	}
	if (PQntuples(result) == 0) {
		fabric->resumed = true;
		fabric_done(fabric, true);
		return;
	}
	reconcile->stats.resumed++;
	if (unfinished_rows(reconcile, result, &json) ||
	    intent_store_close(reconcile->options.db, &key, text_get(&json),
			       reconcile_claim_on_closed, fabric))
		fabric_lost(fabric, false);
}

void fabric_resume(struct engine_fabric *fabric)
{
	fabric->step = FABRIC_RESUMING;
	if (intent_store_unfinished(fabric->reconcile->options.db, fabric->id, on_unfinished,
				    fabric))
		fabric_lost(fabric, false);
}
