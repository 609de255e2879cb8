// links: bootd_dhcp
/* The kind of a client; the answer matrix; the decision table of RFC 2131 4.3; where replies go and
 * what is in them; subnets and relays. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bootd/dhcp/answer_policy.h"
#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/dhcp/reply_policy.h"
#include "bampi/bootd/dhcp/subnet_policy.h"
#include "tests/support/cmocka.h"
#include "tests/unit/dhcp_message.h"

#define OTHER 0x0a000065U
#define AWAY  0xc0a80001U

static const struct {
	const char *vendor_class;
	const char *user_class;
	const char *arch; /* bytes of option 93; a list ends the C string with its size */
	size_t arch_size;
	bool option_175;
	enum client_kind kind;
	const char *file; /* of the answer; NULL = no boot options */
	const char *reply_class;
} clients[] = {
	{"PXEClient:Arch:00000:UNDI:002001", NULL, "\0\0", 2, false, CLIENT_BIOS, "undionly.kpxe",
	 "PXEClient"},
	{"PXEClient", NULL, NULL, 0, false, CLIENT_BIOS, "undionly.kpxe", "PXEClient"},
	{"PXEClient:Arch:00007:UNDI:003000", NULL, "\0\7", 2, false, CLIENT_UEFI_X64, "snponly.efi",
	 "PXEClient"},
	{"PXEClient:Arch:00009:UNDI:003000", NULL, "\0\11", 2, false, CLIENT_UEFI_X64,
	 "snponly.efi", "PXEClient"},
	{"PXEClient:Arch:00011", NULL, "\0\13", 2, false, CLIENT_UEFI_ARM64, "snponly-arm64.efi",
	 "PXEClient"},
	{"PXEClient", NULL, "\0\6\0\7", 4, false, CLIENT_UEFI_X64, "snponly.efi", "PXEClient"},
	{"PXEClient:Arch:00006", NULL, "\0\6", 2, false, CLIENT_UNSUPPORTED, NULL, NULL},
	{"PXEClient", NULL, "\0", 1, false, CLIENT_UNSUPPORTED, NULL, NULL},
	{"HTTPClient:Arch:00016:UNDI:003000", NULL, "\0\20", 2, false, CLIENT_HTTP_X64,
	 "http://10.0.0.1:8080/boot/file/snponly.efi", "HTTPClient"},
	{"HTTPClient:Arch:00019", NULL, "\0\23", 2, false, CLIENT_HTTP_ARM64,
	 "http://10.0.0.1:8080/boot/file/snponly-arm64.efi", "HTTPClient"},
	{"HTTPClient:Arch:00015", NULL, "\0\17", 2, false, CLIENT_UNSUPPORTED, NULL, NULL},
	{"PXEClient:Arch:00000", "iPXE", "\0\0", 2, true, CLIENT_IPXE,
	 "http://10.0.0.1:8080/boot/script?mac=02:00:00:00:00:01", NULL},
	{"PXEClient:Arch:00007", NULL, "\0\7", 2, true, CLIENT_IPXE,
	 "http://10.0.0.1:8080/boot/script?mac=02:00:00:00:00:01", NULL},
	{NULL, "\4iPXE", NULL, 0, false, CLIENT_IPXE,
	 "http://10.0.0.1:8080/boot/script?mac=02:00:00:00:00:01", NULL},
	{"PXEClient:Arch:00007", "haas-ipxe", "\0\7", 2, true, CLIENT_SITE_IPXE,
	 "https://10.0.0.1:8443/boot/script?mac=02:00:00:00:00:01", NULL},
	{"iDRAC", NULL, NULL, 0, false, CLIENT_BMC, NULL, NULL},
	{"CPQRIB3", NULL, NULL, 0, false, CLIENT_BMC, NULL, NULL},
	{"NVIDIA/BF/OOB", NULL, NULL, 0, false, CLIENT_BMC, NULL, NULL},
	{"nvidia-bluefield-dpu aarch64", NULL, "\0\13", 2, false, CLIENT_BMC, NULL, NULL},
	{"udhcp 1.35.0", NULL, NULL, 0, false, CLIENT_OTHER, NULL, NULL},
	{NULL, NULL, NULL, 0, false, CLIENT_OTHER, NULL, NULL},
};

static struct dhcp_message request_of(size_t row)
{
	struct dhcp_message request = message_of(DHCP_DISCOVER);

	if (clients[row].vendor_class)
		dhcp_put_text(&request, DHCP_OPTION_VENDOR_CLASS, clients[row].vendor_class);
	if (clients[row].user_class)
		dhcp_put_text(&request, DHCP_OPTION_USER_CLASS, clients[row].user_class);
	if (clients[row].arch)
		dhcp_put(&request, DHCP_OPTION_ARCH, clients[row].arch, clients[row].arch_size);
	if (clients[row].option_175)
		dhcp_put(&request, DHCP_OPTION_IPXE, "\261\1\0", 3);
	return request;
}

static void check_answer(size_t row, const struct dhcp_message *reply)
{
	size_t size;
	const uint8_t *bytes;

	bytes = dhcp_option(reply, DHCP_OPTION_BOOT_FILE, &size);
	if (!clients[row].file) {
		assert_null(bytes);
		assert_string_equal(reply->file, "");
		assert_int_equal(reply->siaddr, 0);
		return;
	}
	assert_int_equal(size, strlen(clients[row].file) + 1); /* terminated */
	assert_memory_equal(bytes, clients[row].file, size);
	assert_string_equal(reply->file, clients[row].file);
	assert_int_equal(reply->siaddr, SERVER);
	bytes = dhcp_option(reply, DHCP_OPTION_VENDOR_CLASS, &size);
	assert_int_equal(bytes != NULL, clients[row].reply_class != NULL);
	/* EDK2: PXEClient without 43 means "ask port 4011". */
	if (clients[row].reply_class && clients[row].reply_class[0] == 'P')
		assert_non_null(dhcp_option(reply, DHCP_OPTION_VENDOR, &size));
	assert_int_equal(dhcp_option(reply, DHCP_OPTION_IPXE, &size) != NULL,
			 clients[row].kind == CLIENT_IPXE || clients[row].kind == CLIENT_SITE_IPXE);
}

static void answer_matrix(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(clients); i++) {
		struct dhcp_message request = request_of(i);
		struct dhcp_message reply = {0};
		struct answer_facts facts = {.client = client_policy(&request),
					     .node = true,
					     .mac = {{2, 0, 0, 0, 0, 1}},
					     .server = SERVER,
					     .http_port = 8080,
					     .https_port = 8443};

		assert_int_equal(facts.client, clients[i].kind);
		assert_int_equal(answer_policy(&facts, &reply), clients[i].file != NULL);
		check_answer(i, &reply);
		facts.node = false; /* a stranger never boots from us */
		reply = (struct dhcp_message){0};
		assert_false(answer_policy(&facts, &reply));
		assert_int_equal(reply.option_size, 0);
	}
}

/* Where scripts come by HTTPS alone, iPXE without the site's CA loads ours: as the firmware below it would. */
static void loader_of_ipxe(void **state)
{
	static const enum client_kind loaders[] = {CLIENT_BIOS, CLIENT_UEFI_X64, CLIENT_BIOS};
	size_t next = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(clients); i++) {
		struct dhcp_message request = request_of(i);

		if (clients[i].kind == CLIENT_IPXE)
			assert_int_equal(client_loader_policy(&request), loaders[next++]);
	}
	assert_int_equal(next, COUNT_OF(loaders));
}

/* Columns: what it asks, what we know, what follows. bound: address of its committed lease, choice:
 * what address_policy found. */
static const struct {
	const char *name;
	enum dhcp_type type;
	uint32_t ciaddr, requested, server_id;
	bool known, reserved_only, database;
	uint32_t bound, choice;
	enum dhcp_verdict verdict;
	enum dhcp_reason reason;
} decisions[] = {
#define YES true
#define NO  false
	/* DISCOVER */
	{"new", DHCP_DISCOVER, 0, 0, 0, NO, NO, YES, 0, MINE, VERDICT_OFFER, REASON_OK},
	{"known", DHCP_DISCOVER, 0, 0, 0, YES, YES, YES, 0, MINE, VERDICT_OFFER, REASON_OK},
	{"stranger where reserved only", DHCP_DISCOVER, 0, 0, 0, NO, YES, YES, 0, MINE,
	 VERDICT_SILENCE, REASON_UNKNOWN_CLIENT},
	{"no address", DHCP_DISCOVER, 0, 0, 0, YES, NO, YES, 0, 0, VERDICT_SILENCE,
	 REASON_NO_ADDRESS},
	{"new, database away", DHCP_DISCOVER, 0, 0, 0, YES, NO, NO, 0, MINE, VERDICT_SILENCE,
	 REASON_DATABASE_AWAY},
	{"bound, database away", DHCP_DISCOVER, 0, 0, 0, YES, NO, NO, MINE, MINE, VERDICT_OFFER,
	 REASON_OK},
	{"moved, database away", DHCP_DISCOVER, 0, 0, 0, YES, NO, NO, MINE, OTHER, VERDICT_SILENCE,
	 REASON_DATABASE_AWAY},
	/* SELECTING */
	{"takes a new offer", DHCP_REQUEST, 0, MINE, SERVER, NO, NO, YES, 0, MINE,
	 VERDICT_ACK_COMMITTED, REASON_OK},
	{"takes its binding", DHCP_REQUEST, 0, MINE, SERVER, NO, NO, YES, MINE, MINE, VERDICT_ACK,
	 REASON_OK},
	{"its binding, database away", DHCP_REQUEST, 0, MINE, SERVER, NO, NO, NO, MINE, MINE,
	 VERDICT_ACK, REASON_OK},
	{"new, database away", DHCP_REQUEST, 0, MINE, SERVER, NO, NO, NO, 0, MINE, VERDICT_SILENCE,
	 REASON_DATABASE_AWAY},
	{"reservation moved it", DHCP_REQUEST, 0, OTHER, SERVER, YES, NO, YES, MINE, OTHER,
	 VERDICT_ACK_COMMITTED, REASON_OK},
	{"something else than offered", DHCP_REQUEST, 0, OTHER, SERVER, NO, NO, YES, 0, MINE,
	 VERDICT_NAK, REASON_WRONG_ADDRESS},
	{"another server", DHCP_REQUEST, 0, MINE, AWAY, NO, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_OTHER_SERVER},
	{"no address in it", DHCP_REQUEST, 0, 0, SERVER, NO, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_MALFORMED},
	{"pool ran out meanwhile", DHCP_REQUEST, 0, MINE, SERVER, NO, NO, YES, 0, 0, VERDICT_NAK,
	 REASON_WRONG_ADDRESS},
	/* INIT-REBOOT */
	{"reboots", DHCP_REQUEST, 0, MINE, 0, NO, NO, YES, MINE, MINE, VERDICT_ACK, REASON_OK},
	{"wrong network", DHCP_REQUEST, 0, AWAY, 0, NO, NO, YES, 0, MINE, VERDICT_NAK,
	 REASON_WRONG_NETWORK},
	{"wrong address", DHCP_REQUEST, 0, OTHER, 0, NO, NO, YES, MINE, MINE, VERDICT_NAK,
	 REASON_WRONG_ADDRESS},
	{"no record", DHCP_REQUEST, 0, MINE, 0, NO, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_NO_BINDING},
	{"a node without a binding", DHCP_REQUEST, 0, MINE, 0, YES, NO, YES, 0, MINE,
	 VERDICT_ACK_COMMITTED, REASON_OK},
	{"a node, other address", DHCP_REQUEST, 0, OTHER, 0, YES, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_NO_BINDING},
	/* RENEWING, REBINDING */
	{"renews", DHCP_REQUEST, MINE, 0, 0, NO, NO, YES, MINE, MINE, VERDICT_ACK, REASON_OK},
	{"renews, database away", DHCP_REQUEST, MINE, 0, 0, NO, NO, NO, MINE, MINE, VERDICT_ACK,
	 REASON_OK},
	{"must move", DHCP_REQUEST, MINE, 0, 0, YES, NO, YES, MINE, OTHER, VERDICT_NAK,
	 REASON_WRONG_ADDRESS},
	{"renews what it never had", DHCP_REQUEST, OTHER, 0, 0, NO, NO, YES, MINE, MINE,
	 VERDICT_NAK, REASON_WRONG_ADDRESS},
	{"nothing claimed", DHCP_REQUEST, 0, 0, 0, YES, NO, YES, MINE, MINE, VERDICT_SILENCE,
	 REASON_MALFORMED},
	/* DECLINE, RELEASE, INFORM, the rest */
	{"declines", DHCP_DECLINE, 0, MINE, SERVER, NO, NO, YES, MINE, MINE, VERDICT_QUARANTINE,
	 REASON_OK},
	{"declines what it has not", DHCP_DECLINE, 0, OTHER, SERVER, NO, NO, YES, MINE, MINE,
	 VERDICT_SILENCE, REASON_NO_BINDING},
	{"declines another's", DHCP_DECLINE, 0, MINE, AWAY, NO, NO, YES, MINE, MINE,
	 VERDICT_SILENCE, REASON_OTHER_SERVER},
	{"releases", DHCP_RELEASE, MINE, 0, SERVER, NO, NO, YES, MINE, MINE, VERDICT_RELEASE,
	 REASON_OK},
	{"releases another's", DHCP_RELEASE, OTHER, 0, SERVER, NO, NO, YES, MINE, MINE,
	 VERDICT_SILENCE, REASON_NO_BINDING},
	{"informs", DHCP_INFORM, OTHER, 0, 0, YES, YES, NO, 0, 0, VERDICT_INFORM, REASON_OK},
	{"informs of nothing", DHCP_INFORM, 0, 0, 0, YES, NO, YES, 0, 0, VERDICT_SILENCE,
	 REASON_MALFORMED},
	{"offer", DHCP_OFFER, 0, 0, 0, YES, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_NOT_FOR_SERVERS},
	{"ack", DHCP_ACK, MINE, 0, 0, YES, NO, YES, 0, MINE, VERDICT_SILENCE,
	 REASON_NOT_FOR_SERVERS},
	{"BOOTP", DHCP_NO_TYPE, 0, 0, 0, YES, NO, YES, 0, MINE, VERDICT_SILENCE, REASON_MALFORMED},
};

static void decision_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(decisions); i++) {
		struct inventory_subnet subnet = {.prefix = {0x0a000000U, 24}};
		struct lease bound = {
			.address = decisions[i].bound, .committed = true, .sure_until = 101};
		uint32_t claimed =
			decisions[i].ciaddr ? decisions[i].ciaddr : decisions[i].requested;
		bool stranger = decisions[i].reserved_only && !decisions[i].known;
		struct dhcp_facts facts = {
			.ready = true,
			.database = decisions[i].database,
			.known = decisions[i].known,
			.on_link = ipv4_in_prefix(claimed, subnet.prefix),
			.subnet = &subnet,
			.server = SERVER,
			.now_s = 100,
			.choice = {.source = decisions[i].choice ? ADDRESS_POOL : ADDRESS_NONE,
				   .refusal = stranger ? ADDRESS_STRANGER : ADDRESS_OK,
				   .address = decisions[i].choice,
				   .bound = decisions[i].bound ? &bound : NULL},
		};
		struct dhcp_message request = message_of(decisions[i].type);
		struct dhcp_decision decision;

		request.ciaddr = decisions[i].ciaddr;
		if (decisions[i].requested)
			dhcp_put_u32(&request, DHCP_OPTION_REQUESTED_ADDRESS,
				     decisions[i].requested);
		if (decisions[i].server_id)
			dhcp_put_u32(&request, DHCP_OPTION_SERVER_ID, decisions[i].server_id);
		decision = dhcp_policy(&request, &facts);
		print_message("%s: %s\n", dhcp_type_text(decisions[i].type), decisions[i].name);
		assert_int_equal(decision.verdict, decisions[i].verdict);
		assert_int_equal(decision.reason, decisions[i].reason);
		/* Nor is a lease whose row another server may have given away. */
		facts.now_s = 101;
		if (decision.verdict == VERDICT_ACK)
			assert_int_equal(dhcp_policy(&request, &facts).verdict,
					 facts.database ? VERDICT_ACK_COMMITTED
					 : facts.known  ? VERDICT_ACK
							: VERDICT_SILENCE);
		facts.now_s = 100;
		/* An uncommitted lease is never confirmed from memory. */
		bound.committed = false;
		decision = dhcp_policy(&request, &facts);
		assert_int_not_equal(decision.verdict, VERDICT_ACK);
		facts.ready = false;
		assert_int_equal(dhcp_policy(&request, &facts).reason, REASON_NOT_READY);
	}
}

static const struct {
	const char *name;
	enum dhcp_type reply;
	uint32_t ciaddr, giaddr, yiaddr;
	uint16_t flags;
	struct reply_target expected;
} targets[] = {
	{"relay", DHCP_OFFER, 0, OTHER, MINE, DHCP_FLAG_BROADCAST, {OTHER, 67, false}},
	{"nak by relay", DHCP_NAK, MINE, OTHER, 0, 0, {OTHER, 67, false}},
	{"nak", DHCP_NAK, MINE, 0, 0, 0, {0xffffffffU, 68, false}},
	{"renewal", DHCP_ACK, MINE, 0, MINE, DHCP_FLAG_BROADCAST, {MINE, 68, false}},
	{"cannot take unicast",
	 DHCP_OFFER,
	 0,
	 0,
	 MINE,
	 DHCP_FLAG_BROADCAST,
	 {0xffffffffU, 68, false}},
	{"no address yet", DHCP_OFFER, 0, 0, MINE, 0, {MINE, 68, true}},
};

static void where_replies_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		struct dhcp_message request = message_of(DHCP_REQUEST);
		struct dhcp_message reply = message_of(targets[i].reply);
		struct reply_target target;

		request.ciaddr = targets[i].ciaddr;
		request.giaddr = targets[i].giaddr;
		request.flags = targets[i].flags;
		reply.yiaddr = targets[i].yiaddr;
		target = reply_target(&request, &reply);
		print_message("%s\n", targets[i].name);
		assert_int_equal(target.address, targets[i].expected.address);
		assert_int_equal(target.port, targets[i].expected.port);
		assert_int_equal(target.to_mac, targets[i].expected.to_mac);
	}
}

static void reply_contents(void **state)
{
	struct dhcp_message request = request_of(2);
	struct dhcp_message reply;
	struct dhcp_message again;
	struct inventory_subnet subnet = {.prefix = {0x0a000000U, 24},
					  .gateway = 0x0a0000feU,
					  .dns = {1, 2},
					  .dns_count = 2,
					  .lease_s = 600};
	struct reply_facts facts = {
		.type = DHCP_ACK, .address = MINE, .subnet = &subnet, .server = SERVER};
	uint8_t bytes[4096];
	size_t size;

	(void)state;
	dhcp_put(&request, DHCP_OPTION_RELAY, "\1\1x", 3);
	dhcp_put(&request, DHCP_OPTION_CLIENT_ID, "\1abc", 4);
	assert_false(reply_build(&request, &facts, &reply));
	size = encoded(&reply, bytes);
	assert_true(size <= reply_room(&request));
	assert_int_equal(dhcp_decode(bytes, size, &again), 0);
	assert_int_equal(again.op, DHCP_OP_REPLY);
	assert_int_equal(again.yiaddr, MINE);
	assert_int_equal(dhcp_option_address(&again, DHCP_OPTION_LEASE_TIME), 600);
	assert_int_equal(dhcp_option_address(&again, DHCP_OPTION_MASK), 0xffffff00U);
	assert_non_null(dhcp_option(&again, DHCP_OPTION_CLIENT_ID, &size));
	assert_non_null(dhcp_option(&again, DHCP_OPTION_RELAY, &size));
	facts.type = DHCP_NAK;
	facts.message = "wrong network";
	request.giaddr = OTHER;
	assert_false(reply_build(&request, &facts, &reply));
	assert_int_equal(reply.yiaddr, 0);
	assert_true(reply.flags & DHCP_FLAG_BROADCAST);
	assert_null(dhcp_option(&reply, DHCP_OPTION_LEASE_TIME, &size));
}

static void reply_limits(void **state)
{
	static const struct {
		unsigned says;
		size_t room;
	} rows[] = {{0, 548}, {300, 548}, {576, 548}, {1260, 1232}, {65535, 1472}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message request = message_of(DHCP_DISCOVER);
		uint8_t value[2] = {(uint8_t)(rows[i].says >> 8), (uint8_t)rows[i].says};

		if (rows[i].says)
			dhcp_put(&request, DHCP_OPTION_MAX_SIZE, value, 2);
		assert_int_equal(reply_room(&request), rows[i].room);
	}
}

static void subnets(void **state)
{
	struct inventory *inventory;
	struct dhcp_message request = message_of(DHCP_DISCOVER);

	(void)state;
	assert_int_equal(inventory_new(&inventory), 0);
	assert_int_equal(inventory_begin(inventory), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		struct inventory_subnet subnet = {.id = i, .prefix = {i << 24, 24}};

		assert_int_equal(inventory_add_subnet(inventory, &subnet), 0);
	}
	assert_int_equal(inventory_commit(inventory), 0);
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id, 1);
	assert_null(subnet_policy(inventory, &request, 0x09000009U));
	request.ciaddr = 0x02000005U; /* routed renewal */
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id, 2);
	request.ciaddr = 0x09000005U; /* nobody's: the interface tells, and a NAK follows */
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id, 1);
	dhcp_put(&request, DHCP_OPTION_RELAY, "\5\4\3\0\0\0", 6);
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id,
			 1); /* no relay: not believed */
	request.giaddr = 0x02000001U;
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id, 3);
	dhcp_remove(&request, DHCP_OPTION_RELAY);
	assert_int_equal(subnet_policy(inventory, &request, 0x01000009U)->id, 2);
	assert_true(relay_policy(inventory, inventory_subnet_by_id(inventory, 3), 0x02000001U));
	request.giaddr = 0x09000001U;
	assert_null(subnet_policy(inventory, &request, 0x01000009U));
	assert_false(relay_policy(inventory, inventory_subnet_by_id(inventory, 3), 0x09000001U));
	inventory_free(inventory);
}

/* 1 and 2 are one link with listed relays, one of them from outside; 3 lists none. */
static void relays(void **state)
{
	struct inventory *inventory;
	struct dhcp_message request = message_of(DHCP_DISCOVER);

	(void)state;
	assert_int_equal(inventory_new(&inventory), 0);
	assert_int_equal(inventory_begin(inventory), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		struct inventory_subnet subnet = {.id = i, .prefix = {i << 24, 24}};

		if (i < 3)
			memcpy(subnet.shared_network, "rack1", 6);
		if (i == 2) {
			subnet.relays[0] = 0x02000001U;
			subnet.relays[1] = 0xc0a80005U;
			subnet.relay_count = 2;
		}
		assert_int_equal(inventory_add_subnet(inventory, &subnet), 0);
	}
	assert_int_equal(inventory_commit(inventory), 0);
	request.giaddr = 0xc0a80005U;
	assert_int_equal(subnet_policy(inventory, &request, 0x03000001U)->id, 2);
	for (int64_t link = 1; link <= 2; link++) {
		const struct inventory_subnet *subnet = inventory_subnet_by_id(inventory, link);

		assert_true(relay_policy(inventory, subnet, 0xc0a80005U));
		assert_true(relay_policy(inventory, subnet, 0x02000001U));
		assert_false(relay_policy(inventory, subnet, 0x02000002U));
		assert_false(relay_policy(inventory, subnet, 0x03000002U));
	}
	assert_true(relay_policy(inventory, inventory_subnet_by_id(inventory, 3), 0x03000002U));
	/* S10: from giaddr, from an address that a subnet lists, or from outside of the subnets. */
	assert_true(relay_source_policy(inventory, 0x02000001U, 0x02000001U));
	assert_true(relay_source_policy(inventory, 0x02000001U, 0xc0a80005U));
	assert_true(relay_source_policy(inventory, 0x03000001U, 0x02000001U));
	assert_true(relay_source_policy(inventory, 0x02000001U, 0x0a000001U));
	assert_false(relay_source_policy(inventory, 0x02000001U, 0x02000063U));
	assert_false(relay_source_policy(inventory, 0x02000001U, 0x03000063U));
	inventory_free(inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_matrix),  cmocka_unit_test(loader_of_ipxe),
		cmocka_unit_test(decision_table), cmocka_unit_test(where_replies_go),
		cmocka_unit_test(reply_contents), cmocka_unit_test(reply_limits),
		cmocka_unit_test(subnets),        cmocka_unit_test(relays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
