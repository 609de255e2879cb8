/* The SQL of PDCIs: claimed one at a time, decided upon, saved under the claim's generation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"

#include "bampi/control/alloc/alloc_policy.h"
#include "bampi/control/alloc/pdci_request.h"

enum pdci_state {
	PDCI_REQUESTED,
	PDCI_INFEASIBLE,
	PDCI_BUILDING,
	PDCI_READY,
	PDCI_FAILED,
	PDCI_RELEASING,
	PDCI_RELEASED,
	PDCI_STATE_COUNT
};
extern const char *const pdci_state_words[PDCI_STATE_COUNT + 1];

struct pdci_claim {
	int64_t id, generation;
	char name[64], tenant[64];
	bool absent; /* wanted: to be released */
	enum pdci_state state;
	json_t *request; /* owned */
	/* Of its nodes: how far they are. */
	int64_t nodes, done, failed, replacing;
	char failed_node[64], failed_why[160];
	bool failed_is_spare; /* it took another's place itself */
	bool failed_is_lost;  /* taken out by somebody: nothing that could be retried */
	char told[256];       /* the problem that it has, as far as it goes */
};

/* What becomes of a claim. */
struct pdci_save {
	enum pdci_state state;
	struct problem problem;
	int64_t due_ms; /* from now; -1 = when somebody asks for something */
};

void pdci_claim_done(struct pdci_claim *claim);

/* At most one row. */
MUST_USE int pdci_store_claim(struct db *db, const char *owner, int64_t claim_ms, db_result_fn fn,
			      void *context);
/* E_MALFORMED: the request cannot be read; the rest of *ret is set. */
MUST_USE int pdci_claim_read(const PGresult *result, struct pdci_claim *ret);

struct pdci_facts_ask {
	const char *tenant;
	const struct pdci_request *request;
	const json_t *json; /* that it was read from */
	int64_t pdci;       /* that asked; 0 = none yet */
	int64_t links;      /* none yet: networks that its volumes would need */
};

/* In their order. */
struct pdci_facts_calls {
	db_result_fn on_images, on_packages, on_nodes;
};

/* All in one snapshot: the images' firmware, one row per group in order; a package that may not be
 * used; all nodes. */
MUST_USE int pdci_store_facts(struct db *db, const struct pdci_facts_ask *ask,
			      const struct pdci_facts_calls *fns, void *context);
/* Sets groups[].firmwares; an image that cannot be used is a problem E_NOT_FOUND. */
void pdci_images_read(const PGresult *result, struct pdci_request *request,
		      struct problem *ret_problem);
/* One that cannot be used is a problem E_NOT_FOUND. */
void pdci_packages_read(const PGresult *result, struct problem *ret_problem);
/* *ret is the caller's (free), its disks with it. */
MUST_USE int pdci_nodes_read(const PGresult *result, struct alloc_node **ret, size_t *ret_count);

/* E_CONFLICT: one of them was taken meanwhile. E_STALE: the claim is another's. */
MUST_USE int pdci_store_allocate(struct db *db, const struct pdci_claim *claim,
				 const struct alloc_node nodes[], const struct alloc_answer *answer,
				 db_result_fn fn, void *context);
/* Rows (node, waits_for); none = it is released. */
MUST_USE int pdci_store_release(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
				void *context);
/* Another node for claim->failed_node; the claim is over with it. */
MUST_USE int pdci_store_replace(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
				void *context);
/* Rows (node, group, waits_for): who is to be replaced; waits_for NULL = it is out. */
MUST_USE int pdci_store_replace_step(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
				     void *context);
/* As pdci_store_allocate, for places that are vacant. */
MUST_USE int pdci_store_replace_take(struct db *db, const struct pdci_claim *claim,
				     const struct alloc_node nodes[],
				     const struct alloc_answer *answer, db_result_fn fn,
				     void *context);
MUST_USE int pdci_store_save(struct db *db, const struct pdci_claim *claim,
			     const struct pdci_save *save, db_result_fn fn, void *context);
