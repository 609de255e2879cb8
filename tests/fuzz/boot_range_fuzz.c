// links: bootd_boot
/* Invariant: whatever is asked, the range lies in the file. The first byte chooses the file's size.
 */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/bootd/boot/boot_range_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t sizes[] = {0, 1, 100, (uint64_t)1 << 40};
	struct boot_range range;
	uint64_t file_size;
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	file_size = sizes[data[0] % 4];
	range = boot_range_decode(text, file_size);
	assert(range.first <= file_size && range.size <= file_size - range.first);
	free(text);
	return 0;
}
