/* Groups of pages: scheduled in the order of epochs, read by threads, handed out sample by sample. */
#include <errno.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/loader_private.h"

static int loader_cursor(struct loader *loader, struct shuffle *ret, uint64_t epoch)
{
	struct shuffle_set set = {.pages = record_reader_pages(loader->reader),
				  .first = record_reader_first(loader->reader)};
	struct shuffle_ask ask = {.seed = loader->config.state.seed,
				  .epoch = epoch,
				  .rank = loader->config.rank,
				  .ranks = loader->config.ranks,
				  .window = loader->config.window};

	return shuffle_init(ret, &set, &ask);
}

int loader_seek(struct loader *loader, const struct loader_state *state)
{
	int rc = loader_cursor(loader, &loader->issue, state->epoch);

	if (rc == 0)
		rc = loader_cursor(loader, &loader->plan, state->epoch);
	if (rc != 0)
		return rc;
	if (loader->issue.count == 0 || state->position > loader->issue.count)
		return E_INVALID;
	loader->given = *state;
	if (state->position == loader->issue.count) { /* the end of the epoch is to be told */
		loader->end_due = true;
		rc = loader_cursor(loader, &loader->issue, state->epoch + 1);
		return rc != 0 ? rc : loader_cursor(loader, &loader->plan, state->epoch + 1);
	}
	rc = shuffle_seek(&loader->issue, state->position);
	return rc != 0 ? rc : shuffle_seek(&loader->plan, state->position);
}

/* The next group of the plan, of the next epoch where this one has no more. */
static void loader_plan_next(struct loader *loader)
{
	if (!loader->plan_begun) {
		loader->plan_begun = true;
		loader->plan_group = loader->plan.group;
		return;
	}
	if (shuffle_group_after(&loader->plan, &loader->plan_group, &loader->plan_group))
		return;
	/* The arguments were good for the epoch before: they are for this one. */
	if (loader_cursor(loader, &loader->plan, loader->plan.ask.epoch + 1) == 0)
		loader->plan_group = loader->plan.group;
}

void loader_schedule(struct loader *loader)
{
	while (loader->groups_begun - loader->groups_ended < LOADER_GROUPS) {
		struct loader_group *group = &loader->group[loader->groups_begun % LOADER_GROUPS];
		uint64_t before;

		loader_plan_next(loader);
		group->plan = loader->plan_group;
		group->epoch = loader->plan.ask.epoch;
		/* Only the first group of a restart is entered amid. */
		before = loader->plan.position > group->plan.begin
				 ? loader->plan.position - group->plan.begin
				 : 0;
		group->left = group->plan.count - before;
		group->claimed = group->loaded = group->lent = 0;
		memset(group->bad, 0, loader->config.window * sizeof(*group->bad));
		loader->groups_begun++;
		pthread_cond_broadcast(&loader->wake[TUNE_READ]);
	}
}

/* The oldest group that has pages nobody reads yet. */
static struct loader_group *loader_unread(struct loader *loader)
{
	for (uint64_t i = loader->groups_ended; i < loader->groups_begun; i++) {
		struct loader_group *group = &loader->group[i % LOADER_GROUPS];

		if (group->claimed < group->plan.part_count)
			return group;
	}
	return NULL;
}

void *loader_read_thread(void *context)
{
	struct loader_thread *thread = context;
	struct loader *loader = thread->loader;

	pthread_mutex_lock(&loader->lock);
	while (!loader->end) {
		struct loader_group *group = loader_unread(loader);
		uint32_t at;
		uint64_t begin;
		int rc;

		if (thread->index >= loader->setting.threads[TUNE_READ]) {
			pthread_cond_wait(&loader->park, &loader->lock);
			continue;
		}
		if (!group) {
			pthread_cond_wait(&loader->wake[TUNE_READ], &loader->lock);
			continue;
		}
		at = group->claimed++;
		pthread_mutex_unlock(&loader->lock);
		begin = clock_monotonic_ns();
		rc = record_page_open(loader->reader, group->plan.part[at].page, &group->pages[at]);
		begin = clock_monotonic_ns() - begin;
		pthread_mutex_lock(&loader->lock);
		group->bad[at] = rc != 0;
		loader->counts.work_ns[TUNE_WORK_READ] += begin;
		loader_account(loader);
		if (++group->loaded == group->plan.part_count)
			pthread_cond_broadcast(&loader->wake[TUNE_DECODE]);
	}
	pthread_mutex_unlock(&loader->lock);
	return NULL;
}

/* The group of the next sample, when it was read. */
static struct loader_group *loader_open_group(struct loader *loader)
{
	for (uint64_t i = loader->groups_ended; i < loader->groups_begun; i++) {
		struct loader_group *group = &loader->group[i % LOADER_GROUPS];

		if (group->left > 0)
			return group->loaded == group->plan.part_count ? group : NULL;
	}
	return NULL;
}

static void loader_batch_begin(struct loader *loader, struct loader_slot_batch *batch)
{
	batch->state = LOADER_FILLING;
	batch->issued = batch->done = batch->skipped = batch->count = 0;
	batch->closed = batch->last = false;
	batch->k = loader->setting.k;
	if (batch->k == 0 && !loader->config.side.take)
		batch->k = 1;
	if (batch->k == 1 && !loader->makes_numbers)
		batch->k = AUGMENT_STAGES;
	if (batch->k == 0)
		loader_side_begin(loader, batch);
	memset(batch->failed, 0, loader->config.batch * sizeof(*batch->failed));
}

bool loader_issue(struct loader *loader, struct loader_item *item)
{
	struct loader_slot_batch *batch = &loader->batch[loader->head % loader->config.depth];
	struct loader_group *group = loader_open_group(loader);

	if (!group || (batch->state != LOADER_FREE && batch->state != LOADER_FILLING))
		return false;
	if (batch->state == LOADER_FREE)
		loader_batch_begin(loader, batch);
	else if (batch->closed)
		return false; /* all batches are being filled */
	if (!shuffle_next(&loader->issue, &item->place))
		return false; /* never: a group is left */
	item->batch = batch;
	item->slot = batch->issued++;
	item->group = group;
	item->epoch = loader->issue.ask.epoch;
	group->left--;
	group->lent++;
	batch->after = (struct loader_state){loader->issue.ask.seed, loader->issue.ask.epoch,
					     loader->issue.position};
	batch->last = loader->issue.position == loader->issue.count;
	if (batch->last || batch->issued == loader->config.batch) {
		batch->closed = true;
		loader->head++;
	}
	if (batch->last) {
		struct shuffle next;

		if (loader_cursor(loader, &next, loader->issue.ask.epoch + 1) == 0)
			loader->issue = next;
	}
	return true;
}

void loader_release(struct loader *loader, struct loader_group *group)
{
	group->lent--;
	while (loader->groups_ended < loader->groups_begun) {
		struct loader_group *oldest = &loader->group[loader->groups_ended % LOADER_GROUPS];

		if (oldest->left > 0 || oldest->lent > 0 ||
		    oldest->loaded < oldest->plan.part_count)
			return;
		loader->groups_ended++;
		loader_schedule(loader);
	}
}
