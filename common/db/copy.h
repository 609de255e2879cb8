/* COPY on a connection of one's own: blocks, so it is for workers. */
#pragma once

#include <libpq-fe.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* As PQconnectdb, and a path that swallows what is sent is noticed as by a db: never NULL but
 * without memory; the caller's, for PQfinish. */
PGconn *db_blocking_connect(const char *conninfo);
/* What a failed result means for another try. E_CONFLICT: the rows are there already. E_NOT_FOUND:
 * no partition has that time. E_INVALID: the rows are wrong and stay wrong. Else E_UNAVAILABLE. */
int db_blocking_rc(const PGresult *result);
/* The first line of what PostgreSQL says of it; `result` NULL: of the connection. */
void db_blocking_detail(const PGconn *connection, const PGresult *result, struct problem *ret);
/* Sends rows (text format) with a COPY .. FROM STDIN statement. 0 or as above, with the detail of
 * `problem` filled in. */
MUST_USE int db_copy_in(PGconn *connection, const char *statement, const void *rows, size_t size,
			struct problem *problem);
