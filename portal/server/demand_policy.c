#include "portal/server/demand_policy.h"

#define DEMAND_TOKEN 1000 /* as rate_bucket counts */

enum demand_verdict demand_judge(struct demand *demand, const struct demand_limits *limits,
				 enum demand_kind kind, uint64_t bytes, int64_t now_ms)
{
	if (!rate_bucket_take(&demand->bucket, &limits->rate, now_ms))
		return DEMAND_TOO_FAST;
	if (kind == DEMAND_STREAM && demand->streams >= limits->streams)
		return DEMAND_TOO_MANY_STREAMS;
	if (kind == DEMAND_REQUEST && demand->requests >= limits->requests)
		return DEMAND_TOO_MANY;
	/* The first may be larger than the limit: else it never could be asked. */
	if (demand->bytes > 0 &&
	    (demand->bytes >= limits->bytes || bytes > limits->bytes - demand->bytes))
		return DEMAND_TOO_LARGE;
	return DEMAND_FINE;
}

void demand_begin(struct demand *demand, enum demand_kind kind, uint64_t bytes)
{
	(*(kind == DEMAND_STREAM ? &demand->streams : &demand->requests))++;
	demand->bytes += bytes;
}

void demand_end(struct demand *demand, enum demand_kind kind, uint64_t bytes)
{
	(*(kind == DEMAND_STREAM ? &demand->streams : &demand->requests))--;
	demand->bytes -= bytes;
}

unsigned demand_wait_s(const struct demand *demand, const struct rate_limit *rate)
{
	int64_t room = (int64_t)rate->burst * DEMAND_TOKEN - DEMAND_TOKEN;
	int64_t lacks = (int64_t)demand->bucket.spent_milli - room;
	int64_t a_second = (int64_t)rate->per_second * DEMAND_TOKEN;
	int64_t wait_s = lacks > 0 ? (lacks + a_second - 1) / a_second : 1;

	return wait_s > 0 ? (unsigned)wait_s : 1;
}

bool demand_is_idle(const struct demand *demand, const struct rate_limit *rate, int64_t now_ms)
{
	int64_t passed_ms = now_ms - demand->bucket.last_ms;

	return demand->requests == 0 && demand->streams == 0 && passed_ms >= 0 &&
	       passed_ms >= demand->bucket.spent_milli / rate->per_second;
}
