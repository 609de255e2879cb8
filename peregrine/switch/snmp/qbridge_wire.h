/* PortLists and VLAN bitmaps as SNMP carries them (RFC 4363 PortList; CISCO-VTP-MIB). The most
 * significant bit of the first octet is the first port, or VLAN 0 of its block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

enum {
	PORT_LIST_LIMIT = 2048, /* octets that we take: 16,384 ports (SLX 9150 shows 1,840) */
	VLAN_BLOCK_SIZE = 128,  /* octets of one of the four bitmaps: 1024 VLANs */
	VLAN_BLOCKS = 4,
	VTP_RING_FIRST = 1002, /* of VTP for media that are none of ours; they cannot be made, */
	VTP_RING_LAST = 1005   /* deleted or used */
};

/* How an agent numbers the bits. Zero: bit n is base port n. */
struct port_list_shape {
	uint8_t octets_per_unit; /* of a stack: each unit's bits begin at a multiple of this */
	uint8_t ports_per_unit;  /* of which so many are ports */
};

/* Bit of a port, from 0; false for port 0. */
bool port_list_bit(struct port_list_shape shape, uint32_t base_port, size_t *ret);
/* False past the end. */
bool port_list_has(const uint8_t *octets, size_t size, struct port_list_shape shape,
		   uint32_t base_port);
/* The length stays as it was read: a port past its end is E_LIMIT when it shall be set, and already
 * so when it shall be cleared. */
MUST_USE int port_list_put(uint8_t *octets, size_t size, struct port_list_shape shape,
			   uint32_t base_port, bool member);

/* A PortList may be text: base ports in decimal with commas between them, "0,513,515"; 0 is none. */
bool port_list_is_text(const uint8_t *octets, size_t size);
/* The same as bits, as long as the last port needs, at most PORT_LIST_LIMIT octets. Returns how
 * many; *odd counts numbers that are no base port. */
size_t port_list_from_text(const uint8_t *text, size_t size, uint8_t ret[PORT_LIST_LIMIT],
			   uint32_t *odd);

/* VLANs of one of the four bitmaps: block 0 holds 0..1023. Octets that are missing are zeros, more
 * than 128 E_MALFORMED. Adds to `ret`. */
MUST_USE int vlan_block_decode(const uint8_t *octets, size_t size, size_t block,
			       struct vlan_set *ret);
void vlan_block_encode(const struct vlan_set *set, size_t block, uint8_t ret[VLAN_BLOCK_SIZE]);
