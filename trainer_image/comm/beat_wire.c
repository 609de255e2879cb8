#include "trainer_image/comm/beat_wire.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/wire.h"

#define BEAT_MAGIC      "HAASBEAT"
#define BEAT_MAGIC_SIZE (sizeof(BEAT_MAGIC) - 1)

static_assert(BEAT_KEY_SIZE == crypto_auth_KEYBYTES, "HMAC of libsodium");
static_assert(BEAT_MAGIC_SIZE + 2 + 2 + 8 + 8 + 8 + 1 + 1 + BEAT_CAUSE_SIZE + crypto_auth_BYTES <=
		      BEAT_SIZE_MAX,
	      "a beat fits");
static_assert(BEAT_CAUSE_SIZE <= UINT8_MAX, "its length is a byte");

size_t beat_encode(const struct beat *beat, const uint8_t key[BEAT_KEY_SIZE],
		   uint8_t ret[BEAT_SIZE_MAX])
{
	struct wire_writer writer = wire_writer(ret, BEAT_SIZE_MAX);
	size_t length = strnlen(beat->cause, BEAT_CAUSE_SIZE - 1);
	uint8_t proof[crypto_auth_BYTES];

	wire_put_bytes(&writer, BEAT_MAGIC, BEAT_MAGIC_SIZE);
	wire_put_u16(&writer, beat->rank);
	wire_put_u16(&writer, beat->ranks);
	wire_put_u64(&writer, beat->number);
	wire_put_u64(&writer, beat->step);
	wire_put_u64(&writer, beat->waited_us);
	wire_put_u8(&writer, (uint8_t)beat->state);
	wire_put_u8(&writer, (uint8_t)length);
	wire_put_bytes(&writer, beat->cause, length);
	(void)crypto_auth(proof, ret, wire_written(&writer), key);
	wire_put_bytes(&writer, proof, sizeof(proof));
	return wire_written(&writer);
}

static int beat_read(struct wire_reader *reader, struct beat *ret)
{
	const uint8_t *magic = wire_bytes(reader, BEAT_MAGIC_SIZE);
	struct beat beat = {.rank = wire_u16(reader)};
	uint8_t state;
	size_t length;

	beat.ranks = wire_u16(reader);
	beat.number = wire_u64(reader);
	beat.step = wire_u64(reader);
	beat.waited_us = wire_u64(reader);
	state = wire_u8(reader);
	length = wire_u8(reader);
	if (length >= BEAT_CAUSE_SIZE)
		return E_MALFORMED;
	wire_copy(reader, beat.cause, length);
	if (reader->bad || wire_left(reader) > 0 ||
	    memcmp(magic, BEAT_MAGIC, BEAT_MAGIC_SIZE) != 0 || beat.rank >= beat.ranks ||
	    state > BEAT_FAILED)
		return E_MALFORMED;
	beat.state = (enum beat_state)state;
	text_blank_controls(beat.cause, length);
	*ret = beat;
	return 0;
}

int beat_decode(const uint8_t *data, size_t size, const uint8_t key[BEAT_KEY_SIZE],
		struct beat *ret)
{
	if (size < crypto_auth_BYTES || size > BEAT_SIZE_MAX)
		return E_MALFORMED;
	size -= crypto_auth_BYTES;
	if (crypto_auth_verify(data + size, data, size, key) != 0)
		return E_AUTHENTICATION;
	struct wire_reader reader = wire_reader(data, size);

	return beat_read(&reader, ret);
}
