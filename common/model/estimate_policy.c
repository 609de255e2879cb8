#include "common/model/estimate_policy.h"

#include <math.h>

/* 97.5 % quantile of the normal distribution. */
#define Z 1.959964

/* The number of drawn frames is Poisson to a very good approximation (1 in N, N large). Its score
 * interval  c + z^2/2 +- z sqrt(c + z^2/4)  keeps its promise down to a single sample, where
 * +-1.96 sqrt(c) does not. Sizes that differ widen it: with k = c * sum(b^2) / (sum b)^2 >= 1 the c
 * samples are worth c/k of equal size. */
struct estimate estimate_of(const struct traffic_sums *sums, uint64_t missed)
{
	double bytes = (double)sums->bytes;
	double worth;
	double middle;
	double half;
	double per;
	struct estimate e = {.bytes = sums->bytes, .low = sums->bytes, .high = sums->bytes};

	e.high += missed;
	/* Without variance it was counted, not estimated. */
	if (sums->samples == 0 || sums->bytes == 0 || sums->square <= 0)
		return e;
	worth = bytes * bytes / sums->square;
	per = bytes / worth;
	middle = worth + Z * Z / 2;
	half = Z * sqrt(worth + Z * Z / 4);
	e.low = (uint64_t)llround(fmax(0, (middle - half) * per));
	e.high = (uint64_t)llround((middle + half) * per) + missed;
	return e;
}
