#include "common/base/clock.h"
#include "common/base/fence.h"

#include "peregrine/control/reconcile/batch_private.h"

/* --- where ports go that cannot be set back --- */

static bool is_parked(const struct fabric_model *model, const struct port_vlans *vlans)
{
	return vlans && !vlans->trunk && model_vlan_is_parking(model, vlans->native);
}

/* Parking numbers that ports of the switch have, get, or may have while they change; and what it
 * keeps to itself. */
static struct vlan_set numbers_used(const struct batch_source *source, uint32_t at)
{
	const struct fabric_model *model = &source->scene->model;
	const struct fabric_switch *sw = &model->switches[at];
	struct vlan_set used = vlan_set_union(&sw->moving, &sw->reserved);

	for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++) {
		port_state ends[] = {source->scene->observed[p], source->wanted->ports[p]};

		for (size_t i = 0; i < COUNT_OF(ends); i++) {
			if (is_parked(model, ends[i]))
				vlan_set_add(&used, ends[i]->native);
		}
	}
	return used;
}

/* A number that nobody else has there, while there are any: ports of two tenants that cannot be set
 * back must not meet in it. Its own where it comes from one, or was to go to one. */
static unsigned refuge_of(const struct fabric_model *model, const struct switch_edit *edit,
			  const struct vlan_set *used)
{
	if (is_parked(model, &edit->before))
		return edit->before.native;
	if (is_parked(model, &edit->after))
		return edit->after.native;
	for (unsigned v = model->parking; v <= model->parking_high; v++) {
		if (!vlan_set_has(used, v))
			return v;
	}
	return model->parking;
}

void batch_choose_refuges(struct batch *batch, const struct batch_source *source, uint32_t at)
{
	const struct fabric_model *model = &source->scene->model;
	struct vlan_set used = numbers_used(source, at);

	for (size_t i = 0; i < source->count; i++) { /* also what it passes through on its way */
		const struct plan_edit *edit = &source->plan->edits[source->edits[i]];

		if (edit->at == at && is_parked(model, edit->after))
			vlan_set_add(&used, edit->after->native);
	}
	for (size_t i = 0; i < source->count; i++) {
		const struct plan_edit *edit = &source->plan->edits[source->edits[i]];
		struct change *change = &batch->changes[i];

		if (edit->at != at || !change->edge)
			continue;
		change->refuge = (uint16_t)refuge_of(model, &edit->edit, &used);
		change->refuge_new = !vlan_set_has(&model->switches[at].vlans, change->refuge);
		vlan_set_add(&used, change->refuge);
	}
}

/* --- undoing --- */

/* Looking first (who gave no answer may have done it), then the stages in reverse, each for all
 * switches at once; what cannot be set back is parked; then everything that was touched is read. */

static bool is_touched(const struct batch *batch, size_t i)
{
	enum change_state state = batch->changes[i].state;

	return batch->plan.edits[i].stage == (enum plan_stage)batch->stage &&
	       (state == CHANGE_TAKEN || state == CHANGE_APPLIED || state == CHANGE_UNKNOWN);
}

static void batch_undo_look(struct batch *batch)
{
	batch->step = STEP_LOOKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].unsure && !batch->parties[p].away)
			batch_read(batch, p);
	}
}

static void batch_undo(struct batch *batch)
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

static void batch_undo_park(struct batch *batch)
{
	batch->step = STEP_PARKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].not_undone && !batch->parties[p].away)
			batch_park(batch, p);
	}
}

static void batch_undo_check(struct batch *batch)
{
	batch->step = STEP_CHECKING;
	for (uint32_t p = 0; p < batch->party_count; p++) {
		batch->parties[p].agains = 0;
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
	if (rc || batch->overtaken) {
		batch->lost = true;
	} else if (!batch->lost) {
		fence_extend(batch->options.fence,
			     fence_end_ms(batch->written_ms, batch->options.key.claim_ms));
		batch_undo_look(batch);
	}
	if (batch->pending == 0)
		batch_turn(batch);
}

/* Says so first: with the claim extended there is time for it. */
void batch_undo_begin(struct batch *batch)
{
	const struct phase_ask ask = {batch->id, 0, "undoing"};
	int64_t now_ms = clock_monotonic_ms();

	batch->step = STEP_LOOKING;
	batch->written_ms = clock_boot_ms();
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
		batch_undo(batch);
		if (batch->pending > 0)
			return;
		if (batch->lost) {
			batch->step = STEP_ENDED;
			return;
		}
		batch_undo_park(batch);
		if (batch->pending > 0)
			return;
	}
	if (batch->step == STEP_PARKING) {
		batch_undo_check(batch);
		if (batch->pending > 0)
			return;
	}
	batch->step = STEP_ENDED;
}
