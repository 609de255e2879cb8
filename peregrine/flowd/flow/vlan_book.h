/* Traffic per VLAN of each switch (sFlow counters of VLANs), since the daemon started. The counts
 * are exact: all ports of the switch together, each frame once. They have neither port nor
 * direction, and a frame that crosses three switches is in three of them. So they are no total of a
 * link, a tenant or a pair. The number of rows is fixed: when all are in use, further VLANs are not
 * kept. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/sample/sflow_wire.h"

enum { VLAN_ROWS = 16384 };

struct vlan_row {
	uint64_t bytes, packets, discards; /* between the first reading and the last */
	double seconds;                    /* which is so long */
	double bits_per_second;            /* between the last two */
	uint16_t agent, vlan;
	int64_t at_us; /* of the last reading; 0 = empty */
	struct sflow_vlan_counters last;
};

struct vlan_book;

MUST_USE int vlan_book_new(struct vlan_book **ret);
void vlan_book_free(struct vlan_book *book);
/* Takes a reading. If octets went back, the switch has restarted: that interval is not counted. */
void vlan_book_note(struct vlan_book *book, uint16_t agent, int64_t at_us,
		    const struct sflow_vlan_counters *reading);
/* The agent's next row, in no order; NULL = there is no other. `at` begins as 0. */
const struct vlan_row *vlan_book_next(const struct vlan_book *book, uint16_t agent, size_t *at);
