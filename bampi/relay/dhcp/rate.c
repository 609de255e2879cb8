#include "bampi/relay/dhcp/rate.h"

#include <stddef.h>

#include "common/base/hash.h"

#define TOKEN 1000U

bool rate_allows(struct rate_bucket *bucket, struct rate_limit limit, int64_t now_ms)
{
	int64_t full = (int64_t)limit.burst * TOKEN;
	int64_t passed = bucket->used ? now_ms - bucket->last_ms : 0;
	int64_t tokens = bucket->used ? bucket->tokens_milli : full;

	if (limit.per_second == 0)
		return true;
	/* A token is 1000, so a millisecond brings per_second of them. A long silence fills it. */
	tokens = passed > full ? full : tokens + passed * limit.per_second;
	if (tokens > full)
		tokens = full;
	bucket->used = true;
	bucket->last_ms = now_ms;
	bucket->tokens_milli = (uint32_t)(tokens < TOKEN ? tokens : tokens - TOKEN);
	return tokens >= TOKEN;
}

bool rate_allows_client(struct rate_clients *clients, struct rate_limit limit, struct mac mac,
			int64_t now_ms)
{
	uint64_t client = mac_key(mac);
	size_t place = (size_t)hash_spread(client) % RATE_PLACES;

	if (clients->places[place].client != client) {
		clients->places[place].client = client;
		clients->places[place].bucket = (struct rate_bucket){0};
	}
	return rate_allows(&clients->places[place].bucket, limit, now_ms);
}
