#include "trainer_image/comm/sum_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"

#include "trainer_image/comm/transport_private.h"

LEAKS_LEFT_TO_SANITIZER

struct sum_queue {
	struct transport *transport;
	struct sum_options options;
	float *gradients;
	struct sum_bucket *buckets;
	float **lost; /* of each bucket; NULL without feedback */
	size_t count;
	uint8_t *workspace;
	size_t room; /* bytes of it */
	bool threads;
	pthread_t thread; /* where sums are made by the host */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t ready, summed; /* of this step */
	bool ends;
	int rc;
};

void sum_terms_add(struct terms *terms, const struct sum_options *options,
		   const struct sum_bucket buckets[], size_t count)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < count; i++) {
		hash = hash_number(hash, buckets[i].first);
		hash = hash_number(hash, buckets[i].count);
	}
	terms_add(terms, "buckets", "%zu %016" PRIx64, count, hash);
	terms_add(terms, "codec", "%s", codec_text(options->codec));
	terms_add(terms, "feedback", "%s", options->feedback ? "yes" : "no");
	terms_add(terms, "machines", "%d", levels_machines(&options->levels));
	terms_add(terms, "way", "%s", collective_way_text(options->way));
}

static int sum_queue_one(struct sum_queue *queue, size_t nth)
{
	const struct sum_bucket *bucket = &queue->buckets[nth];
	const struct collective_sum sum = {
		.way = queue->options.way,
		.codec = queue->options.codec,
		.numbers = queue->gradients + bucket->first,
		.count = bucket->count,
		.lost = queue->lost ? queue->lost[nth] : NULL,
		.workspace = queue->workspace,
	};

	return levels_sum(queue->transport, &queue->options.levels, &sum);
}

static void *sum_queue_thread(void *context)
{
	struct sum_queue *queue = context;

	pthread_mutex_lock(&queue->lock);
	while (!queue->ends) {
		int rc;

		if (queue->summed == queue->ready || queue->rc != 0) {
			pthread_cond_wait(&queue->moved, &queue->lock);
			continue;
		}
		pthread_mutex_unlock(&queue->lock);
		rc = sum_queue_one(queue, queue->summed);
		pthread_mutex_lock(&queue->lock);
		queue->rc = rc;
		queue->summed++;
		pthread_cond_broadcast(&queue->moved);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* Shards round up to a unit each. */
size_t sum_queue_memory(const struct sum_options *options, size_t numbers, size_t count,
			size_t most)
{
	const struct levels *levels = &options->levels;
	size_t machine = (size_t)levels->machine.count;
	size_t mine = numbers / machine + count * COLLECTIVE_UNIT;
	size_t owned = mine / (size_t)levels->across.count + count * COLLECTIVE_UNIT;
	size_t room = levels_workspace(levels, options->way, options->codec,
				       most + machine * COLLECTIVE_UNIT);

	return room + (options->feedback ? (mine + owned) * sizeof(float) : 0);
}

static struct levels_share sum_queue_share(const struct sum_queue *queue, size_t nth)
{
	return levels_share(&queue->options.levels, queue->buckets[nth].count);
}

static size_t sum_queue_lost_size(const struct sum_queue *queue, size_t nth)
{
	struct levels_share share = sum_queue_share(queue, nth);

	return (share.mine_count + share.owned_count) * sizeof(float);
}

static void sum_queue_release(struct sum_queue *queue)
{
	struct place *place = queue->transport->place;

	for (size_t i = 0; queue->buckets && queue->lost && i < queue->count; i++)
		place_give(place, queue->lost[i], sum_queue_lost_size(queue, i));
	place_give(place, queue->workspace, queue->room);
	free(queue->lost);
	free(queue->buckets);
	free(queue);
}

static int sum_queue_take(struct sum_queue *queue, const struct sum_bucket buckets[])
{
	struct place *place = queue->transport->place;

	queue->buckets = calloc(queue->count, sizeof(*queue->buckets));
	queue->lost = queue->options.feedback ? calloc(queue->count, sizeof(*queue->lost)) : NULL;
	if (!queue->buckets || (queue->options.feedback && !queue->lost))
		return -ENOMEM;
	memcpy(queue->buckets, buckets, queue->count * sizeof(*buckets));
	for (size_t i = 0; i < queue->count; i++) {
		size_t size = levels_workspace(&queue->options.levels, queue->options.way,
					       queue->options.codec, buckets[i].count);

		queue->room = size > queue->room ? size : queue->room;
		if (!queue->lost)
			continue;
		queue->lost[i] = place_take(place, sum_queue_lost_size(queue, i));
		if (!queue->lost[i])
			return -ENOMEM;
	}
	queue->workspace = place_take(place, queue->room);
	return queue->workspace ? 0 : -ENOMEM;
}

static int sum_queue_thread_new(struct sum_queue *queue)
{
	int rc;

	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->moved, NULL);
	rc = -pthread_create(&queue->thread, NULL, sum_queue_thread, queue);
	queue->threads = rc == 0;
	if (rc != 0) {
		pthread_cond_destroy(&queue->moved);
		pthread_mutex_destroy(&queue->lock);
	}
	return rc;
}

int sum_queue_new(struct transport *transport, float *gradients, const struct sum_bucket buckets[],
		  size_t count, const struct sum_options *options, struct sum_queue **ret)
{
	struct sum_queue *queue;
	int rc;

	if (count == 0 || (options->codec == CODEC_INT8 && options->way != COLLECTIVE_DIRECT))
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->transport = transport;
	queue->options = *options;
	queue->gradients = gradients;
	queue->count = count;
	rc = sum_queue_take(queue, buckets);
	if (rc == 0 && !transport->place->kind->is_behind)
		rc = sum_queue_thread_new(queue);
	if (rc != 0) {
		sum_queue_release(queue);
		return rc;
	}
	*ret = queue;
	return 0;
}

static void sum_queue_thread_end(struct sum_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ends = true;
	if (queue->summed < queue->ready)
		transport_stop(queue->transport);
	pthread_cond_broadcast(&queue->moved);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	pthread_cond_destroy(&queue->moved);
	pthread_mutex_destroy(&queue->lock);
}

void sum_queue_free(struct sum_queue *queue)
{
	if (!queue)
		return;
	if (queue->threads)
		sum_queue_thread_end(queue);
	sum_queue_release(queue);
}

int sum_queue_lost_get(struct sum_queue *queue, size_t nth, float *ret_mine, float *ret_owned)
{
	struct place *place = queue->transport->place;
	struct levels_share share = sum_queue_share(queue, nth);
	const float *lost = queue->lost[nth];
	int rc = place_copy(place, ret_mine, lost, share.mine_count * sizeof(float), PLACE_OUT);

	return rc == 0 ? place_copy(place, ret_owned, lost + share.mine_count,
				    share.owned_count * sizeof(float), PLACE_OUT)
		       : rc;
}

int sum_queue_lost_set(struct sum_queue *queue, size_t nth, const float *mine, const float *owned)
{
	struct place *place = queue->transport->place;
	struct levels_share share = sum_queue_share(queue, nth);
	float *lost = queue->lost[nth];
	int rc = place_copy(place, lost, mine, share.mine_count * sizeof(float), PLACE_IN);

	return rc == 0 ? place_copy(place, lost + share.mine_count, owned,
				    share.owned_count * sizeof(float), PLACE_IN)
		       : rc;
}

/* --- steps --- */

/* A place that is behind sums later; all that it needs is told now. */
static void sum_queue_begin(struct sum_queue *queue)
{
	if (queue->ready == queue->count || queue->rc != 0)
		return;
	queue->rc = place_ready(queue->transport->place);
	if (queue->rc == 0)
		queue->rc = sum_queue_one(queue, queue->ready);
	queue->ready++;
}

void sum_queue_ready(struct sum_queue *queue)
{
	if (!queue->threads) {
		sum_queue_begin(queue);
		return;
	}
	pthread_mutex_lock(&queue->lock);
	if (queue->ready < queue->count)
		queue->ready++;
	pthread_cond_broadcast(&queue->moved);
	pthread_mutex_unlock(&queue->lock);
}

static int sum_queue_thread_wait(struct sum_queue *queue)
{
	int rc;

	pthread_mutex_lock(&queue->lock);
	while (queue->summed < queue->ready && queue->rc == 0)
		pthread_cond_wait(&queue->moved, &queue->lock);
	rc = queue->rc;
	queue->ready = queue->summed = 0;
	pthread_mutex_unlock(&queue->lock);
	return rc;
}

static int sum_queue_place_wait(struct sum_queue *queue)
{
	if (queue->rc == 0)
		queue->rc = place_wait(queue->transport->place);
	queue->ready = 0;
	return queue->rc;
}

int sum_queue_wait(struct sum_queue *queue, int64_t *ret_exposed_us)
{
	int64_t begun_us = clock_monotonic_us();
	int rc = queue->threads ? sum_queue_thread_wait(queue) : sum_queue_place_wait(queue);

	*ret_exposed_us = clock_monotonic_us() - begun_us;
	return rc;
}
