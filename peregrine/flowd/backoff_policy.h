/* Does a switch sample as it was told? Its word (the rate in its datagrams) and its deeds (how many
 * frames passed for each sample that came) against what peregrined set. Dell OS9 doubles the rate
 * under load and never takes that back; others keep the rate and drop samples. Pure. */
#pragma once

#include <stdint.h>

enum backoff {
	BACKOFF_NONE,
	BACKOFF_COARSER, /* it says so itself: 1 in more than was set */
	BACKOFF_FINER,   /* 1 in fewer: somebody else set it */
	BACKOFF_DROPS,   /* it says the wanted rate, and takes far fewer */
	BACKOFF_COUNT
};
/* "", "coarser", "finer", "drops". */
extern const char *const backoff_words[BACKOFF_COUNT];

struct backoff_facts {
	uint64_t wanted_low, wanted_high; /* 1 in so many; 0 = nothing was set */
	uint64_t told_low, told_high;     /* in datagrams; 0 = none came */
	/* Since the last look: frames that could have been sampled, samples of them, those missing
	 * on the way. */
	uint64_t pool, samples, missing;
};

enum backoff backoff_judge(const struct backoff_facts *facts);
/* 1 in so many as were really taken; 0 = not known. */
uint64_t backoff_pool_rate(const struct backoff_facts *facts);
