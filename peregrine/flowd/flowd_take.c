/* A harvest into sums, and sums into rows. */
#include "common/base/clock.h"
#include "common/io/log.h"

#include "peregrine/flowd/flow/source_policy.h"
#include "peregrine/flowd/flowd_private.h"

#define FLOWD_TAKE_SUBJECT "flowd"
#define LOUD_TOLD          60 /* a line for so many seconds of one agent */

static void note_sources(struct flowd *flowd, const struct harvest *harvest, bool sflow)
{
	for (size_t i = 0; i < harvest->source_count; i++) {
		const struct source_sums *sums = &harvest->sources[i];
		struct agent_state *agent = &flowd->agents[sums->agent];

		agent->heard_us = harvest->until_us;
		if (sflow)
			agent->sflow_us = harvest->until_us;
		agent->restarts += sums->restarted && sums->datagrams;
		if (sums->datagrams) {
			agent->harvest_datagrams = sums->samples;
			agent->datagrams += sums->samples;
			agent->datagrams_missing += sums->missing;
			continue;
		}
		agent->samples += sums->samples;
		agent->sampled = agent->sampled || (sflow && sums->samples);
		agent->missing += sums->missing;
		agent->drops += sums->drops;
		agent->unread += sums->unread;
		agent->factor = source_factor(sums);
		/* Agents back off when they are busy: the rate is their word, and it is watched. */
		if (agent->rate && agent->rate != sums->rate)
			log_info(FLOWD_TAKE_SUBJECT, "agent %u samples 1 in %u, 1 in %u before",
				 (unsigned)sums->agent, sums->rate, agent->rate);
		agent->rate = sums->rate;
	}
}

/* Which of the datagrams that are missing our own queue had no room for. */
static void note_drops(struct flowd *flowd, unsigned receiver, const struct harvest *harvest)
{
	struct gap_owed *owed = &flowd->owed[receiver];
	uint64_t missing = 0;

	gap_owed_add(owed, harvest->counts.kernel_drops - flowd->received[receiver].kernel_drops,
		     harvest->until_us);
	for (size_t i = 0; i < harvest->source_count; i++)
		missing += harvest->sources[i].datagrams ? harvest->sources[i].missing : 0;
	for (size_t i = 0; missing && owed->drops && i < harvest->source_count; i++) {
		const struct source_sums *sums = &harvest->sources[i];

		if (sums->datagrams)
			flowd->agents[sums->agent].datagrams_dropped +=
				gap_part(owed, sums->missing, missing);
	}
	gap_owed_take(owed, missing);
}

void flowd_sum_counters(struct flowd *flowd)
{
	port_counters_sum(flowd->counters, rollup_ring(flowd->rollup),
			  rollup_minute_s(flowd->rollup));
}

/* Agents send samples in bunches, and their counters with them: of a harvest's samples those came
 * before that its agent's datagrams until then brought. */
static int64_t seen_us(const struct flowd *flowd, int64_t second_s,
		       const struct counter_record *record)
{
	uint64_t all = flowd->agents[record->agent].harvest_datagrams;
	uint64_t until = record->datagrams < all ? record->datagrams : all;

	return second_s * 1000000 + (int64_t)(all ? until * 1000000 / all : 1000000);
}

/* As rollup_take counts its samples. */
static int64_t second_of(const struct flowd *flowd, const struct harvest *harvest)
{
	int64_t at_s = (harvest->from_us + (harvest->until_us - harvest->from_us) / 2) / 1000000;
	int64_t first_s;
	int64_t last_s;

	traffic_ring_span(rollup_ring(flowd->rollup), &first_s, &last_s);
	/* A little late: of the second under way. More: the clock was set back. */
	return at_s <= last_s && at_s > last_s - 5 ? last_s + 1 : at_s;
}

static void note_counters(struct flowd *flowd, const struct harvest *harvest)
{
	int64_t second_s = second_of(flowd, harvest);

	for (size_t i = 0; flowd->index && i < harvest->counter_count; i++) {
		const struct counter_record *record = &harvest->counters[i];
		const struct sflow_counters *c = &record->counters;
		struct port_reading reading = {
			.in_octets = c->in_octets,
			.out_octets = c->out_octets,
			.in_packets = c->in_unicast + c->in_multicast + c->in_broadcast,
			.out_packets = c->out_unicast + c->out_multicast + c->out_broadcast,
			.in_errors = c->in_errors,
			.out_errors = c->out_errors,
			.in_discards = c->in_discards,
			.out_discards = c->out_discards,
			.speed_bps = c->speed_bps,
			.up = (c->status & 3) == 3,
			.seen_us = seen_us(flowd, second_s, record),
			.uptime_ms = record->uptime_ms,
		};
		uint32_t owner = flowd->index->switch_of_agent[record->agent];
		uint32_t port;
		uint32_t place;

		if (!c->has_generic || owner == INDEX_NONE)
			continue;
		port = index_port_find(flowd->index, owner, c->if_index);
		place = port == INDEX_NONE ? INDEX_NONE : rollup_place(flowd->rollup, port);
		if (place == INDEX_NONE)
			continue;
		flowd->totals.counter_readings++;
		if (!port_counters_note(flowd->counters, place, harvest->until_us, &reading))
			flowd->totals.counter_gaps++;
	}
}

/* Overload is never silent. Receivers have factors of their own: the worst is told. */
static void note_thin(struct flowd *flowd, unsigned receiver, const struct harvest *harvest)
{
	unsigned worst = 1;

	flowd->thin_of[receiver] = harvest->thin;
	for (size_t i = 0; i < COUNT_OF(flowd->thin_of); i++)
		if (flowd->thin_of[i] > worst)
			worst = flowd->thin_of[i];
	if (worst > 1 && worst != flowd->thin)
		log_warn(FLOWD_TAKE_SUBJECT, "overload: one of %u samples is used, for %u", worst,
			 worst);
	else if (worst == 1 && flowd->thin > 1)
		log_info(FLOWD_TAKE_SUBJECT, "every sample is used again");
	flowd->thin = worst;
}

static void note_discards(struct flowd *flowd, const struct harvest *harvest)
{
	for (size_t i = 0; i < harvest->discard_count; i++) {
		const struct discard_record *record = &harvest->discards[i];

		discard_book_add(flowd->discards, record->agent, record->port, record->reason);
	}
	flowd->totals.discards += harvest->discard_count;
}

static void note_vlans(struct flowd *flowd, const struct harvest *harvest)
{
	for (size_t i = 0; i < harvest->vlan_count; i++)
		vlan_book_note(flowd->vlans, harvest->vlans[i].agent, harvest->until_us,
			       &harvest->vlans[i].counters);
	flowd->totals.vlan_readings += harvest->vlan_count;
}

/* More than any switch sends: a wrong sampling rate, or somebody who forges its address. */
static void note_loud(struct flowd *flowd, const struct harvest *harvest)
{
	for (size_t i = 0; i < harvest->loud_count; i++) {
		struct agent_state *agent = &flowd->agents[harvest->loud[i]];

		if (agent->loud_seconds++ % LOUD_TOLD == 0)
			log_warn(FLOWD_TAKE_SUBJECT,
				 "agent %u sends more than agent_datagrams: the rest is refused",
				 (unsigned)harvest->loud[i]);
	}
}

void flowd_take(void *context, unsigned receiver, struct harvest *harvest)
{
	struct flowd_inlet *inlet = context;
	struct flowd *flowd = inlet->flowd;
	bool sflow = inlet == &flowd->inlets[INLET_SFLOW];

	note_sources(flowd, harvest, sflow);
	if (flowd->sampling)
		sampling_watch_note(flowd->sampling, harvest);
	note_counters(flowd, harvest);
	if (sflow) {
		note_drops(flowd, receiver, harvest);
		note_thin(flowd, receiver, harvest);
	}
	rollup_take(flowd->rollup, harvest);
	flowd_sum_counters(flowd);
	note_discards(flowd, harvest);
	note_vlans(flowd, harvest);
	note_loud(flowd, harvest);
	flowd->received[inlet->first + receiver] = harvest->counts;
	receiver_return(inlet->receivers, receiver, harvest);
}

struct receive_counts flowd_received(const struct flowd *flowd)
{
	struct receive_counts sum = {0};

	for (size_t i = 0; i < COUNT_OF(flowd->received); i++) {
		const uint64_t *from = (const uint64_t *)(const void *)&flowd->received[i];
		uint64_t *to = (uint64_t *)(void *)&sum;

		for (size_t j = 0; j < sizeof(sum) / sizeof(*to); j++)
			to[j] += from[j];
	}
	return sum;
}

void flowd_bucket(void *context, enum traffic_step step, int64_t at_s, bool partial,
		  const struct traffic_set *set)
{
	struct flowd *flowd = context;
	const struct traffic_names *names = rollup_names(flowd->rollup);
	int64_t end_s = at_s + traffic_step_seconds[step];
	int64_t now_s = clock_wall_us() / 1000000;
	struct traffic_batch batch;

	flowd_sum_counters(flowd);
	traffic_batch_begin(&batch, step, at_s, at_s > flowd->started_s ? at_s : flowd->started_s,
			    end_s < now_s ? end_s : now_s);
	traffic_batch_set(&batch, partial, set, names);
	for (uint32_t place = 0; place < traffic_place_count(names); place++) {
		const struct port_sums *sums = port_counters_take(flowd->counters, place, step);

		if (sums)
			traffic_batch_port(&batch, traffic_place_get(names, place), sums,
					   port_counters_rates(flowd->counters, place));
	}
	/* Another controller's writes what it received of the same switches. */
	if (flowd->db ? db_stands_by(flowd->db) : flowd->stood_by)
		traffic_batch_done(&batch);
	else
		traffic_writer_put(flowd->writer, &batch);
}
