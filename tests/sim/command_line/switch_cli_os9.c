/* Dell OS9 (Force10 FTOS): "Dell Configuration Guide for the S4810", Layer 2 and VLANs. VLANs have
 * ports: `interface vlan N`, `untagged P`, `tagged P`. A port must be `switchport` first, and
 * `portmode hybrid` before that to be both; an untagged port moves, from VLAN 1 and back to it. */
#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_OS9_ALL (CF | VL | PT | MI)

/* --- configuring --- */

static void switch_cli_os9_enter_vlan(struct cli_call *call)
{
	cli_enter_vlan(call);
	(void)text_format(call->session->level_name, sizeof(call->session->level_name), "vl-%u",
			  call->values[0].number);
}

static void switch_cli_os9_no_vlan(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	unsigned vid = call->values[0].number;

	if (vid != 1 && !vlan_set_has(&store->running->vlans, vid)) {
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
		return;
	}
	cli_delete_vlan(call);
	for (unsigned number = 1; vid != 1 && number <= store->port_count; number++) {
		struct cli_port *port = &store->running->ports[number];

		vlan_set_remove(&port->allowed, vid);
		if (port->mode == CLI_MEMBER && port->access == vid)
			port->access = 1;
	}
}

enum {
	SWITCH_CLI_OS9_UNTAGGED,
	SWITCH_CLI_OS9_TAGGED,
	SWITCH_CLI_OS9_NO_UNTAGGED,
	SWITCH_CLI_OS9_NO_TAGGED
};

/* Why the port cannot; NULL when it can. */
static const char *switch_cli_os9_refusal(const struct cli_port *port, unsigned how)
{
	if (port->mode == CLI_OFF)
		return "% Error: Port is not in Layer-2 mode";
	if (how == SWITCH_CLI_OS9_UNTAGGED && !port->is_hybrid &&
	    !vlan_set_is_empty(&port->allowed))
		return "% Error: Port is tagged in another VLAN";
	if (how == SWITCH_CLI_OS9_TAGGED && !port->is_hybrid && port->access > 1)
		return "% Error: Port is untagged in another VLAN";
	return NULL;
}

/* A tagged port that is no hybrid one is untagged nowhere. */
static void switch_cli_os9_move(struct cli_port *port, unsigned vid, unsigned how)
{
	switch (how) {
	case SWITCH_CLI_OS9_UNTAGGED:
		vlan_set_remove(&port->allowed, vid);
		port->access = (uint16_t)vid;
		break;
	case SWITCH_CLI_OS9_TAGGED:
		vlan_set_add(&port->allowed, vid);
		if (!port->is_hybrid || port->access == vid)
			port->access = 0;
		break;
	case SWITCH_CLI_OS9_NO_UNTAGGED:
		if (port->access == vid)
			port->access = 1;
		break;
	default:
		vlan_set_remove(&port->allowed, vid);
		if (vlan_set_is_empty(&port->allowed) && port->access == 0)
			port->access = 1;
		break;
	}
}

static void switch_cli_os9_members(struct cli_call *call)
{
	unsigned vid = vlan_set_next(&call->session->vids, 1);
	unsigned how = call->command->argument;

	for
		EACH_PORT(number, &call->values[0].ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			const char *why = switch_cli_os9_refusal(port, how);
			char name[CLI_NAME_SIZE];

			if (why) {
				text_addf(call->out, "%s %s.\n", why,
					  cli_port_text(call->session, number, false, name));
				return;
			}
			switch_cli_os9_move(port, vid, how);
		}
}

static void switch_cli_os9_switchport(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			if (port->mode == CLI_OFF)
				port->access = 1;
			port->mode = CLI_MEMBER;
		}
}

static void no_switchport(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			char name[CLI_NAME_SIZE];

			if (!vlan_set_is_empty(&port->allowed) || port->access > 1) {
				text_addf(call->out,
					  "%% Error: Port is part of a non-default VLAN %s.\n",
					  cli_port_text(call->session, number, false, name));
				return;
			}
			port->mode = CLI_OFF;
		}
}

static void switch_cli_os9_portmode(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			char name[CLI_NAME_SIZE];

			if (port->mode != CLI_OFF) {
				text_addf(call->out, "%% Error: Port is in Layer-2 mode %s.\n",
					  cli_port_text(call->session, number, false, name));
				return;
			}
			port->is_hybrid = call->command->argument != 0;
		}
}

static void switch_cli_os9_enter_ports(struct cli_call *call)
{
	struct cli_session *session = call->session;
	unsigned first = cli_ports_next(&call->values[0].ports, 1);

	cli_enter_ports(call);
	(void)text_format(session->level_name, sizeof(session->level_name),
			  cli_ports_next(&session->ports, first + 1) ? "range-te-0/%u,..."
								     : "te-0/%u",
			  first);
}

/* --- the configuration as text --- */

static void switch_cli_os9_write_port(const struct cli_session *session,
				      const struct cli_port *port, unsigned number,
				      struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "!\ninterface %s\n", cli_port_text(session, number, true, name));
	if (port->description[0] != '\0')
		text_addf(out, " description %s\n", port->description);
	text_add(out, " no ip address\n");
	if (port->is_hybrid)
		text_add(out, " portmode hybrid\n");
	if (port->mode != CLI_OFF)
		text_add(out, " switchport\n");
	if (port->is_sampled)
		text_add(out, " sflow ingress-enable\n");
	text_add(out, port->is_shut ? " shutdown\n" : " no shutdown\n");
}

static void switch_cli_os9_write_vlan(const struct cli_session *session,
				      const struct cli_config *config, unsigned vid,
				      struct text *out)
{
	struct cli_ports tagged = {{0}};
	struct cli_ports untagged = {{0}};

	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		const struct cli_port *port = &config->ports[number];

		if (port->mode == CLI_MEMBER && vlan_set_has(&port->allowed, vid))
			cli_ports_add(&tagged, number);
		else if (port->mode == CLI_MEMBER && port->access == vid)
			cli_ports_add(&untagged, number);
	}
	text_addf(out, "!\ninterface Vlan %u\n", vid);
	if (config->names[vid][0] != '\0')
		text_addf(out, " description %s\n", config->names[vid]);
	if (vid == 1) {
		cli_write_ports(out, "!untagged TenGigabitEthernet 0/", &untagged, "\n");
		return;
	}
	text_add(out, " no ip address\n");
	cli_write_ports(out, " tagged TenGigabitEthernet 0/", &tagged, "\n");
	cli_write_ports(out, " untagged TenGigabitEthernet 0/", &untagged, "\n");
	text_add(out, " no shutdown\n");
}

static void switch_cli_os9_running(const struct cli_session *session,
				   const struct cli_config *config, const struct cli_ports *ports,
				   struct text *out)
{
	text_addf(out, "Current Configuration ...\n! Version 9.14(2.10)\n!\nhostname %s\n",
		  session->device->hostname);
	if (!ports)
		cli_write_lines(config, out);
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_os9_write_port(session, &config->ports[number], number, out);
	}
	for
		EACH_VLAN(vid, &config->vlans)
		{
			if (!ports)
				switch_cli_os9_write_vlan(session, config, vid, out);
		}
	if (!ports)
		cli_mirror_write(session, config, out);
	text_add(out, "!\nend\n");
}

/* --- showing --- */

static void switch_cli_os9_show_version(struct cli_call *call)
{
	text_add(call->out, "Dell EMC Real Time Operating System Software\n"
			    "Dell EMC Operating System Version:  2.0\n"
			    "Dell EMC Application Software Version:  9.14(2.10)\n"
			    "Copyright (c) 1999-2021 by Dell Inc. All Rights Reserved.\n"
			    "System Type: S4810\n");
}

static void switch_cli_os9_vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports sets[2] = {cli_members(store, vid, false), cli_members(store, vid, true)};
	bool is_first = true,
	     is_active = cli_ports_next(&sets[0], 1) || cli_ports_next(&sets[1], 1);

	text_addf(call->out, "%-3s %-6u %-9s %-31.31s ", vid == 1 ? "*" : "", vid,
		  is_active ? "Active" : "Inactive", store->running->names[vid]);
	for (size_t i = 0; i < COUNT_OF(sets); i++) {
		if (cli_ports_next(&sets[i], 1) == 0)
			continue;
		text_addf(call->out, is_first ? "%*s" : "\n%*s", is_first ? 0 : 53, "");
		cli_write_ports(call->out, i == 0 ? "U Te 0/" : "T Te 0/", &sets[i], "");
		is_first = false;
	}
	text_add(call->out, "\n");
}

static void switch_cli_os9_show_vlan(struct cli_call *call)
{
	unsigned wanted = call->command->argument ? call->values[0].number : 0;

	text_add(
		call->out,
		"\nCodes: * - Default VLAN, G - GVRP VLANs, R - Remote Port Mirroring VLANs, "
		"P - Primary, C - Community, I - Isolated\n       O - Openflow\n"
		"Q: U - Untagged, T - Tagged\n   x - Dot1x untagged, X - Dot1x tagged\n"
		"   o - OpenFlow untagged, O - OpenFlow tagged\n"
		"   G - GVRP tagged, M - Vlan-stack, H - VSN tagged\n"
		"   i - Internal untagged, I - Internal tagged, v - VLT untagged, V - VLT tagged\n\n"
		"    NUM    Status    Description                     Q Ports\n");
	for
		EACH_VLAN(vid, &call->session->device->store->running->vlans)
		{
			if (wanted == 0 || vid == wanted)
				switch_cli_os9_vlan_row(call, vid);
		}
}

static void switch_cli_os9_mac_row(struct text *out, const char *mac, unsigned vid,
				   const char *port)
{
	text_addf(out, " %-6u %s   Dynamic         %-10s      Active\n", vid, mac, port);
}

static void switch_cli_os9_show_macs(struct cli_call *call)
{
	text_add(call->out,
		 "Codes: *N - VLT Peer Synced MAC\n"
		 " VlanId     Mac Address           Type          Interface        State\n");
	cli_each_mac(call, (struct cli_mac_style){1, ':', false, switch_cli_os9_mac_row});
}

static void switch_cli_os9_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 " Loc PortID   Rem Host Name   Rem Port Id       Rem Chassis Id\n"
		 " ------------------------------------------------------------------\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out, " %-12s %-15.15s %-17.17s %s\n",
			  cli_port_text(call->session, row->port, false, name), row->system,
			  row->port_id, cli_mac_text(row->chassis, 1, ':', mac));
	}
}

static void sample_rate(struct cli_call *call)
{
	unsigned rate = call->values[0].number;

	if (rate < 256 || (rate & (rate - 1)) != 0) {
		text_add(call->out, "% Error: Sampling rate must be a power of 2.\n");
		return;
	}
	cli_keep_line(call);
}

static const struct cli_command switch_cli_os9_commands[] = {
	{EX, "enable", cli_enable, 0, LOOK},
	{EX | EN, "exit|logout|quit", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "show version", switch_cli_os9_show_version, 0, LOOK},
	{EX | EN, "show vlan", switch_cli_os9_show_vlan, 0, LOOK},
	{EX | EN, "show vlan id <vid>", switch_cli_os9_show_vlan, 1, LOOK},
	{EX | EN, "show mac-address-table [dynamic]", switch_cli_os9_show_macs, 0, LOOK},
	{EX | EN, "show mac-address-table vlan <vid>", switch_cli_os9_show_macs, 1, LOOK},
	{EX | EN, "show mac-address-table interface <port>", switch_cli_os9_show_macs, 2, LOOK},
	{EX | EN, "show lldp neighbors", switch_cli_os9_show_lldp, 0, LOOK},
	{EN, "show running-config", cli_show_running, 0, LOOK},
	{EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EN, "show startup-config", cli_show_running, 1, LOOK},
	{EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EN, "write [memory]", cli_save, 0, SWITCH_SAVE},
	{EN, "copy running-config startup-config", cli_save, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_OS9_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_OS9_ALL, "end", cli_end, 0, LOOK},
	{CF, "monitor session <number>", cli_mirror_enter, 0, SWITCH_SPAN},
	{CF, "no monitor session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{CF, "monitor session <number> type erpm", cli_erspan_enter, 0, SWITCH_SPAN},
	{MI, "erpm source-ip <word> dest-ip <word>", cli_erspan_set, CLI_ERSPAN_BOTH, SWITCH_SPAN},
	{MI, "source <port> direction both", cli_mirror_source, 0, SWITCH_SPAN},
	{MI, "no source <port> direction both", cli_mirror_source, CLI_MIRROR_NO, SWITCH_SPAN},
	{MI, "no disable", cli_mirror_on, 0, SWITCH_SPAN},
	{MI, "source <port> destination <port> direction both", cli_mirror_source, CLI_MIRROR_PAIR,
	 SWITCH_SPAN},
	{MI, "no source <port> destination <port> direction both", cli_mirror_source, CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{SWITCH_CLI_OS9_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "sflow collector <word> agent-addr <word> <number>", cli_keep_line, 1, SWITCH_FILTER},
	{CF, "no sflow collector <word> agent-addr <word> <number>", cli_drop_line, 0,
	 SWITCH_FILTER},
	{CF, "sflow sample-rate <number>", sample_rate, 0, SWITCH_FILTER},
	{CF, "sflow polling-interval <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow enable", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "no sflow enable", cli_drop_line, 0, SWITCH_FILTER},
	{PT, "sflow ingress-enable", cli_sample_port, 1, SWITCH_FILTER},
	{PT, "no sflow ingress-enable", cli_sample_port, 0, SWITCH_FILTER},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "interface vlan <vid>", switch_cli_os9_enter_vlan, 0, SWITCH_CREATE},
	{CF, "no interface vlan <vid>", switch_cli_os9_no_vlan, 0, SWITCH_DELETE},
	{CF, "interface range <ports>", switch_cli_os9_enter_ports, 0, LOOK},
	{CF, "interface <port>", switch_cli_os9_enter_ports, 0, LOOK},
	{VL, "description <text>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no description", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "untagged <ports>", switch_cli_os9_members, SWITCH_CLI_OS9_UNTAGGED, SWITCH_UNTAGGED},
	{VL, "tagged <ports>", switch_cli_os9_members, SWITCH_CLI_OS9_TAGGED, SWITCH_EGRESS},
	{VL, "no untagged <ports>", switch_cli_os9_members, SWITCH_CLI_OS9_NO_UNTAGGED,
	 SWITCH_UNTAGGED},
	{VL, "no tagged <ports>", switch_cli_os9_members, SWITCH_CLI_OS9_NO_TAGGED, SWITCH_EGRESS},
	{VL, "no shutdown", cli_nothing, 0, LOOK},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{PT, "switchport", switch_cli_os9_switchport, 0, SWITCH_FRAMES},
	{PT, "no switchport", no_switchport, 0, SWITCH_FRAMES},
	{PT, "portmode hybrid", switch_cli_os9_portmode, 1, SWITCH_FRAMES},
	{PT, "no portmode [hybrid]", switch_cli_os9_portmode, 0, SWITCH_FRAMES},
};

const struct cli_family cli_os9 = {
	.name = "os9",
	.title = "Dell OS9, Force10",
	.commands = switch_cli_os9_commands,
	.command_count = COUNT_OF(switch_cli_os9_commands),
	.naming = {"TenGigabitEthernet", "Te", "0/", 1, 1, "Te %s", "TenGigabitEthernet %s", NULL,
		   NULL, NULL, NULL},
	.port = {.mode = CLI_OFF, .access = 1, .native = 1},
	.vid_high = 4094,
	.hostname = "Dell",
	.more = " --More-- ",
	.more_erase = "\r          \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 10,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "% Error: No such interface Vlan {}.\n",
			[CLI_SAYS_RESERVED] = "% Error: Vlan {} is reserved.\n",
			[CLI_SAYS_DEFAULT_VLAN] = "% Error: Cannot delete default Vlan {}.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] =
				"% Error: User \"someone\" on line vty1 is in exclusive configuration mode.\n",
			[CLI_SAYS_REJECTED] = "% Error: Command rejected.\n",
			[CLI_SAYS_SAVED] = "!\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}>",
			[CLI_ENABLE] = "{h}#",
			[CLI_CONFIG] = "{h}(conf)#",
			[CLI_MIRROR] = "{h}(conf-mon-sess-{l})#",
			[CLI_VLAN] = "{h}(conf-if-{l})#",
			[CLI_PORT] = "{h}(conf-if-{l})#",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Error: Invalid input at \"^\" marker.\n",
			[CLI_RANGE] = "% Error: Value out of range at \"^\" marker.\n",
			[CLI_TOO_MANY] = "% Error: Invalid input at \"^\" marker.\n",
			[CLI_AMBIGUOUS] = "% Error: Ambiguous command.\n",
			[CLI_INCOMPLETE] = "% Error: Incomplete command.\n",
		},
	.has_caret = true,
	.running = switch_cli_os9_running,
};
