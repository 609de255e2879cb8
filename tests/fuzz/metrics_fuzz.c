// links: trainer_train
/* A file of metrics: a header and frames. What is decoded encodes to the same bytes; frames lie in the file. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "trainer_image/record/crc32c.h"
#include "trainer_image/train/metrics_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A checksum that is right, so that what is behind it is reached: no fuzzer finds one. */
static void checksum_put(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static void header_fix(uint8_t *data, size_t size)
{
	size_t length = size < METRICS_BEGIN ? 0
					     : (size_t)data[12] << 24 | (size_t)data[13] << 16 |
						       (size_t)data[14] << 8 | data[15];

	if (length >= 8 && length <= size)
		checksum_put(data + length - 8, XXH64(data, length - 8, 0), 8);
}

static void frame_fix(uint8_t *data, size_t size)
{
	size_t length = size < 8 ? 0
				 : (size_t)data[0] << 24 | (size_t)data[1] << 16 |
					   (size_t)data[2] << 8 | data[3];

	if (length >= 8 && length <= size)
		checksum_put(data + 4, crc32c(0, data + 8, length - 8), 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metrics_columns columns;
	uint8_t header[METRICS_HEADER_SIZE_MAX];
	size_t header_size = 0;
	size_t again = 0;

	if (size == 0)
		return 0;
	uint8_t *copy = malloc(size);
	assert(copy);
	memcpy(copy, data, size);
	header_fix(copy, size);
	if (metrics_header_decode(copy, size, &columns, &header_size) != 0) {
		free(copy);
		return 0;
	}
	assert(header_size <= size && columns.count > 0 && columns.count <= METRICS_COLUMNS_MAX);
	assert(metrics_header_encode(&columns, header, &again) == 0);
	assert(again == header_size && memcmp(header, copy, again) == 0);
	for (size_t at = header_size; at < size;) {
		struct metrics_frame frame;
		uint8_t bytes[METRICS_FRAME_SIZE_MAX];
		size_t frame_size = 0;

		frame_fix(copy + at, size - at);
		if (metrics_frame_decode(copy + at, size - at, columns.count, &frame,
					 &frame_size) != 0)
			break;
		assert(frame_size > 0 && frame_size <= size - at);
		assert(metrics_frame_encode(&frame, columns.count, bytes) == frame_size);
		assert(memcmp(bytes, copy + at, frame_size) == 0);
		at += frame_size;
	}
	free(copy);
	return 0;
}
