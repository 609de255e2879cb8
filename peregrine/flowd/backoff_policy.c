#include "peregrine/flowd/backoff_policy.h"

/* Fewer samples say nothing of a rate: of 400, 95 % lie within 10 %. */
#define SAMPLES_LEAST 400
#define DROP_FACTOR   2

const char *const backoff_words[BACKOFF_COUNT] = {
	[BACKOFF_NONE] = "",
	[BACKOFF_COARSER] = "coarser",
	[BACKOFF_FINER] = "finer",
	[BACKOFF_DROPS] = "drops",
};

uint64_t backoff_pool_rate(const struct backoff_facts *facts)
{
	uint64_t samples = facts->samples + facts->missing;

	return samples ? facts->pool / samples : 0;
}

enum backoff backoff_judge(const struct backoff_facts *facts)
{
	if (!facts->wanted_high || !facts->told_high)
		return BACKOFF_NONE;
	/* Some agents round to a power of two, or to the rate and one. */
	if (facts->told_high > facts->wanted_high + facts->wanted_high / 2)
		return BACKOFF_COARSER;
	if (facts->told_low + facts->told_low / 2 + 1 < facts->wanted_low)
		return BACKOFF_FINER;
	if (facts->samples + facts->missing >= SAMPLES_LEAST &&
	    backoff_pool_rate(facts) > DROP_FACTOR * facts->told_high)
		return BACKOFF_DROPS;
	return BACKOFF_NONE;
}
