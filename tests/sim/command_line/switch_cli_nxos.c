/* Cisco NX-OS: "Cisco Nexus 9000 Series NX-OS Layer 2 Switching Configuration Guide" and the
 * Command Reference. VLANs from 3968 on are the switch's own; a port may be put into a VLAN that is
 * not there, and is then in none. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_NXOS_ALL (CF | VL | PT | MI | SV)

/* --- the configuration as text --- */

static void switch_cli_nxos_write_port(const struct cli_session *session,
				       const struct cli_port *port, unsigned number,
				       struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "\ninterface %s\n", cli_port_text(session, number, true, name));
	if (port->description[0] != '\0')
		text_addf(out, "  description %s\n", port->description);
	if (port->mode == CLI_OFF)
		text_add(out, "  no switchport\n");
	if (port->mode == CLI_TRUNK)
		text_add(out, "  switchport mode trunk\n");
	if (port->access != 1)
		text_addf(out, "  switchport access vlan %u\n", port->access);
	if (port->native != 1)
		text_addf(out, "  switchport trunk native vlan %u\n", port->native);
	if (!port->is_allowed_all) {
		struct text list = {0};

		vlan_set_text(&port->allowed, &list);
		cli_wrap_list(out, list.size > 0 ? text_get(&list) : "none",
			      "  switchport trunk allowed vlan ",
			      "  switchport trunk allowed vlan add ", 80);
		text_done(&list);
	}
	if (port->is_monitor)
		text_add(out, "  switchport monitor\n");
	if (port->is_shut)
		text_add(out, "  shutdown\n");
	if (port->lag)
		text_addf(out, "  channel-group %u mode active\n", port->lag);
}

static void switch_cli_nxos_running(const struct cli_session *session,
				    const struct cli_config *config, const struct cli_ports *ports,
				    struct text *out)
{
	const struct cli_store *store = session->device->store;

	text_addf(out,
		  "\n!Command: show %s-config%s\n!Time: Sun Nov 22 02:00:00 2026\n\n"
		  "version 9.3(5) Bios:version  \n",
		  config == store->running ? "running" : "startup", ports ? " interface" : "");
	if (!ports) {
		text_addf(out, "hostname %s\nfeature lldp\n\n", session->device->hostname);
		cli_write_lines(config, out);
		cli_write_list(out, "vlan ", &config->vlans, "\n");
		for
			EACH_VLAN(vid, &config->vlans)
			{
				if (config->names[vid][0] != '\0')
					text_addf(out, "vlan %u\n  name %s\n", vid,
						  config->names[vid]);
			}
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		switch_cli_nxos_write_port(session, &config->ports[lag], lag, out);
	for (unsigned number = 1; number <= store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_nxos_write_port(session, &config->ports[number], number, out);
	}
	if (!ports)
		cli_mirror_write(session, config, out);
	text_add(out, "\n");
}

/* --- showing --- */

static void switch_cli_nxos_show_version(struct cli_call *call)
{
	text_addf(call->out,
		  "Cisco Nexus Operating System (NX-OS) Software\nTAC support: "
		  "http://www.cisco.com/tac\n\nSoftware\n  BIOS: version 05.43\n"
		  "  NXOS: version 9.3(5)\n\nHardware\n  cisco Nexus9000 C93180YC-EX chassis \n"
		  "\n  Device name: %s\n",
		  call->session->device->hostname);
}

static void switch_cli_nxos_vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports ports = {{0}};
	char name[CLI_NAME_SIZE];

	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];
		struct vlan_set tagged;
		unsigned untagged;

		cli_store_membership(store, port, &untagged, &tagged);
		if (untagged == vid || vlan_set_has(&tagged, vid)) /* trunks stand here too */
			cli_ports_add(&ports, number);
	}
	text_addf(call->out, "%-4u %-32s active    ", vid,
		  cli_vlan_name(store->running, vid, "VLAN{}", name));
	cli_list_ports(call->session, &ports, ", ", 4, 48, call->out);
	text_add(call->out, "\n");
}

static const char switch_cli_nxos_vlan_head[] =
	"\nVLAN Name                             Status    Ports\n"
	"---- -------------------------------- --------- -------------------------------\n";

static void switch_cli_nxos_show_vlan(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;

	text_add(call->out, switch_cli_nxos_vlan_head);
	for
		EACH_VLAN(vid, vlans)
		{
			switch_cli_nxos_vlan_row(call, vid);
		}
	if (call->command->argument)
		return;
	text_add(call->out, "\nVLAN Type         Vlan-mode\n---- -----        ----------\n");
	for
		EACH_VLAN(vid, vlans)
		{
			text_addf(call->out, "%-4u enet         CE     \n", vid);
		}
	text_add(call->out,
		 "\nRemote SPAN VLANs\n"
		 "-------------------------------------------------------------------\n\n"
		 "Primary  Secondary  Type             Ports\n"
		 "-------  ---------  ---------------  ----------------------------\n\n");
}

static void show_vlan_id(struct cli_call *call)
{
	unsigned vid = call->values[0].number;

	if (!vlan_set_has(&call->session->device->store->running->vlans, vid)) {
		text_addf(call->out, "VLAN %u not found in current VLAN database\n", vid);
		return;
	}
	text_add(call->out, switch_cli_nxos_vlan_head);
	switch_cli_nxos_vlan_row(call, vid);
}

static const char *switch_cli_nxos_name_of(const struct cli_config *config, unsigned vid,
					   char ret[CLI_NAME_SIZE])
{
	return vlan_set_has(&config->vlans, vid) ? cli_vlan_name(config, vid, "VLAN{}", ret)
						 : "Vlan not created";
}

static void switch_cli_nxos_switchport(struct cli_call *call, unsigned number)
{
	const struct cli_config *config = call->session->device->store->running;
	const struct cli_port *port = cli_port_at(call->session, number);
	char name[CLI_NAME_SIZE];
	char access[CLI_NAME_SIZE];
	char native[CLI_NAME_SIZE];
	struct text list = {0};

	text_addf(call->out, "Name: %s\n", cli_port_text(call->session, number, true, name));
	if (port->mode == CLI_OFF) {
		text_add(call->out, "  Switchport: Disabled\n");
		return;
	}
	vlan_set_text(&port->allowed, &list);
	text_addf(call->out,
		  "  Switchport: Enabled\n  Switchport Monitor: %s \n"
		  "  Switchport Block Multicast: Not enabled \n"
		  "  Switchport Block Unicast: Not enabled \n  Operational Mode: %s\n"
		  "  Access Mode VLAN: %u (%s)\n  Trunking Native Mode VLAN: %u (%s)\n"
		  "  Trunking VLANs Allowed: %s\n  Voice VLAN: none\n"
		  "  Extended Trust State : not trusted [COS = 0]\n"
		  "  Operational private-vlan: none\n",
		  port->is_monitor ? "Enabled" : "Not enabled",
		  port->mode == CLI_TRUNK ? "trunk" : "access", port->access,
		  switch_cli_nxos_name_of(config, port->access, access), port->native,
		  switch_cli_nxos_name_of(config, port->native, native),
		  list.size > 0 ? text_get(&list) : "none");
	text_done(&list);
}

static void switch_cli_nxos_show_switchport(struct cli_call *call)
{
	for (unsigned number = 1; number <= call->session->device->store->port_count; number++)
		switch_cli_nxos_switchport(call, number);
}

static void show_switchport_port(struct cli_call *call)
{
	switch_cli_nxos_switchport(call, call->values[0].number);
}

/* Status is cut at nine characters: "notconnec", "xcvrAbsen". */
static void switch_cli_nxos_show_status(struct cli_call *call)
{
	static const char head[] =
		"\n----------------------------------------------------------------------------"
		"----\nPort          Name               Status    Vlan      Duplex  Speed   Type\n"
		"----------------------------------------------------------------------------"
		"----\n";
	const struct cli_store *store = call->session->device->store;

	text_addf(call->out,
		  "%smgmt0         --                 connected routed    full    1000    "
		  "--         \n%s",
		  head, head);
	for (unsigned number = cli_port_next(store, 0); number;
	     number = cli_port_next(store, number)) {
		const struct cli_port *port = &store->running->ports[number];
		char name[CLI_NAME_SIZE];
		char vlan[16];

		(void)text_format(vlan, sizeof(vlan), "%u", port->access);
		text_addf(call->out, "%-13s %-18.18s %-9s %-9s full    10G     10Gbase-SR\n",
			  cli_port_text(call->session, number, false, name),
			  port->description[0] ? port->description : "--",
			  port->is_shut ? "disabled" : "connected",
			  port->mode == CLI_TRUNK ? "trunk"
			  : port->mode == CLI_OFF ? "routed"
						  : vlan);
	}
}

static void switch_cli_nxos_mac_row(struct text *out, const char *mac, unsigned vid,
				    const char *port)
{
	text_addf(out, "* %4u     %s   dynamic  0         F      F    %s\n", vid, mac, port);
}

static void switch_cli_nxos_show_macs(struct cli_call *call)
{
	text_add(call->out,
		 "Legend: \n"
		 "        * - primary entry, G - Gateway MAC, (R) - Routed MAC, O - Overlay MAC\n"
		 "        age - seconds since last seen,+ - primary entry using vPC Peer-Link,\n"
		 "        (T) - True, (F) - False, C - ControlPlane MAC, ~ - vsan\n"
		 "   VLAN     MAC Address      Type      age     Secure NTFY Ports\n"
		 "---------+-----------------+--------+---------+------+----+------------------\n");
	cli_each_mac(call, (struct cli_mac_style){2, '.', false, switch_cli_nxos_mac_row});
}

static void switch_cli_nxos_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 "Capability codes:\n"
		 "  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n"
		 "  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n"
		 "Device ID            Local Intf      Hold-time  Capability  Port ID  \n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];

		if (strlen(row->system) > 20) /* a line of its own */
			text_addf(call->out, "%s\n%21s", row->system, "");
		else
			text_addf(call->out, "%-21s", row->system);
		text_addf(call->out, "%-16s120        BR          %s   \n",
			  cli_port_text(call->session, row->port, false, name), row->port_id);
	}
	text_addf(call->out, "Total entries displayed: %zu\n", store->neighbor_count);
}

static void switch_cli_nxos_show_lldp_detail(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 "Capability codes:\n"
		 "  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n"
		 "  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n"
		 "Device ID            Local Intf      Hold-time  Capability  Port ID  \n\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(
			call->out,
			"Chassis id: %s\nPort id: %s\nLocal Port id: %s\nPort Description: %s\n"
			"System Name: %s\nSystem Description: a switch\nTime remaining: 105 seconds\n"
			"System Capabilities: B, R\nEnabled Capabilities: B\n"
			"Management Address: not advertised\n"
			"Management Address IPV6: not advertised\nVlan ID: not advertised\n\n\n",
			cli_mac_text(row->chassis, 2, '.', mac), row->port_id,
			cli_port_text(call->session, row->port, false, name), row->port_id,
			row->system);
	}
	text_addf(call->out, "Total entries displayed: %zu\n", store->neighbor_count);
}

/* Its commands are there when the feature is. */
static void switch_cli_nxos_sflow(struct cli_call *call)
{
	if (!cli_has_line(call->session->device->store->running, "feature sflow")) {
		text_add(call->out, "% Invalid command at '^' marker.\n");
		return;
	}
	if (strstr(call->command->pattern, "sampling-rate") && call->values[0].number < 4096) {
		text_add(call->out, "% Invalid value/range at '^' marker.\n");
		return;
	}
	cli_keep_line(call);
}

/* Of an aggregate that is down. */
static void switch_cli_nxos_suspend(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			if (!cli_port_at(call->session, port)->is_shut)
				text_add(call->out, "ERROR: Cannot set/reset lacp "
						    "suspend-individual for a port-channel that is "
						    "admin up\n");
		}
}

static void port_monitor(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->session->ports)
		{
			cli_port_at(call->session, port)->is_monitor = call->command->argument != 0;
		}
}

static const struct cli_command switch_cli_nxos_commands[] = {
	{EX | EN, "exit|logout|quit", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "terminal session-timeout <number>", cli_nothing, 0, LOOK},
	{EX | EN, "show version", switch_cli_nxos_show_version, 0, LOOK},
	{EN, "locator-led chassis", cli_led, CLI_LED_ON, LOOK},
	{EN, "no locator-led chassis", cli_led, 0, LOOK},
	{EX | EN, "show vlan", switch_cli_nxos_show_vlan, 0, LOOK},
	{EX | EN, "show vlan brief", switch_cli_nxos_show_vlan, 1, LOOK},
	{EX | EN, "show vlan id <vid>", show_vlan_id, 0, LOOK},
	{EX | EN, "show interface switchport", switch_cli_nxos_show_switchport, 0, LOOK},
	{EX | EN, "show interface <port> switchport", show_switchport_port, 0, LOOK},
	{EX | EN, "show mac address-table [dynamic]", switch_cli_nxos_show_macs, 0, LOOK},
	{EX | EN, "show mac address-table vlan <vid>", switch_cli_nxos_show_macs, 1, LOOK},
	{EX | EN, "show mac address-table interface <port>", switch_cli_nxos_show_macs, 2, LOOK},
	{EX | EN, "show interface status", switch_cli_nxos_show_status, 0, LOOK},
	{EX | EN, "show lldp neighbors", switch_cli_nxos_show_lldp, 0, LOOK},
	{EX | EN, "show lldp neighbors detail", switch_cli_nxos_show_lldp_detail, 0, LOOK},
	{EX | EN, "show running-config", cli_show_running, 0, LOOK},
	{EX | EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EX | EN, "show startup-config", cli_show_running, 1, LOOK},
	{EX | EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EX | EN, "reload", cli_reload, 0, LOOK},
	{EX | EN | SWITCH_CLI_NXOS_ALL, "copy running-config startup-config", cli_save, 0,
	 SWITCH_SAVE},
	{SWITCH_CLI_NXOS_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_NXOS_ALL, "end", cli_end, 0, LOOK},
	{CF | MI, "monitor session <number>", cli_mirror_enter, 0, SWITCH_SPAN},
	{CF, "no monitor session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{MI, "source interface <port> [both|rx|tx]", cli_mirror_source, 0, SWITCH_SPAN},
	{MI, "no source interface <port> [both|rx|tx]", cli_mirror_source, CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{MI, "destination interface <port>", cli_mirror_target, 0, SWITCH_SPAN},
	{CF, "monitor erspan origin ip-address <word> global", cli_keep_line, 0, SWITCH_SPAN},
	{CF | MI, "monitor session <number> type erspan-source", cli_erspan_enter, 0, SWITCH_SPAN},
	{MI, "erspan-id <number>", cli_erspan_set, CLI_ERSPAN_ID, SWITCH_SPAN},
	{MI, "destination ip <word>", cli_erspan_set, CLI_ERSPAN_TO, SWITCH_SPAN},
	{MI, "vrf default", cli_nothing, 0, SWITCH_SPAN},
	{MI, "no shut", cli_mirror_on, 0, SWITCH_SPAN},
	{MI, "description <text>", cli_nothing, 0, SWITCH_SPAN},
	{PT, "switchport monitor", port_monitor, 1, SWITCH_SPAN},
	{PT, "no switchport monitor", port_monitor, 0, SWITCH_SPAN},
	{SWITCH_CLI_NXOS_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "feature sflow", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "no feature sflow", cli_drop_line, 1, SWITCH_FILTER},
	{CF, "sflow agent-ip <word>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "sflow collector-ip <word> vrf <word>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "no sflow collector-ip <word> vrf <word>", cli_drop_line, 0, SWITCH_FILTER},
	{CF, "sflow collector-port <number>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "sflow sampling-rate <number>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "sflow max-sampled-size <number>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "sflow counter-poll-interval <number>", switch_cli_nxos_sflow, 0, SWITCH_FILTER},
	{CF, "sflow data-source interface <port>", switch_cli_nxos_sflow, 1, SWITCH_FILTER},
	{CF, "no sflow data-source interface <port>", cli_drop_line, 0, SWITCH_FILTER},
	{CF, "feature lacp", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "feature <word>", cli_nothing, 0, LOOK},
	{CF, "no interface <port>", cli_lag_delete, 0, SWITCH_BUNDLE},
	{PT, "channel-group <number> mode active|passive", cli_lag_join, 0, SWITCH_BUNDLE},
	{PT, "no channel-group [<number>]", cli_lag_leave, 0, SWITCH_BUNDLE},
	{PT, "no lacp suspend-individual", switch_cli_nxos_suspend, 0, SWITCH_BUNDLE},
	{CF, "vlan <vids>", cli_enter_vlan, 0, SWITCH_CREATE},
	{CF, "no vlan <vids>", cli_delete_vlan, 0, SWITCH_DELETE},
	{CF, "interface vlan <vid>", cli_enter_svi, 0, LOOK},
	{CF, "interface <ports>", cli_enter_ports, 0, LOOK},
	{VL, "name <word>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no name", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "state active|suspend", cli_nothing, 0, LOOK},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{PT, "switchport", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "no switchport", cli_port_mode, CLI_OFF, SWITCH_FRAMES},
	{PT, "switchport mode access", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport mode trunk", cli_port_mode, CLI_TRUNK, SWITCH_FRAMES},
	{PT, "no switchport mode", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport access vlan <vid>", cli_access, 0, SWITCH_PVID},
	{PT, "no switchport access vlan", cli_access, 0, SWITCH_PVID},
	{PT, "switchport trunk native vlan <vid>", cli_native, 0, SWITCH_PVID},
	{PT, "no switchport trunk native vlan", cli_native, 0, SWITCH_PVID},
	{PT, "switchport trunk allowed vlan add <vids>", cli_allowed, CLI_LIST_ADD, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan remove <vids>", cli_allowed, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan except <vids>", cli_allowed, CLI_LIST_EXCEPT,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan all", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan none", cli_allowed, CLI_LIST_NONE, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan <vids>", cli_allowed, CLI_LIST_SET, SWITCH_EGRESS},
	{PT, "no switchport trunk allowed vlan", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "spanning-tree port type edge|normal|network [trunk]", cli_nothing, 0, LOOK},
};

const struct cli_family cli_nxos = {
	.name = "nxos",
	.title = "Cisco NX-OS",
	.commands = switch_cli_nxos_commands,
	.command_count = COUNT_OF(switch_cli_nxos_commands),
	.naming = {"Ethernet", "Eth", "1/", 1, 1, "Eth%s", "Ethernet%s", "port-channel", "Po",
		   "Po%s", "port-channel%s"},
	.port = {.mode = CLI_ACCESS, .access = 1, .native = 1, .is_allowed_all = true},
	.vid_high = 4094,
	.reserved_low = 3968,
	.reserved_high = 4094,
	.hostname = "switch",
	.login_text = "Cisco Nexus Operating System (NX-OS) Software\nTAC support: "
		      "http://www.cisco.com/tac\n\n",
	.more = "--More--",
	.more_erase = "\r        \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 32,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "ERROR: VLAN {} does not exist\n",
			[CLI_SAYS_RESERVED] = "ERROR: VLAN {} is reserved for internal use\n",
			[CLI_SAYS_DEFAULT_VLAN] = "ERROR: Cannot delete VLAN {}\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] = "Configuration is locked by another session\n",
			[CLI_SAYS_REJECTED] = "ERROR: Operation failed: command rejected\n",
			[CLI_SAYS_SAVED] =
				"[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete.\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}> ",
			[CLI_ENABLE] = "{h}# ",
			[CLI_CONFIG] = "{h}(config)# ",
			[CLI_MIRROR] = "{h}(config-monitor)# ",
			[CLI_VLAN] = "{h}(config-vlan)# ",
			[CLI_PORT] = "{h}(config-if{d})# ",
			[CLI_SVI] = "{h}(config-if)# ",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Invalid command at '^' marker.\n",
			[CLI_RANGE] = "% Invalid value/range at '^' marker.\n",
			[CLI_TOO_MANY] = "% Invalid command at '^' marker.\n",
			[CLI_AMBIGUOUS] = "% Ambiguous command at '^' marker.\n",
			[CLI_INCOMPLETE] = "% Incomplete command at '^' marker.\n",
		},
	.has_caret = true,
	.caret_at_end = true,
	.configure_text = "Enter configuration commands, one per line. End with CNTL/Z.\n",
	.running = switch_cli_nxos_running,
};
