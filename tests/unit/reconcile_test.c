// links: peregrine_reconcile peregrine_network peregrine_driver common_db common_io common_base
/* The reconcile engine on a simulated fabric and a real PostgreSQL: attach, move, release; every
 * fault of a switch; kill between sending and reading back; a foreign change; PostgreSQL away. A
 * frame of every tenant is sent again and again while all this goes on, and none may leak. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"
#include "tests/support/sim_access.h"

enum { LEAVES = 3, SPINES = 2, LEAF_PORTS = 8, WAIT_MS = 30000, SWITCHES = LEAVES + SPINES };

struct site {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	char admin[256];
	struct loop *loop;
	struct db *db;
	struct sim_fabric *fabric;
	struct sim_access access;
	struct reconcile *reconcile;
	/* which network (1, 2, ...) a port was meant for, of the intents that may be in force */
	unsigned char meant[SWITCHES][LEAF_PORTS + SPINES];
	unsigned char also[SWITCHES][LEAF_PORTS + SPINES];
	unsigned frames, leaks, copies, arrivals;
	bool ours; /* no port is in VLAN 1 any more, which runs in a circle as delivered */
	uint32_t from_at, from_port;
};

/* --- the site ------------------------------------------------------------- */

static int sql(const struct site *site, const char *text)
{
	char path[300];
	FILE *file;

	(void)text_format(path, sizeof(path), "%s/statement.sql", site->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fprintf(
		file,
		"set client_min_messages = warning;\nset search_path = haas;\nset haas.scope = 'operator';\n%s\n",
		text);
	assert_int_equal(fclose(file), 0);
	return shell("psql -qXAt '%s' -v ON_ERROR_STOP=1 -o '%s/answer' -f '%s'", site->admin,
		     site->folder, path);
}

static long ask(const struct site *site, const char *text)
{
	char path[300];
	long value = -1;
	FILE *file;

	assert_int_equal(sql(site, text), 0);
	(void)text_format(path, sizeof(path), "%s/answer", site->folder);
	file = fopen(path, "r");
	assert_non_null(file);
	if (fgets(path, sizeof(path), file))
		value = strtol(path, NULL, 10);
	(void)fclose(file);
	return value;
}

static void on_state(void *context, bool connected)
{
	struct site *site = context;

	if (site->reconcile)
		reconcile_db_state(site->reconcile, connected);
}

static void on_notify(void *context, const char *channel)
{
	struct site *site = context;

	(void)channel;
	if (site->reconcile)
		reconcile_wake(site->reconcile);
}

static void engine_start(struct site *site)
{
	static const char *const channels[] = {"network", NULL};
	const struct db_options options = {.conninfo = site->conninfo,
					   .application = "reconcile_test",
					   .on_state = on_state,
					   .on_notify = on_notify,
					   .channels = channels,
					   .context = site};

	assert_int_equal(db_new(site->loop, &options, &site->db), 0);
	sim_access_init(&site->access, site->loop, site->fabric);

	const struct reconcile_options engine = {
		.db = site->db,
		.access = {.context = &site->access, .call = sim_access_call},
		.owner = "test",
		.claim_ms = 4000,
		.call_ms = 600,
		.read_ms = 500,
		.look_ms = 200,
	};

	assert_int_equal(reconcile_new(site->loop, &engine, &site->reconcile), 0);
}

/* As kill -9: nothing is sent or written any more. */
static void engine_kill(struct site *site)
{
	struct reconcile *reconcile = TAKE(site->reconcile);

	reconcile_db_state(reconcile, false);
	db_free(TAKE(site->db));
	sim_access_done(&site->access);
	reconcile_free(reconcile);
}

static void fabric_make(struct site *site)
{
	assert_int_equal(sim_fabric_new(site->loop, &site->fabric), 0);
	for (int i = 0; i < SWITCHES; i++) {
		char name[16];

		(void)text_format(name, sizeof(name), i < LEAVES ? "leaf%d" : "spine%d",
				  i < LEAVES ? i + 1 : i - LEAVES + 1);
		(void)sim_fabric_add(site->fabric, i + 1, name,
				     i < LEAVES ? LEAF_PORTS + SPINES : LEAVES);
	}
	for (uint32_t l = 0; l < LEAVES; l++) {
		for (uint32_t s = 0; s < SPINES; s++)
			sim_fabric_cable(site->fabric, l, LEAF_PORTS + s, LEAVES + s, l);
	}
}

static int site_start(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	char command[512];
	FILE *out;

	assert_non_null(site);
	scratch_make(site->folder, "reconcile");
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
	*state = site;
	return 0;
}

/* Every test begins with the same rows, and switches as delivered. */
static int case_start(void **state)
{
	struct site *site = *state;
	CLEANUP(text_done) struct text rows = {0};

	text_add(
		&rows,
		"truncate tenant, fabric, switch, network, attachment, port_intent, change_batch, "
		"network_vlan, vlan_history, alert, event, fabric_claim restart identity cascade;"
		"insert into tenant (name) values ('acme'), ('globex'), ('initech');"
		"insert into fabric (name, vlan_low, vlan_high, parking_vlan, quarantine_s) values "
		"('f1', 100, 104, 99, 1);");
	for (int i = 0; i < SWITCHES; i++)
		text_addf(&rows,
			  "insert into switch (name) values ('%s%d');"
			  "insert into switch_endpoint (switch_id, fabric_id, role, address) "
			  "values (%d, 1, '%s', '10.0.0.%d');",
			  i < LEAVES ? "leaf" : "spine", i < LEAVES ? i + 1 : i - LEAVES + 1, i + 1,
			  i < LEAVES ? "leaf" : "spine", i + 1);
	for (int l = 0; l < LEAVES; l++) {
		for (int s = 0; s < SPINES; s++)
			text_addf(&rows,
				  "insert into link (a_switch, a_port, b_switch, b_port, state, "
				  "certainty, since, seen_at) values (%d, 'p%d', %d, 'p%d', "
				  "'confirmed', 100, now(), now());",
				  l + 1, LEAF_PORTS + s + 1, LEAVES + s + 1, l + 1);
	}
	text_add(&rows, "select network_create('red', 'tenant', 'acme', null, null, 't');"
			"select network_create('blue', 'tenant', 'globex', null, null, 't');"
			"select network_create('green', 'tenant', 'initech', null, null, 't');"
			"select port_park(s.name, 'p' || n, 't') from switch s, "
			"generate_series(1, 8) n where s.name ~ 'leaf' order by s.id, n;");
	assert_int_equal(loop_new(&site->loop), 0);
	fabric_make(site);
	assert_int_equal(sql(site, text_get(&rows)), 0);
	memset(site->meant, 0, sizeof(site->meant));
	memset(site->also, 0, sizeof(site->also));
	site->frames = site->leaks = site->copies = site->arrivals = 0;
	site->ours = false;
	engine_start(site);
	return 0;
}

static int case_stop(void **state)
{
	struct site *site = *state;

	if (site->reconcile)
		engine_kill(site);
	sim_fabric_free(TAKE(site->fabric));
	loop_free(TAKE(site->loop));
	return 0;
}

static int site_stop(void **state)
{
	struct site *site = *state;

	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site);
	return 0;
}

/* --- frames ------------------------------------------------------------------ */

static void on_arrived(void *context, uint32_t at, uint32_t port, unsigned tag)
{
	struct site *site = context;
	unsigned from = site->meant[site->from_at][site->from_port];
	unsigned from_also = site->also[site->from_at][site->from_port];
	unsigned to = site->meant[at][port];
	unsigned to_also = site->also[at][port];

	site->arrivals++;
	/* A port on its way from one network to another may be in either, until it has arrived. 0
	 * is parked: free ports of one switch are nobody's. */
	if (tag != 0 || (to != from && to != from_also && to_also != from && to_also != from_also))
		site->leaks++;
}

/* Every edge port sends, untagged and with every tag of our range. */
static void probe(struct site *site)
{
	for (uint32_t at = 0; at < LEAVES; at++) {
		for (uint32_t port = 0; port < LEAF_PORTS; port++) {
			site->from_at = at;
			site->from_port = port;
			for (unsigned tag = 98; tag <= 105; tag++) {
				site->copies +=
					sim_fabric_send(site->fabric, at, port, tag == 98 ? 0 : tag,
							on_arrived, site);
				site->frames++;
			}
		}
	}
}

static void turn(struct site *site)
{
	loop_run_once(site->loop);
	probe(site);
	usleep(300);
}

struct target {
	uint32_t at, port;
	bool hit;
};

static void on_target(void *context, uint32_t at, uint32_t port, unsigned tag)
{
	struct target *target = context;

	(void)tag;
	target->hit |= at == target->at && port == target->port;
}

static bool reaches(struct site *site, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
	struct target target = {.at = b, .port = b_port};

	(void)sim_fabric_send(site->fabric, a, a_port, 0, on_target, &target);
	return target.hit;
}

/* --- what is asked for --------------------------------------------------------- */

static void want(struct site *site, uint32_t at, uint32_t port, unsigned network)
{
	char text[200];

	site->also[at][port] = site->meant[at][port];
	site->meant[at][port] = (unsigned char)network;
	if (network)
		(void)text_format(text, sizeof(text),
				  "select port_park('leaf%u', 'p%u', 't'); "
				  "select attachment_put('leaf%u', 'p%u', %u, 'access', 't');",
				  at + 1, port + 1, at + 1, port + 1, network);
	else
		(void)text_format(text, sizeof(text), "select port_park('leaf%u', 'p%u', 't');",
				  at + 1, port + 1);
	assert_int_equal(sql(site, text), 0);
}

static bool wait_sql(struct site *site, const char *text, long value)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (clock_monotonic_ms() < deadline) {
		for (int i = 0; i < 100; i++)
			turn(site);
		if (ask(site, text) == value)
			return true;
	}
	(void)shell(
		"psql -qXAt '%s' -c \"set search_path = haas\" -c \"select port, wanted_version, "
		"applied_version, problem from port_intent where applied_version <> "
		"wanted_version\" -c 'select * from change_batch order by id desc limit 5' -c "
		"'select * from alert' >&2",
		site->admin);
	return false;
}

static void settle(struct site *site)
{
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version",
			     0));
	memcpy(site->also, site->meant, sizeof(site->also));
	if (!site->ours)
		site->copies = 0;
	site->ours = true;
}

static void assert_no_leak(struct site *site)
{
	print_message("frames sent %u, arrived %u, leaked %u, copies %u\n", site->frames,
		      site->arrivals, site->leaks, site->copies);
	assert_true(site->frames > 0);
	assert_int_equal(site->leaks, 0);
	assert_int_equal(site->copies, 0);
}

static struct sim_switch *leaf(struct site *site, uint32_t at)
{
	return sim_fabric_switch(site->fabric, at);
}

/* --- the tests ---------------------------------------------------------------------- */

static void ports_are_parked_attached_moved_and_released(void **state)
{
	struct site *site = *state;

	settle(site);
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 99);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	want(site, 1, 1, 2);
	want(site, 2, 1, 2);
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_true(reaches(site, 1, 1, 2, 1));
	assert_false(reaches(site, 0, 0, 1, 1));
	want(site, 1, 1, 1);
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 1));
	assert_false(reaches(site, 1, 1, 2, 1));
	want(site, 0, 0, 0);
	want(site, 1, 0, 0);
	want(site, 1, 1, 0);
	settle(site);
	assert_int_equal(sql(site, "select network_delete(1, 't');"), 0);
	assert_true(wait_sql(site, "select count(*) from network where id = 1", 0));
	assert_int_equal(ask(site, "select count(*) from vlan_history where valid_to is not null"),
			 1);
	assert_true(
		wait_sql(site, "select count(*) from network_vlan where state = 'quarantine'", 0));
	assert_false(vlan_set_has(&leaf(site, 0)->vlans, 100));
	assert_int_equal(ask(site, "select count(*) from change_batch where state <> 'done'"), 0);
	assert_int_equal(ask(site, "select count(*) from alert where cleared_at is null"), 0);
	assert_no_leak(site);
}

static void one_that_refuses_holds_up_nobody_else(void **state)
{
	struct site *site = *state;

	settle(site);
	leaf(site, 0)->trouble.refuse = 1000000;
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	want(site, 2, 0, 1);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version = "
			     "wanted_version and switch_id > 1 and wanted_version > 1",
			     2));
	assert_true(reaches(site, 1, 0, 2, 0));
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version and problem ->> 'message' ~ 'refused'",
			     1));
	assert_true(ask(site, "select count(*) from change_batch where state = 'undone'") > 0);
	leaf(site, 0)->trouble.refuse = 0;
	settle(site);
	assert_true(reaches(site, 0, 0, 2, 0));
	assert_no_leak(site);
}

static void one_that_is_away_is_told_of_and_comes_back(void **state)
{
	struct site *site = *state;

	settle(site);
	leaf(site, 1)->trouble.unreachable = true;
	want(site, 1, 0, 1);
	want(site, 2, 0, 1);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version and switch_id = 2 and problem ->> 'message' ~ 'leaf2'",
			     1));
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 3 and port = 'p1' "
			     "and applied_version = wanted_version",
			     1));
	leaf(site, 1)->trouble.unreachable = false;
	settle(site);
	assert_true(reaches(site, 1, 0, 2, 0));
	assert_no_leak(site);
}

static void half_done_silent_and_rebooting_switches_are_read_first(void **state)
{
	struct site *site = *state;

	settle(site);
	want(site, 0, 0, 2);
	want(site, 1, 1, 1);
	settle(site);
	leaf(site, 0)->trouble.half = 1;
	leaf(site, 1)->trouble.silent = 1;
	leaf(site, 2)->trouble.reboot_after = 2;
	leaf(site, 2)->trouble.reboot_ms = 700;
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	want(site, 2, 0, 1);
	want(site, 2, 1, 2);
	settle(site);
	assert_true(reaches(site, 0, 0, 2, 0));
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_false(reaches(site, 0, 0, 2, 1));
	assert_true(ask(site, "select count(*) from change_batch where state <> 'done'") > 0);
	assert_no_leak(site);
}

static void killed_between_sending_and_reading_back(void **state)
{
	struct site *site = *state;

	settle(site);
	for (unsigned round = 0; round < 6; round++) {
		uint64_t calls = leaf(site, 0)->calls;
		int64_t deadline = clock_monotonic_ms() + 2000;

		leaf(site, 1)->trouble.delay_ms = 50;
		want(site, 0, round, 1 + round % 2);
		want(site, 1, round, 1 + round % 2);
		while (leaf(site, 0)->calls <= calls + round % 3 && clock_monotonic_ms() < deadline)
			turn(site);
		engine_kill(site);
		probe(site);
		leaf(site, 1)->trouble.delay_ms = 0;
		engine_start(site);
		settle(site);
		assert_true(reaches(site, 0, round, 1, round));
	}
	assert_int_equal(ask(site, "select count(*) from change_batch where state not in ('done', "
				   "'undone', 'failed')"),
			 0);
	assert_int_equal(ask(site, "select count(*) from change where state in ('planned', 'sent')"
				   " and sent_at is not null"),
			 0);
	assert_no_leak(site);
}

static void a_foreign_change_is_told_of_and_repaired(void **state)
{
	struct port_vlans wrong = {.native = 101};
	struct port_vlans uplink;
	struct site *site = *state;
	CLEANUP(text_done) struct text diff = {0};
	struct problem problem = {0};

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	settle(site);
	want(site, 0, 1, 2);
	want(site, 1, 1, 2);
	settle(site);
	assert_no_leak(site);
	/* The prober has to see it while it lasts: a port in the wrong VLAN. */
	sim_fabric_set(site->fabric, 0, 0, &wrong);
	probe(site);
	assert_true(site->leaks > 0);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is not null",
			     1));
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 100);
	site->leaks = 0;
	/* An uplink, which no row speaks of. */
	uplink = leaf(site, 0)->ports[LEAF_PORTS].vlans;
	vlan_set_add(&uplink.tagged, 99);
	sim_fabric_set(site->fabric, 0, LEAF_PORTS, &uplink);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is not null",
			     2));
	assert_false(vlan_set_has(&leaf(site, 0)->ports[LEAF_PORTS].vlans.tagged, 99));
	/* Only told of, where the fabric says so; repaired when somebody asks. */
	assert_int_equal(sql(site, "update fabric set repair = 'report';"), 0);
	wrong.native = 1;
	sim_fabric_set(site->fabric, 0, 0, &wrong);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is null",
			     1));
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 1);
	assert_int_equal(reconcile_diff(site->reconcile, "leaf1", &diff, &problem), 0);
	assert_non_null(strstr(text_get(&diff), "\"observed\":\"access 1\""));
	assert_non_null(strstr(text_get(&diff), "\"applied\":\"access 100\""));
	assert_int_equal(reconcile_diff(site->reconcile, "leaf9", &diff, &problem), E_NOT_FOUND);
	assert_int_equal(reconcile_request(site->reconcile, "leaf1", &problem), 0);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is not null",
			     3));
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 100);
	/* What was seen meanwhile was ours to see; from here on there is nothing. */
	site->leaks = site->copies = 0;
	probe(site);
	assert_no_leak(site);
}

static void numbers_run_out_and_come_back(void **state)
{
	struct site *site = *state;

	settle(site);
	assert_int_equal(sql(site, "select network_create('n' || i, 'tenant', 'acme', null, null, "
				   "'t') from generate_series(4, 6) i;"),
			 0);
	for (unsigned n = 1; n <= 6; n++)
		want(site, 0, n - 1, n);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where problem ->> 'message' ~ "
			     "'fabric f1 has no free VLAN'",
			     1));
	assert_int_equal(ask(site, "select count(*) from alert where kind = 'network.vlan_short' "
				   "and cleared_at is null"),
			 1);
	/* Somebody gives one back; when it has rested, the one that waits gets it. */
	want(site, 0, 0, 0);
	assert_int_equal(sql(site, "select network_delete(1, 't');"), 0);
	settle(site);
	assert_int_equal(ask(site, "select count(*) from alert where kind = 'network.vlan_short' "
				   "and cleared_at is null"),
			 0);
	assert_no_leak(site);
}

static void postgresql_goes_and_comes_back(void **state)
{
	struct site *site = *state;

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	for (int i = 0; i < 20; i++)
		turn(site);
	assert_int_equal(sql(site, "select count(pg_terminate_backend(pid)) from pg_stat_activity "
				   "where usename = 'peregrined';"),
			 0);
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_no_leak(site);
}

static void who_stalled_cannot_act_after_a_take_over(void **state)
{
	struct site *site = *state;
	uint64_t edits;

	settle(site);
	assert_int_equal(sql(site, "update fabric_claim set owner = 'other', generation = "
				   "generation + 1, until = now() + interval '3 s';"),
			 0);
	edits = leaf(site, 0)->edits;
	want(site, 0, 0, 1);
	for (int i = 0; i < 1500; i++)
		turn(site);
	assert_int_equal(leaf(site, 0)->edits, edits);
	settle(site);
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 100);
	assert_true(ask(site, "select generation from fabric_claim") >= 3);
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, case_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(ports_are_parked_attached_moved_and_released),
		CASE(one_that_refuses_holds_up_nobody_else),
		CASE(one_that_is_away_is_told_of_and_comes_back),
		CASE(half_done_silent_and_rebooting_switches_are_read_first),
		CASE(killed_between_sending_and_reading_back),
		CASE(a_foreign_change_is_told_of_and_repaired),
		CASE(numbers_run_out_and_come_back),
		CASE(postgresql_goes_and_comes_back),
		CASE(who_stalled_cannot_act_after_a_take_over),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
