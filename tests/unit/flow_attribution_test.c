// links: peregrine_flow
/* Whose traffic it is, as rows. On a recorded fabric: flow_recording_test.c. */
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/attribution_policy.h"
#include "tests/support/cmocka.h"

#define ALWAYS .from_us = 0, .to_us = BINDING_ENDLESS
#define SECOND 1000000LL

/* --- a small fabric --- */

/* leaf1 (agent 1): port 4 is n1's (red), 5 unbound, 6 a trunk of blue (native) and red (tagged
 * 100), 7 and 8 the members of lag1, green; 2 an uplink. leaf2 (agent 2), in another fabric: VLAN
 * 100 is blue there. VLAN 100 of fabric 1 was green's until second 50. n8 was moved from port 4 to
 * port 10, which is blue's, at second 50. */
static const struct switch_row switches[] = {
	{.id = 11, .name = "leaf1", .fabric = 1, .agent = 1},
	{.id = 12, .name = "leaf2", .fabric = 2, .agent = 2},
};
static const struct port_row ports[] = {
	{.switch_id = 11, .name = "up0", .lag = "", .if_index = 2, .kind = PORT_KIND_UPLINK},
	{.switch_id = 11, .name = "p8", .lag = "lag1", .if_index = 8},
	{.switch_id = 11, .name = "p4", .lag = "", .if_index = 4, .kind = PORT_KIND_EDGE},
	{.switch_id = 11, .name = "p5", .lag = "", .if_index = 5, .kind = PORT_KIND_EDGE},
	{.switch_id = 11, .name = "p6", .lag = "", .if_index = 6, .kind = PORT_KIND_EDGE},
	{.switch_id = 11, .name = "p10", .lag = "", .if_index = 0x40404001, .kind = PORT_KIND_EDGE},
	{.switch_id = 11, .name = "p7", .lag = "lag1", .if_index = 7, .kind = PORT_KIND_EDGE},
	{.switch_id = 11, .name = "lag1", .lag = "", .if_index = 1000, .kind = PORT_KIND_EDGE},
	{.switch_id = 12, .name = "up0", .lag = "", .if_index = 2, .kind = PORT_KIND_UPLINK},
	{.switch_id = 99, .name = "gone", .lag = "", .if_index = 2},
};
enum { RED = 21, BLUE = 22, GREEN = 23 };
static const struct network_row networks[] = {
	{.id = RED, .name = "red", .tenant = 1, .tenant_name = "acme"},
	{.id = BLUE, .name = "blue", .tenant = 2, .tenant_name = "beta"},
	{.id = GREEN, .name = "green", .tenant = 3, .tenant_name = "gamma"},
};
static const struct port_binding_row port_bindings[] = {
	{.switch_id = 11, .port = "p4", .network = RED, ALWAYS},
	{.switch_id = 11, .port = "p6", .network = BLUE, ALWAYS},
	{.switch_id = 11, .port = "p6", .tag = 100, .network = RED, ALWAYS},
	{.switch_id = 11, .port = "p10", .network = BLUE, ALWAYS},
	{.switch_id = 11, .port = "lag1", .network = GREEN, .from_us = 0, .to_us = 50 * SECOND},
	{.switch_id = 11,
	 .port = "lag1",
	 .network = BLUE,
	 .from_us = 50 * SECOND,
	 .to_us = BINDING_ENDLESS},
};
static const struct vlan_binding_row vlans[] = {
	{.fabric = 1, .vlan = 100, .network = GREEN, .from_us = 0, .to_us = 50 * SECOND},
	{.fabric = 1,
	 .vlan = 100,
	 .network = RED,
	 .from_us = 50 * SECOND,
	 .to_us = BINDING_ENDLESS},
	{.fabric = 1, .vlan = 101, .network = BLUE, ALWAYS},
	{.fabric = 2, .vlan = 100, .network = BLUE, ALWAYS},
};
static const struct vni_binding_row vnis[] = {{.vni = 5001, .network = GREEN, ALWAYS}};
static const struct nic_binding_row nics[] = {
	{.mac = {2, 0, 0, 0, 0, 1},
	 .switch_id = 11,
	 .port = "p4",
	 .node = 1,
	 .node_name = "n1",
	 ALWAYS},
	{.mac = {2, 0, 0, 0, 0, 6},
	 .switch_id = 11,
	 .port = "p6",
	 .node = 6,
	 .node_name = "n6",
	 ALWAYS},
	{.mac = {2, 0, 0, 0, 0, 8},
	 .switch_id = 11,
	 .port = "p10",
	 .node = 8,
	 .node_name = "n8",
	 .from_us = 50 * SECOND,
	 .to_us = BINDING_ENDLESS},
	{.mac = {2, 0, 0, 0, 0, 8},
	 .switch_id = 11,
	 .port = "p4",
	 .node = 8,
	 .node_name = "n8",
	 .from_us = 10 * SECOND,
	 .to_us = 50 * SECOND},
};
static const struct attribution_rows rows = {
	.switches = switches,
	.switch_count = COUNT_OF(switches),
	.ports = ports,
	.port_count = COUNT_OF(ports),
	.networks = networks,
	.network_count = COUNT_OF(networks),
	.port_bindings = port_bindings,
	.port_binding_count = COUNT_OF(port_bindings),
	.vlans = vlans,
	.vlan_count = COUNT_OF(vlans),
	.vnis = vnis,
	.vni_count = COUNT_OF(vnis),
	.nics = nics,
	.nic_count = COUNT_OF(nics),
};

static const struct {
	const char *what;
	uint16_t agent;
	uint32_t input;
	uint16_t tag, told;
	uint8_t mac;
	uint32_t vni;
	int64_t at_s;
	enum attribution_by by;
	int64_t network;
	enum attribution_reason reason;
	uint16_t vlan;
	bool edge;
} owners[] = {
	{"an edge port", 1, 4, 0, 0, 1, 0, 60, BY_PORT, RED, REASON_NONE, 100, true},
	{"an edge port, whatever MAC", 1, 4, 0, 0, 6, 0, 60, BY_PORT, RED, REASON_NONE, 100, true},
	{"no record 1001", 1, 4, 0, VLAN_UNTOLD, 1, 0, 60, BY_PORT, RED, REASON_NONE, 100, true},
	{"a tag where none belongs", 1, 4, 100, 0, 1, 0, 60, BY_NOBODY, 0, REASON_PORT_UNBOUND, 100,
	 true},
	{"a trunk's native", 1, 6, 0, 0, 6, 0, 60, BY_PORT, BLUE, REASON_NONE, 101, true},
	{"a trunk's tag", 1, 6, 100, 100, 6, 0, 60, BY_PORT, RED, REASON_NONE, 100, true},
	{"a trunk's tag, stripped but told", 1, 5, 0, 100, 6, 0, 60, BY_NOBODY, 0,
	 REASON_PORT_UNBOUND, 100, true},
	{"an unbound port is nobody's, even with a known MAC", 1, 5, 0, 0, 1, 0, 60, BY_NOBODY, 0,
	 REASON_PORT_UNBOUND, 0, true},
	{"nor with a VNI", 1, 5, 0, 0, 1, 5002, 60, BY_NOBODY, 0, REASON_PORT_UNBOUND, 0, true},
	{"a member of an aggregate", 1, 7, 0, 0, 9, 0, 60, BY_PORT, BLUE, REASON_NONE, 101, true},
	{"another member, kind by its aggregate", 1, 8, 0, 0, 9, 0, 60, BY_PORT, BLUE, REASON_NONE,
	 101, true},
	{"the tenant before", 1, 7, 0, 0, 9, 0, 40, BY_PORT, GREEN, REASON_NONE, 100, true},
	{"the instant of the change", 1, 7, 0, 0, 9, 0, 50, BY_PORT, BLUE, REASON_NONE, 101, true},
	{"uplink, MAC and tag agree", 1, 2, 100, 100, 1, 0, 60, BY_MAC, RED, REASON_NONE, 100,
	 false},
	{"uplink, MAC alone", 1, 2, 0, VLAN_UNTOLD, 1, 0, 60, BY_MAC, RED, REASON_NONE, 100, false},
	{"uplink, a stolen MAC in another VLAN", 1, 2, 101, 101, 1, 0, 60, BY_TAG, BLUE,
	 REASON_NONE, 101, false},
	{"uplink, a trunk's MAC with its tag", 1, 2, 100, 100, 6, 0, 60, BY_MAC, RED, REASON_NONE,
	 100, false},
	{"uplink, a VNI", 1, 2, 0, VLAN_UNTOLD, 9, 5002, 60, BY_VNI, GREEN, REASON_NONE, 0, false},
	{"uplink, a tag", 1, 2, 100, 100, 9, 0, 60, BY_TAG, RED, REASON_NONE, 100, false},
	{"uplink, told in record 1001", 1, 2, 0, 101, 9, 0, 60, BY_TAG, BLUE, REASON_NONE, 101,
	 false},
	{"the same tag in another fabric", 2, 2, 100, 100, 9, 0, 60, BY_TAG, BLUE, REASON_NONE, 100,
	 false},
	{"the same tag before", 1, 2, 100, 100, 9, 0, 40, BY_TAG, GREEN, REASON_NONE, 100, false},
	{"a node before it was moved", 1, 2, 0, VLAN_UNTOLD, 8, 0, 49, BY_MAC, RED, REASON_NONE, 0,
	 false},
	{"the instant it was", 1, 2, 0, VLAN_UNTOLD, 8, 0, 50, BY_MAC, BLUE, REASON_NONE, 101,
	 false},
	{"after it was", 1, 2, 101, 101, 8, 0, 60, BY_MAC, BLUE, REASON_NONE, 101, false},
	{"after it was, a tag of where it was", 1, 2, 100, 100, 8, 0, 60, BY_TAG, RED, REASON_NONE,
	 100, false},
	{"before it was anywhere", 1, 2, 0, VLAN_UNTOLD, 8, 0, 9, BY_NOBODY, 0, REASON_UNTAGGED, 0,
	 false},
	{"at its new port, whose ifIndex is large", 1, 0x40404001, 0, 0, 8, 0, 60, BY_PORT, BLUE,
	 REASON_NONE, 101, true},
	{"a tag of nobody", 1, 2, 999, 999, 9, 0, 60, BY_NOBODY, 0, REASON_FOREIGN_VLAN, 999,
	 false},
	{"nothing to go by", 1, 2, 0, VLAN_UNTOLD, 9, 0, 60, BY_NOBODY, 0, REASON_UNTAGGED, 0,
	 false},
	{"an ifIndex of nobody", 1, 77, 0, 0, 9, 0, 60, BY_NOBODY, 0, REASON_UNKNOWN_PORT, 0,
	 false},
	{"the switch itself", 1, (uint32_t)PORT_INTERNAL, 0, VLAN_UNTOLD, 9, 0, 60, BY_NOBODY, 0,
	 REASON_SWITCH_ITSELF, 0, false},
};

static void everybody_gets_his_own(void **state)
{
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	assert_int_equal(index->left_out, 1);
	for (size_t i = 0; i < COUNT_OF(owners); i++) {
		struct flow_key key = {.agent = owners[i].agent,
				       .input = owners[i].input,
				       .tag = owners[i].tag,
				       .told_vlan = owners[i].told,
				       .vni = owners[i].vni,
				       .source_mac = {2, 0, 0, 0, 0, owners[i].mac}};
		struct attribution a = attribute(index, &key, owners[i].at_s * SECOND);

		print_message("%s\n", owners[i].what);
		assert_int_equal(a.by, owners[i].by);
		assert_int_equal(a.reason, owners[i].reason);
		assert_int_equal(a.network == INDEX_NONE ? 0 : index->networks[a.network].id,
				 owners[i].network);
		assert_int_equal(a.vlan, owners[i].vlan);
		assert_int_equal(a.from_edge, owners[i].edge);
	}
	attribution_index_free(index);
}

/* Frames inside others on an uplink: our own overlay's are of their VNI, a tenant's own are his,
 * whatever VNI he writes (5001 is green's), and whosever MAC. */
static void what_a_tenant_wraps_is_his(void **state)
{
	static const struct {
		const char *what;
		uint16_t agent, tag, told;
		uint8_t mac, flags;
		int64_t network;
		enum attribution_by by;
	} cases[] = {
		{"ours, no VLAN shown", 1, 0, VLAN_UNTOLD, 9, FLOW_INNER, GREEN, BY_VNI},
		{"ours, another's MAC in it", 1, 0, VLAN_UNTOLD, 1, FLOW_INNER, GREEN, BY_VNI},
		{"ours, in a VLAN of nobody", 1, 999, 999, 9, FLOW_INNER, GREEN, BY_VNI},
		{"a tenant's", 1, 100, 100, 9, FLOW_INNER, RED, BY_TAG},
		{"a tenant's, his tag told alone", 1, 0, 101, 9, FLOW_INNER, BLUE, BY_TAG},
		{"a tenant's, another's MAC in it", 1, 101, 101, 1, FLOW_INNER, BLUE, BY_TAG},
		{"a tenant's of another fabric", 2, 100, 100, 9, FLOW_INNER, BLUE, BY_TAG},
		{"a VNI that the switch told", 1, 100, 100, 9, 0, GREEN, BY_VNI},
	};
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct flow_key key = {.agent = cases[i].agent,
				       .input = 2,
				       .tag = cases[i].tag,
				       .told_vlan = cases[i].told,
				       .vni = 5002,
				       .flags = cases[i].flags,
				       .source_mac = {2, 0, 0, 0, 0, cases[i].mac}};
		struct attribution a = attribute(index, &key, 60 * SECOND);

		print_message("%s\n", cases[i].what);
		assert_int_equal(a.by, cases[i].by);
		assert_int_equal(index->networks[a.network].id, cases[i].network);
	}
	attribution_index_free(index);
}

/* Who writes a MAC of another tenant's node does not make it that node's traffic. */
static void a_node_is_named_in_its_networks_alone(void **state)
{
	static const struct {
		uint8_t mac;
		int64_t network, at_s; /* network 0: it is not known whose */
		bool in;
	} cases[] = {
		{1, RED, 60, true},  {1, BLUE, 60, false}, {1, 0, 60, true},
		{6, RED, 60, true},  {6, BLUE, 60, true},  {6, GREEN, 60, false},
		{8, RED, 49, true},  {8, BLUE, 49, false}, {8, BLUE, 50, true},
		{8, RED, 50, false},
	};
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint8_t mac[6] = {2, 0, 0, 0, 0, cases[i].mac};
		const struct index_nic *nic = index_nic_find(index, mac, cases[i].at_s * SECOND);
		uint32_t network = INDEX_NONE;

		for (uint32_t j = 0; j < index->network_count; j++)
			if (index->networks[j].id == cases[i].network)
				network = j;
		assert_non_null(nic);
		assert_int_equal(attribution_nic_is_in(index, nic, network, cases[i].at_s * SECOND),
				 cases[i].in);
	}
	attribution_index_free(index);
}

/* The same MAC is the same node before and after, behind the port of then. */
static void a_moved_node_is_where_it_was_then(void **state)
{
	static const struct {
		int64_t at_us;
		const char *port; /* NULL: nowhere */
	} cases[] = {
		{10 * SECOND - 1, NULL}, {10 * SECOND, "p4"},     {50 * SECOND - 1, "p4"},
		{50 * SECOND, "p10"},    {90000 * SECOND, "p10"},
	};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 8};
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct index_nic *nic = index_nic_find(index, mac, cases[i].at_us);

		assert_int_equal(nic == NULL, cases[i].port == NULL);
		if (!nic)
			continue;
		assert_int_equal(nic->node, 8);
		assert_string_equal(nic->node_name, "n8");
		assert_string_equal(index->ports[nic->port].name, cases[i].port);
	}
	attribution_index_free(index);
}

/* What leaves is told as it is on that link: with the tag that the switch puts on, without the one
 * that it takes off; where nothing says so, as it was sampled. */
static void a_tag_comes_and_goes(void **state)
{
	static const struct {
		const char *what;
		uint32_t input, output;
		uint16_t tag, told;
		uint8_t flags;
		uint32_t vni;
		int out_more;
	} cases[] = {
		{"an edge port to an uplink", 4, 2, 0, 0, 0, 0, 4},
		{"an uplink to an edge port", 2, 4, 100, 100, 0, 0, -4},
		{"an uplink to an uplink", 2, 2, 100, 100, 0, 0, 0},
		{"an edge port to a trunk that has its tag", 4, 6, 0, 0, 0, 0, 4},
		{"a trunk's tag to an edge port", 6, 4, 100, 100, 0, 0, -4},
		{"a trunk's tag to an uplink", 6, 2, 100, 100, 0, 0, 0},
		{"a trunk's native to an uplink", 6, 2, 0, 0, 0, 0, 4},
		{"a trunk's native to where it is untagged as well", 6, 7, 0, 0, 0, 0, 0},
		{"an uplink to a trunk that has its tag", 2, 6, 100, 100, 0, 0, 0},
		{"an uplink, not tagged as it was sampled", 2, 4, 0, 100, 0, 0, 0},
		{"nobody's", 5, 2, 0, 0, 0, 0, 0},
		{"to where it is not bound", 4, 5, 0, 0, 0, 0, 0},
		{"sampled as it left", 4, 2, 0, 0, FLOW_EGRESS, 0, 0},
		{"an exporter's own sum", 4, 2, 0, 0, FLOW_RECORD, 0, 0},
		{"a frame in a tunnel", 4, 2, 0, 0, FLOW_INNER, 5002, 0},
		{"to many ports", 4, (uint32_t)PORT_MULTIPLE, 0, 0, 0, 0, 0},
	};
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct flow_key key = {.agent = 1,
				       .input = cases[i].input,
				       .output = cases[i].output,
				       .tag = cases[i].tag,
				       .told_vlan = cases[i].told,
				       .vni = cases[i].vni,
				       .flags = cases[i].flags,
				       .source_mac = {2, 0, 0, 0, 0, 1}};
		struct attribution a = attribute(index, &key, 60 * SECOND);

		print_message("%s\n", cases[i].what);
		assert_int_equal(a.out_more, cases[i].out_more);
	}
	attribution_index_free(index);
}

static void control_frames_are_nobodys(void **state)
{
	static const struct {
		uint8_t mac[6];
		bool control;
	} cases[] = {
		{{0x01, 0x80, 0xc2, 0, 0, 0x0e}, true},
		{{0x01, 0x80, 0xc2, 0, 0, 0}, true},
		{{0x01, 0x80, 0xc2, 0, 0, 0x10}, false},
		{{0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc}, true},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
	};
	struct attribution_index *index = NULL;

	(void)state;
	assert_int_equal(attribution_index_new(&rows, &index), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct flow_key key = {.agent = 1, .input = 4};

		memcpy(key.target_mac, cases[i].mac, 6);
		assert_int_equal(attribute(index, &key, 0).reason == REASON_CONTROL,
				 cases[i].control);
	}
	attribution_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_gets_his_own),
		cmocka_unit_test(what_a_tenant_wraps_is_his),
		cmocka_unit_test(a_node_is_named_in_its_networks_alone),
		cmocka_unit_test(a_moved_node_is_where_it_was_then),
		cmocka_unit_test(a_tag_comes_and_goes),
		cmocka_unit_test(control_frames_are_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
