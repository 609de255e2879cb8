/* JPEG files on their way into a record file: is one whole, how large is it, and a smaller one of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum { JPEG_SHRINK_BYTES_MAX = 64 << 20 };

struct jpeg_shrink_ask {
	const uint8_t *data;
	size_t size;
	unsigned side; /* the longer side of larger ones becomes as long; 0: check alone */
	int quality;   /* 1 .. 100 */
};

struct jpeg_shrink_made {
	uint16_t height, width;
	uint16_t whole_height,
		whole_width; /* of jpeg_shrink(): those of the picture that was given */
	uint8_t channels;    /* 1 or 3 */
	uint8_t *data;       /* the caller frees; NULL: it was not larger, and was checked alone */
	size_t size;
};

/* Pixels without gaps, from the top. */
struct jpeg_pixels {
	uint8_t *data;
	unsigned height, width, channels;
};

/* A JPEG of the pixels; the caller frees `ret->data`. -ENOMEM. */
MUST_USE int jpeg_encode(const struct jpeg_pixels *pixels, int quality,
			 struct jpeg_shrink_made *ret, struct problem *problem);
/* Decodes all of it, to see that it is whole: an eighth as large, or as a smaller one needs it. Each pixel of the
 * smaller one is the average of those that it covers. E_MALFORMED, E_LIMIT, E_UNSUPPORTED, -ENOMEM. */
MUST_USE int jpeg_shrink(const struct jpeg_shrink_ask *ask, struct jpeg_shrink_made *ret,
			 struct problem *problem);
