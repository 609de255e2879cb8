/* Masks: a class for each pixel of a picture, kept beside it as the bytes of a PNG, as PASCAL VOC and Cityscapes have them.
 *
 * A set has masks when its header has the free field "mask" of bytes. The number of a pixel, grey or of a
 * palette, is its class; what colours a palette has counts for nothing. MASK_VOID is no class.
 *
 * Nothing is trusted. A PNG must have the size of its picture before memory is taken for its pixels. Errors of
 * libpng come back as a problem, its warnings are ignored. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/record/record.h"

#define MASK_FIELD "mask"

enum { MASK_VOID = 255, MASK_CLASSES_MAX = 255, MASK_BYTES_MAX = 16 << 20 };

/* One byte a pixel, rows from the top. The memory is used again. Zero bytes are an empty mask. */
struct mask {
	uint8_t *data;
	size_t room;
	uint32_t width, height;
};

/* Makes room for width x height and sets both. -ENOMEM: the mask stays as it was. */
MUST_USE int mask_reserve(struct mask *mask, uint32_t width, uint32_t height);
void mask_done(struct mask *mask);

/* Which field of a sample is its mask; -1: the set has none. */
int mask_field(const struct record_header *header);

/* The PNG of a picture of width x height. E_MALFORMED: it is no whole PNG, or has another size. E_UNSUPPORTED: more
 * than one number a pixel, or more than 8 bits. -ENOMEM. */
MUST_USE int mask_read(const void *data, size_t size, uint32_t width, uint32_t height,
		       struct mask *ret, struct problem *problem);
/* A PNG of 8 bits, grey; the caller frees *ret. -ENOMEM; E_MALFORMED: libpng refused it. */
MUST_USE int mask_write(const struct mask *mask, uint8_t **ret, size_t *ret_size,
			struct problem *problem);
/* E_INVALID: a pixel is none of `classes` and not MASK_VOID; the first is named. */
MUST_USE int mask_check(const struct mask *mask, uint32_t classes, struct problem *problem);
/* Each pixel of the smaller mask has the class in the middle of those that it replaces. -ENOMEM. */
MUST_USE int mask_shrink(const struct mask *mask, uint32_t width, uint32_t height,
			 struct mask *ret);
