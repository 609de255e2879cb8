// links: peregrine_switch
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/switch/snmp/qbridge_wire.h"
#include "peregrine/switch/snmp/snmp_oid.h"
#include "peregrine/switch/snmp/snmp_wire.h"
#include "tests/support/cmocka.h"

/* RFC 4363: the most significant bit of the first octet is port 1. */
static void bits_are_counted_from_the_most_significant(void **state)
{
	static const struct {
		uint32_t port;
		uint8_t octet, value;
	} rows[] = {{1, 0, 0x80}, {8, 0, 0x01}, {9, 1, 0x80}, {24, 2, 0x01}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t octets[3] = {0};

		assert_int_equal(
			port_list_put(octets, 3, (struct port_list_shape){0}, rows[i].port, true),
			0);
		assert_int_equal(octets[rows[i].octet], rows[i].value);
		assert_true(port_list_has(octets, 3, (struct port_list_shape){0}, rows[i].port));
		assert_false(
			port_list_has(octets, 3, (struct port_list_shape){0}, rows[i].port + 1));
	}
}

static void a_list_keeps_its_length(void **state)
{
	uint8_t octets[2] = {0xff, 0xff};
	struct port_list_shape shape = {0};

	(void)state;
	assert_int_equal(port_list_put(octets, 2, shape, 17, true), E_LIMIT);
	assert_int_equal(port_list_put(octets, 2, shape, 17, false), 0);
	assert_int_equal(port_list_put(octets, 2, shape, 0, false), E_INVALID);
	assert_int_equal(port_list_put(octets, 2, shape, UINT32_MAX, false), E_INVALID);
	assert_false(port_list_has(octets, 2, shape, 17));
	assert_false(port_list_has(NULL, 0, shape, 1));
	assert_int_equal(octets[0] << 8 | octets[1], 0xffff);
}

/* A stack with octets of its own for each unit: port 49 is the first of unit 2. */
static void units_of_a_stack_begin_at_octets_of_their_own(void **state)
{
	struct port_list_shape shape = {.octets_per_unit = 8, .ports_per_unit = 48};
	uint8_t octets[16] = {0};
	size_t bit;

	(void)state;
	assert_true(port_list_bit(shape, 48, &bit));
	assert_int_equal(bit, 47);
	assert_true(port_list_bit(shape, 49, &bit));
	assert_int_equal(bit, 64);
	assert_int_equal(port_list_put(octets, 16, shape, 49, true), 0);
	assert_int_equal(octets[8], 0x80);
}

/* netdisco's writer kept to the first of the four: every edge is here. */
static void four_bitmaps_hold_all_vlans(void **state)
{
	static const struct {
		unsigned vlan;
		size_t block, octet;
		uint8_t value;
	} rows[] = {
		{1, 0, 0, 0x40},    {1023, 0, 127, 0x01}, {1024, 1, 0, 0x80}, {2047, 1, 127, 0x01},
		{2048, 2, 0, 0x80}, {3071, 2, 127, 0x01}, {3072, 3, 0, 0x80}, {4094, 3, 127, 0x02},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct vlan_set set = {0};
		struct vlan_set again = {0};

		vlan_set_add(&set, rows[i].vlan);
		for (size_t block = 0; block < VLAN_BLOCKS; block++) {
			uint8_t octets[VLAN_BLOCK_SIZE];
			uint8_t empty[VLAN_BLOCK_SIZE] = {0};

			vlan_block_encode(&set, block, octets);
			assert_int_equal(memcmp(octets, empty, sizeof(empty)) == 0,
					 block != rows[i].block);
			if (block == rows[i].block)
				assert_int_equal(octets[rows[i].octet], rows[i].value);
			assert_int_equal(vlan_block_decode(octets, sizeof(octets), block, &again),
					 0);
		}
		assert_true(vlan_set_equal(&set, &again));
	}
}

static void bitmaps_may_be_short_but_not_long(void **state)
{
	uint8_t octets[VLAN_BLOCK_SIZE + 1] = {0x20};
	struct vlan_set set = {0};

	(void)state;
	assert_int_equal(vlan_block_decode(octets, 1, 1, &set), 0);
	assert_true(vlan_set_has(&set, 1026));
	assert_int_equal(vlan_set_count(&set), 1);
	assert_int_equal(vlan_block_decode(octets, sizeof(octets), 0, &set), E_MALFORMED);
	assert_int_equal(vlan_block_decode(octets, 1, VLAN_BLOCKS, &set), E_MALFORMED);
	assert_int_equal(vlan_block_decode(NULL, 0, 3, &set), 0);
}

static void ids_of_lldp_become_text(void **state)
{
	static const uint8_t mac[] = {0, 0x1b, 0x21, 0xaa, 0xbb, 0xcc};
	static const struct {
		enum lldp_id_kind kind;
		unsigned subtype;
		const void *bytes;
		size_t size;
		const char *text;
	} rows[] = {
		{LLDP_CHASSIS, 4, mac, 6, "00:1b:21:aa:bb:cc"},
		{LLDP_PORT, 3, mac, 6, "00:1b:21:aa:bb:cc"},
		/* the same number is another thing of the other id */
		{LLDP_PORT, 4, "\x01\x0a\x00\x00\x07", 5, "10.0.0.7"},
		{LLDP_CHASSIS, 5, "\x01\x0a\x00\x00\x07", 5, "10.0.0.7"},
		{LLDP_PORT, 5, "Gi1/0/7", 7, "Gi1/0/7"},
		{LLDP_PORT, 7, "7", 1, "7"},
		/* a MAC as text, a MAC under "local", a name with rubbish */
		{LLDP_CHASSIS, 4, "00-1B-21-AA-BB-CC", 17, "00:1b:21:aa:bb:cc"},
		{LLDP_CHASSIS, 4, "001b.21aa.bbcc", 14, "00:1b:21:aa:bb:cc"},
		{LLDP_PORT, 7, mac, 6, "00:1b:21:aa:bb:cc"},
		{LLDP_PORT, 5, "swp1\n\xff", 6, "swp1??"},
		{LLDP_PORT, 5, "eth0  ", 6, "eth0"},
		{LLDP_PORT, 99, "x", 1, "x"},
		{LLDP_PORT, 3, "", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[64];

		lldp_id_text(rows[i].kind, rows[i].subtype, rows[i].bytes, rows[i].size, text,
			     sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

static void names_of_ports_have_spellings(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"GigabitEthernet1/0/1", "Gi1/0/1", true},
		{"gi 1/0/1", "Gi1/0/1", true},
		{"Ten-GigabitEthernet1/0/49", "Te1/0/49", true},
		{"Ethernet1/7", "Eth1/7", true},
		{"Gi1/0/1", "Gi1/0/11", false},
		{"Gi1/0/1", "Te1/0/1", false},
		{"swp1", "swp11", false},
		{"1/1", "Gi1/1", false},
		{"", "", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(port_name_same(rows[i].a, rows[i].b), rows[i].same);
}

static void macs_in_indexes_are_checked(void **state)
{
	static const uint32_t good[] = {0, 27, 33, 170, 187, 255};
	static const uint32_t large[] = {0, 1, 2, 3, 4, 256};
	uint8_t mac[6];

	(void)state;
	assert_true(snmp_index_mac(good, 6, mac));
	assert_int_equal(mac[5], 255);
	assert_false(snmp_index_mac(good, 5, mac));
	assert_false(snmp_index_mac(large, 6, mac));
	assert_true(snmp_mac_is_odd((const uint8_t[6]){0}));
	assert_true(snmp_mac_is_odd((const uint8_t[6]){1, 0, 0x5e, 0, 0, 1}));
	assert_false(snmp_mac_is_odd(mac));
}

static void object_ids_are_ordered_as_getnext_has_them(void **state)
{
	static const struct snmp_oid a = OID(1, 3, 6);
	static const struct snmp_oid b = OID(1, 3, 6, 1);
	static const struct snmp_oid c = OID(1, 3, 7);
	struct snmp_oid full = {.count = SNMP_OID_LIMIT};
	char text[8];

	(void)state;
	assert_true(snmp_oid_order(&a, &b) < 0 && snmp_oid_order(&b, &c) < 0);
	assert_int_equal(snmp_oid_order(&b, &b), 0);
	assert_true(snmp_oid_is_below(&b, &a));
	assert_false(snmp_oid_is_below(&a, &a));
	assert_false(snmp_oid_is_below(&c, &a) && snmp_oid_is_below(&b, &c));
	full = snmp_oid_with(&full, 7);
	assert_int_equal(full.count, SNMP_OID_LIMIT);
	assert_true(snmp_oid_text(&a, text, sizeof(text)));
	assert_string_equal(text, ".1.3.6");
	assert_false(snmp_oid_text(&b, text, sizeof(text)));
	assert_string_equal(text, ".1.3.6");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_are_counted_from_the_most_significant),
		cmocka_unit_test(a_list_keeps_its_length),
		cmocka_unit_test(units_of_a_stack_begin_at_octets_of_their_own),
		cmocka_unit_test(four_bitmaps_hold_all_vlans),
		cmocka_unit_test(bitmaps_may_be_short_but_not_long),
		cmocka_unit_test(ids_of_lldp_become_text),
		cmocka_unit_test(names_of_ports_have_spellings),
		cmocka_unit_test(macs_in_indexes_are_checked),
		cmocka_unit_test(object_ids_are_ordered_as_getnext_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
