// links: sim_prober
/* What comes from the wire is a frame of this prober with a known kind, or none; a file of members
 * that is wrong changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/sim/prober/prober_members.h"
#include "tests/sim/prober/prober_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prober_frame frame = {.token = 0};
	struct prober_members *members = calloc(1, sizeof(*members));
	char *text = fuzz_text(data, size);
	unsigned line = 0;

	if (!members)
		abort();
	if (prober_frame_read(data, size, 0, &frame) == 0 && frame.kind >= PROBER_KINDS)
		abort();
	if (prober_members_follow(members, text, 1000, &line) != 0) {
		if (members->count != 0 || members->tenant_count != 0)
			abort();
	} else if (members->count > PROBER_PROBES || members->tenant_count > PROBER_TENANTS) {
		abort();
	}
	for (size_t i = 0; i < members->count; i++) {
		char tenants[64];

		if (members->probes[i].name[0] == '\0' ||
		    prober_tenants_text(members, i, tenants, sizeof(tenants))[0] == '\0')
			abort();
	}
	free(members);
	free(text);
	return 0;
}
