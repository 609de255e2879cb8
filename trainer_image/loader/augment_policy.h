/* What is done to one sample: drawn from (seed, epoch, sample) alone, whichever thread asks, and how
 * often it asks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer_image/loader/augment_table.h"
#include "trainer_image/record/picture.h"

/* Which draw of the sample's numbers; a number never changes when another op is added. */
enum augment_draw {
	AUGMENT_DRAW_FLIP,
	AUGMENT_DRAW_BRIGHTNESS,
	AUGMENT_DRAW_CONTRAST,
	AUGMENT_DRAW_SATURATION,
	AUGMENT_DRAW_CROP = 16, /* four a try */
};

struct augment_choice {
	struct picture_region region; /* of the picture, in its own pixels */
	bool flip;
	bool coloured;
	float colour[3][4]; /* red = [0][0] R + [0][1] G + [0][2] B + [0][3]; values 0 .. 255 */
};

/* A number in [0, 1), of 53 bits, by counters: SplitMix64 over the four in turn. */
double augment_random(uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t draw);

struct augment_sample {
	uint64_t seed, epoch, sample;
};

/* For a picture of width x height, both at least 1. */
void augment_choose(const struct augment *augment, const struct augment_sample *sample,
		    uint32_t width, uint32_t height, struct augment_choice *ret);
