/* Cursors over bytes, with one sticky flag: past the end a reader gives zeros and sets `bad`; a
 * writer drops and sets `bad`. Read or write straight down the layout, check once, publish at the
 * end. Network byte order (big endian). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

struct wire_reader wire_reader(const void *data, size_t size);
size_t wire_left(const struct wire_reader *reader);
uint8_t wire_u8(struct wire_reader *reader);
uint16_t wire_u16(struct wire_reader *reader);
uint32_t wire_u32(struct wire_reader *reader);
uint64_t wire_u64(struct wire_reader *reader);
void wire_skip(struct wire_reader *reader, size_t size);
/* Borrows `size` bytes; NULL and bad when there are fewer. */
const uint8_t *wire_bytes(struct wire_reader *reader, size_t size);
/* Copies `size` bytes; zeros `ret` when there are fewer. */
void wire_copy(struct wire_reader *reader, void *ret, size_t size);
/* A reader over the next `size` bytes, which are consumed; an empty bad reader when there are
 * fewer. */
struct wire_reader wire_cut(struct wire_reader *reader, size_t size);

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
