// links: portal_cli
/* Any log: a secret that is known does not come through, nor what stands behind "password=". */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "portal/cli/site_mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "S3cret-W0rd";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(site_mask_done) struct site_mask mask = {0};
	CLEANUP(text_done) struct text in = {0};
	CLEANUP(text_done) struct text out = {0};

	if (size > 4096)
		return 0;
	site_mask_learn(&mask, secret, sizeof(secret) - 1);
	/* The secret in the middle of the input, whatever stands around it. */
	text_add_bytes(&in, data, size / 2);
	text_add(&in, secret);
	text_add_bytes(&in, data + size / 2, size - size / 2);
	text_add(&in, "\npassword=Hunter-2-Hunter\n");
	site_mask_add(&mask, text_get(&in), in.size, &out);
	assert(!memmem(text_get(&out), out.size, secret, sizeof(secret) - 1));
	assert(!memmem(text_get(&out), out.size, "Hunter-2-Hunter", 15) ||
	       memmem(data, size, "Hunter-2-Hunter", 15));
	return 0;
}
