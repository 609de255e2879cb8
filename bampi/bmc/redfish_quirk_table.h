/* How Redfish services of real vendors differ, as data. Sources: threads named in the rows; numbers
 * of OpenStack Ironic's ironic/conf/redfish.py. None of it could be tried on such hardware here:
 * the rows are proven against the manners of our own simulator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bampi/bmc/redfish_json.h"

/* A refusal that passes by itself: so many tries, the pause doubling up to the longest. */
struct redfish_patience {
	unsigned tries; /* after the first */
	uint32_t pause_ms, pause_max_ms;
};

struct redfish_quirk {
	const char *vendor;    /* in ServiceRoot.Vendor or Manufacturer, any case; "" = any other */
	uint32_t manufacturer; /* IANA enterprise number */
	/* A resource that is 404 appears after its collection was read (iDRAC: BootOptions and
	 * others; dell/iDRAC-Redfish-Scripting#359, #319). */
	struct redfish_patience not_found;
	/* 409 to a power-on soon after off: iDRAC10 for up to 60 s. */
	struct redfish_patience power_on;
	/* A boot override is refused while the firmware is in POST: iLO. */
	struct redfish_patience boot;
	/* The override that is read back may be of before (Supermicro under lockdown): another
	 * device than the one set is no failure, what our DHCP server sees is the proof. */
	bool stale_boot;
};

/* Never NULL. */
const struct redfish_quirk *redfish_quirk_find(const char *vendor);
/* Pause before try number `tries` + 1, ms; -1 = no more. */
int64_t redfish_patience_ms(const struct redfish_patience *patience, unsigned tries);
