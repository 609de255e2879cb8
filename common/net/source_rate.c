#include "common/net/source_rate.h"

#include "common/base/hash.h"

#define TOKEN 1000U /* thousandths: a millisecond brings per_second of them */

/* What time has brought back. */
static void source_rate_refill(struct rate_bucket *bucket, const struct rate_limit *limit,
			       int64_t now_ms)
{
	int64_t passed_ms = now_ms - bucket->last_ms;
	uint64_t gained;

	if (passed_ms <= 0)
		return;
	/* More than 2^40 ms would be a bucket that was never used. */
	gained = (uint64_t)(passed_ms < INT64_C(1) << 40 ? passed_ms : INT64_C(1) << 40) *
		 limit->per_second;
	bucket->spent_milli -=
		gained < bucket->spent_milli ? (uint32_t)gained : bucket->spent_milli;
	bucket->last_ms = now_ms;
}

static bool has_token(const struct rate_bucket *bucket, const struct rate_limit *limit)
{
	return bucket->spent_milli + TOKEN <= limit->burst * TOKEN;
}

bool rate_bucket_take(struct rate_bucket *bucket, const struct rate_limit *limit, int64_t now_ms)
{
	source_rate_refill(bucket, limit, now_ms);
	if (!has_token(bucket, limit))
		return false;
	bucket->spent_milli += TOKEN;
	return true;
}

void source_rate_init(struct source_rate *rate, struct rate_limit source, struct rate_limit all,
		      uint64_t salt)
{
	*rate = (struct source_rate){.source = source, .all = all, .salt = salt | 1};
}

/* Multiplication by an odd random number, the high bits of it: universal enough for places. */
static struct rate_bucket *source_rate_bucket_of(struct source_rate *rate, uint32_t address)
{
	uint64_t mixed = (address ^ rate->salt >> 32) * rate->salt;

	return &rate->sources[hash_spread(mixed) >> 54];
}

bool source_rate_allows(struct source_rate *rate, uint32_t address, bool known, int64_t now_ms)
{
	struct rate_bucket *bucket = source_rate_bucket_of(rate, address);

	source_rate_refill(bucket, &rate->source, now_ms);
	if (!has_token(bucket, &rate->source))
		return false;
	if (!known && !rate_bucket_take(&rate->together, &rate->all, now_ms))
		return false;
	bucket->spent_milli += TOKEN;
	return true;
}
