// links: common_net
/* Invariants of the cursors, driven by a script in the input: a reader never moves back or past its
 * end, bad is sticky and gives zeros, what a writer wrote a reader reads. Each step is one byte of
 * operation, one of size. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <string.h>

#include "common/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void step(struct wire_reader *reader, uint8_t operation, size_t amount)
{
	const uint8_t *before = reader->at;
	bool was_bad = reader->bad;
	uint8_t copy[256];
	uint64_t value = 0;
	struct wire_reader inner;

	switch (operation % 8) {
	case 0: value = wire_u8(reader); break;
	case 1: value = wire_u16(reader); break;
	case 2: value = wire_u32(reader); break;
	case 3: value = wire_u64(reader); break;
	case 4: wire_skip(reader, amount); break;
	case 5: assert(!wire_bytes(reader, amount) == reader->bad); break;
	case 6:
		wire_copy(reader, copy, amount);
		for (size_t i = 0; reader->bad && i < amount; i++)
			assert(copy[i] == 0);
		break;
	default:
		inner = wire_cut(reader, amount);
		assert(inner.bad == reader->bad);
		assert(wire_left(&inner) == (inner.bad ? 0 : amount));
		break;
	}
	assert(reader->at >= before && reader->at <= reader->end);
	assert(!was_bad || (reader->bad && value == 0));
}

static void write_and_read(const uint8_t *data, size_t size)
{
	uint8_t buffer[64];
	struct wire_writer writer = wire_writer(buffer, sizeof(buffer));
	struct wire_reader reader;

	memset(buffer, 0xee, sizeof(buffer));
	for (size_t i = 0; i < size; i++) {
		size_t before = wire_written(&writer);

		if (data[i] % 3 == 0)
			wire_put_u16(&writer, (uint16_t)(data[i] * 257U));
		else if (data[i] % 3 == 1)
			wire_put_bytes(&writer, data, i);
		else
			wire_put_u64(&writer, data[i]);
		assert(wire_written(&writer) + wire_room(&writer) == sizeof(buffer));
		assert(!writer.bad || wire_written(&writer) == before);
	}
	reader = wire_reader(buffer, wire_written(&writer));
	for (size_t i = 0; i < size && wire_left(&reader) > 0; i++) {
		if (data[i] % 3 == 0)
			assert(wire_u16(&reader) == data[i] * 257U || reader.bad);
		else if (data[i] % 3 == 1)
			assert(!memcmp(wire_bytes(&reader, i) ? reader.at - i : data, data, i));
		else
			assert(wire_u64(&reader) == data[i] || reader.bad);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	struct wire_reader reader = wire_reader(data + half, size - half);

	for (size_t i = 0; i + 1 < half; i += 2)
		step(&reader, data[i], data[i + 1]);
	write_and_read(data, size);
	return 0;
}
