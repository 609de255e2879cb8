// links: peregrine_switch
/* What is concluded from what agents say: one test per quirk that users of other tools reported. */
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_world.h"

#define DNOS_TEXT "1.3.6.1.4.1.674.10895.5000.2.6132.1.1.1.2."

/* ifIndex 101 is base port 2, 102 is 1: lists and PVIDs go by base port. */
static void base_port_is_not_if_index(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 101, 2, "p101");
	fact_port(&world.facts, 102, 1, "p102");
	fact_port(&world.facts, 103, 0, "mgmt");
	fact_pvid(&world.facts, 1, 10);
	fact_pvid(&world.facts, 2, 20);
	fact_vlan(&world.facts, 10, "ten", "80", "80");
	fact_vlan(&world.facts, 20, "twenty", "40", "40");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.1", 1);
	read_world(&world);
	expect_vlans(&world, "p102", false, 10, "");
	expect_vlans(&world, "p101", false, 20, "");
	assert_int_equal(port_named(&world, "mgmt")->base_port, 0);
	assert_false(port_named(&world, "mgmt")->has_vlans);
	assert_int_equal(world.reading.fdb_count, 1);
	assert_int_equal(world.reading.fdb[0].if_index, 102);
	assert_int_equal(port_named(&world, "p101")->stp, STP_FORWARDING);
}

/* Without the filter on ingress an access port may take frames with any tag, and not every switch
 * says whether it does. */
static void who_does_not_say_that_tags_are_dropped_is_unproven(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	world.facts.fixed_frame_types = true; /* they could not be written */
	for (uint32_t port = 1; port <= 3; port++) {
		char name[8];

		(void)text_format(name, sizeof(name), "p%u", port);
		fact_port(&world.facts, port, port, name);
		fact_pvid(&world.facts, port, 10);
	}
	fact_vlan(&world.facts, 10, "ten", "e0", "e0");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.3.1", 1); /* on */
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.3.2", 2); /* off */
	read_world(&world);
	for (uint32_t port = 1; port <= 3; port++) {
		char name[8];

		(void)text_format(name, sizeof(name), "p%u", port);
		expect_vlans(&world, name, false, 10, "");
		assert_int_equal(port_named(&world, name)->unproven, port != 1);
	}
}

/* librenms#11121: ProCurve numbers its FDBs as it likes. */
static void fdb_id_is_not_the_vlan(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_procurve);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.100", 3);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.200", 4);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.201", 4);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.3.2.0.0.0.0.1", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.4.2.0.0.0.0.2", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.9.2.0.0.0.0.3", 5);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 3);
	assert_int_equal(world.reading.fdb[0].vlan, 100);
	assert_int_equal(world.reading.fdb[1].vlan, 0); /* two VLANs learn in it */
	assert_int_equal(world.reading.fdb[2].vlan, 0); /* of none that it tells */
}

static void fdb_id_is_the_vlan_where_nothing_maps_it(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.100.2.0.0.0.0.1", 5);
	read_world(&world);
	assert_int_equal(world.reading.fdb[0].vlan, 100);
}

/* Uninett/nav#256: MAC 0; also group addresses, the switch itself, ports that are none. */
static void rows_of_the_fdb_that_are_nobodys_are_left_out(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.0.0.0.0.0.0", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.1.0.94.0.0.1", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.1", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.3.1.2.0.0.0.0.1", 4); /* self */
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.2", 0); /* the CPU */
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.3", 99);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.4", 5);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.3.1.2.0.0.0.0.4", 3);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 1);
	assert_int_equal(world.reading.fdb[0].mac[5], 4);
	assert_int_equal(world.reading.odd, 3);
	assert_non_null(strstr(world.reading.odd_text, "00:00:00:00:00:00"));
}

/* librenms#19179: Q-BRIDGE answers, but with ports that the bridge does not have. */
static void an_fdb_of_garbage_gives_way_to_bridge_mib(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 5, 5, "5");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.1", 4711);
	assert_false(fact_fdb_makes_sense(&world.facts));
	fact_number(&world.facts, "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.9", 5);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 1);
	assert_int_equal(world.reading.fdb[0].mac[5], 9);
	assert_int_equal(world.reading.fdb[0].vlan, 0);
}

/* Cisco: one BRIDGE-MIB per VLAN, asked for as community@vlan. */
static void fdbs_of_single_vlans_are_put_together(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_ios);

	(void)state;
	fact_port(&world.facts, 10101, 1, "Gi1/0/1");
	fact_number(&world.facts, "@100 1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", 1);
	fact_number(&world.facts, "@200 1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", 1);
	read_world(&world);
	assert_int_equal(world.reading.fdb_count, 2);
	assert_int_equal(world.reading.fdb[0].vlan, 100);
	assert_int_equal(world.reading.fdb[1].vlan, 200);
	assert_int_equal(world.reading.fdb[1].if_index, 10101);
}

/* nav: lldpRemTable rows of agents that forget the TimeMark; a TimeFilter shows a row twice. */
static void broken_indexes_are_left_out(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 3, 3, "p3");
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.5.3.1", "aa");
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.5.0.3.1", "switch-b");
	fact_number(&world.facts, "1.0.8802.1.1.2.1.4.1.1.6.0.3.1", 5);
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.7.0.3.1", "p9");
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.5.0.4.1", "no port id");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0", 3);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.300", 3);
	read_world(&world);
	assert_int_equal(world.reading.neighbor_count, 1);
	assert_int_equal(world.reading.neighbors[0].if_index, 3);
	assert_string_equal(world.reading.neighbors[0].chassis, "switch-b");
	assert_string_equal(world.reading.neighbors[0].port, "p9");
	assert_int_equal(world.reading.odd, 4);
}

/* dot1qVlanCurrentTable has a row per TimeMark: the newest rules, and the static one before it. */
static void time_filters_show_vlans_more_than_once(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 1, 1, "p1");
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.0.10", 10);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.7.10", 10);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.2.1.3.9.20", 20);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.1", 1);
	read_world(&world);
	assert_int_equal(world.reading.vlan_count, 2);
	assert_int_equal(world.reading.vlans[0].id, 10);
	assert_int_equal(world.reading.fdb[0].vlan, 10);
}

/* Uninett/nav#319, netdisco#380, #603, #670: what lldpRemLocalPortNum numbers. */
static void local_ports_of_lldp_are_found_by_name_first(void **state)
{
	static const struct {
		const char *what;
		unsigned subtype;
		const char *id, *text;
		uint32_t if_index;
	} rows[] = {
		{"the name, though 2 is also a base port", 5, "p30", "", 30},
		{"the MAC", 3, "\x02\x00\x00\x00\x00\x14", "", 20},
		{"another spelling of the name", 7, "x", "GigabitEthernet1/0/4", 40},
		{"no row of the local table: base port", 0, NULL, NULL, 20},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

		fact_port(&world.facts, 2, 0, "p2");
		fact_port(&world.facts, 20, 2, "p20");
		fact_port(&world.facts, 30, 3, "p30");
		fact_port(&world.facts, 40, 4, "Gi1/0/4");
		fact_bytes(&world.facts, "1.3.6.1.2.1.2.2.1.6.20", "\x02\x00\x00\x00\x00\x14", 6);
		if (rows[i].id) {
			fact_number(&world.facts, "1.0.8802.1.1.2.1.3.7.1.2.2", rows[i].subtype);
			fact_bytes(&world.facts, "1.0.8802.1.1.2.1.3.7.1.3.2", rows[i].id,
				   rows[i].subtype == 3 ? 6 : strlen(rows[i].id));
			fact_text(&world.facts, "1.0.8802.1.1.2.1.3.7.1.4.2", rows[i].text);
		}
		fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.5.0.2.1", "b");
		fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.7.0.2.1", "x");
		read_world(&world);
		if (world.reading.neighbors[0].if_index != rows[i].if_index)
			fail_msg("%s: %u", rows[i].what, world.reading.neighbors[0].if_index);
		assert_int_equal(world.reading.neighbors[0].local_port, 2);
	}
}

static void a_local_port_that_cannot_be_told_says_so(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 2, 2, "p2");
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.5.0.77.1", "b");
	fact_text(&world.facts, "1.0.8802.1.1.2.1.4.1.1.7.0.77.1", "x");
	read_world(&world);
	assert_int_equal(world.reading.neighbors[0].if_index, 0);
	assert_int_equal(world.reading.neighbors[0].local_port, 77);
}

/* OS9: the table is indexed by the VLAN's interface, 0x4207800a is VLAN 10. */
static void vlans_may_be_indexed_by_their_interface(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_os9);

	(void)state;
	fact_port(&world.facts, 1, 1, "Te 0/0");
	fact_pvid(&world.facts, 1, 10);
	fact_vlan(&world.facts, 0x4207800a, "", "80", "80");
	read_world(&world);
	assert_int_equal(world.reading.vlan_count, 1);
	assert_int_equal(world.reading.vlans[0].id, 10);
	expect_vlans(&world, "Te 0/0", false, 10, "");
}

static void what_a_membership_cannot_say_is_never_what_was_wanted(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	for (uint32_t port = 1; port <= 8; port++) {
		char name[] = {'p', (char)('0' + port), '\0'};

		fact_port(&world.facts, port, port, name);
	}
	fact_vlan(&world.facts, 10, "", "ff", "df"); /* port 3 tagged */
	fact_vlan(&world.facts, 20, "", "70", "40"); /* 2 untagged, 3 and 4 tagged */
	for (uint32_t port = 1; port <= 8; port++)
		fact_pvid(&world.facts, port, 10);
	fact_pvid(&world.facts, 5, 30);
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.2.6", 2); /* only tagged frames */
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.3.7", 2); /* no filter */
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.3.8", 1);
	read_world(&world);
	expect_vlans(&world, "p1", false, 10, "");
	expect_vlans(&world, "p2", true, 10, "20"); /* two leave untagged */
	expect_vlans(&world, "p3", true, 10, "20"); /* PVID 10, and 10 leaves tagged */
	expect_vlans(&world, "p4", true, 10, "20");
	expect_vlans(&world, "p5", true, 30, "10"); /* in by one VLAN, out by another */
	expect_vlans(&world, "p6", true, 0, "10");
	expect_vlans(&world, "p7", true, 10, ""); /* frames with any tag come in */
	expect_vlans(&world, "p8", false, 10, "");
}

static void cisco_trunks_have_four_bitmaps(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_ios);
	static const char *const columns[] = {"4", "17", "18", "19"};
	struct vlan_set set;

	(void)state;
	assert_int_equal(vlan_set_parse("10,1023,1024,2047,4094", &set), 0);
	fact_port(&world.facts, 1, 0, "Gi1/0/1");
	fact_port(&world.facts, 2, 0, "Gi1/0/2");
	fact_port(&world.facts, 3, 0, "Gi1/0/3");
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		uint8_t octets[VLAN_BLOCK_SIZE];
		char oid[64];

		vlan_block_encode(&set, i, octets);
		(void)snprintf(oid, sizeof(oid), "1.3.6.1.4.1.9.9.46.1.6.1.1.%s.1", columns[i]);
		fact_bytes(&world.facts, oid, octets, sizeof(octets));
	}
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.13.1", 1);
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.5.1", 10);
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.13.2", 2);
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.68.1.2.2.1.2.2", 77);
	/* It would negotiate, and does not trunk now. */
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.13.3", 4);
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.14.3", 2);
	fact_number(&world.facts, "1.3.6.1.4.1.9.9.68.1.2.2.1.2.3", 78);
	fact_text(&world.facts, "1.3.6.1.4.1.9.9.46.1.3.1.1.4.1.77", "blue");
	read_world(&world);
	expect_vlans(&world, "Gi1/0/1", true, 10, "1023-1024,2047,4094");
	expect_vlans(&world, "Gi1/0/2", false, 77, "");
	expect_vlans(&world, "Gi1/0/3", false, 78, "");
	assert_string_equal(world.reading.vlans[0].name, "blue");
}

/* A number that is no VLAN stays one nowhere: what the engine keeps goes by VLANs. */
static void what_is_no_vlan_is_none(void **state)
{
	static const uint32_t numbers[] = {4095, 4096, 60000, 65537, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		CLEANUP(world_done) struct world ios = world_of(&snmp_dialect_ios);
		CLEANUP(world_done) struct world dnos = world_of(&snmp_dialect_dnos);
		CLEANUP(world_done) struct world qbridge = world_of(&snmp_dialect_qbridge);

		fact_port(&ios.facts, 1, 0, "access");
		fact_number(&ios.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.13.1", 2);
		fact_number(&ios.facts, "1.3.6.1.4.1.9.9.68.1.2.2.1.2.1", numbers[i]);
		fact_port(&ios.facts, 2, 0, "trunk");
		fact_number(&ios.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.13.2", 1);
		fact_number(&ios.facts, "1.3.6.1.4.1.9.9.46.1.6.1.1.5.2", numbers[i]);
		read_world(&ios);
		expect_vlans(&ios, "access", true, 0, "");
		expect_vlans(&ios, "trunk", true, 0, "");

		fact_port(&dnos.facts, 1, 1, "access");
		fact_port(&dnos.facts, 2, 2, "trunk");
		fact_vlan(&dnos.facts, 10, "", "00", "00");
		fact_number(&dnos.facts, DNOS_TEXT "13.1.26.1", 1);
		fact_number(&dnos.facts, DNOS_TEXT "13.1.43.1", numbers[i]);
		fact_number(&dnos.facts, DNOS_TEXT "13.1.26.2", 2);
		fact_number(&dnos.facts, DNOS_TEXT "13.1.46.2", numbers[i]);
		fact_bytes(&dnos.facts, DNOS_TEXT "23.1.1.1.10", "\x40", 1);
		read_world(&dnos);
		expect_vlans(&dnos, "access", true, 0, "");
		expect_vlans(&dnos, "trunk", true, 0, "10");

		fact_port(&qbridge.facts, 1, 1, "p1");
		fact_pvid(&qbridge.facts, 1, numbers[i]);
		fact_vlan(&qbridge.facts, 10, "ten", "80", "00");
		read_world(&qbridge);
		expect_vlans(&qbridge, "p1", true, 0, "10");
	}
}

static void modes_of_fastpath_decide(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_dnos);

	(void)state;
	fact_port(&world.facts, 1, 1, "Gi1/0/1");
	fact_port(&world.facts, 2, 2, "Gi1/0/2");
	fact_pvid(&world.facts, 1, 1);
	fact_pvid(&world.facts, 2, 1);
	fact_vlan(&world.facts, 10, "", "00", "00");
	fact_vlan(&world.facts, 20, "", "00", "00");
	fact_number(&world.facts, DNOS_TEXT "13.1.26.1", 1);
	fact_number(&world.facts, DNOS_TEXT "13.1.43.1", 10);
	fact_number(&world.facts, DNOS_TEXT "13.1.26.2", 2);
	fact_number(&world.facts, DNOS_TEXT "13.1.46.2", 10);
	fact_bytes(&world.facts, DNOS_TEXT "23.1.1.1.10", "\x40", 1);
	fact_bytes(&world.facts, DNOS_TEXT "23.1.1.1.20", "\x40", 1);
	read_world(&world);
	expect_vlans(&world, "Gi1/0/1", false, 10, "");
	expect_vlans(&world, "Gi1/0/2", true, 10, "20");
}

static void members_of_an_aggregate_are_found_two_ways(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

	(void)state;
	fact_port(&world.facts, 1, 1, "p1");
	fact_port(&world.facts, 2, 2, "p2");
	fact_port(&world.facts, 3, 3, "p3");
	fact_port(&world.facts, 50, 50, "po1");
	fact_port(&world.facts, 60, 60, "po2");
	fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.3.60", 161);
	fact_number(&world.facts, "1.2.840.10006.300.43.1.2.1.1.13.1", 50);
	fact_number(&world.facts, "1.2.840.10006.300.43.1.2.1.1.13.3", 3); /* itself: alone */
	fact_number(&world.facts, "1.3.6.1.2.1.31.1.2.1.3.60.2", 1);
	fact_number(&world.facts, "1.3.6.1.2.1.31.1.2.1.3.0.60", 1);
	read_world(&world);
	assert_int_equal(port_named(&world, "p1")->lag, 50);
	assert_int_equal(port_named(&world, "p2")->lag, 60);
	assert_int_equal(port_named(&world, "p3")->lag, 0);
	assert_true(port_named(&world, "po1")->is_lag);
	assert_true(port_named(&world, "po2")->is_lag);
	assert_false(port_named(&world, "p1")->is_lag);
}

/* LACP that is down takes its members out of the aggregate; the cables are where they were. */
static void members_without_lacp_belong_to_their_aggregate(void **state)
{
	static const struct {
		const char *what;
		const struct snmp_dialect *dialect;
		uint32_t attached, selected, group, lag;
	} rows[] = {
		{"attached", &snmp_dialect_qbridge, 50, 50, 0, 50},
		{"LACP is down", &snmp_dialect_qbridge, 0, 50, 0, 50},
		{"alone: its own aggregator", &snmp_dialect_qbridge, 1, 1, 0, 0},
		{"alone, and its aggregator has an index of its own", &snmp_dialect_qbridge, 0, 70,
		 0, 0},
		{"an aggregator that is nowhere", &snmp_dialect_qbridge, 0, 99, 0, 0},
		{"none", &snmp_dialect_qbridge, 0, 0, 0, 0},
		{"a ProCurve's trunk without LACP", &snmp_dialect_procurve, 0, 0, 2, 60},
		{"a ProCurve's trunk that is not there", &snmp_dialect_procurve, 0, 0, 3, 0},
		{"a ProCurve's port alone", &snmp_dialect_procurve, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(rows[i].dialect);

		fact_port(&world.facts, 1, 1, "1");
		fact_port(&world.facts, 50, 50, "Trk1");
		fact_port(&world.facts, 60, 60, "Trk2");
		fact_port(&world.facts, 70, 0, "aggregator 1");
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.3.50", 161);
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.3.60", 54);
		fact_number(&world.facts, "1.2.840.10006.300.43.1.2.1.1.12.1", rows[i].selected);
		fact_number(&world.facts, "1.2.840.10006.300.43.1.2.1.1.13.1", rows[i].attached);
		if (rows[i].dialect->lag.group.count)
			fact_number(&world.facts, "1.3.6.1.4.1.11.2.14.11.5.1.7.1.3.1.1.8.1",
				    rows[i].group);
		read_world(&world);
		if (port_named(&world, "1")->lag != rows[i].lag)
			fail_msg("%s: %u", rows[i].what, port_named(&world, "1")->lag);
	}
}

/* A link that went and came between two looks is as it was, but for ifLastChange. */
static void a_digest_tells_of_links_that_went_and_came(void **state)
{
	static const struct {
		uint32_t oper, changed;
		bool links;
	} rows[] = {{1, 0, true}, {2, 500, true}, {1, 900, true}, {1, 900, false}};
	uint64_t digests[COUNT_OF(rows)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

		fact_port(&world.facts, 1, 1, "p1");
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.8.1", rows[i].oper);
		fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.9.1", rows[i].changed);
		world.facts.links = rows[i].links;
		read_world(&world);
		digests[i] = world.reading.identity.link_changes;
		assert_int_equal(port_named(&world, "p1")->link_mark,
				 rows[i].links ? rows[i].changed + 1 : 0);
	}
	assert_true(digests[0] && digests[1] && digests[2] && !digests[3]);
	assert_true(digests[0] != digests[1] && digests[0] != digests[2] &&
		    digests[1] != digests[2]);
}

/* Somebody at the console moves a port between two VLANs that are there, or tags one more on it. */
static void a_digest_tells_of_ports_that_were_moved(void **state)
{
	static const struct {
		uint32_t pvid;
		const char *red, *blue;
		bool members;
	} rows[] = {
		{100, "80", "40", true}, {100, "8000", "40", true}, /* as before */
		{101, "", "c0", true},   {101, "80", "40", true},
		{100, "80", "c0", true}, {100, "80", "40", false},
	};
	uint64_t digests[COUNT_OF(rows)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);

		fact_port(&world.facts, 1, 1, "p1");
		fact_pvid(&world.facts, 1, rows[i].pvid);
		fact_vlan(&world.facts, 100, "red", rows[i].red, "");
		fact_vlan(&world.facts, 101, "blue", rows[i].blue, "");
		world.facts.members = rows[i].members;
		read_world(&world);
		digests[i] = world.reading.identity.member_changes;
	}
	assert_true(digests[0] && digests[0] == digests[1] && !digests[5]);
	for (size_t i = 2; i < 5; i++)
		assert_true(digests[i] && digests[i] != digests[0]);
	assert_true(digests[2] != digests[3] && digests[2] != digests[4]);
}

static void values_of_a_wrong_type_are_odd(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);
	static uint8_t long_list[PORT_LIST_LIMIT + 1];

	(void)state;
	fact_port(&world.facts, 1, 1, "p1");
	fact_text(&world.facts, "1.3.6.1.2.1.17.7.1.4.5.1.1.1", "ten");
	fact_number(&world.facts, "1.3.6.1.2.1.31.1.1.1.18.1", 7);
	fact_bytes(&world.facts, "1.3.6.1.2.1.17.7.1.4.3.1.2.9", long_list, sizeof(long_list));
	fact_number(&world.facts, "1.3.6.1.2.1.17.7.1.4.3.1.5.5000", 1);
	read_world(&world);
	assert_int_equal(world.reading.odd, 4);
}

static void only_what_was_asked_for_is_told(void **state)
{
	CLEANUP(world_done) struct world world = world_of(&snmp_dialect_qbridge);
	static const char *const only[] = {"p2", NULL};

	(void)state;
	fact_port(&world.facts, 1, 1, "p1");
	fact_port(&world.facts, 2, 2, "p2");
	fact_text(&world.facts, "1.3.6.1.2.1.31.1.1.1.1.9", "lo");
	fact_number(&world.facts, "1.3.6.1.2.1.2.2.1.3.9", 24);
	assert_int_equal(
		snmp_reading_make(&world.facts, PART_PORTS | PART_VLANS, only, &world.reading), 0);
	assert_int_equal(world.reading.port_count, 1);
	assert_string_equal(world.reading.ports[0].name, "p2");
	switch_reading_done(&world.reading);
	read_world(&world);
	assert_int_equal(world.reading.port_count, 2); /* the loopback is no port */
}

/* A poll asks for scalars alone: what moves says which tables are worth reading again. */
static void scalars_tell_what_changed(void **state)
{
	struct snmp_facts facts = {.dialect = &snmp_dialect_qbridge};
	struct snmp_value none = {.type = SNMP_NO_OBJECT};
	struct snmp_value ticks = {.type = SNMP_TICKS};

	(void)state;
	assert_true(snmp_facts_scalar(&facts, 8, &none));
	assert_int_equal(facts.identity.neighbor_changes, 0);
	/* Never changed since it started is not the same as does not say. */
	assert_true(snmp_facts_scalar(&facts, 8, &ticks));
	assert_int_equal(facts.identity.neighbor_changes, 1);
	ticks.number = UINT32_MAX;
	assert_true(snmp_facts_scalar(&facts, 8, &ticks));
	assert_int_equal(facts.identity.neighbor_changes, (uint64_t)UINT32_MAX + 1);
	assert_int_equal(facts.identity.vlan_changes, 0);
	/* The dialect's own mark of a change comes behind them. */
	assert_true(snmp_facts_scalar(&facts, FACT_SCALARS, &none));
	assert_int_equal(facts.identity.member_changes, 0);
	ticks.number = 41;
	assert_true(snmp_facts_scalar(&facts, FACT_SCALARS, &ticks));
	assert_int_equal(facts.identity.member_changes, 42);
	assert_false(snmp_facts_scalar(&facts, FACT_SCALARS + 1, &ticks));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_tell_what_changed),
		cmocka_unit_test(base_port_is_not_if_index),
		cmocka_unit_test(who_does_not_say_that_tags_are_dropped_is_unproven),
		cmocka_unit_test(fdb_id_is_not_the_vlan),
		cmocka_unit_test(fdb_id_is_the_vlan_where_nothing_maps_it),
		cmocka_unit_test(rows_of_the_fdb_that_are_nobodys_are_left_out),
		cmocka_unit_test(an_fdb_of_garbage_gives_way_to_bridge_mib),
		cmocka_unit_test(fdbs_of_single_vlans_are_put_together),
		cmocka_unit_test(broken_indexes_are_left_out),
		cmocka_unit_test(time_filters_show_vlans_more_than_once),
		cmocka_unit_test(local_ports_of_lldp_are_found_by_name_first),
		cmocka_unit_test(a_local_port_that_cannot_be_told_says_so),
		cmocka_unit_test(vlans_may_be_indexed_by_their_interface),
		cmocka_unit_test(what_a_membership_cannot_say_is_never_what_was_wanted),
		cmocka_unit_test(cisco_trunks_have_four_bitmaps),
		cmocka_unit_test(what_is_no_vlan_is_none),
		cmocka_unit_test(modes_of_fastpath_decide),
		cmocka_unit_test(members_of_an_aggregate_are_found_two_ways),
		cmocka_unit_test(members_without_lacp_belong_to_their_aggregate),
		cmocka_unit_test(a_digest_tells_of_links_that_went_and_came),
		cmocka_unit_test(a_digest_tells_of_ports_that_were_moved),
		cmocka_unit_test(values_of_a_wrong_type_are_odd),
		cmocka_unit_test(only_what_was_asked_for_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
