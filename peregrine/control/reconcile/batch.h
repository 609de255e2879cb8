/* One batch: the edits of a plan, journalled, sent stage by stage to all switches at once, read
 * back, and taken back in the reverse order when one of them was not taken. What it learned of the
 * switches goes into the book. */
#pragma once

#include "peregrine/control/reconcile/diff_policy.h"
#include "peregrine/control/reconcile/intent_store.h"
#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/reconcile/scene.h"

enum batch_outcome {
	BATCH_DONE,   /* read back, and equal */
	BATCH_UNDONE, /* everything is as it was, as read back */
	BATCH_FAILED, /* something could not be taken back: read everything again */
	BATCH_LOST,   /* the claim, or PostgreSQL: whoever has it next reads first */
};

struct batch;

struct batch_end {
	enum batch_outcome outcome;
	bool overtaken;         /* BATCH_LOST: somebody else has the fabric */
	struct problem problem; /* of the first thing that went wrong */
};
/* From the loop; the batch is freed by its owner, also from inside this call. */
typedef void (*batch_end_fn)(void *context, const struct batch_end *end);

struct batch_options {
	struct loop *loop;
	struct db *db;
	struct switch_access access;
	struct claim_key key;
	int64_t claim_until_ms; /* clock_monotonic_ms */
	uint32_t call_ms, read_ms;
	struct switch_book *book;
	struct reconcile_stats *stats;
	const char *reason;
	batch_end_fn fn;
	void *context;
};

/* Takes scene, wanted and plan over when it returns 0, and never calls `fn` before it returns. */
MUST_USE int batch_new(const struct batch_options *options, struct scene *scene,
		       struct wanted *wanted, struct plan *plan, struct batch **ret);
void batch_free(struct batch *batch);
/* Stops sending; ends as BATCH_LOST when its calls under way have ended. */
void batch_abandon(struct batch *batch);
/* Calls under way. */
unsigned batch_pending(const struct batch *batch);

const struct scene *batch_scene(const struct batch *batch);
const struct wanted *batch_wanted(const struct batch *batch);
int64_t batch_id(const struct batch *batch);
/* [{"id", "state", "problem"}] under `key`. */
void batch_changes(const struct batch *batch, struct text *json, const char *key);
/* Switches that it has changed, as indexes of the scene's model; how many. */
uint32_t batch_touched(const struct batch *batch, uint32_t ret[], uint32_t room);
/* Ports that were left parked because they could not be set back: names for an alert; "" = none. */
const char *batch_parked(const struct batch *batch);
