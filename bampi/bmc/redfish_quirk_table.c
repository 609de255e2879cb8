#include "bampi/bmc/redfish_quirk_table.h"

#include <string.h>

/* The last row is for everybody else: one look at the parent, short patience. */
static const struct redfish_quirk quirk_table[] = {
	{
		.vendor = "Dell",
		.manufacturer = 674,
		.not_found = {3, 1000, 2000},
		.power_on = {6, 10000, 10000},
		.boot = {2, 5000, 10000},
	},
	{
		.vendor = "HPE",
		.manufacturer = 47196,
		.not_found = {1, 1000, 1000},
		.power_on = {2, 5000, 5000},
		.boot = {6, 5000, 30000},
	},
	{
		.vendor = "Supermicro",
		.manufacturer = 10876,
		.not_found = {1, 1000, 1000},
		.power_on = {2, 5000, 5000},
		.boot = {2, 5000, 10000},
		.stale_boot = true,
	},
	{
		.vendor = "",
		.not_found = {1, 1000, 1000},
		.power_on = {2, 5000, 5000},
		.boot = {1, 5000, 5000},
	},
};

const struct redfish_quirk *redfish_quirk_find(const char *vendor)
{
	size_t i = 0;

	while (i + 1 < COUNT_OF(quirk_table) && !strcasestr(vendor, quirk_table[i].vendor))
		i++;
	return &quirk_table[i];
}

int64_t redfish_patience_ms(const struct redfish_patience *patience, unsigned tries)
{
	int64_t pause_ms = patience->pause_ms;

	if (tries >= patience->tries)
		return -1;
	for (unsigned i = 0; i < tries && pause_ms < patience->pause_max_ms; i++)
		pause_ms *= 2;
	return pause_ms < patience->pause_max_ms ? pause_ms : patience->pause_max_ms;
}
