/* Flows whose bytes are known, sampled by chance as a switch does it, estimated as peregrine-flowd
 * and portald do it: how often the truth is outside of the printed bound, and how wide that is.
 *
 * usage: accuracy_sim [SEED]     prints key=value words */
// links: peregrine_flow
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/model/estimate_policy.h"

enum { ESTIMATES = 4000 };

static uint64_t accuracy_sim_state;

/* splitmix64 (Vigna), as a fraction below 1. */
static double accuracy_sim_chance(void)
{
	uint64_t z = (accuracy_sim_state += 0x9e3779b97f4a7c15U);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

/* Frames of a flow: all of one size, acknowledgements, or a mix. */
static uint32_t frame_of(unsigned kind)
{
	static const uint32_t mix[] = {64, 590, 1514};

	return kind == 0 ? 1514 : kind == 1 ? 66 : mix[(unsigned)(accuracy_sim_chance() * 3)];
}

int main(int argc, char **argv)
{
	unsigned outside = 0;
	double width = 0;
	double theory = 0;
	unsigned counted = 0;

	accuracy_sim_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	for (unsigned i = 0; i < ESTIMATES; i++) {
		uint32_t rate = 100U << (i % 5);
		unsigned kind = i % 3;
		/* From a few samples to some hundred. */
		uint32_t frames = (uint32_t)(rate * exp(log(4) + accuracy_sim_chance() * log(100)));
		struct traffic_sums sums = {0};
		uint64_t truth = 0;
		double variance = 0;

		for (uint32_t j = 0; j < frames; j++) {
			uint32_t bytes = frame_of(kind);
			double each = (double)bytes * rate;

			truth += bytes;
			variance += (double)bytes * bytes * (rate - 1);
			if (accuracy_sim_chance() * rate >= 1)
				continue;
			sums.bytes += (uint64_t)bytes * rate;
			sums.packets += rate;
			sums.square += each * each;
			sums.samples++;
		}
		if (!sums.samples)
			continue; /* nothing is printed of it */
		struct estimate estimate = estimate_of(&sums, 0);

		counted++;
		outside += truth < estimate.low || truth > estimate.high;
		width += (double)(estimate.high - estimate.low) / 2;
		theory += 1.959964 * sqrt(variance);
	}
	printf("estimates=%u outside=%u width_by_theory=%.4f\n", counted, outside, width / theory);
	return 0;
}
