#include "trainer_image/loader/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/loader_private.h"

enum { LOADER_LARGE_PAGE = 2 << 20 };

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
	return 0;
}

static int loader_memory_groups(struct loader *loader)
{
	for (size_t i = 0; i < LOADER_GROUPS; i++) {
		struct loader_group *group = &loader->group[i];

		group->pages = calloc(loader->config.window, sizeof(*group->pages));
		group->bad = calloc(loader->config.window, sizeof(*group->bad));
		if (!group->pages || !group->bad)
			return -ENOMEM;
	}
	return 0;
}

/* Used from end to end at once, in large pages where there are some: a page fault later would be paid
 * by the stage that met it, in each batch's first round. */
static void *loader_touched(size_t size)
{
	size_t align = size >= LOADER_LARGE_PAGE ? LOADER_LARGE_PAGE : 64;
	size_t rounded = (size + align - 1) / align * align;
	void *memory = aligned_alloc(align, rounded);

	if (!memory)
		return NULL;
	if (align == LOADER_LARGE_PAGE)
		(void)madvise(memory, rounded, MADV_HUGEPAGE); /* a kernel may have none */
	memset(memory, 0, rounded);
	return memory;
}

static int loader_memory_batches(struct loader *loader)
{
	uint32_t count = loader->config.batch;

	loader->batch = calloc(loader->config.depth, sizeof(*loader->batch));
	if (!loader->batch)
		return -ENOMEM;
	for (uint32_t i = 0; i < loader->config.depth; i++) {
		struct loader_slot_batch *batch = &loader->batch[i];

		batch->data = loader_touched(count * loader->picture_size);
		batch->labels = calloc(count, sizeof(*batch->labels));
		batch->samples = calloc(count, sizeof(*batch->samples));
		batch->failed = calloc(count, sizeof(*batch->failed));
		if (!batch->data || !batch->labels || !batch->samples || !batch->failed)
			return -ENOMEM;
		if (augment_type(&loader->augment) == AUGMENT_UINT8)
			continue;
		batch->bytes = loader_touched(count * loader->bytes_size);
		if (!batch->bytes)
			return -ENOMEM;
	}
	return 0;
}

static int loader_memory_items(struct loader *loader)
{
	uint32_t processors = loader_processors(loader);

	/* One for each thread that may hold one, and some that wait between the stages. */
	loader->item_count = 4 * processors + 32;
	loader->items = calloc(loader->item_count, sizeof(*loader->items));
	loader->free_items = calloc(loader->item_count, sizeof(struct loader_item *));
	loader->queue = calloc(loader->item_count, sizeof(struct loader_item *));
	if (!loader->items || !loader->free_items || !loader->queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < loader->item_count; i++)
		loader->free_items[loader->free_count++] = &loader->items[i];
	return 0;
}

/* How long `normalise` and `pack` of one picture take here: the least of three. */
static int loader_time_numbers(struct loader *loader)
{
	struct loader_slot_batch *batch = &loader->batch[0];

	loader->numbers_ns = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t begin = clock_monotonic_ns();

		augment_cpu_numbers(loader->side, batch->bytes, batch->data);
		begin = clock_monotonic_ns() - begin;
		if (begin < loader->numbers_ns)
			loader->numbers_ns = begin;
	}
	return 0;
}

static int loader_memory(struct loader *loader)
{
	int rc = loader_memory_groups(loader);

	loader->bytes_size = augment_elements(&loader->augment);
	loader->picture_size =
		loader->bytes_size * augment_type_size(augment_type(&loader->augment));
	if (rc == 0)
		rc = loader_memory_batches(loader);
	if (rc == 0)
		rc = loader_memory_items(loader);
	if (rc == 0)
		rc = augment_cpu_new(&loader->augment, &loader->side);
	if (rc == 0 && loader->batch[0].bytes)
		rc = loader_time_numbers(loader);
	return rc;
}

static int loader_start(struct loader *loader, struct problem *problem)
{
	struct tune_limits limits = {.processors = loader_processors(loader),
				     .k_most = loader->batch[0].bytes ? 2 : 1};
	struct tune_setting setting = tune_start(&limits);
	int rc;

	loader->tuning = loader->config.fixed.threads[TUNE_DECODE] == 0;
	tune_init(&loader->tune, &limits, &setting);
	if (!loader->tuning) {
		setting = loader->config.fixed;
		limits.processors = TUNE_STAGES * TUNE_THREADS_MAX;
		limits.k_most = AUGMENT_STAGES;
		if (!tune_is_allowed(&limits, &setting))
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
	rc = loader_memory(loader);
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

static void loader_free_memory(struct loader *loader)
{
	for (size_t i = 0; i < LOADER_GROUPS; i++) {
		free(loader->group[i].pages);
		free(loader->group[i].bad);
	}
	for (uint32_t i = 0; loader->batch && i < loader->config.depth; i++) {
		struct loader_slot_batch *batch = &loader->batch[i];

		free(batch->data);
		free(batch->bytes);
		free(batch->labels);
		free(batch->samples);
		free(batch->failed);
	}
	for (uint32_t i = 0; loader->items && i < loader->item_count; i++)
		picture_done(&loader->items[i].picture);
	free(loader->batch);
	free(loader->items);
	free(loader->free_items);
	free(loader->queue);
	augment_cpu_free(loader->side);
	record_reader_free(loader->reader);
}

void loader_free(struct loader *loader)
{
	if (!loader)
		return;
	loader_end_threads(loader);
	loader_free_memory(loader);
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

static void loader_lend(struct loader *loader, struct loader_slot_batch *batch,
			struct loader_batch *ret)
{
	if (!batch->numbers)
		loader_make_numbers(loader, batch);
	batch->state = LOADER_LENT;
	loader->counts.batches++;
	loader->counts.samples += batch->count;
	*ret = (struct loader_batch){
		.data = batch->data,
		.labels = batch->labels,
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

static int loader_take(struct loader *loader, struct loader_batch *ret, struct problem *problem)
{
	while (!loader_end_of_epoch(loader)) {
		struct loader_slot_batch *batch =
			&loader->batch[loader->tail % loader->config.depth];

		if (batch->state == LOADER_LENT)
			return problem_set(problem, E_CONFLICT,
					   "all %u batches are lent: give one back",
					   loader->config.depth);
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

int loader_next(struct loader *loader, struct loader_batch *ret, struct problem *problem)
{
	uint64_t now;
	int rc;

	pthread_mutex_lock(&loader->lock);
	now = clock_monotonic_ns();
	if (loader->left_at > 0)
		loader->counts.consumer_ns += now - loader->left_at;
	rc = loader_take(loader, ret, problem);
	now = clock_monotonic_ns();
	if (rc == 1 && loader->left_at > 0)
		loader_measure(loader, now - loader->left_at);
	loader->left_at = now;
	pthread_mutex_unlock(&loader->lock);
	return rc;
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
	struct tune_limits limits = {.processors = TUNE_STAGES * TUNE_THREADS_MAX,
				     .k_most = AUGMENT_STAGES};
	int rc;

	if (!tune_is_allowed(&limits, setting))
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
