/* The ops of augment_table.h on a processor: one pass over the output, row by row.
 *
 * One workspace a thread. It grows to the widest picture seen; then a picture allocates nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/loader/augment_policy.h"
#include "trainer_image/loader/augment_table.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/record/picture.h"

struct augment_cpu;

MUST_USE int augment_cpu_new(const struct augment *augment, struct augment_cpu **ret);
void augment_cpu_free(struct augment_cpu *cpu);
void augment_cpu_freep(struct augment_cpu **cpu);

/* AUGMENT_PIXELS: the region of `picture` becomes bytes [height][width][channels] at `ret`. -ENOMEM. */
MUST_USE int augment_cpu_pixels(struct augment_cpu *cpu, const struct augment_choice *choice,
				const struct picture *picture, uint8_t *ret);
/* AUGMENT_NUMBERS: those bytes become elements of the output's type. `bytes` and `ret` are apart. */
void augment_cpu_numbers(const struct augment_cpu *cpu, const uint8_t *bytes, void *ret);
/* Both, while a row is in the cache. */
MUST_USE int augment_cpu_all(struct augment_cpu *cpu, const struct augment_choice *choice,
			     const struct picture *picture, void *ret);
/* The mask of a picture for which `choice` was made, cropped, resized and flipped with it: bytes [height][width] at
 * `ret`. Each is the class at the middle of its pixel. -ENOMEM. */
MUST_USE int augment_cpu_mask(const struct augment *augment, const struct augment_choice *choice,
			      const struct mask *mask, uint8_t *ret);
