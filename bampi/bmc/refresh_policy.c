#include "bampi/bmc/refresh_policy.h"

#include "common/base/hash.h"

const struct refresh_row refresh_table[REFRESH_COUNT] = {
	/*                  name       op               first_within_ms */
	[REFRESH_POWER] = {"power", BMC_POWER_STATUS, 10000},
	[REFRESH_SENSORS] = {"sensors", BMC_SENSORS, 120000},
	[REFRESH_SEL] = {"sel", BMC_SEL_NEW, 60000},
	[REFRESH_INFO] = {"info", BMC_INFO, 60000},
	[REFRESH_FRU] = {"fru", BMC_FRU, 600000},
};

/* The classes of one BMC differ, too. */
static int64_t phase_ms(int64_t bmc_id, enum refresh_class which, int64_t range_ms)
{
	return (int64_t)hash_even((uint64_t)bmc_id * REFRESH_COUNT + which, (uint64_t)range_ms);
}

int64_t refresh_next_ms(int64_t bmc_id, enum refresh_class which, int64_t period_ms, int64_t now_ms)
{
	int64_t phase;

	if (period_ms <= 0)
		return INT64_MAX;
	phase = phase_ms(bmc_id, which, period_ms);
	if (now_ms < phase)
		return phase;
	return now_ms - (now_ms - phase) % period_ms + period_ms;
}

int64_t refresh_first_ms(int64_t bmc_id, enum refresh_class which, int64_t period_ms,
			 int64_t now_ms)
{
	int64_t within_ms = refresh_table[which].first_within_ms;

	if (period_ms <= 0)
		return INT64_MAX;
	if (within_ms > period_ms)
		within_ms = period_ms;
	return now_ms + 1 + phase_ms(bmc_id, which, within_ms);
}
