// links: peregrine_switch
/* What is SET for an edit of a Cisco switch: the edit buffer, vmVlan, a trunk's four bitmaps. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_plan.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_facts_make.h"

#define VTP   "1.3.6.1.4.1.9.9.46.1."
#define TRUNK VTP "6.1.1."

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

static void set_number(struct world *world, const char *column, uint32_t index, uint32_t number)
{
	char oid[96];

	(void)snprintf(oid, sizeof(oid), "%s%u", column, index);
	fact_number(&world->facts, oid, number);
}

static void add_vlan(struct world *world, uint32_t vlan, uint32_t type, const char *name)
{
	char oid[96];

	set_number(world, VTP "3.1.1.2.1.", vlan, 1);
	set_number(world, VTP "3.1.1.3.1.", vlan, type);
	(void)snprintf(oid, sizeof(oid), VTP "3.1.1.4.1.%u", vlan);
	fact_text(&world->facts, oid, name);
}

/* Three ports, ifIndex 1 to 3: 1 and 2 in access VLAN 100, 3 a trunk of all, native 1. */
static void make_world(struct world *world)
{
	static const uint32_t vlans[] = {1, 100, 200, 1023, 1024, 2047, 2048, 3071, 3072, 4094};
	static const char *const bitmaps[] = {"4.", "17.", "18.", "19."};
	uint8_t all[VLAN_BLOCK_SIZE];

	*world = (struct world){.facts = {.dialect = &snmp_dialect_ios}};
	memset(all, 0xff, sizeof(all));
	for (size_t i = 0; i < COUNT_OF(vlans); i++)
		add_vlan(world, vlans[i], 1, vlans[i] == 100 ? "red" : "x");
	add_vlan(world, 1002, 2, "fddi-default");
	set_number(world, VTP "2.1.1.3.", 1, 3);
	fact_text(&world->facts, VTP "4.1.1.3.1", "");
	set_number(world, VTP "6.2.", 0, 7);
	for (uint32_t port = 1; port <= 3; port++) {
		char name[] = {'p', (char)('0' + port), '\0'};

		fact_port(&world->facts, port, 0, name);
		set_number(world, "1.3.6.1.4.1.9.9.68.1.2.2.1.2.", port, 100);
		set_number(world, TRUNK "13.", port, port == 3 ? 1 : 2);
		set_number(world, TRUNK "3.", port, 4);
		set_number(world, TRUNK "5.", port, 1);
		((struct fact_interface *)fact_find(&world->facts, FACT_INTERFACES, port, 0, 0))
			->admin = 1;
		for (size_t i = 0; i < COUNT_OF(bitmaps); i++) {
			char oid[96];

			(void)snprintf(oid, sizeof(oid), TRUNK "%s%u", bitmaps[i], port);
			fact_bytes(&world->facts, oid, all, sizeof(all));
		}
	}
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

/* "S6.2.0=7 6.1.1.4.3=#20 | E... | W...": what is done, part by part, below 1.3.6.1.4.1.9.9.46.1
 * (vmVlan and ifAdminStatus by name); of octets the number that are not zero. */
static void expect_plan(const struct world *world, const char *text)
{
	static const char acts[] = {[ACT_SET] = 'S', [ACT_EXPECT] = 'E', [ACT_AWAIT] = 'W'};
	char all[1024] = "";
	size_t used = 0;
	enum snmp_act act;

	for (size_t from = 0, piece; from < world->plan.count; from += piece) {
		piece = snmp_plan_chunk(&world->plan, from, &act);
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%c", from ? " | " : "",
					 acts[act]);
		for (size_t i = from; i < from + piece; i++) {
			const struct snmp_binding *binding = &world->plan.bindings[i];
			bool vtp = binding->name.ids[8] == 46 && binding->name.count > 10;
			size_t set = 0;

			for (size_t j = 0;
			     binding->value.type == SNMP_OCTETS && j < binding->value.size; j++)
				set += binding->value.bytes[j] != 0;
			used += (size_t)snprintf(all + used, sizeof(all) - used, " %s",
						 vtp                         ? ""
						 : binding->name.ids[6] == 2 ? "admin"
									     : "vm");
			for (size_t j = vtp ? 10 : (size_t)binding->name.count - 1U;
			     j < binding->name.count; j++)
				used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%u",
							 j == 10 && vtp ? "" : ".",
							 binding->name.ids[j]);
			used += (size_t)snprintf(all + used, sizeof(all) - used,
						 binding->value.type == SNMP_OCTETS ? "=#%lld"
										    : "=%lld",
						 binding->value.type == SNMP_OCTETS
							 ? (long long)set
							 : (long long)binding->value.number);
		}
	}
	assert_string_equal(all, text);
}

static void vlans_go_through_the_edit_buffer(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 300, .vlan_name = "red"},
		{.kind = EDIT_VLAN_CREATE, .vlan = 100},
	};

	(void)state;
	make_world(&world);
	assert_int_equal(plan(&world, edits, 2), 2);
	expect_plan(&world, "S 4.1.1.1.1=2 4.1.1.3.1=#15 | S 4.2.1.11.1.300=4 4.2.1.3.1.300=1 "
			    "4.2.1.4.1.300=#7 4.2.1.6.1.300=#3 | S 4.1.1.1.1=3 | W 4.1.1.2.1=2 | "
			    "S 4.1.1.1.1=4");
	/* no name twice; SAID is 100300 = 0x000187cc */
	assert_memory_equal(world.plan.bindings[4].value.bytes, "red-300", 7);
	assert_memory_equal(world.plan.bindings[5].value.bytes, "\x00\x01\x87\xcc", 4);
	assert_int_equal(world.plan.held, 2);
	assert_int_equal(world.plan.release_count, 1);
	edits[0].vlan = 100;
	assert_int_equal(plan(&world, edits, 2), 2);
	assert_int_equal(world.plan.count, 0); /* they are there: nothing to lock for */
}

static void the_buffer_of_another_is_left_alone(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edit = {.kind = EDIT_VLAN_DELETE, .vlan = 200};

	(void)state;
	make_world(&world);
	fact_text(&world.facts, VTP "4.1.1.3.1", "noc");
	assert_int_equal(snmp_plan_edits(&world.facts, &edit, 1, 1, &world.plan, &world.problem),
			 -EBUSY);
	fact_text(&world.facts, VTP "4.1.1.3.1", "haas peregrined"); /* ours, of an earlier life */
	assert_int_equal(plan(&world, &edit, 1), 1);
	expect_plan(&world, "S 4.1.1.1.1=4 | S 4.1.1.1.1=2 4.1.1.3.1=#15 | S 4.2.1.11.1.200=6 | "
			    "S 4.1.1.1.1=3 | W 4.1.1.2.1=2 | S 4.1.1.1.1=4");
	set_number(&world, VTP "2.1.1.3.", 1, 1); /* a VTP client */
	assert_int_equal(snmp_plan_edits(&world.facts, &edit, 1, 1, &world.plan, &world.problem),
			 E_CONFLICT);
	edit = (struct switch_edit){.kind = EDIT_VLAN_CREATE, .vlan = 1002};
	assert_int_equal(snmp_plan_edits(&world.facts, &edit, 1, 1, &world.plan, &world.problem),
			 E_CONFLICT);
}

static void rows_of_the_edit_table_are_not_torn_apart(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[PLAN_EDITS];
	enum snmp_act act;
	size_t rows = 0;

	(void)state;
	make_world(&world);
	for (size_t i = 0; i < COUNT_OF(edits); i++) {
		edits[i] =
			(struct switch_edit){.kind = EDIT_VLAN_CREATE, .vlan = (uint16_t)(500 + i)};
		(void)snprintf(edits[i].vlan_name, sizeof(edits[i].vlan_name),
			       "a name as long as it may be %zu", i);
	}
	assert_in_range(plan(&world, edits, COUNT_OF(edits)), 16, COUNT_OF(edits));
	for (size_t from = 2, piece; from < world.plan.count; from += piece) {
		piece = snmp_plan_chunk(&world.plan, from, &act);
		assert_true(piece == 1 || piece % 4 == 0);
		rows += piece / 4;
	}
	assert_int_equal(rows, world.plan.edits);
}

static void an_access_port_is_one_object(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit edits[] = {port_edit("p1", false, 200, ""),
				      port_edit("p2", false, 200, "")};

	(void)state;
	make_world(&world);
	assert_int_equal(plan(&world, edits, 2), 2);
	expect_plan(&world, "S vm.1=200 vm.2=200");
	assert_true(snmp_plan_is_done(&world.facts, &edits[0]));
	/* One goes where the other comes from: not in one SET. */
	edits[0].after.native = 100;
	edits[1].after.native = 1;
	assert_int_equal(plan(&world, edits, 2), 2);
	edits[0].after.native = 1;
	edits[1].after.native = 100;
	assert_int_equal(plan(&world, edits, 2), 1);
}

/* The VLAN first, then the mode; and the lists, seen to be there, before the mode. */
static void a_mode_is_turned_last(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit access = port_edit("p3", false, 200, "");
	struct switch_edit trunk = port_edit("p1", true, 0, "200");

	(void)state;
	make_world(&world);
	assert_int_equal(plan(&world, &access, 1), 1);
	expect_plan(&world, "S vm.3=200 6.1.1.13.3=2");
	assert_int_equal(plan(&world, &trunk, 1), 1);
	expect_plan(&world, "S 6.2.0=7 6.1.1.4.1=#2 6.1.1.17.1=#0 6.1.1.18.1=#0 6.1.1.19.1=#0 "
			    "6.1.1.5.1=1 | E 6.1.1.4.1=#2 6.1.1.17.1=#0 6.1.1.18.1=#0 "
			    "6.1.1.19.1=#0 6.1.1.5.1=1 | S 6.1.1.13.1=1");
	assert_true(snmp_plan_is_done(&world.facts, &trunk));
	/* The lock was used once. */
	trunk.after.native = 100;
	assert_int_equal(plan(&world, &trunk, 1), 1);
	expect_plan(&world, "S 6.2.0=8 6.1.1.4.1=#3 6.1.1.5.1=100");
	assert_int_equal(plan(&world, &trunk, 1), 1);
	assert_int_equal(world.plan.count, 0);
}

static void steps_take_the_port_down(void **state)
{
	CLEANUP(world_done) struct world world;
	struct switch_edit access = port_edit("p3", false, 200, "");
	uint32_t downed = 3;

	(void)state;
	make_world(&world);
	world.facts.by_steps = true;
	assert_int_equal(plan(&world, &access, 1), 1);
	expect_plan(&world, "S admin.3=2 | S 6.1.1.13.3=2 | S vm.3=200 | E vm.3=200 | S admin.3=1");
	assert_int_equal(world.plan.downs, 3);
	/* When it fails: into the mode that it was in, and up. */
	assert_int_equal(world.plan.release_count, 2);
	assert_int_equal(world.plan.release[0].value.number, 1);
	assert_int_equal(world.plan.held, 1);
	/* Left down by an edit that was broken off: it is not done, and comes up. */
	((struct fact_interface *)fact_find(&world.facts, FACT_INTERFACES, 3, 0, 0))->admin = 2;
	assert_true(snmp_plan_is_done(&world.facts, &access)); /* somebody wants it down */
	world.facts.downed = &downed;
	world.facts.downed_count = 1;
	assert_false(snmp_plan_is_done(&world.facts, &access));
	assert_int_equal(plan(&world, &access, 1), 1);
	expect_plan(&world, "S 6.1.1.13.3=2 | S vm.3=200 | E vm.3=200 | S admin.3=1");
}

/* netdisco/snmp-info: VLANs from 1024 on went into the first bitmap, or nowhere. */
static void each_vlan_is_in_its_bitmap(void **state)
{
	static const struct {
		uint16_t vlan;
		size_t block, octet;
		uint8_t bit;
	} cases[] = {
		{1023, 0, 127, 0x01}, {1024, 1, 0, 0x80}, {2047, 1, 127, 0x01}, {2048, 2, 0, 0x80},
		{3071, 2, 127, 0x01}, {3072, 3, 0, 0x80}, {4094, 3, 127, 0x02},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CLEANUP(world_done) struct world world;
		struct switch_edit edit = port_edit("p3", true, 0, "");

		make_world(&world);
		vlan_set_add(&edit.after.tagged, cases[i].vlan);
		assert_int_equal(plan(&world, &edit, 1), 1);
		assert_int_equal(world.plan.count, 5); /* lock and four bitmaps */
		for (size_t block = 0; block < VLAN_BLOCKS; block++) {
			const struct snmp_value *value = &world.plan.bindings[1 + block].value;
			uint8_t wanted[VLAN_BLOCK_SIZE] = {0};

			if (block == 0)
				wanted[125] = 0x3c; /* 1002-1005, as they were read */
			if (block == cases[i].block)
				wanted[cases[i].octet] |= cases[i].bit;
			assert_int_equal(value->size, VLAN_BLOCK_SIZE);
			assert_memory_equal(value->bytes, wanted, sizeof(wanted));
		}
		assert_true(snmp_plan_is_done(&world.facts, &edit));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(vlans_go_through_the_edit_buffer),
		cmocka_unit_test(the_buffer_of_another_is_left_alone),
		cmocka_unit_test(rows_of_the_edit_table_are_not_torn_apart),
		cmocka_unit_test(an_access_port_is_one_object),
		cmocka_unit_test(a_mode_is_turned_last),
		cmocka_unit_test(steps_take_the_port_down),
		cmocka_unit_test(each_vlan_is_in_its_bitmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
