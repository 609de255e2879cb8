/* What is told of a batch. */
#include "common/base/error.h"
#include "common/base/json_text.h"

#include "peregrine/control/reconcile/batch_private.h"

int64_t batch_id(const struct batch *batch)
{
	return batch->id;
}

const char *batch_fabric(const struct batch *batch)
{
	return batch->fabric;
}

int64_t batch_begun_ms(const struct batch *batch)
{
	return batch->begun_ms;
}

void batch_changes(const struct batch *batch, struct text *json, const char *key)
{
	static const char *const states[] = {
		[CHANGE_PLANNED] = "planned", [CHANGE_SENT] = "sent",
		[CHANGE_TAKEN] = "taken",     [CHANGE_REFUSED] = "refused",
		[CHANGE_UNKNOWN] = "unknown", [CHANGE_APPLIED] = "applied",
		[CHANGE_UNDONE] = "undone",
	};

	json_begin_array(json, key);
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct party *party = &batch->parties[batch->plan.edits[i].at];
		enum change_state state = batch->changes[i].state;

		json_begin_object(json, NULL);
		json_put_int(json, "id", batch->changes[i].id);
		json_put_string(json, "state", states[state]);
		if (party->failed && (state == CHANGE_REFUSED || state == CHANGE_UNKNOWN)) {
			json_begin_object(json, "problem");
			json_put_string(json, "code", error_word(party->problem.code));
			json_put_string(json, "message", party->problem.message);
			json_put_string(json, "detail", party->problem.detail);
			json_end_object(json);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

uint32_t batch_touched(const struct batch *batch, int64_t ret[], uint32_t room)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < batch->party_count && count < room; p++) {
		if (!batch->parties[p].away)
			ret[count++] = batch->parties[p].id;
	}
	return count;
}

bool batch_has_switch(const struct batch *batch, int64_t switch_id)
{
	for (uint32_t p = 0; p < batch->party_count; p++) {
		if (batch->parties[p].id == switch_id)
			return true;
	}
	return false;
}

void batch_switches(const struct batch *batch, struct text *ret)
{
	for (uint32_t p = 0; p < batch->party_count; p++)
		text_addf(ret, "%s%s", p ? ", " : "", batch->parties[p].name);
}

const char *batch_parked(const struct batch *batch)
{
	return text_get(&batch->parked);
}

size_t batch_count(const struct batch *batch)
{
	return batch->plan.count;
}

struct batch_view batch_view(const struct batch *batch, size_t i)
{
	return (struct batch_view){.switch_id = batch->parties[batch->plan.edits[i].at].id,
				   .edge = batch->changes[i].edge,
				   .link = batch->changes[i].link,
				   .first = batch->changes[i].first,
				   .last = batch->changes[i].last,
				   .edit = &batch->plan.edits[i].edit};
}

bool batch_undoes(const struct batch *batch)
{
	return batch->trouble;
}

const struct batch_intent *batch_intents(const struct batch *batch, size_t *count)
{
	*count = batch->intent_count;
	return batch->intents;
}
