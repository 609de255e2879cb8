#include "bampi/agent/retry_policy.h"

#include "common/base/macros.h"

int64_t retry_delay_ms(enum retry_reason reason, unsigned attempt, uint32_t random)
{
	static const int64_t away_ms[] = {500, 1000, 2000, 4000, 8000, 15000};
	int64_t delay_ms = 60000;

	if (reason == RETRY_AWAY)
		delay_ms = away_ms[attempt < COUNT_OF(away_ms) ? attempt : COUNT_OF(away_ms) - 1];
	return delay_ms - delay_ms * (int64_t)(random % 256U) / 1024;
}
