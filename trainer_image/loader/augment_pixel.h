/* What a pixel of the output is: the arithmetic of augment_table.h, written once for a processor
 * (augment_cpu.c) and for a GPU (ops/cuda/kernel/augment.cu).
 *
 * Both give the same bits. So both add in this order, and none multiplies and adds with one rounding: a
 * compiler is told so (-ffp-contract=off, -fmad=false). For C and C++. */
#pragma once

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define AUGMENT_INLINE __host__ __device__ static inline
#else
#define AUGMENT_INLINE static inline
#endif

enum {
	AUGMENT_SHRINK_MAX = 8, /* how much smaller a GPU makes a picture, along one axis */
	AUGMENT_TAPS_MAX = 2 * AUGMENT_SHRINK_MAX + 3,
};

/* One picture of a batch that a GPU augments: where its pixels lie, and what is done to it. */
struct augment_place {
	uint64_t offset; /* of the batch's first byte; a multiple of 4 */
	uint32_t width,
		height; /* pixels there: four bytes each (red, green, blue, one unused), no gaps */
	/* The part that becomes the output, in these pixels. */
	double left, top, region_width, region_height;
	float colour[3][4]; /* red = [0][0] R + [0][1] G + [0][2] B + [0][3] */
	uint32_t flip, coloured;
};

/* One axis of a picture: `size` pixels from `begin` become some number of them. */
struct augment_line {
	double begin, scale, support;
	double first, last; /* of the pixels that may be read */
};

/* The pixels that one output pixel is made of, along one axis. */
struct augment_taps {
	uint32_t begin, count;
	double centre, support, sum; /* of their weights */
};

/* [0, limit) is there. */
AUGMENT_INLINE struct augment_line augment_line_of(double begin, double size, uint32_t limit,
						   uint32_t count)
{
	struct augment_line line;

	line.begin = begin;
	line.scale = size / count;
	line.support = line.scale > 1 ? line.scale : 1;
	line.first = floor(begin + 1e-6);
	line.last = fmin(ceil(begin + size - 1e-6), (double)limit);
	return line;
}

/* The triangle, `distance` from its middle. */
AUGMENT_INLINE double augment_weight(double distance, double support)
{
	return fmax(0.0, 1 - fabs(distance) / support);
}

AUGMENT_INLINE double augment_taps_raw(const struct augment_taps *taps, uint32_t nth)
{
	return augment_weight((double)taps->begin + nth + 0.5 - taps->centre, taps->support);
}

/* The middle of output pixel `at`. */
AUGMENT_INLINE double augment_centre(const struct augment_line *line, uint32_t at)
{
	return line->begin + (at + 0.5) * line->scale;
}

/* The pixel that lies there: all of what a mask has at output pixel `at`. */
AUGMENT_INLINE uint32_t augment_nearest(const struct augment_line *line, uint32_t at)
{
	return (uint32_t)fmin(fmax(floor(augment_centre(line, at)), line->first), line->last - 1);
}

/* Those of output pixel `at`. */
AUGMENT_INLINE struct augment_taps augment_taps_of(const struct augment_line *line, uint32_t at)
{
	double centre = augment_centre(line, at);
	double from = fmax(floor(centre - line->support + 0.5), line->first);
	double to = fmin(floor(centre + line->support + 0.5), line->last);
	struct augment_taps taps;

	if (to <= from) { /* a part less than a pixel wide */
		from = augment_nearest(line, at);
		to = from + 1;
	}
	taps.begin = (uint32_t)from;
	taps.count = (uint32_t)(to - from);
	taps.centre = centre;
	taps.support = line->support;
	taps.sum = 0;
	for (uint32_t i = 0; i < taps.count; i++)
		taps.sum += augment_taps_raw(&taps, i);
	return taps;
}

AUGMENT_INLINE float augment_taps_weight(const struct augment_taps *taps, uint32_t nth)
{
	return (float)(taps->sum > 0 ? augment_taps_raw(taps, nth) / taps->sum : 1.0 / taps->count);
}

/* Of single numbers and of vectors. Rows are blended first, two at once: all pairs are added up. Then columns
 * are, one by one. */
#define AUGMENT_PAIR(a, weight_a, b, weight_b) ((a) * (weight_a) + (b) * (weight_b))
#define AUGMENT_RECOLOUR(red, green, blue, matrix) \
	((red) * (matrix)[0] + (green) * (matrix)[1] + (blue) * (matrix)[2] + (matrix)[3])
#define AUGMENT_CLAMP(value) ((value) < 0 ? 0 : (value) > 255 ? 255 : (value))
#define AUGMENT_HALF         0.5F /* is added, then the fraction is cut off */

AUGMENT_INLINE uint8_t augment_grey_of(uint32_t red, uint32_t green, uint32_t blue)
{
	return (uint8_t)((299U * red + 587U * green + 114U * blue + 500U) / 1000U);
}
