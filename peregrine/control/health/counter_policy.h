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

/* Seconds between two polls, by the switch's clock unless that clock is implausible. 0: the switch
 * restarted in between, or the polls are too far apart, so no counter is known. */
double counter_seconds(const struct counter_look *before, const struct counter_look *now);
/* False: no counter of the port is known for that time.
 *
 *   - The port's ifCounterDiscontinuityTime differs: no counter is known.
 *   - A counter of 64 bits went back: this counter is not known.
 *     - A counter of 32 bits may have wrapped once. It is not known if it could have wrapped
 *     twice, or if the difference is more than the port can carry.
 *   - A 32-bit counter of errors or discards that lost more than half of its range was cleared:
 *     it is not known. */
bool counter_interval(const struct port_health *before, const struct port_health *now,
		      double seconds, struct counter_interval *ret);
