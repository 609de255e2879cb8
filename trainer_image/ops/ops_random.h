/* The random numbers of DROPOUT, for all back ends: a number depends on its place alone, so nothing
 * has to be kept for the backward pass. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hash.h"

/* The start of one op's numbers in one step. */
ALSO_ON_GPU static inline uint64_t ops_random_start(uint64_t seed, uint64_t step, uint64_t stream)
{
	return hash_spread(hash_spread(seed + UINT64_C(0x9e3779b97f4a7c15)) ^
			   hash_spread(step * UINT64_C(0xd1342543de82ef95) + stream));
}

/* Even in [0, 2^24). */
ALSO_ON_GPU static inline uint32_t ops_random_24(uint64_t start, uint64_t place)
{
	return (uint32_t)(hash_spread(start + place * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

/* Numbers below are dropped, of those in [0, 2^24). */
ALSO_ON_GPU static inline uint32_t ops_random_dropped(double rate)
{
	return (uint32_t)(rate * 16777216.0);
}
