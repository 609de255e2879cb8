#include "peregrine/control/reconcile/reconcile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT       "reconcile"
#define CHORES_MS     200
#define FULL_LOAD_MS  30000 /* the safety net */
#define AFTER_FAIL_MS 1000
#define JSON_MAX      ((size_t)256 << 20)

static void load(void *context);

struct claim_key fabric_key(const struct engine_fabric *fabric)
{
	return (struct claim_key){.fabric_id = fabric->id,
				  .generation = fabric->generation,
				  .owner = fabric->owner,
				  .claim_ms = fabric->reconcile->options.claim_ms};
}

void reconcile_wake(struct reconcile *reconcile)
{
	if (reconcile->loading)
		reconcile->again = true;
	else if (reconcile->connected)
		loop_timer_arm(reconcile->wake_timer, 0);
}

void fabric_done(struct engine_fabric *fabric, bool reload)
{
	fabric->step = FABRIC_IDLE;
	if (reload || fabric->again)
		reconcile_wake(fabric->reconcile);
	fabric->again = false;
}

/* Somebody else has it, or PostgreSQL went away: nothing that was planned counts any more. Who was
 * overtaken waits in line from then on, also behind a later life under its own name. */
void fabric_lost(struct engine_fabric *fabric, bool overtaken)
{
	struct reconcile *reconcile = fabric->reconcile;

	if (overtaken)
		(void)text_format(fabric->owner, sizeof(fabric->owner), "%s (overtaken %lld)",
				  reconcile->options.owner, (long long)fabric->generation);

	if (fabric->claimed)
		reconcile->stats.lost_claims++;
	fabric->claimed = false;
	fabric->resumed = false;
	fabric->settled = false;
	fabric->step = FABRIC_IDLE;
	fabric->retry_ms = clock_monotonic_ms() + AFTER_FAIL_MS;
	for (uint32_t i = 0; i < reconcile->book.count; i++)
		reconcile->book.switches[i].stale = true;
}

/* --- claims ---------------------------------------------------------- */

static void on_claimed(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct engine_fabric *fabric = context;
	struct reconcile *reconcile = fabric->reconcile;
	int64_t generation;

	(void)problem;
	fabric->step = FABRIC_IDLE;
	if (rc || PQntuples(result) == 0) {
		fabric->claimed = false;
		fabric->retry_ms = clock_monotonic_ms() + (rc ? AFTER_FAIL_MS : 5000);
		return;
	}
	generation = db_int(result, 0, 0, 0);
	if (!fabric->claimed || generation != fabric->generation)
		fabric->resumed = false;
	fabric->generation = generation;
	fabric->claimed = true;
	fabric->fresh = false;
	reconcile_wake(reconcile);
}

static void claim(struct engine_fabric *fabric)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct claim_ask ask = {.fabric_id = fabric->id,
				      .owner = fabric->owner,
				      .claim_ms = reconcile->options.claim_ms,
				      .fresh = fabric->fresh || !fabric->claimed};

	/* From before it was asked: the database's clock began later. */
	fabric->claim_until_ms = clock_monotonic_ms() + reconcile->options.claim_ms;
	fabric->step = FABRIC_CLAIMING;
	if (intent_store_claim(reconcile->options.db, &ask, on_claimed, fabric))
		fabric->step = FABRIC_IDLE;
}

/* --- what an earlier life left ---------------------------------------- */

static const char *unfinished_state(const struct reconcile *reconcile, const PGresult *result,
				    int row)
{
	const char *text = db_text(result, row, 3, "{}");
	const struct known_switch *known = book_find(&reconcile->book, db_int(result, row, 2, 0));
	const char *state = "unknown";
	struct problem ignored = {0};
	json_t *edit = NULL;
	const char *port;

	if (!known || !known->read || known->stale ||
	    json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &edit, &ignored))
		return state;
	port = json_string_value(json_object_get(edit, "port"));
	if (!port) {
		bool exists = vlan_set_has(
			&known->vlans, (unsigned)json_integer_value(json_object_get(edit, "vlan")));
		const char *kind = json_string_value(json_object_get(edit, "kind"));
		bool create = kind && strcmp(kind, "vlan_create") == 0;

		state = exists == create ? "applied" : "undone";
	} else {
		const struct known_port *at = known_port_named(known, port);
		const json_t *after = json_object_get(edit, "after");
		struct port_vlans vlans = {
			.trunk = json_is_true(json_object_get(after, "trunk")),
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
		int64_t next = row < PQntuples(result) ? db_int(result, row, 0, 0) : 0;
		const char *state;

		if (next != batch && batch != 0) {
			json_end_array(json);
			json_string(json, "state", all ? "done" : "undone");
			json_begin_object(json, "problem");
			json_string(json, "message", "its owner went away");
			json_string(json, "hint",
				    "the next batch goes on from what the switches show");
			json_end_object(json);
			json_end_object(json);
		}
		if (next == 0)
			break;
		if (next != batch) {
			json_begin_object(json, NULL);
			json_int(json, "batch", next);
			json_begin_array(json, "changes");
			batch = next;
			all = true;
		}
		if (db_is_null(result, row, 1))
			continue;
		state = unfinished_state(reconcile, result, row);
		all &= strcmp(state, "applied") == 0;
		json_begin_object(json, NULL);
		json_int(json, "id", db_int(result, row, 1, 0));
		json_string(json, "state", state);
		json_end_object(json);
	}
	json_end_array(json);
	return json->failed ? -ENOMEM : 0;
}

static void on_closed(void *context, int rc, const PGresult *result, const struct problem *problem)
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
	    intent_store_close(reconcile->options.db, &key, text_get(&json), on_closed, fabric))
		fabric_lost(fabric, false);
}

/* --- one fabric ------------------------------------------------------ */

static void step(struct engine_fabric *fabric, size_t place)
{
	struct reconcile *reconcile = fabric->reconcile;
	int64_t now_ms = clock_monotonic_ms();

	if (fabric->step != FABRIC_IDLE) {
		fabric->again = true;
		return;
	}
	if (fabric->retry_ms > now_ms)
		return;
	if (!fabric->claimed ||
	    fabric->claim_until_ms - now_ms < (int64_t)reconcile->options.claim_ms / 2) {
		claim(fabric);
		return;
	}
	if (!reconcile_fabric_read(reconcile, fabric->id))
		return;
	if (!fabric->resumed) {
		fabric->step = FABRIC_RESUMING;
		if (intent_store_unfinished(reconcile->options.db, fabric->id, on_unfinished,
					    fabric))
			fabric_lost(fabric, false);
		return;
	}
	fabric_plan(fabric, place);
}

static struct engine_fabric *fabric_get(struct reconcile *reconcile, int64_t id)
{
	struct engine_fabric **fabrics;
	struct engine_fabric *fabric;

	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		if (reconcile->fabrics[i]->id == id)
			return reconcile->fabrics[i];
	}
	fabrics = realloc(reconcile->fabrics, (reconcile->fabric_count + 1) * sizeof(void *));
	if (!fabrics)
		return NULL;
	reconcile->fabrics = fabrics;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return NULL;
	fabric->reconcile = reconcile;
	fabric->id = id;
	fabric->fresh = true;
	(void)text_copy(fabric->owner, sizeof(fabric->owner), reconcile->options.owner);
	fabrics[reconcile->fabric_count++] = fabric;
	return fabric;
}

/* --- rows ------------------------------------------------------------ */

static void take_switches(struct reconcile *reconcile)
{
	const json_t *row;
	size_t i;

	for (uint32_t k = 0; k < reconcile->book.count; k++)
		reconcile->book.switches[k].wanted = false;
	json_array_foreach(json_object_get(reconcile->rows, "switches"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		struct known_switch *known =
			book_get(&reconcile->book, json_integer_value(json_object_get(row, "id")),
				 name ? name : "");

		if (known)
			known->wanted = true;
	}
}

static void on_load(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct reconcile *reconcile = context;
	struct problem why = {0};
	const char *text;
	const json_t *row;
	json_t *rows = NULL;
	size_t i;

	reconcile->loading = false;
	if (rc) {
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
		if (reconcile->connected)
			loop_timer_arm(reconcile->wake_timer, AFTER_FAIL_MS);
		return;
	}
	text = db_text(result, 0, 0, "{}");
	if (json_read(text, strlen(text), JSON_MAX, &rows, &why)) {
		log_problem(LOG_LEVEL_ERROR, SUBJECT, &why);
		return;
	}
	json_decref(reconcile->rows);
	reconcile->rows = rows;
	reconcile->stats.cycles++;
	take_switches(reconcile);
	reconcile_read_due(reconcile);
	json_array_foreach(json_object_get(rows, "fabrics"), i, row)
	{
		struct engine_fabric *fabric =
			fabric_get(reconcile, json_integer_value(json_object_get(row, "id")));

		if (fabric)
			step(fabric, i);
	}
	if (reconcile->again)
		loop_timer_arm(reconcile->wake_timer, 0);
	reconcile->again = false;
}

static void load(void *context)
{
	struct reconcile *reconcile = context;

	if (!reconcile->connected || reconcile->loading)
		return;
	reconcile->again = false;
	reconcile->full_load_ms = clock_monotonic_ms() + FULL_LOAD_MS;
	if (intent_store_load(reconcile->options.db, on_load, reconcile) == 0)
		reconcile->loading = true;
	else
		loop_timer_arm(reconcile->wake_timer, AFTER_FAIL_MS);
}

/* --- chores ---------------------------------------------------------- */

static bool has_news(struct reconcile *reconcile, int64_t now_ms)
{
	bool news = reconcile->full_load_ms <= now_ms;

	for (uint32_t i = 0; i < reconcile->book.count; i++) {
		struct known_switch *known = &reconcile->book.switches[i];

		news |= known->changed;
		known->changed = false;
	}
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		struct engine_fabric *fabric = reconcile->fabrics[i];

		if (fabric->step != FABRIC_IDLE)
			continue;
		news |= !fabric->claimed && fabric->retry_ms <= now_ms;
		news |= fabric->claim_until_ms - now_ms < (int64_t)reconcile->options.claim_ms / 2;
		if (fabric->look_again_ms && fabric->look_again_ms <= now_ms) {
			fabric->look_again_ms = 0;
			news = true;
		}
	}
	return news;
}

static void chores(void *context)
{
	struct reconcile *reconcile = context;

	loop_timer_arm(reconcile->chores_timer, CHORES_MS);
	if (!reconcile->connected)
		return;
	reconcile_read_due(reconcile);
	if (has_news(reconcile, clock_monotonic_ms()))
		reconcile_wake(reconcile);
}

/* --- life ------------------------------------------------------------ */

void reconcile_db_state(struct reconcile *reconcile, bool connected)
{
	reconcile->connected = connected;
	if (connected) {
		reconcile_wake(reconcile);
		return;
	}
	/* What is under way ends as the switches answer; nothing new is begun. Afterwards the
	 * journal says what to read. */
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		struct engine_fabric *fabric = reconcile->fabrics[i];

		if (fabric->batch)
			batch_abandon(fabric->batch);
		else
			fabric_lost(fabric, false);
	}
}

const struct reconcile_stats *reconcile_stats(const struct reconcile *reconcile)
{
	return &reconcile->stats;
}

int reconcile_new(struct loop *loop, const struct reconcile_options *options,
		  struct reconcile **ret)
{
	struct reconcile *reconcile = calloc(1, sizeof(*reconcile));
	struct reconcile_options *o;
	int rc;

	if (!reconcile)
		return -ENOMEM;
	*reconcile = (struct reconcile){.loop = loop, .options = *options};
	o = &reconcile->options;
	o->claim_ms = o->claim_ms ? o->claim_ms : 60000;
	o->call_ms = o->call_ms ? o->call_ms : 40000;
	if (o->call_ms > o->claim_ms / 3 * 2)
		o->call_ms = o->claim_ms / 3 * 2; /* a call ends before its claim */
	o->read_ms = o->read_ms ? o->read_ms : 20000;
	if (o->read_ms > o->claim_ms / 3)
		o->read_ms = o->claim_ms / 3;
	o->look_ms = o->look_ms ? o->look_ms : 10000;
	o->full_read_ms = o->full_read_ms ? o->full_read_ms : 600000;
	rc = loop_timer_new(loop, load, reconcile, &reconcile->wake_timer);
	if (rc == 0)
		rc = loop_timer_new(loop, chores, reconcile, &reconcile->chores_timer);
	if (rc) {
		reconcile_free(reconcile);
		return rc;
	}
	reconcile->connected = db_connected(options->db);
	loop_timer_arm(reconcile->chores_timer, CHORES_MS);
	reconcile_wake(reconcile);
	*ret = reconcile;
	return 0;
}

void reconcile_free(struct reconcile *reconcile)
{
	if (!reconcile)
		return;
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		batch_free(reconcile->fabrics[i]->batch);
		free(reconcile->fabrics[i]->drifting);
		free(reconcile->fabrics[i]);
	}
	free(reconcile->fabrics);
	json_decref(reconcile->rows);
	book_done(&reconcile->book);
	loop_timer_free(reconcile->wake_timer);
	loop_timer_free(reconcile->chores_timer);
	free(reconcile);
}
