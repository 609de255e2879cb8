/* Token buckets: how many requests an interface and a client may make. The clients' are a fixed
 * table, in which one that shares a place with another takes it over: memory is bounded, and what a
 * flood of made-up MACs may do is bounded by the interface's bucket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/mac.h"

#define RATE_PLACES 4096

struct rate_limit {
	uint32_t burst, per_second; /* per_second 0 = no limit */
};

/* Zero bytes are a fresh bucket, which is full. */
struct rate_bucket {
	bool used;
	uint32_t tokens_milli;
	int64_t last_ms;
};

struct rate_clients {
	struct {
		uint64_t client;
		struct rate_bucket bucket;
	} places[RATE_PLACES];
};

bool rate_allows(struct rate_bucket *bucket, struct rate_limit limit, int64_t now_ms);
bool rate_allows_client(struct rate_clients *clients, struct rate_limit limit, struct mac mac,
			int64_t now_ms);
