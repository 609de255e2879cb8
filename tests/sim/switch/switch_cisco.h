/* A Cisco switch between SNMP and the lab's data plane, as CISCO-VTP-MIB, CISCO-VLAN-MEMBERSHIP-MIB
 * and CISCO-CONFIG-COPY-MIB describe it: VLANs through one edit buffer of the VTP domain, ports
 * that are access or trunk, a trunk's VLANs as four bitmaps. What it does otherwise than the
 * documents say is in the faults. Written from these documents, not from our driver's tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "tests/sim/switch/switch_device.h"

enum {
	CISCO_DOMAIN = 1,
	CISCO_PORTS_MAX = 128,
	CISCO_ROWS_MAX = 64,
	CISCO_COPIES_MAX = 8,
	CISCO_RING_FIRST = 1002, /* default VLANs of media that are none of ours */
	CISCO_RING_LAST = 1005,
	CISCO_BLOCK = 128, /* octets of a bitmap */
	CISCO_BLOCKS = 4
};

/* vlanTrunkPortDynamicState; vlanTrunkPortEncapsulationType. */
enum { CISCO_ON = 1, CISCO_OFF = 2, CISCO_DESIRABLE = 3, CISCO_AUTO = 4, CISCO_ON_QUIET = 5 };
enum { CISCO_DOT1Q = 4, CISCO_NEGOTIATE = 5 };

struct cisco_port {
	uint32_t number, if_index;
	uint32_t state, tagging;
	uint16_t access, native;
	uint8_t allowed[CISCO_BLOCKS * CISCO_BLOCK]; /* most significant bit first, from VLAN 0 */
};

/* A row of vtpVlanEditTable that differs from the VLANs in force. */
struct cisco_row {
	uint16_t vid;
	uint32_t status; /* RowStatus; SWITCH_ROW_DESTROY: the VLAN goes */
	bool has_type, has_name, has_said;
	char name[SWITCH_NAME_SIZE];
};

/* A row of ccCopyTable. */
struct cisco_copy {
	uint32_t row, from, to, state, status;
	int64_t done_ms;
};

struct switch_cisco {
	struct cisco_port ports[CISCO_PORTS_MAX];
	size_t port_count;
	bool held; /* the edit buffer is in use */
	char owner[64];
	int64_t held_ms; /* since; the dead-man timer */
	struct cisco_row rows[CISCO_ROWS_MAX];
	size_t row_count;
	uint32_t apply_status; /* vtpVlanApplyStatus, once apply_ms is over */
	int64_t apply_ms;
	uint32_t serial; /* vlanTrunkPortSetSerialNo */
	struct cisco_copy copies[CISCO_COPIES_MAX];
	size_t copy_count;
};

/* -ENOMEM. */
MUST_USE int switch_cisco_new(struct switch_cisco **ret);
/* Ports come and go, and what somebody did to the data plane is taken over; timers run. */
void switch_cisco_follow(struct switch_device *device);
/* vtpVlanApplyStatus now; ccCopyState of a row now. */
uint32_t switch_cisco_applied(const struct switch_device *device);
uint32_t switch_cisco_copied(const struct cisco_copy *copy);
bool switch_cisco_trunks(const struct cisco_port *port);

/* One value of a SET. */
struct cisco_set {
	uint32_t object[20]; /* below 1.3.6.1.4.1.9 */
	size_t arcs;
	bool is_octets, is_unsigned;
	uint32_t number;
	const uint8_t *octets; /* borrowed */
	size_t size;
};

/* Tries all of them (`now` false), or makes them true. In `ret_at` the one that is not taken. */
enum switch_error switch_cisco_set(struct switch_device *device, const struct cisco_set *sets,
				   size_t count, bool now, size_t *ret_at);
