#include "trainer_image/comm/link_measure.h"

#include <errno.h>

#include "common/base/clock.h"

#include "trainer_image/comm/transport_private.h"

enum { LINK_TIMES = 4, LINK_FEW = 1024 };

/* One sum, until it is made. */
static int link_sum(const struct link_probe *probe, const struct collective_sum *sum)
{
	struct place *place = probe->sums->place;
	int rc = place_ready(place);

	if (rc == 0)
		rc = levels_sum(probe->sums, &probe->levels, sum);
	return rc == 0 ? place_wait(place) : rc;
}

/* The shortest of some sums, and of the ranks the longest. */
static int link_time(const struct link_probe *probe, const struct collective_sum *sum,
		     double *ret_ms)
{
	struct collective_group group = collective_all(probe->words);
	double all[COMM_RANKS_MAX];
	double least = 0;
	int rc;

	for (int time = 0; time < LINK_TIMES; time++) {
		int64_t begun_us = clock_monotonic_us();

		rc = link_sum(probe, sum);
		if (rc != 0)
			return rc;
		double ms = (double)(clock_monotonic_us() - begun_us) / 1e3;

		least = time == 0 || ms < least ? ms : least;
	}
	rc = collective_gather(probe->words, &group, &least, sizeof(least), all);
	*ret_ms = 0;
	for (int i = 0; rc == 0 && i < group.count; i++)
		*ret_ms = all[i] > *ret_ms ? all[i] : *ret_ms;
	return rc;
}

static int link_times(const struct link_probe *probe, struct collective_sum sum, double *ret_few_ms,
		      double *ret_many_ms)
{
	int rc = link_time(probe, &sum, ret_many_ms);

	sum.count = sum.count < LINK_FEW ? sum.count : LINK_FEW;
	return rc == 0 ? link_time(probe, &sum, ret_few_ms) : rc;
}

size_t link_memory(const struct levels *levels, enum collective_way way, size_t count)
{
	size_t most = 0;

	for (enum codec codec = CODEC_NONE; codec < CODECS; codec++) {
		size_t room = levels_workspace(levels, way, codec, count);

		most = room > most ? room : most;
	}
	return most + count * sizeof(float);
}

int link_measure(const struct link_probe *probe, enum codec codec, struct bucket_link *ret)
{
	struct place *place = probe->sums->place;
	size_t room = levels_workspace(&probe->levels, probe->way, codec, probe->count);
	struct collective_sum sum = {.way = probe->way,
				     .codec = codec,
				     .numbers = place_take(place, probe->count * sizeof(float)),
				     .count = probe->count,
				     .workspace = place_take(place, room)};
	size_t few = probe->count < LINK_FEW ? probe->count : LINK_FEW;
	double bytes = (double)codec_size(codec, probe->count);
	double few_ms = 0;
	double many_ms = 0;
	int rc = sum.numbers && sum.workspace ? link_times(probe, sum, &few_ms, &many_ms) : -ENOMEM;

	place_give(place, sum.workspace, room);
	place_give(place, sum.numbers, probe->count * sizeof(float));
	if (rc != 0)
		return rc;
	double ms = many_ms - few_ms;

	*ret = (struct bucket_link){
		.latency_ms = few_ms,
		.bytes_per_ms =
			ms > 1e-3 ? (bytes - (double)codec_size(codec, few)) / ms : bytes * 1e3,
		.bytes_per_number = bytes / (double)probe->count};
	return 0;
}

int link_choose(const struct link_probe *probe, const struct bucket_gradient gradients[],
		size_t count, enum codec most, struct link_choice *ret)
{
	struct link_choice best = {0};

	for (enum codec codec = CODEC_NONE; codec <= most && codec < CODECS; codec++) {
		struct link_choice choice = {.codec = codec};
		int rc = link_measure(probe, codec, &choice.link);

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
