#include "peregrine/switch/switch_health.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/macros.h"

/* LacpState (IEEE8023-LAG-MIB): aggregation 2, synchronization 3, collecting 4, distributing 5. */
#define LACP_BUNDLED 0x3c

/* SensorDataType, SensorDataScale (RFC 3433). */
static const char *const switch_health_units[] = {"",    "",       "",      "V AC",    "V",
						  "A",   "W",      "Hz",    "celsius", "%RH",
						  "rpm", "m3/min", "truth", "",        "dBm"};
enum { SCALE_UNITS = 9, SCALE_LAST = 17 };

void switch_health_done(struct switch_health *health)
{
	free(health->ports);
	free(health->sensors);
	*health = (struct switch_health){0};
}

bool switch_lag_bundled(uint8_t state)
{
	return (state & LACP_BUNDLED) == LACP_BUNDLED;
}

const char *switch_sensor_unit(uint8_t type)
{
	return type < COUNT_OF(switch_health_units) ? switch_health_units[type] : "";
}

double switch_sensor_value(const struct switch_sensor *sensor)
{
	int thousands =
		sensor->scale >= 1 && sensor->scale <= SCALE_LAST ? sensor->scale - SCALE_UNITS : 0;

	int exponent = 3 * thousands - sensor->precision;

	/* Divided, so that 65 hundredths are 0.65 as people write it. */
	return exponent < 0 ? sensor->value / pow(10, -exponent)
			    : sensor->value * pow(10, exponent);
}
