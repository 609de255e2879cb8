// links: peregrine_control
//: timeout 300
/* Looks at switches' health, with scripted switches and a real PostgreSQL: whose numbers of ports
 * cannot be written has them written again at each look, and nobody else has. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "peregrine/control/health/health.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

enum { WAIT_MS = 120000, SWITCHES = 2, LOOKS = 12, PERIOD_MS = 20 };

struct site {
	char folder[SCRATCH_SIZE];
	char admin[256], conninfo[256];
	struct loop *loop;
	struct db *db;
	struct switch_queue *queue;
	struct worker *worker;
	struct health *health;
	unsigned looks[SWITCHES + 1]; /* by switch */
};

static struct site *site_now; /* drivers know their host only */

/* --- switches: one port each --- */

struct session {
	int64_t switch_id;
	switch_call_fn fn;
	void *context;
	struct loop_timer *timer;
};

static void answer(void *state)
{
	struct session *session = state;
	struct switch_reading reading = {0};
	struct switch_health *health = &reading.health;

	health->uptime_ms = 1000 + (uint64_t)++site_now->looks[session->switch_id] * PERIOD_MS;
	health->ports = calloc(1, sizeof(*health->ports));
	assert_non_null(health->ports);
	health->port_count = 1;
	health->ports[0] = (struct port_health){.if_index = 7, .name = "p1", .is_port = true};
	session->fn(session->context, 0, &reading, NULL);
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
	assert_int_equal(request->op, SWITCH_HEALTH);
	session->fn = fn;
	session->context = context;
	loop_timer_arm(session->timer, 1);
	return 0;
}

static bool session_cancel(void *state)
{
	struct session *session = state;

	loop_timer_disarm(session->timer);
	return true;
}

static void session_close(void *state)
{
	struct session *session = state;

	loop_timer_free(session->timer);
	free(session);
}

static const struct switch_driver scripted = {.name = "snmp",
					      .open = session_open,
					      .start = session_start,
					      .cancel = session_cancel,
					      .close = session_close};
static const struct switch_family plain = {
	.name = "plain", .read_driver = "snmp", .write_driver = "snmp"};

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

static bool holds(const struct site *site, const char *condition)
{
	return shell("[ \"$(psql -qXAt '%s' -c 'set search_path = haas' -c \"select %s\")\" = t ]",
		     site->admin, condition) == 0;
}

static void on_state(void *context, bool connected)
{
	struct site *site = context;

	if (site->health)
		health_db_state(site->health, connected);
}

static int64_t claim(void *context, int64_t fabric_id)
{
	(void)context;
	return fabric_id;
}

/* The numbers of switch 1 are refused. Sequences count what was tried, refused or not. */
static int start(void **state)
{
	static const char *const schema =
		"create sequence tried_1; create sequence tried_2; "
		"grant usage on sequence tried_1, tried_2 to public; insert into fabric (name, "
		"vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99); insert into "
		"switch (name) values ('s1'), ('s2'); insert into switch_endpoint (switch_id, "
		"fabric_id, role, address) values (1, 1, 'leaf', '192.0.2.1'), (2, 1, 'leaf', "
		"'192.0.2.2'); create or replace function port_number_put(p_switch bigint, p_rows "
		"jsonb) returns integer language plpgsql security definer set search_path = haas "
		"as 'begin perform nextval(format(''tried_%s'', p_switch)::regclass); return 1 / "
		"(p_switch - 1); end'";
	struct site *site = calloc(1, sizeof(*site));
	char command[512];
	FILE *out;

	assert_non_null(site);
	scratch_make(site->folder, "health");
	assert_int_equal(chmod(site->folder, 0755), 0);
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  site->folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(site->admin, sizeof(site->admin), out));
	site->admin[strcspn(site->admin, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	(void)text_format(command, sizeof(command), "%s/schema.sql", site->folder);
	out = fopen(command, "w");
	assert_non_null(out);
	assert_true(fprintf(out, "%s", schema) > 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(shell("psql -qX '%s' -v ON_ERROR_STOP=1 -o /dev/null -c 'set search_path "
			       "= haas' -f %s",
			       site->admin, command),
			 0);
	(void)text_format(site->conninfo, sizeof(site->conninfo),
			  "host=%s/pg dbname=haas user=peregrined", site->folder);
	site_now = site;
	*state = site;
	return 0;
}

static int stop(void **state)
{
	struct site *site = *state;

	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site);
	return 0;
}

static void begin(struct site *site)
{
	const struct db_options db = {.conninfo = site->conninfo,
				      .application = "health_test",
				      .on_state = on_state,
				      .context = site};
	struct switch_queue_options queue = {.catalog = {find_driver, find_family, detect_family},
					     .failing_calls = 2};
	struct health_options options = {
		.conninfo = site->conninfo, .period_ms = PERIOD_MS, .claim = claim};

	assert_int_equal(loop_new(&site->loop), 0);
	queue.host.loop = site->loop;
	assert_int_equal(switch_queue_new(&queue, &site->queue), 0);
	assert_int_equal(worker_new(site->loop, 1, 16, &site->worker), 0);
	assert_int_equal(db_new(site->loop, &db, &site->db), 0);
	options.db = site->db;
	options.queue = site->queue;
	options.worker = site->worker;
	assert_int_equal(health_new(site->loop, &options, &site->health), 0);
	while (!db_connected(site->db))
		loop_run_once(site->loop);
	for (int64_t id = 1; id <= SWITCHES; id++) {
		struct switch_endpoint endpoint = {.id = id, .family = "plain"};
		struct problem problem = {0};

		(void)text_format(endpoint.name, sizeof(endpoint.name), "s%d", (int)id);
		(void)text_format(endpoint.address, sizeof(endpoint.address), "192.0.2.%d",
				  (int)id);
		assert_int_equal(switch_queue_put(site->queue, &endpoint, &problem), 0);
		assert_int_equal(health_put(site->health, id, 1, endpoint.name), 0);
	}
}

static void end(struct site *site)
{
	health_db_state(site->health, false);
	db_free(site->db);
	switch_queue_free(site->queue);
	worker_free(site->worker);
	health_free(site->health);
	loop_free(site->loop);
}

static void an_error_at_one_is_no_others(void **state)
{
	struct site *site = *state;
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;
	char condition[160];

	begin(site);
	while ((site->looks[1] < LOOKS || site->looks[2] < LOOKS) &&
	       clock_monotonic_ms() < deadline) {
		loop_run_once(site->loop);
		usleep(500);
	}
	assert_in_range(site->looks[1], LOOKS, 1000);
	assert_in_range(site->looks[2], LOOKS, 1000);
	end(site);
	/* Of one at each look, but those whose writing the end cut off; of the other at the first
	 * five and at each fifth. */
	(void)text_format(condition, sizeof(condition),
			  "(select last_value from tried_1) between %u and %u",
			  site->looks[1] * 2 / 3, site->looks[1]);
	assert_true(holds(site, condition));
	(void)text_format(condition, sizeof(condition),
			  "(select last_value from tried_2) between 3 and %u",
			  5 + site->looks[2] / 5 + 1);
	assert_true(holds(site, condition));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_at_one_is_no_others),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
