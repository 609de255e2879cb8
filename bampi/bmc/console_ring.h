/* The last 64 KiB that a node wrote to its serial console, and the readable end of it: what a
 * problem shows as evidence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

enum { CONSOLE_RING_SIZE = 64 * 1024, CONSOLE_TAIL_LINE_MAX = 200, CONSOLE_TAIL_LINES_MAX = 100 };

/* Zero bytes are a valid empty ring. It has memory for what it holds, not for what it may hold: of
 * ten thousand consoles most say little. */
struct console_ring {
	uint64_t total; /* bytes ever added; also the position behind the newest */
	size_t room;    /* 0, or a power of two up to CONSOLE_RING_SIZE */
	char *bytes;    /* owned */
};

void console_ring_done(struct console_ring *ring);
/* Without memory to grow it keeps less. */
void console_ring_add(struct console_ring *ring, const void *bytes, size_t size);
/* Copies at most `room` bytes from position `since`, or from the oldest that is kept. Returns how
 * many; *ret_position is the position of the first of them. */
size_t console_ring_copy(const struct console_ring *ring, uint64_t since, char *ret, size_t room,
			 uint64_t *ret_position);

/* The last `lines` non-empty lines as a person would have seen them. Escape sequences and control
 * characters are gone. A carriage return starts its line over, back space deletes. Other bytes than
 * printable ASCII become '?', long lines are cut. Pure; any bytes are fine. */
void console_tail_text(const char *bytes, size_t size, unsigned lines, struct text *ret);
