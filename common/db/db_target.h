/* Where a connection goes: a conninfo may name several hosts, a primary and its standbys. libpq tries
 * them in their order and takes the one that can write. It has no deadline per host while it connects
 * without blocking, so one that swallows packets would hide the others: each attempt begins at another
 * host. */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>

#include "common/base/macros.h"

/* More than libpq knows. */
enum { DB_TARGET_KEYS = 64 };

/* For PQconnectStartParams and PQconnectdbParams, without expanding dbname. Strings are its own, or
 * live as long as `application`. */
struct db_target {
	const char *keys[DB_TARGET_KEYS], *values[DB_TARGET_KEYS];
	PQconninfoOption *parsed;
	char *turned[3]; /* lists that begin at another host */
};

/* How many hosts it names, at least 1; 0: it is no conninfo. */
unsigned db_target_hosts(const char *conninfo);
/* `first`: the host that is tried first, counted from 0, modulo their number. `application` NULL: a
 * command of a person, who may ask a standby that is named alone. E_MALFORMED, -ENOMEM. */
MUST_USE int db_target_init(const char *conninfo, const char *application, unsigned first,
			    struct db_target *ret);
void db_target_done(struct db_target *target);
