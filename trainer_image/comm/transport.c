#include "trainer_image/comm/transport.h"

#include "common/base/clock.h"

#include "trainer_image/comm/transport_private.h"

enum { TRANSPORT_STOPPED_US = 1000000 };

uint64_t transport_sent(const struct transport *transport)
{
	uint64_t sent = 0;

	for (int i = 0; i < transport->ranks; i++)
		sent += transport->sent[i];
	return sent;
}

void transport_pace(struct transport *transport, double bytes_per_s)
{
	for (int i = 0; i < transport->ranks; i++)
		pace_set(&transport->paces[i], bytes_per_s, clock_monotonic_us());
}

void transport_still_moved(struct transport_still *still)
{
	still->moved_us = still->looked_us = clock_monotonic_us();
}

int64_t transport_still_us(struct transport_still *still)
{
	int64_t now_us = clock_monotonic_us();

	if (now_us - still->looked_us > TRANSPORT_STOPPED_US)
		still->moved_us += now_us - still->looked_us;
	still->looked_us = now_us;
	return now_us - still->moved_us;
}

int transport_patience(struct transport *transport, const struct transport_exchange *is,
		       int64_t still_us)
{
	if (atomic_load(&transport->stopped))
		return -ECANCELED;
	if (still_us < transport->patience_ms * 1000)
		return 0;
	transport->blamed = is->in_size > 0 ? is->from : is->to;
	return -ETIMEDOUT;
}
