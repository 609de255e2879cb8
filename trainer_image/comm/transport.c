#include "trainer_image/comm/transport.h"

#include <time.h>

#include "trainer_image/comm/transport_private.h"

int64_t transport_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

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
		pace_set(&transport->paces[i], bytes_per_s, transport_now_us());
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
