/* The families of switches: one constant row each, no control flow per vendor. A row says which
 * driver reads and which one writes, what the family cannot take, and how far it was proven. Adding
 * a family is adding a row, the dialect rows it points to, and its signs (switch_sign_table.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snmp_dialect;    /* driver/snmp/snmp_dialect.h */
struct cli_dialect;     /* driver/cli/cli_dialect.h */
struct netconf_dialect; /* driver/netconf/netconf_dialect.h */

/* Against what our rows were run. EMULATOR: one of ours, made after the vendor's documents; the
 * real device may differ. docs/switches.md says so to operators. */
enum family_proof { PROOF_NONE, PROOF_EMULATOR, PROOF_DATA_PLANE, PROOF_DEVICE };

/* What keeps access ports of one VLAN apart there (docs/switches.md, The provisioning network).
 * SHOWN: the operator sets it, the command line shows it. SET: its driver sets port_vlans.apart,
 * and reads it back. NEVER: the vendor has nothing for a port that is an access port. */
enum family_apart { FAMILY_APART_UNTOLD, FAMILY_APART_SHOWN, FAMILY_APART_SET, FAMILY_APART_NEVER };

struct switch_family {
	const char *name;                       /* "cisco-ios" */
	const char *title;                      /* "Cisco IOS / IOS-XE" */
	const char *read_driver, *write_driver; /* names of switch_driver rows */
	const struct snmp_dialect *snmp;
	const struct cli_dialect *cli;
	const struct netconf_dialect *netconf;
	uint16_t vlan_low, vlan_high; /* that it can carry */
	const char *reserved;         /* VLANs never to be touched, "1,1002-1005" */
	/* An edit that takes a port out of one VLAN and puts it into another has it in both for a
	 * moment: it does not let go of the last VLAN before it has another one. Who plans edits
	 * goes by way of a VLAN of nobody's then (reconcile/diff_policy.h). */
	bool enters_first;
	enum family_apart apart;
	uint16_t max_vlans;         /* at once */
	uint8_t max_sessions;       /* configuration sessions at once */
	uint32_t timeout_ms;        /* of one round trip */
	uint32_t change_timeout_ms; /* of one SWITCH_CHANGE */
	enum family_proof proof;
};

extern const struct switch_family switch_family_table[];
extern const size_t switch_family_count;

/* By name; NULL when there is none. */
const struct switch_family *switch_family_find(const char *name);
