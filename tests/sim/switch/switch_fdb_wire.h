/* What `ovs-appctl fdb/show BRIDGE` prints: a heading, then a line per learned address,
 * "  port  VLAN  MAC  Age"; the bridge's own port is LOCAL, an entry that does not age has a word
 * instead of its age. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

struct switch_fdb_row {
	uint16_t vid;
	struct mac mac;
	uint32_t port;  /* OpenFlow number; 0: the bridge itself */
	uint32_t age_s; /* since its last frame; 0 also for one that does not age */
};

/* Up to `room` rows, *ret_count of them. E_MALFORMED when a line is none of its kind, E_LIMIT when
 * there are more. */
MUST_USE int switch_fdb_read(const char *text, size_t size, struct switch_fdb_row *rows,
			     size_t room, size_t *ret_count);
