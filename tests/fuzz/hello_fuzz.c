// links: trainer_comm
/* What a rank says first: what was decoded encodes to the same bytes, and names a rank of the job. */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "trainer_image/comm/hello_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello hello;
	uint8_t bytes[HELLO_SIZE];

	if (hello_decode(data, size, &hello) != 0)
		return 0;
	assert(size == HELLO_SIZE && hello.rank < hello.ranks);
	hello_encode(&hello, bytes);
	assert(memcmp(bytes, data, size) == 0);
	return 0;
}
