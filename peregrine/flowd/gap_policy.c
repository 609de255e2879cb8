#include "peregrine/flowd/gap_policy.h"

/* Each agent that samples speaks at least as often as it sends counters. */
#define KEPT_US (60 * INT64_C(1000000))

void gap_owed_add(struct gap_owed *owed, uint64_t drops, int64_t at_us)
{
	/* Also when the clock was set back. */
	if (at_us < owed->at_us || at_us - owed->at_us > KEPT_US)
		owed->drops = 0;
	if (drops || !owed->drops)
		owed->at_us = at_us;
	owed->drops += drops;
}

uint64_t gap_part(const struct gap_owed *owed, uint64_t missing, uint64_t all)
{
	if (all <= owed->drops)
		return missing;
	return (uint64_t)((double)missing * (double)owed->drops / (double)all + 0.5);
}

void gap_owed_take(struct gap_owed *owed, uint64_t all)
{
	owed->drops -= all < owed->drops ? all : owed->drops;
}
