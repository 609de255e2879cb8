// links: peregrine_switch
/* What agents of single vendors say in a way of their own, as recordings of real switches showed. The
 * values are ours. */
#include <string.h>

#include "tests/support/snmp_world.h"

/* Switches 4: base ports 513 and 515, 513 untagged; one list of bits among them, and all are. */
static void lists_of_junos_are_text(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_junos);
	CLEANUP(world_done) struct world bits = world_of(&snmp_dialect_junos);
	CLEANUP(world_done) struct world other = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 501, 513, "ge-0/0/3");
	fact_port(&world.facts, 502, 515, "xe-0/0/4");
	fact_pvid(&world.facts, 513, 30);
	fact_vlan(&world.facts, 30, "thirty", "", "");
	fact_text(&world.facts, "1.3.6.1.2.1.17.7.1.4.3.1.2.30", "0,513,515");
	fact_text(&world.facts, "1.3.6.1.2.1.17.7.1.4.3.1.4.30", "513");
	fact_vlan(&world.facts, 40, "forty", "", "");
	fact_text(&world.facts, "1.3.6.1.2.1.17.7.1.4.3.1.2.40", "515,99999999999,16385");
	fact_vlan(&world.facts, 50, "of none", "30", "");
	read_world(&world);
	expect_vlans(&world, "ge-0/0/3", false, 30, "");
	expect_vlans(&world, "xe-0/0/4", true, 0, "30,40");
	assert_int_equal(world.reading.odd, 1);
	assert_non_null(strstr(world.reading.odd_text, "2 base ports"));

	/* "34" would be port 34, and "80" is no text. */
	fact_port(&bits.facts, 1, 3, "p3");
	fact_vlan(&bits.facts, 30, "", "34", "00");
	fact_vlan(&bits.facts, 40, "", "80", "00");
	read_world(&bits);
	expect_vlans(&bits, "p3", true, 0, "30");

	fact_port(&other.facts, 1, 3, "p3");
	fact_vlan(&other.facts, 30, "", "34", "00");
	read_world(&other);
	expect_vlans(&other, "p3", true, 0, "30");
}

/* Switches 3: IOS, Huawei and ProCurve show aggregates as propVirtual, like other things that lie
 * over ports. */
static void aggregates_of_other_types_are_known_by_name(void **state)
{
	static const struct {
		const char *what, *name;
		uint32_t type;
		bool is;
	} rows[] = {
		{"IOS", "Po10", 53, true},
		{"IOS, in full", "Port-channel10", 53, true},
		{"Huawei", "Eth-Trunk1", 53, true},
		{"ProCurve", "Trk24", 53, true},
		{"any", "ae0", 161, true},
		{"a VLAN's interface", "Vl10", 53, false},
		{"a subinterface", "Po10.20", 53, false},
		{"no number", "Po", 53, false},
		{"a tunnel", "Po10", 131, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);
		const struct switch_port *above;

		fact_port(&world.facts, 1, 1, "member");
		fact_port(&world.facts, 5000, 0, rows[i].name);
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.3.5000", rows[i].type);
		fact_number(&world.facts, "1.3.6.1.2.1.31.1.2.1.3.5000.1", 1);
		read_world(&world);
		above = switch_reading_port_named(&world.reading, rows[i].name);
		if (port_named(&world, "member")->lag != (rows[i].is ? 5000U : 0U) ||
		    (above != NULL) != rows[i].is || (above && !above->is_lag))
			fail_msg("%s: %s", rows[i].what, rows[i].name);
	}
}

/* Switches 8: one FdbId for all VLANs, while the rows are numbered by VLAN (Comware 5, D-Link); and
 * numbers of an agent's own, whose rows are of VLANs that have gone. */
static void an_fdb_id_of_all_vlans_is_none(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_comware);
	CLEANUP(world_done) struct world own = world_of(&snmp_dialect_comware);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.1", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.100", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.200", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.1", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.200.2.0.0.0.0.2", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.300.2.0.0.0.0.3", 5);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 3);
	assert_int_equal(world.reading.fdb[0].vlan, 0); /* all three say that it is theirs */
	assert_int_equal(world.reading.fdb[1].vlan, 200);
	assert_int_equal(world.reading.fdb[2].vlan, 0); /* no such VLAN */

	fact_port(&own.facts, 5, 5, "5");
	fact_number(&own.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.100", 7);
	fact_number(&own.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.200", 8);
	fact_number(&own.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.8.2.0.0.0.0.2", 5);
	fact_number(&own.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.100.2.0.0.0.0.1", 5);
	read_world(&own);
	assert_int_equal(own.reading.fdb[0].vlan, 200);
	assert_int_equal(own.reading.fdb[1].vlan, 0);
}

/* Switches 8, counted again: a D-Link whose VLANs have FdbIds of their own, of which its FDB has
 * none. */
static void an_fdb_may_have_none_of_the_fdb_ids(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.1", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.602", 90);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.2004", 212);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.1", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.602.2.0.0.0.0.2", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.700.2.0.0.0.0.3", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.2004.2.0.0.0.0.4", 5);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 4);
	assert_int_equal(world.reading.fdb[0].vlan, 1);
	assert_int_equal(world.reading.fdb[1].vlan, 602);
	assert_int_equal(world.reading.fdb[2].vlan, 0); /* no such VLAN */
	assert_int_equal(world.reading.fdb[3].vlan, 2004);
}

/* Switches 11: ifHighSpeed rules, and ifSpeed has a largest value that says nothing. */
static void a_speed_may_be_in_bits(void **state)
{
	static const struct {
		uint32_t high, speed;
		uint64_t bps;
	} rows[] = {
		{10000, UINT32_MAX, 10000000000ULL},
		{0, 100000000, 100000000},
		{0, UINT32_MAX, 0},
		{0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

		fact_port(&world.facts, 1, 1, "p1");
		fact_number(&world.facts, "1.3.6.1.2.1.31.1.1.1.15.1", rows[i].high);
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.5.1", rows[i].speed);
		read_world(&world);
		assert_true(port_named(&world, "p1")->speed_bps == rows[i].bps);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_junos_are_text),
		cmocka_unit_test(aggregates_of_other_types_are_known_by_name),
		cmocka_unit_test(an_fdb_id_of_all_vlans_is_none),
		cmocka_unit_test(an_fdb_may_have_none_of_the_fdb_ids),
		cmocka_unit_test(a_speed_may_be_in_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
