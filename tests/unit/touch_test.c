// links: bampi_control
/* Somebody saw what a step waits for, wrote it down and touched the deployment, in the very moment
 * in which bampid claimed or saved it: it is in the facts, or the deployment is due again at once.
 * Else it would wait for its next poll. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/db.h"

#include "bampi/control/deploy/deploy_store.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define CLAIM_MS 60000
#define LIMIT_MS 60000

/* As observation.c has it, in one transaction. */
#define SEEN                                                                                           \
	"begin; insert into boot_observation (node_id, kind, at) select id, 'agent', now() from node;" \
	" select deployment_touch(array(select id from deployment)); commit"

static struct stage {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	struct loop *loop;
	struct db *db; /* bampid's */
	PGconn *other, *holder;
	bool connected, answered;
	struct claimed work; /* id 0 = nothing was claimed */
} stage;

/* --- the others --- */

static void run(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	PQclear(result);
}

static bool holds(const char *condition)
{
	PGresult *result = PQexec(stage.other, condition);
	bool yes = PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "t") == 0;

	assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
	PQclear(result);
	return yes;
}

static PGconn *connect_as_owner(void)
{
	PGconn *connection = PQconnectdb(stage.conninfo);

	assert_int_equal(PQstatus(connection), CONNECTION_OK);
	run(connection, "set search_path = haas");
	run(connection, "set haas.scope = 'operator'");
	return connection;
}

static void turn_until(const bool *what, const char *condition)
{
	int64_t until_ms = clock_monotonic_ms() + LIMIT_MS;

	while (what ? !*what : !holds(condition)) {
		assert_true(clock_monotonic_ms() < until_ms);
		loop_run_once(stage.loop);
		usleep(1000);
	}
}

/* --- bampid --- */

static void on_state(void *context, bool connected)
{
	(void)context;
	stage.connected = connected;
}

static void on_rows(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)context;
	if (rc)
		fail_msg("%s: %s", problem->message, problem->detail);
	assert_int_equal(PQntuples(result), 1);
	assert_int_equal(claimed_read(result, 0, 80, &stage.work), 0);
}

static void on_next(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)context;
	(void)result;
	(void)problem;
	assert_int_equal(rc, 0);
	stage.answered = true;
}

static void on_saved(void *context, int rc, const bool saved[], const struct problem *problem)
{
	(void)context;
	if (rc)
		fail_msg("%s: %s", problem->message, problem->detail);
	assert_true(saved[0]);
	stage.answered = true;
}

static void claim(void)
{
	const struct claim_options options = {.owner = "t", .claim_ms = CLAIM_MS};

	stage.answered = false;
	assert_int_equal(deploy_store_claim(stage.db, &options, on_rows, on_next, NULL), 0);
}

/* A step that waits for a minute. */
static void save(void)
{
	static struct advance advance;
	const struct save_options options = {.owner = "t", .claim_ms = CLAIM_MS};
	const struct save_row row = {.claimed = &stage.work, .advance = &advance};

	advance = (struct advance){.state = DEPLOYMENT_WAITING,
				   .step = "agent",
				   .step_started_ms = stage.work.now_ms,
				   .due_ms = stage.work.now_ms + 60000};
	advance.outcome.event = NODE_EVENT_SCRUBBED; /* refused, but the node is locked for it */
	stage.answered = false;
	assert_int_equal(deploy_store_save(stage.db, &options, &row, 1, on_saved, NULL), 0);
}

/* --- the stage --- */

static int set_up(void **state)
{
	FILE *out;
	char command[512];
	char *user;
	char conninfo[300];
	const struct db_options options = {.conninfo = conninfo,
					   .application = "bampid",
					   .on_state = on_state,
					   .setup = db_plan_anew};

	(void)state;
	scratch_make(stage.folder, "touch");
	assert_true(text_format(command, sizeof(command), "%s/support/pg start %s/pg",
				TEST_SOURCE_DIR, stage.folder));
	assert_int_equal(chmod(stage.folder, 0755), 0);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(stage.conninfo, sizeof(stage.conninfo), out));
	stage.conninfo[strcspn(stage.conninfo, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	stage.other = connect_as_owner();
	stage.holder = connect_as_owner();
	run(stage.other,
	    "insert into node (name, state) values ('n', 'free');"
	    " insert into nic (mac, node_id, name, boot) select '52:54:00:00:00:01', id, 'eth0', true from node;"
	    " insert into bmc (node_id, driver, address) select id, 'ipmi', '10.0.0.1' from node;"
	    /* Whoever reads deployments as bampid can be made to wait, with its snapshot taken. */
	    " create function test_gate() returns boolean volatile language plpgsql as"
	    " $$ begin perform pg_advisory_xact_lock_shared(1); return true; end $$;"
	    " create policy test_gate on deployment as restrictive for select to bampid using (haas.test_gate());"
	    " grant execute on function test_gate() to bampid");
	user = strstr(stage.conninfo, "user=");
	assert_non_null(user);
	assert_true(text_format(conninfo, sizeof(conninfo), "%.*suser=bampid",
				(int)(user - stage.conninfo), stage.conninfo));
	assert_int_equal(loop_new(&stage.loop), 0);
	assert_int_equal(db_new(stage.loop, &options, &stage.db), 0);
	turn_until(&stage.connected, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	PQfinish(stage.other);
	PQfinish(stage.holder);
	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, stage.folder);
	scratch_remove(stage.folder);
	/* Last: after a failed case there may be answers to come, which fail here too. */
	db_free(stage.db);
	loop_free(stage.loop);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	run(stage.other,
	    "delete from boot_observation; delete from deployment; update node set state = 'free';"
	    " select from deployment_create('inspect', array['n'], null, null, '{}', 't')");
	stage.work = (struct claimed){0};
	return 0;
}

static int end(void **state)
{
	(void)state;
	claimed_done(&stage.work);
	return 0;
}

#define DUE "select due_at <= clock_timestamp() from deployment"

/* --- cases --- */

static void untouched_waits(void **state)
{
	(void)state;
	claim();
	turn_until(&stage.answered, NULL);
	save();
	turn_until(&stage.answered, NULL);
	assert_false(holds(DUE));
}

static void touched_between_claim_and_save(void **state)
{
	(void)state;
	claim();
	turn_until(&stage.answered, NULL);
	run(stage.other, SEEN);
	save();
	turn_until(&stage.answered, NULL);
	assert_true(holds(DUE));
}

static void touched_while_it_is_claimed(void **state)
{
	(void)state;
	run(stage.holder, "select pg_advisory_lock(1)");
	claim();
	turn_until(
		NULL,
		"select exists (select from pg_locks where locktype = 'advisory' and not granted)");
	run(stage.other, SEEN);
	run(stage.holder, "select pg_advisory_unlock(1)");
	turn_until(&stage.answered, NULL);
	save();
	turn_until(&stage.answered, NULL);
	assert_true(stage.work.facts.seen[SEEN_AGENT].at_ms > 0 || holds(DUE));
}

static void touched_while_it_is_saved(void **state)
{
	(void)state;
	claim();
	turn_until(&stage.answered, NULL);
	run(stage.holder, "begin; select from node for no key update");
	save();
	turn_until(NULL, "select exists (select from pg_stat_activity where usename = 'bampid' and "
			 "wait_event_type = 'Lock')");
	run(stage.other, SEEN);
	run(stage.holder, "commit");
	turn_until(&stage.answered, NULL);
	assert_true(holds(DUE));
}

/* It holds no lock while it is told the facts, however long it takes to listen. */
static void touched_while_bampid_stands_still(void **state)
{
	(void)state;
	run(stage.other,
	    "update deployment set params = jsonb_build_object('user_data', repeat('x', 3000000))");
	claim();
	turn_until(NULL, "select exists (select from pg_stat_activity where usename = 'bampid' and "
			 "wait_event = 'ClientWrite')");
	run(stage.other, "set lock_timeout = '5s'");
	run(stage.other, SEEN);
	turn_until(&stage.answered, NULL);
	save();
	turn_until(&stage.answered, NULL);
	assert_true(holds(DUE));
}

static void on_extended(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	int *lost = context;

	(void)problem;
	assert_int_equal(rc, 0);
	*lost = 0;
	for (int row = 0; row < PQntuples(result); row++)
		*lost += !db_bool(result, row, 2); /* held */
	stage.answered = true;
}

/* How many of the claims of one generation `owner` is told to have lost. */
static int extend(const char *owner, int64_t generation)
{
	const struct claim_key key = {stage.work.facts.deployment.id, generation};
	const struct extend_options options = {
		.owner = owner, .claim_ms = CLAIM_MS, .keys = &key, .count = 1};
	int lost = -1;

	stage.answered = false;
	assert_int_equal(deploy_store_extend(stage.db, &options, on_extended, &lost), 0);
	turn_until(&stage.answered, NULL);
	return lost;
}

/* A BMC job is kept by generation, and a claim makes a new one before its facts are read: what is
 * asked in between must not end the job. */
static void extended_between_claim_and_facts(void **state)
{
	int64_t generation;

	(void)state;
	claim();
	turn_until(&stage.answered, NULL);
	generation = stage.work.facts.deployment.generation;
	assert_int_equal(extend("t", generation), 0);
	assert_int_equal(extend("t", generation - 1), 0);
	assert_int_equal(extend("somebody", generation), 1);
	run(stage.other, "select deployment_request(id, 'cancel', 't') from deployment");
	assert_int_equal(extend("t", generation), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(untouched_waits, begin, end),
		cmocka_unit_test_setup_teardown(touched_between_claim_and_save, begin, end),
		cmocka_unit_test_setup_teardown(touched_while_it_is_claimed, begin, end),
		cmocka_unit_test_setup_teardown(touched_while_it_is_saved, begin, end),
		cmocka_unit_test_setup_teardown(touched_while_bampid_stands_still, begin, end),
		cmocka_unit_test_setup_teardown(extended_between_claim_and_facts, begin, end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
