/* SQL of the reconcile engine: the wanted state in one snapshot, claims, the journal, the applied
 * state. Every write for a fabric has `where generation = $n`. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"

/* Answer: one row, one column: the JSON that intent_read takes. */
MUST_USE int intent_store_load(struct db *db, db_result_fn fn, void *context);

/* Clears open alerts of this engine for switches and fabrics that were deleted. */
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

/* The writer's claim. A write counts only while the claim holds. */
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

/* Notes that an aggregate is about to be made (it is ours from now on) or removed. `row`: {"make",
 * "switch", "name", "bond", "members"}. No row: the claim is lost, send nothing. */
MUST_USE int intent_store_aggregate(struct db *db, const struct claim_key *key, const char *row,
				    db_result_fn fn, void *context);
/* Notes that the switch has saved all our changes: a reboot starts with them. */
MUST_USE int intent_store_saved(struct db *db, int64_t switch_id);
/* Writes whether we can make aggregates on each switch; this needs no claim. `rows`: [{"switch",
 * "aggregates"}]. */
MUST_USE int intent_store_abilities(struct db *db, const char *rows, db_result_fn fn,
				    void *context);

/* A batch and its changes; `changes`: [{"switch", "phase", "link", "edit"}] in the order of
 * sending. The stored VLANs of these uplinks (`link`) are deleted until the uplinks show their
 * wanted VLANs. Answer: a row: the batch, the changes' ids in that order as '{...}'; no row: the
 * claim is lost. */
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
 * "detail"}], "events": [{"kind", "subject_kind", "subject", "tenant", "message", "detail"}]};
 * absent members change nothing. Answer: a row when the claim held. */
MUST_USE int intent_store_save(struct db *db, const struct claim_key *key, const char *result,
			       db_result_fn fn, void *context);
