/* JPEG files on their way into a record file: is one whole, how large is it, and a smaller one of it. By libjpeg. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum {
	PICTURE_BYTES_MAX = 64 << 20,
	PICTURE_SIDE_MAX = 32768,
	PICTURE_PIXELS_MAX = 1 << 26, /* of one picture: a decoder's memory follows from it */
	PICTURE_SCANS_MAX = 64,       /* of a progressive one: its time does */
	PICTURE_WHY = 200,
};

struct picture {
	uint16_t height, width;
	uint8_t channels; /* 1 or 3 */
};

/* Decodes all of it, an eighth as large, to see that it is whole. E_MALFORMED, E_LIMIT, E_UNSUPPORTED with the
 * reason in `ret_why`. */
MUST_USE int picture_check(const uint8_t *data, size_t size, struct picture *ret,
			   char ret_why[PICTURE_WHY]);
struct picture_ask {
	const uint8_t *data;
	size_t size;
	unsigned side; /* the longer side of larger ones becomes as long; 0: check alone */
	int quality;   /* 1 .. 100 */
};

struct picture_made {
	struct picture picture;
	uint8_t *data; /* the caller frees; NULL: it was not larger, and was checked alone */
	size_t size;
};

/* A JPEG of height x width x channels bytes. */
MUST_USE int picture_make(const struct picture *picture, const uint8_t *pixels, int quality,
			  struct picture_made *ret, char ret_why[PICTURE_WHY]);
/* Each pixel is the average of those that it covers. As picture_check(). */
MUST_USE int picture_shrink(const struct picture_ask *ask, struct picture_made *ret,
			    char ret_why[PICTURE_WHY]);
