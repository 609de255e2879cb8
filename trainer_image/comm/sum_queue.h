/* Sums buckets of gradients while the backward pass makes the next ones: the host on a thread of its own, a place
 * that is behind (place.h) by what it was told to do. All ranks have the same buckets and sum them in the same
 * order. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"

#include "trainer_image/comm/levels.h"
#include "trainer_image/comm/terms.h"

/* Numbers [first, first + count) of the vector of gradients. */
struct sum_bucket {
	size_t first, count;
};

struct sum_options {
	enum collective_way way;
	enum codec codec;
	bool feedback; /* keeps what a lossy codec loses; for all buckets their own */
	struct levels levels;
};

struct sum_queue;

/* Bytes that a queue takes of its place, at most: `numbers` in `count` buckets, each of them up to `most`. */
size_t sum_queue_memory(const struct sum_options *options, size_t numbers, size_t count,
			size_t most);
/* Adds "buckets", "codec", "feedback", "machines" and "way" to the terms that ranks compare before the first step. */
void sum_terms_add(struct terms *terms, const struct sum_options *options,
		   const struct sum_bucket buckets[], size_t count);

/* `gradients` lie where the transport's place is, and outlive the queue, as the transport does. Nobody else uses the
 * transport between sum_queue_ready of the first bucket and sum_queue_wait. All memory is taken here. -EINVAL, -ENOMEM,
 * -EAGAIN. */
MUST_USE int sum_queue_new(struct transport *transport, float *gradients,
			   const struct sum_bucket buckets[], size_t count,
			   const struct sum_options *options, struct sum_queue **ret);
/* Ends the thread, also in the middle of a sum. */
void sum_queue_free(struct sum_queue *queue);
/* What the codec lost of bucket `nth`: as many numbers as levels_share() says. In the host's memory; between steps, of
 * a queue with feedback. */
MUST_USE int sum_queue_lost_get(struct sum_queue *queue, size_t nth, float *ret_mine,
				float *ret_owned);
MUST_USE int sum_queue_lost_set(struct sum_queue *queue, size_t nth, const float *mine,
				const float *owned);
/* The next bucket may be summed: its numbers belong to the queue until sum_queue_wait. */
void sum_queue_ready(struct sum_queue *queue);
/* Until all buckets are summed; then the next step may begin. 0, or the error of the first sum that
 * failed: nothing can be summed after that. `ret_exposed_us`: how long it waited. */
MUST_USE int sum_queue_wait(struct sum_queue *queue, int64_t *ret_exposed_us);
