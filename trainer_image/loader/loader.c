#include "trainer_image/loader/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/loader_private.h"

static int loader_config_check(const struct loader_config *config, struct problem *problem)
{
	uint32_t ranks = config->ranks > 0 ? config->ranks : 1;

	if (!config->path || !config->ops)
		return problem_set(problem, E_INVALID, "a path and ops are wanted");
	if (config->batch < 1 || config->batch > LOADER_BATCH_MAX)
		return problem_set(problem, E_INVALID, "batch is 1 to %d, not %u", LOADER_BATCH_MAX,
				   config->batch);
	if (config->depth > LOADER_DEPTH_MAX || config->depth == 1)
		return problem_set(problem, E_INVALID, "depth is 2 to %d, not %u", LOADER_DEPTH_MAX,
				   config->depth);
	if (config->window > SHUFFLE_WINDOW_MAX)
		return problem_set(problem, E_INVALID, "window is 1 to %d, not %u",
				   SHUFFLE_WINDOW_MAX, config->window);
	if (config->rank >= ranks)
		return problem_set(problem, E_INVALID, "rank %u of %u ranks", config->rank, ranks);
	if (config->side.take &&
	    (config->side.k_least > config->side.k_most || config->side.k_most > AUGMENT_STAGES))
		return problem_set(problem, E_INVALID, "no k from %u to %u", config->side.k_least,
				   config->side.k_most);
	return 0;
}

/* Of k: what the ops and the side let it be. */
static struct tune_limits loader_limits(const struct loader *loader, uint32_t processors)
{
	const struct loader_side *side = &loader->config.side;
	struct tune_limits limits = {.processors = processors,
				     .k_most = loader->makes_numbers ? AUGMENT_STAGES : 1};

	limits.device = side->take != NULL;
	if (side->take)
		limits.k_least = side->k_least;
	if (side->take && side->k_most < limits.k_most)
		limits.k_most = side->k_most;
	return limits;
}

/* Of a setting that somebody chose: as many threads as there may be, and numbers also where they are bytes. */
static bool loader_may_run(const struct loader *loader, const struct tune_setting *setting)
{
	struct tune_limits limits = loader_limits(loader, TUNE_STAGES * TUNE_THREADS_MAX);

	if (!loader->config.side.take)
		limits.k_most = AUGMENT_STAGES;
	return tune_is_allowed(&limits, setting);
}

static int loader_start(struct loader *loader, struct problem *problem)
{
	struct tune_limits limits = loader_limits(loader, loader_processors(loader));
	struct tune_setting setting = tune_start(&limits);
	int rc;

	loader->tuning = loader->config.fixed.threads[TUNE_DECODE] == 0;
	tune_init(&loader->tune, &limits, &setting);
	if (!loader->tuning) {
		setting = loader->config.fixed;
		if (!loader_may_run(loader, &setting))
			return problem_set(problem, E_INVALID,
					   "%u, %u, %u threads with k %u cannot run",
					   setting.threads[0], setting.threads[1],
					   setting.threads[2], setting.k);
	}
	loader->settle = loader->config.depth + 1;
	pthread_mutex_lock(&loader->lock);
	loader_schedule(loader);
	rc = loader_apply(loader, &setting);
	pthread_mutex_unlock(&loader->lock);
	return rc == 0 ? 0 : problem_set(problem, rc, "threads: %s", error_text(rc));
}

static int loader_open(struct loader *loader, const struct loader_config *config,
		       struct problem *problem)
{
	uint32_t pages;
	int rc = augment_parse(config->ops, &loader->augment, problem);

	if (rc == 0)
		rc = record_reader_open(config->path, NULL, &loader->reader, problem);
	if (rc != 0)
		return rc;
	if (record_reader_header(loader->reader)->vocabulary > 0)
		return problem_set(problem, E_UNSUPPORTED,
				   "%s holds words, and the loader makes batches of pictures",
				   config->path);
	loader->config = *config;
	loader->config.path = loader->config.ops = NULL;
	loader->config.depth = config->depth > 0 ? config->depth : LOADER_DEPTH;
	loader->config.ranks = config->ranks > 0 ? config->ranks : 1;
	loader->config.window = config->window > 0 ? config->window : LOADER_WINDOW;
	pages = record_reader_pages(loader->reader);
	if (loader->config.window > pages && pages > 0)
		loader->config.window = pages;
	rc = loader_seek(loader, &config->state);
	if (rc != 0)
		return problem_set(problem, rc,
				   "%s: rank %u of %u has %llu samples, none at position %llu",
				   config->path, loader->config.rank, loader->config.ranks,
				   (unsigned long long)loader->issue.count,
				   (unsigned long long)config->state.position);
	loader->share = loader->issue.count;
	rc = loader_memory_take(loader);
	return rc == 0 ? 0 : problem_set(problem, rc, "no memory for batches of %u", config->batch);
}

int loader_new(const struct loader_config *config, struct loader **ret, struct problem *problem)
{
	CLEANUP(loader_freep) struct loader *loader = NULL;
	int rc = loader_config_check(config, problem);

	if (rc != 0)
		return rc;
	loader = calloc(1, sizeof(*loader));
	if (!loader)
		return problem_set(problem, -ENOMEM, "no memory");
	pthread_mutex_init(&loader->lock, NULL);
	pthread_cond_init(&loader->wake_consumer, NULL);
	pthread_cond_init(&loader->park, NULL);
	for (size_t i = 0; i < TUNE_STAGES; i++)
		pthread_cond_init(&loader->wake[i], NULL);
	rc = loader_open(loader, config, problem);
	if (rc == 0)
		rc = loader_start(loader, problem);
	if (rc != 0)
		return rc;
	*ret = TAKE(loader);
	return 0;
}

static void loader_end_threads(struct loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	loader->end = true;
	for (size_t i = 0; i < TUNE_STAGES; i++)
		pthread_cond_broadcast(&loader->wake[i]);
	pthread_cond_broadcast(&loader->park);
	pthread_mutex_unlock(&loader->lock);
	for (size_t stage = 0; stage < TUNE_STAGES; stage++) {
		for (uint32_t i = 0; i < loader->thread_count[stage]; i++)
			(void)pthread_join(loader->thread[stage][i].id, NULL);
	}
}

void loader_free(struct loader *loader)
{
	if (!loader)
		return;
	loader_end_threads(loader);
	loader_memory_free(loader);
	for (size_t i = 0; i < TUNE_STAGES; i++)
		pthread_cond_destroy(&loader->wake[i]);
	pthread_cond_destroy(&loader->wake_consumer);
	pthread_cond_destroy(&loader->park);
	pthread_mutex_destroy(&loader->lock);
	free(loader);
}

void loader_freep(struct loader **loader)
{
	loader_free(*loader);
}

/* Until the batch is ready: waits, or with k = 0 augments what was decoded. */
static void loader_wait(struct loader *loader, const struct loader_slot_batch *batch)
{
	loader->since = clock_monotonic_ns();
	while (batch->state != LOADER_READY) {
		uint64_t begin;

		if (loader->setting.k > 0 || loader->queue_count == 0) {
			loader->waiting = true;
			pthread_cond_wait(&loader->wake_consumer, &loader->lock);
			loader_account(loader);
			loader->waiting = false;
			continue;
		}
		begin = clock_monotonic_ns();
		(void)loader_augment_one(loader, loader->side);
		loader->since = clock_monotonic_ns();
		loader->counts.side_ns += loader->since - begin;
	}
}

/* What k = 1 and k = 0 leave to this side. */
static void loader_make_numbers(struct loader *loader, struct loader_slot_batch *batch)
{
	uint64_t begin = clock_monotonic_ns();

	pthread_mutex_unlock(&loader->lock);
	for (uint32_t i = 0; i < batch->count; i++)
		augment_cpu_numbers(loader->side, batch->bytes + i * loader->bytes_size,
				    batch->data + i * loader->picture_size);
	pthread_mutex_lock(&loader->lock);
	begin = clock_monotonic_ns() - begin;
	loader->counts.side_ns += begin;
	loader->counts.work_ns[TUNE_WORK_NUMBERS] += begin;
}

static void loader_batch_free(struct loader *loader, struct loader_slot_batch *batch)
{
	batch->state = LOADER_FREE;
	if (loader->full_since > 0) {
		loader->counts.full_ns += clock_monotonic_ns() - loader->full_since;
		loader->full_since = 0;
	}
	pthread_cond_broadcast(&loader->wake[TUNE_DECODE]);
}

static size_t loader_batch_bytes(const struct loader *loader, const struct loader_slot_batch *batch)
{
	return batch->k == 0   ? batch->used
	       : batch->k == 1 ? batch->count * loader->bytes_size
			       : batch->count * loader->picture_size;
}

static void loader_lend(struct loader *loader, struct loader_slot_batch *batch,
			struct loader_batch *ret)
{
	if (batch->k < AUGMENT_STAGES && !loader->config.side.take) {
		loader_make_numbers(loader, batch);
		batch->k = AUGMENT_STAGES;
	}
	if (batch->k == 0)
		loader->side_bytes = batch->used;
	batch->state = LOADER_LENT;
	loader->counts.batches++;
	loader->counts.samples += batch->count;
	*ret = (struct loader_batch){
		.data = batch->data,
		.bytes = loader_batch_bytes(loader, batch),
		.k = batch->k,
		.labels = batch->labels,
		.masks = batch->masks,
		.samples = batch->samples,
		.count = batch->count,
		.skipped = batch->skipped,
		.after = batch->after,
	};
}

static bool loader_end_of_epoch(struct loader *loader)
{
	if (!loader->end_due)
		return false;
	loader->end_due = false;
	loader->given.epoch++;
	loader->given.position = 0;
	return true;
}

static int loader_take(struct loader *loader, bool waits, struct loader_batch *ret,
		       struct problem *problem)
{
	while (!loader_end_of_epoch(loader)) {
		struct loader_slot_batch *batch =
			&loader->batch[loader->tail % loader->config.depth];

		if (batch->state == LOADER_LENT)
			return problem_set(problem, E_CONFLICT,
					   "all %u batches are lent: give one back",
					   loader->config.depth);
		if (!waits && batch->state != LOADER_READY)
			return -EAGAIN;
		loader_wait(loader, batch);
		loader->tail++;
		loader->given = batch->after;
		loader->end_due = batch->last;
		if (batch->count > 0) {
			loader_lend(loader, batch, ret);
			return 1;
		}
		loader_batch_free(loader, batch); /* nothing of it could be decoded */
	}
	return 0;
}

static int loader_fetch(struct loader *loader, bool waits, struct loader_batch *ret,
			struct problem *problem)
{
	uint64_t called = clock_monotonic_ns();
	uint64_t now;
	int rc;

	pthread_mutex_lock(&loader->lock);
	rc = loader_take(loader, waits, ret, problem);
	if (rc == -EAGAIN) { /* the consumer goes on with its own */
		pthread_mutex_unlock(&loader->lock);
		return rc;
	}
	if (loader->left_at > 0)
		loader->counts.consumer_ns += called - loader->left_at;
	now = clock_monotonic_ns();
	if (rc == 1 && loader->left_at > 0)
		loader_measure(loader, now - loader->left_at);
	loader->left_at = now;
	pthread_mutex_unlock(&loader->lock);
	return rc;
}

int loader_next(struct loader *loader, struct loader_batch *ret, struct problem *problem)
{
	return loader_fetch(loader, true, ret, problem);
}

int loader_try_next(struct loader *loader, struct loader_batch *ret, struct problem *problem)
{
	return loader_fetch(loader, false, ret, problem);
}

int loader_give_back(struct loader *loader, const struct loader_batch *batch)
{
	int rc = E_INVALID;

	pthread_mutex_lock(&loader->lock);
	for (uint32_t i = 0; i < loader->config.depth; i++) {
		struct loader_slot_batch *slot = &loader->batch[i];

		if (slot->data == batch->data && slot->state == LOADER_LENT) {
			loader_batch_free(loader, slot);
			rc = 0;
		}
	}
	pthread_mutex_unlock(&loader->lock);
	return rc;
}

int loader_set(struct loader *loader, const struct tune_setting *setting)
{
	int rc;

	if (!loader_may_run(loader, setting))
		return E_INVALID;
	pthread_mutex_lock(&loader->lock);
	loader->tuning = false;
	rc = loader_apply(loader, setting);
	pthread_mutex_unlock(&loader->lock);
	return rc;
}

void loader_tune(struct loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	if (!loader->tuning) {
		struct tune_limits limits = loader->tune.limits;
		struct tune_setting setting = loader->setting;

		limits.processors = loader_processors(loader);
		if (!tune_is_allowed(&limits, &setting))
			setting = tune_start(&limits);
		tune_init(&loader->tune, &limits, &setting);
		loader->settle = loader->config.depth + 1;
		loader->tuning = loader_apply(loader, &setting) == 0;
	}
	pthread_mutex_unlock(&loader->lock);
}

const struct augment *loader_augment(const struct loader *loader)
{
	return &loader->augment;
}

uint64_t loader_share(const struct loader *loader)
{
	return loader->share;
}

uint64_t loader_batches(const struct loader *loader)
{
	return (loader->share + loader->config.batch - 1) / loader->config.batch;
}

struct loader_counts loader_counts(struct loader *loader)
{
	struct loader_counts counts;

	pthread_mutex_lock(&loader->lock);
	counts = loader->counts;
	counts.setting = loader->setting;
	counts.phase = loader->tuning ? loader->tune.phase : TUNE_REST;
	pthread_mutex_unlock(&loader->lock);
	return counts;
}

struct loader_state loader_state(struct loader *loader)
{
	struct loader_state state;

	pthread_mutex_lock(&loader->lock);
	state = loader->given;
	pthread_mutex_unlock(&loader->lock);
	return state;
}
