/* One batch: the edits of one part of a plan. It is journalled, sent stage by stage to all its
 * switches at once, and read back. If a switch refuses one edit, all edits are undone in reverse
 * order. Readings of the switches go into the book (switch_book.h). A batch holds copies of all its
 * data, so several batches of one fabric run side by side. None waits for the switches of
 * another. */
#pragma once

#include "peregrine/control/reconcile/diff_policy.h"
#include "peregrine/control/reconcile/intent_store.h"
#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/reconcile/scene.h"

enum batch_outcome {
	BATCH_DONE,   /* read back, and equal */
	BATCH_UNDONE, /* everything is as it was, as read back */
	BATCH_FAILED, /* an edit could not be undone: read everything again */
	BATCH_LOST,   /* the claim or PostgreSQL is lost: the next owner reads first */
};

struct batch;

struct batch_end {
	struct batch *batch;
	enum batch_outcome outcome;
	bool overtaken;         /* BATCH_LOST: another peregrined has claimed the fabric */
	struct problem problem; /* the first failure */
};
/* From the loop; the batch is freed by its owner, also from inside this call. */
typedef void (*batch_end_fn)(void *context, const struct batch_end *end);

/* VLANs that the sent edits add to an uplink, or remove from it again. */
struct batch_share {
	struct vlan_set brought, taken_back;
};

struct batch_options {
	struct loop *loop;
	struct db *db;
	struct switch_access access;
	struct claim_key key;
	int64_t claim_until_ms; /* clock_monotonic_ms */
	struct fence *fence;    /* of the claim; the batch extends it, too. Kept */
	uint32_t call_ms, read_ms, again_ms;
	struct switch_book *book;
	struct reconcile_stats *stats;
	const char *reason;
	batch_end_fn fn;
	/* The share of all running batches of the fabric, this one included (batch_share); NULL =
	 * none. */
	struct batch_share (*share)(void *context, int64_t switch_id, const char *port);
	void *context;
};

/* The result of a pass that the batch is a part of; borrowed for the call. */
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
/* Stops sending. Ends as BATCH_LOST when its calls in flight have ended. */
void batch_abandon(struct batch *batch);

int64_t batch_id(const struct batch *batch);
const char *batch_fabric(const struct batch *batch);
int64_t batch_begun_ms(const struct batch *batch); /* clock_monotonic_ms */
/* [{"id", "state", "problem"}] under `key`. */
void batch_changes(const struct batch *batch, struct text *json, const char *key);
/* Writes the ids of the switches that answered all its calls; returns how many. */
uint32_t batch_touched(const struct batch *batch, int64_t ret[], uint32_t room);
bool batch_has_switch(const struct batch *batch, int64_t switch_id);
/* "leaf1, spine2, ..." */
void batch_switches(const struct batch *batch, struct text *ret);
/* Ports that were left parked because they could not be set back: names for an alert; "" = none. */
const char *batch_parked(const struct batch *batch);

/* Its edits in the order of sending: for a planner beside it, and for the stored VLANs of
 * uplinks. */
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
/* It is being undone: its ports return to `before`. */
bool batch_undoes(const struct batch *batch);

/* A row of port_intent that is fulfilled when the batch is done. */
struct batch_intent {
	int64_t switch_id;
	int64_t version;
	char port[64];
	size_t edit; /* the port's last edit, with its final membership */
};
const struct batch_intent *batch_intents(const struct batch *batch, size_t *count);
