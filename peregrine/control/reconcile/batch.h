/* One batch: the edits of one part of a plan. It is journalled, sent stage by stage to all its
 * switches at once, and read back. When one edit was not taken, all are taken back in reverse
 * order. Readings of the switches go into the book. A batch holds copies of all that it needs:
 * several of one fabric are under way side by side, as long as their switches take. */
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
	struct batch *batch;
	enum batch_outcome outcome;
	bool overtaken;         /* BATCH_LOST: somebody else has the fabric */
	struct problem problem; /* of the first thing that went wrong */
};
/* From the loop; the batch is freed by its owner, also from inside this call. */
typedef void (*batch_end_fn)(void *context, const struct batch_end *end);

/* VLANs that edits that were sent bring to an uplink, or take off again. */
struct batch_share {
	struct vlan_set brought, taken_back;
};

struct batch_options {
	struct loop *loop;
	struct db *db;
	struct switch_access access;
	struct claim_key key;
	int64_t claim_until_ms; /* clock_monotonic_ms */
	uint32_t call_ms, read_ms, again_ms;
	struct switch_book *book;
	struct reconcile_stats *stats;
	const char *reason;
	batch_end_fn fn;
	/* Of all batches of the fabric that are under way, this one too (batch_share); NULL = none.
	 */
	struct batch_share (*share)(void *context, int64_t switch_id, const char *port);
	void *context;
};

/* What a pass found, of which a batch is a part; borrowed for the call. */
struct batch_source {
	const struct scene *scene;
	const struct wanted *wanted;
	const struct plan *plan;
	const uint32_t *edits; /* indexes into plan->edits, ascending */
	size_t count;
};
/* Never calls `fn` before it returns. */
MUST_USE int batch_new(const struct batch_options *options, const struct batch_source *source,
		       struct batch **ret);
void batch_free(struct batch *batch);
/* Stops sending; ends as BATCH_LOST when its calls under way have ended. */
void batch_abandon(struct batch *batch);
/* Calls under way. */
unsigned batch_pending(const struct batch *batch);

int64_t batch_id(const struct batch *batch);
const char *batch_fabric(const struct batch *batch);
int64_t batch_begun_ms(const struct batch *batch); /* clock_monotonic_ms */
/* [{"id", "state", "problem"}] under `key`. */
void batch_changes(const struct batch *batch, struct text *json, const char *key);
/* Switches that it asked and that answered to the end: their ids; how many. */
uint32_t batch_touched(const struct batch *batch, int64_t ret[], uint32_t room);
bool batch_has_switch(const struct batch *batch, int64_t switch_id);
/* "leaf1, spine2, ..." */
void batch_switches(const struct batch *batch, struct text *ret);
/* Ports that were left parked because they could not be set back: names for an alert; "" = none. */
const char *batch_parked(const struct batch *batch);

/* Its edits in the order in which they are sent, for whoever plans beside it and for what is
 * remembered of uplinks. */
struct batch_view {
	int64_t switch_id;
	bool edge;  /* a port of ours for a node; else an uplink, or a VLAN */
	bool link;  /* an uplink with a cable in it */
	bool first; /* of the edits of its port */
	bool last;
	const struct switch_edit *edit;
};
size_t batch_count(const struct batch *batch);
struct batch_view batch_view(const struct batch *batch, size_t i);
struct batch_share batch_share(const struct batch *batch, int64_t switch_id, const char *port);
/* It is being taken back: `before` is where its ports lead. */
bool batch_undoes(const struct batch *batch);

/* A row of port_intent that is met when the batch is done. */
struct batch_intent {
	int64_t switch_id;
	int64_t version;
	char port[64];
	size_t edit; /* the last one of the port that has its membership */
};
const struct batch_intent *batch_intents(const struct batch *batch, size_t *count);
