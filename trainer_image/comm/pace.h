/* A token clock: how many bytes may be sent by now, so that a link is as fast as wanted and no faster.
 * It makes links of one machine as slow as real ones, for measurements that are honest about it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pace {
	double bytes_per_us; /* 0 = as fast as it goes */
	double at_us;        /* the link is free from then on */
};

void pace_set(struct pace *pace, double bytes_per_s, int64_t now_us);
/* Bytes of `size` that may leave now: at most what a link of this speed sends in one millisecond. */
size_t pace_allows(const struct pace *pace, int64_t now_us, size_t size);
/* They left. */
void pace_sent(struct pace *pace, int64_t now_us, size_t size);
/* Until more may leave, 0 = now. */
int64_t pace_wait_us(const struct pace *pace, int64_t now_us);
