// links: common_db
/* Against a scratch PostgreSQL of its own: pipeline, transactions, failures, notifications,
 * restart. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/array.h"
#include "common/db/db.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define WAIT_MS 60000

struct seen {
	unsigned calls, states, notifies;
	bool connected;
	bool inside; /* a submit is on the stack: callbacks are forbidden */
	int rc;
	int rcs[8];
	char text[256];
	char channel[64];
	struct problem problem;
};

struct fixture {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	struct loop *loop;
	struct db *db;
	struct seen seen;
};

static void on_state(void *context, bool connected)
{
	struct fixture *f = context;

	f->seen.states++;
	f->seen.connected = connected;
}

static void on_notify(void *context, const char *channel)
{
	struct fixture *f = context;

	f->seen.notifies++;
	(void)text_copy(f->seen.channel, sizeof(f->seen.channel), channel);
}

static void on_result(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct fixture *f = context;

	assert_false(f->seen.inside);
	assert_true((rc == 0) == (result != NULL));
	assert_true((rc == 0) == (problem == NULL));
	if (f->seen.calls < COUNT_OF(f->seen.rcs))
		f->seen.rcs[f->seen.calls] = rc;
	f->seen.calls++;
	f->seen.rc = rc;
	if (problem)
		f->seen.problem = *problem;
	if (result && PQntuples(result) > 0)
		(void)text_copy(f->seen.text, sizeof(f->seen.text),
				db_text(result, 0, 0, "(null)"));
}

static void wait_until(struct fixture *f, const unsigned *counter, unsigned value)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (*counter < value && clock_monotonic_ms() < deadline) {
		loop_run_once(f->loop);
		usleep(500);
	}
	assert_true(*counter >= value);
}

static void wait_connected(struct fixture *f, bool connected)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (f->seen.connected != connected && clock_monotonic_ms() < deadline) {
		loop_run_once(f->loop);
		usleep(500);
	}
	assert_int_equal(f->seen.connected, connected);
}

static int submit(struct fixture *f, const struct db_query *query, const char *const params[])
{
	int rc;

	f->seen.inside = true;
	rc = db_submit(f->db, query, params, on_result, f);
	f->seen.inside = false;
	return rc;
}

/* One statement, waited for. */
static int ask(struct fixture *f, const struct db_query *query, const char *const params[])
{
	unsigned before = f->seen.calls;

	assert_int_equal(submit(f, query, params), 0);
	wait_until(f, &f->seen.calls, before + 1);
	return f->seen.rc;
}

static int start_cluster(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	FILE *out;
	char command[512];

	assert_non_null(f);
	scratch_make(f->folder, "db");
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg --bare",
			  TEST_SOURCE_DIR, f->folder);
	assert_int_equal(chmod(f->folder, 0755), 0);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(f->conninfo, sizeof(f->conninfo), out));
	f->conninfo[strcspn(f->conninfo, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	*state = f;
	return 0;
}

static int stop_cluster(void **state)
{
	struct fixture *f = *state;

	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, f->folder);
	scratch_remove(f->folder);
	free(f);
	return 0;
}

static int restart_cluster(const struct fixture *f)
{
	return shell(
		"cd %s && $( [ $(id -u) != 0 ] || echo setpriv --reuid=postgres --regid=postgres --clear-groups) "
		"$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/pg_ctl -D %s/pg/data -m immediate -w -l %s/pg/postgres.log restart >/dev/null",
		f->folder, f->folder, f->folder);
}

static int connect_db(void **state)
{
	static const char *const channels[] = {"node", "odd \"name", NULL};
	struct fixture *f = *state;
	const struct db_options options = {.conninfo = f->conninfo,
					   .application = "db_test",
					   .on_state = on_state,
					   .on_notify = on_notify,
					   .channels = channels,
					   .context = f};

	f->seen = (struct seen){0};
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(db_new(f->loop, &options, &f->db), 0);
	assert_false(db_connected(f->db));
	wait_connected(f, true);
	assert_int_equal(f->seen.states, 1);
	return 0;
}

static int close_db(void **state)
{
	struct fixture *f = *state;

	db_free(f->db);
	loop_free(f->loop);
	f->db = NULL;
	return 0;
}

static void test_parameters(void **state)
{
	static const struct db_query echo = {"echo", "select $1::text || coalesce($2, '-')", 2,
					     NULL};
	static const struct db_query name = {"name", "select current_setting('application_name')",
					     0, NULL};
	struct fixture *f = *state;
	const char *const params[] = {"a'b", NULL};

	assert_int_equal(ask(f, &echo, params), 0);
	assert_string_equal(f->seen.text, "a'b-");
	assert_int_equal(ask(f, &name, NULL), 0);
	assert_string_equal(f->seen.text, "db_test");
	assert_int_equal(db_in_flight(f->db), 0);
}

/* The answer must have the columns that the program was built for, by name and in order. */
static void test_columns(void **state)
{
	static const char *const names[] = {"a", "b", NULL};
	static const struct db_query equal = {"equal", "select 1 as a, 2 as b", 0, names};
	static const struct db_query turned = {"turned", "select 1 as b, 2 as a", 0, names};
	static const struct db_query fewer = {"fewer", "select 1 as a", 0, names};
	static const struct db_query more = {"more", "select 1 as a, 2 as b, 3 as c", 0, names};
	static const struct db_query *const wrong[] = {&turned, &fewer, &more};
	struct fixture *f = *state;

	assert_int_equal(ask(f, &equal, NULL), 0);
	assert_int_equal(ask(f, &equal, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_int_equal(ask(f, wrong[i], NULL), -EINVAL);
	assert_int_equal(ask(f, &equal, NULL), 0);
}

static void test_array(void **state)
{
	static const struct db_query join = {
		"join",
		"select string_agg(coalesce(x, 'NULL'), '|' order by n) from "
		"unnest($1::text[]) with ordinality u(x, n)",
		1, NULL};
	struct fixture *f = *state;
	struct text text = {0};
	const char *param;

	array_begin(&text);
	array_add(&text, "a,b");
	array_add(&text, "q\"u\\o{t}e");
	array_add(&text, NULL);
	array_add(&text, "NULL");
	array_add(&text, "");
	array_add_int(&text, -3);
	array_end(&text);
	param = text_get(&text);
	assert_int_equal(ask(f, &join, &param), 0);
	assert_string_equal(f->seen.text, "a,b|q\"u\\o{t}e|NULL|NULL||-3");
	text_done(&text);
}

static void test_codes(void **state)
{
	static const struct db_query raise = {"raise", "select pg_temp.raise($1)", 1, NULL};
	static const struct db_query make = {
		"make_raise",
		"create or replace function pg_temp.raise(c text) returns void language plpgsql as "
		"$$begin raise exception 'it happened' using errcode = c, detail = 'd', hint = 'h'; end$$",
		0, NULL};
	static const struct {
		const char *state;
		int rc;
	} rows[] = {{"HA404", E_NOT_FOUND}, {"HA403", E_DENIED},     {"HA409", E_CONFLICT},
		    {"HA412", E_STALE},     {"HA422", E_INVALID},    {"42501", E_DENIED},
		    {"23505", E_CONFLICT},  {"22P02", E_INVALID},    {"57014", E_TIMEOUT},
		    {"P0001", -EINVAL},     {"53100", E_UNAVAILABLE}};
	struct fixture *f = *state;
	char told[64];

	assert_int_equal(ask(f, &make, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(ask(f, &raise, &rows[i].state), rows[i].rc);
		/* Words of the schema stand alone; before PostgreSQL's own stands whose they are. */
		bool ours = strpbrk(rows[i].state, "HP") == rows[i].state;

		(void)text_format(told, sizeof(told), "%s%s%sit happened", ours ? "" : DB_STRANGE,
				  ours ? "" : rows[i].state, ours ? "" : " .: ");
		assert_string_equal(f->seen.problem.message, told);
		assert_string_equal(f->seen.problem.detail, ours ? "d" : "");
		assert_string_equal(f->seen.problem.hint, "h");
	}
}

static void test_transaction(void **state)
{
	static const struct db_query make = {
		"make_t", "create table if not exists t (n int primary key)", 0, NULL};
	static const struct db_query add = {"add_t", "insert into t values ($1::int)", 1, NULL};
	static const struct db_query add2 = {"add_t2", "insert into t values ($1::int + 10)", 1,
					     NULL};
	static const struct db_query count = {"count_t", "select count(*) from t", 0, NULL};
	struct fixture *f = *state;
	const char *const one = "1";
	struct db_call calls[] = {{&add, &one, on_result, f},
				  {&add, &one, on_result, f},
				  {&add2, &one, on_result, f}};

	assert_int_equal(ask(f, &make, NULL), 0);
	f->seen.calls = 0;
	assert_int_equal(db_submit_all(f->db, calls, 3), 0);
	assert_int_equal(db_in_flight(f->db), 3);
	wait_until(f, &f->seen.calls, 3);
	/* The guilty one says why, nobody is told 0 for what was rolled back. */
	assert_int_equal(f->seen.rcs[0], E_CONFLICT);
	assert_int_equal(f->seen.rcs[1], E_CONFLICT);
	assert_int_equal(f->seen.rcs[2], E_CONFLICT);
	assert_string_equal(f->seen.problem.message, "aborted");
	assert_int_equal(ask(f, &count, NULL), 0);
	assert_string_equal(f->seen.text, "0");
	/* add2 was prepared although its transaction failed before it. */
	assert_int_equal(ask(f, &add2, &one), 0);
	calls[1] = calls[2];
	calls[1].params = &(const char *const){"2"};
	assert_int_equal(db_submit_all(f->db, calls, 2), 0);
	f->seen.calls = 0;
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], 0);
	assert_int_equal(f->seen.rcs[1], 0);
}

/* Who is ended for the sake of another transaction is done again, unseen. The sequence counts, for
 * it does not go back. */
static void test_repeat(void **state)
{
	static const struct db_query make = {
		"make_meet",
		"create or replace function meet(n int, code text) returns bigint language plpgsql as "
		"$$begin if nextval('met') <= n then raise exception 'met' using errcode = code; end if; return currval('met'); end$$",
		0, NULL};
	static const struct db_query sequence = {"make_met",
						 "create temp sequence if not exists met", 0, NULL};
	static const struct db_query restart = {"restart_met", "select setval('met', 1, false)", 0,
						NULL};
	static const struct db_query echo = {"echo_met", "select $1 || coalesce($2, '-')", 2, NULL};
	static const struct db_query meet = {"meet", "select meet($1::int, $2)", 2, NULL};
	struct fixture *f = *state;
	const char *const twice[] = {"2", "40P01"};
	const char *const ever[] = {"99", "40001"};
	const char *const words[] = {"a", NULL};
	const struct db_call calls[] = {{&echo, words, on_result, f}, {&meet, twice, on_result, f}};
	const struct db_call lost[] = {{&echo, words, on_result, f}, {&meet, ever, on_result, f}};

	assert_int_equal(ask(f, &sequence, NULL), 0);
	assert_int_equal(ask(f, &make, NULL), 0);
	assert_int_equal(ask(f, &restart, NULL), 0);
	f->seen.calls = 0;
	assert_int_equal(db_submit_all(f->db, calls, 2), 0);
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], 0);
	assert_int_equal(f->seen.rcs[1], 0);
	assert_string_equal(f->seen.text, "3");
	/* What it met does not go away: five more times, then all of its calls hear of it. */
	assert_int_equal(ask(f, &restart, NULL), 0);
	f->seen.calls = 0;
	assert_int_equal(db_submit_all(f->db, lost, 2), 0);
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], E_UNAVAILABLE);
	assert_int_equal(f->seen.rcs[1], E_UNAVAILABLE);
	assert_string_equal(f->seen.problem.message, DB_STRANGE "40001 .: met");
	assert_non_null(strstr(f->seen.problem.hint, "repeat"));
	assert_int_equal(ask(f, &meet, (const char *const[]){"0", "40001"}), 0);
	assert_string_equal(f->seen.text, "7");
	/* Another reason is told at once. */
	assert_int_equal(ask(f, &meet, (const char *const[]){"99", "23505"}), E_CONFLICT);
	assert_int_equal(ask(f, &meet, (const char *const[]){"0", "40001"}), 0);
	assert_string_equal(f->seen.text, "9");
}

/* The program stops, or the connection is lost, while one waits for its turn. */
static void test_repeat_ends(void **state)
{
	static const struct db_query make = {
		"make_lose",
		"create or replace function lose() returns void language plpgsql as "
		"$$begin raise exception 'met' using errcode = '40P01'; end$$",
		0, NULL};
	static const struct db_query lose = {"lose", "select lose()", 0, NULL};
	static const struct db_query end = {"end", "select pg_terminate_backend(pg_backend_pid())",
					    0, NULL};
	struct fixture *f = *state;

	assert_int_equal(ask(f, &make, NULL), 0);
	f->seen.calls = 0;
	assert_int_equal(submit(f, &lose, NULL), 0);
	assert_int_equal(submit(f, &end, NULL), 0);
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], E_UNAVAILABLE);
	assert_int_equal(f->seen.rcs[1], E_UNAVAILABLE);
	wait_connected(f, true);
	assert_int_equal(submit(f, &lose, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		loop_run_once(f->loop);
		usleep(1000);
	}
	db_free(f->db);
	f->db = NULL;
	assert_int_equal(f->seen.calls, 3);
	assert_int_equal(f->seen.rc, E_UNAVAILABLE);
}

static void test_commit_failure(void **state)
{
	static const struct db_query parent = {
		"make_p", "create table if not exists p (n int primary key)", 0, NULL};
	static const struct db_query child = {"make_c",
					      "create table if not exists c (n int references p "
					      "deferrable initially deferred)",
					      0, NULL};
	static const struct db_query add = {"add_c", "insert into c values (7)", 0, NULL};
	struct fixture *f = *state;

	assert_int_equal(ask(f, &parent, NULL), 0);
	assert_int_equal(ask(f, &child, NULL), 0);
	/* The statement succeeds, the commit does not: 0 would be a lie. */
	assert_int_equal(ask(f, &add, NULL), E_CONFLICT);
	assert_non_null(strstr(f->seen.problem.message, "foreign key"));
	assert_int_equal(ask(f, &parent, NULL), 0);
}

/* Whatever the server's own setting is: that one is another source. */
static void test_no_jit(void **state)
{
	static const struct db_query source = {
		"jit_source",
		"select setting || ' by ' || source from pg_settings where name = 'jit'", 0, NULL};
	struct fixture *f = *state;

	assert_int_equal(ask(f, &source, NULL), 0);
	assert_string_equal(f->seen.text, "off by session");
}

static void test_prepare_again(void **state)
{
	static const struct db_query late = {"late", "select n from late", 0, NULL};
	static const struct db_query make = {"make_late", "create table late as select 5 as n", 0,
					     NULL};
	static const struct db_query alter = {"alter_late", "alter table late alter n type text", 0,
					      NULL};
	struct fixture *f = *state;

	/* Two are under way when the preparation fails; both learn the cause. */
	f->seen.calls = 0;
	assert_int_equal(submit(f, &late, NULL), 0);
	assert_int_equal(submit(f, &late, NULL), 0);
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], -EINVAL);
	assert_int_equal(f->seen.rcs[1], -EINVAL);
	assert_non_null(strstr(f->seen.problem.message, "late"));
	assert_int_equal(ask(f, &make, NULL), 0);
	assert_int_equal(ask(f, &late, NULL), 0);
	assert_string_equal(f->seen.text, "5");
	/* A migration changes the shape of the result: one failure, then it works again. */
	assert_int_equal(ask(f, &alter, NULL), 0);
	assert_int_not_equal(ask(f, &late, NULL), 0);
	assert_int_equal(ask(f, &late, NULL), 0);
	assert_string_equal(f->seen.text, "5");
}

static void test_notify(void **state)
{
	static const struct db_query notify = {"notify", "select pg_notify($1, '')", 1, NULL};
	struct fixture *f = *state;
	const char *channel = "node";

	assert_int_equal(ask(f, &notify, &channel), 0);
	wait_until(f, &f->seen.notifies, 1);
	assert_string_equal(f->seen.channel, "node");
	channel = "odd \"name";
	assert_int_equal(ask(f, &notify, &channel), 0);
	wait_until(f, &f->seen.notifies, 2);
	assert_string_equal(f->seen.channel, channel);
}

static void test_many_and_large(void **state)
{
	static const struct db_query size = {"size", "select length($1), $1", 1, NULL};
	struct fixture *f = *state;
	char *large = malloc(300001);
	const char *param = large;

	assert_non_null(large);
	memset(large, 'x', 300000);
	large[300000] = '\0';
	for (unsigned i = 0; i < 60; i++)
		assert_int_equal(submit(f, &size, &param), 0);
	assert_int_equal(db_in_flight(f->db), 60);
	wait_until(f, &f->seen.calls, 60);
	assert_int_equal(f->seen.rc, 0);
	assert_string_equal(f->seen.text, "300000");
	param = "ab";
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(submit(f, &size, &param), 0);
	wait_until(f, &f->seen.calls, 3060);
	assert_int_equal(f->seen.rc, 0);
	assert_string_equal(f->seen.text, "2");
	free(large);
}

static void test_restart(void **state)
{
	static const struct db_query slow = {"slow", "select pg_sleep(30)", 0, NULL};
	static const struct db_query one = {"one", "select 1", 0, NULL};
	struct fixture *f = *state;

	assert_int_equal(ask(f, &one, NULL), 0);
	f->seen.calls = 0;
	assert_int_equal(submit(f, &slow, NULL), 0);
	assert_int_equal(submit(f, &one, NULL), 0);
	for (unsigned i = 0; i < 20; i++) {
		loop_run_once(f->loop);
		usleep(1000);
	}
	assert_int_equal(restart_cluster(f), 0);
	wait_until(f, &f->seen.calls, 2);
	assert_int_equal(f->seen.rcs[0], E_UNAVAILABLE);
	assert_int_equal(f->seen.rcs[1], E_UNAVAILABLE);
	assert_true(f->seen.states >= 2);
	assert_true(problem_is_set(db_away(f->db)));
	if (!f->seen.connected) /* while away: refused, later, once */
		assert_int_equal(ask(f, &one, NULL), E_UNAVAILABLE);
	wait_connected(f, true);
	assert_int_equal(f->seen.states, 3);
	assert_int_equal(ask(f, &one, NULL), 0);
	/* LISTEN is renewed. */
	f->seen.notifies = 0;
	test_notify(state);
}

static void test_free_in_flight(void **state)
{
	static const struct db_query slow = {"slow", "select pg_sleep(30)", 0, NULL};
	struct fixture *f = *state;

	assert_int_equal(submit(f, &slow, NULL), 0);
	loop_run_once(f->loop);
	db_free(f->db);
	f->db = NULL;
	assert_int_equal(f->seen.calls, 1);
	assert_int_equal(f->seen.rc, E_UNAVAILABLE);
}

static void test_nobody_there(void **state)
{
	static const struct db_query one = {"one", "select 1", 0, NULL};
	struct fixture *f = *state;
	const struct db_options bad = {
		.conninfo = "host=/nonexistent port=1", .on_state = on_state, .context = f};
	const struct db_options wrong = {.conninfo = "no such = option"};
	struct fixture *seen = f;

	f->seen = (struct seen){.connected = true};
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(db_new(f->loop, &wrong, &f->db), E_MALFORMED);
	assert_int_equal(db_new(f->loop, &bad, &f->db), 0);
	assert_int_equal(ask(seen, &one, NULL), E_UNAVAILABLE);
	wait_connected(f, false);
	for (unsigned i = 0; i < 300; i++) { /* several attempts */
		loop_run_once(f->loop);
		usleep(1000);
	}
	assert_int_equal(f->seen.states, 1);
	assert_non_null(strstr(db_away(f->db)->detail, "/nonexistent"));
}

/* What a server by TCP is told that knows no TLS; it answers 'N' to the question for it. */
static size_t told_in_clear(const char *sslmode, struct problem *ret_away)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(name);
	struct fixture f = {.seen = {.connected = true}};
	char conninfo[128];
	char bytes[256];
	size_t told = 0;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	assert_int_equal(bind(listener, (const struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
	(void)text_format(conninfo, sizeof(conninfo), "host=127.0.0.1 port=%u user=u dbname=d %s",
			  (unsigned)ntohs(name.sin_port), sslmode);
	assert_int_equal(loop_new(&f.loop), 0);
	assert_int_equal(db_new(f.loop,
				&(struct db_options){
					.conninfo = conninfo, .on_state = on_state, .context = &f},
				&f.db),
			 0);
	while (f.seen.connected && told == 0 && clock_monotonic_ms() < deadline) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		for (int i = 0; client >= 0 && i < 2000 && f.seen.connected && told == 0; i++) {
			ssize_t got = recv(client, bytes, sizeof(bytes), MSG_DONTWAIT);

			if (got == 8) /* SSLRequest (PostgreSQL 15, 55.7) */
				assert_int_equal(send(client, "N", 1, MSG_NOSIGNAL), 1);
			else if (got > 8)
				told = (size_t)got;
			loop_run_once(f.loop);
			usleep(500);
		}
		if (client >= 0)
			close(client);
		loop_run_once(f.loop);
		usleep(500);
	}
	*ret_away = *db_away(f.db);
	db_free(f.db);
	loop_free(f.loop);
	close(listener);
	return told;
}

/* S27: who sits in the place of PostgreSQL is told neither user nor password. */
static void test_proof_by_tcp(void **state)
{
	struct problem away;

	(void)state;
	assert_int_equal(told_in_clear("", &away), 0);
	assert_non_null(strstr(away.detail, "SSL"));
	assert_true(told_in_clear("sslmode=disable", &away) > 0 ||
		    told_in_clear("sslmode=prefer", &away) > 0);
}

/* user 3: a daemon that dies is missed, for its row of haas.daemon grows old. */
static void test_heartbeat(void **state)
{
	static const struct db_query table = {
		"table",
		"do $$ begin create schema haas; create table haas.daemon (name text, instance text, version text,"
		" started_at timestamptz, seen_at timestamptz default now(), primary key (name, instance));"
		" create function haas.daemon_beat(text, text, text, double precision) returns void language sql as $f$"
		" insert into haas.daemon (name, instance, version, started_at) values ($1, $2, $3, now() - make_interval(secs => $4))"
		" on conflict (name, instance) do update set seen_at = now() $f$; end $$",
		0, NULL};
	static const struct db_query beats = {
		"beats",
		"select count(*) filter (where name = 'bampid' and instance = 'c1' and seen_at > started_at"
		" and version <> '') || ' of ' || count(*) from haas.daemon",
		0, NULL};
	static const struct db_query age = {
		"age", "select (max(seen_at) < now() - interval '1 s')::text from haas.daemon", 0,
		NULL};
	struct fixture *f = *state;
	const struct db_options options = {.conninfo = f->conninfo,
					   .application = "heartbeat",
					   .daemon = "bampid",
					   .instance = "c1"};
	struct db *daemon = NULL;
	int64_t deadline;

	assert_int_equal(ask(f, &table, NULL), 0);
	assert_int_equal(db_new(f->loop, &options, &daemon), 0);
	deadline = clock_monotonic_ms() + WAIT_MS;
	do
		assert_int_equal(ask(f, &beats, NULL), 0);
	while (strcmp(f->seen.text, "1 of 1") != 0 && clock_monotonic_ms() < deadline);
	assert_string_equal(f->seen.text, "1 of 1");
	while (clock_monotonic_ms() < deadline && strcmp(f->seen.text, "true") != 0)
		assert_int_equal(ask(f, &age, NULL), 0);
	while (clock_monotonic_ms() < deadline && strcmp(f->seen.text, "false") != 0)
		assert_int_equal(ask(f, &age, NULL), 0);
	assert_string_equal(f->seen.text, "false");
	db_free(daemon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parameters, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_columns, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_array, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_codes, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_transaction, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_repeat, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_repeat_ends, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_commit_failure, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_no_jit, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_prepare_again, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_notify, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_many_and_large, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_free_in_flight, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_heartbeat, connect_db, close_db),
		cmocka_unit_test_setup_teardown(test_restart, connect_db, close_db),
		cmocka_unit_test_teardown(test_nobody_there, close_db),
		cmocka_unit_test(test_proof_by_tcp),
	};

	return cmocka_run_group_tests(tests, start_cluster, stop_cluster);
}
