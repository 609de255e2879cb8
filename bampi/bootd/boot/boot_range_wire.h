/* The byte range that a request asks for (RFC 9110 14.1.2), for counting and evidence; the HTTP
 * server itself serves it. */
#pragma once

#include <stdint.h>

struct boot_range {
	uint64_t first, size;
};

/* The bytes of a file of `size` bytes that an answer to this Range header holds. `range` NULL,
 * several ranges, or none that can be read mean the whole file; one outside the file means nothing.
 * first + size <= size of the file. */
struct boot_range boot_range_decode(const char *range, uint64_t size);
