/* Interface counters: turns readings of any source (sFlow counter samples, SNMP) into exact sums
 * per port and bucket, and into the rates of the last interval. It distinguishes wraps of 32 and 64
 * bits, restarted agents and readings that go back. An impossible difference is not counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/rollup.h"

struct port_reading {
	uint64_t in_octets, out_octets;
	uint32_t in_packets, out_packets; /* unicast, multicast and broadcast; wrap */
	uint32_t in_errors, out_errors, in_discards, out_discards;
	uint64_t speed_bps;
	bool up;
	/* Time of the ring (traffic_ring.h): samples are counted in its seconds. */
	int64_t seen_us;
	/* Time of the reading by the agent's own clock. It is more exact than the arrival: a busy
	 * network delivers readings in bunches. Wraps; 0 = not reported. */
	uint32_t uptime_ms;
};

enum port_counter {
	COUNTER_IN_BYTES,
	COUNTER_OUT_BYTES,
	COUNTER_IN_PACKETS,
	COUNTER_OUT_PACKETS,
	COUNTER_IN_ERRORS,
	COUNTER_OUT_ERRORS,
	COUNTER_IN_DISCARDS,
	COUNTER_OUT_DISCARDS,
	PORT_COUNTER_COUNT
};

/* What one port counted in one bucket. */
struct port_sums {
	double seconds; /* covered by pairs of readings */
	uint64_t values[PORT_COUNTER_COUNT];
	uint64_t out_sampled; /* the samples' estimate for the same time */
	bool unsampled;       /* the samples of a part of that time are not known */
};

/* The bytes that left by a port in a time range, as counted, and the samples of the same seconds.
 * They come from intervals between readings, so they begin and end with a reading.
 *
 * An interval belongs to one second: the one that ended last when the interval is summed up. That
 * is the second of its later reading, unless the reading came late. Once that second has ended in
 * memory (traffic_ring), the interval keeps it. Else the parts of a whole would be scaled
 * differently a second later.
 *
 * So a whole minute has the same intervals as in port_sums, and adjacent time ranges share no
 * interval. A port's intervals are kept from the first byte that leaves it; its silent time before
 * that counts then. */
struct port_time {
	double seconds; /* seconds of the range that the intervals cover */
	uint64_t out_bytes, out_sampled;
	int64_t from_us, to_us; /* from the first one's begin to the last one's end */
};

/* The last interval between two readings. */
struct port_rates {
	int64_t at_us; /* of the later reading; 0 = none yet */
	double seconds;
	uint64_t speed_bps;
	bool up;
	double per_second[PORT_COUNTER_COUNT];
};

struct port_counters;

/* Keeps the intervals of the last `seconds`, and of the minutes at both ends: 40 bytes each, for
 * each port with any output. -ENOMEM. */
MUST_USE int port_counters_new(unsigned seconds, struct port_counters **ret);
void port_counters_free(struct port_counters *counters);
/* Takes a reading of a place. False: it is the first, or does not follow the last, so it forms no
 * interval. Rates are available at once, sums when the seconds have ended. */
bool port_counters_note(struct port_counters *counters, uint32_t place, int64_t at_us,
			const struct port_reading *reading);
/* Takes rates that another module computed (SNMP); NAN = not known. They count while the port's own
 * switch sends no readings. False: they are not new. */
bool port_counters_tell(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates);
/* Adds the same interval to the sums. An unknown counter adds 0; an interval without known output
 * bytes is ignored. False: ignored, also if it was added before or the port's own switch sends
 * readings. */
bool port_counters_wait(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates);
/* Sums up the intervals whose seconds have ended in the ring, beside the samples of the same time.
 * Call it after the end of each second, before readers learn of that second. `minute_s`: the begin
 * of their minute. Where the ring lacks seconds, only the switch's own readings count, as not
 * sampled. A last second before that of the previous call means that the clock was set back: later
 * seconds are forgotten. */
void port_counters_sum(struct port_counters *counters, const struct traffic_ring *ring,
		       int64_t minute_s);
/* NULL = no rates are known. */
const struct port_rates *port_counters_rates(const struct port_counters *counters, uint32_t place);
/* Takes the sums of one step since the last take, and resets them; NULL = none. */
const struct port_sums *port_counters_take(struct port_counters *counters, uint32_t place,
					   enum traffic_step step);
/* The intervals kept for from_s <= second < to_s; to_s is not after the end of the last second.
 * False: none are kept, or no byte ever left there. */
bool port_counters_of(const struct port_counters *counters, uint32_t place, int64_t from_s,
		      int64_t to_s, struct port_time *ret);
