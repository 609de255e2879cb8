/* What reconcile.c (life, rows, claims), reconcile_read.c (readings of switches), reconcile_plan.c
 * (one pass over a fabric) and reconcile_tell.c (what is written of it) share. */
#pragma once

#include "peregrine/control/network/isolation_policy.h"
#include "peregrine/control/reconcile/batch.h"
#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/reconcile/switch_book.h"

enum fabric_step {
	FABRIC_IDLE,
	FABRIC_CLAIMING,
	FABRIC_RESUMING, /* what an earlier life left unfinished is being closed */
	FABRIC_NUMBERS,  /* numbers are being written */
	FABRIC_BATCH,
};

struct engine_fabric {
	struct reconcile *reconcile;
	int64_t id;
	enum fabric_step step;
	bool again; /* woken meanwhile */
	bool fresh, claimed, resumed;
	char owner[160]; /* that it claims as */
	int64_t generation;
	int64_t claim_until_ms, retry_ms; /* clock_monotonic_ms */
	struct batch *batch;
	/* All was as wanted when the facts had this digest: what differs now and did not then, with
	 * the same facts, was done by somebody else. */
	bool settled;
	uint64_t settled_digest;
	bool faulty; /* an isolation alert is open */
	bool leaking, short_of, short_told, undo_failed;
	/* Switches with an open drift alert. */
	int64_t *drifting;
	size_t drifting_count;
	int64_t look_again_ms;  /* something that failed is tried again; 0 = nothing */
	struct problem refusal; /* why the last plan was not sent */
};

struct reconcile {
	struct loop *loop;
	struct reconcile_options options;
	struct reconcile_stats stats;
	struct switch_book book;
	struct engine_fabric **fabrics;
	size_t fabric_count;
	json_t *rows; /* as read last */
	bool connected, loading, again;
	struct loop_timer *wake_timer, *chores_timer;
	unsigned readings; /* under way */
	int64_t full_load_ms;
};

/* --- reconcile.c --- */
struct claim_key fabric_key(const struct engine_fabric *fabric);
/* The step has ended: on to the next thing, with fresh rows when `reload`. */
void fabric_done(struct engine_fabric *fabric, bool reload);
void fabric_lost(struct engine_fabric *fabric, bool overtaken);

/* --- reconcile_read.c --- */
void reconcile_read_due(struct reconcile *reconcile);
/* False while a switch of the fabric that could answer has not been read. */
bool reconcile_fabric_read(const struct reconcile *reconcile, int64_t fabric_id);
void reconcile_save(struct reconcile *reconcile, int64_t switch_id);

/* --- reconcile_plan.c --- */
void fabric_plan(struct engine_fabric *fabric, size_t place);
/* Everything but what is sent: for plans and for diffs. */
struct pass {
	struct scene scene;
	struct wanted wanted;
	struct plan plan;
	struct isolation_report now; /* of what is observed */
	struct problem *faults;      /* per intent; code 0 = none */
	bool *drifted;               /* per switch of the model */
	uint64_t digest;
};
MUST_USE int pass_make(const struct reconcile *reconcile, const struct engine_fabric *fabric,
		       size_t place, struct pass *ret);
void pass_done(struct pass *pass);
/* Drift that is only to be told of, and nobody asked for its repair. */
bool fabric_only_tells(const struct engine_fabric *fabric, const struct pass *pass);

/* --- reconcile_tell.c --- */
/* Writes what a pass found, and how a batch ended. */
void fabric_tell(struct engine_fabric *fabric, const struct pass *pass);
void fabric_tell_batch(struct engine_fabric *fabric, const struct batch *batch,
		       const struct batch_end *end);
