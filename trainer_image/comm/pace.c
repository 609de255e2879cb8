#include "trainer_image/comm/pace.h"

/* What an idle link has saved up: none, or a burst would be faster than the link. */
#define PACE_BURST_US 1000.0

void pace_set(struct pace *pace, double bytes_per_s, int64_t now_us)
{
	pace->bytes_per_us = bytes_per_s / 1e6;
	pace->at_us = (double)now_us;
}

size_t pace_allows(const struct pace *pace, int64_t now_us, size_t size)
{
	size_t burst;

	if (pace->bytes_per_us <= 0)
		return size;
	if ((double)now_us < pace->at_us)
		return 0;
	burst = (size_t)(pace->bytes_per_us * PACE_BURST_US);
	if (burst < 1)
		burst = 1;
	return size < burst ? size : burst;
}

/* A sender that came late by less than a burst has not been idle: the link makes up for it. */
void pace_sent(struct pace *pace, int64_t now_us, size_t size)
{
	if (pace->bytes_per_us <= 0)
		return;
	if (pace->at_us < (double)now_us - PACE_BURST_US)
		pace->at_us = (double)now_us - PACE_BURST_US;
	pace->at_us += (double)size / pace->bytes_per_us;
}

int64_t pace_wait_us(const struct pace *pace, int64_t now_us)
{
	double wait = pace->at_us - (double)now_us;

	return pace->bytes_per_us <= 0 || wait <= 0 ? 0 : (int64_t)wait + 1;
}
