// links: portal_server
/* Any bytes as a Cookie header. What is accepted was sealed by us: sealed again and opened it is the same, and with another key it is
 * nothing. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/login_state_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[LOGIN_STATE_KEY] = {7}, other[LOGIN_STATE_KEY] = {8};
	char *header = fuzz_text(data, size);
	char again[LOGIN_STATE_SIZE], cookie[LOGIN_STATE_SIZE + 32];
	struct login_state state = {0}, second = {0};

	assert(sodium_init() >= 0);
	if (login_state_open(key, header, &state)) {
		assert(!login_state_open(other, header, &second));
		assert(login_state_seal(key, &state, again) == 0);
		assert(text_format(cookie, sizeof(cookie), "a=b; " LOGIN_STATE_COOKIE "=%s",
				   again));
		assert(login_state_open(key, cookie, &second));
		assert(memcmp(&state, &second, sizeof(state)) == 0);
	}
	free(header);
	return 0;
}
