#include "bampi/control/health/health_table.h"

#include "common/base/macros.h"

const char *const health_severity_words[HEALTH_SEVERITY_COUNT] = {
	[HEALTH_INFO] = "info",
	[HEALTH_WARNING] = "warning",
	[HEALTH_CRITICAL] = "critical",
};

const char *const health_effect_words[HEALTH_EFFECT_COUNT] = {"no_allocation", "no_automation"};

#define MINUTE 60
#define HOUR   3600
#define DAY    86400
#define MONTH  (30 * DAY)

#define NONE     0
#define NOT_LENT HEALTH_NO_ALLOCATION
#define HANDS_ON (HEALTH_NO_ALLOCATION | HEALTH_NO_AUTOMATION)
#define INFO     HEALTH_INFO
#define WARN     HEALTH_WARNING
#define CRIT     HEALTH_CRITICAL
#define SENSOR   HEALTH_SENSOR
#define EVENT    HEALTH_EVENT
#define BY_HAND  HEALTH_BY_HAND

/* An hour of correctable memory errors is weather, a day full of them is a module that goes bad:
 * the count is per day. What can only be mended by hands (memory, a processor) is only cleared by a
 * person; what a sensor can tell to be well again clears itself. An open chassis stops automation,
 * too: somebody's hands are in it. */
/* clang-format off */
const struct health_rule health_rules[] = {
	{"temperature_critical", CRIT, NOT_LENT, SENSOR, "Temperature",       "critical", false, 0, 0, 2 * MINUTE, 10 * MINUTE, "look at air flow, dust and cooling paste"},
	{"temperature_high",     WARN, NONE,     SENSOR, "Temperature",       "warning",  false, 0, 0, 10 * MINUTE, 30 * MINUTE, "look at air flow and the room"},
	{"fan_failed",           CRIT, NOT_LENT, SENSOR, "Fan",               "critical", true,  0, 0, 2 * MINUTE, 10 * MINUTE, "replace the fan"},
	{"cooling_degraded",     WARN, NONE,     SENSOR, "Fan",               "warning",  true,  0, 0, 10 * MINUTE, 30 * MINUTE, "look at the fans"},
	{"cooling_degraded",     WARN, NONE,     SENSOR, "Cooling Device",    "critical", true,  0, 0, 2 * MINUTE, 30 * MINUTE, "look at the fans"},
	{"voltage_critical",     CRIT, NOT_LENT, SENSOR, "Voltage",           "critical", true,  0, 0, 2 * MINUTE, 10 * MINUTE, "look at the power supplies and the board"},
	{"power_supply_failed",  WARN, NONE,     SENSOR, "Power Supply",      "critical", false, 0, 0, 2 * MINUTE, 10 * MINUTE, "look at its cord, its feed, then replace it"},
	{"power_redundancy_lost", WARN, NONE,    SENSOR, "Power Unit",        "critical", true,  0, 0, 2 * MINUTE, 10 * MINUTE, "look at the power supplies and their feeds"},
	{"chassis_open",         CRIT, HANDS_ON, SENSOR, "Physical Security", "critical", false, 0, 0, 0,          2 * MINUTE,  "check who opened the chassis; close it"},
	{"drive_fault",          CRIT, NOT_LENT, SENSOR, "Drive Slot",        "critical", false, 0, 0, 2 * MINUTE, 10 * MINUTE, "replace the drive"},
	{"memory_fault",         CRIT, NOT_LENT, SENSOR, "Memory",            "critical", true,  0, 0, 0,          BY_HAND,     "replace the module and clear the label"},
	{"processor_fault",      CRIT, NOT_LENT, SENSOR, "Processor",         "critical", true,  0, 0, 0,          BY_HAND,     "look at the processor and its cooling, then clear the label"},
	{"battery_low",          WARN, NONE,     SENSOR, "Battery",           "critical", false, 0, 0, HOUR,       HOUR,        "replace the battery of the board"},
	{"sensor_critical",      WARN, NONE,     SENSOR, NULL,                "critical", true,  0, 0, 2 * MINUTE, 10 * MINUTE, "haasctl node health shows the sensor"},

	{"memory_fault",         CRIT, NOT_LENT, EVENT, "Memory",             "Uncorrectable*",  false, 1,  MONTH, 0, BY_HAND, "replace the module and clear the label"},
	{"memory_fault",         CRIT, NOT_LENT, EVENT, "Memory",             "*logging limit reached*", false, 1, MONTH, 0, BY_HAND, "replace the module and clear the label"},
	{"memory_fault",         CRIT, NOT_LENT, EVENT, "Memory",             "Memory Device Disabled*", false, 1, MONTH, 0, BY_HAND, "replace the module and clear the label"},
	{"memory_errors",        WARN, NONE,     EVENT, "Memory",             "Correctable*",    false, 24, DAY,   0, HOUR,    "a module goes bad: plan its replacement"},
	{"processor_fault",      CRIT, NOT_LENT, EVENT, "Processor",          "*IERR*",          false, 1,  MONTH, 0, BY_HAND, "look at the processor and its cooling, then clear the label"},
	{"processor_fault",      CRIT, NOT_LENT, EVENT, "Processor",          "*Thermal Trip*",  false, 1,  MONTH, 0, BY_HAND, "look at the processor and its cooling, then clear the label"},
	{"processor_fault",      CRIT, NOT_LENT, EVENT, "Processor",          "Machine Check Exception*", false, 1, MONTH, 0, BY_HAND, "look at the processor, then clear the label"},
	{"bus_fault",            CRIT, NOT_LENT, EVENT, "Critical Interrupt", "*Uncorrectable*", false, 1,  MONTH, 0, BY_HAND, "look at the cards and cables, then clear the label"},
	{"bus_fault",            CRIT, NOT_LENT, EVENT, "Critical Interrupt", "Bus Fatal*",      false, 1,  MONTH, 0, BY_HAND, "look at the cards and cables, then clear the label"},
	{"bus_fault",            CRIT, NOT_LENT, EVENT, "Critical Interrupt", "PCI ?ERR*",       false, 1,  MONTH, 0, BY_HAND, "look at the cards and cables, then clear the label"},
	{"drive_fault",          CRIT, NOT_LENT, EVENT, "Drive Slot",         "Drive Fault*",    false, 1,  MONTH, 0, 10 * MINUTE, "replace the drive"},
	{"drive_failing",        WARN, NONE,     EVENT, "Drive Slot",         "Predictive Failure*", false, 1, MONTH, 0, HOUR,    "plan the replacement of the drive"},
	{"power_supply_failed",  WARN, NONE,     EVENT, "Power Supply",       "*Failure detected*", false, 1, MONTH, 0, 10 * MINUTE, "look at its cord, its feed, then replace it"},
	{"os_stopped",           INFO, NONE,     EVENT, "OS Critical Stop",   NULL,              false, 1,  DAY,   0, 0,       "the node's OS has crashed: its console log may tell why"},
	{"event_log_full",       WARN, NONE,     EVENT, "Event Logging Disabled", "*full*",      false, 1,  MONTH, 0, BY_HAND, "nothing new is logged: save it and clear it, then clear the label"},

	{"bmc_silent",           CRIT, NOT_LENT, HEALTH_SILENT, NULL,         NULL,              false, 0,  0, 10 * MINUTE, 2 * MINUTE, "look at its cable and network, or reset the BMC"},
	{"drive_failed_erase",   CRIT, NOT_LENT, HEALTH_DRIVE,  NULL,         NULL,              false, 0,  0, 0,           0,          "replace the drive; it may hold a tenant's data"},
};
/* clang-format on */

const size_t health_rule_count = COUNT_OF(health_rules);
