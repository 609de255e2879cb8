/* How far an estimate may be off. Frames are drawn one in N. The bytes of `samples` drawn frames
 * estimate the true bytes with a known variance (sflow.org, "Packet Sampling Basics"; the
 * Horvitz-Thompson estimator). The printed interval holds the truth in 95 of 100 cases. */
#pragma once

#include <stdint.h>

#include "common/model/traffic_sums.h"

struct estimate {
	uint64_t bytes;
	uint64_t low, high; /* 95 % */
};

/* `missed`: bytes that were dropped before this row was first kept (traffic_set.h); they widen it
 * upwards. */
struct estimate estimate_of(const struct traffic_sums *sums, uint64_t missed);
