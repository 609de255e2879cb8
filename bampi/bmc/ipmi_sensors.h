/* The sensors of one BMC: what its repository of sensor data records says (read once, in a thread),
 * and what a reading of one means. IPMI 2.0 rev 1.1, chapters 33, 35, 43. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/ipmi_wire.h"

enum { IPMI_SENSORS_MAX = 4096 };

struct ipmi_sensor {
	char name[33];
	uint8_t number, lun;
	uint8_t type, reading_type; /* [42.1, 42.2] */
	uint8_t unit;               /* [43.17] */
	bool percentage;
	bool ours;   /* the BMC itself has it: others would need bridging */
	bool analog; /* the reading is a number: */
	int8_t r_exponent, b_exponent;
	int16_t m, b;
	uint8_t linearization, format;
};

struct ipmi_sensor_table {
	struct ipmi_store_info info; /* of the repository it was made from */
	size_t count;
	struct ipmi_sensor rows[];
};

/* A reading as it came; nothing readable: zero bytes. */
struct ipmi_reading {
	bool readable;
	uint8_t value;
	uint16_t events;
};

/* Names and readings as rows of a BMC_SENSORS result, states by FreeIPMI's table. `readings` has
 * one for each row. -ENOMEM. */
MUST_USE int ipmi_sensors_result(const struct ipmi_sensor_table *table,
				 const struct ipmi_reading readings[], struct bmc_result *ret);
