#include "peregrine/flowd/sample/sample_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/net/frame_key_wire.h"

/* The oldest, whose entry should be here by now; then its place is free. */
static struct flow_add *next_add(struct sample_reader *reader)
{
	struct flow_add *add = &reader->adds[reader->next];
	const struct flow_add *half =
		&reader->adds[(reader->next + SAMPLES_AHEAD / 2) % SAMPLES_AHEAD];

	if (half->rate)
		flow_table_approach(&reader->harvest->flows, half);

	reader->next = (reader->next + 1) % SAMPLES_AHEAD;
	if (add->rate)
		flow_table_add(&reader->harvest->flows, add);
	return add;
}

void sample_reader_flush(struct sample_reader *reader)
{
	for (unsigned i = 0; i < SAMPLES_AHEAD; i++)
		next_add(reader)->rate = 0;
}

static void sample_reader_add_key(const struct sflow_sample *sample, uint16_t agent,
				  struct flow_key *ret)
{
	ret->agent = agent;
	ret->input = sample->input;
	ret->output = sample->output;
	ret->told_vlan = sample->in_vlan;
	frame_key_decode(sample->header, sample->header_size, ret);
	if (!ret->vni)
		ret->vni = sample->in_vni ? sample->in_vni : sample->out_vni;
	if (sample->source == sample->output && sample->source != sample->input &&
	    port_is_index(sample->source))
		ret->flags |= FLOW_EGRESS;
}

/* xorshift64* (Marsaglia 2003): which samples are used shall not follow from their order. */
static bool is_drawn(struct sample_reader *reader)
{
	uint64_t x = reader->chance ? reader->chance : 0x9e3779b97f4a7c15U;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	reader->chance = x;
	return (x * 0x2545f4914f6cdd1dU >> 32) % reader->thin == 0;
}

/* A sample that stands for others, too. */
static uint32_t sample_reader_rate_of(uint32_t rate, unsigned thin)
{
	return rate <= UINT32_MAX / thin ? rate * thin : UINT32_MAX;
}

static void sample_reader_take_flow(struct sample_reader *reader,
				    const struct sflow_datagram *datagram,
				    const struct sflow_sample *sample, uint16_t agent)
{
	struct harvest *harvest = reader->harvest;
	const struct source_said said = {.agent = agent,
					 .sub_agent = datagram->sub_agent,
					 .source = sample->source,
					 .sequence = sample->sequence,
					 .rate = sample->rate,
					 .pool = sample->pool,
					 .drops = sample->drops};
	struct flow_add *add;
	uint32_t source;

	if (!sample->rate) {
		harvest->counts.zero_rate++;
		return;
	}
	if (!sample->header || !sample->is_ethernet) {
		harvest->counts.no_header++;
		return;
	}
	harvest->counts.samples++;
	/* What is lost on the way is counted of all. */
	source = source_book_sample(reader->book, &said);
	if (reader->thin > 1 && !is_drawn(reader)) {
		harvest->counts.thinned++;
		return;
	}
	add = next_add(reader);
	add->source = source;
	add->rate = sample_reader_rate_of(sample->rate, reader->thin ? reader->thin : 1);
	add->frame_bytes = sample->frame_bytes;
	sample_reader_add_key(sample, agent, &add->key);
	flow_table_expect(&harvest->flows, add);
}

static void take_counters(struct harvest *harvest, const struct sflow_datagram *datagram,
			  const struct sflow_sample *sample, uint16_t agent, uint64_t datagrams)
{
	if (sample->vlan.vlan && harvest->vlans) {
		if (harvest->vlan_count < HARVEST_VLANS)
			harvest->vlans[harvest->vlan_count++] =
				(struct vlan_record){.agent = agent, .counters = sample->vlan};
		else
			harvest->counts.records_lost++;
	}
	if (!sample->counters.has_generic)
		return;
	if (harvest->counter_count == HARVEST_COUNTERS) {
		harvest->counts.records_lost++;
		return;
	}
	harvest->counters[harvest->counter_count++] =
		(struct counter_record){.agent = agent,
					.uptime_ms = datagram->uptime_ms,
					.datagrams = (uint32_t)datagrams,
					.counters = sample->counters};
}

static void take_discard(struct harvest *harvest, const struct sflow_sample *sample, uint16_t agent)
{
	uint32_t port = sample->input;

	if (!port && port_is_index(sample->source))
		port = (uint32_t)sample->source;
	if (harvest->discard_count == HARVEST_DISCARDS) {
		harvest->counts.records_lost++;
		return;
	}
	harvest->discards[harvest->discard_count++] =
		(struct discard_record){.agent = agent, .port = port, .reason = sample->reason};
}

static void take_sample(struct sample_reader *reader, const struct sflow_datagram *datagram,
			const struct sflow_sample *sample, uint16_t agent, uint64_t datagrams)
{
	switch (sample->kind) {
	case SFLOW_FLOW: sample_reader_take_flow(reader, datagram, sample, agent); break;
	case SFLOW_COUNTERS:
		take_counters(reader->harvest, datagram, sample, agent, datagrams);
		break;
	case SFLOW_DISCARD: take_discard(reader->harvest, sample, agent); break;
	case SFLOW_OTHER: reader->harvest->counts.other_kind++; break;
	}
}

bool sample_reader_count(struct receive_counts *counts, size_t size, int rc)
{
	counts->datagrams++;
	counts->bytes += size;
	if (rc == -EPROTONOSUPPORT)
		counts->other_version++;
	else if (rc)
		counts->malformed++;
	return rc == 0;
}

void sample_reader_renew(struct sample_reader *reader)
{
	if (reader->heard)
		memset(reader->heard, 0, (AGENT_LIMIT + 1) * sizeof(*reader->heard));
}

static int sample_reader_limit(struct sample_reader *reader, int agent)
{
	struct harvest *harvest = reader->harvest;

	if (!reader->heard || reader->heard[agent]++ < reader->heard_max)
		return agent;
	if (reader->heard[agent] == reader->heard_max + 1 && harvest->loud_count < HARVEST_LOUD)
		harvest->loud[harvest->loud_count++] = (uint16_t)agent;
	harvest->counts.limited++;
	return AGENT_LOUD;
}

int sample_reader_agent(struct sample_reader *reader, const uint8_t address[16],
			const uint8_t source[16])
{
	int agent = agent_directory_find(reader->directory, address, source);

	if (agent == AGENT_SPOOFED)
		reader->harvest->counts.spoofed++;
	else if (agent < 0)
		reader->harvest->counts.unknown_agent++;
	return agent < 0 ? agent : sample_reader_limit(reader, agent);
}

bool sample_reader_open(struct sample_reader *reader, const void *data, size_t size,
			const uint8_t source[16], struct opened_datagram *ret)
{
	struct receive_counts *counts = &reader->harvest->counts;
	int rc = sflow_open(data, size, &ret->head, &ret->samples);
	int agent;

	if (!sample_reader_count(counts, size, rc))
		return false;
	agent = sample_reader_agent(reader, ret->head.agent, source);
	if (agent < 0)
		return false;
	ret->agent = (uint16_t)agent;
	source_book_expect(reader->book, ret->agent);
	return true;
}

void sample_reader_approach(const struct sample_reader *reader,
			    const struct opened_datagram *opened)
{
	source_book_approach(reader->book, opened->agent);
}

void sample_reader_read(struct sample_reader *reader, struct opened_datagram *opened)
{
	const struct sflow_datagram *head = &opened->head;
	uint64_t datagrams = source_book_datagram(reader->book, opened->agent, head->sub_agent,
						  head->sequence, head->uptime_ms);
	struct sflow_sample sample;

	for (uint32_t i = 0; i < head->samples; i++) {
		/* Broken, or fewer than it says. */
		if (sflow_next(&opened->samples, &sample) != 1) {
			reader->harvest->counts.malformed++;
			break;
		}
		take_sample(reader, head, &sample, opened->agent, datagrams);
	}
}

void sample_reader_take(struct sample_reader *reader, const void *data, size_t size,
			const uint8_t source[16])
{
	struct opened_datagram opened;

	if (sample_reader_open(reader, data, size, source, &opened))
		sample_reader_read(reader, &opened);
}
