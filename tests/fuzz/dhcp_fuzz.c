// links: bootd_dhcp
/* Any bytes: what decodes is encoded, and decodes to the same message again; the policies answer
 * every message without reading past it, and a reply built for it fits and decodes. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/dhcp/architecture_policy.h"
#include "bampi/bootd/dhcp/client_policy.h"
#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/dhcp/reply_policy.h"

#define ROOM 8192 /* overloaded options need more than they came in */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct dhcp_message *a, const struct dhcp_message *b)
{
	assert(memcmp(a, b, offsetof(struct dhcp_message, sname)) == 0);
	assert(strcmp(a->sname, b->sname) == 0);
	/* Where options went on in `file`, its name is in option 67 alone. */
	assert(strcmp(a->file, b->file) == 0 ||
	       (!b->file[0] && dhcp_option_begins(b, DHCP_OPTION_BOOT_FILE, a->file)));
	for (unsigned code = 1; code < DHCP_OPTION_END; code++) {
		size_t size_a = 0;
		size_t size_b = 0;
		const uint8_t *bytes_a = dhcp_option(a, (uint8_t)code, &size_a);
		const uint8_t *bytes_b = dhcp_option(b, (uint8_t)code, &size_b);

		assert(!bytes_a == !bytes_b && size_a == size_b);
		assert(size_a == 0 ||
		       (bytes_a && bytes_b && memcmp(bytes_a, bytes_b, size_a) == 0));
	}
}

static void answer(const struct dhcp_message *request)
{
	static const struct boot_file files[] = {
		{22, "arm64.efi"}, {27, "riscv64.efi"}, {15, "x86.efi"}};
	struct inventory_subnet subnet = {.prefix = {0x0a000000U, 8}, .lease_s = 600};
	struct reply_facts facts = {.type = DHCP_ACK,
				    .address = 0x0a000005U,
				    .subnet = &subnet,
				    .server = 0x0a000001U,
				    .answer = {.client = client_policy(request),
					       .family = client_family(request),
					       .boot_file = boot_file_find(files, 3, request),
					       .node = true,
					       .server = 0x0a000001U,
					       .http_port = 8080}};
	struct dhcp_facts known = {
		.ready = true, .database = true, .known = true, .subnet = &subnet};
	struct dhcp_decision decision = dhcp_policy(request, &known);
	struct dhcp_message reply;
	struct dhcp_message again;
	uint8_t bytes[DHCP_PACKET_MAX];
	char text[65];
	size_t size;

	assert(decision.verdict == VERDICT_SILENCE || decision.reason == REASON_OK ||
	       decision.verdict == VERDICT_NAK);
	assert(strlen(dhcp_option_text(request, DHCP_OPTION_VENDOR_CLASS, text, sizeof(text))) <
	       sizeof(text));
	(void)dhcp_relay_address(request, DHCP_RELAY_LINK_SELECTION);
	assert(architecture_text(architecture_of(request))[0]);
	(void)reply_build(request, &facts, &reply);
	assert(reply_room(request) <= sizeof(bytes));
	if (dhcp_encode(&reply, bytes, reply_room(request), &size))
		return; /* a client that echoes more than it takes gets nothing */
	assert(size >= DHCP_REPLY_MIN);
	assert(dhcp_decode(bytes, size, &again) == 0);
	same(&reply, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dhcp_message first;
	static struct dhcp_message second;
	static uint8_t bytes[ROOM];
	size_t encoded;

	if (dhcp_decode(data, size, &first))
		return 0;
	assert(dhcp_encode(&first, bytes, sizeof(bytes), &encoded) == 0);
	if (encoded <= DHCP_PACKET_MAX) {
		assert(dhcp_decode(bytes, encoded, &second) == 0);
		same(&first, &second);
	}
	/* In the room of a reply, if there is enough. */
	if (dhcp_encode(&first, bytes, DHCP_REPLY_LIMIT - DHCP_HEADERS_SIZE, &encoded) == 0) {
		assert(encoded <= DHCP_REPLY_LIMIT - DHCP_HEADERS_SIZE);
		assert(dhcp_decode(bytes, encoded, &second) == 0);
		same(&first, &second);
	}
	answer(&first);
	return 0;
}
