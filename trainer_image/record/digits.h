/* A set of handwritten-like digits, drawn and not collected: strokes, an affine change, noise. 28 x 28, uint8.
 *
 * Whole numbers alone, so (seed, index) is the same picture on each machine. Another seed is another set: train with one,
 * test with another. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum { DIGITS_SIDE = 28 };

/* Draws picture `index`, white on black; returns its label, 0 .. 9. */
int digits_draw(uint64_t seed, uint64_t index, uint8_t ret[DIGITS_SIDE * DIGITS_SIDE]);
/* `count` of them in a new record file; goes on where an interrupted one stopped. -EALREADY: it is complete. */
MUST_USE int digits_write(const char *path, uint64_t count, uint64_t seed, uint32_t page_size,
			  struct problem *problem);
/* The same pictures as files FOLDER/LABEL/NUMBER.jpg, for trainer convert. -errno. */
MUST_USE int digits_folder(const char *folder, uint64_t count, uint64_t seed,
			   struct problem *problem);
