// links: relay_dhcp
/* What a relay does with each request and reply; option 82 as bytes; interfaces as the
 * configuration names them; token buckets; which replies were asked for. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/relay/dhcp/interface.h"
#include "bampi/relay/dhcp/option82_wire.h"
#include "bampi/relay/dhcp/pending.h"
#include "bampi/relay/dhcp/rate.h"
#include "bampi/relay/dhcp/relay_policy.h"
#include "tests/support/cmocka.h"

#define OURS  0x0a510001U
#define OTHER 0x0a520001U

static const struct mac mac = {{0x02, 0xaa, 0, 0, 0, 1}};

static struct dhcp_message message(uint8_t op)
{
	struct dhcp_message made = {.op = op, .htype = 1, .hlen = 6, .xid = 7};

	memcpy(made.chaddr, mac.bytes, sizeof(mac.bytes));
	return made;
}

static void test_requests(void **state)
{
	static const struct {
		const char *name;
		uint8_t op, hops, htype;
		uint32_t giaddr, address;
		bool option, trusted;
		enum relay_verdict verdict;
	} rows[] = {
		/* clang-format off */
		{"plain",                        1, 0, 1, 0,     OURS, false, false, RELAY_ADD},
		{"a reply",                      2, 0, 1, 0,     OURS, false, false, RELAY_WRONG_OP},
		{"token ring",                   1, 0, 6, 0,     OURS, false, false, RELAY_NO_CLIENT},
		{"no address on the interface",       1, 0, 1, 0,     0,    false, false, RELAY_NO_ADDRESS},
		{"last hop",                     1, 3, 1, 0,     OURS, false, false, RELAY_ADD},
		{"one hop too many",             1, 4, 1, 0,     OURS, false, false, RELAY_HOPS},
		{"our giaddr",                   1, 0, 1, OURS,  OURS, false, false, RELAY_LOOP},
		{"our giaddr, trusted",          1, 0, 1, OURS,  OURS, false, true,  RELAY_LOOP},
		{"forged giaddr",                1, 0, 1, OTHER, OURS, false, false, RELAY_FORGED_GIADDR},
		{"a relay behind us",            1, 1, 1, OTHER, OURS, false, true,  RELAY_PASS},
		{"a relay behind us, marked",    1, 1, 1, OTHER, OURS, true,  true,  RELAY_PASS},
		{"forged option 82",             1, 0, 1, 0,     OURS, true,  false, RELAY_FORGED_OPTION},
		{"a switch's option 82",         1, 0, 1, 0,     OURS, true,  true,  RELAY_PASS},
		{"nothing from a trusted switch", 1, 0, 1, 0,    OURS, false, true,  RELAY_ADD},
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message request = message(rows[i].op);
		const struct relay_request_facts facts = {
			.interface_address = rows[i].address,
			.trusted = rows[i].trusted,
			.giaddr_is_ours = rows[i].giaddr == OURS,
			.hop_limit = 4,
		};

		request.hops = rows[i].hops;
		request.htype = rows[i].htype;
		request.giaddr = rows[i].giaddr;
		if (rows[i].option)
			dhcp_put(&request, DHCP_OPTION_RELAY, "\1\1x", 3);
		print_message("%s\n", rows[i].name);
		assert_int_equal(relay_request_policy(&request, &facts), rows[i].verdict);
	}
}

static void test_replies(void **state)
{
	static const struct {
		const char *name;
		uint8_t op;
		uint32_t giaddr;
		bool server, asked, added;
		enum relay_option option;
		enum relay_verdict verdict;
	} rows[] = {
		/* clang-format off */
		{"ours",               2, OURS,  true,  true,  true,  RELAY_OPTION_OURS,  RELAY_ADD},
		{"a request",          1, OURS,  true,  true,  true,  RELAY_OPTION_OURS,  RELAY_WRONG_OP},
		{"from a stranger",    2, OURS,  false, true,  true,  RELAY_OPTION_OURS,  RELAY_STRANGER},
		{"nobody asked",       2, OURS,  true,  false, true,  RELAY_OPTION_OURS,  RELAY_UNASKED},
		{"another relay's",    2, OTHER, true,  true,  true,  RELAY_OPTION_OURS,  RELAY_OTHER_GIADDR},
		{"another option",     2, OURS,  true,  true,  true,  RELAY_OPTION_OTHER, RELAY_OTHER_OPTION},
		{"server without 82",  2, OURS,  true,  true,  true,  RELAY_OPTION_NONE,  RELAY_PASS},
		{"a switch's option",  2, OURS,  true,  true,  false, RELAY_OPTION_OTHER, RELAY_PASS},
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message reply = message(rows[i].op);
		const struct relay_reply_facts facts = {
			.from_server = rows[i].server,
			.asked = rows[i].asked,
			.added = rows[i].added,
			.giaddr = OURS,
			.option = rows[i].option,
		};

		reply.giaddr = rows[i].giaddr;
		print_message("%s\n", rows[i].name);
		assert_int_equal(relay_reply_policy(&reply, &facts), rows[i].verdict);
	}
}

static void test_targets(void **state)
{
	static const struct {
		uint32_t yiaddr, ciaddr;
		uint16_t flags;
		uint32_t target;
		bool broadcast;
	} rows[] = {
		{0x0a510064, 0, 0, 0x0a510064, false},
		{0x0a510064, 0, DHCP_FLAG_BROADCAST, 0xffffffff, true},
		{0, 0, 0, 0xffffffff, true},                    /* NAK */
		{0, 0x0a510065, 0, 0x0a510065, false},          /* to an INFORM */
		{0x0a510066, 0x0a510066, 0, 0x0a510066, false}, /* a renewal */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message reply = message(DHCP_OP_REPLY);
		struct relay_target target;

		reply.yiaddr = rows[i].yiaddr;
		reply.ciaddr = rows[i].ciaddr;
		reply.flags = rows[i].flags;
		target = relay_target(&reply);
		assert_int_equal(target.address, rows[i].target);
		assert_int_equal(target.mac.bytes[0], rows[i].broadcast ? 0xff : 0x02);
	}
}

static void test_option(void **state)
{
	static const uint8_t expected[] = {1, 2, 'e', '1', 2, 6, 2,    0xaa, 0,  0,  0, 1,
					   5, 4, 10,  81,  0, 1, 0x0b, 4,    10, 81, 0, 1};
	static const char long_text[300];
	struct option82 option = {"e1", 2, mac.bytes, sizeof(mac.bytes), OURS, OURS};
	struct option82_value value;
	const struct option82_value small = {"\1\1x", 3};
	uint8_t packet[2048];
	struct dhcp_message made = message(DHCP_OP_REQUEST);
	uint8_t bytes[DHCP_PACKET_MAX];
	size_t size;
	size_t value_size;

	(void)state;
	assert_int_equal(option82_encode(&option, &value), 0);
	assert_int_equal(value.size, sizeof(expected));
	assert_memory_equal(value.bytes, expected, sizeof(expected));
	option = (struct option82){.circuit = long_text, .circuit_size = 256};
	assert_int_equal(option82_encode(&option, &value), E_LIMIT);

	dhcp_put_u8(&made, DHCP_OPTION_TYPE, DHCP_DISCOVER);
	assert_int_equal(dhcp_encode(&made, bytes, sizeof(bytes), &size), 0);
	/* The padding makes room: the message does not grow. */
	assert_int_equal(option82_insert(bytes, size, &small, size, packet, &value_size), 0);
	assert_int_equal(value_size, size);
	assert_int_equal(packet[243], DHCP_OPTION_RELAY);
	assert_int_equal(packet[248], DHCP_OPTION_END);
	assert_int_equal(option82_insert(bytes, size, &small, 248, packet, &value_size), E_LIMIT);
	assert_int_equal(option82_insert(bytes, 239, &small, 1472, packet, &value_size),
			 E_MALFORMED);
}

static void test_interfaces(void **state)
{
	static const char *const good[] = {"eth1", "eth2 circuit=rack7-a address=10.2.0.2 trusted",
					   NULL};
	static const char *const twice[] = {"eth1", "eth1 trusted", NULL};
	static const char *const bad[] = {"",
					  "   ",
					  "eth1 trust",
					  "eth1 circuit=",
					  "eth1 address=x",
					  "averyveryverylongname",
					  "eth1 address=0.0.0.0"};
	struct interfaces interfaces = {0};
	struct problem problem;
	struct interface interface;

	(void)state;
	assert_int_equal(interfaces_init(&interfaces, good, &problem), 0);
	assert_int_equal(interfaces.count, 2);
	assert_string_equal(interfaces.list[0].circuit, "eth1");
	assert_string_equal(interfaces.list[1].name, "eth2");
	assert_string_equal(interfaces.list[1].circuit, "rack7-a");
	assert_int_equal(interfaces.list[1].wanted_address, 0x0a020002);
	assert_true(interfaces.list[1].trusted && !interfaces.list[0].trusted);
	interfaces_done(&interfaces);
	assert_int_equal(interfaces_init(&interfaces, twice, &problem), E_CONFLICT);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(interface_parse(bad[i], &interface, &problem), E_MALFORMED);

	/* Of this node: every address is its own, lo is an interface like others. */
	static const char *const lo[] = {"lo", "nowhere0", NULL};
	assert_int_equal(interfaces_init(&interfaces, lo, &problem), 0);
	assert_int_equal(interfaces_refresh(&interfaces), 0);
	assert_true(interfaces.list[0].index > 0);
	assert_ptr_equal(interfaces_by_index(&interfaces, interfaces.list[0].index),
			 &interfaces.list[0]);
	assert_null(interfaces_by_index(&interfaces, 0));
	if (interfaces.list[0].address)
		assert_true(interfaces_own_address(&interfaces, interfaces.list[0].address));
	assert_false(interfaces_own_address(&interfaces, 0));
	assert_int_equal(interfaces.list[1].index, 0);
	interfaces_done(&interfaces);
}

static void test_rate(void **state)
{
	const struct rate_limit limit = {.burst = 3, .per_second = 2};
	struct rate_bucket bucket = {0};
	static struct rate_clients clients;
	const struct mac second = {{0x02, 0xaa, 0, 0, 0, 2}};
	int allowed = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		allowed += rate_allows(&bucket, limit, 1000);
	assert_int_equal(allowed, 3);
	assert_false(rate_allows(&bucket, limit, 1499));
	assert_true(rate_allows(&bucket, limit, 1500));
	assert_false(rate_allows(&bucket, limit, 1501));
	for (allowed = 0; rate_allows(&bucket, limit, (int64_t)1 << 50); allowed++)
		continue;
	assert_int_equal(allowed, 3);
	for (int i = 0; i < 5; i++)
		assert_true(rate_allows(&bucket, (struct rate_limit){1, 0}, 0));
	for (int i = 0; i < 4; i++)
		assert_int_equal(rate_allows_client(&clients, limit, mac, 5), i < 3);
	assert_true(rate_allows_client(&clients, limit, second, 5));
}

static void test_pending(void **state)
{
	static struct pending pending;
	const struct pending_entry entry = {
		.client = mac_key(mac), .xid = 7, .interface = 1, .giaddr = OURS, .at_ms = 1000};
	const struct pending_entry *found;

	(void)state;
	assert_null(pending_find(&pending, mac, 7, 1000));
	pending_put(&pending, &entry);
	found = pending_find(&pending, mac, 7, 1000 + PENDING_AGE_MS);
	assert_non_null(found);
	assert_int_equal(found->interface, 1);
	assert_null(pending_find(&pending, mac, 8, 1000));
	assert_null(pending_find(&pending, mac, 7, 1001 + PENDING_AGE_MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),   cmocka_unit_test(test_replies),
		cmocka_unit_test(test_targets),    cmocka_unit_test(test_option),
		cmocka_unit_test(test_interfaces), cmocka_unit_test(test_rate),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
