/* Shared by batch.c (stages, journal, outcome), batch_call.c (calls to switches) and
 * batch_undo.c. */
#pragma once

#include "peregrine/control/reconcile/batch.h"

enum change_state {
	CHANGE_PLANNED,
	CHANGE_SENT,
	CHANGE_TAKEN,
	CHANGE_REFUSED,
	CHANGE_UNKNOWN,
	CHANGE_APPLIED,
	CHANGE_UNDONE,
	CHANGE_STATE_COUNT
};

struct change {
	int64_t id;
	enum change_state state;
	bool first,
		last; /* the first or last edit of that port in the plan; an edit of a VLAN is both */
	bool edge, link;      /* of a node; of an uplink that has a cable */
	int64_t want_version; /* of an edge port's intent */
	uint16_t refuge; /* an edge port's parking number, should nothing else be left; 0 = none */
	bool refuge_new; /* its switch does not have this VLAN yet */
	bool taken_back; /* its undoing was sent */
};

/* One switch of the batch. */
struct party {
	int64_t id;
	char name[64];
	bool away;   /* does not answer: no more calls, no undo */
	bool failed; /* its problem is why the batch is undone */
	bool unsure; /* an edit of it is CHANGE_UNKNOWN */
	bool not_undone;
	bool again; /* it is read once more: it does not show the edits */
	int64_t again_at_ms;
	unsigned agains; /* so often, in this step */
	struct problem problem;
};

enum batch_step {
	STEP_SENDING,
	STEP_READING, /* back, after the last stage */
	STEP_LOOKING, /* at switches that gave no answer, before undoing */
	STEP_UNDOING,
	STEP_PARKING,
	STEP_CHECKING, /* reading what was undone */
	STEP_ENDED,
};

struct batch {
	struct batch_options options;
	struct plan plan;       /* copies; `at` is a party, `port` tells ports apart */
	struct change *changes; /* as plan.edits */
	struct batch_intent *intents;
	size_t intent_count;
	char fabric[64];
	struct party *parties;
	uint32_t party_count;
	int64_t id, begun_ms;
	int64_t written_ms; /* clock_boot_ms when the claim was extended last, as was asked */
	enum batch_step step;
	int stage; /* being sent or undone */
	unsigned pending;
	unsigned unstarted; /* of these, calls that could not be started */
	bool lost, overtaken, trouble;
	struct problem problem;
	struct text parked;
	struct loop_timer *turn, *again;
};

/* A call in flight; frees itself. `edits` and `ports` lie behind it in the same allocation. */
struct batch_call {
	struct batch *batch;
	uint32_t party;
	size_t count;
	size_t *change; /* index into batch->changes, per edit */
	struct switch_edit *edits;
	enum edit_result *results;
	const char **ports; /* of a reading; NULL-ended */
};

/* --- batch_call.c: each returns with batch->pending grown, or not when there was nothing to do --- */

/* Sends the edits of one party that `chosen` picks: in order, or inverted in reverse order. */
typedef bool (*change_chosen_fn)(const struct batch *batch, size_t i);
void batch_send(struct batch *batch, uint32_t party, change_chosen_fn chosen, bool undo);
void batch_park(struct batch *batch, uint32_t party);
void batch_read(struct batch *batch, uint32_t party);
/* Of the batch: reads again its parties whose reading did not show their edits. */
void batch_read_again(void *context);

/* --- batch_share.c: an uplink that others bring VLANs to at the same time --- */
/* Is it about its own VLANs alone? */
bool batch_shares(const struct batch *batch, size_t i);
/* Edit i in the form to send now. */
struct switch_edit batch_edit_now(const struct batch *batch, size_t i, bool undo);
/* Does a reading show edit i as done, or show no trace of it? */
bool batch_shows_done(const struct batch *batch, size_t i, const struct switch_reading *reading);
bool batch_shows_none(const struct batch *batch, size_t i, const struct switch_reading *reading);

/* --- batch.c --- */
void batch_turn(struct batch *batch); /* all calls of a step have ended */
void batch_say(struct batch *batch, uint32_t party, const struct problem *problem);

/* --- batch_undo.c --- */
/* Chooses where the edge ports of a switch go when they cannot be set back; `at` is its place in
 * the source's model. */
void batch_choose_refuges(struct batch *batch, const struct batch_source *source, uint32_t at);
void batch_undo_begin(struct batch *batch);
void batch_undo_turn(struct batch *batch);
