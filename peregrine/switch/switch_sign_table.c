/* Numbers of sysObjectID are the vendors' own registrations. One vendor gives numbers of one branch
 * to switches, firewalls and access points, so a sign without a word is rare: a wrong family sends
 * a switch the commands of another one. */
#include "peregrine/switch/switch_sign_table.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/macros.h"

#define VENDORS     ".1.3.6.1.4.1"
#define CISCO       VENDORS ".9.1"
#define CISCO_NEXUS VENDORS ".9.12.3.1.3"
#define HP          VENDORS ".11.2.3.7"
#define DELL        VENDORS ".674.10895"

const struct switch_sign switch_sign_table[] = {
	/* IOS XR, ASA, CatOS, controllers and the small-business line (Catalyst 1200, 1300) have
	 * numbers between those of IOS, and say none of these words. */
	{CISCO, "Cisco IOS Software", "cisco-ios"},
	{CISCO, "IOS (tm)", "cisco-ios"},
	{CISCO, "IOS-XE", "cisco-ios"},
	{CISCO, "IOS XE", "cisco-ios"},
	/* Catalyst IE3200, IE3300 and IE3400 run IOS XE and describe themselves by model alone. */
	{CISCO ".2683", "", "cisco-ios"},
	{CISCO ".2684", "", "cisco-ios"},
	{CISCO ".2685", "", "cisco-ios"},
	{CISCO ".2686", "", "cisco-ios"},
	{CISCO ".2687", "", "cisco-ios"},
	{CISCO_NEXUS, "NX-OS", "cisco-nxos"},
	/* Fabric interconnects, leaves of ACI and Fibre Channel switches: set by their managers. */
	{CISCO_NEXUS, "NX-OS(tm) ucs", "generic"},
	{CISCO_NEXUS, "NX-OS(tm) aci", "generic"},
	{CISCO_NEXUS, "NX-OS(tm) m9", "generic"},
	/* AOS-S alone numbers its firmware so: "revision KB.16.11.0001". The OfficeConnect and
	 * Instant On lines share the branch and have neither its command line nor its MIBs. */
	{HP ".11", "revision ", "hp-procurve"},
	{HP ".8.5", "revision ", "hp-procurve"}, /* a stack (VSF, backplane) as one */
	{VENDORS ".25506.1", "", "hpe-comware"},
	{VENDORS ".25506.11.1", "", "hpe-comware"},
	{VENDORS ".2011.10.1", "", "hpe-comware"},
	{VENDORS ".47196.4.1.1.1", "", "aruba-cx"},
	/* DNOS 6 and its forerunner; other PowerConnects and the X series have another firmware. */
	{DELL, "Networking N", "dell-n"},
	{DELL, ", VxWorks", "dell-n"},
	{VENDORS ".6027.1", "", "dell-os9"},
	{VENDORS ".674.11000.5000.100.2", "OS10", "dell-os10"},
	{VENDORS ".259.10.1", "", "edgecore-ecs"},
	{VENDORS ".2636", "", "juniper-junos"},
	/* Most answer as Net-SNMP does, Dell's with a number of Broadcom's. */
	{VENDORS, "SONiC Software Version", "sonic"},
	/* Any Linux answers as Net-SNMP does. The lab's leaf has the number of its own MIB. */
	{VENDORS ".8072.9999.9999.4", "", "openvswitch"},
};

const size_t switch_sign_count = COUNT_OF(switch_sign_table);

/* Whole arcs only: .9.1 is no prefix of .9.12. */
static bool switch_sign_holds(const struct switch_sign *sign, const char *object_id,
			      const char *text)
{
	size_t length = strlen(sign->object_id);

	return strncmp(sign->object_id, object_id, length) == 0 &&
	       (object_id[length] == '\0' || object_id[length] == '.') && strstr(text, sign->word);
}

static bool switch_sign_beats(const struct switch_sign *sign, const struct switch_sign *other)
{
	if (!sign->word[0] != !other->word[0])
		return sign->word[0] != '\0';
	if (strlen(sign->object_id) != strlen(other->object_id))
		return strlen(sign->object_id) > strlen(other->object_id);
	return strlen(sign->word) > strlen(other->word);
}

const struct switch_family *switch_family_detect(const char *object_id, const char *text)
{
	const struct switch_sign *best = NULL;

	for (size_t i = 0; i < COUNT_OF(switch_sign_table); i++) {
		const struct switch_sign *sign = &switch_sign_table[i];

		if (switch_sign_holds(sign, object_id, text) &&
		    (!best || switch_sign_beats(sign, best)))
			best = sign;
	}
	return switch_family_find(best ? best->family : "generic");
}
