// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
/* The reconcile engine on a simulated fabric and a real PostgreSQL: attach, move, release; every
 * fault of a switch; kill between sending and reading back; a foreign change; PostgreSQL away. A
 * frame of every tenant is sent again and again while all this goes on, and none may leak. */
#include "tests/unit/reconcile_site.h"

/* --- the tests --- */

static void ports_are_parked_attached_moved_and_released(void **state)
{
	struct site *site = *state;

	settle(site);
	assert_true(is_parked(&leaf(site, 0)->ports[0].vlans));
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
	sql(site, "select network_delete(1, 't');");
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

/* Stopped while an edit is on its way, and woken when another peregrined has the fabric. */
static void who_wakes_up_late_sends_nothing(void **state)
{
	struct site *site = *state;
	int64_t until_ms;

	settle(site);
	leaf(site, 0)->trouble.hold = true;
	want(site, 0, 0, 1);
	assert_true(
		wait_sql(site, "select count(*) from change_batch where state = 'creating'", 1));
	until_ms = clock_boot_ms() + 4000; /* the claim of the site's engine */
	while (clock_boot_ms() < until_ms)
		usleep(1000);
	sql(site, "update fabric_claim set owner = 'other', generation = generation + 1, "
		  "until = now() + interval '1 h';");
	leaf(site, 0)->trouble.hold = false;
	until_ms = clock_boot_ms() + WAIT_MS;
	while (reconcile_stats(site->reconcile)->lost_claims == 0 && clock_boot_ms() < until_ms)
		turn(site);
	assert_int_equal(reconcile_stats(site->reconcile)->lost_claims, 1);
	assert_false(vlan_set_has(&leaf(site, 0)->vlans, 100));
	assert_true(is_parked(&leaf(site, 0)->ports[0].vlans));
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

static void an_uplink_that_is_refused_is_told_of(void **state)
{
	struct site *site = *state;

	settle(site);
	leaf(site, 0)->trouble.refuse_trunk = UINT32_MAX;
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.uplink_refused:leaf1' "
			     "and cleared_at is null",
			     1));
	assert_false(reaches(site, 0, 0, 1, 0));
	leaf(site, 0)->trouble.refuse_trunk = 0;
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.uplink_refused:leaf1' "
			     "and cleared_at is null",
			     0));
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_no_leak(site);
}

/* An agent that shows what its switch had a moment ago: it is read again, not called refused. One
 * that goes on so is. */
static void what_is_shown_late_is_waited_for(void **state)
{
	struct site *site = *state;
	struct problem problem = {0};

	settle(site);
	leaf(site, 0)->trouble.late = 4;
	want(site, 0, 0, 1);
	want(site, 0, 1, 1);
	settle(site);
	assert_true(leaf(site, 0)->trouble.late < 4);
	assert_int_equal(ask(site, "select count(*) from change_batch where problem ->> 'message' "
				   "~ 'does not show it'"),
			 0);
	assert_true(reaches(site, 0, 0, 0, 1));

	leaf(site, 0)->trouble.late = UINT32_MAX;
	want(site, 0, 2, 1);
	assert_true(wait_sql(site,
			     "select (count(*) > 0)::int from change_batch where problem ->> "
			     "'message' ~ 'does not show it'",
			     1));
	/* What it showed meanwhile may have been taken for what it has. */
	leaf(site, 0)->trouble.late = 0;
	assert_int_equal(reconcile_request(site->reconcile, "leaf1", &problem), 0);
	for (int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
	     !reaches(site, 0, 0, 0, 2) && clock_monotonic_ms() < end_ms;)
		turn(site);
	assert_true(reaches(site, 0, 0, 0, 2));
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
	vlan_set_add(&uplink.tagged, 30);
	sim_fabric_set(site->fabric, 0, LEAF_PORTS, &uplink);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is not null",
			     2));
	assert_false(vlan_set_has(&leaf(site, 0)->ports[LEAF_PORTS].vlans.tagged, 30));
	/* Only told of, where the fabric says so; repaired when somebody asks. */
	sql(site, "update fabric set repair = 'report';");
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

/* A cable was moved: its port counts as free, and what it is meant for stays where it is written.
 */
static void a_blocked_port_is_parked_whatever_it_is_meant_for(void **state)
{
	struct site *site = *state;

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	settle(site);
	site->also[0][0] = 0; /* it will be a free port like those beside it */
	/* Where foreign changes are only told of, it is parked as well: it is none. */
	sql(site, "update fabric set repair = 'report'; "
		  "insert into port_block (switch_id, port, kind, mac, wanted_version, "
		  "message) select i.switch_id, i.port, 'moved', '52:54:00:00:00:01', "
		  "i.wanted_version, 'm' from port_intent i join switch s on s.id = "
		  "i.switch_id where s.name = 'leaf1' and i.port = 'p1'; notify network;");
	assert_true(wait_sql(site,
			     "select count(*) from port_intent i join port_block b using "
			     "(switch_id, port) where i.applied_native between 30 and 49",
			     1));
	assert_true(is_parked(&leaf(site, 0)->ports[0].vlans));
	assert_false(reaches(site, 0, 0, 1, 0));
	assert_int_equal(ask(site, "select count(*) from attachment"), 2);
	/* Another intent ends the block by itself. */
	sql(site, "update port_intent set wanted_version = wanted_version + 1; "
		  "notify network;");
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_int_equal(ask(site, "select count(*) from port_block"), 1);
	assert_int_equal(ask(site, "select count(*) from alert"), 0);
	assert_no_leak(site);
}

/* Two nodes of one tenant tell by LLDP that each is the other's leaf; the row is as it would be if
 * they were believed. */
static void a_link_between_ports_of_nodes_is_none(void **state)
{
	struct port_vlans all = {.trunk = true};
	struct site *site = *state;

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	want(site, 0, 1, 2);
	want(site, 1, 1, 2);
	settle(site);
	site->also[0][0] = site->meant[0][0];
	site->meant[0][0] = 0;
	sql(site, "begin; select port_park('leaf1', 'p1', 't'); "
		  "insert into link (a_switch, a_port, b_switch, b_port, state, certainty, "
		  "since, seen_at) values (1, 'p1', 2, 'p1', 'confirmed', 100, now(), now()); "
		  "update link set state = 'gone' where a_switch = 1 and b_switch > 3; commit;");
	/* There is no other way from leaf1 to leaf2 now, and this is none: what is wanted of the
	 * nodes' ports goes on. */
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 1 and port = 'p1' "
			     "and applied_version = wanted_version",
			     1));
	assert_true(is_parked(&leaf(site, 0)->ports[0].vlans));
	sim_fabric_set(site->fabric, 1, 0, &all); /* somebody believed them */
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.drift' and "
			     "cleared_at is not null",
			     1));
	assert_int_equal(leaf(site, 1)->ports[0].vlans.native, 100);
	assert_true(vlan_set_is_empty(&leaf(site, 1)->ports[0].vlans.tagged));
	assert_false(reaches(site, 1, 0, 1, 1));
	assert_no_leak(site);
}

static void numbers_run_out_and_come_back(void **state)
{
	struct site *site = *state;

	settle(site);
	sql(site, "select network_create('n' || i, 'tenant', 'acme', null, null, "
		  "'t') from generate_series(4, 6) i;");
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
	sql(site, "select network_delete(1, 't');");
	settle(site);
	assert_int_equal(ask(site, "select count(*) from alert where kind = 'network.vlan_short' "
				   "and cleared_at is null"),
			 0);
	assert_no_leak(site);
}

/* Where a switch keeps numbers for itself, no network of the fabric gets one of them. */
/* Leaf 1 is of a family that would have a port in the old and the new VLAN for a moment. Two nodes
 * change places, each by a number of its own. */
static void a_family_that_enters_first_goes_by_the_parking_vlan(void **state)
{
	struct site *site = *state;

	sql(site, "update fabric set parking_vlan = 60, parking_count = 20;");
	settle(site);
	sql(site, "update switch_endpoint set family = 'hp-procurve' where "
		  "switch_id = 1;");
	want(site, 0, 0, 1);
	want(site, 0, 1, 2);
	want(site, 1, 0, 1);
	want(site, 1, 1, 2);
	settle(site);
	want(site, 0, 0, 2);
	want(site, 0, 1, 1);
	want(site, 1, 0, 2);
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0) && reaches(site, 0, 0, 1, 1));
	assert_false(reaches(site, 0, 1, 1, 0));
	/* By way of these there, and at once elsewhere. */
	assert_int_equal(ask(site, "select count(*) from change where switch_id = 1 and state = "
				   "'applied' and (edit -> 'before' ->> 'native')::int >= 100 and "
				   "(edit -> 'after' ->> 'native')::int between 60 and 79"),
			 2);
	assert_int_equal(ask(site, "select count(*) from change where switch_id = 2 and "
				   "(edit -> 'before' ->> 'native')::int >= 100 and "
				   "(edit -> 'after' ->> 'native')::int >= 100"),
			 1);
	assert_int_equal(ask(site, "select count(*) from change_batch where state <> 'done'"), 0);
	assert_no_leak(site);
}

/* An ECS keeps 4093 for itself: said once, by the port as well, and over when there is another
 * number. */
static void a_port_without_a_way_is_told_of(void **state)
{
	struct site *site = *state;

	want(site, 0, 0, 1);
	settle(site);
	sql(site, "update fabric set parking_vlan = 4093, parking_count = 1;");
	sql(site, "update switch_endpoint set family = 'edgecore-ecs' where "
		  "switch_id = 1;");
	want(site, 0, 0, 2);
	assert_true(wait_sql(
		site,
		"select count(*) from alert where key = 'switch.no_parking:leaf1' and "
		"detail -> 'ports' ? 'p1' and message ~ 'reserves all' and cleared_at is null",
		1));
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 1 and port = 'p1' "
			     "and wanted_version <> applied_version and problem ->> 'message' ~ "
			     "'has no free one'",
			     1));
	sql(site, "update fabric set parking_vlan = 60, parking_count = 20;");
	settle(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.no_parking:leaf1' and "
			     "cleared_at is not null",
			     1));
	assert_int_equal(
		ask(site, "select count(*) from alert where key = 'switch.no_parking:leaf1'"), 1);
	assert_no_leak(site);
}

static void numbers_are_such_that_every_switch_can_carry(void **state)
{
	struct site *site = *state;

	settle(site);
	sql(site, "update switch_endpoint set family = 'cisco-nxos' where "
		  "switch_id = 2;"
		  "update fabric set vlan_low = 3967, vlan_high = 3975;");
	want(site, 0, 0, 1);
	settle(site);
	assert_int_equal(ask(site, "select vlan from network_vlan"), 3967);
	want(site, 0, 1, 2);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where problem ->> 'detail' ~ "
			     "'8 that a switch cannot carry'",
			     1));
	sql(site, "update switch_endpoint set family = '' where switch_id = 2;");
	reconcile_wake(site->reconcile);
	settle(site);
	assert_int_equal(ask(site, "select max(vlan) from network_vlan"), 3968);
}

static void postgresql_goes_and_comes_back(void **state)
{
	struct site *site = *state;

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	for (int i = 0; i < 20; i++)
		turn(site);
	sql(site, "select count(pg_terminate_backend(pid)) from pg_stat_activity "
		  "where usename = 'peregrined';");
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
	assert_no_leak(site);
}

/* On a busy machine a claim may run out and be extended again. */
static bool has_claim(struct site *site)
{
	int64_t end_ms = clock_monotonic_ms() + WAIT_MS;

	while (clock_monotonic_ms() < end_ms) {
		if (reconcile_claim(site->reconcile, 1) ==
		    ask(site, "select generation from fabric_claim"))
			return true;
		for (int i = 0; i < 100; i++)
			turn(site);
	}
	return false;
}

static void who_stalled_cannot_act_after_a_take_over(void **state)
{
	struct site *site = *state;
	uint64_t edits;

	settle(site);
	assert_true(has_claim(site));
	sql(site, "update fabric_claim set owner = 'other', generation = "
		  "generation + 1, until = now() + interval '1 hour';");
	edits = leaf(site, 0)->edits;
	want(site, 0, 0, 1);
	for (int i = 0; i < 1500; i++)
		turn(site);
	assert_int_equal(leaf(site, 0)->edits, edits);
	assert_int_equal(reconcile_claim(site->reconcile, 1), 0);
	sql(site, "update fabric_claim set until = now();");
	settle(site);
	assert_true(has_claim(site));
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 100);
	assert_true(ask(site, "select generation from fabric_claim") >= 3);
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, case_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(ports_are_parked_attached_moved_and_released),
		CASE(who_wakes_up_late_sends_nothing),
		CASE(one_that_refuses_holds_up_nobody_else),
		CASE(one_that_is_away_is_told_of_and_comes_back),
		CASE(half_done_silent_and_rebooting_switches_are_read_first),
		CASE(an_uplink_that_is_refused_is_told_of),
		CASE(what_is_shown_late_is_waited_for),
		CASE(killed_between_sending_and_reading_back),
		CASE(a_foreign_change_is_told_of_and_repaired),
		CASE(a_blocked_port_is_parked_whatever_it_is_meant_for),
		CASE(a_link_between_ports_of_nodes_is_none),
		CASE(numbers_run_out_and_come_back),
		CASE(a_family_that_enters_first_goes_by_the_parking_vlan),
		CASE(a_port_without_a_way_is_told_of),
		CASE(numbers_are_such_that_every_switch_can_carry),
		CASE(postgresql_goes_and_comes_back),
		CASE(who_stalled_cannot_act_after_a_take_over),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
