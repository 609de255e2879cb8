/* The SQL of the step runner: claim a batch, read all its facts, save it with all its effects
 * in one transaction. Every write of a claim is joined with "generation = mine": a claim that was
 * lost changes nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/db/db.h"

#include "bampi/control/deploy/advance_policy.h"
#include "bampi/control/deploy/certificate.h"
#include "bampi/control/deploy/step.h"
#include "bampi/control/deploy/task_sign.h"

#define CLAIM_LIMIT 256

/* One claimed deployment: the facts of the database, and what they borrow. */
struct claimed {
	struct facts facts;
	int64_t now_ms;                    /* of the database, when it was claimed */
	char chain_head[DIGEST_TEXT_SIZE]; /* hash of the newest certificate then */
	json_t *params, *result, *results, *drives, *packages, *volumes; /* owned */
	char *manifest;                                                  /* owned */
	char *signature;                                                 /* owned */
};

struct claim_options {
	const char *owner;
	int64_t claim_ms;
	const int64_t *woken; /* claimed before they are due: a BMC answered */
	size_t woken_count;
	unsigned http_port; /* of bampi-bootd, for callback URLs */
};

/* on_rows gets one row per deployment: read them with claimed_read. on_next follows:
 * deploy_store_next_ms. Both are called once when it returned 0; the claim is committed before
 * what it holds is read. */
MUST_USE int deploy_store_claim(struct db *db, const struct claim_options *options,
				db_result_fn on_rows, db_result_fn on_next, void *context);
/* On an error (E_MALFORMED, E_LIMIT, -ENOMEM) only now_ms and id and generation of the deployment
 * are set: enough to end it. */
MUST_USE int claimed_read(const PGresult *result, int row, unsigned http_port, struct claimed *ret);
void claimed_done(struct claimed *claimed);
/* Milliseconds until the next deployment or node action is due, from the result of on_next; -1 =
 * none. */
int64_t deploy_store_next_ms(const PGresult *result);

struct save_row {
	const struct claimed *claimed;
	const struct advance *advance;
	bool keep_claim;     /* the BMC works on it */
	json_t *certificate; /* owned by the caller; NULL = none */
};

struct save_options {
	const char *owner;
	int64_t claim_ms;
	const struct task_key *task_key; /* signs what is posted */
};

/* rc 0: committed; saved[i] tells whether row i was still ours. Else nothing of the batch was
 * written, or (E_UNAVAILABLE) nobody knows. */
typedef void (*deploy_saved_fn)(void *context, int rc, const bool saved[],
				const struct problem *problem);
/* Always calls back exactly once when it returned 0. */
MUST_USE int deploy_store_save(struct db *db, const struct save_options *options,
			       const struct save_row rows[], size_t count, deploy_saved_fn fn,
			       void *context);

struct claim_key {
	int64_t id, generation;
};
/* Claims to extend. */
struct extend_options {
	const char *owner;
	int64_t claim_ms;
	const struct claim_key *keys;
	size_t count;
};
/* The result has (id, generation, held): those that were extended, and those that are not ours any
 * more. */
MUST_USE int deploy_store_extend(struct db *db, const struct extend_options *options,
				 db_result_fn fn, void *context);
/* The same for any query with the parameters (ids, generations, milliseconds, owner). */
MUST_USE int claim_extend(struct db *db, const struct db_query *query,
			  const struct extend_options *options, db_result_fn fn, void *context);
/* The newest hash of the certificate chain; no row = none yet. */
MUST_USE int deploy_store_head(struct db *db, db_result_fn fn, void *context);
