/* What transports share. */
#pragma once

#include <errno.h>

#include "trainer_image/comm/transport.h"

/* 0, or why a call that has stood still for `still_us` ends. */
MUST_USE int transport_patience(struct transport *transport, const struct transport_exchange *is,
				int64_t still_us);
