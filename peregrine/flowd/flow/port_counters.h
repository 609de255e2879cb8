/* Interface counters: readings of whatever source (sFlow counter samples, SNMP) to exact sums per
 * port and bucket, and to the rates of the last interval. Wraps of 32 and 64 bits, agents that
 * began anew and readings that go back are told apart: a difference that cannot be is nobody's
 * traffic. */
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
	/* By the time of the ring, whose seconds are those that samples are counted in. */
	int64_t seen_us;
	/* By the agent's own clock, which knows better than we when it looked: readings come in
	 * bunches when anybody on their way is busy. Wraps; 0 = not told. */
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
	uint64_t out_sampled; /* what samples said in the same time */
	bool unsampled;       /* of some of it nobody knows what they said */
};

/* One port's counted bytes that left there in some time, and the samples of the same seconds. They
 * are of intervals between readings, which begin and end where the readings do.
 *
 * An interval belongs to one second: the one that ended last when the interval is summed up. That
 * is the second of its later reading, unless the reading came late. The second of an interval does
 * not change any more once it is over in memory (traffic_ring). Else the parts of a whole would be
 * scaled otherwise a second later.
 *
 * So a whole minute has the same intervals as in port_sums, and times that follow each other have
 * each interval once. A port's are kept from the first bytes that leave it on; its time without any
 * before counts then. */
struct port_time {
	double seconds; /* of the time asked for that they cover */
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

/* Intervals of the last `seconds` and of the minutes that they begin and end in are kept: 40 bytes
 * each, of each port that anything ever left. -ENOMEM. */
MUST_USE int port_counters_new(unsigned seconds, struct port_counters **ret);
void port_counters_free(struct port_counters *counters);
/* A reading of a place at a time. False: the first one, or one that does not follow the last:
 * nothing is summed up. Rates are told at once, sums when the seconds are over. */
bool port_counters_note(struct port_counters *counters, uint32_t place, int64_t at_us,
			const struct port_reading *reading);
/* Rates that somebody else has formed (SNMP); NAN = not known. They count while the port's own
 * switch sends no readings. False: they are no news. */
bool port_counters_tell(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates);
/* The same interval to be summed up. What of it is not known counts nothing; without bytes that
 * left it is not. False: nor is it where it was, or where the port's own switch sends readings. */
bool port_counters_wait(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates);
/* Sums up intervals whose seconds are over in the ring, beside the samples of the same time. Called
 * after each second that ends, before anybody is told of it. `minute_s`: the begin of their minute.
 * Where the ring lacks seconds, only the switch's own readings count, and as not sampled. A last
 * second before the one of the last call: the clock was set back, and later seconds are forgotten.
 */
void port_counters_sum(struct port_counters *counters, const struct traffic_ring *ring,
		       int64_t minute_s);
/* NULL when nothing is known of it. */
const struct port_rates *port_counters_rates(const struct port_counters *counters, uint32_t place);
/* The sums of one step since it was last taken; NULL = none. Then they are empty. */
const struct port_sums *port_counters_take(struct port_counters *counters, uint32_t place,
					   enum traffic_step step);
/* What is kept of from_s <= second < to_s; to_s is no later than the last second's end. False:
 * nothing is, or never yet did anything leave there. */
bool port_counters_of(const struct port_counters *counters, uint32_t place, int64_t from_s,
		      int64_t to_s, struct port_time *ret);
