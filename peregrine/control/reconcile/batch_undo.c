#include "common/base/clock.h"

#include "peregrine/control/reconcile/batch_private.h"

/* Looking first (who gave no answer may have done it), then the stages in reverse, each for all
 * switches at once; what cannot be set back is parked; then everything that was touched is read. */

static bool is_touched(const struct batch *batch, size_t i)
{
	enum change_state state = batch->changes[i].state;

	return batch->plan.edits[i].stage == (enum plan_stage)batch->stage &&
	       (state == CHANGE_TAKEN || state == CHANGE_APPLIED || state == CHANGE_UNKNOWN);
}

static void look(struct batch *batch)
{
	batch->step = STEP_LOOKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].unsure && !batch->parties[p].away)
			batch_read(batch, p);
	}
}

static void undo(struct batch *batch)
{
	batch->step = STEP_UNDOING;
	for (; batch->pending == 0 && batch->stage >= 0; batch->stage--) {
		/* As for sending: nothing may be on its way when the claim has run out. */
		if (batch->options.claim_until_ms - clock_monotonic_ms() <
		    (int64_t)batch->options.call_ms) {
			batch->lost = true;
			return;
		}
		for (uint32_t p = 0; p < batch->party_count; p++) {
			if (!batch->parties[p].away)
				batch_send(batch, p, is_touched, true);
		}
	}
}

static void park(struct batch *batch)
{
	batch->step = STEP_PARKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].not_undone && !batch->parties[p].away)
			batch_park(batch, p);
	}
}

static void check(struct batch *batch)
{
	batch->step = STEP_CHECKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (!batch->parties[p].away)
			batch_read(batch, p);
	}
}

static void on_undoing(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct batch *batch = context;

	(void)problem;
	batch->pending--;
	batch->overtaken = rc == 0 && PQntuples(result) == 0;
	if (rc || batch->overtaken)
		batch->lost = true;
	else if (!batch->lost)
		look(batch);
	if (batch->pending == 0)
		batch_turn(batch);
}

/* Says so first: with the claim extended there is time for it. */
void batch_undo_begin(struct batch *batch)
{
	const struct phase_ask ask = {batch->id, 0, "undoing"};
	int64_t now_ms = clock_monotonic_ms();

	batch->step = STEP_LOOKING;
	if (intent_store_phase(batch->options.db, &batch->options.key, &ask, on_undoing, batch)) {
		batch->lost = true;
		batch->step = STEP_ENDED;
		return;
	}
	batch->options.claim_until_ms = now_ms + batch->options.key.claim_ms;
	batch->pending++;
}

/* What a step had to ask has been answered; one that asks nothing is passed over. */
void batch_undo_turn(struct batch *batch)
{
	if (batch->step == STEP_LOOKING || batch->step == STEP_UNDOING) {
		undo(batch);
		if (batch->pending > 0)
			return;
		if (batch->lost) {
			batch->step = STEP_ENDED;
			return;
		}
		park(batch);
		if (batch->pending > 0)
			return;
	}
	if (batch->step == STEP_PARKING) {
		check(batch);
		if (batch->pending > 0)
			return;
	}
	batch->step = STEP_ENDED;
}
