/* The list of values under construction: what the MIBs of the lab's switches share. */
#pragma once

#include "tests/sim/switch/switch_mib.h"

/* Where in the list: an object's name as far as it is known. */
struct place {
	struct switch_mib *mib;
	oid name[SWITCH_OID_MAX];
	size_t length;
};

struct place mib_place(struct switch_mib *mib, const oid *root, size_t size);
struct place mib_under(const struct place *place, oid number);
struct place mib_under_mac(const struct place *place, struct mac mac, size_t octets);
void mib_put(const struct place *place, u_char type, uint32_t number);
void mib_put_bytes(const struct place *place, u_char type, const void *bytes, size_t size);
/* `column` of the table at `entry`, for one index. */
void mib_put_cell(const struct place *entry, oid column, oid index, u_char type, uint32_t number);
void mib_put_scalar(const struct place *parent, oid object, u_char type, uint32_t number);
/* Sorts, and leaves out what is there twice. -ENOMEM: something did not go in. */
MUST_USE int mib_finish(struct switch_mib *mib);

/* Spanning tree and bonds as Open vSwitch has them; and two sensors that nobody measures, called
 * so. */
void mib_put_health(struct switch_mib *mib, const struct switch_device *device);

/* What a Cisco switch shows: BRIDGE-MIB of one VLAN, no Q-BRIDGE-MIB, CISCO-VTP-MIB,
 * CISCO-VLAN-MEMBERSHIP-MIB, CISCO-CONFIG-COPY-MIB. */
void mib_put_cisco(struct switch_mib *mib, const struct switch_device *device);
void mib_put_vlan_bridge(struct switch_mib *mib, const struct switch_device *device, uint16_t vid);
