// links: portal_server
/* What is found in a Cookie header is a whole value of it that is ours, and ends inside of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "portal/server/credential_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header = fuzz_text(data, size);
	char found[CREDENTIAL_SIZE];

	if (credential_of_cookie(header, found)) {
		const char *at = strstr(header, found);

		if (!credential_is_ours(found, strlen(found)) || !at || at == header ||
		    at[-1] != '=')
			abort();
	}
	free(header);
	return 0;
}
