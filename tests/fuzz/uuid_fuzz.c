// links: bootd_identify
/* Option 97: what is accepted is written as text that reads the same, in either byte order of its
 * first fields, and is never one of the shared values. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bampi/bootd/identify/uuid_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[UUID_TEXT_SIZE];
	struct uuid uuid;
	struct uuid again;

	if (!uuid_decode(data, size, &uuid))
		return 0;
	assert(size == 17 && !uuid_none(uuid));
	assert(strlen(uuid_text(uuid, text)) == UUID_TEXT_SIZE - 1);
	assert(uuid_parse(text, &again) == 0 && uuid_equal(uuid, again));
	return 0;
}
