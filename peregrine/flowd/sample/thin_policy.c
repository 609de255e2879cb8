#include "peregrine/flowd/sample/thin_policy.h"

/* Harvests, seconds as a rule: queues are full for a moment now and then. */
enum { CALM = 10 };

static unsigned wanted_by_limit(const struct thin_facts *facts)
{
	unsigned factor = 1;

	while (facts->samples_max && factor < THIN_MOST &&
	       facts->samples / factor > facts->samples_max)
		factor *= 2;
	return factor;
}

struct thin_state thin_next(const struct thin_state *state, const struct thin_facts *facts)
{
	struct thin_state next = {state->factor ? state->factor : 1, state->calm + 1};
	unsigned least = wanted_by_limit(facts);

	if (facts->kernel_drops) {
		next.calm = 0;
		if (next.factor < THIN_MOST)
			next.factor *= 2;
	} else if (next.calm >= CALM && next.factor > 1) {
		next.calm = 0;
		next.factor /= 2;
	}
	if (next.factor < least)
		next.factor = least;
	return next;
}
