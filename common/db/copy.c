#include "common/db/copy.h"

#include <string.h>

#include "common/base/error.h"
#include "common/db/db_private.h"
#include "common/db/db_target.h"

/* libpq takes an int: many rows go in pieces. */
#define PIECE ((size_t)1 << 20)

PGconn *db_blocking_connect(const char *conninfo)
{
	struct db_target target;
	PGconn *connection;

	/* libpq has a deadline per host here, connect_timeout, and tells what is malformed. */
	if (db_target_init(conninfo, NULL, 0, &target) != 0)
		return PQconnectdb(conninfo);
	connection = PQconnectdbParams(target.keys, target.values, 0);
	db_target_done(&target);
	return connection;
}

/* By SQLSTATE (PostgreSQL 15, appendix A). Whatever else is the matter may be over by the next
 * attempt. */
int db_blocking_rc(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (!state)
		return E_UNAVAILABLE;
	if (strcmp(state, "23505") == 0) /* unique_violation */
		return E_CONFLICT;
	if (strcmp(state, "23514") == 0) /* check_violation: no partition for a row */
		return E_NOT_FOUND;
	return strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 ? E_INVALID
									    : E_UNAVAILABLE;
}

void db_blocking_detail(const PGconn *connection, const PGresult *result, struct problem *ret)
{
	const char *reason = result ? PQresultErrorMessage(result) : PQerrorMessage(connection);

	problem_detail(ret, "%.*s", (int)strcspn(reason, "\n"), reason);
}

int db_copy_in(PGconn *connection, const char *statement, const void *rows, size_t size,
	       struct problem *problem)
{
	PGresult *result = PQexec(connection, statement);
	int rc = PQresultStatus(result) == PGRES_COPY_IN ? 0 : db_blocking_rc(result);

	if (rc)
		db_blocking_detail(connection, result, problem);
	PQclear(result);
	for (size_t at = 0; !rc && at < size; at += PIECE) {
		size_t piece = size - at < PIECE ? size - at : PIECE;

		if (PQputCopyData(connection, (const char *)rows + at, (int)piece) != 1)
			rc = E_UNAVAILABLE;
	}
	if (!rc && PQputCopyEnd(connection, NULL) != 1)
		rc = E_UNAVAILABLE;
	if (rc) {
		if (!problem->detail[0])
			db_blocking_detail(connection, NULL, problem);
		return rc;
	}
	while ((result = PQgetResult(connection))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK && !rc) {
			rc = db_blocking_rc(result);
			db_blocking_detail(connection, result, problem);
		}
		PQclear(result);
	}
	return rc;
}
