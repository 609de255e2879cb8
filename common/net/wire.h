/* Cursors over bytes, with one sticky flag: past the end a reader gives zeros and sets `bad`; a
 * writer drops and sets `bad`. Read or write straight down the layout, check once, publish at the
 * end. Network byte order (big endian). */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/* Inline, because a collector reads a hundred words per datagram a million times a second. */
static inline struct wire_reader wire_reader(const void *data, size_t size)
{
	/* An empty reader needs no address, and NULL + 0 is undefined in C. */
	static const uint8_t nothing[1];
	const uint8_t *at = data && size > 0 ? (const uint8_t *)data : nothing;

	return (struct wire_reader){
		.at = at, .end = data ? at + size : at, .bad = !data && size > 0};
}

static inline size_t wire_left(const struct wire_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* Borrows `size` bytes; NULL and bad when there are fewer. */
static inline const uint8_t *wire_bytes(struct wire_reader *reader, size_t size)
{
	const uint8_t *bytes = reader->at;

	if (__builtin_expect(reader->bad || size > wire_left(reader), 0)) {
		reader->bad = true;
		reader->at = reader->end; /* nothing after the gap may be mistaken for data */
		return NULL;
	}
	reader->at += size;
	return bytes;
}

/* Words in what wire_bytes gave: a header of fixed size is checked once. */
static inline uint16_t wire_at16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return be16toh(value);
}

static inline uint32_t wire_at32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static inline uint8_t wire_u8(struct wire_reader *reader)
{
	const uint8_t *bytes = wire_bytes(reader, 1);

	return bytes ? *bytes : 0;
}

static inline uint16_t wire_u16(struct wire_reader *reader)
{
	const uint8_t *bytes = wire_bytes(reader, 2);

	return bytes ? wire_at16(bytes) : 0;
}

static inline uint32_t wire_u32(struct wire_reader *reader)
{
	const uint8_t *bytes = wire_bytes(reader, 4);

	return bytes ? wire_at32(bytes) : 0;
}

static inline uint64_t wire_u64(struct wire_reader *reader)
{
	const uint8_t *bytes = wire_bytes(reader, 8);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static inline void wire_skip(struct wire_reader *reader, size_t size)
{
	(void)wire_bytes(reader, size);
}

/* A reader over the next `size` bytes, which are consumed; an empty bad reader when there are
 * fewer. */
static inline struct wire_reader wire_cut(struct wire_reader *reader, size_t size)
{
	const uint8_t *bytes = wire_bytes(reader, size);

	if (!bytes)
		return (struct wire_reader){.at = reader->end, .end = reader->end, .bad = true};
	return (struct wire_reader){.at = bytes, .end = bytes + size};
}

/* Copies `size` bytes; zeros `ret` when there are fewer. */
static inline void wire_copy(struct wire_reader *reader, void *ret, size_t size)
{
	const uint8_t *bytes = wire_bytes(reader, size);

	if (size == 0)
		return;
	if (bytes)
		memcpy(ret, bytes, size);
	else
		memset(ret, 0, size);
}

struct wire_writer {
	uint8_t *start;
	uint8_t *at;
	uint8_t *end;
	bool bad;
};

struct wire_writer wire_writer(void *data, size_t room);
size_t wire_written(const struct wire_writer *writer);
size_t wire_room(const struct wire_writer *writer);
void wire_put_u8(struct wire_writer *writer, uint8_t value);
void wire_put_u16(struct wire_writer *writer, uint16_t value);
void wire_put_u32(struct wire_writer *writer, uint32_t value);
void wire_put_u64(struct wire_writer *writer, uint64_t value);
void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t size);
void wire_put_zeros(struct wire_writer *writer, size_t size);
