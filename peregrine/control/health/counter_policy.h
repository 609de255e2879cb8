/* Two looks at the counters of a port: what was counted between them, or that nobody can know. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "peregrine/switch/switch_health.h"

/* Of the whole switch. */
struct counter_look {
	int64_t at_ms;      /* ours, when the answer came */
	uint64_t uptime_ms; /* sysUpTime; wraps after 497 days; 0 = not told */
};

struct counter_interval {
	double seconds;
	uint64_t values[PORT_COUNTS];
	uint8_t known; /* bits of enum port_count */
};

/* Seconds between two looks: by the switch's clock unless that is odd. 0: it began anew between
 * them, or they are too far apart, so nothing is known. */
double counter_seconds(const struct counter_look *before, const struct counter_look *now);
/* False: no counter of the port is known for that time. What follows from it:
 *   - the port's ifCounterDiscontinuityTime differs: nothing;
 *   - a counter of 64 bits went back: not that one;
 *   - one of 32 bits may have wrapped once, but not where it could have twice, nor by more than the
 *     port can carry; one of errors or discards that lost more than half of its range was cleared.
 */
bool counter_interval(const struct port_health *before, const struct port_health *now,
		      double seconds, struct counter_interval *ret);
