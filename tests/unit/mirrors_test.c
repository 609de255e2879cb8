// links: peregrine_control
//: timeout 300
/* Mirror sessions of captures, with a scripted switch and a real PostgreSQL: a session ends at its
 * time though the database is there and mute, and is not brought back by what was counted before; a
 * switch that has started again is told at once; whoever saved its configuration meanwhile hears
 * when the last session is gone. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/control/mirrors.h"
#include "tests/support/cmocka.h"
#include "tests/support/pg_hold.h"
#include "tests/support/scratch.h"

enum { WAIT_MS = 60000, LEAF = 1, OTHER = 2, LEAVES = 2 };

struct site {
	char folder[SCRATCH_SIZE];
	char admin[256], conninfo[256];
	struct loop *loop;
	struct db *db;
	struct switch_queue *queue;
	struct mirrors *mirrors;
	unsigned lost; /* connections to the database */
	FILE *hold;    /* somebody else at the database; NULL = nobody */
	/* the switch */
	char has[256]; /* names of its sessions, each with a space */
	unsigned asked;
	unsigned fail;   /* it does not answer so many times */
	unsigned firsts; /* so many times it was told that it shall have haas-capture-1 */
	char other_has[256];
	/* told when it had none any more */
	unsigned ended;
	int64_t ended_since_ms;
};

static struct site *site_now; /* drivers know their host only */

/* --- the switch --- */

struct session {
	int64_t switch_id;
	const struct switch_request *request;
	switch_call_fn fn;
	void *context;
	struct loop_timer *timer;
};

static void answer(void *state)
{
	struct session *session = state;
	const struct switch_request *request = session->request;
	char *has = session->switch_id == LEAF ? site_now->has : site_now->other_has;
	switch_call_fn fn = session->fn;
	struct problem problem = {0};
	size_t used = 0;

	session->fn = NULL;
	if (session->switch_id == LEAF && site_now->fail > 0) {
		site_now->fail--;
		(void)problem_set(&problem, E_TIMEOUT, "it does not answer");
		fn(session->context, E_TIMEOUT, NULL, &problem);
		return;
	}
	site_now->asked += session->switch_id == LEAF;
	has[0] = '\0';
	for (size_t i = 0; i < request->mirror_count; i++) {
		request->results[i] = EDIT_TAKEN;
		assert_true(text_format(has + used, sizeof(site_now->has) - used, "%s ",
					request->mirrors[i].name));
		used = strlen(has);
		site_now->firsts += strcmp(request->mirrors[i].name, "haas-capture-1") == 0;
	}
	fn(session->context, 0, NULL, NULL);
}

static int session_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
			const struct switch_host *host, void **ret_session, struct problem *problem)
{
	struct session *session = calloc(1, sizeof(*session));

	(void)family;
	(void)problem;
	assert_non_null(session);
	session->switch_id = endpoint->id;
	assert_int_equal(loop_timer_new(host->loop, answer, session, &session->timer), 0);
	*ret_session = session;
	return 0;
}

static int session_start(void *state, const struct switch_request *request, int64_t deadline_ms,
			 switch_call_fn fn, void *context)
{
	struct session *session = state;

	(void)deadline_ms;
	assert_int_equal(request->op, SWITCH_MIRROR);
	session->request = request;
	session->fn = fn;
	session->context = context;
	loop_timer_arm(session->timer, 1);
	return 0;
}

static bool session_cancel(void *state)
{
	struct session *session = state;

	loop_timer_disarm(session->timer);
	session->fn = NULL;
	return true;
}

static void session_close(void *state)
{
	struct session *session = state;

	loop_timer_free(session->timer);
	free(session);
}

static const struct switch_driver scripted = {.name = "scripted",
					      .open = session_open,
					      .start = session_start,
					      .cancel = session_cancel,
					      .close = session_close,
					      .mirrors = true};
static const struct switch_family plain = {
	.name = "plain", .read_driver = "scripted", .write_driver = "scripted"};

static const struct switch_driver *find_driver(const char *name)
{
	return strcmp(name, scripted.name) == 0 ? &scripted : NULL;
}

static const struct switch_family *find_family(const char *name)
{
	return strcmp(name, plain.name) == 0 ? &plain : NULL;
}

static const struct switch_family *detect_family(const char *object_id, const char *text)
{
	(void)object_id;
	(void)text;
	return &plain;
}

/* --- the site --- */

static void sql(const struct site *site, const char *text)
{
	assert_int_equal(
		shell("psql -qXAt '%s' -v ON_ERROR_STOP=1 -o /dev/null -c 'set search_path = "
		      "haas' -c \"%s\"",
		      site->admin, text),
		0);
}

static bool holds(const struct site *site, const char *condition)
{
	return shell("[ \"$(psql -qXAt '%s' -c 'set search_path = haas' -c \"select %s\")\" = t ]",
		     site->admin, condition) == 0;
}

/* Whoever works for us at the database. Stopped it closes nothing and answers nothing, and may hold
 * what others wait for: nobody else asks the database then. */
static pid_t backend(const struct site *site)
{
	char command[400];
	char line[32] = "";
	FILE *out;

	(void)text_format(command, sizeof(command),
			  "psql -qXAt '%s' -c \"select pid from pg_stat_activity where "
			  "application_name = 'mirrors_test'\"",
			  site->admin);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(line, sizeof(line), out));
	assert_int_equal(pclose(out), 0);
	assert_true(strtol(line, NULL, 10) > 1);
	return (pid_t)strtol(line, NULL, 10);
}

static void on_state(void *context, bool connected)
{
	struct site *site = context;

	site->lost += !connected;
	if (site->mirrors)
		mirrors_db_state(site->mirrors, connected);
}

static void on_ended(void *context, int64_t switch_id, int64_t since_ms)
{
	struct site *site = context;

	if (switch_id != LEAF)
		return;
	site->ended++;
	site->ended_since_ms = since_ms;
}

static int cluster_start(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	char command[512];
	FILE *out;

	assert_non_null(site);
	scratch_make(site->folder, "mirrors");
	assert_int_equal(chmod(site->folder, 0755), 0);
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  site->folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(site->admin, sizeof(site->admin), out));
	site->admin[strcspn(site->admin, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	(void)text_format(site->conninfo, sizeof(site->conninfo),
			  "host=%s/pg dbname=haas user=peregrined", site->folder);
	sql(site,
	    "insert into tenant (name) values ('acme');"
	    "insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);"
	    "insert into switch (name) values ('leaf1'), ('leaf2');"
	    "insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', "
	    "'10.0.0.1'), (2, 1, 'leaf', '10.0.0.2');"
	    "insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true);"
	    "insert into capture_point (switch_id, port, interface) values (1, 'cap0', 'eth9'), (2, "
	    "'cap0', 'eth10');");
	/* Whoever holds lock 7 has the word wait that a switch may have a session. */
	sql(site, "create function stand_still() returns trigger language plpgsql as 'begin if "
		  "current_query() like ''update haas.capture set mirrored%'' then perform "
		  "pg_advisory_xact_lock(7); end if; return null; end';"
		  "create trigger stand_still before update on capture for each statement execute "
		  "function stand_still()");
	*state = site;
	return 0;
}

static int cluster_stop(void **state)
{
	struct site *site = *state;

	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site);
	return 0;
}

static void put_switches(const struct site *site)
{
	for (int64_t id = LEAF; id <= LEAVES; id++) {
		struct switch_endpoint endpoint = {.id = id, .family = "plain"};
		struct problem problem = {0};

		(void)text_format(endpoint.name, sizeof(endpoint.name), "leaf%d", (int)id);
		(void)text_format(endpoint.address, sizeof(endpoint.address), "192.0.2.%d",
				  (int)id);
		assert_int_equal(switch_queue_put(site->queue, &endpoint, &problem), 0);
	}
}

static int case_start(void **state)
{
	struct site *site = *state;
	const struct db_options db = {.conninfo = site->conninfo,
				      .application = "mirrors_test",
				      .on_state = on_state,
				      .context = site};
	struct switch_queue_options queue = {.catalog = {find_driver, find_family, detect_family},
					     .failing_calls = 2};
	struct mirrors_options options = {.ended = on_ended, .context = site};

	sql(site, "truncate capture restart identity cascade");
	site->lost = site->asked = site->ended = site->fail = site->firsts = 0;
	site->has[0] = site->other_has[0] = '\0';
	site_now = site;
	assert_int_equal(loop_new(&site->loop), 0);
	queue.host.loop = site->loop;
	assert_int_equal(switch_queue_new(&queue, &site->queue), 0);
	put_switches(site);
	assert_int_equal(db_new(site->loop, &db, &site->db), 0);
	options.db = site->db;
	options.queue = site->queue;
	assert_int_equal(mirrors_new(site->loop, &options, &site->mirrors), 0);
	return 0;
}

static int case_stop(void **state)
{
	struct site *site = *state;

	pg_let_go(&site->hold);
	mirrors_db_state(site->mirrors, false);
	db_free(site->db);
	switch_queue_free(site->queue);
	mirrors_free(TAKE(site->mirrors));
	loop_free(site->loop);
	return 0;
}

/* Two captures under way, 1 and 2, and how long they run from now on; heard of all the time. */
static void captures(const struct site *site, unsigned seconds, unsigned others_seconds)
{
	CLEANUP(text_done) struct text text = {0};

	text_addf(
		&text,
		"insert into capture (tenant_id, node_id, node, macs, switch_id, port, collector, "
		"requester, consent, consent_by, state, beat_at, deadline) select 1, 1, 'n1', "
		"'{02:00:00:00:00:01}', 1, 'p' || n, 'main', 'a', 'approver', 'b', 'running', "
		"now() + interval '1 day', now() + make_interval(secs => s) "
		"from (values (1, %u), (2, %u)) v (n, s) order by n",
		seconds, others_seconds);
	sql(site, text_get(&text));
}

static void turn(struct site *site)
{
	loop_run_once(site->loop);
	usleep(500);
}

static bool wait_same(struct site *site, const char *has, const char *sessions)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (strcmp(has, sessions) != 0 && clock_monotonic_ms() < deadline)
		turn(site);
	return strcmp(has, sessions) == 0;
}

static bool wait_has(struct site *site, const char *sessions)
{
	return wait_same(site, site->has, sessions);
}

static bool wait_asked(struct site *site, unsigned before)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (site->asked == before && clock_monotonic_ms() < deadline)
		turn(site);
	return site->asked > before;
}

static bool wait_holds(struct site *site, const char *condition)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (!holds(site, condition) && clock_monotonic_ms() < deadline) {
		for (int i = 0; i < 20; i++)
			turn(site);
	}
	return holds(site, condition);
}

static void wait_in_flight(struct site *site, bool some)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while ((db_in_flight(site->db) > 0) != some && clock_monotonic_ms() < deadline)
		turn(site);
	assert_int_equal(db_in_flight(site->db) > 0, some);
}

/* Whoever works for us waits for a lock that somebody holds. */
static bool wait_waits(struct site *site)
{
	return wait_holds(site, "exists (select from pg_stat_activity where application_name = "
				"'mirrors_test' and wait_event_type = 'Lock')");
}

/* The rows are read once from now on, and what follows of them is asked for. */
static void look(struct site *site)
{
	wait_in_flight(site, false);
	mirrors_wake(site->mirrors);
	wait_in_flight(site, true);
	wait_in_flight(site, false);
}

/* --- cases --- */

static void a_session_ends_at_its_time_though_the_database_is_mute(void **state)
{
	struct site *site = *state;
	unsigned seconds = 3;
	int64_t began_ms;
	bool early;
	pid_t pid;
	bool gone;

	do { /* until the database fell silent before its time was over */
		seconds *= 2;
		assert_true(seconds < 100);
		began_ms = clock_monotonic_ms();
		sql(site, "truncate capture restart identity cascade");
		captures(site, seconds, 3600);
		look(site);
		assert_true(wait_has(site, "haas-capture-1 haas-capture-2 "));
		pid = backend(site);
		assert_int_equal(kill(pid, SIGSTOP), 0);
		early = clock_monotonic_ms() - began_ms < (int64_t)seconds * 1000;
		if (!early)
			assert_int_equal(kill(pid, SIGCONT), 0);
	} while (!early);
	gone = wait_has(site, "haas-capture-2 ");
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_true(gone);
	assert_true(wait_holds(site, "not mirrored and wanted = 'absent' and because = 'deadline' "
				     "from capture where id = 1"));
	assert_true(holds(site, "mirrored and wanted = 'present' from capture where id = 2"));
	assert_string_equal(site->has, "haas-capture-2 ");
	assert_int_equal(site->lost, 0);
	assert_int_equal(site->ended, 0); /* one is there all the time */
}

/* Its answer, which says that the session lasts, comes when it is over. Until then the switch was
 * told by our own clock, though it did not answer at first. */
static void an_answer_of_before_brings_no_session_back(void **state)
{
	struct site *site = *state;
	unsigned seconds = 3;
	unsigned firsts;
	bool early;

	do { /* until the rows were asked for before its time was over */
		seconds *= 2;
		assert_true(seconds < 100);
		sql(site, "truncate capture restart identity cascade");
		captures(site, seconds, 3600);
		look(site);
		assert_true(wait_has(site, "haas-capture-1 haas-capture-2 "));
		wait_in_flight(site, false); /* what it has is written down */
		site->fail = 1;
		site->hold = pg_hold(site->admin, "select from capture where id = 1 for update");
		assert_true(wait_waits(site));
		early = holds(site,
			      "exists (select from pg_stat_activity a, capture c where "
			      "a.application_name = 'mirrors_test' and a.query ~ 'capture_sweep' "
			      "and c.id = 1 and a.xact_start < c.deadline - interval '1 s')");
		if (!early)
			pg_let_go(&site->hold);
	} while (!early);
	assert_true(wait_has(site, "haas-capture-2 "));
	assert_int_equal(site->fail, 0);
	/* That is heard of, and waits to be written down. */
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     db_in_flight(site->db) < 2 && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_true(db_in_flight(site->db) > 1);
	/* By our clock, which counts from the question on, it ended a little before it does by the
	 * database's: rows that are read in between bring it back rightly. */
	assert_true(wait_holds(site, "deadline < now() from capture where id = 1"));
	firsts = site->firsts;
	pg_let_go(&site->hold);
	look(site);
	for (int i = 0; i < 200; i++)
		turn(site);
	assert_int_equal(site->firsts, firsts);
	assert_true(wait_holds(site, "not mirrored and wanted = 'absent' and because = 'deadline' "
				     "from capture where id = 1"));
	assert_int_equal(site->firsts, firsts);
	assert_string_equal(site->has, "haas-capture-2 ");
	assert_int_equal(site->lost, 0);
}

/* The database falls silent between its rows and its word that a switch may have what they say:
 * what shall not be there any more is taken back, and what nobody knows of is not made. */
static void what_was_to_be_told_when_the_database_fell_silent(void **state)
{
	struct site *site = *state;

	captures(site, 3600, 3600);
	captures(site, 3600, 3600);
	sql(site, "update capture set switch_id = 2 where id > 2;"
		  "update capture set state = 'approved' where id = 4");
	assert_true(wait_has(site, "haas-capture-1 haas-capture-2 "));
	assert_true(wait_same(site, site->other_has, "haas-capture-3 "));
	wait_in_flight(site, false);
	site->hold = pg_hold(site->admin, "select pg_advisory_xact_lock(7)");
	assert_true(wait_holds(site, "exists (select from pg_locks where locktype = 'advisory' and "
				     "objid = 7 and granted)"));
	sql(site, "update capture set wanted = 'absent' where id = 1;"
		  "update capture set wanted = 'absent' where id = 3;"
		  "update capture set state = 'running', beat_at = now() + interval '1 day' where "
		  "id = 4");
	assert_true(wait_has(site, "haas-capture-2 "));
	assert_true(wait_same(site, site->other_has, ""));
	assert_true(holds(site, "not mirrored from capture where id = 4"));
	pg_let_go(&site->hold);
	assert_true(wait_holds(site, "mirrored from capture where id = 4"));
	assert_true(wait_same(site, site->other_has, "haas-capture-4 "));
	assert_string_equal(site->has, "haas-capture-2 ");
}

static void a_switch_that_has_started_again_is_told_what_it_mirrors(void **state)
{
	struct site *site = *state;
	unsigned before;

	assert_true(wait_asked(site, 0));
	mirrors_seen(site->mirrors, LEAF, 5000);
	mirrors_seen(site->mirrors, LEAF, 0); /* it did not say */
	mirrors_seen(site->mirrors, LEAVES + 1, 10);
	before = site->asked;
	look(site);
	for (int i = 0; i < 200; i++) /* its answer takes a millisecond */
		turn(site);
	assert_int_equal(site->asked, before);
	(void)text_copy(site->has, sizeof(site->has), "haas-capture-7 "); /* as it was saved */
	mirrors_seen(site->mirrors, LEAF, 4999);
	assert_true(wait_has(site, ""));
	assert_int_equal(site->ended, 0); /* none of this life */
}

static void whoever_saves_hears_that_the_last_one_is_gone(void **state)
{
	struct site *site = *state;
	int64_t began_ms = clock_monotonic_ms();

	captures(site, 3600, 3600);
	assert_true(wait_has(site, "haas-capture-1 haas-capture-2 "));
	sql(site, "update capture set wanted = 'absent' where id = 1");
	assert_true(wait_has(site, "haas-capture-2 "));
	assert_int_equal(site->ended, 0);
	sql(site, "update capture set wanted = 'absent' where id = 2");
	assert_true(wait_has(site, ""));
	assert_true(wait_holds(site, "not bool_or(mirrored) from capture"));
	assert_int_equal(site->ended, 1);
	assert_true(site->ended_since_ms >= began_ms);
	assert_true(site->ended_since_ms <= clock_monotonic_ms());
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_session_ends_at_its_time_though_the_database_is_mute, case_start,
			case_stop),
		cmocka_unit_test_setup_teardown(an_answer_of_before_brings_no_session_back,
						case_start, case_stop),
		cmocka_unit_test_setup_teardown(what_was_to_be_told_when_the_database_fell_silent,
						case_start, case_stop),
		cmocka_unit_test_setup_teardown(
			a_switch_that_has_started_again_is_told_what_it_mirrors, case_start,
			case_stop),
		cmocka_unit_test_setup_teardown(whoever_saves_hears_that_the_last_one_is_gone,
						case_start, case_stop),
	};

	return cmocka_run_group_tests(tests, cluster_start, cluster_stop);
}
