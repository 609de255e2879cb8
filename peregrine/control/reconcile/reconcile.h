/* Brings ports of switches to the wanted state, and keeps them there. It reads intent (rows of
 * network.sql) and proves that the next change keeps tenants apart. It writes each edit into the
 * journal, sends in phases and reads back. Then it records the change as applied, or undoes it.
 * Each batch is all or nothing. Several batches of one fabric run side by side. A slow or silent
 * switch delays only the edits in the same part as its own.
 *
 * Single-threaded on the loop. The daemon owns connection, queue and discovery. It tells this
 * engine when PostgreSQL comes and goes, when a notification arrived, and about other readings of
 * switches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_driver.h"

struct reconcile;

/* The calls to switches: the daemon's queue, or a simulated fabric in tests. */
struct switch_access {
	void *context;
	/* Starts one call to switch.id, or puts it into that switch's queue. `request` is copied;
	 * memory that it points to is borrowed until the end. `fn` is called once, from the loop,
	 * about `deadline_ms` (clock_monotonic_ms) at the latest. Calls of one switch end in the
	 * order of their starts.
	 *
	 * Errors as switch_driver.start, and E_UNAVAILABLE from an open breaker (edits are
	 * EDIT_NOT_TRIED then). E_NOT_FOUND: no such switch, -ENOMEM. */
	int (*call)(void *context, int64_t switch_id, const struct switch_request *request,
		    int64_t deadline_ms, switch_call_fn fn, void *fn_context);
	/* switch_driver.lag_name of the driver that changes the switch. NULL: no driver makes
	 * aggregates. */
	bool (*lag_name)(void *context, int64_t switch_id, unsigned number, char ret[64]);
	/* Why the switch is read and not set; false where it is set. NULL: all are set. */
	bool (*lacks)(void *context, int64_t switch_id, struct problem *ret);
};

struct reconcile_options {
	struct db *db; /* borrowed; role peregrined, LISTENs on channel `network` */
	struct switch_access access;
	const char *
		owner; /* the name that claims fabrics, the same after a restart: only a claim of the same owner is overtaken at once; borrowed */
	uint32_t claim_ms; /* 0 = 60000; a fabric is taken over so long after its owner stalled */
	uint32_t call_ms;  /* 0 = 40000; deadline of one call with edits */
	uint32_t read_ms;  /* 0 = 20000; deadline of one reading */
	uint32_t
		again_ms; /* 0 = 200; a switch that does not show an accepted edit yet is read again after this time, then after twice as long, ...: five times in all */
	uint32_t look_ms; /* 0 = 10000; how often each switch is asked whether somebody changed
			      it */
	uint32_t full_read_ms; /* 0 = 600000; interval of full readings without a change */
	bool no_looks;         /* the daemon hands in its readings often enough (reconcile_note) */
};

struct reconcile_stats {
	uint64_t cycles, batches, applied, undone, failed;
	uint64_t most_batches; /* side by side in one fabric */
	uint64_t edits_sent, edits_undone;
	uint64_t calls, readings;
	uint64_t proofs, proofs_failed;
	uint64_t drifts, repaired;
	uint64_t lost_claims, resumed;
};

MUST_USE int reconcile_new(struct loop *loop, const struct reconcile_options *options,
			   struct reconcile **ret);
/* Call it after db_free, and after `access` has answered all calls. */
void reconcile_free(struct reconcile *reconcile);

/* From db_options.on_state and on_notify (channel `network`). */
void reconcile_db_state(struct reconcile *reconcile, bool connected);
void reconcile_wake(struct reconcile *reconcile);

/* The generation of the fabric's claim while the claim is surely ours. 0: another owner has it, it
 * expired without an answer, or we have not asked for it yet. Calls that only one peregrined may
 * send to a switch check this first. */
int64_t reconcile_claim(const struct reconcile *reconcile, int64_t fabric_id);

/* Takes a reading that another module made; borrowed for the call. With PART_PORTS | PART_VLANS of
 * all ports it is the newest full reading, begun at `since_ms` (clock_monotonic_ms). With
 * PART_IDENTITY alone it is the cheap check for drift. */
void reconcile_note(struct reconcile *reconcile, int64_t switch_id,
		    const struct switch_reading *reading, int64_t since_ms);

/* Is a change of the switch running? Then other full readings of it should wait a little. */
bool reconcile_is_changing(const struct reconcile *reconcile, int64_t switch_id);

/* Saves the switch again if it was saved since `since_ms` (clock_monotonic_ms): that saved
 * configuration may hold settings that the running one no longer has. Without a saving since then
 * it does nothing. It waits while the database is away or the fabric is not surely ours. A restart
 * forgets the request. */
void reconcile_save_again(struct reconcile *reconcile, int64_t switch_id, int64_t since_ms);

/* GET /switches/{name}/diff, without doing anything: JSON {"switch", "read_at", "usable",
 * "problem", "changes": [{"kind", "vlan", "port", "before", "after"}], "drift": [{"port",
 * "applied", "observed"}], "unproven": [port], "saved", "save_problem"} into `ret`. E_NOT_FOUND;
 * E_UNAVAILABLE until its first reading. */
MUST_USE int reconcile_diff(const struct reconcile *reconcile, const char *switch_name,
			    struct text *ret, struct problem *problem);
/* POST /switches/{name}/reconcile: reads it whole now and repairs what differs, also where the
 * fabric says `report`. */
MUST_USE int reconcile_request(struct reconcile *reconcile, const char *switch_name,
			       struct problem *problem);

const struct reconcile_stats *reconcile_stats(const struct reconcile *reconcile);
