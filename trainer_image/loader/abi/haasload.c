#include "trainer_image/loader/abi/haasload.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/loader/loader.h"

enum { HAASLOAD_FAULTS = 64 };

struct haasload {
	struct loader *loader;
	uint32_t batch;
	pthread_mutex_t lock; /* of the faults: the loader's threads tell them */
	struct haasload_fault faults[HAASLOAD_FAULTS];
	uint32_t fault_begin, fault_count;
	struct problem problem;
};

static_assert(HAASLOAD_UINT8 == (int)AUGMENT_UINT8 && HAASLOAD_FP32 == (int)AUGMENT_FP32 &&
		      HAASLOAD_BF16 == (int)AUGMENT_BF16 && HAASLOAD_FP16 == (int)AUGMENT_FP16,
	      "types go over as numbers");

/* Copies what both sides know of a struct; the size that the caller gave stays. */
static int haasload_give(void *ret, const void *own, size_t own_size)
{
	uint32_t size;

	memcpy(&size, ret, sizeof(size));
	if (size < 2 * sizeof(size))
		return E_INVALID;
	memcpy((char *)ret + sizeof(size), (const char *)own + sizeof(size),
	       (size < own_size ? size : own_size) - sizeof(size));
	return 0;
}

static void haasload_note(void *context, uint64_t sample, const struct problem *problem)
{
	struct haasload *load = context;
	struct haasload_fault *fault;

	pthread_mutex_lock(&load->lock);
	if (load->fault_count == HAASLOAD_FAULTS) { /* the oldest is forgotten */
		load->fault_begin = (load->fault_begin + 1) % HAASLOAD_FAULTS;
		load->fault_count--;
	}
	fault = &load->faults[(load->fault_begin + load->fault_count++) % HAASLOAD_FAULTS];
	fault->sample = sample;
	fault->code = problem->code;
	(void)text_copy(fault->text, sizeof(fault->text), problem->message);
	pthread_mutex_unlock(&load->lock);
}

uint32_t haasload_version(void)
{
	return HAASLOAD_VERSION;
}

/* With k = 0 nothing is left to augment threads: their number is not looked at. */
static struct tune_setting haasload_setting(const uint32_t threads[3], uint32_t k)
{
	return (struct tune_setting){.threads = {threads[0], threads[1], k == 0 ? 0 : threads[2]},
				     .k = k};
}

static int haasload_start(struct haasload *load, const struct haasload_options *options)
{
	struct loader_config config = {
		.path = options->path,
		.ops = options->ops,
		.batch = options->batch,
		.depth = options->depth,
		.window = options->window,
		.rank = options->rank,
		.ranks = options->ranks,
		.state = {options->seed, options->epoch, options->position},
		.processors = options->processors,
		.fault = haasload_note,
		.context = load,
	};

	if (options->threads[TUNE_DECODE] > 0)
		config.fixed = haasload_setting(options->threads, options->k);
	load->batch = options->batch;
	return loader_new(&config, &load->loader, &load->problem);
}

static void haasload_tell(const struct problem *problem, char *error, size_t size)
{
	if (error && size > 0)
		(void)snprintf(error, size, "%s%s%s", problem->message,
			       problem->hint[0] != '\0' ? ": " : "", problem->hint);
}

int haasload_open(const struct haasload_options *options, struct haasload **ret, char *error,
		  size_t error_size)
{
	struct haasload_options known = {0};
	struct haasload *load = calloc(1, sizeof(*load));
	int rc;

	if (!load)
		return -ENOMEM;
	pthread_mutex_init(&load->lock, NULL);
	rc = options->size < offsetof(struct haasload_options, depth) ? E_INVALID : 0;
	if (rc != 0)
		(void)problem_set(&load->problem, rc, "options of %u bytes", options->size);
	if (rc == 0) {
		memcpy(&known, options,
		       options->size < sizeof(known) ? options->size : sizeof(known));
		rc = haasload_start(load, &known);
	}
	if (rc != 0) {
		haasload_tell(&load->problem, error, error_size);
		haasload_close(load);
		return rc;
	}
	*ret = load;
	return 0;
}

void haasload_close(struct haasload *load)
{
	if (!load)
		return;
	loader_free(load->loader);
	pthread_mutex_destroy(&load->lock);
	free(load);
}

int haasload_shape(struct haasload *load, struct haasload_shape *ret)
{
	const struct augment *augment = loader_augment(load->loader);
	struct haasload_shape shape = {
		.type = augment_type(augment),
		.height = augment_height(augment),
		.width = augment_width(augment),
		.channels = augment_channels(augment),
		.batch = load->batch,
		.samples = loader_share(load->loader),
		.batches = loader_batches(load->loader),
	};

	return haasload_give(ret, &shape, sizeof(shape));
}

int haasload_next(struct haasload *load, struct haasload_batch *ret)
{
	struct loader_batch batch;
	struct haasload_batch given;
	int rc;

	load->problem = (struct problem){0};
	if (ret->size < offsetof(struct haasload_batch, skipped))
		return problem_set(&load->problem, E_INVALID, "a batch of %u bytes", ret->size);
	rc = loader_next(load->loader, &batch, &load->problem);
	if (rc != 1)
		return rc;
	given = (struct haasload_batch){
		.count = batch.count,
		.data = batch.data,
		.labels = batch.labels,
		.samples = batch.samples,
		.skipped = batch.skipped,
		.masks = batch.masks,
	};
	rc = haasload_give(ret, &given, sizeof(given));
	return rc == 0 ? 1 : rc;
}

int haasload_give_back(struct haasload *load, const void *data)
{
	struct loader_batch batch = {0};

	memcpy(&batch.data, &data, sizeof(data)); /* only its place is compared */
	return loader_give_back(load->loader, &batch);
}

int haasload_where(struct haasload *load, struct haasload_where *ret)
{
	struct loader_state state = loader_state(load->loader);
	struct haasload_where where = {
		.seed = state.seed, .epoch = state.epoch, .position = state.position};

	return haasload_give(ret, &where, sizeof(where));
}

int haasload_fault(struct haasload *load, struct haasload_fault *ret)
{
	int rc = 0;

	pthread_mutex_lock(&load->lock);
	if (load->fault_count > 0) {
		rc = haasload_give(ret, &load->faults[load->fault_begin], sizeof(load->faults[0]));
		if (rc == 0) {
			load->fault_begin = (load->fault_begin + 1) % HAASLOAD_FAULTS;
			load->fault_count--;
			rc = 1;
		}
	}
	pthread_mutex_unlock(&load->lock);
	return rc;
}

int haasload_counts(struct haasload *load, struct haasload_counts *ret)
{
	struct loader_counts now = loader_counts(load->loader);
	struct haasload_counts counts = {
		.threads = {now.setting.threads[TUNE_READ], now.setting.threads[TUNE_DECODE],
			    now.setting.threads[TUNE_AUGMENT]},
		.k = now.setting.k,
		.resting = now.phase == TUNE_REST,
		.batches = now.batches,
		.samples = now.samples,
		.skipped = now.skipped,
		.jpeg_warnings = now.jpeg_warnings,
		.read_ns = now.stall_ns[LOADER_STALL_READ],
		.decode_ns = now.stall_ns[LOADER_STALL_DECODE],
		.augment_ns = now.stall_ns[LOADER_STALL_AUGMENT],
		.side_ns = now.side_ns,
		.consumer_ns = now.consumer_ns,
		.full_ns = now.full_ns,
		.settings = now.settings,
	};

	return haasload_give(ret, &counts, sizeof(counts));
}

int haasload_set(struct haasload *load, const uint32_t threads[3], uint32_t k)
{
	struct tune_setting setting = haasload_setting(threads, k);
	int rc;

	load->problem = (struct problem){0};
	if (threads[TUNE_DECODE] == 0) {
		loader_tune(load->loader);
		return 0;
	}
	rc = loader_set(load->loader, &setting);
	return rc == 0 ? 0
		       : problem_set(&load->problem, rc, "%u, %u, %u threads with k %u: %s",
				     threads[0], threads[1], threads[2], k, error_text(rc));
}

const char *haasload_error(struct haasload *load)
{
	return load->problem.message;
}
