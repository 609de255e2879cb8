/* Which frames a capture is of: between two nodes, or to and from one, by the addresses of their
 * NICs. Decided for every frame, whatever the filter and however many sessions end at the same
 * interface: what is not of the capture is never kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCOPE_MACS = 64 };

struct scope {
	uint8_t a[SCOPE_MACS][6], b[SCOPE_MACS][6];
	size_t a_count, b_count; /* b_count 0: all of a's frames */
};

/* From one to the other; or from one of them to a group (ARP, neighbour discovery). The first 12
 * bytes of the frame count. */
bool scope_has(const struct scope *scope, const void *frame, size_t size);
