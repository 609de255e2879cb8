/* ARP for IPv4 over Ethernet (RFC 826), without the Ethernet header. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

#define ARP_SIZE 28

enum arp_operation { ARP_REQUEST = 1, ARP_REPLY = 2 };

struct arp_packet {
	uint16_t operation;
	struct mac sender_mac, target_mac;
	uint32_t sender, target; /* IPv4, host order */
};

/* E_MALFORMED; E_UNSUPPORTED for other kinds of addresses. What follows is padding. */
MUST_USE int arp_decode(const void *data, size_t size, struct arp_packet *ret);
void arp_encode(const struct arp_packet *packet, uint8_t ret[ARP_SIZE]);
