/* Reading a PGresult: columns, and the server's error as a problem. SQLSTATEs: PostgreSQL 15
 * manual, appendix A; HAxxx are ours and follow HTTP's numbers (db/schema). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db.h"

/* The first row whose prefix fits decides. */
static const struct {
	const char *prefix;
	int code;
} db_result_states[] = {
	/* clang-format off */
	{"HA401", E_AUTHENTICATION},
	{"HA403", E_DENIED},
	{"HA404", E_NOT_FOUND},
	{"HA409", E_CONFLICT},
	{"HA412", E_STALE},
	{"HA422", E_INVALID},
	{"HA428", E_UNREAD},
	{"42501", E_DENIED},
	{"22", E_INVALID},
	{"23", E_CONFLICT},
	{"40", E_UNAVAILABLE}, /* after all repeats */
	{"57014", E_TIMEOUT},
	{"08", E_UNAVAILABLE},
	{"53", E_UNAVAILABLE},
	{"57P", E_UNAVAILABLE},
	/* clang-format on */
};

static int state_code(const char *state)
{
	for (size_t i = 0; i < COUNT_OF(db_result_states); i++) {
		if (strncmp(state, db_result_states[i].prefix,
			    strlen(db_result_states[i].prefix)) == 0)
			return db_result_states[i].code;
	}
	return -EINVAL;
}

static const char *db_result_field(const PGresult *result, int code)
{
	const char *value = PQresultErrorField(result, code);

	return value ? value : "";
}

/* Sentences of ours: what the schema raises. All else is PostgreSQL's, in the server's language. */
static bool db_result_is_ours(const char *state)
{
	return strncmp(state, "HA", 2) == 0 || strncmp(state, "P0", 2) == 0;
}

static void db_result_message(const PGresult *result, int code, struct problem *ret)
{
	const char *state = db_result_field(result, PG_DIAG_SQLSTATE);
	const char *text = db_result_field(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *constraint = db_result_field(result, PG_DIAG_CONSTRAINT_NAME);

	if (state[0] == '\0' || text[0] == '\0') /* made by libpq, without fields */
		(void)problem_set(ret, code, "%s", PQresultErrorMessage(result));
	else if (db_result_is_ours(state))
		(void)problem_set(ret, code, "%s", text);
	else
		(void)problem_set(ret, code, DB_STRANGE "%s %s.%s: %s", state,
				  db_result_field(result, PG_DIAG_TABLE_NAME),
				  constraint[0] ? constraint
						: db_result_field(result, PG_DIAG_COLUMN_NAME),
				  text);
}

int db_problem(const PGresult *result, struct problem *ret)
{
	int code = state_code(db_result_field(result, PG_DIAG_SQLSTATE));

	if (PQresultStatus(result) == PGRES_PIPELINE_ABORTED)
		return problem_set(ret, E_CONFLICT, "aborted");
	db_result_message(result, code, ret);
	/* PostgreSQL's own DETAIL shows rows, of any tenant: it stays in PostgreSQL's log. */
	if (db_result_is_ours(db_result_field(result, PG_DIAG_SQLSTATE)))
		problem_detail(ret, "%s", db_result_field(result, PG_DIAG_MESSAGE_DETAIL));
	problem_hint(
		ret, "%s",
		strncmp(db_result_field(result, PG_DIAG_SQLSTATE), "40", 2) == 0
			? "another request changed the same rows at the same time; nothing was changed: repeat it"
			: db_result_field(result, PG_DIAG_MESSAGE_HINT));
	return code;
}

const char *db_text(const PGresult *result, int row, int column, const char *fallback)
{
	return PQgetisnull(result, row, column) ? fallback : PQgetvalue(result, row, column);
}

int64_t db_int(const PGresult *result, int row, int column, int64_t fallback)
{
	const char *text = db_text(result, row, column, NULL);
	char *end = NULL;
	int64_t value;

	if (!text)
		return fallback;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno != 0 || end == text ? fallback : value;
}

bool db_bool(const PGresult *result, int row, int column)
{
	const char *text = db_text(result, row, column, "f");

	return text[0] == 't';
}

bool db_is_null(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) != 0;
}
