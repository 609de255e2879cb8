// links: peregrine_captured
//: timeout 300
/* The captures of a collector whose database is there and mute, with a real PostgreSQL and a real
 * peregrine-capture: they end at their time, and what was counted before does not lengthen it. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/db/until.h"
#include "common/io/daemon.h"

#include "peregrine/captured/captured_private.h"
#include "tests/support/cmocka.h"
#include "tests/support/pg_hold.h"
#include "tests/support/scratch.h"

enum { WAIT_MS = 60000 };

struct site {
	char folder[SCRATCH_SIZE];
	char admin[256], conninfo[256], socket[256], captures[256], program[256];
	char name[8], none[1];
	struct captured_conf conf;
	struct loop *loop;
	struct captured *captured;
	FILE *hold, *next_hold; /* others at the database; NULL = nobody */
};

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

static void turn(struct site *site)
{
	loop_run_once(site->loop);
	usleep(500);
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

/* So many wait for a lock, captured among them. */
static bool wait_waits(struct site *site, unsigned others)
{
	char condition[200];

	(void)text_format(condition, sizeof(condition),
			  "count(*) > %u and bool_or(application_name = 'peregrine-captured') from "
			  "pg_stat_activity where wait_event_type = 'Lock'",
			  others);
	return wait_holds(site, condition);
}

/* peregrine-capture lies beside the tests' folder. */
static void find_program(struct site *site)
{
	char self[200];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	(void)text_format(site->program, sizeof(site->program), "%s/../bin/peregrine-capture",
			  self);
	if (access(site->program, X_OK) != 0)
		fail_msg("%s is not built", site->program);
}

static int site_start(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	struct problem problem = {0};
	void *captured = NULL;
	char command[512];
	FILE *out;

	assert_non_null(site);
	(void)signal(SIGPIPE, SIG_IGN);
	find_program(site);
	scratch_make(site->folder, "captured");
	assert_int_equal(chmod(site->folder, 0755), 0);
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  site->folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(site->admin, sizeof(site->admin), out));
	site->admin[strcspn(site->admin, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	(void)text_format(site->conninfo, sizeof(site->conninfo),
			  "host=%s/pg dbname=haas user=peregrine_captured", site->folder);
	(void)text_copy(site->name, sizeof(site->name), "main");
	(void)text_format(site->socket, sizeof(site->socket), "%s/captured.sock", site->folder);
	(void)text_format(site->captures, sizeof(site->captures), "%s/captures", site->folder);
	sql(site,
	    "insert into tenant (name) values ('acme');"
	    "insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);"
	    "insert into switch (name) values ('leaf1');"
	    "insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', "
	    "'10.0.0.1');"
	    "insert into node (name, state, tenant_id, dirty) values ('n1', 'active', 1, true);"
	    "insert into capture_point (switch_id, port, interface) values (1, 'cap0', 'lo');");
	site->conf = (struct captured_conf){.database = site->conninfo,
					    .user = site->none,
					    .name = site->name,
					    .socket_path = site->socket,
					    .socket_caller = site->none,
					    .capture_dir = site->captures,
					    .program = site->program,
					    .capture_user = site->none,
					    .limit = 4,
					    .keep_days = 1,
					    .keep_bytes = 1 << 30,
					    .tenant_bytes = 1 << 30};
	assert_int_equal(loop_new(&site->loop), 0);
	if (daemon_begin(&captured_daemon, site->loop, &site->conf, &captured, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	site->captured = captured;
	*state = site;
	return 0;
}

static int site_stop(void **state)
{
	struct site *site = *state;

	if (!site) /* it did not start */
		return 0;
	pg_let_go(&site->hold);
	pg_let_go(&site->next_hold);
	daemon_end(&captured_daemon, site->captured);
	loop_free(site->loop);
	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site);
	return 0;
}

/* One that runs `seconds` from now on, and captured knows. */
static struct taken *capture(struct site *site, unsigned seconds)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;
	char text[200];
	struct taken *one;

	sql(site,
	    "truncate capture restart identity cascade;"
	    "insert into capture (tenant_id, node_id, node, macs, switch_id, port, "
	    "collector, requester, consent, consent_by, state, approved_at, deadline) values "
	    "(1, 1, 'n1', '{02:00:00:00:00:01}', 1, 'p1', 'main', 'a', 'approver', 'b', "
	    "'approved', now(), now() + interval '1 hour');"
	    "insert into capture (tenant_id, node_id, node, macs, switch_id, port, collector, requester, state) values (1, 1, 'n1', '{02:00:00:00:00:01}', 1, 'p1', 'main', 'a', 'waiting')");
	assert_true(wait_holds(site, "state = 'listening' from capture where id = 1"));
	(void)text_format(
		text, sizeof(text),
		"update capture set state = 'running', deadline = now() + interval '%u s' where id = 1",
		seconds);
	sql(site, text);
	one = captured_find(site->captured, 1);
	assert_non_null(one);
	while ((!one->until_ms || one->until_ms > loop_now_ms(site->loop) + seconds * 1000) &&
	       clock_monotonic_ms() < deadline)
		turn(site);
	assert_true(one->until_ms && one->until_ms <= loop_now_ms(site->loop) + seconds * 1000);
	return one;
}

static void a_capture_ends_at_its_time_though_the_database_is_mute(void **state)
{
	struct site *site = *state;
	/* which only whoever asks for the rows waits for, not what is told of the first */
	static const char lock[] = "select from capture where id = 2 for update";
	unsigned seconds = 4;
	int64_t deadline_ms;
	int64_t asked_ms;
	int64_t until_ms;
	struct taken *one;
	bool early;

	do { /* until the rows were asked for before its time was over */
		seconds *= 2;
		assert_true(seconds < 60);
		one = capture(site, seconds);
		until_ms = one->until_ms;
		site->hold = pg_hold(site->admin, lock);
		assert_true(wait_waits(site, 0));
		early = holds(site,
			      "exists (select from pg_stat_activity a, capture c where "
			      "a.application_name = 'peregrine-captured' and a.query ~ "
			      "'capture_sweep' and a.xact_start < c.deadline - interval '1 s')");
		if (!early) {
			pg_let_go(&site->hold);
			while (captured_find(site->captured, 1))
				turn(site);
		}
	} while (!early);
	/* Its answer is a late one, and the next has to wait as well. */
	assert_true(wait_holds(site, "clock_timestamp() - xact_start > interval '6 s' from "
				     "pg_stat_activity where application_name = "
				     "'peregrine-captured'"));
	site->next_hold = pg_hold(site->admin, lock);
	assert_true(wait_waits(site, 1));
	asked_ms = site->captured->asked_ms;
	pg_let_go(&site->hold);
	deadline_ms = clock_monotonic_ms() + WAIT_MS;
	/* captured's next sweep shall find the lock taken: no turn of its before */
	while (!holds(site, "exists (select from pg_stat_activity where application_name = 'psql' "
			    "and state = 'idle in transaction')") &&
	       clock_monotonic_ms() < deadline_ms)
		(void)poll(NULL, 0, 10);
	assert_true(clock_monotonic_ms() < deadline_ms);
	while (site->captured->asked_ms == asked_ms && clock_monotonic_ms() < deadline_ms)
		turn(site);
	assert_int_not_equal(site->captured->asked_ms, asked_ms);
	assert_true(one->until_ms < until_ms + DB_SILENT_MS);
	deadline_ms = clock_monotonic_ms() + WAIT_MS;
	while (!one->late && clock_monotonic_ms() < deadline_ms)
		turn(site);
	assert_true(one->late);
	while (one->process && clock_monotonic_ms() < deadline_ms)
		turn(site);
	assert_null(one->process);
	assert_string_equal(one->because, "deadline");
	assert_true(holds(site, "state = 'running' from capture where id = 1"));
	pg_let_go(&site->next_hold);
	assert_true(wait_holds(
		site, "state = 'ended' and because = 'deadline' from capture where id = 1"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_ends_at_its_time_though_the_database_is_mute),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
