// links: trainer_train
/* The header of a checkpoint: what is decoded encodes to the same bytes; names print, and sizes add up without an
 * overflow. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "trainer_image/train/checkpoint_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint_header header;
	size_t told = 0;

	if (size < 8)
		return 0;
	uint8_t *copy = malloc(size);
	assert(copy);
	memcpy(copy, data, size);
	if (checkpoint_wire_size(copy, size, &told) == 0)
		assert(told <= CHECKPOINT_HEADER_SIZE_MAX);
	/* A digest that is right, so that what is behind it is reached: no fuzzer finds one. */
	uint64_t digest = XXH64(copy, size - 8, 0);
	for (unsigned i = 0; i < 8; i++)
		copy[size - 1 - i] = (uint8_t)(digest >> 8 * i);
	if (checkpoint_wire_decode(copy, size, &header) == 0) {
		uint8_t *again = malloc(size);
		size_t length = 0;

		assert(again && header.count <= CHECKPOINT_REGIONS_MAX);
		assert(checkpoint_bytes(&header) <= INT64_MAX);
		assert(checkpoint_wire_length(&header, &length) == 0 && length == size);
		checkpoint_wire_encode(&header, again, size);
		assert(memcmp(again, copy, size) == 0);
		free(again);
		free(header.rows);
	}
	free(copy);
	return 0;
}
