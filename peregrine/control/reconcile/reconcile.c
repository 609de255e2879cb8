#include "peregrine/control/reconcile/reconcile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/intent_store_sql.h"
#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT                 "reconcile"
#define CHORES_MS               200
#define FULL_LOAD_MS            30000 /* the safety net */
#define RECONCILE_AFTER_FAIL_MS 1000
#define LOAD_LONG_MS            20
#define LOAD_PAUSE_MS           1000
#define JSON_MAX                ((size_t)256 << 20)

struct claim_key fabric_key(const struct engine_fabric *fabric)
{
	return (struct claim_key){.fabric_id = fabric->id,
				  .generation = fabric->generation,
				  .owner = fabric->owner,
				  .claim_ms = fabric->reconcile->options.claim_ms};
}

void reconcile_wake(struct reconcile *reconcile)
{
	work_cycle_wake(&reconcile->cycle);
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

	for (size_t i = 0; i < fabric->batch_count; i++)
		batch_abandon(fabric->batches[i]);
	fabric_unfence(fabric, overtaken);
	if (fabric->claimed)
		reconcile->stats.lost_claims++;
	fabric->claimed = false;
	fabric->resumed = false;
	fabric->adopted = false;
	fabric->settled = false;
	fabric->step = FABRIC_IDLE;
	fabric->retry_ms = clock_monotonic_ms() + RECONCILE_AFTER_FAIL_MS;
	for (uint32_t i = 0; i < reconcile->book.count; i++)
		reconcile->book.switches[i].stale = true;
}

/* --- one fabric --- */

static void reconcile_step(struct engine_fabric *fabric, size_t place)
{
	struct reconcile *reconcile = fabric->reconcile;
	int64_t now_ms = clock_monotonic_ms();

	if (fabric->step != FABRIC_IDLE) {
		fabric->again = true;
		return;
	}
	/* Batches of a claim that is lost end first, each wakes us. */
	if (fabric->retry_ms > now_ms ||
	    ((!fabric->claimed || !fabric->resumed) && fabric->batch_count))
		return;
	if (!fabric->claimed ||
	    fabric->claim_until_ms - now_ms < (int64_t)reconcile->options.claim_ms / 2) {
		fabric_claim(fabric);
		return;
	}
	if (fabric->resumed && !fabric->adopted)
		fabric_adopt_alerts(fabric, place);
	if (fabric->resumed)
		fabric_plan(fabric, place);
	else if (reconcile_fabric_read(reconcile, fabric->id))
		fabric_resume(fabric);
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

/* --- rows --- */

static void reconcile_take_parking(struct reconcile *reconcile, struct known_switch *known,
				   int64_t fabric_id)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reconcile->rows, "fabrics"), i, row)
	{
		json_int_t first = json_integer_value(json_object_get(row, "parking"));
		json_int_t count = json_integer_value(json_object_get(row, "parking_count"));

		if (json_integer_value(json_object_get(row, "id")) != fabric_id)
			continue;
		known->parking = (uint16_t)first;
		known->parking_high = (uint16_t)(count > 1 ? first + count - 1 : first);
		return;
	}
}

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

		if (!known)
			continue;
		known->wanted = true;
		reconcile_take_parking(reconcile, known,
				       json_integer_value(json_object_get(row, "fabric")));
	}
}

static void on_load(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct reconcile *reconcile = context;
	struct problem why = {0};
	const char *text;
	const json_t *row;
	json_t *rows = NULL;
	int64_t took_ms;
	size_t i;

	if (rc) {
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
		work_cycle_fail(&reconcile->cycle, RECONCILE_AFTER_FAIL_MS);
		return;
	}
	text = db_text(result, 0, INTENT_LOAD_SITE, "{}");
	if (json_read(text, strlen(text), JSON_MAX, &rows, &why)) {
		log_problem(LOG_LEVEL_ERROR, SUBJECT, &why);
		work_cycle_fail(&reconcile->cycle, RECONCILE_AFTER_FAIL_MS);
		return;
	}
	json_decref(reconcile->rows);
	reconcile->rows = rows;
	reconcile->stats.cycles++;
	take_switches(reconcile);
	reconcile_save_adopt(reconcile);
	reconcile_tell_abilities(reconcile);
	if (reconcile_has_orphans(reconcile) &&
	    intent_store_clear_orphans(reconcile->options.db) != 0)
		log_debug(SUBJECT, "alerts of deleted switches are cleared later");
	reconcile_read_due(reconcile);
	json_array_foreach(json_object_get(rows, "fabrics"), i, row)
	{
		struct engine_fabric *fabric =
			fabric_get(reconcile, json_integer_value(json_object_get(row, "id")));

		if (fabric)
			reconcile_step(fabric, i);
	}
	/* Half of the time at most goes into it, however many wake us. */
	took_ms = clock_monotonic_ms() - reconcile->load_asked_ms;
	if (took_ms > LOAD_LONG_MS)
		work_cycle_rest(&reconcile->cycle,
				took_ms < LOAD_PAUSE_MS ? took_ms : LOAD_PAUSE_MS);
	work_cycle_end(&reconcile->cycle, WORK_CYCLE_NO_PAUSE);
}

static void reconcile_load(void *context)
{
	struct reconcile *reconcile = context;

	reconcile->load_asked_ms = clock_monotonic_ms();
	reconcile->full_load_ms = reconcile->load_asked_ms + FULL_LOAD_MS;
	if (intent_store_load(reconcile->options.db, on_load, reconcile) != 0)
		work_cycle_fail(&reconcile->cycle, RECONCILE_AFTER_FAIL_MS);
}

/* --- chores --- */

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

static void reconcile_chores(void *context)
{
	struct reconcile *reconcile = context;

	loop_timer_arm(reconcile->chores_timer, CHORES_MS);
	if (!reconcile->cycle.connected)
		return;
	reconcile_read_due(reconcile);
	reconcile_save_due(reconcile);
	if (has_news(reconcile, clock_monotonic_ms()))
		reconcile_wake(reconcile);
}

/* --- life --- */

void reconcile_db_state(struct reconcile *reconcile, bool connected)
{
	work_cycle_connected(&reconcile->cycle, connected);
	if (connected)
		return;
	/* What is under way ends as the switches answer; nothing new is begun. Afterwards the
	 * journal says what to read. */
	for (size_t i = 0; i < reconcile->fabric_count; i++)
		fabric_lost(reconcile->fabrics[i], false);
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
	o->again_ms = o->again_ms ? o->again_ms : 200;
	o->look_ms = o->look_ms ? o->look_ms : 10000;
	o->full_read_ms = o->full_read_ms ? o->full_read_ms : 600000;
	rc = work_cycle_open(&reconcile->cycle, loop, reconcile_load, reconcile);
	if (rc == 0)
		rc = loop_timer_new(loop, reconcile_chores, reconcile, &reconcile->chores_timer);
	if (rc) {
		reconcile_free(reconcile);
		return rc;
	}
	loop_timer_arm(reconcile->chores_timer, CHORES_MS);
	work_cycle_connected(&reconcile->cycle, db_connected(options->db));
	*ret = reconcile;
	return 0;
}

void reconcile_free(struct reconcile *reconcile)
{
	if (!reconcile)
		return;
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		for (size_t b = 0; b < reconcile->fabrics[i]->batch_count; b++)
			batch_free(reconcile->fabrics[i]->batches[b]);
		free(reconcile->fabrics[i]->batches);
		free(reconcile->fabrics[i]->drifting);
		fabric_unfence(reconcile->fabrics[i], false);
		free(reconcile->fabrics[i]);
	}
	free(reconcile->fabrics);
	json_decref(reconcile->rows);
	book_done(&reconcile->book);
	work_cycle_close(&reconcile->cycle);
	loop_timer_free(reconcile->chores_timer);
	free(reconcile);
}
