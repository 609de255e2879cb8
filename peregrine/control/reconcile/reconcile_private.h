/* Shared by the engine's files:
 *
 *   reconcile.c         life, rows
 *   reconcile_claim.c   whose a fabric is, and the rest of an earlier life
 *   reconcile_read.c    readings of switches
 *   reconcile_save.c    saving their configuration
 *   reconcile_bond.c    their aggregates
 *   reconcile_pass.c    a pass, thought through
 *   reconcile_number.c  VLAN numbers
 *   reconcile_plan.c    proof, batches
 *   reconcile_tell.c    rows about it
 *   reconcile_alert.c, reconcile_diff.c  alerts and differences for people
 *   reconcile_apart.c   do nodes of the provisioning network hear each other? */
#pragma once

#include "common/io/work_cycle.h"

#include "peregrine/control/reconcile/batch.h"
#include "peregrine/control/reconcile/proof_policy.h"
#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/reconcile/switch_book.h"

enum fabric_step {
	FABRIC_IDLE,
	FABRIC_CLAIMING,
	FABRIC_RESUMING, /* unfinished batches of an earlier process are being closed */
	FABRIC_NUMBERS,  /* numbers are being written */
};

enum { BATCHES_MAX = 512 }; /* of one fabric at once */

struct engine_fabric {
	struct reconcile *reconcile;
	int64_t id;
	enum fabric_step step;
	bool again; /* woken meanwhile */
	bool fresh, claimed, resumed;
	bool adopted;    /* the alerts that were open when it became ours */
	char owner[160]; /* that it claims as */
	int64_t generation;
	int64_t claim_until_ms, retry_ms; /* clock_monotonic_ms */
	int64_t held_until_ms;            /* claim_until_ms, once the claim is committed */
	int64_t claim_boot_ms;            /* clock_boot_ms when it was asked for */
	struct fence *fence;    /* of the claim, with all that extended it; NULL = not ours */
	struct batch **batches; /* under way, side by side */
	size_t batch_count;
	/* True: the fabric was as wanted when the facts had this digest. A later difference under
	 * the same facts is drift. */
	bool settled;
	uint64_t settled_digest;
	bool short_of;
	/* Of alerts; `faulty`: of isolation. */
	alert_told faulty, leaking, short_told, undo_failed;
	/* Switches with an open drift alert. */
	int64_t *drifting;
	size_t drifting_count;
	int64_t look_again_ms;  /* time of the next retry of a failed step; 0 = none */
	struct problem refusal; /* why the last plan was not sent */
};

struct reconcile {
	struct loop *loop;
	struct reconcile_options options;
	struct reconcile_stats stats;
	struct switch_book book;
	struct engine_fabric **fabrics;
	size_t fabric_count;
	json_t *rows;            /* as read last */
	struct work_cycle cycle; /* running: the rows are being read */
	struct loop_timer *chores_timer;
	unsigned readings; /* under way */
	int64_t full_load_ms;
	int64_t load_asked_ms;
};

/* --- reconcile.c --- */
struct claim_key fabric_key(const struct engine_fabric *fabric);
/* The step has ended: starts the next step, with fresh rows if `reload`. */
void fabric_done(struct engine_fabric *fabric, bool reload);
void fabric_lost(struct engine_fabric *fabric, bool overtaken);
/* The claim is not extended any more. `overtaken`: it is over now, else when it runs out. */
void fabric_unfence(struct engine_fabric *fabric, bool overtaken);
/* NULL: not ours. */
struct fence *reconcile_fence(const struct reconcile *reconcile, int64_t fabric_id);

/* --- reconcile_claim.c --- */
void fabric_claim(struct engine_fabric *fabric);
/* Closes unfinished batches of an earlier process. */
void fabric_resume(struct engine_fabric *fabric);

/* --- reconcile_adopt.c --- */
/* Before the first pass of a claim, with rows that were read since. */
void fabric_adopt_alerts(struct engine_fabric *fabric, size_t place);
/* Are there open alerts of ours for deleted switches or fabrics? No pass would clear them. */
bool reconcile_has_orphans(const struct reconcile *reconcile);

/* --- reconcile_read.c --- */
void reconcile_read_due(struct reconcile *reconcile);
/* False while a switch of the fabric that could answer has not been read. */
bool reconcile_fabric_read(const struct reconcile *reconcile, int64_t fabric_id);

/* --- reconcile_save.c --- */
/* It was changed: save it now, or when the one under way has ended. */
void reconcile_save(struct reconcile *reconcile, int64_t switch_id);
void reconcile_save_due(struct reconcile *reconcile);
/* After the rows were read: those of an earlier life. */
void reconcile_save_adopt(struct reconcile *reconcile);

/* --- reconcile_pass.c --- */
/* Everything but what is sent: for plans and for diffs. */
struct pass {
	struct scene scene;
	struct wanted wanted;
	struct plan plan;
	struct isolation_report
		shown; /* the proof of the observed state, with running changes as they will end */
	struct isolation_report fluxed; /* only where something is under way: in all its states */
	struct problem *faults;         /* per intent; code 0 = none */
	bool *drifted;                  /* per switch of the model */
	uint64_t digest;
};
MUST_USE int pass_make(const struct reconcile *reconcile, const struct engine_fabric *fabric,
		       size_t place, struct pass *ret);
/* The report on the possible current states. */
const struct isolation_report *pass_now(const struct pass *pass);
void pass_done(struct pass *pass);
/* All differences are drift: the facts have not changed since the fabric was as wanted. */
bool pass_is_drift(const struct engine_fabric *fabric, const struct pass *pass);
/* Drift that is only reported: the fabric says `report`, and no operator asked for repair. */
bool pass_only_tells(const struct engine_fabric *fabric, const struct pass *pass);

/* --- reconcile_number.c --- */
/* True: VLAN IDs are being written, and the pass runs again with them. */
bool fabric_number(struct engine_fabric *fabric, struct pass *pass);

/* --- reconcile_plan.c --- */
void fabric_plan(struct engine_fabric *fabric, size_t place);

/* --- reconcile_bond.c --- */
/* Why an aggregate that could be made now is not. */
void fabric_judge_bonds(const struct engine_fabric *fabric, struct pass *pass);
/* Makes or unmakes aggregates, one at a time per switch. Their ports are free, and no other edit of
 * that switch begins until it was read again. */
void fabric_bond(struct engine_fabric *fabric, const struct pass *pass);
/* After the rows were read: writes on which switches we can make aggregates. */
void reconcile_tell_abilities(struct reconcile *reconcile);

/* --- reconcile_tell.c --- */
struct bond_end {
	const struct switch_lag *lag;
	const char *switch_name, *bond;
	int64_t batch, change;         /* in the journal */
	const struct problem *problem; /* NULL: it is so */
};
void fabric_tell_bond(struct engine_fabric *fabric, const struct bond_end *end);
/* Writes the findings of a pass, and the end of a batch. */
void fabric_tell(struct engine_fabric *fabric, const struct pass *pass);
void fabric_tell_batch(struct engine_fabric *fabric, const struct batch *batch,
		       const struct batch_end *end);
