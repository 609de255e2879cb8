/* An exporter of NetFlow 9 or IPFIX: its messages are made from words, and read into a harvest. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "common/net/wire.h"

#include "peregrine/flowd/sample/ipfix_reader.h"
#include "tests/support/cmocka.h"

struct bench {
	struct harvest harvest;
	struct source_book *book;
	struct agent_directory *directory;
	struct ipfix_book *exporters;
	struct sample_reader reader;
};

static const uint8_t exporter[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};

static inline void bench_make(struct bench *bench)
{
	struct agent_row row = {.number = 7};

	memcpy(row.agent, exporter, 16);
	memcpy(row.source, exporter, 16);
	*bench = (struct bench){0};
	assert_int_equal(flow_table_init(&bench->harvest.flows, 10, 0), 0);
	assert_int_equal(source_book_new(64, &bench->book), 0);
	assert_int_equal(agent_directory_new(&row, 1, &bench->directory), 0);
	assert_int_equal(ipfix_book_new(&bench->exporters), 0);
	bench->reader = (struct sample_reader){
		.harvest = &bench->harvest, .book = bench->book, .directory = bench->directory};
}

static inline void bench_end(struct bench *bench)
{
	flow_table_done(&bench->harvest.flows);
	source_book_free(bench->book);
	agent_directory_free(bench->directory);
	ipfix_book_free(bench->exporters);
}

static inline void take(struct bench *bench, const uint8_t *data, size_t size)
{
	ipfix_reader_take(&bench->reader, bench->exporters, data, size, exporter);
}

/* Words "element:length[@enterprise]" make a template, hex its record. */
struct message {
	uint8_t bytes[4096];
	struct wire_writer writer;
	uint8_t *set;
	uint16_t version;
};

static inline void begin(struct message *m, uint16_t version, uint32_t sequence, uint32_t domain)
{
	m->writer = wire_writer(m->bytes, sizeof(m->bytes));
	m->version = version;
	m->set = NULL;
	wire_put_u16(&m->writer, version);
	wire_put_u16(&m->writer, 0);
	if (version == NETFLOW_9)
		wire_put_u32(&m->writer, 1000);
	wire_put_u32(&m->writer, 1763798400);
	wire_put_u32(&m->writer, sequence);
	wire_put_u32(&m->writer, domain);
}

static inline void put_u16_at(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline void begin_set(struct message *m, uint16_t id)
{
	m->set = m->writer.at;
	wire_put_u16(&m->writer, id);
	wire_put_u16(&m->writer, 0);
}

static inline void end_set(struct message *m)
{
	put_u16_at(m->set + 2, (size_t)(m->writer.at - m->set));
}

static inline void put_fields(struct message *m, const char *words)
{
	char *end = NULL;

	for (const char *at = words; *at; at = end + strspn(end, " ")) {
		unsigned long element = strtoul(at, &end, 10);
		unsigned long length = strtoul(end + 1, &end, 10);
		unsigned long enterprise = *end == '@' ? strtoul(end + 1, &end, 10) : 0;

		wire_put_u16(&m->writer, (uint16_t)(element | (enterprise ? 0x8000U : 0U)));
		wire_put_u16(&m->writer, (uint16_t)length);
		if (enterprise)
			wire_put_u32(&m->writer, (uint32_t)enterprise);
	}
}

static inline void put_template(struct message *m, uint16_t id, uint16_t count, const char *words)
{
	begin_set(m, m->version == NETFLOW_9 ? 0 : 2);
	wire_put_u16(&m->writer, id);
	wire_put_u16(&m->writer, count);
	put_fields(m, words);
	end_set(m);
}

static inline void put_options(struct message *m, uint16_t id, uint16_t scopes, uint16_t count,
			       const char *words)
{
	bool nine = m->version == NETFLOW_9;

	begin_set(m, nine ? 1 : 3);
	wire_put_u16(&m->writer, id);
	wire_put_u16(&m->writer, nine ? (uint16_t)(scopes * 4) : count);
	wire_put_u16(&m->writer, nine ? (uint16_t)((count - scopes) * 4) : scopes);
	put_fields(m, words);
	end_set(m);
}

static inline void put_data(struct message *m, uint16_t id, const char *hex)
{
	begin_set(m, id);
	for (const char *at = hex + strspn(hex, " "); *at; at += strspn(at, " ")) {
		const char pair[3] = {at[0], at[1], '\0'};

		wire_put_u8(&m->writer, (uint8_t)strtoul(pair, NULL, 16));
		at += 2;
	}
	end_set(m);
}

static inline void send(struct bench *bench, struct message *m)
{
	size_t size = wire_written(&m->writer);

	assert_false(m->writer.bad);
	put_u16_at(m->bytes + 2, m->version == NETFLOW_9 ? 1 : size);
	take(bench, m->bytes, size);
}

static inline struct flow_entry *only_flow(struct bench *bench)
{
	size_t at = 0;
	struct flow_entry *entry = flow_table_next(&bench->harvest.flows, &at);

	assert_non_null(entry);
	assert_null(flow_table_next(&bench->harvest.flows, &at));
	return entry;
}
