#include "trainer_image/train/checkpoint_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#include "trainer_image/comm/terms_wire.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "regions are as they lie in memory");

#define CHECKPOINT_MAGIC 0x894843500d0a1a0aULL

enum {
	CHECKPOINT_DIGEST = 8,
	CHECKPOINT_ROW_FIXED = 2 + 8 + 4, /* of a region, without its name */
};

const char *checkpoint_kind_text(enum checkpoint_kind kind)
{
	static const char *const texts[CHECKPOINT_KINDS] = {
		"weight", "optimizer", "statistic", "random", "loader", "scale", "lost", "other"};

	return texts[kind];
}

uint64_t checkpoint_bytes(const struct checkpoint_header *header)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < header->count; i++)
		bytes += header->rows[i].bytes;
	return bytes;
}

bool checkpoint_wire_begins(const void *data, size_t size)
{
	struct wire_reader reader = wire_reader(data, size);

	return wire_u64(&reader) == CHECKPOINT_MAGIC;
}

int checkpoint_wire_size(const void *data, size_t size, size_t *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	uint64_t magic = wire_u64(&reader);
	uint32_t version = wire_u32(&reader);
	uint32_t length = wire_u32(&reader);

	if (reader.bad || magic != CHECKPOINT_MAGIC)
		return E_MALFORMED;
	if (version != CHECKPOINT_VERSION)
		return E_UNSUPPORTED;
	if (length < CHECKPOINT_BEGIN + CHECKPOINT_DIGEST || length > CHECKPOINT_HEADER_SIZE_MAX)
		return E_MALFORMED;
	*ret = length;
	return 0;
}

static bool checkpoint_printable(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (name[i] < ' ' || name[i] > '~')
			return false;
	return size > 0;
}

static void checkpoint_row_get(struct wire_reader *reader, struct checkpoint_row *row)
{
	uint8_t kind = wire_u8(reader);
	size_t length = wire_u8(reader);
	const char *name = (const char *)wire_bytes(reader, length);

	row->bytes = wire_u64(reader);
	row->crc = wire_u32(reader);
	/* A sum of sizes up to this one cannot overflow. */
	if (!name || length >= CHECKPOINT_NAME_SIZE || kind >= CHECKPOINT_KINDS ||
	    !checkpoint_printable(name, length) ||
	    row->bytes > INT64_MAX / CHECKPOINT_REGIONS_MAX) {
		reader->bad = true;
		return;
	}
	row->kind = (enum checkpoint_kind)kind;
	memcpy(row->name, name, length);
}

int checkpoint_wire_decode(const void *data, size_t size, struct checkpoint_header *ret)
{
	struct checkpoint_header header = {0};
	size_t length = 0;
	int rc = checkpoint_wire_size(data, size, &length);

	if (rc < 0)
		return rc;
	if (length != size)
		return E_MALFORMED;
	struct wire_reader end =
		wire_reader((const uint8_t *)data + size - CHECKPOINT_DIGEST, CHECKPOINT_DIGEST);
	if (wire_u64(&end) != XXH64(data, size - CHECKPOINT_DIGEST, 0))
		return E_DIGEST;
	struct wire_reader reader = wire_reader(data, size - CHECKPOINT_DIGEST);
	wire_skip(&reader, CHECKPOINT_BEGIN);
	header.step = wire_u64(&reader);
	header.digest = wire_u64(&reader);
	rc = terms_decode(&reader, &header.terms);
	if (rc < 0)
		return rc;
	header.count = wire_u32(&reader);
	if (reader.bad || header.count > CHECKPOINT_REGIONS_MAX ||
	    header.count > wire_left(&reader) / CHECKPOINT_ROW_FIXED)
		return E_MALFORMED;
	header.rows = calloc(header.count + 1, sizeof(*header.rows));
	if (!header.rows)
		return -ENOMEM;
	for (size_t i = 0; i < header.count && !reader.bad; i++)
		checkpoint_row_get(&reader, &header.rows[i]);
	if (reader.bad || wire_left(&reader) > 0) {
		free(header.rows);
		return E_MALFORMED;
	}
	*ret = header;
	return 0;
}

int checkpoint_wire_length(const struct checkpoint_header *header, size_t *ret)
{
	size_t length = CHECKPOINT_BEGIN + 8 + 8 + 4 + CHECKPOINT_DIGEST;

	if (header->terms.bad || header->count > CHECKPOINT_REGIONS_MAX)
		return E_INVALID;
	length += terms_size(&header->terms);
	for (size_t i = 0; i < header->count; i++) {
		const struct checkpoint_row *row = &header->rows[i];
		size_t name = strnlen(row->name, sizeof(row->name));

		if (name == sizeof(row->name) || !checkpoint_printable(row->name, name) ||
		    row->kind >= CHECKPOINT_KINDS ||
		    row->bytes > INT64_MAX / CHECKPOINT_REGIONS_MAX)
			return E_INVALID;
		length += CHECKPOINT_ROW_FIXED + name;
	}
	if (length > CHECKPOINT_HEADER_SIZE_MAX)
		return E_INVALID;
	*ret = length;
	return 0;
}

void checkpoint_wire_encode(const struct checkpoint_header *header, void *ret, size_t size)
{
	struct wire_writer writer = wire_writer(ret, size);

	wire_put_u64(&writer, CHECKPOINT_MAGIC);
	wire_put_u32(&writer, CHECKPOINT_VERSION);
	wire_put_u32(&writer, (uint32_t)size);
	wire_put_u64(&writer, header->step);
	wire_put_u64(&writer, header->digest);
	terms_encode(&header->terms, &writer);
	wire_put_u32(&writer, (uint32_t)header->count);
	for (size_t i = 0; i < header->count; i++) {
		const struct checkpoint_row *row = &header->rows[i];

		wire_put_u8(&writer, (uint8_t)row->kind);
		wire_put_u8(&writer, (uint8_t)strlen(row->name));
		wire_put_bytes(&writer, row->name, strlen(row->name));
		wire_put_u64(&writer, row->bytes);
		wire_put_u32(&writer, row->crc);
	}
	wire_put_u64(&writer, XXH64(ret, wire_written(&writer), 0));
	assert(!writer.bad && wire_room(&writer) == 0);
}
