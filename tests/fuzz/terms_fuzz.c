// links: trainer_comm
/* Terms of a job, from another rank or a file: what is decoded encodes to the same bytes, names print and ascend, and
 * terms differ from themselves in nothing. */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "trainer_image/comm/terms_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader reader = wire_reader(data, size);
	static const struct terms nothing;
	struct term_difference is;
	struct terms terms;
	uint8_t bytes[TERMS_SIZE_MAX];

	if (terms_decode(&reader, &terms) != 0)
		return 0;
	size_t used = size - wire_left(&reader);
	struct wire_writer writer = wire_writer(bytes, sizeof(bytes));

	terms_encode(&terms, &writer);
	assert(!writer.bad && wire_written(&writer) == used && terms_size(&terms) == used);
	assert(used == 0 || memcmp(bytes, data, used) == 0);
	assert(!terms_differ(&terms, &terms, &is));
	assert(terms_differ(&terms, &nothing, &is) == (terms.count > 0));
	for (size_t i = 0; i < terms.count; i++)
		for (const char *at = terms.term[i].name; *at; at++)
			assert(*at >= ' ' && *at <= '~');
	return 0;
}
