#include "common/net/wire.h"

#include <string.h>

struct wire_reader wire_reader(const void *data, size_t size)
{
	/* An empty reader needs no address, and NULL + 0 is undefined in C. */
	static const uint8_t nothing[1];
	const uint8_t *at = data && size > 0 ? data : nothing;

	return (struct wire_reader){
		.at = at, .end = data ? at + size : at, .bad = !data && size > 0};
}

size_t wire_left(const struct wire_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

const uint8_t *wire_bytes(struct wire_reader *reader, size_t size)
{
	const uint8_t *bytes = reader->at;

	if (reader->bad || size > wire_left(reader)) {
		reader->bad = true;
		reader->at = reader->end; /* nothing after the gap may be mistaken for data */
		return NULL;
	}
	reader->at += size;
	return bytes;
}

static uint64_t read_number(struct wire_reader *reader, size_t size)
{
	const uint8_t *bytes = wire_bytes(reader, size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

uint8_t wire_u8(struct wire_reader *reader)
{
	return (uint8_t)read_number(reader, 1);
}

uint16_t wire_u16(struct wire_reader *reader)
{
	return (uint16_t)read_number(reader, 2);
}

uint32_t wire_u32(struct wire_reader *reader)
{
	return (uint32_t)read_number(reader, 4);
}

uint64_t wire_u64(struct wire_reader *reader)
{
	return read_number(reader, 8);
}

void wire_skip(struct wire_reader *reader, size_t size)
{
	(void)wire_bytes(reader, size);
}

void wire_copy(struct wire_reader *reader, void *ret, size_t size)
{
	const uint8_t *bytes = wire_bytes(reader, size);

	if (size == 0)
		return;
	if (bytes)
		memcpy(ret, bytes, size);
	else
		memset(ret, 0, size);
}

struct wire_reader wire_cut(struct wire_reader *reader, size_t size)
{
	const uint8_t *bytes = wire_bytes(reader, size);

	if (!bytes)
		return (struct wire_reader){.at = reader->end, .end = reader->end, .bad = true};
	return (struct wire_reader){.at = bytes, .end = bytes + size};
}

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
