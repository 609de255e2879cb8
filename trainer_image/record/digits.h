/* A set of handwritten-like digits, drawn and not collected: strokes, an affine change, noise. 28 x 28, uint8.
 *
 * Whole numbers alone, so (seed, index) is the same picture on each machine. Another seed is another set: train with one,
 * test with another. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum { DIGITS_SIDE = 28, DIGITS_MASK_CLASSES = 11 };

/* Which digits are written. */
struct digits_ask {
	uint64_t count, seed;
	uint32_t page_size; /* of a record file; 0 = RECORD_PAGE_SIZE */
	bool masks; /* in the place of labels (mask.h): the digit + 1 where half of a pixel or more is ink, else 0 */
};

/* Draws picture `index`, white on black; returns its label, 0 .. 9. `ret_mask` may be NULL. */
int digits_draw(uint64_t seed, uint64_t index, uint8_t ret[DIGITS_SIDE * DIGITS_SIDE],
		uint8_t ret_mask[DIGITS_SIDE * DIGITS_SIDE]);
/* All of them in a new record file; goes on where an interrupted one stopped. -EALREADY: it is complete. */
MUST_USE int digits_write(const char *path, const struct digits_ask *ask, struct problem *problem);
/* The same pictures as files FOLDER/LABEL/NUMBER.jpg, for trainer convert; masks are NUMBER.png beside them. -errno. */
MUST_USE int digits_folder(const char *folder, const struct digits_ask *ask,
			   struct problem *problem);
