// links: trainer_record
/* A picture that is decoded lies within its limits, and the wanted region within the picture. The
 * same bytes give the same pixels, whatever the decoder read before. What is refused has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/problem.h"

#include "trainer_image/record/jpeg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct jpeg_limits limits = {.pixels = 1 << 18, .memory = 8 << 20};

static int read_once(struct jpeg_decoder *decoder, const uint8_t *data, size_t size, unsigned turn,
		     struct picture *ret)
{
	struct jpeg_header header;
	struct picture_region region;
	struct problem problem = {0};
	int rc = jpeg_decoder_open(decoder, data, size, &header, &problem);

	if (rc == 0) {
		if ((uint64_t)header.width * header.height > limits.pixels)
			abort();
		region.x = (uint32_t)size * (turn + 1) % header.width;
		region.y = (uint32_t)size * (turn + 3) % header.height;
		region.width = 1 + (header.width - region.x - 1) / (1 + turn % 3);
		region.height = 1 + (header.height - region.y - 1) / (1 + turn % 2);
		rc = jpeg_decoder_read(decoder, &region, turn == 0 ? 9999 : 4, 4, ret, &problem);
	}
	if (rc != 0 && (rc != problem.code || problem.message[0] == '\0'))
		abort();
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jpeg_decoder *decoder;

	if (jpeg_decoder_new(&limits, &decoder) != 0)
		return 0;
	for (unsigned turn = 0; turn < 3; turn++) {
		struct picture first = {0};
		struct picture second = {0};
		int rc = read_once(decoder, data, size, turn, &first);

		if (rc != read_once(decoder, data, size, turn, &second))
			abort();
		if (rc == 0) {
			if (first.left < 0 || first.top < 0 ||
			    first.left + first.region_width > first.width + 1e-9 ||
			    first.top + first.region_height > first.height + 1e-9)
				abort();
			for (uint32_t y = 0; y < first.height; y++) {
				if (memcmp(first.data + y * first.stride,
					   second.data + y * second.stride, first.stride) != 0)
					abort();
			}
		}
		picture_done(&first);
		picture_done(&second);
	}
	jpeg_decoder_free(decoder);
	return 0;
}
