/* A device that takes batches in (ops_intake of ops.h) beside augment_cpu.h: the same bits from pictures, from
 * bytes and from numbers. For the emulation of CUDA and for a GPU. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/loader/augment_cpu.h"
#include "trainer_image/loader/augment_number.h"
#include "trainer_image/loader/augment_pixel.h"
#include "trainer_image/ops/ops.h"

/* Pictures, and the part that becomes the output. */
static const struct {
	uint32_t width, height;
	double left, top, region_width, region_height;
} augment_parity_pictures[] = {
	{33, 41, 0, 0, 33, 41}, /* nothing is resized */
	{50, 40, 5, 7, 20, 30},
	{170, 150, 3.5, 0.25, 160.5, 149.5},
	{9, 9, 4, 4, 1, 1},
	{64, 64, 0.5, 0.5, 0.25, 0.125},
	{31, 77, 1, 2, 29, 70},
	{264, 328, 0, 0, 264, 328},
	{101, 97, 7.125, 3.75, 90, 91},
};

/* A size, and what is done to it. The first has tiles of which two are full. */
static const char *const augment_parity_ops[] = {
	"width=66 height=41",
	"width=33 height=41; flip chance=1; normalise",
	"width=35 height=64; colour brightness=0.5 contrast=0.4 saturation=0.9",
	"width=47 height=45; flip chance=1; colour brightness=0.9; normalise deviation_red=3",
};

enum { AUGMENT_PARITY_PICTURES = COUNT_OF(augment_parity_pictures), AUGMENT_PARITY_ALL = 11 };

struct augment_parity {
	struct ops *ops;
	struct augment augment;
	struct augment_cpu *cpu;
	struct ops_intake *intake;
	struct ops_intake_kind kind;
	size_t elements, picture; /* of one: elements; bytes */
	uint8_t *wanted;          /* numbers of all pictures, by the processor */
	uint8_t *host;            /* memory that the device reads */
	void *to;                 /* of the device */
};

static inline void augment_parity_begin(struct augment_parity *parity, struct ops *ops,
					const char *text)
{
	static const enum tensor_type types[] = {[AUGMENT_FP32] = TENSOR_FP32,
						 [AUGMENT_BF16] = TENSOR_BF16,
						 [AUGMENT_FP16] = TENSOR_FP16};
	struct problem problem = {0};
	struct augment *augment = &parity->augment;
	void *table;

	*parity = (struct augment_parity){.ops = ops};
	assert_int_equal(augment_parse(text, augment, &problem), 0);
	assert_int_equal(augment_cpu_new(augment, &parity->cpu), 0);
	table = malloc(augment_number_size(augment));
	assert_non_null(table);
	augment_number_table(augment, table);
	parity->elements = augment_elements(augment);
	parity->picture = parity->elements * augment_type_size(augment_type(augment));
	parity->kind = (struct ops_intake_kind){.width = augment_width(augment),
						.height = augment_height(augment),
						.channels = augment_channels(augment),
						.type = types[augment_type(augment)],
						.batch = AUGMENT_PARITY_ALL,
						.room = 2 << 20,
						.table = table};
	assert_int_equal(ops->backend->intake->open(ops, &parity->kind, &parity->intake), 0);
	free(table);
	parity->host = ops->backend->intake->host_take(ops, parity->kind.room);
	parity->to = ops_take(ops, AUGMENT_PARITY_ALL * parity->picture);
	parity->wanted = malloc(AUGMENT_PARITY_ALL * parity->picture);
	assert_true(parity->host && parity->to && parity->wanted);
}

static inline void augment_parity_end(struct augment_parity *parity)
{
	parity->ops->backend->intake->close(parity->intake);
	parity->ops->backend->intake->host_give(parity->ops, parity->host);
	ops_give(parity->ops, parity->to, AUGMENT_PARITY_ALL * parity->picture);
	augment_cpu_free(parity->cpu);
	free(parity->wanted);
}

/* Pixels at `data`; each picture has its own. */
static inline struct picture augment_parity_picture(size_t nth, uint8_t *data)
{
	struct picture picture = {.data = data,
				  .width = augment_parity_pictures[nth].width,
				  .height = augment_parity_pictures[nth].height,
				  .stride = 4 * (size_t)augment_parity_pictures[nth].width,
				  .left = augment_parity_pictures[nth].left,
				  .top = augment_parity_pictures[nth].top,
				  .region_width = augment_parity_pictures[nth].region_width,
				  .region_height = augment_parity_pictures[nth].region_height};
	uint32_t random = (uint32_t)nth;

	for (size_t i = 0; i < picture.stride * picture.height; i++) {
		random = random * 1103515245U + 12345U;
		data[i] = (uint8_t)(random >> 17);
	}
	return picture;
}

static inline struct augment_choice augment_parity_choice(const struct augment_parity *parity,
							  size_t nth)
{
	struct augment_choice choice;

	augment_choose(&parity->augment, &(struct augment_sample){.sample = nth},
		       augment_parity_pictures[nth].width, augment_parity_pictures[nth].height,
		       &choice);
	return choice;
}

static inline bool augment_parity_fits(const struct augment_parity *parity, size_t nth)
{
	return augment_parity_pictures[nth].region_width <=
		       (double)AUGMENT_SHRINK_MAX * parity->kind.width &&
	       augment_parity_pictures[nth].region_height <=
		       (double)AUGMENT_SHRINK_MAX * parity->kind.height;
}

/* Pictures from `first` on, as a loader leaves them at stage k; those that shrink too much are left out. */
static inline struct ops_intake_batch augment_parity_fill(struct augment_parity *parity, uint32_t k,
							  size_t first)
{
	struct augment_place *places = (void *)parity->host;
	size_t used = AUGMENT_PARITY_PICTURES * sizeof(*places);
	uint8_t *scratch = malloc(1 << 20);
	uint32_t count = 0;

	assert_non_null(scratch);
	for (size_t i = first; i < AUGMENT_PARITY_PICTURES; i++) {
		struct augment_choice choice = augment_parity_choice(parity, i);
		struct picture picture =
			augment_parity_picture(i, k == 0 ? parity->host + used : scratch);
		uint8_t *wanted = parity->wanted + count * parity->picture;
		struct augment_place place = {.offset = used,
					      .width = picture.width,
					      .height = picture.height,
					      .left = picture.left,
					      .top = picture.top,
					      .region_width = picture.region_width,
					      .region_height = picture.region_height,
					      .flip = choice.flip,
					      .coloured = choice.coloured};

		if (!augment_parity_fits(parity, i))
			continue;
		memcpy(place.colour, choice.colour, sizeof(place.colour));
		assert_int_equal(augment_cpu_all(parity->cpu, &choice, &picture, wanted), 0);
		if (k == 0)
			places[count] = place;
		if (k == 1)
			assert_int_equal(
				augment_cpu_pixels(parity->cpu, &choice, &picture,
						   parity->host + count * parity->elements),
				0);
		used += k == 0 ? picture.stride * picture.height : 0;
		assert_true(used <= parity->kind.room);
		count++;
	}
	if (k == 2)
		memcpy(parity->host, parity->wanted, count * parity->picture);
	free(scratch);
	return (struct ops_intake_batch){.memory = parity->host,
					 .bytes = k == 0   ? used
						  : k == 1 ? count * parity->elements
							   : count * parity->picture,
					 .count = count,
					 .k = k};
}

static inline void augment_parity_compare(struct augment_parity *parity, uint32_t count,
					  uint32_t all)
{
	uint8_t *found = malloc(all * parity->picture);

	assert_non_null(found);
	assert_int_equal(ops_copy(parity->ops, found, parity->to, all * parity->picture, OPS_OUT),
			 0);
	for (uint32_t i = 0; i < all; i++)
		assert_memory_equal(found + i * parity->picture,
				    parity->wanted + i % count * parity->picture, parity->picture);
	free(found);
}

static inline void augment_parity_run(struct augment_parity *parity, uint32_t k, size_t first,
				      uint32_t all)
{
	unsigned place = (unsigned)first % OPS_INTAKE_PLACES;
	struct ops_intake_batch batch = augment_parity_fill(parity, k, first);
	bool is_read = false;

	assert_true(batch.count > 0);
	all = all > batch.count ? all : batch.count;
	assert_int_equal(ops_intake_upload(parity->ops, parity->intake, place, &batch), 0);
	assert_int_equal(ops_intake_put(parity->ops, parity->intake, place, parity->to, all), 0);
	augment_parity_compare(parity, batch.count, all);
	assert_int_equal(ops_intake_is_read(parity->ops, parity->intake, place, false, &is_read),
			 0);
	assert_true(is_read);
}

/* All ops, types and channels, at each stage; whole and short batches. */
static inline void augment_parity_all(struct ops *ops)
{
	static const char *const types[] = {"fp32", "bf16", "fp16"};

	for (size_t i = 0; i < COUNT_OF(augment_parity_ops) * COUNT_OF(types) * 2; i++) {
		struct augment_parity parity;
		char text[256];

		(void)snprintf(text, sizeof(text), "random_crop %s; pack type=%s channels=%d",
			       augment_parity_ops[i / 6], types[i / 2 % 3], i % 2 ? 3 : 1);
		augment_parity_begin(&parity, ops, text);
		augment_parity_run(&parity, 0, 0, 0);
		augment_parity_run(&parity, 1, 0, 0);
		augment_parity_run(&parity, 2, 0, 0);
		if (i / 6 == 1)
			for (uint32_t k = 0; k <= 2; k++)
				augment_parity_run(&parity, k, 5, AUGMENT_PARITY_ALL);
		augment_parity_end(&parity);
	}
}

/* Both places are filled ahead. A third batch waits for the first place, though the host does not. */
static inline void augment_parity_order(struct ops *ops)
{
	struct augment_parity parity[3];
	struct ops_intake_batch batch[3];
	struct augment_parity *first = &parity[0];

	for (size_t i = 0; i < 3; i++) {
		augment_parity_begin(&parity[i], ops,
				     "random_crop width=33 height=41; normalise; pack type=bf16");
		batch[i] = augment_parity_fill(&parity[i], i == 1 ? 1 : 0, 3 * i % 4);
	}
	for (unsigned i = 0; i < 3; i++) {
		bool is_read = false;

		assert_int_equal(ops_intake_upload(ops, first->intake, i % 2, &batch[i]), 0);
		if (i == 0)
			continue;
		assert_int_equal(ops_intake_put(ops, first->intake, (i - 1) % 2, parity[i - 1].to,
						batch[i - 1].count),
				 0);
		if (i == 2)
			assert_int_equal(ops_intake_is_read(ops, first->intake, 0, true, &is_read),
					 0);
	}
	assert_int_equal(ops_intake_put(ops, first->intake, 0, parity[2].to, batch[2].count), 0);
	for (size_t i = 0; i < 3; i++)
		augment_parity_compare(&parity[i], batch[i].count, batch[i].count);
	for (size_t i = 0; i < 3; i++)
		augment_parity_end(&parity[i]);
}

static inline void augment_parity_refuse(struct augment_parity *parity,
					 const struct ops_intake_batch *batch)
{
	assert_int_equal(ops_intake_upload(parity->ops, parity->intake, 0, batch), E_INVALID);
}

/* No kernel runs with pixels outside of the batch, or with more of them than it has room for. */
static inline void augment_parity_refused(struct ops *ops)
{
	struct augment_parity parity;
	struct ops_intake_batch good;
	struct augment_place *place;

	augment_parity_begin(&parity, ops, "random_crop width=33 height=41");
	good = augment_parity_fill(&parity, 0, 0);
	place = &((struct augment_place *)(void *)parity.host)[good.count - 1];
	{
		const struct ops_intake_batch rows[] = {
			{good.memory, good.bytes, 0, 0},
			{good.memory, good.bytes, AUGMENT_PARITY_ALL + 1, 0},
			{good.memory, good.bytes, good.count, 3},
			{good.memory, good.bytes - 4, good.count, 0},
			{good.memory, 8, good.count, 0},
			{good.memory, parity.kind.room + 1, good.count, 0},
			{good.memory, parity.elements + 1, 1, 1},
			{good.memory, parity.elements, 1, 2},
		};
		for (size_t i = 0; i < COUNT_OF(rows); i++)
			augment_parity_refuse(&parity, &rows[i]);
	}
	{
		const struct augment_place is = *place;

		for (size_t i = 0; i < 6; i++) {
			*place = is;
			place->offset += i == 0 ? 2 : i == 1 ? UINT64_MAX - 3 - is.offset : 0;
			place->region_width = i == 2 ? 300 : i == 3 ? 0 : is.region_width;
			place->left = i == 4 ? -1 : is.left;
			place->height = i == 5 ? UINT32_MAX : is.height;
			augment_parity_refuse(&parity, &good);
		}
		*place = is;
	}
	assert_int_equal(ops_intake_put(ops, parity.intake, 0, parity.to, 1), E_INVALID);
	assert_int_equal(ops_intake_upload(ops, parity.intake, 0, &good), 0);
	assert_int_equal(ops_intake_put(ops, parity.intake, 0, parity.to, good.count - 1),
			 E_INVALID);
	assert_int_equal(ops_intake_put(ops, parity.intake, 0, parity.to, AUGMENT_PARITY_ALL + 1),
			 E_INVALID);
	assert_int_equal(ops_intake_put(ops, parity.intake, 0, parity.to, good.count), 0);
	augment_parity_compare(&parity, good.count, good.count);
	augment_parity_end(&parity);
}
