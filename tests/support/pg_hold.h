/* Somebody else at a real PostgreSQL who holds what others wait for, so that their answers come
 * late: a lock of a row or any other, from pg_hold until pg_let_go. */
#pragma once

#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

/* `statement` takes the lock. Returns at once: who must be sure looks at pg_stat_activity. */
static inline FILE *pg_hold(const char *conninfo, const char *statement)
{
	char command[512];
	FILE *psql;

	assert_true(text_format(command, sizeof(command),
				"exec psql -qXAt '%s' -v ON_ERROR_STOP=1 -o /dev/null", conninfo));
	psql = popen(command, "w");
	assert_non_null(psql);
	assert_true(fprintf(psql, "set search_path = haas; begin; %s;\n", statement) > 0);
	assert_int_equal(fflush(psql), 0);
	return psql;
}

/* Nothing where nobody does. */
static inline void pg_let_go(FILE **psql)
{
	FILE *held = *psql;

	*psql = NULL;
	if (held)
		assert_int_equal(pclose(held), 0);
}
