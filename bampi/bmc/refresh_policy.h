/* When each BMC is looked at. Every BMC has its own beat: an instant of a class repeats with the
 * class's period, and where in the period it lies follows from the BMC's number. So the load is
 * even however many BMCs there are, one that is late delays nobody, and nothing goes round them
 * all. Pure: time is an argument. */
#pragma once

#include <stdint.h>

#include "bampi/bmc/bmc_driver.h"

enum refresh_class {
	REFRESH_POWER,
	REFRESH_SENSORS,
	REFRESH_SEL, /* what is new in the event log */
	REFRESH_INFO,
	REFRESH_FRU,
	REFRESH_COUNT
};

struct refresh_row {
	const char *name;
	enum bmc_op op;
	int64_t first_within_ms; /* a BMC that is new to us waits at most so long */
};
extern const struct refresh_row refresh_table[REFRESH_COUNT];

/* The first instant after `now_ms` of this class for this BMC; INT64_MAX for period 0 (never). */
int64_t refresh_next_ms(int64_t bmc_id, enum refresh_class which, int64_t period_ms,
			int64_t now_ms);
/* The same for a BMC that has never been looked at: sooner, and spread likewise. */
int64_t refresh_first_ms(int64_t bmc_id, enum refresh_class which, int64_t period_ms,
			 int64_t now_ms);
