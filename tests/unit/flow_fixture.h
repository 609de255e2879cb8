/* An agent, and a datagram with one sample of it, as tests about samples want them. */
#pragma once

#include <arpa/inet.h>
#include <string.h>

#include "common/net/wire.h"

#include "peregrine/flowd/sample/agent_directory.h"
#include "peregrine/flowd/sample/flow_table.h"
#include "tests/support/cmocka.h"

static inline struct agent_row agent_at(uint32_t address, uint32_t source, uint16_t number)
{
	struct agent_row row = {.number = number};
	uint32_t big[2] = {htonl(address), htonl(source)};

	row.agent[10] = row.agent[11] = row.source[10] = row.source[11] = 0xff;
	memcpy(row.agent + 12, &big[0], 4);
	memcpy(row.source + 12, &big[1], 4);
	return row;
}

static inline void put_sample(struct flow_table *table, struct flow_add add)
{
	flow_table_expect(table, &add);
	flow_table_add(table, &add);
}

/* One frame in 100; `out` has 512 bytes. */
static inline size_t build(uint8_t *out, uint32_t agent, uint32_t sequence)
{
	struct wire_writer writer = wire_writer(out, 512);

	wire_put_u32(&writer, 5);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, agent);
	wire_put_u32(&writer, 0);
	wire_put_u32(&writer, sequence);
	wire_put_u32(&writer, sequence);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 32 + 8 + 16 + 16);
	wire_put_u32(&writer, sequence);
	wire_put_u32(&writer, 2U << 24);
	wire_put_u32(&writer, 100);
	wire_put_u32(&writer, sequence * 100);
	wire_put_u32(&writer, 0);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 2);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 32);
	wire_put_u32(&writer, 1);
	wire_put_u32(&writer, 68);
	wire_put_u32(&writer, 4);
	wire_put_u32(&writer, 16);
	wire_put_u32(&writer, sequence); /* a MAC of its own */
	wire_put_zeros(&writer, 12);
	assert_false(writer.bad);
	return wire_written(&writer);
}
