// links: sim_switch_relay
/* Any bytes: what is looked at lies in the frame; a request that is forwarded comes back as a reply
 * with exactly the option that was written, and then without it. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/dhcp_wire.h"

#include "tests/sim/switch/switch_relay_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const uint8_t *data, size_t size,
			   const struct switch_relay_format *format)
{
	static struct switch_relay_reply reply;
	static struct dhcp_message message;
	const struct switch_relay_place place = {"leaf1", "p14", {{2, 1, 2, 3, 4, 5}}, 100};
	struct switch_relay_option option;
	uint8_t forwarded[SWITCH_RELAY_ROOM];
	size_t forwarded_size = 0;

	format->write(&place, &option);
	assert(option.size > 2 && option.bytes[1] == option.size - 2);
	if (switch_relay_request(data, size, 0x0a650001, &option, forwarded, &forwarded_size) !=
	    SWITCH_RELAY_FORWARD)
		return;
	assert(forwarded_size >= 300 && forwarded_size <= sizeof(forwarded));
	if (dhcp_decode(forwarded, forwarded_size, &message) == 0) {
		assert(message.giaddr == 0x0a650001 && message.hops == data[3] + 1);
		assert(message.options[DHCP_OPTION_RELAY].at != 0);
	}
	forwarded[0] = DHCP_OP_REPLY;
	assert(switch_relay_reply(forwarded, forwarded_size, &reply) == SWITCH_RELAY_FORWARD);
	assert(reply.option.size == option.size &&
	       memcmp(reply.option.bytes, option.bytes, option.size) == 0);
	assert(reply.giaddr == 0x0a650001 && reply.size <= forwarded_size);
	assert(switch_relay_reply(reply.message, reply.size, &reply) == SWITCH_RELAY_NOT_OURS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct switch_relay_reply reply;
	struct switch_relay_frame frame = switch_relay_look(data, size);

	if (frame.kind != SWITCH_RELAY_OTHER)
		assert(frame.data >= data && frame.size <= size &&
		       frame.data + frame.size <= data + size);
	for (size_t i = 0; i < switch_relay_format_count; i++) {
		there_and_back(data, size, &switch_relay_formats[i]);
		if (frame.kind == SWITCH_RELAY_CLIENT)
			there_and_back(frame.data, frame.size, &switch_relay_formats[i]);
	}
	if (switch_relay_reply(data, size, &reply) == SWITCH_RELAY_FORWARD)
		assert(reply.option.size > 0);
	return 0;
}
