/* SQL of how switches are reached (switch_endpoint of fabric.sql) and of the key that their secrets
 * are sealed to. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/seal_key.h"

#include "peregrine/control/switches.h"

MUST_USE int switch_store_read(struct db *db, db_result_fn fn, void *context);
/* One row of it. Not 0: the secrets cannot be opened or a member makes no sense; `ret_row` is set
 * even then, the problem is in it. Wipe the endpoint after use. */
MUST_USE int switch_row_read(const PGresult *result, int row, const struct seal_key *key,
			     struct switch_row *ret_row, struct switch_endpoint *ret);
/* The same switch with other credentials and secrets; else a problem. Wipe it after use. */
MUST_USE int switch_endpoint_renew(const struct switch_endpoint *endpoint, const char *credentials,
				   const char *secrets_hex, const struct seal_key *key,
				   struct switch_endpoint *ret, struct problem *problem);
/* Keeps the SSH host key that a switch has shown first, where the operator takes any. */
MUST_USE int switch_store_host_key(struct db *db, int64_t switch_id, const char *key,
				   db_result_fn fn, void *context);
MUST_USE int switch_store_publish(struct db *db, const struct seal_key *key, db_result_fn fn,
				  void *context);
