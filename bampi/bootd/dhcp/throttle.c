#include "bampi/bootd/dhcp/throttle.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/hash.h"

#define TOKEN 1000

int throttle_init(struct throttle *throttle, const struct throttle_rate *rate)
{
	throttle->rate = *rate;
	throttle->places = calloc(rate->places, sizeof(*throttle->places));
	return throttle->places ? 0 : -ENOMEM;
}

void throttle_done(struct throttle *throttle)
{
	free(throttle->places);
	throttle->places = NULL;
}

bool throttle_allows(struct throttle *throttle, uint64_t key, int64_t now_ms)
{
	const struct throttle_rate *rate = &throttle->rate;
	int64_t full = (int64_t)rate->burst * TOKEN;
	size_t number = (size_t)hash_spread(key) & (rate->places - 1);
	struct throttle_place *place = &throttle->places[number];
	int64_t passed_ms = now_ms - place->last_ms;

	if (rate->per_second == 0)
		return true;
	if (place->key != key && (!rate->inherit || place->key == 0))
		place->tokens_milli = full;
	place->key = key;
	place->last_ms = now_ms;
	/* One token is 1000, so a millisecond brings per_second of them. */
	if (passed_ms > full / rate->per_second)
		place->tokens_milli = full;
	else if (passed_ms > 0)
		place->tokens_milli += passed_ms * rate->per_second;
	if (place->tokens_milli > full)
		place->tokens_milli = full;
	if (place->tokens_milli < TOKEN)
		return false;
	place->tokens_milli -= TOKEN;
	return true;
}
