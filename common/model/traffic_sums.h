/* What sampled traffic adds up to: written by peregrine-flowd (db/schema/traffic.sql), read by
 * portald. */
#pragma once

#include <stdint.h>

/* Integers, so that sums agree at every level to the byte. */
struct traffic_sums {
	uint64_t bytes,
		packets;  /* estimated: each sample stands for the frames it was drawn from */
	double square;    /* sum of (bytes of a sample)^2: the variance of `bytes` */
	uint64_t samples; /* a record of a flow that was not sampled is one */
};
