// links: trainer_comm
/* Heartbeats: bytes are proven here, so that what is behind the proof is reached. What was decoded encodes to a beat that
 * decodes to the same; its cause is one line. */
#undef NDEBUG
#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "trainer_image/comm/beat_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[BEAT_KEY_SIZE] = {1};
	uint8_t bytes[BEAT_SIZE_MAX];
	struct beat beat;
	struct beat again;

	if (size > sizeof(bytes) - crypto_auth_BYTES)
		return 0;
	if (size > 0)
		memcpy(bytes, data, size);
	(void)crypto_auth(bytes + size, bytes, size, key);
	if (beat_decode(bytes, size + crypto_auth_BYTES, key, &beat) != 0)
		return 0;
	assert(beat.rank < beat.ranks && beat.state <= BEAT_FAILED && !strchr(beat.cause, '\n'));
	size = beat_encode(&beat, key, bytes);
	assert(beat_decode(bytes, size, key, &again) == 0);
	assert(again.number == beat.number && again.step == beat.step &&
	       strcmp(again.cause, beat.cause) == 0);
	return 0;
}
