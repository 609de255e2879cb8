// links: common_net
/* Any bytes: an advertisement that decodes is encoded and decodes to the same; a solicitation is
 * taken only from its own link. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/net/ra_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ra_solicitation solicitation;
	struct ra_advertisement first = {0};
	struct ra_advertisement second = {0};
	uint8_t bytes[64];
	size_t encoded;

	assert(ra_solicitation_decode(data, size, 64, &solicitation) != 0);
	if (ra_solicitation_decode(data, size, 255, &solicitation) == 0)
		assert(data[0] == 133);
	if (ra_advertisement_decode(data, size, &first))
		return 0;
	assert(ra_advertisement_encode(&first, bytes, sizeof(bytes), &encoded) == 0);
	assert(ra_advertisement_decode(bytes, encoded, &second) == 0);
	assert(first.hop_limit == second.hop_limit && first.managed == second.managed &&
	       first.other == second.other && first.router_lifetime_s == second.router_lifetime_s &&
	       first.reachable_ms == second.reachable_ms &&
	       first.retransmit_ms == second.retransmit_ms &&
	       mac_equal(first.source, second.source));
	return 0;
}
