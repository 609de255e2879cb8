#include "trainer_image/train/metrics_wire.h"

#include <xxhash.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#include "trainer_image/record/crc32c.h"

#define METRICS_MAGIC 0x89484d540d0a1a0aULL

enum { METRICS_DIGEST = 8, METRICS_FRAME_HEAD = 8, METRICS_FRAME_FIXED = 17 };

static bool metrics_name_is_good(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((name[i] < 'a' || name[i] > 'z') && (name[i] < '0' || name[i] > '9') &&
		    name[i] != '_')
			return false;
	return size > 0 && size < METRICS_NAME_SIZE;
}

static bool metrics_columns_are_good(const struct metrics_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++) {
		const char *name = columns->name[i];

		if (!metrics_name_is_good(name, strnlen(name, METRICS_NAME_SIZE)))
			return false;
		for (size_t k = 0; k < i; k++)
			if (strcmp(columns->name[k], name) == 0)
				return false;
	}
	return columns->count > 0 && columns->count <= METRICS_COLUMNS_MAX;
}

bool metrics_wire_begins(const void *data, size_t size)
{
	struct wire_reader reader = wire_reader(data, size);

	return wire_u64(&reader) == METRICS_MAGIC;
}

int metrics_header_decode(const void *data, size_t size, struct metrics_columns *ret,
			  size_t *ret_size)
{
	struct wire_reader reader = wire_reader(data, size);
	struct metrics_columns columns = {0};
	uint64_t magic = wire_u64(&reader);
	uint32_t version = wire_u32(&reader);
	uint32_t length = wire_u32(&reader);

	if (reader.bad || magic != METRICS_MAGIC)
		return E_MALFORMED;
	if (version != METRICS_VERSION)
		return E_UNSUPPORTED;
	if (length < METRICS_BEGIN + METRICS_DIGEST || length > size)
		return E_MALFORMED;
	struct wire_reader names = wire_cut(&reader, length - METRICS_BEGIN - METRICS_DIGEST);
	if (wire_u64(&reader) != XXH64(data, length - METRICS_DIGEST, 0))
		return E_DIGEST;
	columns.count = wire_u8(&names);
	if (columns.count > METRICS_COLUMNS_MAX)
		return E_MALFORMED;
	for (size_t i = 0; i < columns.count && !names.bad; i++) {
		size_t bytes = wire_u8(&names);

		if (bytes >= METRICS_NAME_SIZE)
			return E_MALFORMED;
		wire_copy(&names, columns.name[i], bytes);
		names.bad |= strlen(columns.name[i]) != bytes;
	}
	if (names.bad || wire_left(&names) > 0 || !metrics_columns_are_good(&columns))
		return E_MALFORMED;
	*ret = columns;
	*ret_size = length;
	return 0;
}

int metrics_header_encode(const struct metrics_columns *columns,
			  uint8_t ret[METRICS_HEADER_SIZE_MAX], size_t *ret_size)
{
	size_t size = METRICS_BEGIN + 1 + METRICS_DIGEST;
	struct wire_writer writer = wire_writer(ret, METRICS_HEADER_SIZE_MAX);

	if (!metrics_columns_are_good(columns))
		return E_INVALID;
	for (size_t i = 0; i < columns->count; i++)
		size += 1 + strlen(columns->name[i]);
	wire_put_u64(&writer, METRICS_MAGIC);
	wire_put_u32(&writer, METRICS_VERSION);
	wire_put_u32(&writer, (uint32_t)size);
	wire_put_u8(&writer, (uint8_t)columns->count);
	for (size_t i = 0; i < columns->count; i++) {
		wire_put_u8(&writer, (uint8_t)strlen(columns->name[i]));
		wire_put_bytes(&writer, columns->name[i], strlen(columns->name[i]));
	}
	wire_put_u64(&writer, XXH64(ret, wire_written(&writer), 0));
	*ret_size = wire_written(&writer);
	return 0;
}

static size_t metrics_frame_size(enum metrics_kind kind, size_t columns)
{
	return METRICS_FRAME_HEAD + METRICS_FRAME_FIXED + (kind == METRICS_STEP ? columns * 8 : 0);
}

int metrics_frame_decode(const void *data, size_t size, size_t columns, struct metrics_frame *ret,
			 size_t *ret_size)
{
	struct wire_reader reader = wire_reader(data, size);
	struct metrics_frame frame = {0};
	uint32_t length = wire_u32(&reader);
	uint32_t crc = wire_u32(&reader);

	if (reader.bad || length < METRICS_FRAME_HEAD + METRICS_FRAME_FIXED || length > size ||
	    length > metrics_frame_size(METRICS_STEP, columns))
		return E_MALFORMED;
	if (crc32c(0, reader.at, length - METRICS_FRAME_HEAD) != crc)
		return E_DIGEST;
	uint8_t kind = wire_u8(&reader);
	frame.step = wire_u64(&reader);
	frame.wall_us = (int64_t)wire_u64(&reader);
	if (kind >= METRICS_KINDS || length != metrics_frame_size((enum metrics_kind)kind, columns))
		return E_MALFORMED;
	frame.kind = (enum metrics_kind)kind;
	for (size_t i = 0; frame.kind == METRICS_STEP && i < columns; i++) {
		uint64_t bits = wire_u64(&reader);

		memcpy(&frame.value[i], &bits, sizeof(bits));
	}
	*ret = frame;
	*ret_size = length;
	return 0;
}

size_t metrics_frame_encode(const struct metrics_frame *frame, size_t columns,
			    uint8_t ret[METRICS_FRAME_SIZE_MAX])
{
	size_t size = metrics_frame_size(frame->kind, columns);
	struct wire_writer head = wire_writer(ret, METRICS_FRAME_HEAD);
	struct wire_writer body =
		wire_writer(ret + METRICS_FRAME_HEAD, METRICS_FRAME_SIZE_MAX - METRICS_FRAME_HEAD);

	wire_put_u8(&body, (uint8_t)frame->kind);
	wire_put_u64(&body, frame->step);
	wire_put_u64(&body, (uint64_t)frame->wall_us);
	for (size_t i = 0; frame->kind == METRICS_STEP && i < columns; i++) {
		uint64_t bits;

		memcpy(&bits, &frame->value[i], sizeof(bits));
		wire_put_u64(&body, bits);
	}
	wire_put_u32(&head, (uint32_t)size);
	wire_put_u32(&head, crc32c(0, ret + METRICS_FRAME_HEAD, size - METRICS_FRAME_HEAD));
	return size;
}
