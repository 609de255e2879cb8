/* The ops that make training input of a picture, defined once: names, parameters, ranges, and on
 * which side of the transfer index each runs. A processor and a GPU read the same rows.
 *
 *     random_crop width=224 height=224; flip; colour brightness=0.4; normalise; pack type=fp16
 *
 * Ops always run in the order of the rows, each at most once. What they compute, of values R G B:
 *
 *     op           result
 *     random_crop  a part of the picture: its area is a share of the whole's, even between the
 *                  limits; its width to height is even in the logarithm. Ten tries, then the largest
 *                  part in the middle. The part is resized to width x height.
 *     centre_crop  the largest part in the middle with the shape of the output, its sides times
 *                  `share`; resized
 *     flip         mirrored left to right, with `chance`
 *     colour       brightness: RGB * b. contrast: 128 + (RGB - 128) * c. saturation: grey +
 *                  (RGB - grey) * s, grey = 0.299 R + 0.587 G + 0.114 B. Factors are even in
 *                  1 - x .. 1 + x. All three are one matrix
 *     normalise    (RGB / 255 - mean) / deviation
 *     pack         rows, columns, channels (NHWC) of `type`. One channel: grey, as above
 *
 * Resizing is bilinear with antialias: a triangle as wide as the shrinking, at least one pixel, cut
 * off at the borders of the part. Its result, with colour, is rounded to 0 .. 255: so numbers do not
 * depend on the side that `normalise` and `pack` run on.
 *
 * Without `normalise` values are 0 .. 255, in any type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

enum augment_kind {
	AUGMENT_RANDOM_CROP,
	AUGMENT_CENTRE_CROP,
	AUGMENT_FLIP,
	AUGMENT_COLOUR,
	AUGMENT_NORMALISE,
	AUGMENT_PACK,
	AUGMENT_KINDS,
};

/* Where data crosses to the consumer's side: after `k` of these the loader's threads are done. */
enum augment_stage {
	AUGMENT_PIXELS,  /* crop, resize, flip, colour: to RGB bytes of the output's size */
	AUGMENT_NUMBERS, /* normalise and pack: up to four times the bytes */
	AUGMENT_STAGES,
};

enum augment_type { AUGMENT_UINT8, AUGMENT_FP32, AUGMENT_BF16, AUGMENT_FP16, AUGMENT_TYPES };

enum { AUGMENT_PARAMETERS_MAX = 6, AUGMENT_SIZE_MAX = 4096, AUGMENT_TEXT_MAX = 4096 };

/* Parameters by place in their row. */
enum { AUGMENT_WIDTH, AUGMENT_HEIGHT }; /* both crops */
enum { AUGMENT_AREA_LEAST = 2, AUGMENT_AREA_MOST, AUGMENT_ASPECT_LEAST, AUGMENT_ASPECT_MOST };
enum { AUGMENT_SHARE = 2 };
enum { AUGMENT_CHANCE };
enum { AUGMENT_BRIGHTNESS, AUGMENT_CONTRAST, AUGMENT_SATURATION };
enum { AUGMENT_MEAN, AUGMENT_DEVIATION = 3 }; /* three each: red, green, blue */
enum { AUGMENT_TYPE, AUGMENT_CHANNELS };

struct augment_parameter {
	const char *name; /* NULL behind the last */
	double least, most, usual;
	bool whole;               /* an integer */
	const char *const *words; /* the value is the place of a word; NULL: a number */
};

struct augment_row {
	const char *name;
	enum augment_stage stage;
	struct augment_parameter parameters[AUGMENT_PARAMETERS_MAX];
};

extern const struct augment_row augment_table[AUGMENT_KINDS];

/* A chosen list of ops. */
struct augment {
	bool used[AUGMENT_KINDS];
	double value[AUGMENT_KINDS][AUGMENT_PARAMETERS_MAX];
};

/* The text above to ops; what is not said has its usual value. E_INVALID: the op, the word and what
 * may stand there. */
MUST_USE int augment_parse(const char *text, struct augment *ret, struct problem *problem);
/* A text that augment_parse makes the same ops of. */
void augment_print(const struct augment *augment, struct text *text);

/* The output: pixels, channels, bytes of an element and of a picture. */
uint32_t augment_width(const struct augment *augment);
uint32_t augment_height(const struct augment *augment);
uint32_t augment_channels(const struct augment *augment);
enum augment_type augment_type(const struct augment *augment);
size_t augment_type_size(enum augment_type type);
size_t augment_elements(const struct augment *augment);
