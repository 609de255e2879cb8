/* Hashes of tables in memory, and digests that tell two states apart.
 *
 * A stranger who may choose keys can make them collide. Tables of such keys are bounded, or salt
 * their keys (common/net/source_rate.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* FNV-1a of 64 bits (draft-eastlake-fnv). A hash begins with HASH_START. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Adds one octet, or one number of up to 64 bits in a single step. */
static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x100000001b3);
}

/* Adds `size` octets. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = (const uint8_t *)bytes;

	for (size_t i = 0; i < size; i++)
		hash = hash_number(hash, at[i]);
	return hash;
}

/* Spreads numbers that lie side by side over all 64 bits (splitmix64, Steele et al. 2014). Any bits
 * of the result choose a place in a table. */
ALSO_ON_GPU static inline uint64_t hash_spread(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

/* A place in [0, range), range up to 2^32. Consecutive numbers lie far apart and fill the range
 * evenly: the number times the bits of the golden ratio (Knuth, TAOCP 6.4). For rounds that shall
 * not come together. */
static inline uint64_t hash_even(uint64_t number, uint64_t range)
{
	return (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) * range >> 32;
}
