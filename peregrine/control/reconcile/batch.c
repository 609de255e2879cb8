#include "peregrine/control/reconcile/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/json_text.h"

#include "peregrine/control/reconcile/batch_private.h"
#include "peregrine/control/reconcile/intent_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

static const char *const stage_states[] = {
	[STAGE_CREATE] = "creating",
	[STAGE_CUT] = "attaching",
	[STAGE_ATTACH] = "attaching",
	[STAGE_TRIM] = "deleting",
};
static_assert(COUNT_OF(stage_states) == PLAN_STAGE_COUNT, "a word for each stage");

/* --- the end --- */

static void batch_finish(struct batch *batch)
{
	struct batch_end result = {.batch = batch,
				   .outcome = BATCH_DONE,
				   .overtaken = batch->overtaken,
				   .problem = batch->problem};

	batch->step = STEP_ENDED;
	if (batch->lost)
		result.outcome = BATCH_LOST;
	else if (batch->trouble)
		result.outcome = BATCH_UNDONE;
	for (uint32_t p = 0; !batch->lost && batch->trouble && p < batch->party_count; p++) {
		for (size_t i = 0; i < batch->plan.count; i++) {
			if (batch->plan.edits[i].at == p &&
			    (batch->changes[i].state == CHANGE_UNKNOWN ||
			     batch->changes[i].state == CHANGE_TAKEN))
				result.outcome = BATCH_FAILED;
		}
	}
	batch->options.fn(batch->options.context, &result);
}

static void batch_lose(struct batch *batch)
{
	batch->lost = true;
	if (batch->pending == 0)
		batch_finish(batch);
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

/* --- stages --- */

static bool in_stage(const struct batch *batch, size_t i)
{
	return batch->plan.edits[i].stage == (enum plan_stage)batch->stage;
}

static void batch_read_back(struct batch *batch)
{
	batch->step = STEP_READING;
	for (uint32_t p = 0; p < batch->party_count; p++)
		batch_read(batch, p);
}

/* A statement that writes under the claim, and so extends it, has ended. False: the claim is gone,
 * and so is the batch. */
static bool batch_is_written(struct batch *batch, int rc, const PGresult *result)
{
	batch->pending--;
	batch->overtaken = rc == 0 && PQntuples(result) == 0;
	if (rc == 0 && !batch->overtaken && !batch->lost) {
		fence_extend(batch->options.fence,
			     fence_end_ms(batch->written_ms, batch->options.key.claim_ms));
		return true;
	}
	batch_lose(batch);
	return false;
}

static void on_phase(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct batch *batch = context;

	(void)problem;
	if (!batch_is_written(batch, rc, result))
		return;
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
		batch_read_back(batch);
		return;
	}
	if (batch->options.claim_until_ms <= now_ms) {
		batch_lose(batch);
		return;
	}
	ask = (struct phase_ask){batch->id, batch->stage + 1, stage_states[batch->stage]};
	batch->written_ms = clock_boot_ms();
	rc = intent_store_phase(batch->options.db, &batch->options.key, &ask, on_phase, batch);
	if (rc) {
		batch_lose(batch);
		return;
	}
	batch->options.claim_until_ms = now_ms + batch->options.key.claim_ms;
	batch->pending++;
}

void batch_turn(struct batch *batch)
{
	if (batch->lost) {
		batch_finish(batch);
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
		batch_finish(batch);
}

/* Calls that could not even be started end here. */
static void batch_on_turn(void *context)
{
	struct batch *batch = context;

	batch->pending -= batch->unstarted;
	batch->unstarted = 0;
	if (batch->pending == 0)
		batch_turn(batch);
}

/* --- the journal --- */

static void say_vlans(const struct port_vlans *vlans, struct text *json, const char *key)
{
	CLEANUP(text_done) struct text tagged = {0};

	vlan_set_text(&vlans->tagged, &tagged);
	json_begin_object(json, key);
	json_put_bool(json, "trunk", vlans->trunk);
	if (vlans->apart)
		json_put_bool(json, "apart", true);
	json_put_int(json, "native", vlans->native);
	json_put_string(json, "tagged", text_get(&tagged));
	json_end_object(json);
}

static void say_edit(const struct switch_edit *edit, struct text *json, const char *key)
{
	static const char *const kinds[] = {[EDIT_VLAN_CREATE] = "vlan_create",
					    [EDIT_VLAN_DELETE] = "vlan_delete",
					    [EDIT_PORT] = "port"};

	json_begin_object(json, key);
	json_put_string(json, "kind", kinds[edit->kind]);
	if (edit->kind != EDIT_PORT) {
		json_put_int(json, "vlan", edit->vlan);
		json_put_string(json, "vlan_name", edit->vlan_name);
	} else {
		json_put_string(json, "port", edit->port);
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
	if (!batch_is_written(batch, rc, result))
		return;
	batch->id = db_int(result, 0, CHANGE_JOURNAL_BATCH_ID, 0);
	at = db_text(result, 0, CHANGE_JOURNAL_CHANGE_IDS, "{}");
	for (size_t i = 0; i < batch->plan.count && *at; i++) {
		char *next = NULL;

		at += strcspn(at, "0123456789");
		batch->changes[i].id = strtoll(at, &next, 10);
		at = next ? next : "";
	}
	next_stage(batch);
}

static int batch_journal(struct batch *batch)
{
	CLEANUP(text_done) struct text json = {0};
	int rc;

	json_begin_array(&json, NULL);
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct plan_edit *edit = &batch->plan.edits[i];

		json_begin_object(&json, NULL);
		json_put_int(&json, "switch", batch->parties[edit->at].id);
		json_put_int(&json, "phase", (int)edit->stage + 1);
		json_put_bool(&json, "link", batch->changes[i].link);
		say_edit(&edit->edit, &json, "edit");
		json_end_object(&json);
	}
	json_end_array(&json);
	if (json.failed)
		return -ENOMEM;
	batch->written_ms = clock_boot_ms();
	rc = intent_store_journal(batch->options.db, &batch->options.key, batch->options.reason,
				  text_get(&json), on_journal, batch);
	if (rc == 0)
		batch->pending++;
	return rc;
}

/* --- life --- */

/* Which edit of a port is its first and which its last; edits of one port are few and near. */
static int mark_ends(struct batch *batch, uint32_t port_count)
{
	CLEANUP(freep) size_t *last = calloc((size_t)port_count + 1, sizeof(*last));

	if (!last)
		return -ENOMEM;
	for (size_t i = 0; i < batch->plan.count; i++) {
		uint32_t port = batch->plan.edits[i].port;

		batch->changes[i].first = batch->changes[i].last = true;
		if (port == MODEL_NONE)
			continue;
		if (last[port]) {
			batch->changes[i].first = false;
			batch->changes[last[port] - 1].last = false;
		}
		last[port] = i + 1;
	}
	return 0;
}

static int take_edits(struct batch *batch, const struct batch_source *source)
{
	const struct fabric_model *model = &source->scene->model;
	CLEANUP(freep)
	uint32_t *party_of = calloc((size_t)model->switch_count + 1, sizeof(*party_of));

	batch->plan.edits = calloc(source->count + 1, sizeof(*batch->plan.edits));
	batch->changes = calloc(source->count + 1, sizeof(*batch->changes));
	batch->parties = calloc(source->count + 1, sizeof(*batch->parties));
	if (!party_of || !batch->plan.edits || !batch->changes || !batch->parties)
		return -ENOMEM;
	for (size_t i = 0; i < source->count; i++) {
		const struct plan_edit *edit = &source->plan->edits[source->edits[i]];
		const struct fabric_switch *at = &model->switches[edit->at];
		uint32_t intent = edit->port == MODEL_NONE ? MODEL_NONE
							   : source->scene->intent_of[edit->port];

		if (party_of[edit->at] == 0) {
			struct party *party = &batch->parties[batch->party_count++];

			party->id = at->id;
			(void)text_copy(party->name, sizeof(party->name), at->name);
			party_of[edit->at] = batch->party_count;
		}
		batch->plan.edits[i] = *edit;
		batch->plan.edits[i].at = party_of[edit->at] - 1;
		batch->plan.edits[i].after = NULL; /* of the source's pool */
		batch->plan.count++;
		batch->changes[i].edge =
			edit->port != MODEL_NONE && model->ports[edit->port].role == PORT_EDGE;
		batch->changes[i].link =
			edit->port != MODEL_NONE && model->ports[edit->port].role == PORT_UPLINK;
		if (intent != MODEL_NONE)
			batch->changes[i].want_version =
				source->scene->intents[intent].wanted_version;
	}
	for (uint32_t s = 0; s < model->switch_count; s++) {
		if (party_of[s] > 0)
			batch_choose_refuges(batch, source, s);
	}
	return mark_ends(batch, model->port_count);
}

/* The rows that are met by it: of the ports themselves, and of the members of an aggregate. */
static int take_intents(struct batch *batch, const struct batch_source *source)
{
	const struct scene *scene = source->scene;
	CLEANUP(freep)
	size_t *edit_of = calloc((size_t)scene->model.port_count + 1, sizeof(*edit_of));
	size_t count = 0;

	if (!edit_of)
		return -ENOMEM;
	for (size_t i = 0; i < batch->plan.count; i++) {
		if (batch->plan.edits[i].port != MODEL_NONE)
			edit_of[batch->plan.edits[i].port] = i + 1;
	}
	for (int round = 0; round < 2; round++) {
		if (round > 0) {
			batch->intents = calloc(count + 1, sizeof(*batch->intents));
			if (!batch->intents)
				return -ENOMEM;
		}
		for (uint32_t k = 0; k < scene->intent_count; k++) {
			const struct scene_intent *intent = &scene->intents[k];
			struct batch_intent *to = &batch->intents[batch->intent_count];
			size_t edit;

			if (!scene_intent_counts(scene, source->wanted, k))
				continue;
			edit = edit_of[scene->model.ports[intent->port].carrier];
			count += edit > 0;
			if (edit == 0 || round == 0)
				continue;
			to->switch_id = intent->switch_id;
			to->version = intent->wanted_version;
			(void)text_copy(to->port, sizeof(to->port), intent->port_name);
			to->edit = edit - 1;
			batch->intent_count++;
		}
	}
	return 0;
}

int batch_new(const struct batch_options *options, const struct batch_source *source,
	      struct batch **ret)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	int rc;

	if (!batch)
		return -ENOMEM;
	*batch = (struct batch){.options = *options, .stage = -1, .begun_ms = clock_monotonic_ms()};
	fence_ref(batch->options.fence);
	(void)text_copy(batch->fabric, sizeof(batch->fabric), source->scene->model.name);
	rc = loop_timer_new(options->loop, batch_on_turn, batch, &batch->turn);
	if (rc == 0)
		rc = loop_timer_new(options->loop, batch_read_again, batch, &batch->again);
	if (rc == 0)
		rc = take_edits(batch, source);
	if (rc == 0)
		rc = take_intents(batch, source);
	if (rc == 0)
		rc = batch_journal(batch);
	if (rc) {
		batch_free(batch);
		return rc;
	}
	*ret = batch;
	return 0;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	loop_timer_free(batch->turn);
	loop_timer_free(batch->again);
	free(batch->parties);
	free(batch->changes);
	free(batch->intents);
	plan_done(&batch->plan);
	fence_unref(batch->options.fence);
	text_done(&batch->parked);
	free(batch);
}
