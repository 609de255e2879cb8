// links: common_net
/* A line that is taken for a public key is one line of at most SSH_KEY_LINE_MAX bytes, without
 * controls, and begins with a known type; so does it without its comment. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/ssh_key_wire.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_text(data, size);
	const char *what = ssh_key_refusal(line, size);
	size_t type = strcspn(line, " \t");
	size_t blob = type + strspn(line + type, " \t");
	size_t end = blob + strcspn(line + blob, " \t");

	if (what) {
		assert(what[0] != '\0');
	} else {
		assert(size > 0 && size <= SSH_KEY_LINE_MAX && strlen(line) == size);
		assert(strpbrk(line, "\r\n\033") == NULL);
		assert(strncmp(line, "ssh-", 4) == 0 || strncmp(line, "ecdsa-", 6) == 0 ||
		       strncmp(line, "sk-", 3) == 0);
		assert(ssh_key_refusal(line, end) == NULL);
		assert(ssh_key_refusal(line, end - 1) != NULL); /* not a byte is without use */
	}
	free(line);
	return 0;
}
