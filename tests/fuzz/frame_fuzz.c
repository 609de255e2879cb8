// links: common_net
/* Any payload between any ends: both checksums of the packet verify, and the payload is in it
 * unchanged. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/checksum.h"
#include "common/net/frame_wire.h"
#include "common/net/wire.h"

#define ROOM 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader input = wire_reader(data, size);
	struct frame_ends ends;
	uint8_t bytes[ROOM];
	uint8_t pseudo[12] = {0};
	size_t written;
	size_t payload;
	const uint8_t *at;

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
