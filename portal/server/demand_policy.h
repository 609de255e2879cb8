/* How much one who is logged in may ask of us: requests a second, requests and streams at once, bytes in flight. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/source_rate.h"

struct demand_limits {
	struct rate_limit rate;     /* of requests */
	unsigned requests, streams; /* at the same time */
	uint64_t bytes;             /* of bodies that are read and answers that are not taken yet */
};

/* What one has of us now. Zero bytes: nothing. */
struct demand {
	struct rate_bucket bucket;
	unsigned requests, streams;
	uint64_t bytes;
};

enum demand_kind { DEMAND_REQUEST, DEMAND_STREAM, DEMAND_KINDS };

enum demand_verdict {
	DEMAND_FINE,
	DEMAND_TOO_FAST,
	DEMAND_TOO_MANY,
	DEMAND_TOO_MANY_STREAMS,
	DEMAND_TOO_LARGE,
	DEMAND_VERDICTS,
};

/* One more request of `bytes` that are still to be read. It costs a token, granted or not. */
enum demand_verdict demand_judge(struct demand *demand, const struct demand_limits *limits,
				 enum demand_kind kind, uint64_t bytes, int64_t now_ms);
void demand_begin(struct demand *demand, enum demand_kind kind, uint64_t bytes);
void demand_end(struct demand *demand, enum demand_kind kind, uint64_t bytes);
/* Whole seconds until there is a token, at least 1. */
unsigned demand_wait_s(const struct demand *demand, const struct rate_limit *rate);
/* Nothing is under way, and its tokens are all back: it may be forgotten. */
bool demand_is_idle(const struct demand *demand, const struct rate_limit *rate, int64_t now_ms);
