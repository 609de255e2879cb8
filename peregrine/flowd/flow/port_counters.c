#include "peregrine/flowd/flow/port_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/attribution_index.h"

/* Faster than any port: a counter that went back looks like this after subtraction. */
#define BYTES_PER_SECOND_MAX (2e12 / 8)
/* Two readings further apart say little about either bucket. */
#define INTERVAL_MAX_US (15LL * 60 * 1000000)
/* What a datagram may be late; a larger difference to our clock is an agent's that began anew. */
#define LATE_MAX_US (5LL * 1000000)

/* A switch that sent readings so lately sends them still. */
#define OWN_US (3LL * 60 * 1000000)

enum { MINUTE_S = 60 };

struct port_slot {
	uint32_t number; /* since 1970; 0 = empty */
	float seconds;
	uint64_t out_bytes, out_sampled;
};

struct port_state {
	int64_t at_us;
	struct port_reading last;
	struct port_rates rates;
	int64_t summed_us; /* the last interval of somebody else's that was */
	struct port_sums sums[TRAFFIC_STEP_COUNT], taken;
	/* By number; NULL: nothing left there yet, and samples do not say so either. */
	struct port_slot *slots;
	/* Until then: seconds without traffic, and the number that they began at (0 = none). */
	double idle_seconds;
	uint32_t idle_from;
};

struct port_counters {
	struct port_state *ports; /* by place */
	size_t count, slot_count;
	int64_t minute_s, second_s;
	int64_t known_s; /* the last second_s that was known */
};

int port_counters_new(unsigned seconds, struct port_counters **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	/* The minute under way, and the one that the first second is in. */
	(*ret)->slot_count = seconds / PORT_SLOT_S + 2 * MINUTE_S / PORT_SLOT_S;
	return 0;
}

void port_counters_free(struct port_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->count; i++)
		free(counters->ports[i].slots);
	free(counters->ports);
	free(counters);
}

static struct port_state *state_of(struct port_counters *counters, uint32_t place)
{
	size_t room = counters->count ? counters->count : 64;
	struct port_state *ports;

	if (place < counters->count)
		return &counters->ports[place];
	while (room <= place)
		room *= 2;
	ports = reallocarray(counters->ports, room, sizeof(*ports));
	if (!ports)
		return NULL;
	counters->ports = ports;
	memset(ports + counters->count, 0, (room - counters->count) * sizeof(*ports));
	counters->count = room;
	return &ports[place];
}

/* Some agents keep octets in 32 bits and fill the rest with zeros. */
static uint64_t octets_between(uint64_t before, uint64_t now)
{
	if (now < before && before <= UINT32_MAX)
		return (uint32_t)((uint32_t)now - (uint32_t)before);
	return now - before;
}

static void values_between(const struct port_reading *before, const struct port_reading *now,
			   uint64_t ret[PORT_COUNTER_COUNT])
{
	ret[COUNTER_IN_BYTES] = octets_between(before->in_octets, now->in_octets);
	ret[COUNTER_OUT_BYTES] = octets_between(before->out_octets, now->out_octets);
	ret[COUNTER_IN_PACKETS] = now->in_packets - before->in_packets;
	ret[COUNTER_OUT_PACKETS] = now->out_packets - before->out_packets;
	ret[COUNTER_IN_ERRORS] = now->in_errors - before->in_errors;
	ret[COUNTER_OUT_ERRORS] = now->out_errors - before->out_errors;
	ret[COUNTER_IN_DISCARDS] = now->in_discards - before->in_discards;
	ret[COUNTER_OUT_DISCARDS] = now->out_discards - before->out_discards;
}

/* No more than the port can carry, and a little for the time of the readings. A frame has at least
 * 64 bytes: packets and errors of a counter that began anew are as impossible as its octets. */
static bool is_possible(const uint64_t values[PORT_COUNTER_COUNT], double seconds,
			uint64_t speed_bps)
{
	double most = speed_bps ? (double)speed_bps / 8 * 1.25 : BYTES_PER_SECOND_MAX;

	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++) {
		bool bytes = i == COUNTER_IN_BYTES || i == COUNTER_OUT_BYTES;

		if ((double)values[i] > most / (bytes ? 1 : 64) * seconds)
			return false;
	}
	return true;
}

static int64_t interval_between(const struct port_reading *before, const struct port_reading *now,
				int64_t ours_us)
{
	int64_t told_us = (int64_t)(uint32_t)(now->uptime_ms - before->uptime_ms) * 1000;

	if (!before->uptime_ms || !now->uptime_ms || llabs(told_us - ours_us) > LATE_MAX_US)
		return ours_us;
	return told_us;
}

/* The slot's number of what comes now and was read at `at_s`: never of a second that is over in
 * memory, and in the minute whose sums it is in. */
static uint32_t number_of(const struct port_counters *counters, int64_t at_s)
{
	int64_t end_s = counters->minute_s + MINUTE_S - 1;

	if (at_s < counters->second_s)
		at_s = counters->second_s;
	if (at_s < counters->minute_s)
		at_s = counters->minute_s;
	if (at_s > end_s)
		at_s = end_s;
	return (uint32_t)(at_s / PORT_SLOT_S);
}

/* Until now nothing left there: that time is spread over its slots. */
static void slots_begin(const struct port_counters *counters, struct port_state *state,
			uint32_t number)
{
	uint32_t first = state->idle_from;
	uint32_t last = number > first ? number - 1 : number;
	double each;

	state->slots = calloc(counters->slot_count, sizeof(*state->slots));
	if (!state->slots || !first || first > number)
		return;
	each = state->idle_seconds / (last - first + 1);
	if (last - first >= counters->slot_count)
		first = last - (uint32_t)counters->slot_count + 1;
	for (uint32_t i = first; i <= last; i++)
		state->slots[i % counters->slot_count] =
			(struct port_slot){.number = i, .seconds = (float)each};
}

static void add_to_slot(const struct port_counters *counters, struct port_state *state,
			uint32_t number, double seconds, uint64_t out_bytes, uint64_t out_sampled)
{
	struct port_slot *slot;

	if (!state->slots && !out_bytes && !out_sampled) {
		if (!state->idle_from || state->idle_from > number) {
			state->idle_from = number;
			state->idle_seconds = 0;
		}
		state->idle_seconds += seconds;
		return;
	}
	if (!state->slots)
		slots_begin(counters, state, number);
	if (!state->slots) /* no memory: it is not scaled by what it counted */
		return;
	slot = &state->slots[number % counters->slot_count];
	if (slot->number != number)
		*slot = (struct port_slot){.number = number};
	slot->seconds += (float)seconds;
	slot->out_bytes += out_bytes;
	slot->out_sampled += out_sampled;
}

static void add_up(const struct port_counters *counters, struct port_state *state, int64_t at_s,
		   double seconds, const uint64_t values[PORT_COUNTER_COUNT], uint64_t out_sampled)
{
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT; step++) {
		for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
			state->sums[step].values[i] += values[i];
		state->sums[step].seconds += seconds;
		state->sums[step].out_sampled += out_sampled;
	}
	add_to_slot(counters, state, number_of(counters, at_s), seconds, values[COUNTER_OUT_BYTES],
		    out_sampled);
}

bool port_counters_note(struct port_counters *counters, uint32_t place, int64_t at_us,
			const struct port_reading *reading)
{
	struct port_state *state = state_of(counters, place);
	uint64_t values[PORT_COUNTER_COUNT];
	int64_t interval_us;
	uint64_t sampled;
	double seconds;
	bool follows;

	if (!state)
		return false;
	interval_us = interval_between(&state->last, reading, at_us - state->at_us);
	seconds = (double)interval_us / 1e6;
	values_between(&state->last, reading, values);
	sampled = reading->out_sampled - state->last.out_sampled;
	follows = state->at_us && interval_us > 0 && interval_us <= INTERVAL_MAX_US &&
		  is_possible(values, seconds, reading->speed_bps);
	state->last = *reading;
	state->at_us = at_us;
	state->rates.speed_bps = reading->speed_bps;
	state->rates.up = reading->up;
	if (!follows) {
		state->idle_from = 0;
		return false;
	}
	state->rates.at_us = at_us;
	state->rates.seconds = seconds;
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		state->rates.per_second[i] = (double)values[i] / seconds;
	add_up(counters, state, at_us / 1000000, seconds, values, sampled);
	return true;
}

/* The clock was set back: what was of these numbers before is not of the time that comes now. */
static void clear_from(struct port_counters *counters, uint32_t number)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct port_slot *slots = counters->ports[i].slots;

		counters->ports[i].idle_from = 0;
		for (size_t j = 0; slots && j < counters->slot_count; j++)
			if (slots[j].number >= number)
				slots[j] = (struct port_slot){0};
	}
}

void port_counters_begin(struct port_counters *counters, int64_t minute_s, int64_t second_s)
{
	if (second_s && second_s < counters->known_s)
		clear_from(counters, (uint32_t)(second_s / PORT_SLOT_S));
	if (second_s)
		counters->known_s = second_s;
	counters->minute_s = minute_s;
	counters->second_s = second_s;
}

static bool is_own(const struct port_state *state, int64_t at_us)
{
	return state->at_us && at_us - state->at_us < OWN_US;
}

bool port_counters_tell(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates)
{
	struct port_state *state = state_of(counters, place);

	if (!state || rates->at_us <= state->rates.at_us || is_own(state, rates->at_us))
		return false;
	state->rates = *rates;
	return true;
}

bool port_counters_wants(const struct port_counters *counters, uint32_t place, int64_t at_us)
{
	const struct port_state *state = place < counters->count ? &counters->ports[place] : NULL;

	return state && at_us > state->summed_us && !is_own(state, at_us);
}

bool port_counters_sum(struct port_counters *counters, uint32_t place,
		       const struct port_rates *rates, uint64_t out_sampled)
{
	uint64_t values[PORT_COUNTER_COUNT] = {0};
	struct port_state *state;

	if (!port_counters_wants(counters, place, rates->at_us) ||
	    isnan(rates->per_second[COUNTER_OUT_BYTES]))
		return false;
	state = &counters->ports[place];
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		if (!isnan(rates->per_second[i]))
			values[i] = (uint64_t)llround(rates->per_second[i] * rates->seconds);
	state->summed_us = rates->at_us;
	add_up(counters, state, rates->at_us / 1000000, rates->seconds, values, out_sampled);
	return true;
}

const struct port_rates *port_counters_rates(const struct port_counters *counters, uint32_t place)
{
	if (place >= counters->count || !counters->ports[place].rates.at_us)
		return NULL;
	return &counters->ports[place].rates;
}

const struct port_sums *port_counters_take(struct port_counters *counters, uint32_t place,
					   enum traffic_step step)
{
	struct port_state *state;

	if (place >= counters->count || counters->ports[place].sums[step].seconds <= 0)
		return NULL;
	state = &counters->ports[place];
	state->taken = state->sums[step];
	state->sums[step] = (struct port_sums){0};
	return &state->taken;
}

bool port_counters_of(const struct port_counters *counters, uint32_t place, int64_t from_s,
		      int64_t to_s, struct port_time *ret)
{
	const struct port_slot *slots =
		place < counters->count ? counters->ports[place].slots : NULL;

	*ret = (struct port_time){0};
	if (!slots)
		return false;
	for (int64_t i = from_s / PORT_SLOT_S; i < to_s / PORT_SLOT_S; i++) {
		const struct port_slot *slot = &slots[(size_t)i % counters->slot_count];

		if (slot->number != (uint32_t)i)
			continue;
		ret->seconds += (double)slot->seconds;
		ret->out_bytes += slot->out_bytes;
		ret->out_sampled += slot->out_sampled;
	}
	return ret->seconds > 0;
}
