/* How gradients are cut into buckets, each of which is summed at once while the backward pass goes on.
 *
 * A bucket can start when its last gradient is there and the one before it has arrived. Large buckets
 * waste little latency; the last one should be small, for nothing is left to hide it. The cut with the
 * earliest end is found by trying all (dynamic programming over the ends), from times that were
 * measured. Example: ResNet-50's first layers hold less than 1 % of its numbers, so the last bucket is
 * below 1 MB. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"

enum { BUCKET_GRADIENTS_MAX = 4096 };

/* In the order in which the backward pass makes them. */
struct bucket_gradient {
	size_t count;    /* numbers */
	double ready_ms; /* since the backward pass began; not before the one in front of it */
};

/* A sum of b bytes of the whole takes latency_ms + b / bytes_per_ms. */
struct bucket_link {
	double latency_ms;
	double bytes_per_ms;
	double bytes_per_number; /* of the codec */
};

struct bucket_plan {
	size_t count;
	size_t *ends;      /* of each bucket, the gradient behind its last */
	double end_ms;     /* when the last sum is there */
	double exposed_ms; /* end_ms less the time of the last gradient */
};

/* -EINVAL: no gradients or too many, times that go back, a link without speed. -ENOMEM. */
MUST_USE int bucket_cut(const struct bucket_gradient gradients[], size_t count,
			const struct bucket_link *link, struct bucket_plan *ret);
void bucket_plan_done(struct bucket_plan *plan);
