#include "peregrine/switch/cli/cli_lag_table.h"

#include "common/base/macros.h"

/* A member has the aggregate's VLAN before it joins: one that differs would be left out of it
 * (suspended), and what it has when it leaves is what it had then. */
#define SWITCHPORT_ACCESS "switchport mode access\nswitchport access vlan {vlan}\n"
#define SWITCHPORT_JOIN \
	"interface {port}\n" SWITCHPORT_ACCESS "channel-group {number} mode active\nexit"
#define SWITCHPORT_LEAVE "interface {port}\nno channel-group\n" SWITCHPORT_ACCESS "exit"

static const struct cli_lag cli_lag_table_rows[] = {
	/* "Catalyst 9300, Layer 2 Configuration Guide: Configuring EtherChannels". */
	{.dialect = &cli_dialect_ios,
	 .name = "Po",
	 .last = 48,
	 .open = "interface Port-channel{number}\nswitchport\n" SWITCHPORT_ACCESS
		 "?no port-channel standalone-disable\nexit",
	 .join = SWITCHPORT_JOIN,
	 .leave = SWITCHPORT_LEAVE,
	 .close = "no interface Port-channel{number}"},
	/* "Nexus 9000 Series NX-OS Interfaces Configuration Guide: Configuring Port Channels": LACP
	 * is a feature, suspending can be told only to one that is down, and a member whose lists
	 * for trunks are not the aggregate's is not compatible, whatever its mode. */
	{.dialect = &cli_dialect_nxos,
	 .name = "port-channel",
	 .last = 4096,
	 .open = "feature lacp\ninterface port-channel{number}\nswitchport\n" SWITCHPORT_ACCESS
		 "shutdown\n?no lacp suspend-individual\nno shutdown\nexit",
	 .join = "interface {port}\n" SWITCHPORT_ACCESS
		 "no switchport trunk allowed vlan\nno switchport trunk native vlan\n"
		 "channel-group {number} mode active\nexit",
	 .leave = SWITCHPORT_LEAVE,
	 .close = "no interface port-channel{number}"},
	/* "Dell SmartFabric OS10 User Guide: Port-channel interfaces, LACP": a member has no
	 * VLANs of its own. */
	{.dialect = &cli_dialect_os10,
	 .name = "port-channel",
	 .last = 128,
	 .open = "interface port-channel{number}\n" SWITCHPORT_ACCESS
		 "?lacp fallback enable\nno shutdown\nexit",
	 .join = "interface {port}\nno switchport\nchannel-group {number} mode active\nexit",
	 .leave = SWITCHPORT_LEAVE,
	 .close = "no interface port-channel{number}"},
	/* "Dell Configuration Guide for the S-Series (9.14): Link Aggregation Control Protocol": a
	 * member is no port of a bridge; the VLANs know the aggregate. */
	{.dialect = &cli_dialect_os9,
	 .name = "Port-channel ",
	 .last = 128,
	 .open = "?lacp ungroup member-independent port-channel\n"
		 "interface port-channel {number}\nportmode hybrid\nswitchport\nno shutdown\nexit\n"
		 "interface vlan {vlan}\nuntagged port-channel {number}\nexit",
	 .join = "interface vlan {from}\nno untagged {port}\nexit\ninterface {port}\n"
		 "no switchport\n?no portmode hybrid\nport-channel-protocol lacp\n"
		 "port-channel {number} mode active\nexit\nexit",
	 .leave = "interface {port}\nno port-channel-protocol lacp\nportmode hybrid\nswitchport\n"
		  "exit\ninterface vlan {vlan}\nuntagged {port}\nexit",
	 .close = "interface vlan {vlan}\nno untagged port-channel {number}\nexit\n"
		  "no interface port-channel {number}"},
	/* "AOS-CX Link Aggregation Guide: Configuring dynamic aggregation": a member has no VLANs
	 * of its own. */
	{.dialect = &cli_dialect_aoscx,
	 .name = "lag",
	 .last = 256,
	 .open = "interface lag {number}\nno routing\nvlan access {vlan}\nlacp mode active\n"
		 "?lacp fallback\nno shutdown\nexit",
	 .join = "interface {port}\nlag {number}\nexit",
	 .leave = "interface {port}\nno lag {number}\nno routing\nvlan access {vlan}\nexit",
	 .close = "no interface lag {number}"},
	/* "HPE 5940 Layer 2 LAN Switching Configuration Guide: Configuring Ethernet link
	 * aggregation". */
	{.dialect = &cli_dialect_comware,
	 .name = "Bridge-Aggregation",
	 .last = 1024,
	 .open = "interface Bridge-Aggregation{number}\nlink-aggregation mode dynamic\n"
		 "?lacp edge-port\nport link-type access\nport access vlan {vlan}\nquit",
	 .join = "interface {port}\nport link-type access\nport access vlan {vlan}\n"
		 "port link-aggregation group {number}\nquit",
	 .leave = "interface {port}\nundo port link-aggregation group\nport link-type access\n"
		  "port access vlan {vlan}\nquit",
	 .close = "undo interface Bridge-Aggregation{number}"},
};

static const struct {
	const struct cli_dialect *dialect;
	const char *why;
} cli_lag_table_reasons[] = {
	{&cli_dialect_procurve,
	 "an aggregate of this family is in the default VLAN until it has another, and so are its "
	 "members when they leave it"},
	{&cli_dialect_dnos,
	 "all aggregates of this family always exist: its configuration does not show which one is free"},
	{&cli_dialect_ecs,
	 "this family chooses the number of an aggregate by itself, when LACP has found a partner"},
	{&cli_dialect_sonic, "its command line shows VLANs without the members of aggregates"},
};

const struct cli_lag *cli_lag_of(const struct cli_dialect *dialect)
{
	for (size_t i = 0; i < COUNT_OF(cli_lag_table_rows); i++) {
		if (cli_lag_table_rows[i].dialect == dialect)
			return &cli_lag_table_rows[i];
	}
	return NULL;
}

const char *cli_lag_why_not(const struct cli_dialect *dialect)
{
	for (size_t i = 0; i < COUNT_OF(cli_lag_table_reasons); i++) {
		if (cli_lag_table_reasons[i].dialect == dialect)
			return cli_lag_table_reasons[i].why;
	}
	return "the commands for an aggregate are not known for this family";
}
