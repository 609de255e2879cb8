/* Dell SmartFabric OS10: "OS10 Enterprise Edition User Guide", Layer 2, VLANs. A VLAN is made by
 * its interface; a list on a trunk is added to what is there, and the untagged VLAN of a trunk is
 * its access VLAN, which the list may not hold. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_OS10_ALL (CF | VL | PT | MI)

/* --- configuring --- */

static void switch_cli_os10_enter_vlan(struct cli_call *call)
{
	cli_enter_vlan(call);
	if (call->session->mode == CLI_VLAN)
		(void)text_format(call->session->level_name, sizeof(call->session->level_name),
				  "vl-%u", call->values[0].number);
}

static void switch_cli_os10_enter_ports(struct cli_call *call)
{
	struct cli_session *session = call->session;
	unsigned first = cli_ports_next(&call->values[0].ports, 1);
	bool several = cli_ports_next(&call->values[0].ports, first + 1) != 0;

	cli_enter_ports(call);
	if (several)
		(void)text_format(session->level_name, sizeof(session->level_name), "range-%.40s",
				  call->values[0].text);
	else
		(void)text_format(session->level_name, sizeof(session->level_name), "if-eth1/1/%u",
				  first);
}

/* Access: what is tagged goes. Trunk: the access VLAN stays, untagged. */
static void switch_cli_os10_set_mode(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			port->mode = (enum cli_port_mode)call->command->argument;
			if (port->mode != CLI_MEMBER)
				port->allowed = (struct vlan_set){{0}};
		}
}

static void trunk_allowed(struct cli_call *call)
{
	const struct vlan_set *vids = &call->values[0].vids;

	if (!cli_vlans_usable(call, vids, CLI_UNKNOWN_REFUSED))
		return;
	for
		EACH_PORT(number, &call->session->ports)
		{
			const struct cli_port *port = cli_port_at(call->session, number);

			if (port->mode != CLI_MEMBER) {
				text_add(call->out, "% Error: Switchport mode is not trunk.\n");
				return;
			}
			if (vlan_set_has(vids, port->access)) {
				text_add(call->out,
					 "% Error: Interface cannot be an access and trunk "
					 "member of the same VLAN. One of the vlan in the range "
					 "provided is already an access vlan.\n");
				return;
			}
		}
	cli_allowed(call);
}

static void switch_cli_os10_access_vlan(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			if (vlan_set_has(&cli_port_at(call->session, number)->allowed,
					 call->values[0].number)) {
				text_add(call->out,
					 "% Error: Interface cannot be an access and trunk "
					 "member of the same VLAN.\n");
				return;
			}
		}
	cli_access(call);
}

/* Members of a VLAN that goes fall back to VLAN 1. */
static void switch_cli_os10_no_vlan(struct cli_call *call)
{
	unsigned vid = call->values[0].number;
	struct cli_store *store = call->session->device->store;

	if (!vlan_set_has(&store->running->vlans, vid)) {
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
		return;
	}
	cli_delete_vlan(call);
	for (unsigned number = 1; vid != 1 && number <= store->port_count; number++) {
		struct cli_port *port = &store->running->ports[number];

		vlan_set_remove(&port->allowed, vid);
		if (port->access == vid)
			port->access = 1;
	}
}

/* --- the configuration as text --- */

static void switch_cli_os10_write_port(const struct cli_session *session,
				       const struct cli_port *port, unsigned number,
				       struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "!\ninterface %s\n", cli_port_text(session, number, true, name));
	if (port->description[0] != '\0')
		text_addf(out, " description \"%s\"\n", port->description);
	text_add(out, port->is_shut ? " shutdown\n" : " no shutdown\n");
	if (port->lag)
		text_addf(out, " channel-group %u mode active\n", port->lag);
	if (port->mode == CLI_OFF) {
		text_add(out, " no switchport\n");
		return;
	}
	if (port->mode == CLI_MEMBER)
		text_add(out, " switchport mode trunk\n");
	text_addf(out, " switchport access vlan %u\n", port->access);
	cli_write_list(out, " switchport trunk allowed vlan ", &port->allowed, "\n");
	text_add(out, " flowcontrol receive on\n");
}

static void switch_cli_os10_write_vlans(const struct cli_config *config, struct text *out)
{
	for
		EACH_VLAN(vid, &config->vlans)
		{
			text_addf(out, "!\ninterface vlan%u\n", vid);
			if (config->names[vid][0] != '\0')
				text_addf(out, " description %s\n", config->names[vid]);
			text_add(out, " no shutdown\n");
		}
}

static void switch_cli_os10_running(const struct cli_session *session,
				    const struct cli_config *config, const struct cli_ports *ports,
				    struct text *out)
{
	if (!ports) {
		text_addf(out,
			  "! Version 10.5.2.3\n! Last configuration change at Nov  22 02:00:00 "
			  "2026\n!\nhostname %s\n",
			  session->device->hostname);
		cli_write_lines(config, out);
		switch_cli_os10_write_vlans(config, out);
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		switch_cli_os10_write_port(session, &config->ports[lag], lag, out);
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_os10_write_port(session, &config->ports[number], number, out);
	}
	if (!ports)
		cli_mirror_write(session, config, out);
}

static void show_running_vlans(struct cli_call *call)
{
	switch_cli_os10_write_vlans(call->session->device->store->running, call->out);
}

/* --- showing --- */

static void switch_cli_os10_show_version(struct cli_call *call)
{
	text_add(call->out, "Dell EMC Networking OS10 Enterprise\nCopyright (c) 1999-2021 by Dell "
			    "Inc. All Rights Reserved.\nOS Version: 10.5.2.3\n"
			    "Build Version: 10.5.2.3.374\nSystem Type: S5248F-ON\n"
			    "Architecture: x86_64\nUp Time: 1 day 02:03:04\n");
}

/* "Eth1/1/1-1/1/3,1/1/5" */
static void switch_cli_os10_write_ports(const struct cli_ports *ports, struct text *out)
{
	unsigned last = 0;

	for
		EACH_PORT(port, ports)
		{
			unsigned end = port;

			if (port <= last)
				continue;
			while (cli_ports_has(ports, end + 1))
				end++;
			text_addf(out, last == 0 ? "Eth1/1/%u" : ",1/1/%u", port);
			if (end > port)
				text_addf(out, "-1/1/%u", end);
			last = end;
		}
}

static void switch_cli_os10_vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports tagged = cli_members(store, vid, true);
	struct cli_ports untagged = cli_members(store, vid, false);
	bool is_tagged = cli_ports_next(&tagged, 1) != 0;
	bool is_untagged = cli_ports_next(&untagged, 1) != 0;

	text_addf(call->out, "%s   %-6u %-9s %-31.31s ", vid == 1 ? "*" : " ", vid,
		  is_tagged || is_untagged ? "Active" : "Inactive", store->running->names[vid]);
	if (is_tagged) {
		text_add(call->out, "T ");
		switch_cli_os10_write_ports(&tagged, call->out);
	}
	if (is_tagged && is_untagged)
		text_addf(call->out, "\n%53s", "");
	if (is_untagged) {
		text_add(call->out, "A ");
		switch_cli_os10_write_ports(&untagged, call->out);
	}
	text_add(call->out, "\n");
}

static void switch_cli_os10_show_vlan(struct cli_call *call)
{
	unsigned wanted = call->command->argument ? call->values[0].number : 0;

	text_add(
		call->out,
		"Codes: * - Default VLAN, M - Management VLAN, R - Remote Port Mirroring VLANs,\n"
		"       @ - Attached to Virtual Network, P - Primary, C - Community, I - Isolated\n"
		"Q: A - Access (Untagged), T - Tagged\n"
		"    NUM    Status    Description                     Q Ports\n");
	for
		EACH_VLAN(vid, &call->session->device->store->running->vlans)
		{
			if (wanted == 0 || vid == wanted)
				switch_cli_os10_vlan_row(call, vid);
		}
}

static void switch_cli_os10_mac_row(struct text *out, const char *mac, unsigned vid,
				    const char *port)
{
	text_addf(out, "%-12u %s   dynamic   %s\n", vid, mac, port);
}

static void switch_cli_os10_show_macs(struct cli_call *call)
{
	text_add(call->out, "VlanId       Mac Address         Type      Interface\n");
	cli_each_mac(call, (struct cli_mac_style){1, ':', true, switch_cli_os10_mac_row});
}

static void switch_cli_os10_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out, "Loc PortID          Rem Host Name        Rem Port Id                "
			    "             Rem Chassis Id\n"
			    "--------------------------------------------------------------------"
			    "--------------------------\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out, "%-19s %-20.20s %-39.39s %s\n",
			  cli_port_text(call->session, row->port, true, name), row->system,
			  row->port_id, cli_mac_text(row->chassis, 1, ':', mac));
	}
}

static void switch_cli_os10_show_lldp_detail(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out,
			  "\nRemote Chassis ID Subtype: Mac address (4)\nRemote Chassis ID: %s\n"
			  "Remote Port Subtype: Interface name (5)\nRemote Port ID: %s\n"
			  "Remote Port Description: %s\nLocal Port ID: %s\n"
			  "Locally assigned remote Neighbor Index: %zu\nRemote TTL: 120\n"
			  "Information valid for next 98 seconds\n"
			  "Time since last information change of this neighbor: 02:03:04\n"
			  "Remote System Name: %s\nRemote System Desc: a switch\n"
			  "Remote Max Frame Size: 0\nRemote Aggregation Status: false\n"
			  "MAC PHY Configuration:\n    Auto-neg supported: 0\n"
			  "    Auto-neg enabled: 0\n"
			  "------------------------------------------------------------------------"
			  "---\n",
			  cli_mac_text(row->chassis, 1, ':', mac), row->port_id, row->port_id,
			  cli_port_text(call->session, row->port, true, name), i + 1, row->system);
	}
}

/* Here, and in no other place, there is a blank in the names of ports. */
static void switch_cli_os10_show_status(struct cli_call *call)
{
	static const char line[] =
		"----------------------------------------------------------------"
		"----------------------------------\n";
	const struct cli_store *store = call->session->device->store;

	text_addf(call->out,
		  "%sPort            Description     Status   Speed    Duplex   Mode Vlan "
		  "Tagged-Vlans\n%s",
		  line, line);
	for (unsigned number = cli_port_next(store, 0); number;
	     number = cli_port_next(store, number)) {
		const struct cli_port *port = &store->running->ports[number];
		char name[CLI_NAME_SIZE];
		struct text tagged = {0};

		if (cli_lag_number(number))
			(void)text_format(name, sizeof(name), "Po %u", cli_lag_number(number));
		else
			(void)text_format(name, sizeof(name), "Eth 1/1/%u", number);
		text_addf(call->out, "%-15s %-15.15s %-8s %-8s %-8s ", name, port->description,
			  port->is_shut ? "down" : "up", port->is_shut ? "0" : "10G", "full");
		vlan_set_text(&port->allowed, &tagged);
		if (port->mode == CLI_OFF)
			text_add(call->out, "-\n");
		else
			text_addf(call->out, "%-4s %-4u %s\n", port->mode == CLI_MEMBER ? "T" : "A",
				  port->access, tagged.size > 0 ? text_get(&tagged) : "-");
		text_done(&tagged);
	}
}

static const struct cli_command switch_cli_os10_commands[] = {
	{EX | EN, "exit|logout", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "show version", switch_cli_os10_show_version, 0, LOOK},
	{EX | EN, "location-led interface <port> on", cli_led, CLI_LED_ON | CLI_LED_PORT, LOOK},
	{EX | EN, "location-led interface <port> off", cli_led, CLI_LED_PORT, LOOK},
	{EX | EN, "show vlan", switch_cli_os10_show_vlan, 0, LOOK},
	{EX | EN, "show vlan <vid>", switch_cli_os10_show_vlan, 1, LOOK},
	{EX | EN, "show mac address-table [dynamic]", switch_cli_os10_show_macs, 0, LOOK},
	{EX | EN, "show mac address-table vlan <vid>", switch_cli_os10_show_macs, 1, LOOK},
	{EX | EN, "show mac address-table interface <port>", switch_cli_os10_show_macs, 2, LOOK},
	{EX | EN, "show interface status", switch_cli_os10_show_status, 0, LOOK},
	{EX | EN, "show lldp neighbors", switch_cli_os10_show_lldp, 0, LOOK},
	{EX | EN, "show lldp neighbors detail", switch_cli_os10_show_lldp_detail, 0, LOOK},
	{EX | EN, "show running-configuration", cli_show_running, 0, LOOK},
	{EX | EN, "show running-configuration vlan", show_running_vlans, 0, LOOK},
	{EX | EN, "show running-configuration interface <port>", cli_show_running_port, 0, LOOK},
	{EX | EN, "show startup-configuration", cli_show_running, 1, LOOK},
	{EX | EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EX | EN, "write memory", cli_save, 0, SWITCH_SAVE},
	{EX | EN, "copy running-configuration startup-configuration", cli_save, 0, SWITCH_SAVE},
	{EX | EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_OS10_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_OS10_ALL, "end", cli_end, 0, LOOK},
	{CF | MI, "monitor session <number>", cli_mirror_enter, 0, SWITCH_SPAN},
	{CF, "no monitor session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{MI, "source interface <port> [both|rx|tx]", cli_mirror_source, 0, SWITCH_SPAN},
	{MI, "no source interface <port> [both|rx|tx]", cli_mirror_source, CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{MI, "destination interface <port>", cli_mirror_target, 0, SWITCH_SPAN},
	{CF | MI, "monitor session <number> type erpm-source", cli_erspan_enter, 0, SWITCH_SPAN},
	{MI, "source-ip <word> destination-ip <word>", cli_erspan_set, CLI_ERSPAN_BOTH,
	 SWITCH_SPAN},
	{MI, "no shut", cli_mirror_on, 0, SWITCH_SPAN},
	{SWITCH_CLI_OS10_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "sflow collector <word> agent-addr <word> <number>", cli_keep_line, 1, SWITCH_FILTER},
	{CF, "no sflow collector <word> agent-addr <word> <number>", cli_drop_line, 0,
	 SWITCH_FILTER},
	{CF, "sflow sample-rate <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow polling-interval <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow max-header-size <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow enable all-interfaces", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "no sflow enable all-interfaces", cli_drop_line, 0, SWITCH_FILTER},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "interface vlan <vid>", switch_cli_os10_enter_vlan, 0, SWITCH_CREATE},
	{CF, "interface range vlan <vids>", switch_cli_os10_enter_vlan, 0, SWITCH_CREATE},
	{CF, "no interface vlan <vid>", switch_cli_os10_no_vlan, 0, SWITCH_DELETE},
	{CF, "interface range <ports>", switch_cli_os10_enter_ports, 0, LOOK},
	{CF, "interface <port>", switch_cli_os10_enter_ports, 0, LOOK},
	{VL, "description <text>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no description", cli_name_vlan, 0, SWITCH_NAME},
	{VL | PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{VL | PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{CF, "no interface <port>", cli_lag_delete, 0, SWITCH_BUNDLE},
	{PT, "channel-group <number> mode active|passive", cli_lag_join, 0, SWITCH_BUNDLE},
	{PT, "no channel-group [<number>]", cli_lag_leave, 0, SWITCH_BUNDLE},
	{PT, "lacp fallback enable", cli_nothing, 0, LOOK},
	{PT, "no switchport", switch_cli_os10_set_mode, CLI_OFF, SWITCH_FRAMES},
	{PT, "switchport mode access", switch_cli_os10_set_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport mode trunk", switch_cli_os10_set_mode, CLI_MEMBER, SWITCH_FRAMES},
	{PT, "no switchport mode", switch_cli_os10_set_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport access vlan <vid>", switch_cli_os10_access_vlan, 0, SWITCH_PVID},
	{PT, "no switchport access vlan", cli_access, 0, SWITCH_PVID},
	{PT, "switchport trunk allowed vlan <vids>", trunk_allowed, CLI_LIST_ADD, SWITCH_EGRESS},
	{PT, "no switchport trunk allowed vlan <vids>", cli_allowed, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "spanning-tree port type edge", cli_nothing, 0, LOOK},
};

const struct cli_family cli_os10 = {
	.name = "os10",
	.title = "Dell SmartFabric OS10",
	.commands = switch_cli_os10_commands,
	.command_count = COUNT_OF(switch_cli_os10_commands),
	.naming = {"ethernet", "eth", "1/1/", 1, 1, "Eth%s", "ethernet%s", "port-channel", "po",
		   "Po%s", "port-channel%s"},
	.port = {.mode = CLI_ACCESS, .access = 1, .native = 1},
	.vid_high = 4093,
	.hostname = "OS10",
	.login_text = "\nDell EMC Networking Operating System (OS10)\n\n",
	.more = "--More--",
	.more_erase = "\r        \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 50,
	.unknown_access = CLI_UNKNOWN_REFUSED,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "% Error: VLAN {} does not exist.\n",
			[CLI_SAYS_RESERVED] = "% Error: VLAN {} is reserved.\n",
			[CLI_SAYS_DEFAULT_VLAN] = "% Error: Default VLAN {} cannot be deleted.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] =
				"% Error: Configuration is locked by another session.\n",
			[CLI_SAYS_REJECTED] = "% Error: Operation is not allowed.\n",
			[CLI_SAYS_SAVED] = "",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}> ",
			[CLI_ENABLE] = "{h}# ",
			[CLI_CONFIG] = "{h}(config)# ",
			[CLI_MIRROR] = "{h}(conf-mon-local-{l})# ",
			[CLI_VLAN] = "{h}(conf-if-{l})# ",
			[CLI_PORT] = "{h}(conf-{l})# ",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Error: Unrecognized command.\n",
			[CLI_RANGE] = "% Error: Value is out of range at or near {w}.\n",
			[CLI_TOO_MANY] = "% Error: Unrecognized command.\n",
			[CLI_AMBIGUOUS] = "% Error: Ambiguous command.\n",
			[CLI_INCOMPLETE] = "% Error: Incomplete command.\n",
		},
	.running = switch_cli_os10_running,
};
