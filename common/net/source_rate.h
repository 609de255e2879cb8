/* Bounds the cost of a flood: token buckets per source address and one for all together, in memory
 * of a fixed size. Sources share buckets by a salted hash, and a bucket is never taken over. So
 * neither made-up nor chosen addresses give anybody a fresh allowance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_RATE_BUCKETS 1024

struct rate_limit {
	uint32_t per_second; /* at most 1,000,000 */
	uint32_t burst;      /* at least 1, at most 1,000,000 */
};

struct rate_bucket {
	int64_t last_ms;
	uint32_t spent_milli; /* thousandths of a token; zero bytes are a full bucket */
};

struct source_rate {
	struct rate_limit source, all;
	uint64_t salt;
	struct rate_bucket sources[SOURCE_RATE_BUCKETS], together;
};

/* True, and a token gone, when there is one. */
bool rate_bucket_take(struct rate_bucket *bucket, const struct rate_limit *limit, int64_t now_ms);

/* The salt is random: nobody outside shall know who shares a bucket with whom. */
void source_rate_init(struct source_rate *rate, struct rate_limit source, struct rate_limit all,
		      uint64_t salt);
/* True when the source and all together have a token each; both are gone then. A known source
 * answers only for itself: no flood of strangers takes its turn. */
bool source_rate_allows(struct source_rate *rate, uint32_t address, bool known, int64_t now_ms);
