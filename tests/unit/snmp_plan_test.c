// links: peregrine_switch
/* What is SET for an edit, played to an agent of a few lines that takes it object by object. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_plan.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_facts_make.h"

struct world {
	struct snmp_facts facts;
	struct snmp_plan plan;
	struct problem problem;
};

static void world_done(struct world *world)
{
	snmp_plan_done(&world->plan);
	snmp_facts_done(&world->facts);
}

static void make_world(struct world *world, const struct snmp_dialect *dialect)
{
	*world = (struct world){.facts = {.dialect = dialect}};
	for (uint32_t port = 1; port <= 8; port++) {
		char name[] = {'p', (char)('0' + port), '\0'};

		/* base ports run the other way */
		fact_port(&world->facts, port, 9 - port, name);
		fact_pvid(&world->facts, port, 1);
	}
	fact_vlan(&world->facts, 1, "default", "ff00", "ff00");
	fact_vlan(&world->facts, 10, "ten", "0000", "0000");
	fact_vlan(&world->facts, 20, "twenty", "0000", "0000");
}

static struct switch_edit port_edit(const char *name, bool trunk, uint16_t native,
				    const char *tagged)
{
	struct switch_edit edit = {.kind = EDIT_PORT};

	text_copy(edit.port, sizeof(edit.port), name);
	edit.after.trunk = trunk;
	edit.after.native = native;
	assert_int_equal(vlan_set_parse(tagged, &edit.after.tagged), 0);
	return edit;
}

static size_t plan(struct world *world, const struct switch_edit *edits, size_t count)
{
	assert_int_equal(snmp_plan_edits(&world->facts, edits, count, PLAN_EDITS, &world->plan,
					 &world->problem),
			 0);
	return world->plan.edits;
}

/* "4.3.1.2.10=8000 ..." under dot1qBase: what goes out, in its order. */
static void expect_plan(const struct world *world, const char *text)
{
	char all[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < world->plan.count; i++) {
		const struct snmp_binding *binding = &world->plan.bindings[i];

		for (size_t j = 9; j < binding->name.count; j++)
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%u",
						 j > 9   ? "."
						 : i > 0 ? " "
							 : "",
						 binding->name.ids[j]);
		if (binding->value.type != SNMP_OCTETS)
			used += (size_t)snprintf(all + used, sizeof(all) - used, "=%lld",
						 (long long)binding->value.number);
		else
			used += (size_t)snprintf(all + used, sizeof(all) - used, "=");
		for (size_t j = 0; binding->value.type == SNMP_OCTETS && j < binding->value.size;
		     j++)
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%02x",
						 binding->value.bytes[j]);
	}
	assert_string_equal(all, text);
}

/* p1 is base port 8: out of VLAN 1 first (never untagged without egress), into VLAN 10, then the
 * PVID. The lists keep their two octets. */
static void an_access_port_leaves_before_it_enters(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("p1", false, 10, "");

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	assert_false(snmp_plan_is_done(&world.facts, &edit));
	assert_int_equal(plan(&world, &edit, 1), 1);
	expect_plan(&world, "4.3.1.4.1=fe00 4.3.1.2.1=fe00 4.3.1.2.10=0100 4.3.1.4.10=0100 "
			    "4.5.1.1.8=10");
	assert_true(snmp_plan_is_done(&world.facts, &edit));
	/* Nothing is left to do. */
	assert_int_equal(plan(&world, &edit, 1), 1);
	assert_int_equal(world.plan.count, 0);
}

static void procurve_enters_before_it_leaves(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("p1", false, 10, "");

	(void)state;
	make_world(&world, &snmp_dialect_procurve);
	(void)plan(&world, &edit, 1);
	/* Its PVID goes over while it is in both: agents refuse one of a VLAN that the port is not
	 * in, and to leave the one of its PVID. */
	expect_plan(&world, "4.3.1.2.10=0100 4.3.1.4.10=0100 4.5.1.1.8=10 4.3.1.4.1=fe00 "
			    "4.3.1.2.1=fe00");
}

/* It is in VLAN 20 already, with a tag: without one before its PVID is 20. */
static void untagged_comes_before_the_pvid(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {port_edit("p1", true, 10, "20"),
				      port_edit("p1", false, 20, "")};

	(void)state;
	make_world(&world, &snmp_dialect_comware);
	assert_int_equal(plan(&world, &edits[0], 1), 1);
	assert_int_equal(plan(&world, &edits[1], 1), 1);
	expect_plan(&world, "4.3.1.4.20=0100 4.5.1.1.8=20 4.3.1.4.10=0000 4.3.1.2.10=0000");
}

/* SMI: lists are changed while the port may be in any; it is an access port before and after. */
static void an_access_port_of_smi_is_opened_for_its_lists(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {port_edit("p1", false, 10, ""),
				      port_edit("p1", true, 10, "20"),
				      port_edit("p1", true, 0, "20")};
	const struct snmp_oid mode = oid_of("1.3.6.1.4.1.259.10.1.24.1.12.2.1.2");
	const struct {
		size_t edit, count, parts;
		int64_t first, last; /* modes; 0 = none */
	} rows[] = {{0, 7, 2, 1, 3}, {1, 2, 1, 1, 0}};

	(void)state;
	make_world(&world, &snmp_dialect_ecs);
	world.facts.model = 24;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct snmp_binding *all;

		assert_int_equal(plan(&world, &edits[rows[i].edit], 1), 1);
		all = world.plan.bindings;
		assert_int_equal(world.plan.count, rows[i].count);
		assert_int_equal(world.plan.part_count, rows[i].parts);
		assert_true(snmp_oid_is_below(&all[0].name, &mode));
		assert_int_equal(all[0].value.number, rows[i].first);
		assert_int_equal(snmp_oid_is_below(&all[rows[i].count - 1].name, &mode),
				 rows[i].last != 0);
		if (rows[i].last)
			assert_int_equal(all[rows[i].count - 1].value.number, rows[i].last);
	}
	assert_int_equal(
		snmp_plan_edits(&world.facts, &edits[2], 1, 1, &world.plan, &world.problem),
		E_UNSUPPORTED);
	assert_non_null(strstr(world.problem.message, "without a native VLAN"));
}

/* CCI-MOC/hil#687: what was on the port before is gone after, named in the edit or not. */
static void a_trunk_is_set_and_not_added_to(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {port_edit("p1", true, 0, "10"),
				      port_edit("p1", true, 0, "20")};

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.2.8", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.3.8", 2);
	assert_int_equal(plan(&world, &edits[0], 1), 1);
	expect_plan(&world,
		    "4.3.1.4.1=fe00 4.3.1.2.1=fe00 4.3.1.2.10=0100 4.5.1.2.8=2 4.5.1.3.8=1");
	assert_int_equal(plan(&world, &edits[1], 1), 1);
	expect_plan(&world, "4.3.1.2.10=0000 4.3.1.2.20=0100");
}

static void several_ports_share_a_set(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {
		port_edit("p1", false, 10, ""),
		port_edit("p2", false, 10, ""),
		port_edit("p3", false, 20, ""),
		/* would take p1 out of the list that it was just put into */
		port_edit("p1", false, 20, ""),
	};

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	assert_int_equal(plan(&world, edits, COUNT_OF(edits)), 3);
	expect_plan(&world,
		    "4.3.1.4.1=f800 4.3.1.2.1=f800 4.3.1.2.10=0300 4.3.1.4.10=0300 "
		    "4.3.1.2.20=0400 4.3.1.4.20=0400 4.5.1.1.8=10 4.5.1.1.7=10 4.5.1.1.6=20");
	assert_int_equal(plan(&world, edits + 3, 1), 1);
	expect_plan(&world, "4.3.1.4.10=0200 4.3.1.2.10=0200 4.3.1.2.20=0500 4.3.1.4.20=0500 "
			    "4.5.1.1.8=20");
}

static void frame_types_that_cannot_be_written_are_left(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("p1", true, 0, "10");

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.2.8", 1);
	(void)plan(&world, &edit, 1);
	assert_int_equal(world.plan.frames, world.plan.count - 1);
	world.facts.fixed_frame_types = true;
	edit = port_edit("p2", true, 0, "10");
	(void)plan(&world, &edit, 1);
	assert_int_equal(world.plan.frames, world.plan.count);
}

static void what_is_not_there_is_refused(void **state)
{
	CLEANUP(world_done) struct world world;
	static const struct {
		const char *port, *tagged;
		uint16_t native;
		const char *why;
	} rows[] = {
		{"p9", "", 10, "there is no port p9"},
		{"mgmt", "", 10, "port mgmt is not a port of the bridge"},
		{"p1", "", 30, "VLAN 30 for port p1 does not exist"},
		{"p1", "20,4000", 10, "VLAN 4000 for port p1 does not exist"},
	};

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	fact_port(&world.facts, 70, 0, "mgmt");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_edit edit =
			port_edit(rows[i].port, true, rows[i].native, rows[i].tagged);

		assert_int_equal(snmp_plan_edits(&world.facts, &edit, 1, PLAN_EDITS, &world.plan,
						 &world.problem),
				 E_CONFLICT);
		assert_string_equal(world.problem.message, rows[i].why);
	}
	/* Behind a good edit it only ends the run. */
	struct switch_edit edits[] = {port_edit("p1", false, 10, ""),
				      port_edit("p9", false, 10, "")};

	assert_int_equal(plan(&world, edits, 2), 1);
}

static void vlans_are_made_and_deleted_once(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 30, .vlan_name = "thirty"},
		{.kind = EDIT_VLAN_CREATE, .vlan = 10, .vlan_name = "there already"},
		{.kind = EDIT_VLAN_CREATE, .vlan = 40},
		{.kind = EDIT_VLAN_DELETE, .vlan = 20},
		{.kind = EDIT_VLAN_DELETE, .vlan = 50},
	};

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	assert_int_equal(plan(&world, edits, COUNT_OF(edits)), 3);
	expect_plan(&world, "4.3.1.5.30=4 4.3.1.1.30=746869727479 4.3.1.5.40=4");
	assert_int_equal(plan(&world, edits + 3, 2), 2);
	expect_plan(&world, "4.3.1.5.20=6");
	world.facts.dialect = &snmp_dialect_os9;
	assert_int_equal(snmp_plan_edits(&world.facts, edits, 1, 1, &world.plan, &world.problem),
			 E_UNSUPPORTED);
}

/* An agent that knows no createAndGo. */
static void rows_that_wait_are_made_active_after(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 30, .vlan_name = "a"},
		{.kind = EDIT_VLAN_CREATE, .vlan = 40},
	};
	enum snmp_act act;

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	world.facts.create_and_wait = true;
	assert_int_equal(plan(&world, edits, 2), 2);
	expect_plan(&world, "4.3.1.5.30=5 4.3.1.1.30=61 4.3.1.5.40=5 4.3.1.5.30=1 4.3.1.5.40=1");
	assert_int_equal(snmp_plan_chunk(&world.plan, 0, &act), 3);
	assert_int_equal(snmp_plan_chunk(&world.plan, 3, &act), 2);
	assert_int_equal(act, ACT_SET);
}

/* An agent that leaves out zeros at the end: the list of a new VLAN is empty. */
static void short_lists_grow_for_a_port_of_the_bridge(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("far", false, 30, "");

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	fact_vlan(&world.facts, 30, "", "", "");
	fact_port(&world.facts, 71, 17, "far");
	fact_pvid(&world.facts, 17, 1);
	assert_int_equal(plan(&world, &edit, 1), 1);
	expect_plan(&world, "4.3.1.2.30=000080 4.3.1.4.30=000080 4.5.1.1.17=30");
}

/* A trunk of hundreds of VLANs needs several SETs, each within a frame. */
static void a_large_trunk_goes_in_pieces(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("p1", true, 10, "100-499");
	size_t from = 0;
	size_t pieces = 0;
	enum snmp_act act;

	(void)state;
	make_world(&world, &snmp_dialect_qbridge);
	for (uint32_t vlan = 100; vlan < 500; vlan++)
		fact_vlan(&world.facts, vlan, "", "0000", "0000");
	assert_int_equal(plan(&world, &edit, 1), 1);
	assert_int_equal(world.plan.count, 405);
	while (from < world.plan.count) {
		size_t piece = snmp_plan_chunk(&world.plan, from, &act);

		assert_in_range(piece, 1, PLAN_BINDINGS);
		from += piece;
		pieces++;
	}
	assert_in_range(pieces, 5, 20);
	assert_true(snmp_plan_is_done(&world.facts, &edit));
}

static void fastpath_has_a_mode_and_lists_of_its_own(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = port_edit("p1", true, 10, "20");

	(void)state;
	make_world(&world, &snmp_dialect_dnos);
	for (unsigned vlan = 10; vlan <= 20; vlan += 10) {
		char oid[96];

		(void)snprintf(oid, sizeof(oid),
			       "1.3.6.1.4.1.674.10895.5000.2.6132.1.1.1.2.23.1.1.1.%u", vlan);
		fact_bytes(&world.facts, oid, "\0\0", 2);
	}
	assert_int_equal(plan(&world, &edit, 1), 1);
	/* the native VLAN, both lists, then the mode; nothing of Q-BRIDGE */
	assert_int_equal(world.plan.count, 4);
	assert_int_equal(world.plan.bindings[0].value.number, 10);
	assert_int_equal(world.plan.bindings[1].value.bytes[0], 0x01);
	assert_int_equal(world.plan.bindings[3].value.number, 2);
	assert_true(snmp_plan_is_done(&world.facts, &edit));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_access_port_leaves_before_it_enters),
		cmocka_unit_test(procurve_enters_before_it_leaves),
		cmocka_unit_test(untagged_comes_before_the_pvid),
		cmocka_unit_test(an_access_port_of_smi_is_opened_for_its_lists),
		cmocka_unit_test(a_trunk_is_set_and_not_added_to),
		cmocka_unit_test(several_ports_share_a_set),
		cmocka_unit_test(frame_types_that_cannot_be_written_are_left),
		cmocka_unit_test(what_is_not_there_is_refused),
		cmocka_unit_test(vlans_are_made_and_deleted_once),
		cmocka_unit_test(rows_that_wait_are_made_active_after),
		cmocka_unit_test(short_lists_grow_for_a_port_of_the_bridge),
		cmocka_unit_test(a_large_trunk_goes_in_pieces),
		cmocka_unit_test(fastpath_has_a_mode_and_lists_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
