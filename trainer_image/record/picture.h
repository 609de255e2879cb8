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
/* The longer side becomes `side` pixels, each the average of those that it covers; encoded anew with `quality`, 1 ..
 * 100. The caller frees `ret_data`. A picture that is not larger: *ret_data is NULL, it was checked alone. */
MUST_USE int picture_shrink(const uint8_t *data, size_t size, unsigned side, int quality,
			    uint8_t **ret_data, size_t *ret_size, struct picture *ret,
			    char ret_why[PICTURE_WHY]);
