/* Prefixes of sysObjectID are the vendors' own registrations; where one vendor's families share a
 * prefix, a word of sysDescr decides. */
#include "peregrine/switch/switch_family_table.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/netconf/netconf_dialect.h"
#include "peregrine/switch/snmp/snmp_dialect.h"

#define CISCO "1.3.6.1.4.1.9"
#define DELL  "1.3.6.1.4.1.674.10895"

const struct switch_family switch_family_table[] = {
	{
		/* The last resort: plain RFC 4363, no wishes of its own. */
		.name = "generic",
		.title = "any switch with a writable Q-BRIDGE-MIB",
		.object_ids = {"." CISCO ".6"}, /* the small-business line: no IOS */
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_qbridge,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 1,
		.timeout_ms = 2000,
		.change_timeout_ms = 60000,
		.proof = PROOF_DATA_PLANE,
	},
	{
		.name = "openvswitch",
		.title = "Open vSwitch behind Net-SNMP (the lab's leaf)",
		.object_ids = {".1.3.6.1.4.1.8072"},
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_lab,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 1,
		.timeout_ms = 2000,
		.change_timeout_ms = 60000,
		.proof = PROOF_DATA_PLANE,
	},
	{
		/* Named by an operator, never detected: by SNMP it is any Linux. */
		.name = "openvswitch-ovsdb",
		.title = "Open vSwitch by its database",
		.read_driver = "ovsdb+snmp",
		.write_driver = "ovsdb+snmp",
		.snmp = &snmp_dialect_read_only,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 1,
		.timeout_ms = 2000,
		.change_timeout_ms = 60000,
		.proof = PROOF_DATA_PLANE,
	},
	{
		.name = "cisco-ios",
		.title = "Cisco IOS / IOS-XE",
		.object_ids = {"." CISCO},
		.read_driver = "snmp",
		.write_driver = "cli",
		.snmp = &snmp_dialect_ios,
		.cli = &cli_dialect_ios,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,1002-1005",
		.max_vlans = 1005,
		.max_sessions = 5,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		/* By name only: for IOS whose command line is not to be used. */
		.name = "cisco-ios-snmp",
		.title = "Cisco IOS by SNMP alone",
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_ios,
		.cli = &cli_dialect_ios,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,1002-1005",
		.max_vlans = 1005,
		.max_sessions = 1,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "cisco-nxos",
		.title = "Cisco NX-OS",
		.object_ids = {"." CISCO ".12.3.1.3"},
		.texts = {"NX-OS"},
		.read_driver = "cli",
		.write_driver = "cli",
		.snmp = &snmp_dialect_read_only,
		.cli = &cli_dialect_nxos,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,3968-4094",
		.max_vlans = 3967,
		.max_sessions = 4,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "hp-procurve",
		.title = "HP ProCurve / Aruba AOS-S",
		.object_ids = {".1.3.6.1.4.1.11.2.3.7.11"},
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_procurve,
		.cli = &cli_dialect_procurve,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.enters_first = true,
		.max_vlans = 256,
		.max_sessions = 1,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "hpe-comware",
		.title = "HPE Comware",
		.object_ids = {".1.3.6.1.4.1.25506", ".1.3.6.1.4.1.2011.10"},
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_comware,
		.cli = &cli_dialect_comware,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.enters_first = true,
		.max_vlans = 4094,
		.max_sessions = 5,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "aruba-cx",
		.title = "Aruba AOS-CX",
		.object_ids = {".1.3.6.1.4.1.47196"},
		.read_driver = "cli",
		.write_driver = "cli",
		.snmp = &snmp_dialect_read_only,
		.cli = &cli_dialect_aoscx,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.enters_first = true,
		.max_vlans = 4040,
		.max_sessions = 5,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "dell-n",
		.title = "Dell N-series / PowerConnect (DNOS 6)",
		.object_ids = {"." DELL},
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_dnos,
		.cli = &cli_dialect_dnos,
		.vlan_low = 1,
		.vlan_high = 4093,
		.reserved = "1,4094",
		.max_vlans = 4093,
		.max_sessions = 1,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "dell-os9",
		.title = "Dell OS9 (Force10)",
		.object_ids = {".1.3.6.1.4.1.6027"},
		.read_driver = "snmp",
		.write_driver = "cli",
		.snmp = &snmp_dialect_os9,
		.cli = &cli_dialect_os9,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 1,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "dell-os10",
		.title = "Dell SmartFabric OS10",
		.object_ids = {".1.3.6.1.4.1.674.11000.5000.100.2"},
		.texts = {"OS10"},
		.read_driver = "cli",
		.write_driver = "cli",
		.snmp = &snmp_dialect_read_only,
		.cli = &cli_dialect_os10,
		.vlan_low = 1,
		.vlan_high = 4093,
		.reserved = "1,4094",
		.max_vlans = 4093,
		.max_sessions = 2,
		.timeout_ms = 5000,
		.change_timeout_ms = 180000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "edgecore-ecs",
		.title = "Edgecore ECS",
		.object_ids = {".1.3.6.1.4.1.259"},
		.read_driver = "snmp",
		.write_driver = "snmp",
		.snmp = &snmp_dialect_ecs,
		.cli = &cli_dialect_ecs,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,4093",
		.enters_first = true,
		.max_vlans = 4094,
		.max_sessions = 4,
		.timeout_ms = 3000,
		.change_timeout_ms = 120000,
		.proof = PROOF_EMULATOR,
	},
	{
		/* Answers as Net-SNMP does; only the text tells it from another Linux. */
		.name = "sonic",
		.title = "SONiC (Edgecore DCS and others)",
		.object_ids = {".1.3.6.1.4.1.8072.3.2.10"},
		.texts = {"SONiC"},
		.read_driver = "cli",
		.write_driver = "cli",
		.snmp = &snmp_dialect_read_only,
		.cli = &cli_dialect_sonic,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 2,
		.timeout_ms = 3000,
		.change_timeout_ms = 300000,
		.proof = PROOF_EMULATOR,
	},
	/* NETCONF is chosen by an operator, for one switch, by naming its family so: no sysObjectID
	 * leads here. */
	{
		.name = "cisco-nxos-netconf",
		.title = "Cisco NX-OS by NETCONF",
		.read_driver = "netconf",
		.write_driver = "netconf",
		.snmp = &snmp_dialect_read_only,
		.cli = &cli_dialect_nxos,
		.netconf = &netconf_dialect_nxos,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,3968-4094",
		.max_vlans = 3967,
		.max_sessions = 4,
		.timeout_ms = 5000,
		.change_timeout_ms = 180000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "cisco-iosxe-netconf",
		.title = "Cisco IOS-XE by NETCONF",
		.read_driver = "netconf",
		.write_driver = "netconf",
		.snmp = &snmp_dialect_ios,
		.cli = &cli_dialect_ios,
		.netconf = &netconf_dialect_iosxe,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1,1002-1005",
		.max_vlans = 1005,
		.max_sessions = 5,
		.timeout_ms = 5000,
		.change_timeout_ms = 180000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "hpe-comware-netconf",
		.title = "HPE Comware by NETCONF",
		.read_driver = "netconf",
		.write_driver = "netconf",
		.snmp = &snmp_dialect_comware,
		.cli = &cli_dialect_comware,
		.netconf = &netconf_dialect_comware,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 5,
		.timeout_ms = 5000,
		.change_timeout_ms = 180000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "openconfig",
		.title = "any switch with OpenConfig's models, by NETCONF",
		.read_driver = "netconf",
		.write_driver = "netconf",
		.snmp = &snmp_dialect_read_only,
		.netconf = &netconf_dialect_openconfig,
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 2,
		.timeout_ms = 5000,
		.change_timeout_ms = 180000,
		.proof = PROOF_EMULATOR,
	},
	{
		.name = "sim",
		.title = "simulated in peregrined's memory (tests and sizing)",
		.read_driver = "sim",
		.write_driver = "sim",
		.vlan_low = 1,
		.vlan_high = 4094,
		.reserved = "1",
		.max_vlans = 4094,
		.max_sessions = 1,
		.timeout_ms = 2000,
		.change_timeout_ms = 60000,
		.proof = PROOF_NONE,
	},
};

const size_t switch_family_count = COUNT_OF(switch_family_table);

const struct switch_family *switch_family_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(switch_family_table); i++) {
		if (strcmp(switch_family_table[i].name, name) == 0)
			return &switch_family_table[i];
	}
	return NULL;
}

/* Whole arcs only: .9.1 is not a prefix of .9.12. */
static size_t prefix_length(const char *prefix, const char *object_id)
{
	size_t length = strlen(prefix);

	if (strncmp(prefix, object_id, length) != 0)
		return 0;
	return object_id[length] == '\0' || object_id[length] == '.' ? length : 0;
}

static size_t longest_prefix(const struct switch_family *family, const char *object_id)
{
	size_t best = 0;

	for (size_t i = 0; i < COUNT_OF(family->object_ids) && family->object_ids[i]; i++) {
		size_t length = prefix_length(family->object_ids[i], object_id);

		if (length > best)
			best = length;
	}
	return best;
}

/* A row that asks for a word is only taken with it. */
static bool text_agrees(const struct switch_family *family, const char *text)
{
	for (size_t i = 0; i < COUNT_OF(family->texts) && family->texts[i]; i++) {
		if (strstr(text, family->texts[i]))
			return true;
	}
	return !family->texts[0];
}

const struct switch_family *switch_family_detect(const char *object_id, const char *text)
{
	const struct switch_family *best = &switch_family_table[0];
	size_t best_length = 0;

	for (size_t i = 0; i < COUNT_OF(switch_family_table); i++) {
		const struct switch_family *family = &switch_family_table[i];
		size_t length = longest_prefix(family, object_id);

		if (length > best_length && text_agrees(family, text)) {
			best = family;
			best_length = length;
		}
	}
	return best;
}
