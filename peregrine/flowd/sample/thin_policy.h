/* How a receiver keeps up: it uses one of 2, 4, 8 .. samples, drawn by chance, each for so many
 * times its rate. Sums stay right on average, and their bounds grow. The factor of each second is
 * known and said (traffic_bucket.thinned, drill). */
#pragma once

#include <stdint.h>

enum { THIN_MOST = 64 };

/* Of the harvest that ends. */
struct thin_facts {
	uint64_t samples;      /* that came, used or not */
	uint64_t kernel_drops; /* datagrams for which the queue had no room */
	uint64_t samples_max;  /* that may be used; 0 = as many as there is time for */
};

struct thin_state {
	unsigned factor; /* 1, 2, 4 .. THIN_MOST; 0 = 1 */
	unsigned calm;   /* harvests without a drop, in a row */
};

/* The factor of the next harvest. Twice as thin after a drop, half as thin after some time without
 * one. Never thinner or denser than samples_max asks for at the rate of this harvest. */
struct thin_state thin_next(const struct thin_state *state, const struct thin_facts *facts);
