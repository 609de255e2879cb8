#include "peregrine/control/health/counter_policy.h"

#include <stdlib.h>

enum {
	INTERVAL_MAX_MS = 15 * 60 * 1000, /* further apart, they say little of any minute */
	LATE_MAX_MS = 5000, /* between a switch's clock and ours: what an answer may be late */
	FRAME_MIN = 84,     /* octets of the least frame on the wire, with preamble and gap */
};
#define UPTIME_WRAP_MS (10ULL << 32) /* TimeTicks are hundredths of a second */
#define NARROW         4294967296.0
/* A reading takes a while: a counter may be a little ahead of the clock. */
#define SLACK 1.25
/* Where a port does not tell its speed: faster than any. */
#define SPEED_MAX 2e12

double counter_seconds(const struct counter_look *before, const struct counter_look *now)
{
	int64_t ours_ms = now->at_ms - before->at_ms;
	int64_t told_ms = ours_ms;

	if (ours_ms <= 0 || ours_ms > INTERVAL_MAX_MS)
		return 0;
	if (before->uptime_ms && now->uptime_ms) {
		told_ms = (int64_t)(now->uptime_ms - before->uptime_ms);
		if (told_ms < 0)
			told_ms += (int64_t)UPTIME_WRAP_MS;
		/* It is up for less time than it was: unless that was a wrap, it began anew. */
		if (now->uptime_ms < before->uptime_ms && llabs(told_ms - ours_ms) > LATE_MAX_MS)
			return 0;
	}
	return (double)(llabs(told_ms - ours_ms) > LATE_MAX_MS || told_ms <= 0 ? ours_ms
									       : told_ms) /
	       1000;
}

static bool is_bytes(unsigned count)
{
	return count == COUNT_IN_BYTES || count == COUNT_OUT_BYTES;
}

static bool is_packets(unsigned count)
{
	return count == COUNT_IN_PACKETS || count == COUNT_OUT_PACKETS;
}

/* What the port could count in that time at most. */
static double most_of(unsigned count, uint64_t speed_bps, double seconds)
{
	double bytes = (speed_bps ? (double)speed_bps : SPEED_MAX) / 8 * seconds;

	return is_bytes(count) ? bytes : bytes / FRAME_MIN;
}

static bool counter_policy_difference(const struct port_health *before,
				      const struct port_health *now, unsigned count, double seconds,
				      uint64_t *ret)
{
	bool wide = now->wide & (1U << count);
	double most = most_of(count, now->speed_bps, seconds);
	uint64_t between;

	if (wide != ((before->wide & (1U << count)) != 0))
		return false;
	if (wide) {
		between = now->counts[count] - before->counts[count];
		if (now->counts[count] < before->counts[count])
			return false;
	} else {
		between = (uint32_t)(now->counts[count] - before->counts[count]);
		if ((is_bytes(count) || is_packets(count)) && most * SLACK >= NARROW)
			return false;
		if (!is_bytes(count) && !is_packets(count) && between > UINT32_MAX / 2)
			return false;
	}
	if ((double)between > most * SLACK)
		return false;
	*ret = between;
	return true;
}

bool counter_interval(const struct port_health *before, const struct port_health *now,
		      double seconds, struct counter_interval *ret)
{
	*ret = (struct counter_interval){.seconds = seconds};
	if (seconds <= 0 || before->discontinuity != now->discontinuity)
		return false;
	for (unsigned i = 0; i < PORT_COUNTS; i++) {
		if ((before->known & now->known & (1U << i)) &&
		    counter_policy_difference(before, now, i, seconds, &ret->values[i]))
			ret->known |= (uint8_t)(1U << i);
	}
	return ret->known != 0;
}
