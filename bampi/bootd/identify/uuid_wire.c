#include "bampi/bootd/identify/uuid_wire.h"

#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/net/wire.h"

#define TYPE_UUID 0

/* Left in firmware by those who should have set it; each in the order that stands for both. */
static const struct uuid uuid_wire_shared[] = {
	{{0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	  0x00}},
	{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	  0xff}},
	{{0x00, 0x02, 0x00, 0x03, 0x00, 0x04, 0x00, 0x05, 0x00, 0x06, 0x00, 0x07, 0x00, 0x08, 0x00,
	  0x09}},
	{{0x12, 0x34, 0x56, 0x78, 0x12, 0x34, 0x56, 0x78, 0x90, 0xab, 0xcd, 0xdd, 0xee, 0xff, 0xaa,
	  0xab}},
	{{0x12, 0x34, 0x56, 0x78, 0x12, 0x34, 0x56, 0x78, 0x90, 0xab, 0xcd, 0xde, 0xef, 0xaa, 0xbb,
	  0xcc}},
};

static struct uuid either_order(struct uuid uuid)
{
	static const uint8_t order[UUID_SIZE] = {3, 2, 1,  0,  5,  4,  7,  6,
						 8, 9, 10, 11, 12, 13, 14, 15};
	struct uuid other;

	for (size_t i = 0; i < UUID_SIZE; i++)
		other.bytes[i] = uuid.bytes[order[i]];
	return memcmp(uuid.bytes, other.bytes, UUID_SIZE) <= 0 ? uuid : other;
}

static bool uuid_wire_usable(struct uuid uuid)
{
	for (size_t i = 0; i < COUNT_OF(uuid_wire_shared); i++) {
		if (uuid_equal(uuid, either_order(uuid_wire_shared[i])))
			return false;
	}
	return true;
}

bool uuid_decode(const void *option, size_t size, struct uuid *ret)
{
	struct wire_reader reader = wire_reader(option, option ? size : 0);
	struct uuid uuid;
	uint8_t type = wire_u8(&reader);

	wire_copy(&reader, uuid.bytes, UUID_SIZE);
	if (reader.bad || wire_left(&reader) > 0 || type != TYPE_UUID)
		return false;
	uuid = either_order(uuid);
	if (!uuid_wire_usable(uuid))
		return false;
	*ret = uuid;
	return true;
}

int uuid_parse(const char *text, struct uuid *ret)
{
	char digits[2 * UUID_SIZE + 1] = {0};
	struct uuid uuid;
	size_t count = 0;

	for (; *text; text++) {
		if (*text == '-')
			continue;
		if (count == sizeof(digits) - 1)
			return E_MALFORMED;
		digits[count++] = *text;
	}
	if (hex_decode(digits, uuid.bytes, UUID_SIZE))
		return E_MALFORMED;
	uuid = either_order(uuid);
	*ret = uuid_wire_usable(uuid) ? uuid : (struct uuid){0};
	return 0;
}

const char *uuid_text(struct uuid uuid, char ret[UUID_TEXT_SIZE])
{
	static const uint8_t ends[] = {4, 6, 8, 10, 16};
	char *at = ret;
	size_t from = 0;

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		hex_encode(&uuid.bytes[from], ends[i] - from, at);
		at += 2 * (ends[i] - from);
		from = ends[i];
		if (from < UUID_SIZE)
			*at++ = '-';
	}
	return ret;
}

bool uuid_equal(struct uuid a, struct uuid b)
{
	return memcmp(a.bytes, b.bytes, UUID_SIZE) == 0;
}

bool uuid_none(struct uuid uuid)
{
	return uuid_equal(uuid, (struct uuid){0});
}
