/* The setting that runs: threads are made when they are first wanted, windows of steps are measured. */
#include <errno.h>
#include <math.h>
#include <sched.h>

#include "common/base/error.h"

#include "trainer_image/loader/loader_private.h"

uint32_t loader_processors(const struct loader *loader)
{
	cpu_set_t set;

	if (loader->config.processors > 0)
		return loader->config.processors;
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return CPU_COUNT(&set) < 1 ? 1 : (uint32_t)CPU_COUNT(&set);
}

static int loader_thread_add(struct loader *loader, enum tune_stage stage)
{
	static void *(*const run[TUNE_STAGES])(void *) = {loader_read_thread, loader_decode_thread,
							  loader_augment_thread};
	struct loader_thread *thread = &loader->thread[stage][loader->thread_count[stage]];
	int rc;

	*thread = (struct loader_thread){
		.loader = loader, .stage = stage, .index = loader->thread_count[stage]};
	rc = pthread_create(&thread->id, NULL, run[stage], thread);
	if (rc != 0)
		return -rc;
	loader->thread_count[stage]++;
	return 0;
}

int loader_apply(struct loader *loader, const struct tune_setting *setting)
{
	for (enum tune_stage stage = 0; stage < TUNE_STAGES; stage++) {
		while (loader->thread_count[stage] < setting->threads[stage]) {
			int rc = loader_thread_add(loader, stage);

			if (rc != 0)
				return rc;
		}
	}
	loader->setting = *setting;
	for (enum tune_stage stage = 0; stage < TUNE_STAGES; stage++)
		pthread_cond_broadcast(&loader->wake[stage]);
	pthread_cond_broadcast(&loader->wake_consumer);
	pthread_cond_broadcast(&loader->park);
	return 0;
}

static void loader_window_begin(struct loader *loader)
{
	loader->window = loader->counts;
	loader->window_numbers = loader->threads_numbers;
	loader->window_steps = 0;
	loader->step_sum = loader->block_sum = loader->block_squares = 0;
}

static uint64_t loader_stall(const struct loader_counts *counts)
{
	uint64_t sum = counts->side_ns;

	for (size_t i = 0; i < LOADER_STALLS; i++)
		sum += counts->stall_ns[i];
	return sum;
}

/* Of the mean step. Batches come in bursts, so a long step is often followed by short ones: single steps
 * would differ much more than windows do. */
static double loader_window_error(const struct loader *loader, double mean)
{
	double blocks = (double)loader->window_steps / TUNE_BLOCK;

	return sqrt(fmax(0, loader->block_squares / blocks - mean * mean) / fmax(1, blocks - 1));
}

/* Of a batch of each k. Pictures that nobody has seen yet are taken for as large as there is room. */
static void loader_window_transfer(const struct loader *loader, double ret[AUGMENT_STAGES + 1])
{
	const double batch = loader->config.batch;
	double pictures = (double)loader->side_bytes;

	if (loader->side_bytes == 0)
		pictures = (double)loader->batch_size;
	ret[0] = loader->config.side.byte_ns * pictures / 1e6;
	ret[1] = loader->config.side.byte_ns * batch * (double)loader->bytes_size / 1e6;
	ret[2] = loader->config.side.byte_ns * batch * (double)loader->picture_size / 1e6;
}

static struct tune_measure loader_window(const struct loader *loader)
{
	const struct loader_counts *now = &loader->counts;
	const struct loader_counts *then = &loader->window;
	double steps = loader->window_steps;
	double mean = loader->step_sum / steps;
	/* The threads' numbers are part of one pass over the pixels: taken off it by their count. */
	double numbers = (double)(loader->threads_numbers - loader->window_numbers) *
			 (double)loader->numbers_ns;
	struct tune_measure measure = {.steps = loader->window_steps, .step_ms = mean / 1e6};

	measure.stall_ms = (double)(loader_stall(now) - loader_stall(then)) / steps / 1e6;
	measure.error_ms = loader_window_error(loader, mean) / 1e6;
	for (size_t i = 0; i < TUNE_WORKS; i++)
		measure.work_ms[i] = (double)(now->work_ns[i] - then->work_ns[i]) / steps / 1e6;
	numbers = fmin(numbers / steps / 1e6, measure.work_ms[TUNE_WORK_PIXELS]);
	measure.work_ms[TUNE_WORK_PIXELS] -= numbers;
	measure.work_ms[TUNE_WORK_NUMBERS] += numbers;
	if (loader->config.side.take) {
		loader_window_transfer(loader, measure.transfer_ms);
		/* What a thread would need for numbers that the side makes. */
		if (loader->setting.k < AUGMENT_STAGES)
			measure.work_ms[TUNE_WORK_NUMBERS] =
				(double)loader->numbers_ns * loader->config.batch / 1e6;
	}
	measure.processors = loader_processors(loader);
	return measure;
}

void loader_measure(struct loader *loader, uint64_t step_ns)
{
	struct tune_measure measure;

	if (!loader->tuning)
		return;
	if (loader->settle > 0) {
		loader->settle--;
		loader_window_begin(loader);
		return;
	}
	loader->step_sum += (double)step_ns;
	loader->block_sum += (double)step_ns / TUNE_BLOCK;
	if (++loader->window_steps % TUNE_BLOCK == 0) {
		loader->block_squares += loader->block_sum * loader->block_sum;
		loader->block_sum = 0;
	}
	if (loader->window_steps < tune_steps(&loader->tune))
		return;
	measure = loader_window(loader);
	loader_window_begin(loader);
	if (!tune_next(&loader->tune, &measure))
		return;
	loader->counts.settings++;
	/* Batches that are made already were made under the setting before. */
	loader->settle = loader->config.depth + 1;
	if (loader_apply(loader, &loader->tune.now) != 0)
		loader->tuning = false; /* no more threads are to be had: what runs stays */
}
