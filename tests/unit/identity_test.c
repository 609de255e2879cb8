// links: bootd_identify
/* Who asks: the decision table over MAC, UUID and port; UUIDs in both byte orders; what cables say.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/identity_policy.h"
#include "bampi/bootd/identify/uuid_wire.h"
#include "tests/support/cmocka.h"

#define NODE  IDENTITY_ANSWER_NODE
#define ALONE IDENTITY_ANSWER_ADDRESS
#define NONE  IDENTITY_ANSWER_NOTHING

/* clang-format off */
static const struct {
	const char *what;
	struct identity_facts facts;
	enum identity_outcome outcome;
	enum identity_reason reason;
	enum identity_answer answer;
	int64_t node, other;
} cases[] = {
	{"nothing known", {0}, IDENTITY_NEW, IDENTITY_STRANGER, ALONE, 0, 0},
	{"a stranger at an empty port", {.located = true}, IDENTITY_NEW, IDENTITY_STRANGER, ALONE, 0, 0},

	/* by MAC */
	{"MAC alone", {.by_mac = 1}, IDENTITY_KNOWN, IDENTITY_BY_MAC, NODE, 1, 0},
	{"MAC and UUID agree", {.by_mac = 1, .by_uuid = 1}, IDENTITY_KNOWN, IDENTITY_BY_MAC, NODE, 1, 0},
	{"MAC at its port", {.by_mac = 1, .located = true, .port_node = 1, .last_node = 1, .last_fresh = true},
	 IDENTITY_KNOWN, IDENTITY_BY_MAC, NODE, 1, 0},
	{"a UUID that all boards have: the MAC counts", {.by_mac = 1, .uuid_shared = true, .uuid_other = 2},
	 IDENTITY_KNOWN, IDENTITY_UUID_NO_EVIDENCE, NODE, 1, 2},
	{"and an operator declared it for all", {.by_mac = 1, .uuid_shared = true, .uuid_declared = true, .uuid_other = 2},
	 IDENTITY_KNOWN, IDENTITY_UUID_NO_EVIDENCE, NODE, 1, 2},
	{"a UUID that was only seen with 2, and 1 had none", {.by_mac = 1, .by_uuid = 2, .uuid_other = 2},
	 IDENTITY_KNOWN, IDENTITY_UUID_NO_EVIDENCE, NODE, 1, 2},
	{"1 had its own, and now says what was seen with 2", {.by_mac = 1, .by_uuid = 2, .uuid_other = 2, .uuid_changed = true},
	 IDENTITY_CONFLICT, IDENTITY_UUID_OF_OTHER, NONE, 1, 2},
	{"1 had its own, and now says what 2 and 3 were declared with",
	 {.by_mac = 1, .uuid_shared = true, .uuid_declared = true, .uuid_changed = true, .uuid_other = 2},
	 IDENTITY_CONFLICT, IDENTITY_UUID_OF_OTHER, NONE, 1, 2},
	{"1 had its own, and now says what many were seen with", {.by_mac = 1, .uuid_shared = true, .uuid_changed = true, .uuid_other = 2},
	 IDENTITY_KNOWN, IDENTITY_NEW_BOARD, NODE, 1, 0},
	{"a common UUID does not hide a moved cable", {.by_mac = 1, .uuid_shared = true, .uuid_other = 2, .located = true, .seen_elsewhere = true},
	 IDENTITY_MOVED, IDENTITY_NEW_PORT, NODE, 1, 0},
	{"nor that the port is another's", {.by_mac = 1, .uuid_shared = true, .uuid_other = 2, .located = true, .port_node = 2},
	 IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER, NONE, 1, 2},
	{"MAC says 1, the port says 2", {.by_mac = 1, .located = true, .port_node = 2}, IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER, NONE, 1, 2},
	{"also when its UUID agrees", {.by_mac = 1, .by_uuid = 1, .located = true, .port_node = 2},
	 IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER, NONE, 1, 2},
	{"MAC says 1, the UUID was declared for 2", {.by_mac = 1, .by_uuid = 2, .uuid_declared = true}, IDENTITY_CONFLICT, IDENTITY_UUID_OF_OTHER, NONE, 1, 2},
	{"two nodes at one port", {.by_mac = 1, .located = true, .last_node = 2, .last_fresh = true},
	 IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT, NONE, 1, 2},
	{"the other is long gone", {.by_mac = 1, .located = true, .last_node = 2}, IDENTITY_KNOWN, IDENTITY_BY_MAC, NODE, 1, 0},
	{"an operator put 1 there", {.by_mac = 1, .located = true, .port_node = 1, .last_node = 2, .last_fresh = true},
	 IDENTITY_KNOWN, IDENTITY_BY_MAC, NODE, 1, 0},
	{"a moved cable", {.by_mac = 1, .located = true, .seen_elsewhere = true}, IDENTITY_MOVED, IDENTITY_NEW_PORT, NODE, 1, 0},
	{"moved, and the switch wants silence", {.by_mac = 1, .located = true, .seen_elsewhere = true, .moved_silent = true},
	 IDENTITY_MOVED, IDENTITY_NEW_PORT, NONE, 1, 0},
	{"moved to where an operator wants it", {.by_mac = 1, .located = true, .seen_elsewhere = true, .moved_silent = true, .port_node = 1},
	 IDENTITY_MOVED, IDENTITY_NEW_PORT, NODE, 1, 0},
	{"moved to the port of another", {.by_mac = 1, .located = true, .seen_elsewhere = true, .last_node = 2, .last_fresh = true},
	 IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT, NONE, 1, 2},
	{"a NIC in another machine", {.by_mac = 1, .uuid_changed = true, .located = true, .seen_elsewhere = true},
	 IDENTITY_CONFLICT, IDENTITY_NIC_IN_STRANGER, NONE, 1, 0},
	{"a new board around the NIC", {.by_mac = 1, .uuid_changed = true, .located = true, .last_node = 1, .last_fresh = true},
	 IDENTITY_KNOWN, IDENTITY_NEW_BOARD, NODE, 1, 0},

	/* by UUID */
	{"a swapped NIC, by the port's row", {.by_uuid = 1, .uuid_node_nics = true, .located = true, .port_node = 1, .port_node_nics = true},
	 IDENTITY_SWAPPED, IDENTITY_NEW_NIC, ALONE, 1, 0},
	{"a swapped NIC, by what was seen", {.by_uuid = 1, .uuid_node_nics = true, .located = true, .last_node = 1, .last_fresh = true},
	 IDENTITY_SWAPPED, IDENTITY_NEW_NIC, ALONE, 1, 0},
	{"swapped, and the switch wants silence", {.by_uuid = 1, .uuid_node_nics = true, .located = true, .last_node = 1, .swapped_silent = true},
	 IDENTITY_SWAPPED, IDENTITY_NEW_NIC, NONE, 1, 0},
	{"UUID says 1, the port says 2", {.by_uuid = 1, .uuid_node_nics = true, .located = true, .port_node = 2},
	 IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER, NONE, 1, 2},
	{"UUID says 1, 2 is at the port", {.by_uuid = 1, .uuid_node_nics = true, .located = true, .last_node = 2, .last_fresh = true},
	 IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT, NONE, 1, 2},
	{"declared by its UUID", {.by_uuid = 1}, IDENTITY_KNOWN, IDENTITY_BY_UUID, NODE, 1, 0},
	{"declared by UUID and port", {.by_uuid = 1, .located = true, .port_node = 1}, IDENTITY_KNOWN, IDENTITY_BY_UUID, NODE, 1, 0},
	{"the UUID of a node with other NICs, no port", {.by_uuid = 1, .uuid_node_nics = true}, IDENTITY_NEW, IDENTITY_UNDECLARED_NIC, ALONE, 1, 0},
	{"the same at an empty port", {.by_uuid = 1, .uuid_node_nics = true, .located = true}, IDENTITY_NEW, IDENTITY_UNDECLARED_NIC, ALONE, 1, 0},
	{"a UUID of two nodes", {.uuid_shared = true}, IDENTITY_CONFLICT, IDENTITY_UUID_SHARED, NONE, 0, 0},
	{"a UUID of two nodes where somebody was", {.uuid_shared = true, .located = true, .last_node = 1},
	 IDENTITY_CONFLICT, IDENTITY_UUID_SHARED, NONE, 0, 0},

	/* by port */
	{"declared by its port", {.located = true, .port_node = 1}, IDENTITY_KNOWN, IDENTITY_BY_PORT, NODE, 1, 0},
	{"the port tells shared UUIDs apart", {.uuid_shared = true, .located = true, .port_node = 1}, IDENTITY_KNOWN, IDENTITY_BY_PORT, NODE, 1, 0},
	{"declared by its port, where another is", {.located = true, .port_node = 1, .last_node = 2, .last_fresh = true},
	 IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT, NONE, 1, 2},
	{"an unknown MAC at a node's port", {.located = true, .port_node = 1, .port_node_nics = true},
	 IDENTITY_NEW, IDENTITY_UNKNOWN_AT_PORT, ALONE, 1, 0},
	{"an unknown MAC where a node was seen", {.located = true, .last_node = 1, .last_fresh = true},
	 IDENTITY_NEW, IDENTITY_UNKNOWN_AT_PORT, ALONE, 1, 0},
};
/* clang-format on */

static void decisions(void **state)
{
	bool reasons[IDENTITY_REASONS] = {[IDENTITY_ADDRESS_TAKEN] = true}; /* found later */

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct identity_decision decision = identity_policy(&cases[i].facts);

		print_message("%s: %s\n", cases[i].what, identity_outcome_text(decision.outcome));
		assert_int_equal(decision.outcome, cases[i].outcome);
		assert_int_equal(decision.reason, cases[i].reason);
		assert_int_equal(decision.answer, cases[i].answer);
		assert_int_equal(decision.node_id, cases[i].node);
		assert_int_equal(decision.other_id, cases[i].other);
		reasons[decision.reason] = true;
	}
	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		assert_true(reasons[i]); /* every reason has its case */
}

/* What holds for any facts. */
static void invariants(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 1U << 18; bits++) {
		struct identity_facts facts = {
			.by_mac = bits & 3U,
			.by_uuid = bits >> 2 & 3U,
			.port_node = bits >> 4 & 3U,
			.last_node = bits >> 6 & 3U,
			.uuid_shared = bits >> 8 & 1U,
			.uuid_changed = bits >> 9 & 1U,
			.uuid_node_nics = bits >> 10 & 1U,
			.located = bits >> 11 & 1U,
			.seen_elsewhere = bits >> 12 & 1U,
			.port_node_nics = bits >> 13 & 1U,
			.last_fresh = bits >> 14 & 1U,
			.moved_silent = bits >> 15 & 1U,
			.swapped_silent = bits >> 16 & 1U,
			.uuid_declared = bits >> 17 & 1U,
		};
		struct identity_decision decision = identity_policy(&facts);

		if (decision.outcome == IDENTITY_CONFLICT)
			assert_int_equal(decision.answer, NONE); /* nobody is guessed */
		if (decision.answer == NODE) {
			assert_true(decision.node_id != 0);
			/* Nobody boots as a node against the word of another evidence. */
			assert_true(!facts.by_mac || facts.by_mac == decision.node_id);
			assert_true(!facts.port_node || facts.port_node == decision.node_id);
			/* A UUID that nobody declared says nothing against a MAC. */
			assert_true(!facts.by_uuid || facts.by_uuid == decision.node_id ||
				    (facts.by_mac && !facts.uuid_declared && !facts.uuid_changed));
		}
		/* A NIC that is not declared boots only where no NIC is declared at all. */
		if (!facts.by_mac && decision.answer == NODE)
			assert_true(decision.node_id == facts.by_uuid ? !facts.uuid_node_nics
								      : !facts.port_node_nics);
	}
}

static void uuids(void **state)
{
	/* As the wire has it (SMBIOS, little-endian fields) and as dmidecode prints it. */
	static const uint8_t wire[] = {0,    0x44, 0x45, 0x4c, 0x4c, 0x31, 0x00, 0x4b, 0x10,
				       0x80, 0x5a, 0xb7, 0xc0, 0x4f, 0x47, 0x4d, 0x33};
	static const char *const nothing[] = {
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
		"12345678-1234-5678-90ab-cddeefaabbcc"};
	uint8_t swapped[sizeof(wire)];
	char text[UUID_TEXT_SIZE];
	struct uuid a = {0};
	struct uuid b = {0};

	(void)state;
	assert_true(uuid_decode(wire, sizeof(wire), &a));
	assert_int_equal(uuid_parse("4c4c4544-0031-104b-805a-b7c04f474d33", &b), 0);
	assert_true(uuid_equal(a, b));
	assert_int_equal(uuid_parse(uuid_text(a, text), &b), 0);
	assert_true(uuid_equal(a, b));
	memcpy(swapped, wire, sizeof(wire));
	memcpy(swapped + 1, (const uint8_t[]){0x4c, 0x4c, 0x45, 0x44, 0x00, 0x31, 0x10, 0x4b}, 8);
	assert_true(uuid_decode(swapped, sizeof(swapped), &b)); /* firmware that sends text order */
	assert_true(uuid_equal(a, b));
	assert_false(uuid_decode(wire, sizeof(wire) - 1, &b));
	assert_false(uuid_decode(wire + 1, sizeof(wire) - 1, &b));
	assert_false(uuid_decode(NULL, 0, &b));
	swapped[0] = 1; /* another type */
	assert_false(uuid_decode(swapped, sizeof(swapped), &b));
	for (size_t i = 0; i < COUNT_OF(nothing); i++) {
		assert_int_equal(uuid_parse(nothing[i], &b), 0);
		assert_true(uuid_none(b));
	}
	assert_int_equal(uuid_parse("4c4c4544", &b), E_MALFORMED);
	assert_int_equal(uuid_parse("4c4c4544-0031-104b-805a-b7c04f474d3333", &b), E_MALFORMED);
	assert_int_equal(uuid_parse("no such thing", &b), E_MALFORMED);
}

static void add_rule(struct cable *cable, const char *relay, const struct circuit_rule_text *text)
{
	struct ipv4_prefix prefix = {0};
	struct circuit_rule rule;
	const char *why;

	if (relay)
		assert_int_equal(ipv4_prefix_parse(relay, &prefix), 0);
	assert_int_equal(circuit_rule_compile(text, &rule, &why), 0);
	assert_int_equal(cable_add_rule(cable, prefix, &rule), 0);
}

static struct circuit_place place(const char *switch_name, const char *port)
{
	struct circuit_place ret;

	(void)text_copy(ret.switch_name, sizeof(ret.switch_name), switch_name);
	(void)text_copy(ret.port, sizeof(ret.port), port);
	return ret;
}

static void fill(struct cable *cable)
{
	struct uuid uuid = {{1}};
	struct uuid shared = {{2}};

	cable_begin(cable);
	add_rule(cable, "10.9.0.1/32",
		 &(struct circuit_rule_text){.family = "cisco", .switch_name = "sw2"});
	add_rule(cable, NULL, &(struct circuit_rule_text){.family = "sonic"});
	add_rule(cable, NULL,
		 &(struct circuit_rule_text){
			 .circuit = "Vlan{vlan}", .switch_name = "core", .port = "-"});
	assert_int_equal(cable_add_switch(cable, &(struct cable_switch){.name = "sw2",
									.ports = "{port}",
									.base = 0x0a020000,
									.port_low = 1,
									.port_high = 48}),
			 0);
	assert_int_equal(cable_add_switch(cable, &(struct cable_switch){.name = "leaf1",
									.ports = "Ethernet{port}",
									.base = 0x0a020020,
									.port_low = 0,
									.port_high = 63}),
			 0);
	assert_int_equal(
		cable_add_switch(cable, &(struct cable_switch){.name = "plain", .ports = "{port}"}),
		0);
	assert_int_equal(cable_add_port(cable, &(struct cable_port){place("sw2", "14"), 7, 0}), 0);
	assert_int_equal(
		cable_add_port(cable, &(struct cable_port){place("sw2", "15"), 0, 0x0a030001}), 0);
	assert_int_equal(cable_add_uuid(cable, uuid, 7), 0);
	assert_int_equal(cable_add_uuid(cable, shared, 8), 0);
	assert_int_equal(cable_add_uuid(cable, shared, 9), 0);
	cable_commit(cable);
}

static bool locate(const struct cable *cable, uint32_t relay, const void *bytes, size_t size,
		   struct circuit_place *ret)
{
	return cable_locate(cable, relay,
			    &(struct circuit_sample){.circuit = bytes, .circuit_size = size}, ret);
}

static void cables(void **state)
{
	struct circuit_place at;
	struct cable *cable;
	int64_t id = 0;
	struct uuid uuid;

	(void)state;
	assert_int_equal(cable_new(&cable), 0);
	assert_false(locate(cable, 0x0a090001, "x:y", 3, &at));
	assert_int_equal(cable_address(cable, &(struct circuit_place){"sw2", "14"}), 0);
	fill(cable);
	assert_true(locate(cable, 0x0a090001, "\0\4\0\x0a\1\x0e", 6, &at));
	assert_string_equal(at.switch_name, "sw2");
	assert_string_equal(at.port, "14");
	assert_false(locate(cable, 0x0a090002, "\0\4\0\x0a\1\x0e", 6, &at)); /* not this relay's */
	assert_true(locate(cable, 0x0a090002, "leaf1:Ethernet4", 15, &at));
	assert_int_equal(cable_address(cable, &at), 0x0a020024);
	assert_true(locate(cable, 0x0a090002, "Vlan100", 7, &at));
	assert_string_equal(at.port, "");

	at = place("sw2", "14");
	assert_int_equal(cable_address(cable, &at), 0x0a02000e);
	assert_int_equal(cable_port(cable, &at)->node_id, 7);
	at = place("sw2", "15");
	assert_int_equal(cable_address(cable, &at), 0x0a030001); /* its own before the pattern's */
	at = place("sw2", "49");
	assert_int_equal(cable_address(cable, &at), 0);
	at = place("leaf1", "eth4");
	assert_int_equal(cable_address(cable, &at), 0);
	at = place("plain", "4");
	assert_int_equal(cable_address(cable, &at), 0);
	assert_null(cable_switch(cable, "sw3"));

	assert_false(cable_gives(cable, 0x0a020000));
	assert_true(cable_gives(cable, 0x0a020001));
	assert_true(cable_gives(cable, 0x0a02005f)); /* the ranges of both switches overlap */
	assert_false(cable_gives(cable, 0x0a020060));
	assert_true(cable_gives(cable, 0x0a030001));
	assert_false(cable_gives(cable, 0x0a030002));
	assert_false(cable_gives(cable, 0));
	assert_false(cable_gives(cable, UINT32_MAX));

	assert_int_equal(cable_nodes_of_uuid(cable, (struct uuid){{1}}, 0, &id), 1);
	assert_int_equal(id, 7);
	assert_int_equal(cable_nodes_of_uuid(cable, (struct uuid){{2}}, 0, &id), 2);
	assert_int_equal(cable_nodes_of_uuid(cable, (struct uuid){{3}}, 0, &id), 0);
	assert_true(cable_uuid_of_node(cable, 7, &uuid));
	assert_false(cable_uuid_of_node(cable, 6, &uuid));

	cable_begin(cable);
	cable_commit(cable); /* replaced whole */
	assert_false(cable_gives(cable, 0x0a020001));
	assert_null(cable_switch(cable, "sw2"));
	cable_free(cable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(invariants),
		cmocka_unit_test(uuids),
		cmocka_unit_test(cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
