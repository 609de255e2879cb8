#include "bampi/bootd/dhcp/throttle.h"

#define TOKEN 1000U

bool throttle_allows(struct throttle *throttle, struct mac mac, int64_t now_ms)
{
	uint64_t key = mac_key(mac);
	size_t place = (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 52) % THROTTLE_PLACES;
	int64_t gained;

	if (throttle->places[place].mac != key) {
		throttle->places[place].mac = key;
		throttle->places[place].last_ms = now_ms;
		throttle->places[place].tokens_milli = THROTTLE_BURST * TOKEN;
	}
	/* One token is 1000, so a millisecond brings THROTTLE_PER_SECOND of them. */
	gained = (now_ms - throttle->places[place].last_ms) * THROTTLE_PER_SECOND;
	if (gained > THROTTLE_BURST * (int64_t)TOKEN)
		gained = THROTTLE_BURST * (int64_t)TOKEN;
	throttle->places[place].last_ms = now_ms;
	throttle->places[place].tokens_milli += (uint32_t)gained;
	if (throttle->places[place].tokens_milli > THROTTLE_BURST * TOKEN)
		throttle->places[place].tokens_milli = THROTTLE_BURST * TOKEN;
	if (throttle->places[place].tokens_milli < TOKEN)
		return false;
	throttle->places[place].tokens_milli -= TOKEN;
	return true;
}
