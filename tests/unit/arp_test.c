// links: common_net
/* ARP packets, and which of them a proxy answers. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/arp_policy.h"

#include "tests/support/cmocka.h"

static const uint8_t request[ARP_SIZE + 18] = {
	0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 5, 10, 9, 1, 5, 0, 0, 0, 0, 0, 0, 10, 9, 2, 5,
};

static void bytes(void **state)
{
	struct arp_packet packet;
	uint8_t again[ARP_SIZE];
	uint8_t changed[ARP_SIZE];

	(void)state;
	assert_int_equal(arp_decode(request, sizeof(request), &packet), 0);
	assert_int_equal(packet.operation, ARP_REQUEST);
	assert_int_equal(packet.sender, 0x0a090105);
	assert_int_equal(packet.target, 0x0a090205);
	assert_int_equal(packet.sender_mac.bytes[5], 5);
	arp_encode(&packet, again);
	assert_memory_equal(again, request, ARP_SIZE);
	for (size_t size = 0; size < ARP_SIZE; size++)
		assert_int_equal(arp_decode(request, size, &packet), E_MALFORMED);
	for (size_t i = 0; i < 6; i++) {
		memcpy(changed, request, ARP_SIZE);
		changed[i] ^= 0x10;
		assert_int_equal(arp_decode(changed, ARP_SIZE, &packet), E_UNSUPPORTED);
	}
}

#define A 0x0a090105
#define B 0x0a090205
#define ASKER                            \
	{                                \
		{                        \
			2, 0, 0, 0, 0, 5 \
		}                        \
	}

/* One request: A on interface 1 asks for B behind interface 2. */
static const struct arp_facts good = {
	.packet = {.operation = ARP_REQUEST, .sender_mac = ASKER, .sender = A, .target = B},
	.frame_source = ASKER,
	.interface = 1,
	.wanted = true,
	.to_sender = {.interface = 1},
	.to_target = {.interface = 2},
};

static void verdicts(void **state)
{
	struct arp_facts facts = good;

	(void)state;
	assert_int_equal(arp_policy(&facts), ARP_ANSWER);
	facts.packet.operation = ARP_REPLY;
	assert_int_equal(arp_policy(&facts), ARP_NO_REQUEST);
	facts = good;
	facts.packet.sender = 0; /* RFC 5227 2.1.1: answered, the asker would give its address up */
	assert_int_equal(arp_policy(&facts), ARP_PROBE);
	facts = good;
	facts.packet.target = A;
	assert_int_equal(arp_policy(&facts), ARP_GRATUITOUS);
	facts = good;
	facts.wanted = false;
	assert_int_equal(arp_policy(&facts), ARP_FOREIGN);
	facts = good;
	facts.frame_source.bytes[5] = 6;
	assert_int_equal(arp_policy(&facts), ARP_FORGED);
	facts = good;
	facts.packet.sender_mac.bytes[0] = facts.frame_source.bytes[0] = 0xff;
	assert_int_equal(arp_policy(&facts), ARP_FORGED);
	facts = good;
	facts.to_sender.interface = 2;
	assert_int_equal(arp_policy(&facts), ARP_FORGED);
	facts.to_sender.interface = 0;
	assert_int_equal(arp_policy(&facts), ARP_FORGED);
	facts = good;
	facts.to_sender.local = true; /* our own address */
	assert_int_equal(arp_policy(&facts), ARP_FORGED);
	facts = good;
	facts.to_target = (struct arp_route){.local = true};
	assert_int_equal(arp_policy(&facts), ARP_LOCAL);
	facts = good;
	facts.to_target.interface = 1;
	assert_int_equal(arp_policy(&facts), ARP_SAME_LINK);
	facts.to_target.interface = 0;
	assert_int_equal(arp_policy(&facts), ARP_NO_ROUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
