/* What transports share. */
#pragma once

#include <errno.h>

#include "trainer_image/comm/transport.h"

/* Since when a call has stood still. Calls look many times a second: a second or more between two looks means that this
 * process was stopped (Ctrl-Z). That time does not count. */
struct transport_still {
	int64_t moved_us, looked_us;
};

/* Something has moved; and the begin. */
void transport_still_moved(struct transport_still *still);
int64_t transport_still_us(struct transport_still *still);
/* 0, or why a call that has stood still for `still_us` ends. */
MUST_USE int transport_patience(struct transport *transport, const struct transport_exchange *is,
				int64_t still_us);
