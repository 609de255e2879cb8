// links: trainer_cuda trainer_ops trainer_loader
/* Pictures a second that a GPU takes in, beside a bare copy of the same bytes through the same pinned memory: what the
 * bus lets through. Pictures are made up; each has the size that a decoder leaves of a photograph.
 *
 *     bench_gpu_augment [pictures a batch, 256] [batches, 200]
 *
 * One line a stage: k, pictures/s, GB/s, and the same of the copy. Exit 77: no GPU, and the reason. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/augment_number.h"
#include "trainer_image/loader/augment_pixel.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/ops/ops.h"

enum { BENCH_SIDE = 224, BENCH_MOST = 65536, BENCH_SKIPPED = 77 };

struct bench {
	struct ops *ops;
	struct augment augment;
	struct ops_intake *intake;
	struct ops_intake_batch batches[OPS_INTAKE_PLACES];
	void *memory[OPS_INTAKE_PLACES];
	void *to;
	size_t room;
	uint32_t count, rounds;
};

static int bench_open(struct bench *bench, struct problem *problem)
{
	const struct ops_intake_face *face;
	CLEANUP(freep) void *table = NULL;
	int rc = augment_parse("random_crop width=224 height=224; flip; colour brightness=0.4; "
			       "normalise; pack type=bf16",
			       &bench->augment, problem);

	if (rc == 0)
		rc = ops_cuda_new(0, &bench->ops, problem);
	if (rc != 0)
		return rc;
	face = bench->ops->backend->intake;
	bench->room = loader_side_room(&bench->augment, bench->count, 0, AUGMENT_STAGES);
	table = malloc(augment_number_size(&bench->augment));
	if (!table)
		return problem_set(problem, -ENOMEM, "no memory");
	augment_number_table(&bench->augment, table);
	const struct ops_intake_kind kind = {BENCH_SIDE,   BENCH_SIDE,  3,    TENSOR_BF16,
					     bench->count, bench->room, table};

	rc = face->open(bench->ops, &kind, &bench->intake);
	for (size_t i = 0; i < OPS_INTAKE_PLACES; i++)
		bench->memory[i] = face->host_take(bench->ops, bench->room);
	bench->to =
		ops_take(bench->ops, (size_t)2 * bench->count * augment_elements(&bench->augment));
	return rc == 0 && bench->memory[0] && bench->memory[1] && bench->to
		       ? 0
		       : problem_set(problem, rc != 0 ? rc : E_LIMIT, "no memory for batches of %u",
				     bench->count);
}

static void bench_close(struct bench *bench)
{
	if (!bench->ops)
		return;
	const struct ops_intake_face *face = bench->ops->backend->intake;

	face->close(bench->intake);
	for (size_t i = 0; i < OPS_INTAKE_PLACES; i++)
		if (bench->memory[i])
			face->host_give(bench->ops, bench->memory[i]);
	ops_give(bench->ops, bench->to,
		 (size_t)2 * bench->count * augment_elements(&bench->augment));
	ops_free(bench->ops);
}

/* A part of a photograph of 500 x 375, decoded at its own size: from a third of the output's pixels to three times so many. */
static void bench_fill(struct bench *bench, uint32_t k)
{
	uint32_t random = 1;

	for (size_t i = 0; i < OPS_INTAKE_PLACES; i++) {
		struct augment_place *places = bench->memory[i];
		size_t used = (bench->count * sizeof(*places) + 63) / 64 * 64;

		for (size_t at = 0; at < bench->room; at++)
			((uint8_t *)bench->memory[i])[at] = (uint8_t)(at * 2654435761U >> 24);
		for (uint32_t n = 0; k == 0 && n < bench->count; n++) {
			struct augment_place *place = &places[n];

			random = random * 1103515245U + 12345U;
			*place = (struct augment_place){.offset = used,
							.width = 130 + (random >> 16) % 260,
							.height = 130 + (random >> 20) % 230,
							.left = 3.25,
							.top = 2.5,
							.flip = n % 2,
							.coloured = 1,
							.colour = {{0.9F, 0.05F, 0.05F, 3},
								   {0.05F, 0.9F, 0.05F, 3},
								   {0.05F, 0.05F, 0.9F, 3}}};
			place->region_width = place->width - 8;
			place->region_height = place->height - 6;
			used += ((size_t)4 * place->width * place->height + 63) / 64 * 64;
		}
		bench->batches[i] = (struct ops_intake_batch){
			bench->memory[i],
			k == 0 ? used : bench->count * augment_elements(&bench->augment),
			bench->count, k};
	}
}

/* Seconds for all batches; `puts` false: they are copied alone. */
static int bench_run(struct bench *bench, bool puts, double *ret_s)
{
	int64_t begin_us = 0;
	bool is_read;
	int rc = 0;

	/* Two batches first: what happens once is not counted. */
	for (uint32_t i = 0; i < bench->rounds + 2 && rc == 0; i++) {
		unsigned place = i % OPS_INTAKE_PLACES;

		if (i == 2) {
			rc = ops_wait(bench->ops);
			begin_us = clock_monotonic_us();
		}
		if (rc == 0)
			rc = ops_intake_is_read(bench->ops, bench->intake, place, true, &is_read);
		if (rc == 0)
			rc = ops_intake_upload(bench->ops, bench->intake, place,
					       &bench->batches[place]);
		if (rc == 0 && puts)
			rc = ops_intake_put(bench->ops, bench->intake, place, bench->to,
					    bench->count);
	}
	for (unsigned i = 0; i < OPS_INTAKE_PLACES && rc == 0; i++)
		rc = ops_intake_is_read(bench->ops, bench->intake, i, true, &is_read);
	if (rc == 0)
		rc = ops_wait(bench->ops);
	*ret_s = (double)(clock_monotonic_us() - begin_us) / 1e6;
	return rc;
}

static int bench_stage(struct bench *bench, uint32_t k)
{
	double all_s = 0;
	double copy_s = 0;
	int rc;

	bench_fill(bench, k);
	rc = bench_run(bench, false, &copy_s);
	if (rc == 0)
		rc = bench_run(bench, true, &all_s);
	if (rc != 0)
		return rc;
	double bytes =
		(double)(bench->batches[0].bytes + bench->batches[1].bytes) / 2 * bench->rounds;
	double pictures = (double)bench->count * bench->rounds;

	printf("k=%u images_s=%.0f gb_s=%.2f copy_images_s=%.0f copy_gb_s=%.2f "
	       "of_copy=%.3f bytes_image=%.0f\n",
	       k, pictures / all_s, bytes / all_s / 1e9, pictures / copy_s, bytes / copy_s / 1e9,
	       copy_s / all_s, bytes / pictures);
	return 0;
}

static uint32_t bench_number(const char *text, uint32_t usual)
{
	long number = text ? strtol(text, NULL, 10) : usual;

	return number >= 1 && number <= BENCH_MOST ? (uint32_t)number : usual;
}

int main(int argc, char **argv)
{
	struct bench bench = {.count = bench_number(argc > 1 ? argv[1] : NULL, 256),
			      .rounds = bench_number(argc > 2 ? argv[2] : NULL, 200)};
	struct problem problem = {0};
	int rc = bench_open(&bench, &problem);

	for (uint32_t k = 0; k < AUGMENT_STAGES && rc == 0; k++) {
		rc = bench_stage(&bench, k);
		if (rc != 0)
			(void)problem_set(&problem, rc, "k=%u: %s", k, error_text(rc));
	}
	bench_close(&bench);
	if (rc != 0)
		printf("%s: %s (%s). %s\n",
		       rc == E_UNAVAILABLE || rc == E_UNSUPPORTED ? "skipped" : "failed",
		       problem.message, problem.detail, problem.hint);
	return rc == 0 ? 0 : rc == E_UNAVAILABLE || rc == E_UNSUPPORTED ? BENCH_SKIPPED : 1;
}
