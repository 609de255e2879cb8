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

#define PORT_COUNTERS_SECOND_US INT64_C(1000000)

enum {
	MINUTE_S = 60,
	WAITING_MAX = 1 << 16, /* intervals of all ports: three seconds of twenty thousand */
	KEPT_FIRST = 16
};

/* Between two readings, by the ring's time, until its seconds are over there. */
struct port_counters_waiting {
	struct ring_span span;
	bool own; /* of the port's own switch */
	double seconds;
	uint64_t values[PORT_COUNTER_COUNT];
};

struct kept_interval {
	int64_t from_us, to_us;
	uint64_t out_bytes, out_sampled;
	int64_t booked_s; /* ascending; 0 = nothing left there until then */
};

struct port_state {
	int64_t at_us;
	struct port_reading last;
	struct port_rates rates;
	int64_t summed_us; /* the last interval of somebody else's that was */
	struct port_sums sums[TRAFFIC_STEP_COUNT], taken;
	/* NULL: nothing left there yet, and samples do not say so either. */
	struct kept_interval *kept;
	uint32_t kept_count, kept_room;
	int64_t idle_from_us; /* of the time until then; 0 = not known */
};

struct port_counters {
	struct port_state *ports; /* by place */
	size_t count;
	unsigned seconds; /* that are kept */
	struct port_counters_waiting *waiting;
	size_t waiting_count, waiting_room;
	int64_t second_s; /* the last one that was summed up */
};

int port_counters_new(unsigned seconds, struct port_counters **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	/* The minute under way, and the one that the first second is in. */
	(*ret)->seconds = seconds + 2 * MINUTE_S;
	return 0;
}

void port_counters_free(struct port_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->count; i++)
		free(counters->ports[i].kept);
	free(counters->ports);
	free(counters->waiting);
	free(counters);
}

static struct port_state *port_counters_state_of(struct port_counters *counters, uint32_t place)
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

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- intervals that wait for their seconds --- */

static void add_to_sums(struct port_state *state, const struct port_counters_waiting *waiting,
			bool sampled)
{
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT; step++) {
		struct port_sums *sums = &state->sums[step];

		for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
			sums->values[i] += waiting->values[i];
		sums->seconds += waiting->seconds;
		sums->out_sampled += (uint64_t)llround(waiting->span.out_bytes);
		sums->unsampled = sums->unsampled || !sampled;
	}
}

/* What is too old goes when there is no room; then there is more. */
static bool port_counters_make_room(const struct port_counters *counters, struct port_state *state)
{
	int64_t first_us = (counters->second_s - counters->seconds) * PORT_COUNTERS_SECOND_US;
	uint32_t old = 0;
	uint32_t room;
	struct kept_interval *kept;

	if (state->kept_count < state->kept_room)
		return true;
	while (state->kept && old < state->kept_count && state->kept[old].to_us < first_us)
		old++;
	/* Readings come no more than once a second, but for bunches. */
	if (!old && state->kept_room >= counters->seconds)
		old = state->kept_room / 4;
	if (old) {
		state->kept_count -= old;
		memmove(state->kept, state->kept + old, state->kept_count * sizeof(*kept));
		return true;
	}
	room = state->kept_room ? state->kept_room * 2 : KEPT_FIRST;
	kept = reallocarray(state->kept, room, sizeof(*kept));
	if (!kept)
		return false;
	state->kept = kept;
	state->kept_room = room;
	return true;
}

static void port_counters_keep(const struct port_counters *counters, struct port_state *state,
			       const struct kept_interval *interval)
{
	/* Without memory it is not scaled by what it counted. */
	if (port_counters_make_room(counters, state) && state->kept)
		state->kept[state->kept_count++] = *interval;
}

static void port_counters_book(const struct port_counters *counters, struct port_state *state,
			       const struct port_counters_waiting *waiting, int64_t booked_s)
{
	const struct kept_interval interval = {
		.from_us = waiting->span.from_us,
		.to_us = waiting->span.to_us,
		.out_bytes = waiting->values[COUNTER_OUT_BYTES],
		.out_sampled = (uint64_t)llround(waiting->span.out_bytes),
		.booked_s = booked_s,
	};

	if (!state->kept && !interval.out_bytes && !interval.out_sampled) {
		if (!state->idle_from_us || state->idle_from_us > interval.from_us)
			state->idle_from_us = interval.from_us;
		return;
	}
	if (!state->kept && state->idle_from_us && state->idle_from_us < interval.from_us)
		port_counters_keep(counters, state,
				   &(struct kept_interval){.from_us = state->idle_from_us,
							   .to_us = interval.from_us});
	port_counters_keep(counters, state, &interval);
}

static void port_counters_wait_for(struct port_counters *counters,
				   const struct port_counters_waiting *waiting)
{
	size_t room = counters->waiting_room ? counters->waiting_room * 2 : 64;
	struct port_counters_waiting *all = counters->waiting;

	if (counters->waiting_count == counters->waiting_room && room <= WAITING_MAX) {
		all = reallocarray(all, room, sizeof(*all));
		if (all) {
			counters->waiting = all;
			counters->waiting_room = room;
		}
	}
	if (counters->waiting_count < counters->waiting_room)
		counters->waiting[counters->waiting_count++] = *waiting;
	else if (waiting->own) /* counted, and nothing is known of samples */
		add_to_sums(&counters->ports[waiting->span.place], waiting, false);
}

/* The clock was set back: what was of these seconds before is not of the time that comes now. */
static void clear_from(struct port_counters *counters, int64_t second_s)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct port_state *state = &counters->ports[i];

		state->idle_from_us = 0;
		while (state->kept_count && state->kept[state->kept_count - 1].booked_s >= second_s)
			state->kept_count--;
	}
	for (size_t i = 0; i < counters->waiting_count; i++)
		if (counters->waiting[i].own)
			add_to_sums(&counters->ports[counters->waiting[i].span.place],
				    &counters->waiting[i], false);
	counters->waiting_count = 0;
}

/* Those whose seconds are over, in their order; the others stay. */
static size_t take_due(struct port_counters *counters, int64_t end_us,
		       struct port_counters_waiting due[])
{
	size_t count = 0;
	size_t left = 0;

	for (size_t i = 0; i < counters->waiting_count; i++)
		if (counters->waiting[i].span.to_us <= end_us)
			due[count++] = counters->waiting[i];
		else
			counters->waiting[left++] = counters->waiting[i];
	counters->waiting_count = left;
	return count;
}

static bool port_counters_look_up(const struct traffic_ring *ring,
				  struct port_counters_waiting due[], size_t count)
{
	struct ring_span *spans = calloc(count, sizeof(*spans));
	uint32_t places = 0;
	bool done;

	for (size_t i = 0; spans && i < count; i++) {
		spans[i] = due[i].span;
		if (places <= due[i].span.place)
			places = due[i].span.place + 1;
	}
	done = spans && !traffic_ring_left(ring, spans, count, places);
	for (size_t i = 0; done && i < count; i++)
		due[i].span.out_bytes = spans[i].out_bytes;
	free(spans);
	return done;
}

void port_counters_sum(struct port_counters *counters, const struct traffic_ring *ring,
		       int64_t minute_s)
{
	struct port_counters_waiting *due;
	int64_t first_s;
	int64_t last_s;
	int64_t booked_s;
	size_t count;
	bool known;

	traffic_ring_span(ring, &first_s, &last_s);
	if (!last_s || last_s == counters->second_s)
		return;
	if (last_s < counters->second_s)
		clear_from(counters, last_s);
	counters->second_s = last_s;
	booked_s = last_s < minute_s ? minute_s : last_s;
	if (booked_s >= minute_s + MINUTE_S)
		booked_s = minute_s + MINUTE_S - 1;
	due = counters->waiting_count ? calloc(counters->waiting_count, sizeof(*due)) : NULL;
	if (!due)
		return; /* without memory they wait */
	count = take_due(counters, (last_s + 1) * PORT_COUNTERS_SECOND_US, due);
	known = count && port_counters_look_up(ring, due, count);
	for (size_t i = 0; i < count; i++) {
		struct port_state *state = &counters->ports[due[i].span.place];
		/* Its first second may have begun before the ring's. */
		bool there =
			known && due[i].span.from_us >= (first_s - 1) * PORT_COUNTERS_SECOND_US;

		if (!there)
			due[i].span.out_bytes = 0;
		if (there || due[i].own)
			add_to_sums(state, &due[i], there);
		if (there)
			port_counters_book(counters, state, &due[i], booked_s);
	}
	free(due);
}

/* --- readings --- */

bool port_counters_note(struct port_counters *counters, uint32_t place, int64_t at_us,
			const struct port_reading *reading)
{
	struct port_state *state = port_counters_state_of(counters, place);
	struct port_counters_waiting waiting = {.own = true};
	uint64_t *values = waiting.values;
	int64_t interval_us;
	double seconds;
	bool follows;

	if (!state)
		return false;
	interval_us = interval_between(&state->last, reading, at_us - state->at_us);
	seconds = (double)interval_us / 1e6;
	values_between(&state->last, reading, values);
	follows = state->at_us && interval_us > 0 && interval_us <= INTERVAL_MAX_US &&
		  is_possible(values, seconds, reading->speed_bps);
	waiting.span =
		(struct ring_span){.place = place,
				   .from_us = earlier_of(state->last.seen_us, reading->seen_us),
				   .to_us = reading->seen_us};
	state->last = *reading;
	state->at_us = at_us;
	state->rates.speed_bps = reading->speed_bps;
	state->rates.up = reading->up;
	if (!follows) {
		state->idle_from_us = 0;
		return false;
	}
	state->rates.at_us = at_us;
	state->rates.seconds = seconds;
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		state->rates.per_second[i] = (double)values[i] / seconds;
	waiting.seconds = seconds;
	port_counters_wait_for(counters, &waiting);
	return true;
}

static bool port_counters_is_own(const struct port_state *state, int64_t at_us)
{
	return state->at_us && at_us - state->at_us < OWN_US;
}

bool port_counters_tell(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates)
{
	struct port_state *state = port_counters_state_of(counters, place);

	if (!state || rates->at_us <= state->rates.at_us ||
	    port_counters_is_own(state, rates->at_us))
		return false;
	state->rates = *rates;
	return true;
}

bool port_counters_wait(struct port_counters *counters, uint32_t place,
			const struct port_rates *rates)
{
	struct port_state *state = place < counters->count ? &counters->ports[place] : NULL;
	struct port_counters_waiting waiting = {.seconds = rates->seconds};

	/* Who is so far ahead of us would be waited for. */
	if (!state || rates->at_us <= state->summed_us ||
	    port_counters_is_own(state, rates->at_us) ||
	    (counters->second_s &&
	     rates->at_us > counters->second_s * PORT_COUNTERS_SECOND_US + INTERVAL_MAX_US) ||
	    isnan(rates->per_second[COUNTER_OUT_BYTES]))
		return false;
	waiting.span = (struct ring_span){
		.place = place,
		.from_us = rates->at_us - (int64_t)(rates->seconds * PORT_COUNTERS_SECOND_US),
		.to_us = rates->at_us};
	for (size_t i = 0; i < PORT_COUNTER_COUNT; i++)
		if (!isnan(rates->per_second[i]))
			waiting.values[i] =
				(uint64_t)llround(rates->per_second[i] * rates->seconds);
	state->summed_us = rates->at_us;
	port_counters_wait_for(counters, &waiting);
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
	const struct port_state *state = place < counters->count ? &counters->ports[place] : NULL;
	int64_t from_us = from_s * PORT_COUNTERS_SECOND_US;
	int64_t to_us = to_s * PORT_COUNTERS_SECOND_US;

	*ret = (struct port_time){0};
	for (uint32_t i = 0; state && i < state->kept_count; i++) {
		const struct kept_interval *kept = &state->kept[i];
		int64_t within_us =
			earlier_of(kept->to_us, to_us) - later_of(kept->from_us, from_us);

		if (kept->booked_s ? kept->booked_s < from_s || kept->booked_s >= to_s
				   : within_us <= 0)
			continue;
		if (within_us > 0)
			ret->seconds += (double)within_us / PORT_COUNTERS_SECOND_US;
		ret->out_bytes += kept->out_bytes;
		ret->out_sampled += kept->out_sampled;
		if (!ret->from_us)
			ret->from_us =
				kept->booked_s ? kept->from_us : later_of(kept->from_us, from_us);
		ret->to_us = earlier_of(kept->to_us, to_us);
	}
	return ret->seconds > 0;
}
