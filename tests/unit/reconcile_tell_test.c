// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
//: timeout 300
/* What is told of and when it ends: saves that fail, ports that cannot be proven, foreign changes,
 * alerts of an earlier life. */
#include "tests/unit/reconcile_site.h"

/* A power cut would take it back, so it is tried until it is done, and told of meanwhile. */
static void a_save_that_fails_is_told_of_and_tried_again(void **state)
{
	struct site *site = *state;
	CLEANUP(text_done) struct text diff = {0};
	struct problem problem = {0};

	settle(site);
	assert_true(wait_sql(site, "select count(*) from alert", 0));
	leaf(site, 0)->trouble.refuse_save = 1000;
	want(site, 0, 0, 1);
	settle(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.unsaved:leaf1' and "
			     "message ~ 'the flash is full' and cleared_at is null",
			     1));
	assert_int_equal(reconcile_diff(site->reconcile, "leaf1", &diff, &problem), 0);
	assert_non_null(strstr(text_get(&diff), "\"saved\":false"));
	assert_non_null(strstr(text_get(&diff), "the flash is full"));
	/* Also by the next life, which knows it from the alert alone. */
	engine_kill(site);
	sql(site, "update change set ended_at = ended_at - interval '1 hour';");
	leaf(site, 0)->trouble.refuse_save = 1;
	engine_start(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.unsaved:leaf1' and "
			     "cleared_at is not null",
			     1));
	assert_true(leaf(site, 0)->ports[0].saved.native == leaf(site, 0)->ports[0].vlans.native);
	assert_no_leak(site);
}

/* From one tenant's network into another's: until that is saved a reboot would bring the port back
 * to those whom it has left, so nobody is told that it has arrived. */
static void a_port_that_changes_hands_is_applied_when_it_was_saved(void **state)
{
	static const char unmet[] = "select count(*) from port_intent where switch_id = 1 and port "
				    "= 'p1' and wanted_version <> applied_version";
	struct site *site = *state;
	const struct sim_port *port = &leaf(site, 0)->ports[0];
	uint16_t red;
	uint16_t blue;

	settle(site);
	want(site, 0, 0, 1);
	want(site, 1, 1, 2);
	settle(site);
	red = port->vlans.native;
	blue = leaf(site, 1)->ports[1].vlans.native;
	assert_true(wait_saved(site, 0));
	assert_int_equal(port->saved.native, red);
	leaf(site, 0)->trouble.refuse_save = 100000;
	want(site, 0, 0, 2);
	/* It is there, and shown to be; the switch would start with it in red. */
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 1 and port = 'p1' "
			     "and wanted_version <> applied_version and problem ->> 'message' = "
			     "'switch leaf1 does not save its configuration: the flash is full'",
			     1));
	assert_int_equal(port->vlans.native, blue);
	assert_int_equal(port->saved.native, red);
	/* What that is about: it comes back as it was, and goes again. */
	sim_fabric_reboot(site->fabric, 0);
	assert_int_equal(port->vlans.native, red);
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     port->vlans.native != blue && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_int_equal(port->vlans.native, blue);
	assert_int_equal(ask(site, unmet), 1);
	/* The next life does not know what was saved, and says nothing before it is. */
	engine_kill(site);
	sql(site, "update change set ended_at = ended_at - interval '1 hour';");
	engine_start(site);
	for (unsigned saves = 0, i = 0; saves < 2 && i < 100000; i++) {
		uint32_t refused = leaf(site, 0)->trouble.refuse_save;

		turn(site);
		saves += refused != leaf(site, 0)->trouble.refuse_save;
	}
	assert_int_equal(ask(site, unmet), 1);
	leaf(site, 0)->trouble.refuse_save = 0;
	settle(site);
	assert_int_equal(port->saved.native, blue);
	/* To be nobody's waits for nothing; to be somebody's after that does. */
	leaf(site, 0)->trouble.refuse_save = 100000;
	want(site, 0, 0, 0);
	settle(site);
	assert_int_equal(port->saved.native, blue);
	want(site, 0, 0, 1);
	for (int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	     port->vlans.native != red && clock_monotonic_ms() < until_ms;)
		turn(site);
	assert_int_equal(port->vlans.native, red);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 1 and port = 'p1' "
			     "and problem ->> 'message' ~ 'does not save'",
			     1));
	assert_int_equal(ask(site, unmet), 1);
	leaf(site, 0)->trouble.refuse_save = 0;
	settle(site);
	assert_int_equal(port->saved.native, red);
	assert_no_leak(site);
}

/* Not refused, and not passed over in silence. */
static void access_ports_that_cannot_be_proven_are_told_of(void **state)
{
	struct site *site = *state;
	CLEANUP(text_done) struct text diff = {0};
	struct problem problem = {0};

	settle(site);
	leaf(site, 2)->trouble.unproven = true;
	want(site, 2, 3, 1);
	settle(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.tags_unproven:leaf3' "
			     "and detail ->> 'ports' = '[\"p4\"]' and cleared_at is null",
			     1));
	assert_int_equal(reconcile_diff(site->reconcile, "leaf3", &diff, &problem), 0);
	assert_non_null(strstr(text_get(&diff), "\"unproven\":[\"p4\"]"));
	leaf(site, 2)->trouble.unproven = false;
	want(site, 2, 3, 0);
	settle(site);
	assert_true(wait_sql(site, "select count(*) from alert where cleared_at is null", 0));
	assert_no_leak(site);
}

/* Puts a port of a node into a provisioning network, as its place would. */
static void provision(struct site *site, const char *network, unsigned leaf, unsigned port)
{
	CLEANUP(text_done) struct text text = {0};

	text_addf(&text,
		  "insert into node (name) values ('n%u%u');"
		  "select attachment_put('leaf%u', 'p%u', (select id from network where name = "
		  "'%s'), 'access', 't');"
		  "update port_intent i set wanted_version = wanted_version + 1, node_id = (select "
		  "id from node where name = 'n%u%u') from switch s where s.id = i.switch_id and "
		  "s.name = 'leaf%u' and i.port = 'p%u'; notify network",
		  leaf, port, leaf, port, network, leaf, port, leaf, port);
	sql(site, text_get(&text));
}

static void isolation_is(struct site *site, const char *leaf, const char *word)
{
	CLEANUP(text_done) struct text text = {0};

	text_addf(&text,
		  "select count(*) from switch_ability a join switch s on s.id = a.switch_id where "
		  "s.name = '%s' and a.apart = '%s' and exists (select from alert where key = "
		  "'switch.provisioning_open:%s' and cleared_at is null) = (a.apart <> 'isolated')",
		  leaf, word, leaf);
	if (!wait_sql(site, text_get(&text), 1))
		fail_msg("%s is not %s", leaf, word);
}

/* Nodes in the provisioning network hear us alone where the switch can be told so; where it cannot,
 * or does not show it, that is an alert with its name. */
static void provisioning_ports_are_kept_apart(void **state)
{
	struct site *site = *state;
	struct port_vlans wrong;

	leaf(site, 2)->trouble.apart_untold = true;
	sql(site, "update switch_endpoint set family = 'sim' where switch_id = 1;"
		  "select network_create('prov', 'provisioning', null, null, null, 't')");
	provision(site, "prov", 1, 1);
	settle(site);
	assert_true(leaf(site, 0)->ports[0].vlans.apart);
	provision(site, "prov", 1, 2);
	isolation_is(site, "leaf1", "isolated");
	assert_true(leaf(site, 0)->ports[1].vlans.apart);
	provision(site, "prov", 2, 1);
	isolation_is(site, "leaf1", "between");
	isolation_is(site, "leaf2", "between");
	provision(site, "prov", 2, 2);
	isolation_is(site, "leaf2", "open");
	provision(site, "prov", 3, 1);
	provision(site, "prov", 3, 2);
	isolation_is(site, "leaf3", "untold");
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = "
			     "'switch.provisioning_open:leaf2' and detail ->> 'ports' = "
			     "'[\"p1\", \"p2\"]' and cleared_at is null",
			     1));
	/* It follows the ports. */
	provision(site, "prov", 2, 3);
	assert_true(wait_sql(
		site,
		"select count(*) from alert where key = "
		"'switch.provisioning_open:leaf2' and detail ->> 'ports' = "
		"'[\"p1\", \"p2\", \"p3\"]' and message ~ '3 ports' and cleared_at is null",
		1));
	sql(site, "update port_intent set node_id = null where switch_id = 2 and port = 'p1'");
	want(site, 1, 0, 1);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = "
			     "'switch.provisioning_open:leaf2' and detail ->> 'ports' = "
			     "'[\"p2\", \"p3\"]' and cleared_at is null",
			     1));
	/* What a tenant gets afterwards hears its own. */
	sql(site, "update port_intent set node_id = null, wanted_version = wanted_version + 1");
	want(site, 0, 0, 1);
	settle(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where kind = 'switch.provisioning_open' "
			     "and cleared_at is null",
			     0));
	assert_false(leaf(site, 0)->ports[0].vlans.apart);
	assert_false(leaf(site, 0)->ports[1].vlans.apart);
	/* Somebody else's doing is seen and repaired. */
	wrong = leaf(site, 0)->ports[0].vlans;
	wrong.apart = true;
	sim_fabric_set(site->fabric, 0, 0, &wrong);
	assert_true(wait_sql(site, "select count(*) from event where kind = 'switch.repaired'", 1));
	assert_false(leaf(site, 0)->ports[0].vlans.apart);
}

/* One VLAN a port keeps nodes apart at any switch, also at one that shows nothing or has nothing
 * else. Which one has nothing is said. */
static void a_port_alone_in_its_vlan_is_apart(void **state)
{
	struct site *site = *state;

	leaf(site, 2)->trouble.apart_untold = true;
	sql(site, "select network_create('prov', 'provisioning', null, null, null, 't');"
		  "select network_create('second', 'provisioning', null, null, null, 't')");
	provision(site, "prov", 2, 1);
	provision(site, "second", 3, 1);
	settle(site);
	isolation_is(site, "leaf2", "isolated");
	isolation_is(site, "leaf3", "isolated");
	provision(site, "second", 3, 2);
	isolation_is(site, "leaf3", "untold");
	sql(site,
	    "update switch_endpoint set family = 'sonic' where switch_id = 3; notify network");
	isolation_is(site, "leaf3", "cannot");
	isolation_is(site, "leaf2", "isolated");
	provision(site, "second", 2, 2);
	isolation_is(site, "leaf2", "between");
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = "
			     "'switch.provisioning_open:leaf3' and message ~ '^it cannot keep' "
			     "and detail ->> 'ports' = '[\"p1\", \"p2\"]' and cleared_at is null",
			     1));
}

/* From the first moment on, not only when nothing else is going on: the row of what it was set to
 * carry says so, also in the next life. */
static void one_that_shows_no_ports_is_told_of(void **state)
{
	struct site *site = *state;

	leaf(site, 1)->trouble.no_ports = true;
	want(site, 1, 0, 1);
	want(site, 2, 0, 1);
	assert_true(wait_sql(
		site,
		"select count(*) from port_intent where switch_id = 2 and port = 'p1' "
		"and problem ->> 'message' ~ 'leaf2 cannot be configured: it does not show its "
		"ports' and problem ->> 'hint' <> ''",
		1));
	leaf(site, 1)->trouble.no_ports = false;
	settle(site);
	assert_true(reaches(site, 1, 0, 2, 0));
	assert_no_leak(site);
}

/* The mark moves once for both. */
static void a_port_moved_by_hand_beside_a_change_of_ours_is_repaired(void **state)
{
	const struct port_vlans wrong = {.native = 98}; /* which no switch has */
	struct site *site = *state;

	leaf(site, 0)->tells_members = true;
	settle(site);
	want(site, 0, 1, 1);
	settle(site);
	assert_true(wait_saved(site, 0));
	leaf(site, 0)->trouble.hold = true;
	want(site, 0, 0, 1);
	assert_true(wait_sql(site, "select count(*) from change_batch where ended_at is null", 1));
	sim_fabric_set(site->fabric, 0, 7, &wrong);
	leaf(site, 0)->trouble.hold = false;
	settle(site);
	assert_true(wait_sql(site, "select count(*) from event where kind = 'switch.repaired'", 1));
	assert_true(is_parked(&leaf(site, 0)->ports[7].vlans));
	assert_no_leak(site);
}

static void a_foreign_change_of_an_uplink_is_only_told_of_where_asked(void **state)
{
	struct port_vlans uplink;
	struct site *site = *state;
	struct problem problem = {0};

	sql(site, "update fabric set repair = 'report';");
	spread(site);
	/* All that it changes is known as its own before it dies, the uplink that is changed by hand too. */
	assert_true(wait_sql(
		site, "select (count(*) > 2)::int from uplink_applied where tagged <> ''", 1));
	assert_true(
		wait_sql(site,
			 "select count(*) from uplink_applied u join switch s on s.id = "
			 "u.switch_id where s.name = 'leaf1' and u.port = 'p9' and tagged <> ''",
			 1));
	engine_kill(site);
	uplink = leaf(site, 0)->ports[LEAF_PORTS].vlans;
	vlan_set_add(&uplink.tagged, 103);
	sim_fabric_set(site->fabric, 0, LEAF_PORTS, &uplink);
	engine_start(site);
	want(site, 2, 6, 1); /* and there is something to do as well */
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.drift:leaf1' and "
			     "cleared_at is null",
			     1));
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version",
			     0));
	assert_true(vlan_set_has(&leaf(site, 0)->ports[LEAF_PORTS].vlans.tagged, 103));
	assert_int_equal(reconcile_request(site->reconcile, "leaf1", &problem), 0);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.drift:leaf1' and "
			     "cleared_at is not null",
			     1));
	assert_false(vlan_set_has(&leaf(site, 0)->ports[LEAF_PORTS].vlans.tagged, 103));
}

/* Alerts outlive us. What they tell of may end meanwhile, together with its switch or fabric, or
 * stay. */
static void alerts_of_an_earlier_life_end_with_their_cause(void **state)
{
	const struct port_vlans wrong = {.native = 500}; /* nobody's of ours */
	struct site *site = *state;
	long id;

	sql(site, "update fabric set repair = 'report';");
	spread(site);
	engine_kill(site);
	sql(site, "insert into alert (key, kind, severity, subject_kind, subject, message) "
		  "select k || ':' || s, k, 'warning', split_part(o, ' ', 2), s, 'of before' "
		  "from (values ('fabric.isolation', 'f fabric', 'f1'), "
		  "('network.vlan_leak', 'f fabric', 'f1'), "
		  "('network.vlan_short', 'f fabric', 'f1'), "
		  "('switch.undo_failed', 'f fabric', 'f1'), "
		  "('switch.undo_failed', 'f fabric', 'gone'), "
		  "('switch.tags_unproven', 's switch', 'leaf2'), "
		  "('switch.drift', 's switch', 'leaf2'), "
		  "('switch.drift', 's switch', 'leaf3'), "
		  "('switch.drift', 's switch', 'gone'), "
		  "('wiring.missing', 'p port', 'leaf1:p1')) as x (k, o, s);");
	sim_fabric_set(site->fabric, 2, 7, &wrong); /* leaf3's cause is there */
	id = ask(site, "select id from alert where key = 'switch.drift:leaf3'");
	engine_start(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where cleared_at is null and key not in "
			     "('switch.drift:leaf3', 'wiring.missing:leaf1:p1')",
			     0));
	assert_int_equal(ask(site, "select count(*) from alert where cleared_at is null"), 2);
	assert_int_equal(ask(site, "select count(*) from event where kind = 'alert.cleared' and "
				   "subject = 'gone'"),
			 2);
	assert_int_equal(ask(site, "select count(*) from alert where key = 'switch.drift:leaf3'"),
			 1);
	assert_int_equal(ask(site, "select id from alert where key = 'switch.drift:leaf3' and "
				   "cleared_at is null"),
			 id);
	assert_int_equal(leaf(site, 2)->ports[7].vlans.native, 500); /* it is told of only */
	engine_kill(site);
	sim_fabric_set(site->fabric, 2, 7, &leaf(site, 1)->ports[7].vlans);
	engine_start(site);
	assert_true(wait_sql(site, "select count(*) from alert where cleared_at is null", 1));
	assert_no_leak(site);
}

/* Of a switch that does not answer nobody can say that it is well again. */
static void silence_ends_no_alert(void **state)
{
	struct site *site = *state;

	settle(site);
	engine_kill(site);
	sql(site,
	    "insert into alert (key, kind, severity, subject_kind, subject, message) "
	    "values ('switch.drift:leaf1', 'switch.drift', 'warning', 'switch', 'leaf1', 'x'), "
	    "('switch.drift:leaf2', 'switch.drift', 'warning', 'switch', 'leaf2', 'x'), "
	    "('fabric.isolation:f1', 'fabric.isolation', 'critical', 'fabric', 'f1', 'x');");
	leaf(site, 0)->trouble.unreachable = true;
	engine_start(site);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'switch.drift:leaf2' and "
			     "cleared_at is not null",
			     1));
	assert_int_equal(ask(site, "select count(*) from alert where cleared_at is null"), 2);
	leaf(site, 0)->trouble.unreachable = false;
	assert_true(wait_sql(site, "select count(*) from alert where cleared_at is null", 0));
}

/* User 10: after a restart beside a leaf that is silent, its cables are reported by one end alone.
 * Networks on them are where they were put; nobody is woken. */
static void a_silent_leaf_is_no_foreign_port(void **state)
{
	struct site *site = *state;

	spread(site);
	engine_kill(site);
	leaf(site, 2)->trouble.unreachable = true;
	sql(site, "update link set state = 'claimed' where a_switch = 3;");
	engine_start(site);
	want(site, 0, 5, 1); /* a pass with something to do, and one without */
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version",
			     0));
	assert_int_equal(ask(site, "select count(*) from alert where kind = 'fabric.isolation'"),
			 0);
	leaf(site, 2)->trouble.unreachable = false;
	sql(site, "update link set state = 'confirmed' where a_switch = 3;");
	settle(site);
	assert_no_leak(site);
}

/* User 10: who is where he may not be, and the command that shows more. */
static void an_isolation_alert_names_tenant_switch_and_port(void **state)
{
	struct site *site = *state;
	struct port_vlans stranger = {0};

	spread(site);
	stranger.native = leaf(site, 0)->ports[0].vlans.native;
	sql(site, "select port_release('leaf2', 'p8', 't');");
	sim_fabric_set(site->fabric, 1, 7, &stranger);
	assert_true(wait_sql(site,
			     "select count(*) from alert where key = 'fabric.isolation:f1' and "
			     "message = 'port leaf2:p8 is in network red of tenant acme; the port "
			     "is not ours' and detail ->> 'hint' = 'haasctl switch diff leaf2 "
			     "shows what differs there'",
			     1));
}

/* Switches 5 and 10: nothing is sent to a switch that lacks something, and its ports say what. */
static void a_switch_that_lacks_something_is_not_set(void **state)
{
	static const char unmet[] =
		"select count(*) from port_intent where applied_version <> wanted_version";
	struct site *site = *state;
	uint64_t edits;

	settle(site);
	edits = leaf(site, 2)->edits;
	site->lacking = 3;
	want(site, 0, 0, 1);
	want(site, 2, 0, 1);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 3 and port = 'p1' "
			     "and problem ->> 'message' = 'nobody said how it is set'",
			     1));
	assert_true(wait_sql(site, unmet, 1));
	assert_int_equal(leaf(site, 2)->edits, edits);
	site->lacking = 0;
	reconcile_wake(site->reconcile);
	assert_true(wait_sql(site, unmet, 0));
	assert_no_leak(site);
}

/* Entered again under another address: what was set there would be set under whoever is at the
 * first, and what is not wanted there taken away. */
static void a_switch_that_was_entered_twice_is_set_once(void **state)
{
	struct site *site = *state;
	uint64_t edits;

	settle(site);
	engine_kill(site);
	(void)text_copy(leaf(site, 0)->chassis, sizeof(leaf(site, 0)->chassis),
			"02:00:00:00:00:aa");
	(void)text_copy(leaf(site, 2)->chassis, sizeof(leaf(site, 2)->chassis),
			"02:00:00:00:00:AA");
	edits = leaf(site, 2)->edits;
	engine_start(site);
	want(site, 0, 0, 1);
	want(site, 1, 0, 1);
	want(site, 2, 0, 1);
	assert_true(wait_sql(
		site,
		"select count(*) from port_intent where switch_id = 3 and port = 'p1' and "
		"applied_version <> wanted_version and problem ->> 'message' = 'switch leaf3 "
		"reports the chassis id of switch leaf1: it is not configured'",
		1));
	assert_true(wait_sql(
		site, "select count(*) from port_intent where applied_version <> wanted_version",
		1));
	assert_int_equal(leaf(site, 0)->ports[0].vlans.native, 100);
	assert_int_equal(leaf(site, 2)->edits, edits);
	/* A name may be many a switch's. */
	engine_kill(site);
	(void)text_copy(leaf(site, 0)->chassis, sizeof(leaf(site, 0)->chassis), "Switch");
	(void)text_copy(leaf(site, 2)->chassis, sizeof(leaf(site, 2)->chassis), "Switch");
	engine_start(site);
	assert_true(wait_sql(
		site, "select count(*) from port_intent where applied_version <> wanted_version",
		0));
	(void)text_copy(leaf(site, 0)->chassis, sizeof(leaf(site, 0)->chassis),
			"02:00:00:00:00:aa");
	(void)text_copy(leaf(site, 2)->chassis, sizeof(leaf(site, 2)->chassis),
			"02:00:00:00:00:AA");
	edits = leaf(site, 2)->edits;
	/* The first is silent, in a life that has not heard it: its last reading counts. */
	engine_kill(site);
	leaf(site, 0)->trouble.unreachable = true;
	sql(site, "insert into switch_observed (switch_id, family, object_id, text, "
		  "system, chassis, uptime_ms, reachable, asked_at) values (1, '', '', "
		  "'', '', '02:00:00:00:00:aa', 1, false, now());");
	engine_start(site);
	want(site, 1, 1, 2);
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where switch_id = 2 and "
			     "applied_version <> wanted_version",
			     0));
	assert_int_equal(leaf(site, 2)->edits, edits);
	/* It is a switch of its own. */
	leaf(site, 0)->trouble.unreachable = false;
	(void)text_copy(leaf(site, 2)->chassis, sizeof(leaf(site, 2)->chassis),
			"02:00:00:00:00:ab");
	settle(site);
	assert_int_equal(leaf(site, 2)->ports[0].vlans.native, 100);
	assert_no_leak(site);
}

/* A mirror session was there when it was saved, and is not any more. */
static void what_was_saved_beside_something_else_is_saved_again(void **state)
{
	struct site *site = *state;
	int64_t began_ms = clock_monotonic_ms();
	int64_t until_ms;
	uint64_t saves;
	uint64_t calls;

	settle(site);
	want(site, 0, 0, 1);
	settle(site);
	assert_true(wait_saved(site, 0));
	assert_true(wait_sql(site, "select count(*) from switch_unsaved where switch_id = 1", 0));
	saves = leaf(site, 0)->saves;
	calls = reconcile_stats(site->reconcile)->calls;
	/* nothing was saved since; nobody can say whether it is ours */
	reconcile_save_again(site->reconcile, 1, clock_monotonic_ms() + 1);
	assert_int_equal(reconcile_stats(site->reconcile)->calls, calls);
	reconcile_db_state(site->reconcile, false);
	reconcile_save_again(site->reconcile, 1, began_ms);
	assert_int_equal(reconcile_stats(site->reconcile)->calls, calls);
	assert_int_equal(leaf(site, 0)->saves, saves);
	reconcile_db_state(site->reconcile, true);
	until_ms = clock_monotonic_ms() + WAIT_MS;
	while (leaf(site, 0)->saves == saves && clock_monotonic_ms() < until_ms)
		turn(site);
	assert_true(leaf(site, 0)->saves > saves);
	reconcile_save_again(site->reconcile, 1000, began_ms); /* not ours */
	assert_no_leak(site);
}

/* The fabric becomes another peregrined's, with nothing heard of in between. */
static void lose(struct site *site)
{
	reconcile_db_state(site->reconcile, false);
	sql(site, "update fabric_claim set owner = 'another', generation = "
		  "generation + 1, until = now() + interval '1 day';");
	reconcile_db_state(site->reconcile, true);
	assert_int_equal(reconcile_claim(site->reconcile, 1), 0);
}

static void gain(struct site *site)
{
	int64_t until_ms = clock_monotonic_ms() + WAIT_MS;

	reconcile_db_state(site->reconcile, false);
	sql(site, "update fabric_claim set until = now();");
	reconcile_db_state(site->reconcile, true);
	while (!reconcile_claim(site->reconcile, 1) && clock_monotonic_ms() < until_ms)
		turn(site);
	assert_int_not_equal(reconcile_claim(site->reconcile, 1), 0);
}

static void turn_for(struct site *site, int64_t ms)
{
	for (int64_t until_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < until_ms;)
		turn(site);
}

static bool wait_saves(struct site *site, uint64_t more_than)
{
	int64_t until_ms = clock_monotonic_ms() + WAIT_MS;

	while (leaf(site, 0)->saves <= more_than && clock_monotonic_ms() < until_ms)
		turn(site);
	return leaf(site, 0)->saves > more_than;
}

static void wait_refused(struct site *site)
{
	int64_t until_ms = clock_monotonic_ms() + WAIT_MS;

	while (leaf(site, 0)->trouble.refuse_save > 0 && clock_monotonic_ms() < until_ms)
		turn(site);
	assert_int_equal(leaf(site, 0)->trouble.refuse_save, 0);
}

/* Whose fabric it is saves what it changed: a saving that nobody needs but for what was saved along
 * with it is tried again only by that one, also after it failed. */
static void what_was_saved_beside_is_saved_again_by_whose_it_is(void **state)
{
	enum { SURELY_DUE_MS = 6500 }; /* a saving that failed is due after 5 s */
	struct site *site = *state;
	int64_t began_ms = clock_monotonic_ms();
	uint64_t saves;

	settle(site);
	want(site, 0, 0, 1);
	settle(site);
	assert_true(wait_saved(site, 0));
	assert_true(wait_sql(site, "select count(*) from switch_unsaved where switch_id = 1", 0));
	leaf(site, 0)->trouble.refuse_save = 1;
	reconcile_save_again(site->reconcile, 1, began_ms);
	wait_refused(site);
	lose(site);
	saves = leaf(site, 0)->saves;
	turn_for(site, SURELY_DUE_MS);
	assert_int_equal(leaf(site, 0)->saves, saves);
	gain(site);
	assert_true(wait_saves(site, saves));
	assert_true(wait_sql(site, "select count(*) from alert where cleared_at is null", 0));
	/* Asked for while one is under way, which ends well when it is another's. */
	leaf(site, 0)->trouble.delay_ms = 300;
	saves = leaf(site, 0)->saves;
	reconcile_save_again(site->reconcile, 1, began_ms);
	reconcile_save_again(site->reconcile, 1, began_ms);
	lose(site);
	assert_true(wait_saves(site, saves));
	leaf(site, 0)->trouble.delay_ms = 0;
	saves = leaf(site, 0)->saves;
	turn_for(site, 1000);
	assert_int_equal(leaf(site, 0)->saves, saves);
	gain(site);
	assert_true(wait_saves(site, saves));
	assert_no_leak(site);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, patient_start, case_stop)
	const struct CMUnitTest tests[] = {
		CASE(a_save_that_fails_is_told_of_and_tried_again),
		CASE(a_port_that_changes_hands_is_applied_when_it_was_saved),
		CASE(what_was_saved_beside_something_else_is_saved_again),
		CASE(what_was_saved_beside_is_saved_again_by_whose_it_is),
		CASE(access_ports_that_cannot_be_proven_are_told_of),
		CASE(provisioning_ports_are_kept_apart),
		CASE(a_port_alone_in_its_vlan_is_apart),
		CASE(one_that_shows_no_ports_is_told_of),
		CASE(a_port_moved_by_hand_beside_a_change_of_ours_is_repaired),
		CASE(a_foreign_change_of_an_uplink_is_only_told_of_where_asked),
		CASE(alerts_of_an_earlier_life_end_with_their_cause),
		CASE(silence_ends_no_alert),
		CASE(a_silent_leaf_is_no_foreign_port),
		CASE(an_isolation_alert_names_tenant_switch_and_port),
		CASE(a_switch_that_lacks_something_is_not_set),
		CASE(a_switch_that_was_entered_twice_is_set_once),
	};

	return cmocka_run_group_tests(tests, site_start, site_stop);
}
