/* What a sum costs between these ranks, and so which codec and which buckets they take.
 *
 * All ranks call both together, and come to the same answer: the slowest rank's times count for all. */
#pragma once

#include "common/base/macros.h"

#include "trainer_image/comm/bucket_policy.h"
#include "trainer_image/comm/levels.h"

/* What is measured: sums over `sums`, by one way. Ranks tell each other their times over `words`, a transport of the
 * host's memory, which may be the same. */
struct link_probe {
	struct transport *sums, *words;
	enum collective_way way;
	size_t count; /* numbers of the large sum */
	struct levels levels;
};

/* Bytes that a measurement takes of the place of `sums`, with any codec. */
size_t link_memory(const struct levels *levels, enum collective_way way, size_t count);
/* Sums a few numbers and `count` numbers some times over. -ENOMEM, or an error of collective_sum. */
MUST_USE int link_measure(const struct link_probe *probe, enum codec codec,
			  struct bucket_link *ret);

struct link_choice {
	enum codec codec;
	struct bucket_link link;
	struct bucket_plan plan; /* bucket_plan_done() */
};

/* The codec whose last sum is there first, of those up to `most` in the order of enum codec. A codec
 * that loses more has to leave at most nine tenths of the exposed time. */
MUST_USE int link_choose(const struct link_probe *probe, const struct bucket_gradient gradients[],
			 size_t count, enum codec most, struct link_choice *ret);
