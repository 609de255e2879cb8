#include "peregrine/control/reconcile/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"

#include "peregrine/control/reconcile/batch_private.h"

LEAKS_LEFT_TO_SANITIZER

static const char *const stage_states[] = {
	[STAGE_CREATE] = "creating",
	[STAGE_CUT] = "attaching",
	[STAGE_ATTACH] = "attaching",
	[STAGE_TRIM] = "deleting",
};
static_assert(COUNT_OF(stage_states) == PLAN_STAGE_COUNT, "a word for each stage");

static const char *const change_states[] = {
	[CHANGE_PLANNED] = "planned", [CHANGE_SENT] = "sent",       [CHANGE_TAKEN] = "taken",
	[CHANGE_REFUSED] = "refused", [CHANGE_UNKNOWN] = "unknown", [CHANGE_APPLIED] = "applied",
	[CHANGE_UNDONE] = "undone",
};

/* --- the end --------------------------------------------------------- */

static void end(struct batch *batch)
{
	struct batch_end result = {
		.outcome = BATCH_DONE, .overtaken = batch->overtaken, .problem = batch->problem};

	batch->step = STEP_ENDED;
	if (batch->lost)
		result.outcome = BATCH_LOST;
	else if (batch->trouble)
		result.outcome = BATCH_UNDONE;
	for (uint32_t p = 0; !batch->lost && batch->trouble && p < batch->party_count; p++) {
		for (size_t i = 0; i < batch->plan.count; i++) {
			if (batch->plan.edits[i].at == batch->parties[p].at &&
			    (batch->changes[i].state == CHANGE_UNKNOWN ||
			     batch->changes[i].state == CHANGE_TAKEN))
				result.outcome = BATCH_FAILED;
		}
	}
	batch->options.fn(batch->options.context, &result);
}

static void lose(struct batch *batch)
{
	batch->lost = true;
	if (batch->pending == 0)
		end(batch);
}

void batch_abandon(struct batch *batch)
{
	batch->lost = true;
}

void batch_say(struct batch *batch, uint32_t party, const struct problem *problem)
{
	struct party *p = &batch->parties[party];

	p->failed = true;
	p->problem = *problem;
	if (!batch->trouble)
		batch->problem = *problem;
	batch->trouble = true;
}

/* --- stages ---------------------------------------------------------- */

static bool in_stage(const struct batch *batch, size_t i)
{
	return batch->plan.edits[i].stage == (enum plan_stage)batch->stage;
}

static void read_back(struct batch *batch)
{
	batch->step = STEP_READING;
	for (uint32_t p = 0; p < batch->party_count; p++)
		batch_read(batch, p);
}

static void on_phase(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct batch *batch = context;

	(void)problem;
	batch->pending--;
	batch->overtaken = rc == 0 && PQntuples(result) == 0;
	if (rc || batch->overtaken || batch->lost) {
		lose(batch);
		return;
	}
	for (uint32_t p = 0; p < batch->party_count; p++)
		batch_send(batch, p, in_stage, false);
	if (batch->pending == 0)
		batch_turn(batch);
}

/* Nothing is sent that could still be on its way when the claim has run out. */
static void next_stage(struct batch *batch)
{
	int64_t now_ms = clock_monotonic_ms();
	struct phase_ask ask;
	bool any = false;
	int rc;

	batch->step = STEP_SENDING;
	while (!any && ++batch->stage < PLAN_STAGE_COUNT) {
		for (size_t i = 0; i < batch->plan.count; i++)
			any |= in_stage(batch, i);
	}
	if (!any) {
		batch->stage = PLAN_STAGE_COUNT - 1;
		read_back(batch);
		return;
	}
	if (batch->options.claim_until_ms <= now_ms) {
		lose(batch);
		return;
	}
	ask = (struct phase_ask){batch->id, batch->stage + 1, stage_states[batch->stage]};
	rc = intent_store_phase(batch->options.db, &batch->options.key, &ask, on_phase, batch);
	if (rc) {
		lose(batch);
		return;
	}
	batch->options.claim_until_ms = now_ms + batch->options.key.claim_ms;
	batch->pending++;
}

void batch_turn(struct batch *batch)
{
	if (batch->lost) {
		end(batch);
		return;
	}
	switch (batch->step) {
	case STEP_SENDING:
		if (!batch->trouble) {
			next_stage(batch); /* may have ended it */
			return;
		}
		batch_undo_begin(batch);
		break;
	case STEP_READING:
		if (!batch->trouble)
			batch->step = STEP_ENDED;
		else
			batch_undo_begin(batch);
		break;
	case STEP_LOOKING:
	case STEP_UNDOING:
	case STEP_PARKING: batch_undo_turn(batch); break;
	case STEP_CHECKING: batch->step = STEP_ENDED; break;
	case STEP_ENDED: break;
	}
	if (batch->step == STEP_ENDED)
		end(batch);
}

/* Calls that could not even be started end here. */
static void on_turn(void *context)
{
	struct batch *batch = context;

	batch->pending -= batch->unstarted;
	batch->unstarted = 0;
	if (batch->pending == 0)
		batch_turn(batch);
}

/* --- the journal ----------------------------------------------------- */

static void say_vlans(const struct port_vlans *vlans, struct text *json, const char *key)
{
	CLEANUP(text_done) struct text tagged = {0};

	vlan_set_text(&vlans->tagged, &tagged);
	json_begin_object(json, key);
	json_bool(json, "trunk", vlans->trunk);
	json_int(json, "native", vlans->native);
	json_string(json, "tagged", text_get(&tagged));
	json_end_object(json);
}

static void say_edit(const struct switch_edit *edit, struct text *json, const char *key)
{
	static const char *const kinds[] = {[EDIT_VLAN_CREATE] = "vlan_create",
					    [EDIT_VLAN_DELETE] = "vlan_delete",
					    [EDIT_PORT] = "port"};

	json_begin_object(json, key);
	json_string(json, "kind", kinds[edit->kind]);
	if (edit->kind != EDIT_PORT) {
		json_int(json, "vlan", edit->vlan);
		json_string(json, "vlan_name", edit->vlan_name);
	} else {
		json_string(json, "port", edit->port);
		say_vlans(&edit->before, json, "before");
		say_vlans(&edit->after, json, "after");
	}
	json_end_object(json);
}

static void on_journal(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct batch *batch = context;
	const char *at;

	(void)problem;
	batch->pending--;
	batch->overtaken = rc == 0 && PQntuples(result) == 0;
	if (rc || batch->overtaken || batch->lost) {
		lose(batch);
		return;
	}
	batch->id = db_int(result, 0, 0, 0);
	at = db_text(result, 0, 1, "{}");
	for (size_t i = 0; i < batch->plan.count && *at; i++) {
		char *next = NULL;

		at += strcspn(at, "0123456789");
		batch->changes[i].id = strtoll(at, &next, 10);
		at = next ? next : "";
	}
	next_stage(batch);
}

static int journal(struct batch *batch)
{
	CLEANUP(text_done) struct text json = {0};
	int rc;

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct plan_edit *edit = &batch->plan.edits[i];

		json_begin_object(&json, NULL);
		json_int(&json, "switch", batch->scene.model.switches[edit->at].id);
		json_int(&json, "phase", (int)edit->stage + 1);
		say_edit(&edit->edit, &json, "edit");
		json_end_object(&json);
	}
	json_end_array(&json);
	if (json.failed)
		return -ENOMEM;
	rc = intent_store_journal(batch->options.db, &batch->options.key, batch->options.reason,
				  text_get(&json), on_journal, batch);
	if (rc == 0)
		batch->pending++;
	return rc;
}

/* --- life ------------------------------------------------------------ */

static int mark_ends(struct batch *batch)
{
	uint32_t count = batch->scene.model.port_count;
	CLEANUP(freep) bool *seen = calloc(2 * (size_t)count + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t k = 0; k < batch->plan.count; k++) {
		size_t back = batch->plan.count - 1 - k;
		uint32_t port = batch->plan.edits[k].port;
		uint32_t back_port = batch->plan.edits[back].port;

		batch->changes[k].first = port == MODEL_NONE || !seen[port];
		batch->changes[back].last = back_port == MODEL_NONE || !seen[count + back_port];
		if (port != MODEL_NONE)
			seen[port] = true;
		if (back_port != MODEL_NONE)
			seen[count + back_port] = true;
	}
	return 0;
}

static int find_parties(struct batch *batch)
{
	batch->parties = calloc(batch->scene.model.switch_count + 1, sizeof(*batch->parties));
	batch->changes = calloc(batch->plan.count + 1, sizeof(*batch->changes));
	if (!batch->parties || !batch->changes)
		return -ENOMEM;
	for (uint32_t s = 0; s < batch->scene.model.switch_count; s++) {
		bool any = false;

		for (size_t i = 0; i < batch->plan.count && !any; i++)
			any = batch->plan.edits[i].at == s;
		if (any)
			batch->parties[batch->party_count++].at = s;
	}
	return mark_ends(batch);
}

int batch_new(const struct batch_options *options, struct scene *scene, struct wanted *wanted,
	      struct plan *plan, struct batch **ret)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	int rc;

	if (!batch)
		return -ENOMEM;
	*batch = (struct batch){.options = *options,
				.scene = *scene,
				.wanted = *wanted,
				.plan = *plan,
				.stage = -1};
	rc = loop_timer_new(options->loop, on_turn, batch, &batch->turn);
	if (rc == 0)
		rc = find_parties(batch);
	if (rc == 0)
		rc = journal(batch);
	if (rc) {
		free(batch->parties);
		free(batch->changes);
		loop_timer_free(batch->turn);
		free(batch);
		return rc;
	}
	*scene = (struct scene){0};
	*wanted = (struct wanted){0};
	*plan = (struct plan){0};
	*ret = batch;
	return 0;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	loop_timer_free(batch->turn);
	free(batch->parties);
	free(batch->changes);
	plan_done(&batch->plan);
	wanted_done(&batch->wanted);
	scene_done(&batch->scene);
	text_done(&batch->parked);
	free(batch);
}

/* --- what is told of it ---------------------------------------------- */

unsigned batch_pending(const struct batch *batch)
{
	return batch->pending;
}

const struct scene *batch_scene(const struct batch *batch)
{
	return &batch->scene;
}

const struct wanted *batch_wanted(const struct batch *batch)
{
	return &batch->wanted;
}

int64_t batch_id(const struct batch *batch)
{
	return batch->id;
}

static const struct party *party_of(const struct batch *batch, uint32_t at)
{
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].at == at)
			return &batch->parties[p];
	}
	return NULL;
}

void batch_changes(const struct batch *batch, struct text *json, const char *key)
{
	json_begin_array(json, key);
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct party *party = party_of(batch, batch->plan.edits[i].at);
		enum change_state state = batch->changes[i].state;

		json_begin_object(json, NULL);
		json_int(json, "id", batch->changes[i].id);
		json_string(json, "state", change_states[state]);
		if (party && party->failed &&
		    (state == CHANGE_REFUSED || state == CHANGE_UNKNOWN)) {
			json_begin_object(json, "problem");
			json_string(json, "code", error_word(party->problem.code));
			json_string(json, "message", party->problem.message);
			json_string(json, "detail", party->problem.detail);
			json_end_object(json);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

uint32_t batch_touched(const struct batch *batch, uint32_t ret[], uint32_t room)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < batch->party_count && count < room; p++) {
		if (!batch->parties[p].away)
			ret[count++] = batch->parties[p].at;
	}
	return count;
}

const char *batch_parked(const struct batch *batch)
{
	return text_get(&batch->parked);
}
