/* Aruba AOS-CX: "AOS-CX 10 Layer 2 Bridging Guide" and "CLI Guide". Ports are routed until told `no
 * routing`; a list on a trunk is added to what is there; VLANs must exist first. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_AOSCX_ALL (CF | VL | PT | MI)

/* --- configuring --- */

static void switch_cli_aoscx_enter_vlan(struct cli_call *call)
{
	struct cli_session *session = call->session;
	const struct cli_value *value = &call->values[0];

	cli_enter_vlan(call);
	(void)text_format(session->level_name, sizeof(session->level_name),
			  vlan_set_count(&value->vids) > 1 ? "<%.60s>" : "%.60s", value->text);
}

static void switch_cli_aoscx_enter_ports(struct cli_call *call)
{
	struct cli_session *session = call->session;
	const struct cli_value *value = &call->values[0];
	unsigned first = cli_ports_next(&value->ports, 1);

	cli_enter_ports(call);
	session->level_name[0] = '\0';
	if (cli_ports_next(&value->ports, first + 1))
		(void)text_format(session->level_name, sizeof(session->level_name), "-<%.60s>",
				  value->text);
}

static bool are_switched(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			if (cli_port_at(call->session, number)->mode == CLI_OFF) {
				text_add(call->out,
					 "Operation not allowed on an interface with routing "
					 "enabled.\n");
				return false;
			}
		}
	return true;
}

/* "no routing": in VLAN 1, access. Once more changes nothing. */
static void no_routing(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			if (port->mode == CLI_OFF)
				*port = (struct cli_port){.mode = CLI_ACCESS,
							  .access = 1,
							  .native = 1,
							  .is_there = port->is_there};
		}
}

static void switch_cli_aoscx_access_vlan(struct cli_call *call)
{
	if (!are_switched(call))
		return;
	if (call->values[0].number != 0 &&
	    !cli_vlans_usable(call, &call->values[0].vids, CLI_UNKNOWN_REFUSED))
		return;
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			unsigned vid = call->values[0].number;

			*port = (struct cli_port){.mode = CLI_ACCESS,
						  .access = (uint16_t)(vid ? vid : 1),
						  .native = 1,
						  .is_there = port->is_there};
		}
}

/* Any trunk command makes a trunk; one without a list lets every VLAN pass. */
static void make_trunk(struct cli_port *port)
{
	if (port->mode == CLI_TRUNK)
		return;
	*port = (struct cli_port){.mode = CLI_TRUNK,
				  .access = 1,
				  .native = 1,
				  .is_allowed_all = true,
				  .is_there = port->is_there};
	*port = cli_port_new(port);
}

static void native_vlan(struct cli_call *call)
{
	if (!are_switched(call) ||
	    (call->values[0].number != 0 &&
	     !cli_vlans_usable(call, &call->values[0].vids, CLI_UNKNOWN_REFUSED)))
		return;
	for
		EACH_PORT(number, &call->session->ports)
		{
			make_trunk(cli_port_at(call->session, number));
		}
	cli_native(call);
}

static void switch_cli_aoscx_allowed(struct cli_call *call)
{
	if (!are_switched(call) ||
	    (call->command->argument == CLI_LIST_ADD &&
	     !cli_vlans_usable(call, &call->values[0].vids, CLI_UNKNOWN_REFUSED)))
		return;
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			make_trunk(port);
			if (call->command->argument == CLI_LIST_ADD && port->is_allowed_all)
				port->allowed =
					(struct vlan_set){{0}}; /* a first list replaces "all" */
		}
	cli_allowed(call);
}

/* --- the configuration as text --- */

static void switch_cli_aoscx_write_port(const struct cli_session *session,
					const struct cli_port *port, unsigned number,
					struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "interface %s\n", cli_port_text(session, number, true, name));
	if (port->description[0] != '\0')
		text_addf(out, "    description %s\n", port->description);
	text_add(out, port->is_shut ? "    shutdown\n" : "    no shutdown\n");
	if (port->lag)
		text_addf(out, "    lag %u\n", port->lag);
	if (port->mode == CLI_OFF)
		return;
	text_add(out, "    no routing\n");
	if (port->mode == CLI_ACCESS) {
		text_addf(out, "    vlan access %u\n", port->access);
		return;
	}
	text_addf(out, "    vlan trunk native %u\n", port->native);
	if (port->is_allowed_all)
		text_add(out, "    vlan trunk allowed all\n");
	else
		cli_write_list(out, "    vlan trunk allowed ", &port->allowed, "\n");
}

static void switch_cli_aoscx_running(const struct cli_session *session,
				     const struct cli_config *config, const struct cli_ports *ports,
				     struct text *out)
{
	if (!ports) {
		struct vlan_set nameless = config->vlans;

		text_addf(out,
			  "Current configuration:\n!\n!Version ArubaOS-CX FL.10.06.0110\n"
			  "!export-password: default\nhostname %s\n",
			  session->device->hostname);
		for
			EACH_VLAN(vid, &config->vlans)
			{
				if (config->names[vid][0] != '\0')
					vlan_set_remove(&nameless, vid);
			}
		cli_write_lines(config, out);
		cli_write_list(out, "vlan ", &nameless, "\n");
		for
			EACH_VLAN(vid, &config->vlans)
			{
				if (config->names[vid][0] != '\0')
					text_addf(out, "vlan %u\n    name %s\n", vid,
						  config->names[vid]);
			}
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		switch_cli_aoscx_write_port(session, &config->ports[lag], lag, out);
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_aoscx_write_port(session, &config->ports[number], number, out);
	}
	if (ports)
		text_add(out, "    exit\n");
	else
		cli_mirror_write(session, config, out);
}

/* --- showing --- */

static void switch_cli_aoscx_show_version(struct cli_call *call)
{
	text_add(call->out,
		 "-----------------------------------------------------------------------------\n"
		 "ArubaOS-CX\n(c) Copyright Hewlett Packard Enterprise Development LP\n"
		 "-----------------------------------------------------------------------------\n"
		 "Version      : FL.10.06.0110                                                 \n"
		 "Active Image : primary                       \n");
}

static void switch_cli_aoscx_vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports tagged = cli_members(store, vid, true);
	struct cli_ports ports = cli_members(store, vid, false);
	char name[CLI_NAME_SIZE];
	bool up;

	for
		EACH_PORT(port, &tagged)
		{
			cli_ports_add(&ports, port);
		}
	up = cli_ports_next(&ports, 1) != 0;
	text_addf(call->out, "%-5u %-33.33s %-7s %-23s %-11s ", vid,
		  vid == 1 && store->running->names[1][0] == '\0'
			  ? "DEFAULT_VLAN_1"
			  : cli_vlan_name(store->running, vid, "VLAN", name),
		  up ? "up" : "down", up ? "ok" : "no_member_port",
		  vid == 1 ? "default" : "static");
	cli_list_ports(call->session, &ports, ",", 6, 84, call->out);
	text_add(call->out, "\n");
}

static void switch_cli_aoscx_show_vlan(struct cli_call *call)
{
	static const char line[] =
		"----------------------------------------------------------------"
		"--------------------------------------------------\n";
	unsigned wanted = call->command->argument ? call->values[0].number : 0;

	text_addf(call->out,
		  "\n%sVLAN  Name                              Status  Reason              "
		  "    Type        Interfaces\n%s",
		  line, line);
	for
		EACH_VLAN(vid, &call->session->device->store->running->vlans)
		{
			if (wanted == 0 || vid == wanted)
				switch_cli_aoscx_vlan_row(call, vid);
		}
}

static void switch_cli_aoscx_mac_row(struct text *out, const char *mac, unsigned vid,
				     const char *port)
{
	text_addf(out, "%-20s %-8u %-25s %s\n", mac, vid, "dynamic", port);
}

static void switch_cli_aoscx_show_macs(struct cli_call *call)
{
	cli_store_learn(call->session->device->store);
	text_addf(call->out,
		  "MAC age-time            : 300 seconds\nNumber of MAC addresses : %zu\n\n"
		  "MAC Address          VLAN     Type                      Port\n"
		  "--------------------------------------------------------------\n",
		  call->session->device->store->learned_count);
	cli_each_mac(call, (struct cli_mac_style){1, ':', false, switch_cli_aoscx_mac_row});
}

static void switch_cli_aoscx_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_addf(call->out,
		  "\nLLDP Neighbor Information \n=========================\n\n"
		  "Total Neighbor Entries          : %zu\nTotal Neighbor Entries Deleted  : 0\n"
		  "Total Neighbor Entries Dropped  : 0\nTotal Neighbor Entries Aged-Out : 0\n\n"
		  "LOCAL-PORT  CHASSIS-ID         PORT-ID                      PORT-DESC          "
		  "          TTL      SYS-NAME\n"
		  "-------------------------------------------------------------------------------"
		  "----------------------------------\n",
		  store->neighbor_count);
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out, "%-11s %-18s %-28.28s %-28.28s %-8u %s\n",
			  cli_port_text(call->session, row->port, false, name),
			  cli_mac_text(row->chassis, 1, ':', mac), row->port_id, row->port_id, 120U,
			  row->system);
	}
}

static void switch_cli_aoscx_show_lldp_detail(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_addf(call->out,
		  "\nLLDP Neighbor Information \n=========================\n\n"
		  "Total Neighbor Entries          : %zu\nTotal Neighbor Entries Deleted  : 0\n"
		  "Total Neighbor Entries Dropped  : 0\nTotal Neighbor Entries Aged-Out : 0\n\n",
		  store->neighbor_count);
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(
			call->out,
			"------------------------------------------------------------------------"
			"--------\n"
			"Port                           : %s\nNeighbor Entries               : 1\n"
			"Neighbor Entries Deleted       : 0\nNeighbor Entries Dropped       : 0\n"
			"Neighbor Entries Aged-Out      : 0\nNeighbor Chassis-Name          : %s\n"
			"Neighbor Chassis-Description   : a switch\n"
			"Neighbor Chassis-ID            : %s\nNeighbor Management-Address    : \n"
			"Chassis Capabilities Available : Bridge, Router\n"
			"Chassis Capabilities Enabled   : Bridge\n"
			"Neighbor Port-ID               : %s\nNeighbor Port-Desc             : %s\n"
			"Neighbor Port VLAN ID          : \nTTL                            : 120\n\n",
			cli_port_text(call->session, row->port, false, name), row->system,
			cli_mac_text(row->chassis, 1, ':', mac), row->port_id, row->port_id);
	}
}

static void switch_cli_aoscx_show_brief(struct cli_call *call)
{
	static const char line[] =
		"----------------------------------------------------------------"
		"------------------------------------\n";
	const struct cli_store *store = call->session->device->store;

	text_addf(
		call->out,
		"%sPort      Native  Mode   Type           Enabled Status  Reason                  "
		"Speed   Description\n          VLAN                                              "
		"          (Mb/s)\n%s",
		line, line);
	for (unsigned number = cli_port_next(store, 0); number;
	     number = cli_port_next(store, number)) {
		const struct cli_port *port = &store->running->ports[number];
		char name[CLI_NAME_SIZE];
		char native[16] = "--";

		if (port->mode != CLI_OFF)
			(void)text_format(native, sizeof(native), "%d",
					  port->mode == CLI_TRUNK ? port->native : port->access);
		text_addf(call->out, "%-9s %-7s %-6s %-14s %-7s %-7s %-23s %-7s %s\n",
			  cli_port_text(call->session, number, false, name), native,
			  port->mode == CLI_TRUNK ? "trunk"
			  : port->mode == CLI_OFF ? "routed"
						  : "access",
			  "10GBASE-SR", port->is_shut ? "no" : "yes", port->is_shut ? "down" : "up",
			  port->is_shut ? "Administratively down" : "",
			  port->is_shut ? "--" : "10000",
			  port->description[0] ? port->description : "--");
	}
}

/* The default port is not shown. */
static void sflow_collector(struct cli_call *call)
{
	struct cli_config *config = call->session->device->store->running;
	char line[CLI_KEPT_SIZE];

	cli_keep_line(call);
	(void)text_format(line, sizeof(line), "sflow collector %s port 6343", call->values[0].text);
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		if (strcmp(config->kept[i], line) == 0)
			config->kept[i][strlen(line) - strlen(" port 6343")] = '\0';
	}
}

static void sflow_polling(struct cli_call *call)
{
	if (call->values[0].number < 10 || call->values[0].number > 3600)
		text_add(call->out, "Invalid input: polling interval\n");
	else
		cli_keep_line(call);
}

static const struct cli_command switch_cli_aoscx_commands[] = {
	{EX | EN, "exit|logout|quit", cli_logout, 0, LOOK},
	{EX | EN | SWITCH_CLI_AOSCX_ALL, "no page", cli_pager_fixed, 0, LOOK},
	{EX | EN | SWITCH_CLI_AOSCX_ALL, "page [<number>]", cli_pager_fixed, 24, LOOK},
	{EX | EN, "show version", switch_cli_aoscx_show_version, 0, LOOK},
	{EN, "led locator on|flashing", cli_led, CLI_LED_ON, LOOK},
	{EN, "led locator off", cli_led, 0, LOOK},
	{EX | EN, "show vlan", switch_cli_aoscx_show_vlan, 0, LOOK},
	{EX | EN, "show vlan <vid>", switch_cli_aoscx_show_vlan, 1, LOOK},
	{EX | EN, "show mac-address-table [dynamic]", switch_cli_aoscx_show_macs, 0, LOOK},
	{EX | EN, "show mac-address-table vlan <vid>", switch_cli_aoscx_show_macs, 1, LOOK},
	{EX | EN, "show mac-address-table port <port>", switch_cli_aoscx_show_macs, 2, LOOK},
	{EX | EN, "show interface brief", switch_cli_aoscx_show_brief, 0, LOOK},
	{EX | EN, "show lldp neighbor-info", switch_cli_aoscx_show_lldp, 0, LOOK},
	{EX | EN, "show lldp neighbor-info detail", switch_cli_aoscx_show_lldp_detail, 0, LOOK},
	{EX | EN, "show running-config", cli_show_running, 0, LOOK},
	{EX | EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EX | EN, "show startup-config", cli_show_running, 1, LOOK},
	{EX | EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EX | EN | SWITCH_CLI_AOSCX_ALL, "write memory", cli_save, 0, SWITCH_SAVE},
	{EX | EN, "copy running-config startup-config", cli_save, 0, SWITCH_SAVE},
	{SWITCH_CLI_AOSCX_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_AOSCX_ALL, "end", cli_end, 0, LOOK},
	{CF | MI, "mirror session <number>", cli_mirror_enter, 0, SWITCH_SPAN},
	{CF, "no mirror session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{MI, "source interface <port> [both|rx|tx]", cli_mirror_source, 0, SWITCH_SPAN},
	{MI, "no source interface <port> [both|rx|tx]", cli_mirror_source, CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{MI, "destination interface <port>", cli_mirror_target, 0, SWITCH_SPAN},
	{MI, "enable", cli_nothing, 0, SWITCH_SPAN},
	{CF, "sflow", cli_keep_line, 1, SWITCH_FILTER},
	{CF, "no sflow", cli_drop_line, 1, SWITCH_FILTER},
	{CF, "sflow agent-ip <word>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow collector <word> port <number>", sflow_collector, 1, SWITCH_FILTER},
	{CF, "sflow collector <word>", cli_keep_line, 1, SWITCH_FILTER},
	{CF, "no sflow collector <word>", cli_drop_line, 0, SWITCH_FILTER},
	{CF, "sflow sampling <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow header-size <number>", cli_keep_line, 0, SWITCH_FILTER},
	{CF, "sflow polling <number>", sflow_polling, 0, SWITCH_FILTER},
	{SWITCH_CLI_AOSCX_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vlan <vids>", switch_cli_aoscx_enter_vlan, 0, SWITCH_CREATE},
	{CF, "no vlan <vids>", cli_delete_vlan, 0, SWITCH_DELETE},
	{CF, "interface <ports>", switch_cli_aoscx_enter_ports, 0, LOOK},
	{VL, "name <word>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no name", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "description <text>", cli_nothing, 0, LOOK},
	{VL, "no shutdown", cli_nothing, 0, LOOK},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{CF, "no interface <port>", cli_lag_delete, 0, SWITCH_BUNDLE},
	{PT, "lag <number>", cli_lag_join, 0, SWITCH_BUNDLE},
	{PT, "no lag [<number>]", cli_lag_leave, 0, SWITCH_BUNDLE},
	{PT, "lacp mode active|passive", cli_nothing, 0, LOOK},
	{PT, "lacp fallback", cli_nothing, 0, LOOK},
	{PT, "no routing", no_routing, 0, SWITCH_FRAMES},
	{PT, "routing", cli_port_mode, CLI_OFF, SWITCH_FRAMES},
	{PT, "vlan access <vid>", switch_cli_aoscx_access_vlan, 0, SWITCH_PVID},
	{PT, "no vlan access [<vid>]", switch_cli_aoscx_access_vlan, 0, SWITCH_PVID},
	{PT, "vlan trunk native <vid>", native_vlan, 0, SWITCH_PVID},
	{PT, "no vlan trunk native [<vid>]", cli_native, 0, SWITCH_PVID},
	{PT, "vlan trunk allowed all", switch_cli_aoscx_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "vlan trunk allowed <vids>", switch_cli_aoscx_allowed, CLI_LIST_ADD, SWITCH_EGRESS},
	{PT, "no vlan trunk allowed <vids>", switch_cli_aoscx_allowed, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "no vlan trunk allowed", switch_cli_aoscx_allowed, CLI_LIST_NONE, SWITCH_EGRESS},
};

const struct cli_family cli_aoscx = {
	.name = "aoscx",
	.title = "Aruba AOS-CX",
	.commands = switch_cli_aoscx_commands,
	.command_count = COUNT_OF(switch_cli_aoscx_commands),
	.naming = {"", "", "1/1/", 1, 1, "%s", "%s", "lag", "lag", "lag%s", "lag %s"},
	.port = {.mode = CLI_OFF, .access = 1, .native = 1},
	.vid_high = 4094,
	.hostname = "switch",
	.login_text = "(C) Copyright 2017-2021 Hewlett Packard Enterprise Development LP\n\n",
	.more = "-- MORE --, next page: Space, next line: Enter, quit: q",
	.more_erase = "\r                                                        \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 5,
	.unknown_access = CLI_UNKNOWN_REFUSED,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "VLAN {} should be created first.\n",
			[CLI_SAYS_RESERVED] = "VLAN {} is used internally.\n",
			[CLI_SAYS_DEFAULT_VLAN] =
				"VLAN {} is the default VLAN and cannot be deleted.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] = "Configuration is locked by another session.\n",
			[CLI_SAYS_REJECTED] = "Operation not allowed.\n",
			[CLI_SAYS_SAVED] = "Copying configuration: [Success]\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}> ",
			[CLI_ENABLE] = "{h}# ",
			[CLI_CONFIG] = "{h}(config)# ",
			[CLI_MIRROR] = "{h}(config-mirror-{l})# ",
			[CLI_VLAN] = "{h}(config-vlan-{l})# ",
			[CLI_PORT] = "{h}(config-if{l})# ",
		},
	.complaints =
		{
			[CLI_INVALID] = "Invalid input: {w}\n",
			[CLI_RANGE] = "Invalid input: {w}\n",
			[CLI_TOO_MANY] = "Invalid input: {w}\n",
			[CLI_AMBIGUOUS] = "Ambiguous input: {w}\n",
			[CLI_INCOMPLETE] = "% Command incomplete.\n",
		},
	.running = switch_cli_aoscx_running,
};
