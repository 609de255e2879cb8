/* Pixels that were decoded, between the stages of the converter and the loader: four bytes a pixel (red, green, blue, one unused), rows
 * from the top. The memory grows to the largest picture seen and is used again; or another lends it for one picture. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* A rectangle of pixels. */
struct picture_region {
	uint32_t x, y, width, height;
};

/* Zero bytes are an empty picture. */
struct picture {
	uint8_t *data;
	uint8_t *own;           /* memory of its own; `data` is this, or was lent */
	size_t room;            /* bytes of `own` */
	uint32_t width, height; /* pixels in `data` */
	size_t stride;          /* bytes from row to row: 4 * width */
	/* Where the wanted region lies in `data`, in pixels of `data`. A decoder may give more pixels
	 * than were wanted, and smaller ones: then the corners are fractions. */
	double left, top, region_width, region_height;
	/* Asked for memory before its own is used, aligned to 4; may be NULL, and may return NULL. */
	uint8_t *(*lend)(void *lender, size_t bytes);
	void *lender;
};

/* Makes room for width x height and sets both and the stride; the region becomes the whole. -ENOMEM:
 * the picture stays as it was. */
MUST_USE int picture_reserve(struct picture *picture, uint32_t width, uint32_t height);
void picture_done(struct picture *picture);
