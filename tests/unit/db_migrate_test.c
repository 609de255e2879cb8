// links: portal_cli
// alone: has a db_schema of its own
/* Changes of the shape, on a real PostgreSQL: this file has a schema of its own in place of haasctl's (db_schema), of which it makes releases. */
#include <stdlib.h>
#include <string.h>

#include "common/base/embedded.h"
#include "common/base/error.h"

#include "portal/cli/db_admin.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define PART(part_name, text)                                              \
	{                                                                  \
		part_name, (const unsigned char *)(text), sizeof(text) - 1 \
	}

extern struct embedded db_schema[];
struct embedded db_schema[6];

struct cluster {
	char folder[SCRATCH_SIZE];
	char conninfo[128];
};

/* Sets what "this haasctl" carries. */
static void db_migrate_test_release(const struct embedded *parts, size_t count)
{
	assert_true(count < COUNT_OF(db_schema));
	memset(db_schema, 0, sizeof(db_schema));
	memcpy(db_schema, parts, count * sizeof(*parts));
}

static int db_migrate_test_run(const struct cluster *cluster, struct problem *problem)
{
	FILE *talk = fopen("/dev/null", "w");

	assert_non_null(talk);
	int rc = db_migrate(cluster->conninfo, talk, problem);
	(void)fclose(talk);
	return rc;
}

static void db_migrate_test_answer(const struct cluster *cluster, const char *sql, const char *want)
{
	PGconn *connection = NULL;
	struct problem problem = {0};

	assert_int_equal(db_admin_connect(cluster->conninfo, &connection, &problem), 0);
	PGresult *result = PQexec(connection, sql);
	assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
	assert_string_equal(PQgetvalue(result, 0, 0), want);
	PQclear(result);
	PQfinish(connection);
}

/* The real one stands first in each release: db_migrate_test_setup reads it. */
static char db_migrate_test_clear[8192];
#define CLEARING PART("clear.sql", db_migrate_test_clear)

static const struct embedded one[] = {
	CLEARING,
	PART("shape", "create table thing (id integer);"),
	PART("behaviour",
	     "create function word() returns text language sql as $$ select 'one' $$; create view things as select id from thing;"),
};
static const struct embedded two[] = {
	CLEARING,
	PART("shape", "create table thing (id bigint, name text);"),
	PART("behaviour",
	     "create function word() returns varchar language sql as $$ select 'two'::varchar $$; create view things as select name, id from thing;"),
	PART("0001_name.sql",
	     "alter table thing alter column id type bigint, add column name text; insert into thing values (1, 'kept');"),
};
static const struct embedded broken[] = {
	CLEARING,
	PART("shape", "create table thing (id bigint, name text, size integer);"),
	PART("behaviour", "select 1;"),
	PART("0001_name.sql",
	     "alter table thing alter column id type bigint, add column name text; insert into thing values (1, 'kept');"),
	PART("0002_size.sql", "alter table thing add column size integer; select 1/0;"),
};

static void a_change_runs_once_and_all_or_nothing(void **state)
{
	const struct cluster *cluster = *state;
	struct problem problem = {0};

	db_migrate_test_release(one, COUNT_OF(one));
	assert_int_equal(db_migrate_test_run(cluster, &problem), 0);
	db_migrate_test_release(two, COUNT_OF(two));
	assert_int_equal(db_migration_newest(), 1);
	assert_int_equal(db_migrate_test_run(cluster, &problem), 0);
	assert_int_equal(db_migrate_test_run(cluster, &problem), 0);
	db_migrate_test_answer(cluster, "select count(*) || string_agg(name, '') from haas.thing",
			       "1kept");
	db_migrate_test_answer(cluster, "select haas.word()", "two");

	db_migrate_test_release(broken, COUNT_OF(broken));
	assert_int_equal(db_migrate_test_run(cluster, &problem), E_CONFLICT);
	db_migrate_test_answer(
		cluster,
		"select count(*)::text from information_schema.columns where table_schema = 'haas' and table_name = 'thing'",
		"2");
	db_migrate_test_answer(cluster, "select max(number)::text from haas.schema_migration", "1");
	db_migrate_test_answer(cluster, "select haas.word()", "two");

	/* The program of the first release meets the database of the second. */
	db_migrate_test_release(one, COUNT_OF(one));
	assert_int_equal(db_migrate_test_run(cluster, &problem), E_CONFLICT);
	assert_non_null(strstr(problem.message, "newer"));
}

static void a_new_database_needs_no_change(void **state)
{
	const struct cluster *cluster = *state;
	struct db_migration_state *states = NULL;
	struct problem problem = {0};
	size_t count = 0;
	size_t pending = 9;

	assert_int_equal(
		shell("psql -qX '%s' -c 'drop schema haas cascade' 2>/dev/null", cluster->conninfo),
		0);
	db_migrate_test_release(two, COUNT_OF(two));
	assert_int_equal(db_migrate_test_run(cluster, &problem), 0);
	db_migrate_test_answer(cluster, "select count(*)::text from haas.thing", "0");
	assert_int_equal(
		db_migration_states(cluster->conninfo, &states, &count, &pending, &problem), 0);
	assert_int_equal(count, 3);
	assert_int_equal(pending, 0);
	assert_int_equal(states[2].number, 1);
	free(states);
}

static void an_edited_change_is_refused(void **state)
{
	const struct cluster *cluster = *state;
	struct embedded edited[COUNT_OF(two)];
	struct problem problem = {0};

	memcpy(edited, two, sizeof(two));
	edited[3] = (struct embedded)PART("0001_name.sql",
					  "alter table thing add column name varchar;");
	db_migrate_test_release(edited, COUNT_OF(edited));
	assert_int_equal(db_migrate_test_run(cluster, &problem), E_CONFLICT);
	assert_non_null(strstr(problem.message, "0001_name.sql was edited"));
}

static void tables_without_a_change_are_refused(void **state)
{
	const struct cluster *cluster = *state;
	struct embedded edited[COUNT_OF(two)];
	struct problem problem = {0};

	memcpy(edited, two, sizeof(two));
	edited[1] = (struct embedded)PART("shape", "create table thing (id smallint, name text);");
	db_migrate_test_release(edited, COUNT_OF(edited));
	assert_int_equal(db_migrate_test_run(cluster, &problem), E_CONFLICT);
	assert_non_null(strstr(problem.message, "not those of this program"));
}

static int db_migrate_test_setup(void **state)
{
	static struct cluster cluster;

	scratch_make(cluster.folder, "migrate");
	assert_true(text_format(cluster.conninfo, sizeof(cluster.conninfo),
				"host=%s dbname=haas user=haas", cluster.folder));
	assert_int_equal(shell("chmod 755 %s && %s/support/pg start %s --bare >/dev/null 2>&1",
			       cluster.folder, TEST_SOURCE_DIR, cluster.folder),
			 0);
	FILE *file = fopen(TEST_SOURCE_DIR "/../db/clear.sql", "r");
	assert_non_null(file);
	size_t size = fread(db_migrate_test_clear, 1, sizeof(db_migrate_test_clear) - 1, file);
	assert_in_range(size, 1, sizeof(db_migrate_test_clear) - 2);
	(void)fclose(file);
	*state = &cluster;
	return 0;
}

static int db_migrate_test_teardown(void **state)
{
	const struct cluster *cluster = *state;

	assert_int_equal(shell("%s/support/pg stop %s", TEST_SOURCE_DIR, cluster->folder), 0);
	scratch_remove(cluster->folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_runs_once_and_all_or_nothing),
		cmocka_unit_test(a_new_database_needs_no_change),
		cmocka_unit_test(an_edited_change_is_refused),
		cmocka_unit_test(tables_without_a_change_are_refused),
	};

	return cmocka_run_group_tests(tests, db_migrate_test_setup, db_migrate_test_teardown);
}
