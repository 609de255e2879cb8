// links: bampi_agent
/* Invariant: a script that is taken as work says where, with which token and for which NIC, in words
 * that are safe in a header and in a file of words. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "bampi/agent/boot_script_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct boot_script script;

	memset(&script, 0xa5, sizeof(script));
	if (boot_script_decode(data, size, &script))
		return 0;
	assert(script.target <= BOOT_SCRIPT_WAIT);
	if (script.target != BOOT_SCRIPT_AGENT) {
		assert(!script.url[0] && !script.token[0] && !script.mac[0]);
		return 0;
	}
	assert(strncmp(script.url, "http", 4) == 0 && strlen(script.url) < sizeof(script.url));
	assert(strspn(script.token, "0123456789abcdef") == TOKEN_TEXT_SIZE - 1);
	for (const char *c = script.url; *c; c++)
		assert(*c > ' ' && (unsigned char)*c < 0x7f);
	for (const char *c = script.mac; *c; c++)
		assert(*c > ' ' && (unsigned char)*c < 0x7f);
	return 0;
}
