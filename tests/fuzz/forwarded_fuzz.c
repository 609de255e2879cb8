// links: common_net
/* Any header value: what is accepted names an address whose encoding is accepted and names the
 * same.
 */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>

#include "common/net/forwarded_wire.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char again[FORWARDED_TEXT_SIZE];
	uint32_t client;
	uint32_t same;

	if (text && forwarded_decode(text, &client) == 0) {
		assert(forwarded_decode(forwarded_encode(client, again), &same) == 0);
		assert(client == same);
	}
	free(text);
	return 0;
}
