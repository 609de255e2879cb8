#include "trainer_image/loader/augment_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "trainer_image/loader/augment_number.h"
#include "trainer_image/loader/augment_pixel.h"

typedef float augment_four __attribute__((vector_size(16)));
typedef int32_t augment_four_int __attribute__((vector_size(16)));
#ifndef __SSE2__
typedef uint8_t augment_four_byte __attribute__((vector_size(4)));
#endif

/* The pixels that one output pixel is made of, along one axis. */
struct augment_tap {
	uint32_t begin, count; /* source pixels, from the left or top of `data` */
	uint32_t weight;       /* where its weights begin */
};

struct augment_axis {
	struct augment_tap *taps; /* one an output pixel */
	float *weights;
	size_t room;  /* of weights */
	float *spare; /* what augment_axis_even() writes to; they change places */
	size_t spare_room;
};

struct augment_colour;
struct augment_cpu;

typedef void augment_across_function(const struct augment_cpu *cpu, uint32_t first,
				     const struct augment_colour *colour, uint8_t *ret);

typedef void augment_blend_function(float *restrict to, const uint8_t *restrict a,
				    const uint8_t *restrict b, const float weight[2], size_t count);

struct augment_cpu {
	augment_blend_function *blend, *blend_more;
	augment_across_function *across;
	struct augment augment;
	uint32_t width, height, channels;
	struct augment_axis x, y;
	float *row; /* one row of the source, blended of several: four floats a pixel */
	size_t row_room;
	uint8_t *bytes; /* one output row, and four bytes more */
	void *table;    /* [3][256] of the output's type: what a byte becomes */
};

/* to = a * weight[0] + b * weight[1] (+ to): these loops take much of the time, and become vectors. A
 * wider vector does the same operations in the same order: the bits are the same. */
#define AUGMENT_BLEND(name, assign, target)                                                     \
	target static void name(float *restrict to, const uint8_t *restrict a,                  \
				const uint8_t *restrict b, const float weight[2], size_t count) \
	{                                                                                       \
		float first = weight[0];                                                        \
		float second = weight[1];                                                       \
                                                                                                \
		for (size_t i = 0; i < count; i++)                                              \
			to[i] assign AUGMENT_PAIR((float)a[i], first, (float)b[i], second);     \
	}

AUGMENT_BLEND(augment_blend, =, )
AUGMENT_BLEND(augment_blend_more, +=, )
#ifdef __x86_64__
/* Not "fma": it rounds once where these round twice. */
AUGMENT_BLEND(augment_blend_wide, =, __attribute__((target("avx2"))))
AUGMENT_BLEND(augment_blend_more_wide, +=, __attribute__((target("avx2"))))
#endif

static void augment_choose_code(struct augment_cpu *cpu);

int augment_cpu_new(const struct augment *augment, struct augment_cpu **ret)
{
	CLEANUP(augment_cpu_freep) struct augment_cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return -ENOMEM;
	cpu->augment = *augment;
	cpu->width = augment_width(augment);
	cpu->height = augment_height(augment);
	cpu->channels = augment_channels(augment);
	cpu->x.taps = calloc(cpu->width, sizeof(*cpu->x.taps));
	cpu->y.taps = calloc(cpu->height, sizeof(*cpu->y.taps));
	cpu->bytes = malloc((size_t)cpu->width * 3 + 4);
	cpu->table = malloc(augment_number_size(augment));
	if (!cpu->x.taps || !cpu->y.taps || !cpu->bytes || !cpu->table)
		return -ENOMEM;
	augment_number_table(augment, cpu->table);
	augment_choose_code(cpu);
	*ret = TAKE(cpu);
	return 0;
}

void augment_cpu_free(struct augment_cpu *cpu)
{
	if (!cpu)
		return;
	free(cpu->x.taps);
	free(cpu->x.weights);
	free(cpu->x.spare);
	free(cpu->y.taps);
	free(cpu->y.weights);
	free(cpu->row);
	free(cpu->bytes);
	free(cpu->table);
	free(cpu);
}

void augment_cpu_freep(struct augment_cpu **cpu)
{
	augment_cpu_free(*cpu);
}

static int augment_room(float **memory, size_t *room, size_t wanted)
{
	float *grown;

	if (wanted <= *room)
		return 0;
	grown = malloc(wanted * sizeof(**memory));
	if (!grown)
		return -ENOMEM;
	free(*memory);
	*memory = grown;
	*room = wanted;
	return 0;
}

/* `size` source pixels from `begin` become `count`; [0, limit) is there. */
static int augment_axis_fill(struct augment_axis *axis, double begin, double size, uint32_t limit,
			     uint32_t count)
{
	struct augment_line line = augment_line_of(begin, size, limit, count);
	size_t most = (size_t)(2 * line.support) + 3;
	size_t used = 0;

	if (augment_room(&axis->weights, &axis->room, most * count) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct augment_taps taps = augment_taps_of(&line, i);

		axis->taps[i] = (struct augment_tap){taps.begin, taps.count, (uint32_t)used};
		for (uint32_t j = 0; j < taps.count; j++)
			axis->weights[used + j] = augment_taps_weight(&taps, j);
		used += taps.count;
	}
	return 0;
}

/* Gives all taps of an axis the same number of pixels: those beside it with the weight 0. A count that
 * is known lets a processor run ahead of the sums. Pixels are numbers: 0 times one of them adds nothing. */
static int augment_axis_even(struct augment_axis *axis, uint32_t end, uint32_t count)
{
	float *weights_before = axis->weights;
	size_t room_before = axis->room;
	uint32_t most = 1;

	for (uint32_t i = 0; i < count; i++)
		most = axis->taps[i].count > most ? axis->taps[i].count : most;
	if (augment_room(&axis->spare, &axis->spare_room, (size_t)most * count) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct augment_tap *tap = &axis->taps[i];
		uint32_t begin = tap->begin + most > end ? end - most : tap->begin;
		float *weights = axis->spare + (size_t)most * i;

		memset(weights, 0, most * sizeof(*weights));
		memcpy(weights + (tap->begin - begin), axis->weights + tap->weight,
		       tap->count * sizeof(*weights));
		*tap = (struct augment_tap){begin, most, most * i};
	}
	axis->weights = axis->spare;
	axis->room = axis->spare_room;
	axis->spare = weights_before;
	axis->spare_room = room_before;
	return 0;
}

static void augment_flip(struct augment_axis *axis, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		struct augment_tap tap = axis->taps[i];

		axis->taps[i] = axis->taps[count - 1 - i];
		axis->taps[count - 1 - i] = tap;
	}
}

/* Blends the source rows of one output row, from column `first`, `count` columns. */
static void augment_vertical(struct augment_cpu *cpu, const struct picture *picture,
			     const struct augment_tap *tap, uint32_t first, uint32_t count)
{
	const float *weights = cpu->y.weights + tap->weight;
	const uint8_t *data = picture->data + 4 * (size_t)first;

	for (uint32_t j = 0; j < tap->count; j += 2) {
		bool pair = j + 1 < tap->count;
		const uint8_t *a = data + (tap->begin + j) * picture->stride;
		const uint8_t *b = pair ? a + picture->stride : a;
		float weight[2] = {weights[j], pair ? weights[j + 1] : 0};

		(j == 0 ? cpu->blend : cpu->blend_more)(cpu->row, a, b, weight, 4 * (size_t)count);
	}
}

static inline augment_four augment_pixel(const float *row)
{
	augment_four pixel;

	memcpy(&pixel, row, sizeof(pixel));
	return pixel;
}

static inline augment_four augment_sum(const float *row, const float *weights, uint32_t count)
{
	augment_four sum = augment_pixel(row) * weights[0];

	for (uint32_t j = 1; j < count; j++)
		sum += augment_pixel(row + 4 * (size_t)j) * weights[j];
	return sum;
}

/* Rounds numbers from 0 to 255 to four bytes. Compilers take them apart and put them together again. */
static inline void augment_round(augment_four pixel, uint8_t *ret)
{
	const augment_four half = {AUGMENT_HALF, AUGMENT_HALF, AUGMENT_HALF, AUGMENT_HALF};
	augment_four_int whole = __builtin_convertvector(pixel + half, augment_four_int);
#ifdef __SSE2__
	__m128i words = _mm_packs_epi32((__m128i)whole, (__m128i)whole);
	int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
#else
	augment_four_byte bytes = __builtin_convertvector(whole, augment_four_byte);
#endif

	memcpy(ret, &bytes, 4);
}

/* Columns of the colour matrix: red, green, blue, 1. */
struct augment_colour {
	augment_four column[4];
};

static inline augment_four augment_recolour(augment_four pixel, const struct augment_colour *colour)
{
	augment_four result = AUGMENT_RECOLOUR(pixel[0], pixel[1], pixel[2], colour->column);

	for (int c = 0; c < 4; c++)
		result[c] = AUGMENT_CLAMP(result[c]);
	return result;
}

/* One output row of the blended row: three bytes a pixel, of which four are written. `count`: of each tap. */
static inline __attribute__((always_inline)) void
augment_across_of(const struct augment_cpu *cpu, uint32_t first, uint32_t count, uint8_t *ret)
{
	/* Kept apart from `cpu`: a byte that is written might be any of its members. */
	const struct augment_tap *tap = cpu->x.taps;
	const struct augment_tap *end = tap + cpu->width;
	const float *row = cpu->row;
	const float *weights = cpu->x.weights;

	for (; tap < end; tap++, ret += 3)
		augment_round(augment_sum(row + 4 * (size_t)(tap->begin - first),
					  weights + tap->weight, count),
			      ret);
}

static void augment_across_coloured(const struct augment_cpu *cpu, uint32_t first,
				    const struct augment_colour *colour, uint8_t *ret)
{
	const struct augment_tap *tap = cpu->x.taps;
	const float *row = cpu->row;

	for (uint32_t i = 0; i < cpu->width; i++, tap++, ret += 3) {
		augment_four sum = augment_sum(row + 4 * (size_t)(tap->begin - first),
					       cpu->x.weights + tap->weight, tap->count);

		augment_round(augment_recolour(sum, colour), ret);
	}
}

/* A loop for each usual number of pixels; a picture that becomes half as large has up to five. */
#define AUGMENT_ACROSS(name, target)                                               \
	target static void name(const struct augment_cpu *cpu, uint32_t first,     \
				const struct augment_colour *colour, uint8_t *ret) \
	{                                                                          \
		if (colour)                                                        \
			augment_across_coloured(cpu, first, colour, ret);          \
		else if (cpu->x.taps[0].count == 2)                                \
			augment_across_of(cpu, first, 2, ret);                     \
		else if (cpu->x.taps[0].count == 3)                                \
			augment_across_of(cpu, first, 3, ret);                     \
		else if (cpu->x.taps[0].count == 4)                                \
			augment_across_of(cpu, first, 4, ret);                     \
		else if (cpu->x.taps[0].count == 5)                                \
			augment_across_of(cpu, first, 5, ret);                     \
		else                                                               \
			augment_across_of(cpu, first, cpu->x.taps[0].count, ret);  \
	}

AUGMENT_ACROSS(augment_across, )
#ifdef __x86_64__
AUGMENT_ACROSS(augment_across_wide, __attribute__((target("avx2"))))
#endif

static void augment_choose_code(struct augment_cpu *cpu)
{
	cpu->blend = augment_blend;
	cpu->blend_more = augment_blend_more;
	cpu->across = augment_across;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		cpu->blend = augment_blend_wide;
		cpu->blend_more = augment_blend_more_wide;
		cpu->across = augment_across_wide;
	}
#endif
}

static void augment_grey(uint8_t *row, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		row[x] = augment_grey_of(row[3 * x], row[3 * x + 1], row[3 * x + 2]);
}

/* Pictures of one channel read the first row of the table alone. */
static void augment_look_up_16(const uint16_t *table, const uint8_t *bytes, size_t pixels,
			       uint32_t channels, uint16_t *ret)
{
	for (size_t i = 0; channels == 1 && i < pixels; i++)
		ret[i] = table[bytes[i]];
	for (size_t i = 0; channels == 3 && i < 3 * pixels; i += 3) {
		ret[i] = table[bytes[i]];
		ret[i + 1] = table[256 + bytes[i + 1]];
		ret[i + 2] = table[512 + bytes[i + 2]];
	}
}

static void augment_look_up_32(const uint32_t *table, const uint8_t *bytes, size_t pixels,
			       uint32_t channels, uint32_t *ret)
{
	for (size_t i = 0; channels == 1 && i < pixels; i++)
		ret[i] = table[bytes[i]];
	for (size_t i = 0; channels == 3 && i < 3 * pixels; i += 3) {
		ret[i] = table[bytes[i]];
		ret[i + 1] = table[256 + bytes[i + 1]];
		ret[i + 2] = table[512 + bytes[i + 2]];
	}
}

static void augment_numbers(const struct augment_cpu *cpu, const uint8_t *bytes, size_t pixels,
			    void *ret)
{
	switch (augment_type_size(augment_type(&cpu->augment))) {
	case 1: memcpy(ret, bytes, pixels * cpu->channels); break;
	case 2: augment_look_up_16(cpu->table, bytes, pixels, cpu->channels, ret); break;
	default: augment_look_up_32(cpu->table, bytes, pixels, cpu->channels, ret); break;
	}
}

void augment_cpu_numbers(const struct augment_cpu *cpu, const uint8_t *bytes, void *ret)
{
	augment_numbers(cpu, bytes, (size_t)cpu->width * cpu->height, ret);
}

/* The columns of the source that a row of the output reads. */
static void augment_columns(const struct augment_cpu *cpu, uint32_t *ret_first, uint32_t *ret_count)
{
	const struct augment_tap *left = &cpu->x.taps[0];
	const struct augment_tap *right = &cpu->x.taps[cpu->width - 1];
	uint32_t end = left->begin + left->count;

	*ret_first = left->begin < right->begin ? left->begin : right->begin;
	if (right->begin + right->count > end)
		end = right->begin + right->count;
	*ret_count = end - *ret_first;
}

static void augment_columns_of_colour(const struct augment_choice *choice,
				      struct augment_colour *ret)
{
	for (int column = 0; column < 4; column++) {
		for (int c = 0; c < 3; c++)
			ret->column[column][c] = choice->colour[c][column];
		ret->column[column][3] = 0;
	}
}

/* Runs all rows: into bytes, or by way of one row of bytes into numbers. */
static int augment_run(struct augment_cpu *cpu, const struct augment_choice *choice,
		       const struct picture *picture, size_t element, uint8_t *ret)
{
	struct augment_colour colour;
	uint32_t first;
	uint32_t count;
	size_t row = (size_t)cpu->width * cpu->channels;

	if (augment_axis_fill(&cpu->x, picture->left, picture->region_width, picture->width,
			      cpu->width) != 0 ||
	    augment_axis_fill(&cpu->y, picture->top, picture->region_height, picture->height,
			      cpu->height) != 0)
		return -ENOMEM;
	augment_columns(cpu, &first, &count);
	if (augment_axis_even(&cpu->x, first + count, cpu->width) != 0)
		return -ENOMEM;
	if (choice->flip)
		augment_flip(&cpu->x, cpu->width);
	if (augment_room(&cpu->row, &cpu->row_room, 4 * (size_t)count) != 0)
		return -ENOMEM;
	augment_columns_of_colour(choice, &colour);
	for (uint32_t y = 0; y < cpu->height; y++) {
		augment_vertical(cpu, picture, &cpu->y.taps[y], first, count);
		cpu->across(cpu, first, choice->coloured ? &colour : NULL, cpu->bytes);
		if (cpu->channels == 1)
			augment_grey(cpu->bytes, cpu->width);
		if (element == 0)
			memcpy(ret + y * row, cpu->bytes, row);
		else
			augment_numbers(cpu, cpu->bytes, cpu->width, ret + y * row * element);
	}
	return 0;
}

int augment_cpu_pixels(struct augment_cpu *cpu, const struct augment_choice *choice,
		       const struct picture *picture, uint8_t *ret)
{
	return augment_run(cpu, choice, picture, 0, ret);
}

int augment_cpu_all(struct augment_cpu *cpu, const struct augment_choice *choice,
		    const struct picture *picture, void *ret)
{
	return augment_run(cpu, choice, picture, augment_type_size(augment_type(&cpu->augment)),
			   ret);
}

int augment_cpu_mask(const struct augment *augment, const struct augment_choice *choice,
		     const struct mask *mask, uint8_t *ret)
{
	const struct picture_region *region = &choice->region;
	uint32_t width = augment_width(augment);
	uint32_t height = augment_height(augment);
	struct augment_line across = augment_line_of(region->x, region->width, mask->width, width);
	struct augment_line down = augment_line_of(region->y, region->height, mask->height, height);
	CLEANUP(freep) uint32_t *columns = calloc(width, sizeof(*columns));

	if (!columns)
		return -ENOMEM;
	for (uint32_t x = 0; x < width; x++)
		columns[choice->flip ? width - 1 - x : x] = augment_nearest(&across, x);
	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *row = mask->data + (size_t)augment_nearest(&down, y) * mask->width;

		for (uint32_t x = 0; x < width; x++)
			*ret++ = row[columns[x]];
	}
	return 0;
}
