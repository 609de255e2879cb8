// links: trainer_record
/* A PNG that is read as a mask has the size that was asked for; its pixels, written and read, are the same. The same bytes give the same
 * pixels. Of another size no memory is taken. What is refused has a reason. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_image/record/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As the header says; 1 where it says more than is worth a try. */
static uint32_t side_of(const uint8_t *data, size_t size, size_t at)
{
	return size >= at + 4 && data[at] == 0 && data[at + 1] == 0 && data[at + 2] < 2
		       ? (uint32_t)data[at + 2] << 8 | data[at + 3]
		       : 1;
}

static int read_once(const uint8_t *data, size_t size, uint32_t width, uint32_t height,
		     struct mask *ret)
{
	struct problem problem = {0};
	int rc = mask_read(data, size, width, height, ret, &problem);

	assert(rc == 0 || (rc == problem.code && problem.message[0] != '\0'));
	assert(rc != 0 || (ret->width == width && ret->height == height));
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t width = side_of(data, size, 16);
	uint32_t height = side_of(data, size, 20);
	struct problem problem = {0};
	struct mask other = {0};
	struct mask mask = {0};
	struct mask same = {0};
	uint8_t *again = NULL;
	size_t again_size = 0;

	assert(read_once(data, size, width + 1, height, &other) != 0 && !other.data);
	int rc = read_once(data, size, width, height, &mask);
	assert(read_once(data, size, width, height, &same) == rc);
	if (rc == 0) {
		assert(memcmp(mask.data, same.data, (size_t)width * height) == 0);
		assert(mask_write(&mask, &again, &again_size, &problem) == 0);
		memset(same.data, 0, (size_t)width * height);
		assert(read_once(again, again_size, width, height, &same) == 0);
		assert(memcmp(mask.data, same.data, (size_t)width * height) == 0);
	}
	free(again);
	mask_done(&mask);
	mask_done(&same);
	return 0;
}
