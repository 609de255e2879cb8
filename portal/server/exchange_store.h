/* Statements around every request: whose rows it sees, and its Idempotency-Key. */
#pragma once

#include "common/db/db.h"

/* No parameters: all rows, times in UTC. */
extern const struct db_query store_scope_operator;
/* $1 = name of the tenant; no row when it does not exist. Comes after store_scope_operator. */
extern const struct db_query store_scope_tenant;
/* No parameters: from here on only the tenant's rows. */
extern const struct db_query store_scope_narrow;
/* No parameters: forgets keys older than 24 hours. */
extern const struct db_query store_key_sweep;
/* $1 principal, $2 key, $3 route, $4 digest of the body; a conflict when the key was used. */
extern const struct db_query store_key_claim;
/* $1 principal, $2 key: keeps the answer that STORE_ANSWER left, or gives the key back when there
 * is none. */
extern const struct db_query store_key_answer;
/* $1 principal, $2 key -> (route, digest, status, location, body). */
extern const struct db_query store_key_stored;
