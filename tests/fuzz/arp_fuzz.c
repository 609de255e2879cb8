// links: common_net
/* Whatever decodes encodes to the same bytes; whatever is answered was a request of another address
 * than the asker's own, for a wanted address behind another interface. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <string.h>

#include "common/net/arp_policy.h"
#include "common/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader input = wire_reader(data, size);
	struct arp_facts facts = {0};
	uint8_t again[ARP_SIZE];
	uint8_t bits;

	if (arp_decode(data, size, &facts.packet))
		return 0;
	arp_encode(&facts.packet, again);
	assert(memcmp(again, data, ARP_SIZE) == 0);
	wire_skip(&input, ARP_SIZE);
	wire_copy(&input, facts.frame_source.bytes, sizeof(facts.frame_source.bytes));
	bits = wire_u8(&input);
	facts.wanted = bits & 1;
	facts.interface = 1 + (bits >> 1 & 1);
	facts.to_sender = (struct arp_route){bits >> 2 & 3, bits >> 4 & 1};
	facts.to_target = (struct arp_route){bits >> 5 & 3, bits >> 7};
	if (arp_policy(&facts) == ARP_ANSWER)
		assert(facts.packet.operation == ARP_REQUEST && facts.packet.sender != 0 &&
		       facts.packet.sender != facts.packet.target && facts.wanted &&
		       mac_equal(facts.packet.sender_mac, facts.frame_source) &&
		       facts.to_sender.interface == facts.interface && !facts.to_target.local &&
		       facts.to_target.interface != 0 &&
		       facts.to_target.interface != facts.interface);
	return 0;
}
