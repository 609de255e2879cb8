#include "trainer_image/comm/link_measure.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"

#include "trainer_image/comm/transport_private.h"

enum { LINK_TIMES = 4, LINK_FEW = 1024, LINK_MANY = 256 << 10 };

/* The shortest of some sums, and of the ranks the longest. */
static int link_time(struct transport *transport, const struct collective_sum *sum, double *ret_ms)
{
	struct collective_group group = collective_all(transport);
	double all[COMM_RANKS_MAX];
	double least = 0;
	int rc;

	for (int time = 0; time < LINK_TIMES; time++) {
		int64_t begun_us = clock_monotonic_us();

		rc = collective_sum(transport, &group, sum);
		if (rc != 0)
			return rc;
		double ms = (double)(clock_monotonic_us() - begun_us) / 1e3;

		least = time == 0 || ms < least ? ms : least;
	}
	rc = collective_gather(transport, &group, &least, sizeof(least), all);
	*ret_ms = 0;
	for (int i = 0; rc == 0 && i < group.count; i++)
		*ret_ms = all[i] > *ret_ms ? all[i] : *ret_ms;
	return rc;
}

int link_measure(struct transport *transport, enum collective_way way, enum codec codec,
		 size_t count, struct bucket_link *ret)
{
	struct collective_group group = collective_all(transport);
	CLEANUP(freep) float *numbers = calloc(count, sizeof(*numbers));
	CLEANUP(freep) uint8_t *workspace = malloc(collective_workspace(&group, way, codec, count));
	struct collective_sum sum = {.way = way,
				     .codec = codec,
				     .numbers = numbers,
				     .count = count,
				     .workspace = workspace};
	double few_ms;
	double many_ms;
	int rc;

	if (!numbers || !workspace)
		return -ENOMEM;
	rc = link_time(transport, &sum, &many_ms);
	sum.count = count < LINK_FEW ? count : LINK_FEW;
	if (rc == 0)
		rc = link_time(transport, &sum, &few_ms);
	if (rc != 0)
		return rc;
	double bytes = (double)codec_size(codec, count);
	double ms = many_ms - few_ms;

	*ret = (struct bucket_link){
		.latency_ms = few_ms,
		.bytes_per_ms = ms > 1e-3 ? (bytes - (double)codec_size(codec, sum.count)) / ms
					  : bytes * 1e3,
		.bytes_per_number = bytes / (double)count};
	return 0;
}

static enum collective_way link_way(enum codec codec)
{
	return codec == CODEC_NONE ? COLLECTIVE_RING : COLLECTIVE_DIRECT;
}

int link_choose(struct transport *transport, const struct bucket_gradient gradients[], size_t count,
		enum codec most, struct link_choice *ret)
{
	struct link_choice best = {0};

	for (enum codec codec = CODEC_NONE; codec <= most && codec < CODECS; codec++) {
		struct link_choice choice = {.codec = codec, .way = link_way(codec)};
		int rc = link_measure(transport, choice.way, codec, LINK_MANY, &choice.link);

		if (rc == 0)
			rc = bucket_cut(gradients, count, &choice.link, &choice.plan);
		if (rc != 0) {
			bucket_plan_done(&best.plan);
			return rc;
		}
		if (best.plan.count > 0 && choice.plan.exposed_ms > 0.9 * best.plan.exposed_ms) {
			bucket_plan_done(&choice.plan);
			continue;
		}
		bucket_plan_done(&best.plan);
		best = choice;
	}
	*ret = best;
	return 0;
}
