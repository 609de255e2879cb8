// links: common_net
/* Any payload between any ends: both checksums of the packet verify, the payload is in it
 * unchanged, and it is read back. Any bytes: what is read lies inside of them. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/checksum.h"
#include "common/net/frame_wire.h"
#include "common/net/wire.h"

#define ROOM 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const uint8_t *bytes, size_t size, const struct frame_ends *ends,
		      const uint8_t *payload, size_t payload_size)
{
	struct frame_ends got;
	const uint8_t *at = NULL;
	size_t got_size = 0;

	assert(frame_decode(bytes, size, &got, &at, &got_size) == 0);
	assert(memcmp(&got, ends, sizeof(got)) == 0);
	assert(got_size == payload_size && memcmp(at, payload, payload_size) == 0);
	/* A byte less is no whole packet. */
	assert(frame_decode(bytes, size - 1, &got, &at, &got_size) != 0);
}

static void read_any(const uint8_t *data, size_t size)
{
	struct frame_ends ends;
	const uint8_t *at = NULL;
	size_t got = 0;

	if (frame_decode(data, size, &ends, &at, &got))
		return;
	assert(at >= data + FRAME_HEADERS_SIZE && got <= size && at + got <= data + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader input = wire_reader(data, size);
	struct frame_ends ends;
	uint8_t bytes[ROOM];
	uint8_t pseudo[12] = {0};
	size_t written;
	size_t payload;
	const uint8_t *at;

	read_any(data, size);
	ends.source = wire_u32(&input);
	ends.target = wire_u32(&input);
	ends.source_port = wire_u16(&input);
	ends.target_port = wire_u16(&input);
	if (input.bad)
		return 0;
	payload = wire_left(&input);
	at = wire_bytes(&input, payload);
	if (frame_encode(&ends, at, payload, bytes, sizeof(bytes), &written)) {
		assert(payload > sizeof(bytes) - FRAME_HEADERS_SIZE);
		return 0;
	}
	assert(written == payload + FRAME_HEADERS_SIZE);
	read_back(bytes, written, &ends, at, payload);
	assert(memcmp(bytes + FRAME_HEADERS_SIZE, at, payload) == 0);
	assert(checksum_finish(checksum_add(0, bytes, 20)) == 0);
	memcpy(pseudo, bytes + 12, 8);
	pseudo[9] = 17;
	memcpy(pseudo + 10, bytes + 24, 2);
	assert(checksum_finish(
		       checksum_add(checksum_add(0, pseudo, 12), bytes + 20, written - 20)) == 0);
	assert(bytes[26] || bytes[27]); /* zero would mean "no checksum" */
	return 0;
}
