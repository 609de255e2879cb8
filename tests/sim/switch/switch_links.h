/* When a link went or came last, for ifLastChange (RFC 2863): Net-SNMP's agent sees a change only
 * if it is there when it looks, a switch's does not miss one. The kernel counts them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct switch_link {
	uint32_t if_index;
	uint32_t changes; /* the kernel's carrier_changes */
	uint32_t ticks;   /* sysUpTime then; 0: before the start */
};

enum { SWITCH_LINKS_MAX = 256 };

struct switch_links {
	struct switch_link items[SWITCH_LINKS_MAX]; /* by ifIndex */
	size_t count;
	uint32_t serial; /* differs: one of them went or came, or an interface did */
};

/* Looks at all interfaces of this network namespace; `now` in hundredths of a second. */
void switch_links_look(struct switch_links *links, uint32_t now);
/* Of one of them; 0 = not since the start. */
uint32_t switch_links_ticks(const struct switch_links *links, uint32_t if_index);
