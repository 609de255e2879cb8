#include "common/net/wire.h"

#include <string.h>

struct wire_writer wire_writer(void *data, size_t room)
{
	uint8_t *start = data;

	return (struct wire_writer){.start = start, .at = start, .end = start + room};
}

size_t wire_written(const struct wire_writer *writer)
{
	return (size_t)(writer->at - writer->start);
}

size_t wire_room(const struct wire_writer *writer)
{
	return (size_t)(writer->end - writer->at);
}

/* Where the next `size` bytes go; NULL and bad when they do not fit. */
static uint8_t *writer_take(struct wire_writer *writer, size_t size)
{
	uint8_t *at = writer->at;

	if (writer->bad || size > wire_room(writer)) {
		writer->bad = true;
		return NULL;
	}
	writer->at += size;
	return at;
}

static void write_number(struct wire_writer *writer, uint64_t value, size_t size)
{
	uint8_t *at = writer_take(writer, size);

	for (size_t i = 0; at && i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

void wire_put_u8(struct wire_writer *writer, uint8_t value)
{
	write_number(writer, value, 1);
}

void wire_put_u16(struct wire_writer *writer, uint16_t value)
{
	write_number(writer, value, 2);
}

void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
	write_number(writer, value, 4);
}

void wire_put_u64(struct wire_writer *writer, uint64_t value)
{
	write_number(writer, value, 8);
}

void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t size)
{
	uint8_t *at = writer_take(writer, size);

	if (at && size > 0)
		memcpy(at, bytes, size);
}

void wire_put_zeros(struct wire_writer *writer, size_t size)
{
	uint8_t *at = writer_take(writer, size);

	if (at && size > 0)
		memset(at, 0, size);
}
