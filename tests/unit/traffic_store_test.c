// links: peregrine_flowd
/* Buckets into PostgreSQL: as they are, again, and without the pairs that they lost while they
 * waited. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/error.h"

#include "peregrine/flowd/traffic_store.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define SHARE "60\t%s\t1\t%s\tout\t\\N\t\\N\t7\tuntagged\t\t\t1000\t10\t1\t1\t30\tf\n"

static struct stage {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	struct traffic_sink sink;
} stage;

static int open_stage(void **state)
{
	static char conninfo[256];
	char command[256];
	char *user;
	FILE *out;

	(void)state;
	scratch_make(stage.folder, "store");
	assert_true(text_format(command, sizeof(command), "%s/support/pg start %s/pg",
				TEST_SOURCE_DIR, stage.folder));
	assert_int_equal(chmod(stage.folder, 0755), 0);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(stage.conninfo, sizeof(stage.conninfo), out));
	stage.conninfo[strcspn(stage.conninfo, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	user = strstr(stage.conninfo, "user=");
	assert_non_null(user);
	assert_true(text_format(conninfo, sizeof(conninfo), "%.*suser=peregrine_flowd",
				(int)(user - stage.conninfo), stage.conninfo));
	assert_int_equal(traffic_store_new(&(struct traffic_store_options){.conninfo = conninfo,
									   .name = "story"},
					   &stage.sink),
			 0);
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage.sink.free(stage.sink.context);
	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, stage.folder);
	scratch_remove(stage.folder);
	return 0;
}

/* One share of 1,000 bytes at `port`, of which nothing else has more than 30. */
static int write_share(const char *port, uint64_t number, int64_t at_s, bool cut)
{
	struct traffic_batch batch;
	struct problem problem = {0};
	int rc;

	traffic_batch_begin(&batch, STEP_MINUTE, at_s, at_s, at_s + 60);
	batch.number = number;
	batch.cut = cut;
	text_addf(&batch.tables[TABLE_SHARE], SHARE, batch.at_text, port);
	rc = stage.sink.write(stage.sink.context, &batch, &problem);
	traffic_batch_done(&batch);
	return rc;
}

static int64_t number_of(const char *sql)
{
	PGconn *connection = PQconnectdb(stage.conninfo);
	PGresult *result = PQexec(connection, sql);
	int64_t number;

	assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
	number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	PQfinish(connection);
	return number;
}

/* Bounds of pairs are by the floor: without pairs each may have had all of it. */
static void what_lost_its_pairs_says_so(void **state)
{
	int64_t at_s = time(NULL) / 60 * 60;

	(void)state;
	assert_int_equal(write_share("whole", 1, at_s - 120, false), 0);
	assert_int_equal(write_share("cut", 2, at_s - 60, true), 0);
	assert_int_equal(number_of("select floor from haas.traffic_share where port = 'whole'"),
			 30);
	assert_int_equal(number_of("select floor from haas.traffic_share where port = 'cut'"),
			 1000);
	/* The commit was not heard of: it is there, once. */
	assert_int_equal(write_share("cut", 2, at_s - 60, true), E_CONFLICT);
	assert_int_equal(number_of("select count(*) from haas.traffic_share"), 2);
}

/* The connection that was kept since the last batch is gone, and nobody said so. */
static void a_restart_between_two_batches_costs_none(void **state)
{
	int64_t at_s = time(NULL) / 60 * 60;

	(void)state;
	assert_int_equal(write_share("before", 3, at_s - 120, false), 0);
	assert_int_equal(shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, stage.folder), 0);
	assert_int_equal(write_share("away", 4, at_s - 60, false), E_UNAVAILABLE);
	assert_int_equal(
		shell("%s/support/pg start %s/pg >/dev/null", TEST_SOURCE_DIR, stage.folder), 0);
	assert_int_equal(write_share("back", 5, at_s - 60, false), 0);
	assert_int_equal(shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, stage.folder), 0);
	assert_int_equal(
		shell("%s/support/pg start %s/pg >/dev/null", TEST_SOURCE_DIR, stage.folder), 0);
	assert_int_equal(write_share("again", 6, at_s - 60, false), 0);
	assert_int_equal(number_of("select count(*) from haas.traffic_share where port in "
				   "('before', 'away', 'back', 'again')"),
			 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lost_its_pairs_says_so),
		cmocka_unit_test(a_restart_between_two_batches_costs_none),
	};

	return cmocka_run_group_tests(tests, open_stage, close_stage);
}
