// links: common_db
/* A primary and its synchronous standby, for real: what was acknowledged is there after the primary's
 * power cut. And the lead: one works, the others stand by, and one that was paused writes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/db.h"
#include "common/db/db_target.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define WAIT_MS 60000

/* One program with a connection. */
struct actor {
	struct loop *loop;
	struct db *db;
	bool connected;
	bool barred; /* from the lead */
	unsigned answers, states;
	int rc;
	char text[256];
};

struct stage {
	char folder[SCRATCH_SIZE];
	char conninfo[256]; /* of all hosts */
	int64_t end_ms;     /* all conditions have come until then */
	struct actor actors[3];
};

static void on_state(void *context, bool connected)
{
	struct actor *actor = context;

	actor->connected = connected;
	actor->states++;
}

static bool may_lead(void *context)
{
	const struct actor *actor = context;

	return !actor->barred;
}

static void on_result(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct actor *actor = context;

	(void)problem;
	actor->rc = rc;
	actor->answers++;
	if (result && PQntuples(result) > 0)
		(void)text_copy(actor->text, sizeof(actor->text), db_text(result, 0, 0, ""));
}

static void turn(struct stage *stage)
{
	assert_true(clock_monotonic_ms() < stage->end_ms);
	for (size_t i = 0; i < COUNT_OF(stage->actors); i++)
		if (stage->actors[i].loop)
			loop_run_once(stage->actors[i].loop);
	usleep(500);
}

static int ask(struct stage *stage, struct actor *actor, const char *name, const char *sql)
{
	const struct db_query query = {name, sql, 0, NULL};
	unsigned before = actor->answers;

	assert_int_equal(db_submit(actor->db, &query, NULL, on_result, actor), 0);
	while (actor->answers == before)
		turn(stage);
	return actor->rc;
}

static void wait_connected(struct stage *stage, const struct actor *actor)
{
	while (!actor->connected)
		turn(stage);
}

static void actor_start(struct stage *stage, size_t which, const char *instance, const char *lead)
{
	struct actor *actor = &stage->actors[which];
	const struct db_options options = {.conninfo = stage->conninfo,
					   .application = "db_failover_test",
					   .instance = instance,
					   .lead = lead,
					   .may_lead = may_lead,
					   .on_state = on_state,
					   .context = actor};

	*actor = (struct actor){0};
	assert_int_equal(loop_new(&actor->loop), 0);
	assert_int_equal(db_new(actor->loop, &options, &actor->db), 0);
}

static void actor_end(struct actor *actor)
{
	db_free(actor->db);
	loop_free(actor->loop);
	*actor = (struct actor){0};
}

/* A statement as the administrator, of the primary `host`. */
static char *admin(const struct stage *stage, const char *host, const char *sql, char ret[256])
{
	char conninfo[256];
	PGconn *connection;
	PGresult *result;

	(void)text_format(conninfo, sizeof(conninfo), "host=%s/%s dbname=haas user=haas",
			  stage->folder, host);
	connection = PQconnectdb(conninfo);
	result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(connection));
	(void)text_copy(ret, 256, PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	PQfinish(connection);
	return ret;
}

static int stage_begin(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->end_ms = clock_monotonic_ms() + 2 * WAIT_MS;
	scratch_make(stage->folder, "failover");
	assert_int_equal(chmod(stage->folder, 0755), 0);
	assert_int_equal(
		shell("%s/support/pg start %s/a >/dev/null", TEST_SOURCE_DIR, stage->folder), 0);
	(void)text_format(stage->conninfo, sizeof(stage->conninfo),
			  "host=%s/a,%s/b dbname=haas user=haas", stage->folder, stage->folder);
	*state = stage;
	return 0;
}

static int stage_end(void **state)
{
	struct stage *stage = *state;

	(void)shell("%s/support/pg stop %s/a; %s/support/pg stop %s/b", TEST_SOURCE_DIR,
		    stage->folder, TEST_SOURCE_DIR, stage->folder);
	scratch_remove(stage->folder);
	free(stage);
	return 0;
}

static const char *target_value(const struct db_target *target, const char *key)
{
	const char *found = NULL;

	for (size_t i = 0; target->keys[i]; i++)
		if (strcmp(target->keys[i], key) == 0)
			found = target->values[i];
	return found;
}

static void test_target(void **state)
{
	static const struct {
		const char *conninfo;
		unsigned hosts, first;
		const char *host, *port, *attributes;
	} rows[] = {
		/* clang-format off */
		{"host=a dbname=x", 1, 0, "a", NULL, "read-write"},
		{"host=a,b,c", 3, 0, "a,b,c", NULL, "read-write"},
		{"host=a,b,c port=1,2,3", 3, 1, "b,c,a", "2,3,1", "read-write"},
		{"host=a,b,c port=5", 3, 2, "c,a,b", "5", "read-write"},
		{"host=a,b,c", 3, 7, "b,c,a", NULL, "read-write"},
		{"postgresql://u@a:1,b:2/x?target_session_attrs=any", 2, 1, "b,a", "2,1", "any"},
		{"dbname=x", 1, 0, NULL, NULL, "read-write"},
		/* clang-format on */
	};
	struct db_target target;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(db_target_hosts(rows[i].conninfo), rows[i].hosts);
		assert_int_equal(db_target_init(rows[i].conninfo, "me", rows[i].first, &target), 0);
		for (size_t j = 0; j < 3; j++) {
			const char *key =
				(const char *const[]){"host", "port", "target_session_attrs"}[j];
			const char *wanted = (const char *const[]){rows[i].host, rows[i].port,
								   rows[i].attributes}[j];
			const char *found = target_value(&target, key);

			if (wanted)
				assert_string_equal(found, wanted);
			else
				assert_null(found);
		}
		assert_string_equal(target_value(&target, "sslmode"), "verify-full");
		assert_string_equal(target_value(&target, "application_name"), "me");
		db_target_done(&target);
	}
	assert_int_equal(db_target_hosts("host='"), 0);
	assert_int_equal(db_target_init("host='", "me", 0, &target), E_MALFORMED);
	/* A person may ask a standby, when it is named alone. */
	assert_int_equal(db_target_init("host=a", NULL, 0, &target), 0);
	assert_null(target_value(&target, "target_session_attrs"));
	db_target_done(&target);
}

/* One leads, one stands by. The leader is silent: its session is ended before the other works. */
static void test_lead(void **state)
{
	struct stage *stage = *state;
	struct actor *one = &stage->actors[0];
	struct actor *two = &stage->actors[1];
	struct actor *late = &stage->actors[2];
	char text[256];

	actor_start(stage, 0, "ctl-a", "bampid");
	wait_connected(stage, one);
	actor_start(stage, 1, "ctl-b", "bampid");
	while (two->states == 0)
		turn(stage);
	assert_false(two->connected);
	assert_true(db_stands_by(two->db));
	assert_string_equal(db_away(two->db)->detail, "it works at ctl-a");
	assert_int_equal(ask(stage, two, "refused", "select 1"), E_UNAVAILABLE);
	assert_int_equal(ask(stage, one, "taken", "select 1"), 0);
	/* The leader is paused: its loop does not turn. Its beat is old, as after ten seconds. */
	(void)admin(stage, "a", "update haas.daemon_lead set seen_at = now() - interval '1 minute'",
		    text);
	late->loop = one->loop;
	one->loop = NULL;
	wait_connected(stage, two);
	assert_string_equal(
		admin(stage, "a", "select instance || ' ' || epoch from haas.daemon_lead", text),
		"ctl-b 2");
	/* It wakes up and writes: its session is over. Then it stands by. */
	one->loop = late->loop;
	late->loop = NULL;
	assert_int_equal(
		ask(stage, one, "stale",
		    "insert into haas.event (actor, kind, subject_kind, subject, message) values "
		    "('old', 'old.leader', 'node', 'n1', 'I lead')"),
		E_UNAVAILABLE);
	while (!db_stands_by(one->db))
		turn(stage);
	assert_string_equal(admin(stage, "a",
				  "select count(*) from haas.event where kind = 'old.leader'",
				  text),
			    "0");
	/* A third with the name of the one that leads is no reason to end it. */
	actor_start(stage, 2, "ctl-b", "bampid");
	while (late->states == 0)
		turn(stage);
	assert_false(late->connected);
	assert_int_equal(ask(stage, two, "still", "select 1"), 0);
	/* After a restart it has its own lead back at once, though it was heard a moment ago. */
	actor_end(two);
	actor_end(one);
	wait_connected(stage, late);
	actor_end(late);
}

/* As of one whose datagrams come to another machine. */
static void test_lead_barred(void **state)
{
	struct stage *stage = *state;
	struct actor *one = &stage->actors[0];

	actor_start(stage, 0, "ctl-a", "portal-outward");
	one->barred = true;
	while (one->states == 0)
		turn(stage);
	assert_false(one->connected);
	assert_string_equal(db_away(one->db)->detail, "nobody has taken the lead yet");
	one->barred = false;
	wait_connected(stage, one);
	/* It ends: whatever it knows is of the time when it could. */
	one->barred = true;
	loop_run(one->loop);
	actor_end(one);
}

/* A transaction beside the leader's connection is refused to others, and holds a new leader up. */
static void test_lead_hold(void **state)
{
	struct stage *stage = *state;
	struct actor *one = &stage->actors[0];
	struct actor *two = &stage->actors[1];
	char sql[256];
	char text[256];

	actor_start(stage, 0, "ctl-a", "peregrined");
	wait_connected(stage, one);
	(void)text_format(sql, sizeof(sql), "select haas.lead_hold('peregrined', '%s')",
			  db_life(one->db));
	assert_int_equal(ask(stage, one, "hold", sql), 0);
	assert_int_equal(ask(stage, one, "no_hold", "select haas.lead_hold('peregrined', 'x')"),
			 E_STALE);
	/* Its row is another's: the next beat is refused, and it gives its connection up. */
	(void)admin(
		stage, "a",
		"update haas.daemon_lead set instance = 'ctl-c', life = 'c' where name = 'peregrined'",
		text);
	while (one->connected)
		turn(stage);
	assert_int_equal(ask(stage, one, "gone", "select 1"), E_UNAVAILABLE);
	actor_start(stage, 1, "ctl-b", "peregrined");
	while (two->states == 0)
		turn(stage);
	assert_string_equal(db_away(two->db)->detail, "it works at ctl-c");
	actor_end(two);
	actor_end(one);
}

/* What was acknowledged is there after kill -9 of the primary; who led leads again. */
static void test_failover(void **state)
{
	struct stage *stage = *state;
	struct actor *one = &stage->actors[0];
	struct actor *two = &stage->actors[1];
	unsigned acknowledged = 0;
	char text[256];
	int64_t began_ms;

	assert_int_equal(shell("%s/support/pg standby %s/b %s/a >/dev/null", TEST_SOURCE_DIR,
			       stage->folder, stage->folder),
			 0);
	actor_start(stage, 0, "ctl-a", "peregrine-flowd");
	actor_start(stage, 1, "ctl-b", NULL);
	wait_connected(stage, one);
	wait_connected(stage, two);
	assert_int_equal(ask(stage, one, "make", "create table public.kept (n serial)"), 0);
	for (unsigned i = 0; i < 50; i++)
		acknowledged +=
			ask(stage, one, "add", "insert into public.kept default values") == 0;
	assert_int_equal(acknowledged, 50);
	began_ms = clock_monotonic_ms();
	assert_int_equal(shell("%s/support/pg kill %s/a && %s/support/pg promote %s/b",
			       TEST_SOURCE_DIR, stage->folder, TEST_SOURCE_DIR, stage->folder),
			 0);
	one->connected = two->connected = false;
	wait_connected(stage, one);
	wait_connected(stage, two);
	print_message("both are back %lld ms after the power cut\n",
		      (long long)(clock_monotonic_ms() - began_ms));
	assert_true(clock_monotonic_ms() - began_ms < 20000);
	assert_int_equal(ask(stage, two, "count", "select count(*) from public.kept"), 0);
	assert_string_equal(two->text, "50");
	assert_string_equal(
		admin(stage, "b",
		      "select instance from haas.daemon_lead where name = 'peregrine-flowd'", text),
		"ctl-a");
	/* The old primary comes back and takes itself for the primary: it commits nothing, and a
	 * connection that comes to it first goes on to the other. */
	assert_int_equal(
		shell("%s/support/pg start %s/a >/dev/null", TEST_SOURCE_DIR, stage->folder), 0);
	actor_end(two);
	actor_start(stage, 1, "ctl-b", NULL);
	wait_connected(stage, two);
	assert_int_equal(
		ask(stage, two, "where", "select current_setting('unix_socket_directories')"), 0);
	assert_string_equal(two->text + strlen(stage->folder), "/b");
	assert_true(two->states >= 2);
	assert_non_null(strstr(db_away(two->db)->detail, "no synchronous standby is connected"));
	actor_end(two);
	actor_end(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),      cmocka_unit_test(test_lead),
		cmocka_unit_test(test_lead_barred), cmocka_unit_test(test_lead_hold),
		cmocka_unit_test(test_failover),
	};

	return cmocka_run_group_tests(tests, stage_begin, stage_end);
}
