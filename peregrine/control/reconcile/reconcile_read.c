#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

enum { READINGS_AT_ONCE = 128, FRESH_MS = 1000 };

/* One reading, look or save of ours under way. */
struct asking {
	struct reconcile *reconcile;
	int64_t switch_id;
	int64_t since_ms;
	bool full;
};

/* A batch is at work there, and soon done: what it leaves is read then. One that waits for another
 * switch holds nothing up: calls to a switch come one after the other, so a reading beside a batch
 * shows what was there between two of them. */
static bool in_batch_since(const struct reconcile *reconcile, int64_t switch_id, int64_t since_ms)
{
	for (size_t i = 0; i < reconcile->fabric_count; i++) {
		const struct engine_fabric *fabric = reconcile->fabrics[i];

		for (size_t b = 0; b < fabric->batch_count; b++) {
			if (batch_begun_ms(fabric->batches[b]) > since_ms &&
			    batch_has_switch(fabric->batches[b], switch_id))
				return true;
		}
	}
	return false;
}

bool reconcile_is_changing(const struct reconcile *reconcile, int64_t switch_id)
{
	const struct known_switch *known = book_find(&reconcile->book, switch_id);

	return (known && known->bonding) || in_batch_since(reconcile, switch_id, 0);
}

static void reconcile_read_take(struct reconcile *reconcile, struct known_switch *known,
				const struct switch_reading *reading, int64_t since_ms)
{
	const unsigned whole = PART_PORTS | PART_VLANS;
	int64_t now_ms = clock_monotonic_ms();
	bool changed = false;

	/* The next chores make the next pass, one for all that was read meanwhile. */
	if (known->failures > 0)
		known->changed = true;
	known_answered(known);
	if ((reading->parts & whole) != whole) {
		if ((reading->parts & PART_IDENTITY) && known->read &&
		    known_look(known, &reading->identity, since_ms))
			known->stale = true;
		return;
	}
	if (known->read && since_ms < known->read_at_ms)
		return;
	known->next_full_ms = now_ms + reconcile->options.full_read_ms;
	known->changed |= known->stale;
	if (known_take(known, reading, since_ms, &changed))
		known->stale = true;
}

void reconcile_note(struct reconcile *reconcile, int64_t switch_id,
		    const struct switch_reading *reading, int64_t since_ms)
{
	struct known_switch *known = book_find(&reconcile->book, switch_id);

	if (!known || !known->wanted)
		return;
	reconcile_read_take(reconcile, known, reading, since_ms);
}

/* It answers, and what it shows is not enough to begin with it. One that was read before goes on
 * with what is known of it: a part may be late. */
static void tell_lacking(struct known_switch *known, const struct switch_reading *reading)
{
	struct problem problem = {0};

	problem_set(&problem, E_PROTOCOL, "it does not show its %s",
		    reading->parts & PART_PORTS ? "VLANs" : "ports");
	problem_hint(&problem, "check that our account may read them on the switch");
	known_failed(known, &problem, clock_monotonic_ms());
}

static void reconcile_read_on_read(void *context, int rc, struct switch_reading *reading,
				   const struct problem *problem)
{
	struct asking *asking = context;
	struct reconcile *reconcile = asking->reconcile;
	struct known_switch *known = book_find(&reconcile->book, asking->switch_id);

	reconcile->readings--;
	if (known) {
		bool well = known->failures == 0;

		known->reading = false;
		if (rc == 0) {
			reconcile_read_take(reconcile, known, reading, asking->since_ms);
			if (asking->full && !known->read)
				tell_lacking(known, reading);
		} else {
			known_failed(known, problem, clock_monotonic_ms());
			known->changed |= well;
		}
	}
	if (reading)
		switch_reading_done(reading);
	free(asking);
}

static void reconcile_read_ask(struct reconcile *reconcile, struct known_switch *known, bool full,
			       int64_t now_ms)
{
	const struct switch_request request = {
		.op = SWITCH_READ,
		.parts = full ? PART_IDENTITY | PART_PORTS | PART_VLANS : PART_IDENTITY};
	struct asking *asking = malloc(sizeof(*asking));
	struct problem problem = {0};
	int rc = -ENOMEM;

	known->next_look_ms = now_ms + reconcile->options.look_ms;
	if (asking) {
		*asking = (struct asking){.reconcile = reconcile,
					  .switch_id = known->id,
					  .since_ms = now_ms,
					  .full = full};
		rc = reconcile->options.access.call(reconcile->options.access.context, known->id,
						    &request, now_ms + reconcile->options.read_ms,
						    reconcile_read_on_read, asking);
	}
	if (rc) {
		free(asking);
		(void)problem_set(&problem, rc, "the switch cannot be asked: %s", error_text(rc));
		known_failed(known, &problem, now_ms);
		return;
	}
	known->reading = true;
	reconcile->readings++;
	reconcile->stats.readings += full;
	reconcile->stats.calls++;
}

void reconcile_read_due(struct reconcile *reconcile)
{
	int64_t now_ms = clock_monotonic_ms();

	for (uint32_t i = 0; i < reconcile->book.count; i++) {
		struct known_switch *known = &reconcile->book.switches[i];
		bool full = !known->read || known->stale || known->reread ||
			    (known->next_full_ms <= now_ms && !reconcile->options.no_looks);
		bool look = known->next_look_ms <= now_ms && !reconcile->options.no_looks;

		if (!known->wanted || known->reading || known->retry_ms > now_ms ||
		    (!full && !look) || reconcile->readings >= READINGS_AT_ONCE ||
		    (full && in_batch_since(reconcile, known->id, now_ms - FRESH_MS)))
			continue;
		reconcile_read_ask(reconcile, known, full, now_ms);
	}
}

bool reconcile_fabric_read(const struct reconcile *reconcile, int64_t fabric_id)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reconcile->rows, "switches"), i, row)
	{
		const struct known_switch *known =
			book_find(&reconcile->book, json_integer_value(json_object_get(row, "id")));

		if (json_integer_value(json_object_get(row, "fabric")) != fabric_id || !known)
			continue;
		if ((!known->read || known->stale) && known->failures == 0)
			return false;
	}
	return true;
}
