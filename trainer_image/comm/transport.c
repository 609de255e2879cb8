#include "trainer_image/comm/transport.h"

#include "common/base/clock.h"

#include "trainer_image/comm/transport_private.h"

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
