// links: relay_dhcp
/* Any bytes that decode as DHCP: with our option added they decode to the same message plus the
 * option, and without it again to what they were; what is added or taken out never shows elsewhere.
 */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/dhcp_wire.h"

#include "bampi/relay/dhcp/option82_wire.h"

#define ROOM 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dhcp_message decoded(const uint8_t *data, size_t size)
{
	struct dhcp_message message;

	assert(dhcp_decode(data, size, &message) == 0);
	return message;
}

static void same_but_option82(const struct dhcp_message *a, const struct dhcp_message *b)
{
	assert(memcmp(a, b, offsetof(struct dhcp_message, options)) == 0);
	for (unsigned code = 1; code < DHCP_OPTION_END; code++) {
		size_t a_size = 0;
		size_t b_size = 0;
		const uint8_t *a_bytes = dhcp_option(a, (uint8_t)code, &a_size);
		const uint8_t *b_bytes = dhcp_option(b, (uint8_t)code, &b_size);

		if (code == DHCP_OPTION_RELAY)
			continue;
		assert(!a_bytes == !b_bytes && a_size == b_size);
		assert(!a_bytes || memcmp(a_bytes, b_bytes, a_size) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dhcp_message before;
	static struct dhcp_message after;
	const struct option82 option = {.circuit = "rack7",
					.circuit_size = 5,
					.link_selection = size > 250 ? data[250] : 0};
	struct option82_value value;
	uint8_t marked[ROOM];
	uint8_t plain[ROOM];
	size_t marked_size;
	size_t plain_size;
	size_t had;
	bool overloaded;

	assert(option82_encode(&option, &value) == 0);
	if (dhcp_decode(data, size, &before)) {
		(void)!option82_strip(data, size, ROOM, plain, &plain_size);
		return 0;
	}
	overloaded = dhcp_option(&before, DHCP_OPTION_RELAY, &had) != NULL;
	assert(option82_insert(data, size, &value, ROOM, marked, &marked_size) == 0);
	assert(option82_insert(data, size, &value, marked_size - 1, plain, &plain_size) != 0 ||
	       plain_size < marked_size);
	if (marked_size <= DHCP_PACKET_MAX && !overloaded) {
		const uint8_t *bytes;

		after = decoded(marked, marked_size);
		same_but_option82(&before, &after);
		bytes = dhcp_option(&after, DHCP_OPTION_RELAY, &had);
		assert(bytes && had == value.size && memcmp(bytes, value.bytes, had) == 0);
	}
	assert(option82_strip(marked, marked_size, ROOM, plain, &plain_size) == 0);
	if (plain_size <= DHCP_PACKET_MAX) {
		after = decoded(plain, plain_size);
		same_but_option82(&before, &after);
		if (!overloaded)
			assert(!dhcp_option(&after, DHCP_OPTION_RELAY, &had));
	}
	option82_set_relay(marked, 3, 0x0a510001);
	if (marked_size <= DHCP_PACKET_MAX) {
		after = decoded(marked, marked_size);
		assert(after.hops == 3 && after.giaddr == 0x0a510001);
	}
	return 0;
}
