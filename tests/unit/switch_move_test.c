// links: peregrine_reconcile peregrine_network peregrine_switch sim_switch_cli
/* A node's port on its way from one membership to another, by every way of writing that there is:
 * looked at after each line, message or object, it is never in VLANs of two networks, nor in one
 * that it neither leaves nor enters. Plans are the reconciler's, lines and messages the drivers',
 * and the switches are the emulators, which come from the vendors' documents; SNMP is played object
 * by object, as an agent that is not atomic would do it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/control/reconcile/diff_policy.h"
#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/cli/cli_wire.h"
#include "peregrine/switch/netconf/netconf_plan_policy.h"
#include "peregrine/switch/netconf/netconf_xml_wire.h"
#include "peregrine/switch/snmp/snmp_plan.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/sim/command_line/switch_player.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_facts_make.h"

enum { PARKING = 900, BYSTANDER = 140, PORT = 3, BASE_PORT = 6, ROUNDS = 2, OID_SIZE = 160 };

struct way {
	const char *family;            /* of switch_family_table */
	const char *emulator, *model;  /* of `switch_cli --help`; NULL, NULL: SNMP */
	const struct cli_dialect *cli; /* NULL: NETCONF, or SNMP */
	bool needs_native;
};

static const struct way ways[] = {
	{"cisco-ios", "ios", NULL, &cli_dialect_ios, false},
	{"cisco-nxos", "nxos", NULL, &cli_dialect_nxos, false},
	{"hp-procurve", "procurve", NULL, &cli_dialect_procurve, false},
	{"hpe-comware", "comware", NULL, &cli_dialect_comware, false},
	{"aruba-cx", "aoscx", NULL, &cli_dialect_aoscx, false},
	{"dell-n", "delln", NULL, &cli_dialect_dnos, false},
	{"dell-os9", "os9", NULL, &cli_dialect_os9, true},
	{"dell-os10", "os10", NULL, &cli_dialect_os10, true},
	{"edgecore-ecs", "ecs", NULL, &cli_dialect_ecs, true},
	{"sonic", "sonic", NULL, &cli_dialect_sonic, false},
	{"cisco-nxos-netconf", "nxos", "nxos", NULL, false},
	{"cisco-iosxe-netconf", "ios", "iosxe", NULL, false},
	{"hpe-comware-netconf", "comware", "comware", NULL, false},
	{"openconfig", "nxos", "openconfig", NULL, false},
	{"generic", NULL, NULL, NULL, false},
	{"openvswitch", NULL, NULL, NULL, false},
	{"hp-procurve", NULL, NULL, NULL, false},
	{"hpe-comware", NULL, NULL, NULL, false},
	{"edgecore-ecs", NULL, NULL, NULL, true},
	{"dell-n", NULL, NULL, NULL, false},
};

/* --- what is seen on the way --- */

struct watch {
	struct vlan_set lost, gained, may;
	unsigned looks, mixed, strange;
	char first[400];
};

static struct vlan_set nobodys(void)
{
	struct vlan_set set = {{0}};

	vlan_set_add(&set, 1);
	vlan_set_add(&set, PARKING);
	return set;
}

static bool meet(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set both = vlan_set_intersection(a, b);

	return !vlan_set_is_empty(&both);
}

static void look(struct watch *watch, const struct vlan_set *all, const char *after)
{
	struct vlan_set strange = vlan_set_minus(all, &watch->may);
	bool mixed = meet(all, &watch->lost) && meet(all, &watch->gained);
	CLEANUP(text_done) struct text text = {0};

	watch->looks++;
	watch->mixed += mixed;
	watch->strange += !vlan_set_is_empty(&strange);
	if (watch->first[0] || (!mixed && vlan_set_is_empty(&strange)))
		return;
	vlan_set_text(all, &text);
	(void)snprintf(watch->first, sizeof(watch->first), "in %.160s after \"%.160s\"",
		       text_get(&text), after);
}

static void watch_begin(struct watch *watch, const struct port_vlans *before,
			const struct port_vlans *after)
{
	struct vlan_set old = port_vlans_all(before);
	struct vlan_set new = port_vlans_all(after);
	struct vlan_set free = nobodys();

	watch->may = vlan_set_union(&old, &new);
	watch->may = vlan_set_union(&watch->may, &free);
	watch->lost = vlan_set_minus(&old, &new);
	watch->lost = vlan_set_minus(&watch->lost, &free);
	watch->gained = vlan_set_minus(&new, &old);
	watch->gained = vlan_set_minus(&watch->gained, &free);
}

/* --- a switch --- */

struct site {
	const struct way *way;
	const struct switch_family *family;
	struct switch_player *player;
	char port[64];
	struct watch *watch; /* NULL: nobody looks */
	/* SNMP */
	struct vlan_set egress, untagged;
	struct vlan_set trunk; /* DNOS: of a port in trunk mode */
	uint32_t pvid, mode, access, native;
};

/* DNOS: the mode says which of its columns count. */
static bool has_columns(const struct site *site)
{
	return site->family->snmp->mode.access_vlan.count != 0;
}

static struct vlan_set of_columns(const struct site *site)
{
	struct vlan_set all = {{0}};
	bool trunk = site->mode == (uint32_t)site->family->snmp->mode.trunk;

	if (trunk)
		all = site->trunk;
	vlan_set_add(&all, trunk ? site->native : site->access);
	return all;
}

static void see(struct site *site, const char *after)
{
	struct vlan_set all = site->egress;

	if (!site->watch)
		return;
	if (site->player)
		all = switch_player_port(site->player, PORT);
	else if (has_columns(site))
		all = of_columns(site);
	look(site->watch, &all, after);
}

/* --- command lines --- */

static void say(struct site *site, const char *line, bool optional)
{
	CLEANUP(text_done) struct text clean = {0};
	const char *answer = switch_player_say(site->player, line);
	char said[160] = "";
	enum cli_verdict verdict;

	cli_text_clean(answer, strlen(answer), &clean);
	verdict = cli_answer_judge(site->way->cli, text_get(&clean), said, sizeof(said));
	if (verdict != CLI_FINE && !optional)
		fail_msg("%s: \"%s\": %s", site->way->emulator, line, said);
	see(site, line);
}

static struct cli_config *read_cli(struct site *site)
{
	const struct cli_dialect *dialect = site->way->cli;
	const char *const shows[] = {dialect->show_config, dialect->show_vlans};
	struct cli_config *config;

	assert_int_equal(cli_config_new(dialect, &config), 0);
	for (size_t i = 0; i < COUNT_OF(shows) && shows[i]; i++) {
		CLEANUP(text_done) struct text clean = {0};
		const char *answer = switch_player_say(site->player, shows[i]);

		cli_text_clean(answer, strlen(answer), &clean);
		assert_int_equal(cli_config_read(config, text_get(&clean)), 0);
	}
	return config;
}

static void edit_cli(struct site *site, const struct switch_edit *edit)
{
	const struct cli_dialect *dialect = site->way->cli;
	bool holds = false;

	for (int round = 0; round < ROUNDS && !holds; round++) {
		struct cli_config *config = read_cli(site);
		struct cli_plan plan = {0};
		struct problem problem = {0};

		if (cli_plan_edit(config, edit, &plan, &problem))
			fail_msg("%s: %s", dialect->name, problem.message);
		if (dialect->config_enter)
			say(site, dialect->config_enter, false);
		for (size_t i = 0; i < plan.count; i++)
			say(site, plan.lines[i].text, plan.lines[i].optional);
		if (dialect->config_leave)
			say(site, dialect->config_leave, false);
		cli_plan_done(&plan);
		cli_config_free(config);
		config = read_cli(site);
		holds = cli_plan_holds(config, edit);
		cli_config_free(config);
	}
	if (!holds)
		fail_msg("%s: it does not get there", dialect->name);
}

/* --- NETCONF --- */

static void ask(struct site *site, const char *inside, struct netconf_message *ret)
{
	const char *answer = switch_player_say(site->player, inside);
	const char *end = strstr(answer, "]]>]]>");

	assert_non_null(end);
	assert_int_equal(netconf_message_parse(answer, (size_t)(end - answer), ret), 0);
	if (ret->verdict == NETCONF_SAYS_REFUSED)
		fail_msg("%s: \"%s\": %s %s", site->way->model, inside, ret->error.tag,
			 ret->error.message);
}

static void tell(struct site *site, const char *inside)
{
	struct netconf_message message = {0};

	ask(site, inside, &message);
	netconf_message_done(&message);
	see(site, inside);
}

static struct netconf_config *read_netconf(struct site *site)
{
	CLEANUP(text_done) struct text get = {0};
	struct netconf_message message = {0};
	struct netconf_config *config;

	text_addf(&get, "<get><filter type=\"subtree\">%s</filter></get>",
		  site->family->netconf->look);
	ask(site, text_get(&get), &message);
	assert_int_equal(netconf_config_new(site->family->netconf, &config), 0);
	assert_int_equal(netconf_config_read(config, message.data), 0);
	netconf_message_done(&message);
	return config;
}

/* As netconf_change.c sends it: by a candidate where the model has one. */
static void edit_netconf(struct site *site, const struct switch_edit *edit)
{
	bool candidate =
		strcmp(site->way->model, "comware") != 0 && strcmp(site->way->model, "iosxe") != 0;
	struct netconf_config *config = read_netconf(site);
	struct netconf_plan plan = {0};
	struct problem problem = {0};

	if (netconf_plan_edit(config, edit, 0, &plan, &problem))
		fail_msg("%s: %s", site->way->model, problem.message);
	for (size_t i = 0; i < plan.count; i++) {
		CLEANUP(text_done) struct text text = {0};

		text_addf(&text,
			  "<edit-config><target><%s/></target><default-operation>merge"
			  "</default-operation><config xmlns:nc=\"%s\">%s</config></edit-config>",
			  candidate ? "candidate" : "running", NETCONF_BASE, plan.steps[i].xml);
		tell(site, text_get(&text));
	}
	if (candidate)
		tell(site, "<commit/>");
	netconf_plan_done(&plan);
	netconf_config_free(config);
	config = read_netconf(site);
	if (!netconf_plan_holds(config, edit))
		fail_msg("%s: it does not get there", site->way->model);
	netconf_config_free(config);
}

/* --- SNMP --- */

static const unsigned table[] = {1, 110, 120, 130, BYSTANDER, PARKING};

static const char *under(const struct snmp_port_mode *mode, const struct snmp_oid *root,
			 unsigned index, char ret[OID_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < root->count; i++)
		used += (size_t)snprintf(ret + used, OID_SIZE - used, "%u.",
					 mode->model_at == i + 1 ? 24 : root->ids[i]);
	(void)snprintf(ret + used, OID_SIZE - used, "%u", index);
	return ret;
}

static void make_facts(const struct site *site, struct snmp_facts *facts)
{
	const struct snmp_port_mode *mode = &site->family->snmp->mode;
	char oid[OID_SIZE];

	*facts = (struct snmp_facts){.dialect = site->family->snmp, .model = 24};
	fact_port(facts, PORT, BASE_PORT, site->port);
	fact_pvid(facts, BASE_PORT, site->pvid);
	for (size_t i = 0; i < COUNT_OF(table); i++)
		fact_vlan(facts, table[i], "x", vlan_set_has(&site->egress, table[i]) ? "04" : "00",
			  vlan_set_has(&site->untagged, table[i]) ? "04" : "00");
	if (!mode->mode.count)
		return;
	fact_number(facts, under(mode, &mode->mode, BASE_PORT, oid), site->mode);
	if (!has_columns(site))
		return;
	fact_number(facts, under(mode, &mode->access_vlan, BASE_PORT, oid), site->access);
	fact_number(facts, under(mode, &mode->native_vlan, BASE_PORT, oid), site->native);
	for (size_t i = 0; i < COUNT_OF(table); i++)
		fact_bytes(facts, under(mode, &mode->trunk_egress, table[i], oid),
			   vlan_set_has(&site->trunk, table[i]) ? "\x04" : "\0", 1);
}

static void put(struct vlan_set *set, unsigned vlan, const struct snmp_value *value)
{
	if (value->size > 0 && value->bytes[0] & 0x04)
		vlan_set_add(set, vlan);
	else
		vlan_set_remove(set, vlan);
}

static void take_column(struct site *site, const struct snmp_binding *binding, char *name,
			size_t room)
{
	const struct snmp_port_mode *mode = &site->family->snmp->mode;
	uint32_t number = (uint32_t)binding->value.number;

	(void)snprintf(name, room, "the native VLAN");
	if (snmp_oid_is_below(&binding->name, &mode->trunk_egress)) {
		put(&site->trunk, binding->name.ids[mode->trunk_egress.count], &binding->value);
		(void)snprintf(name, room, "the trunk's list");
	} else if (snmp_oid_is_below(&binding->name, &mode->mode)) {
		site->mode = number;
		(void)snprintf(name, room, "the mode");
	} else if (snmp_oid_is_below(&binding->name, &mode->access_vlan)) {
		site->access = number;
		(void)snprintf(name, room, "the access VLAN");
	} else {
		site->native = number;
	}
}

/* One object of a SET. A port of ECS that becomes an access port keeps its PVID's VLAN
 * alone. */
static void take(struct site *site, const struct snmp_binding *binding)
{
	static const struct snmp_oid tables = OID(1, 3, 6, 1, 2, 1, 17, 7, 1, 4);
	const struct snmp_port_mode *mode = &site->family->snmp->mode;
	const uint32_t *ids = binding->name.ids + tables.count;
	char name[64];

	(void)snprintf(name, sizeof(name), "object %u.%u.%u of index %u", ids[0], ids[1], ids[2],
		       ids[3]);
	if (snmp_oid_is_below(&binding->name, &tables)) {
		if (ids[0] == 3 && ids[2] == 2)
			put(&site->egress, ids[3], &binding->value);
		else if (ids[0] == 3 && ids[2] == 4)
			put(&site->untagged, ids[3], &binding->value);
		else if (ids[0] == 5 && ids[2] == 1)
			site->pvid = (uint32_t)binding->value.number;
	} else if (has_columns(site)) {
		take_column(site, binding, name, sizeof(name));
	} else if (mode->mode.count) {
		(void)snprintf(name, sizeof(name), "the mode");
		site->mode = (uint32_t)binding->value.number;
		if (site->mode == (uint32_t)mode->access) {
			site->egress = site->untagged = (struct vlan_set){{0}};
			vlan_set_add(&site->egress, site->pvid);
			vlan_set_add(&site->untagged, site->pvid);
		}
	}
	see(site, name);
}

static void edit_snmp(struct site *site, const struct switch_edit *edit)
{
	struct snmp_facts facts;
	struct snmp_plan plan = {0};
	struct problem problem = {0};
	struct vlan_set want = port_vlans_all(&edit->after);
	struct vlan_set all;

	make_facts(site, &facts);
	if (snmp_plan_edits(&facts, edit, 1, PLAN_EDITS, &plan, &problem))
		fail_msg("%s: %s", site->family->name, problem.message);
	for (size_t i = 0; i < plan.count; i++)
		take(site, &plan.bindings[i]);
	all = has_columns(site) ? of_columns(site) : site->egress;
	vlan_set_remove(&all, 1);
	if (!vlan_set_equal(&all, &want))
		fail_msg("%s: it does not get there", site->family->name);
	snmp_plan_done(&plan);
	snmp_facts_done(&facts);
}

static void do_edit(struct site *site, const struct switch_edit *edit)
{
	if (site->way->cli)
		edit_cli(site, edit);
	else if (site->way->model)
		edit_netconf(site, edit);
	else
		edit_snmp(site, edit);
}

/* --- from one to another --- */

static void site_open(struct site *site, const struct way *way)
{
	const char *name = "p3";

	*site = (struct site){.way = way,
			      .family = switch_family_find(way->family),
			      .pvid = 1,
			      .access = 1,
			      .native = 1,
			      .mode = 1};
	assert_non_null(site->family);
	vlan_set_add(&site->egress, 1);
	vlan_set_add(&site->untagged, 1);
	if (way->emulator) {
		assert_int_equal(switch_player_new(way->emulator, way->model, "", &site->player),
				 0);
		name = switch_player_port_name(site->player, PORT);
	}
	(void)text_copy(site->port, sizeof(site->port), name);
	if (way->cli) {
		const char *const *off = way->cli->pager_off;

		(void)switch_player_say(site->player, way->cli->enable ? way->cli->enable : "");
		for (size_t i = 0; i < COUNT_OF(way->cli->pager_off) && off[i]; i++)
			(void)switch_player_say(site->player, off[i]);
	}
	for (size_t i = 1; i < COUNT_OF(table) && site->player; i++) {
		struct switch_edit edit = {.kind = EDIT_VLAN_CREATE, .vlan = (uint16_t)table[i]};

		if (way->cli)
			edit_cli(site, &edit);
		else
			edit_netconf(site, &edit);
	}
}

/* The reconciler's plan for one port of one switch, sent edit by edit. */
static void go(struct site *site, const struct port_vlans *from, const struct port_vlans *to,
	       bool enters_first)
{
	struct fabric_switch at = {.name = "s", .port_count = 1, .enters_first = enters_first};
	struct fabric_port port = {
		.name = site->port, .role = PORT_EDGE, .peer = MODEL_NONE, .up = true};
	const struct fabric_model model = {.vlan_low = 100,
					   .vlan_high = 199,
					   .parking = PARKING,
					   .switches = &at,
					   .switch_count = 1,
					   .ports = &port,
					   .port_count = 1};
	port_state observed[] = {from};
	port_state wanted_ports[] = {to};
	struct vlan_set vlans[] = {{{0}}};
	const struct wanted wanted = {.ports = wanted_ports, .vlans = vlans};
	struct plan plan;

	for (size_t i = 0; i < COUNT_OF(table); i++)
		vlan_set_add(&at.vlans, table[i]);
	vlans[0] = at.vlans;
	assert_int_equal(plan_make(&model, observed, &wanted, NULL, &plan), 0);
	for (size_t i = 0; i < plan.count; i++)
		do_edit(site, &plan.edits[i].edit);
	plan_done(&plan);
}

static const struct {
	bool trunk;
	uint16_t native;
	const char *tagged;
} states[] = {
	{false, 110, ""},   {true, 110, "120,130"}, {false, 120, ""},
	{true, 120, "110"}, {true, 120, "130"},     {true, 0, "110,130"},
};

static struct port_vlans state_of(size_t i)
{
	struct port_vlans vlans = {.trunk = states[i].trunk, .native = states[i].native};

	assert_int_equal(vlan_set_parse(states[i].tagged, &vlans.tagged), 0);
	return vlans;
}

static struct watch travel(const struct way *way, bool enters_first)
{
	struct port_vlans at = {.native = 1};
	struct watch watch = {0};
	struct site site;

	site_open(&site, way);
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		for (size_t j = 0; j < COUNT_OF(states); j++) {
			struct port_vlans from = state_of(i);
			struct port_vlans to = state_of(j);

			if (i == j || (way->needs_native && (!from.native || !to.native)))
				continue;
			site.watch = NULL;
			go(&site, &at, &from, enters_first);
			watch_begin(&watch, &from, &to);
			site.watch = &watch;
			go(&site, &from, &to, enters_first);
			at = to;
		}
	}
	switch_player_free(site.player);
	return watch;
}

static void no_port_is_in_two_networks(void **state)
{
	unsigned looks = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		const struct way *way = &ways[i];
		const struct switch_family *family = switch_family_find(way->family);
		struct watch planned = travel(way, family->enters_first);
		const char *by = way->cli ? "command line" : way->model ? "NETCONF" : "SNMP";

		if (planned.mixed || planned.strange)
			fail_msg("%s by %s: %u times in two networks, %u in another one: %s",
				 way->family, by, planned.mixed, planned.strange, planned.first);
		looks += planned.looks;
	}
	print_message("%zu ways of writing, %u looks\n", COUNT_OF(ways), looks);
}

/* Each family that is planned around has a way that needs it; what was there to be seen is seen. Of
 * AOS-CX only the manual knows that a list without its last VLAN is all VLANs. */
static void they_would_be(void **state)
{
	(void)state;
	for (size_t f = 0; f < switch_family_count; f++) {
		unsigned seen = 0;

		if (!switch_family_table[f].enters_first ||
		    strcmp(switch_family_table[f].name, "aruba-cx") == 0)
			continue;
		for (size_t i = 0; i < COUNT_OF(ways); i++) {
			struct watch straight;

			if (strcmp(ways[i].family, switch_family_table[f].name) != 0)
				continue;
			straight = travel(&ways[i], false);
			seen += straight.mixed + straight.strange;
		}
		if (seen == 0)
			fail_msg("%s need not be planned around", switch_family_table[f].name);
	}
}

/* --- bonds by NETCONF --- */

/* Two ports are members of an aggregate by LACP: they are read as such, and VLANs are the
 * aggregate's. */
static void members_of_aggregates_are_read(void **state)
{
	static const struct {
		struct way way;
		const char *aggregate, *first, *second, *other;
	} rows[] = {
		{{"cisco-nxos-netconf", "nxos", "nxos", NULL, false},
		 "port-channel8",
		 "Ethernet1/3",
		 "Ethernet1/4",
		 "Ethernet1/5"},
		{{"hpe-comware-netconf", "comware", "comware", NULL, false},
		 "Bridge-Aggregation8",
		 "Ten-GigabitEthernet1/0/3",
		 "Ten-GigabitEthernet1/0/4",
		 "Ten-GigabitEthernet1/0/5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct site site = {.way = &rows[i].way,
				    .family = switch_family_find(rows[i].way.family)};
		struct switch_edit edit = {.kind = EDIT_PORT, .after = {.native = 110}};
		struct netconf_config *config;
		uint32_t lag;
		struct vlan_set all;

		assert_int_equal(switch_player_new(rows[i].way.emulator, rows[i].way.model,
						   "vlan 110\nlag 8 3 4\n", &site.player),
				 0);
		config = read_netconf(&site);
		assert_non_null(netconf_config_port(config, rows[i].aggregate));
		lag = netconf_config_port(config, rows[i].aggregate)->is.if_index;
		assert_true(lag && netconf_config_port(config, rows[i].aggregate)->is.is_lag);
		assert_int_equal(netconf_config_port(config, rows[i].first)->is.lag, lag);
		assert_int_equal(netconf_config_port(config, rows[i].second)->is.lag, lag);
		assert_int_equal(netconf_config_port(config, rows[i].other)->is.lag, 0);
		netconf_config_free(config);
		(void)text_copy(edit.port, sizeof(edit.port), rows[i].aggregate);
		edit_netconf(&site, &edit);
		all = switch_player_port(site.player, 8);
		assert_true(vlan_set_has(&all, 110) && vlan_set_count(&all) == 1);
		/* It is still one after it was written. */
		config = read_netconf(&site);
		assert_int_equal(netconf_config_port(config, rows[i].first)->is.lag, lag);
		netconf_config_free(config);
		switch_player_free(site.player);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_port_is_in_two_networks),
					   cmocka_unit_test(they_would_be),
					   cmocka_unit_test(members_of_aggregates_are_read)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
