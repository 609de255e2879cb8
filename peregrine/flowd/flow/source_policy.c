#include "peregrine/flowd/flow/source_policy.h"

/* More is no estimate any more, or a pool that makes no sense. */
#define FACTOR_LIMIT 1000.0

double source_factor(const struct source_sums *sums)
{
	double factor;

	if (sums->datagrams || sums->restarted || !sums->rates || !sums->pool)
		return 1;
	if (!sums->missing && !sums->drops)
		return 1;
	factor = (double)sums->pool / (double)sums->rates;
	if (factor < 1)
		return 1;
	return factor > FACTOR_LIMIT ? FACTOR_LIMIT : factor;
}
