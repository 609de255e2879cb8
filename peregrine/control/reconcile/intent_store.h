/* SQL of the reconcile engine: what is wanted, as one consistent picture; claims; the journal; what
 * was applied. Every write that belongs to a fabric says `where generation = $n`. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"

/* Answer: one row, one column: the JSON that intent_read takes. */
MUST_USE int intent_store_load(struct db *db, db_result_fn fn, void *context);

/* Clears the open alerts of this engine whose switch or fabric is not there any more. */
MUST_USE int intent_store_clear_orphans(struct db *db);

struct claim_ask {
	int64_t fabric_id;
	const char *owner;
	uint32_t claim_ms;
	bool fresh; /* of this life: also from an earlier one of the same owner */
};
/* Answer: a row with the generation when it is ours now. */
MUST_USE int intent_store_claim(struct db *db, const struct claim_ask *ask, db_result_fn fn,
				void *context);

/* Who writes: in force only while that claim is. */
struct claim_key {
	int64_t fabric_id, generation;
	const char *owner;
	uint32_t claim_ms;
};

/* Answer: rows of changes in unfinished batches: batch, change, switch, edit, state. */
MUST_USE int intent_store_unfinished(struct db *db, int64_t fabric_id, db_result_fn fn,
				     void *context);
/* `rows`: [{"batch", "state", "problem", "changes": [{"id", "state"}]}]. */
MUST_USE int intent_store_close(struct db *db, const struct claim_key *key, const char *rows,
				db_result_fn fn, void *context);

/* `rows`: [{"op": "assign"|"release"|"rested"|"gone", "vlan", "network", "rest_s"}]. */
MUST_USE int intent_store_numbers(struct db *db, const struct claim_key *key, const char *rows,
				  db_result_fn fn, void *context);

/* `row`: {"make", "switch", "name", "bond", "members"}: an aggregate is about to be made, and is
 * ours from now on, or is about to go. No row: the claim is lost, send nothing. */
MUST_USE int intent_store_aggregate(struct db *db, const struct claim_key *key, const char *row,
				    db_result_fn fn, void *context);
/* It starts with what it has: nothing of ours is unsaved there. */
MUST_USE int intent_store_saved(struct db *db, int64_t switch_id);
/* `rows`: [{"switch", "aggregates"}]: what we can do there, and is nobody's in particular. */
MUST_USE int intent_store_abilities(struct db *db, const char *rows, db_result_fn fn,
				    void *context);

/* A batch and its changes; `changes`: [{"switch", "phase", "link", "edit"}] in the order of
 * sending. What is remembered of uplinks (`link`) goes until they show what is wanted of them.
 * Answer: a row: the batch, the changes' ids in that order as '{...}'; no row: the claim is lost.
 */
MUST_USE int intent_store_journal(struct db *db, const struct claim_key *key, const char *reason,
				  const char *changes, db_result_fn fn, void *context);
struct phase_ask {
	int64_t batch_id;
	int phase;         /* its changes become `sent`; 0 = none */
	const char *state; /* of the batch */
};
/* The edits of one phase are about to be sent. No row: the claim is lost, send nothing. */
MUST_USE int intent_store_phase(struct db *db, const struct claim_key *key,
				const struct phase_ask *ask, db_result_fn fn, void *context);

/* Results of one pass. `result`: {"batch", "state", "problem", "changes": [{"id", "state",
 * "problem"}], "ports": [{"switch", "port", "version", "trunk", "native", "tagged"}], "faults":
 * [{"switch", "port", "version", "problem"}], "uplinks": [{"switch", "port", "tagged"}], "alerts":
 * [{"op": "raise"|"clear", "key", "kind", "severity", "subject_kind", "subject", "message",
 * "detail"}], "events": [{"kind", "subject_kind", "subject", "tenant", "message", "detail"}]}; what
 * is absent is left alone. Answer: a row when the claim held. */
MUST_USE int intent_store_save(struct db *db, const struct claim_key *key, const char *result,
			       db_result_fn fn, void *context);
