/* What the cache counts, and its rows for metrics_write. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/metrics.h"
#include "common/tftp/tftp_server.h"

struct cache_counters {
	uint64_t file_hits, file_misses, file_stale, file_missing;
	uint64_t image_hits, image_misses, image_joined, refused;
	uint64_t upstream_bytes, upstream_heads, upstream_failures, resumed;
	uint64_t proxied, proxy_failures;
	uint64_t published, evicted, digest_failures, crowded;
	uint64_t objects, bytes, limit, filling, streams;
	uint64_t controller_away; /* 0 or 1 */
	struct tftp_counters tftp;
};

extern const struct metric_row cache_counter_rows[];
extern const size_t cache_counter_row_count;
