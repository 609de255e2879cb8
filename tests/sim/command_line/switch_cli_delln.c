/* Dell Networking N-series, DNOS 6 (FASTPATH): "N-Series Switches CLI Reference Guide", VLAN and
 * Configuration chapters. One session configures at a time; VLANs go to 4093 and must exist;
 * general mode has its own PVID and lists. */
#include <stdlib.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_DELLN_ALL (CF | VL | PT | DB)

/* --- configuring --- */

static void switch_cli_delln_enter_vlan(struct cli_call *call)
{
	struct vlan_set vids;
	struct cli_call inner = *call;
	struct cli_value value = call->values[0];
	unsigned first = (unsigned)strtoul(value.text, NULL, 10);
	unsigned last = 0;

	if (vlan_set_parse(value.text, &vids) == 0)
		for
			EACH_VLAN(vid, &vids)
			{
				last = vid;
			}
	if (last == 0 || last > call->session->device->family->vid_high) {
		text_addf(call->out,
			  "          Failure Information\n---------------------------------------\n"
			  "   VLANs failed to be configured : 1\n"
			  "---------------------------------------\n   VLAN             Error\n"
			  "---------------------------------------\n"
			  "VLAN %9u ERROR: VLAN ID is out of range\n",
			  last ? last : first);
		return;
	}
	value.vids = vids;
	value.number = first;
	inner.values = &value;
	if (call->command->argument) { /* in the database one stays there */
		for
			EACH_VLAN(vid, &vids)
			{
				if (!vlan_set_has(&call->session->device->store->running->vlans,
						  vid))
					cli_store_create(call->session->device->store, vid, "");
			}
		return;
	}
	cli_enter_vlan(&inner);
}

static void switch_cli_delln_no_vlan(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	for
		EACH_VLAN(vid, &call->values[0].vids)
		{
			if (!vlan_set_has(&store->running->vlans, vid)) {
				text_addf(call->out,
					  "          Failure Information\n"
					  "---------------------------------------\n"
					  "   VLANs failed to be deleted : 1\n"
					  "---------------------------------------\n"
					  "   VLAN             Error\n"
					  "---------------------------------------\n"
					  "VLAN %9u ERROR: This VLAN does not exist.\n",
					  vid);
				return;
			}
		}
	cli_delete_vlan(call);
}

static void switch_cli_delln_database(struct cli_call *call)
{
	cli_leave(call->session, CLI_DATABASE);
}

static void name_in_database(struct cli_call *call)
{
	struct cli_config *running = call->session->device->store->running;
	unsigned vid = call->values[0].number;

	if (!cli_vlans_usable(call, &call->values[0].vids, CLI_UNKNOWN_REFUSED))
		return;
	(void)text_copy(running->names[vid], sizeof(running->names[vid]), call->values[1].text);
}

/* `argument`: tagged or not. Untagged, or without a word: both lists know it only once. */
static void general_add(struct cli_call *call)
{
	const struct vlan_set *vids = &call->values[0].vids;
	bool tagged = call->command->argument != 0;

	if (!cli_vlans_usable(call, vids, CLI_UNKNOWN_REFUSED))
		return;
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			struct vlan_set *to = tagged ? &port->allowed : &port->untagged;
			struct vlan_set *from = tagged ? &port->untagged : &port->allowed;

			if (port->is_allowed_all) {
				port->is_allowed_all = false;
				port->allowed = (struct vlan_set){{0}};
			}
			*to = vlan_set_union(to, vids);
			*from = vlan_set_minus(from, vids);
		}
}

static void general_remove(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			port->allowed = vlan_set_minus(&port->allowed, &call->values[0].vids);
			port->untagged = vlan_set_minus(&port->untagged, &call->values[0].vids);
		}
}

static void switch_cli_delln_set_mode(struct cli_call *call)
{
	cli_port_mode(call);
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			if (port->mode == CLI_GENERAL && port->is_allowed_all) {
				port->is_allowed_all = false;
				port->allowed = (struct vlan_set){{0}};
				vlan_set_add(&port->untagged, 1);
			}
		}
}

static void switch_cli_delln_on_save(struct cli_session *session, const char *line,
				     struct text *out)
{
	if (line[0] != 'y' && line[0] != 'Y') {
		text_add(out, "\n\nConfiguration Not Saved!\n");
		return;
	}
	cli_keep(session);
	text_add(out, "\n\nConfiguration Saved!\n");
}

static void switch_cli_delln_save(struct cli_call *call)
{
	cli_ask(call->session, call->out,
		"\nThis operation may take a few minutes.\n"
		"Management interfaces will not be available during this time.\n\n"
		"Are you sure you want to save? (y/n) ",
		switch_cli_delln_on_save);
	call->session->wants_key = true;
}

/* --- the configuration as text --- */

static void switch_cli_delln_write_port(const struct cli_session *session,
					const struct cli_port *port, unsigned number,
					struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "!\ninterface %s\n", cli_port_text(session, number, false, name));
	if (port->is_shut)
		text_add(out, "shutdown\n");
	if (port->description[0] != '\0')
		text_addf(out, "description \"%s\"\n", port->description);
	if (port->mode == CLI_TRUNK)
		text_add(out, "switchport mode trunk\n");
	if (port->mode == CLI_GENERAL)
		text_add(out, "switchport mode general\n");
	if (port->mode == CLI_ACCESS && port->access != 1)
		text_addf(out, "switchport access vlan %u\n", port->access);
	if (port->mode == CLI_GENERAL) {
		if (port->native != 1)
			text_addf(out, "switchport general pvid %u\n", port->native);
		cli_write_list(out, "switchport general allowed vlan add ", &port->untagged, "\n");
		cli_write_list(out, "switchport general allowed vlan add ", &port->allowed,
			       " tagged\n");
	}
	if (port->mode == CLI_TRUNK) {
		if (port->native != 1)
			text_addf(out, "switchport trunk native vlan %u\n", port->native);
		if (!port->is_allowed_all)
			cli_write_list(out, "switchport trunk allowed vlan ", &port->allowed, "\n");
	}
	if (port->apart)
		text_addf(out, "switchport protected %u\n", port->apart - 1U);
	text_add(out, "exit\n");
}

static void switch_cli_delln_running(const struct cli_session *session,
				     const struct cli_config *config, const struct cli_ports *ports,
				     struct text *out)
{
	struct vlan_set made = config->vlans;

	vlan_set_remove(&made, 1);
	if (!ports) {
		text_add(out, "\n!Current Configuration:\n!System Description \"Dell Networking "
			      "N2048, 6.3.3.9, Linux 3.6.5\"\n!System Software Version 6.3.3.9\n!\n"
			      "configure\n");
		cli_write_list(out, "vlan ", &made, "\nexit\n");
		for
			EACH_VLAN(vid, &made)
			{
				if (config->names[vid][0] != '\0')
					text_addf(out, "vlan %u\nname \"%s\"\nexit\n", vid,
						  config->names[vid]);
			}
		text_addf(out, "hostname \"%s\"\n", session->device->hostname);
	}
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_delln_write_port(session, &config->ports[number], number, out);
	}
	if (!ports) {
		cli_mirror_write(session, config, out);
		text_add(out, "exit\n");
	}
}

/* --- showing --- */

static void switch_cli_delln_show_version(struct cli_call *call)
{
	text_add(call->out, "\nMachine Description............... Dell Networking Switch\n"
			    "System Model ID................... N2048\n"
			    "Machine Type...................... Dell Networking N2048\n"
			    "\nunit active      backup      current-active next-active\n"
			    "---- ----------- ----------- -------------- --------------\n"
			    "1    6.3.3.9     6.3.3.9     6.3.3.9        6.3.3.9\n\n");
}

/* "Gi1/0/1-3,", one run of ports a line. */
static void switch_cli_delln_vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports ports = cli_members(store, vid, false);
	struct cli_ports tagged = cli_members(store, vid, true);
	const char *type = vid == 1 ? "Default" : "Static";
	char name[CLI_NAME_SIZE];
	bool is_first = true;

	for
		EACH_PORT(port, &tagged)
		{
			cli_ports_add(&ports, port);
		}
	text_addf(call->out, "%-6u %-32.32s ", vid,
		  cli_vlan_name(store->running, vid, "VLAN{}", name));
	for (unsigned port = cli_ports_next(&ports, 1); port;) {
		unsigned end = port;
		char text[CLI_NAME_SIZE];
		char range[16] = "";

		while (cli_ports_has(&ports, end + 1))
			end++;
		if (end > port)
			(void)text_format(range, sizeof(range), "-%u", end);
		(void)text_format(text, sizeof(text), "Gi1/0/%u%s%s", port, range,
				  cli_ports_next(&ports, end + 1) ? "," : "");
		text_addf(call->out, is_first ? "%-14s %s\n" : "%40s%-14s\n", is_first ? text : "",
			  is_first ? type : text);
		is_first = false;
		port = cli_ports_next(&ports, end + 1);
	}
	if (is_first)
		text_addf(call->out, "%-14s %s\n", "", type);
}

static void switch_cli_delln_show_vlan(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;
	unsigned wanted = call->command->argument ? call->values[0].number : 0;

	if (wanted != 0 && !vlan_set_has(vlans, wanted)) {
		text_add(call->out, "\nERROR: This VLAN does not exist.\n\n");
		return;
	}
	text_add(call->out, "\nVLAN   Name                             Ports          Type\n"
			    "-----  ---------------                  -------------  "
			    "--------------\n");
	for
		EACH_VLAN(vid, vlans)
		{
			if (wanted == 0 || vid == wanted)
				switch_cli_delln_vlan_row(call, vid);
		}
	text_add(call->out, "\n");
}

static void switch_cli_delln_mac_row(struct text *out, const char *mac, unsigned vid,
				     const char *port)
{
	char upper[20];
	size_t i = 0;

	for (; mac[i] != '\0' && i + 1 < sizeof(upper); i++)
		upper[i] = (char)(mac[i] >= 'a' && mac[i] <= 'f' ? mac[i] - 'a' + 'A' : mac[i]);
	upper[i] = '\0';
	text_addf(out, "%-8u %-21s %-13s %s\n", vid, upper, "Dynamic", port);
}

static void switch_cli_delln_show_macs(struct cli_call *call)
{
	text_add(call->out, "\nAging time is 300 Sec\n\n"
			    "Vlan     Mac Address           Type          Port\n"
			    "-------- --------------------- ------------- ---------------------\n");
	cli_each_mac(call, (struct cli_mac_style){2, '.', false, switch_cli_delln_mac_row});
	text_add(call->out, "\n");
}

static void switch_cli_delln_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out, "\nLLDP Remote Device Summary\n\nLocal\n"
			    "Interface  RemID   Chassis ID            Port ID             System "
			    "Name\n"
			    "--------- -------  --------------------  ------------------  "
			    "------------------\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out, "%-10s %-8zu %-21s %-19.19s %-18.18s\n",
			  cli_port_text(call->session, row->port, false, name), i + 1,
			  cli_mac_text(row->chassis, 1, ':', mac), row->port_id, row->system);
	}
	text_add(call->out, "\n");
}

static const struct cli_command switch_cli_delln_commands[] = {
	{EX, "enable", cli_enable, 0, LOOK},
	{EX | EN, "exit|quit|logout", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show version", switch_cli_delln_show_version, 0, LOOK},
	{EN, "locate", cli_led, CLI_LED_ON, LOOK},
	{EN, "locate switch 1 time <number>", cli_led, CLI_LED_ON, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show vlan", switch_cli_delln_show_vlan, 0, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show vlan id <vid>", switch_cli_delln_show_vlan, 1, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show mac address-table [dynamic]",
	 switch_cli_delln_show_macs, 0, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show mac address-table vlan <vid>",
	 switch_cli_delln_show_macs, 1, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show mac address-table interface <port>",
	 switch_cli_delln_show_macs, 2, LOOK},
	{EX | EN | SWITCH_CLI_DELLN_ALL, "show lldp remote-device all", switch_cli_delln_show_lldp,
	 0, LOOK},
	{EN | SWITCH_CLI_DELLN_ALL, "show running-config", cli_show_running, 0, LOOK},
	{EN | SWITCH_CLI_DELLN_ALL, "show running-config interface <port>", cli_show_running_port,
	 0, LOOK},
	{EN | SWITCH_CLI_DELLN_ALL, "show startup-config", cli_show_running, 1, LOOK},
	{EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EN, "copy running-config startup-config", switch_cli_delln_save, 0, SWITCH_SAVE},
	{EN, "write [memory]", switch_cli_delln_save, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_DELLN_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_DELLN_ALL, "end", cli_end, 0, LOOK},
	{CF, "monitor session <number> source interface <port> [both|rx|tx]", cli_mirror_source,
	 CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "no monitor session <number> source interface <port> [both|rx|tx]", cli_mirror_source,
	 CLI_MIRROR_LINE | CLI_MIRROR_NO, SWITCH_SPAN},
	{CF, "monitor session <number> destination interface <port>", cli_mirror_target,
	 CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "no monitor session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{CF, "monitor session <number> mode", cli_nothing, 0, SWITCH_SPAN},
	{SWITCH_CLI_DELLN_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vlan database", switch_cli_delln_database, 0, LOOK},
	{CF, "vlan <word>", switch_cli_delln_enter_vlan, 0, SWITCH_CREATE},
	{CF | DB, "no vlan <vids>", switch_cli_delln_no_vlan, 0, SWITCH_DELETE},
	{DB, "vlan <word>", switch_cli_delln_enter_vlan, 1, SWITCH_CREATE},
	{DB, "vlan name <vid> <text>", name_in_database, 0, SWITCH_NAME},
	{CF, "interface range <ports>", cli_enter_ports, 0, LOOK},
	{CF, "interface <port>", cli_enter_ports, 0, LOOK},
	{VL, "name <text>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no name", cli_name_vlan, 0, SWITCH_NAME},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{PT, "switchport mode access", switch_cli_delln_set_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport mode trunk", switch_cli_delln_set_mode, CLI_TRUNK, SWITCH_FRAMES},
	{PT, "switchport mode general", switch_cli_delln_set_mode, CLI_GENERAL, SWITCH_FRAMES},
	{PT, "no switchport mode", switch_cli_delln_set_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport protected <number>", cli_apart, 1, SWITCH_FILTER},
	{PT, "no switchport protected", cli_apart, 0, SWITCH_FILTER},
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
	{PT, "switchport trunk allowed vlan <vids>", cli_allowed, CLI_LIST_SET, SWITCH_EGRESS},
	{PT, "no switchport trunk allowed vlan", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "switchport general pvid <vid>", cli_native, 0, SWITCH_PVID},
	{PT, "no switchport general pvid", cli_native, 0, SWITCH_PVID},
	{PT, "switchport general allowed vlan add <vids> tagged", general_add, 1, SWITCH_EGRESS},
	{PT, "switchport general allowed vlan add <vids> [untagged]", general_add, 0,
	 SWITCH_UNTAGGED},
	{PT, "switchport general allowed vlan remove <vids>", general_remove, 0, SWITCH_EGRESS},
};

const struct cli_family cli_delln = {
	.name = "delln",
	.title = "Dell Networking N-series, DNOS 6",
	.commands = switch_cli_delln_commands,
	.command_count = COUNT_OF(switch_cli_delln_commands),
	.naming = {"gigabitethernet", "Gi", "1/0/", 1, 1, "Gi%s", "Gi%s", NULL, NULL, NULL, NULL},
	.port = {.mode = CLI_ACCESS, .access = 1, .native = 1, .is_allowed_all = true},
	.vid_high = 4093,
	.hostname = "console",
	.more = "--More-- or (q)uit",
	.more_erase = "\r                  \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.is_unprivileged = true,
	.needs_lock = true,
	.sessions = 5,
	.unknown_access = CLI_UNKNOWN_REFUSED,
	.unknown_listed = CLI_UNKNOWN_TAKEN,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "VLAN was not created by user.\n",
			[CLI_SAYS_RESERVED] = "VLAN {} is reserved.\n",
			[CLI_SAYS_DEFAULT_VLAN] = "ERROR: VLAN {} is the default VLAN.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] =
				"Configuration Database locked by another application - try later\n",
			[CLI_SAYS_REJECTED] = "ERROR: command rejected.\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}>",
			[CLI_ENABLE] = "{h}#",
			[CLI_CONFIG] = "{h}(config)#",
			[CLI_VLAN] = "{h}(config-vlan{l})#",
			[CLI_PORT] = "{h}(config-if-{l})#",
			[CLI_DATABASE] = "{h}(config-vlan)#",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_RANGE] =
				"Invalid input. Please specify an integer in the range 1 to 4093.\n\n",
			[CLI_TOO_MANY] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_AMBIGUOUS] = "% Ambiguous command\n\n",
			[CLI_INCOMPLETE] =
				"\nCommand not found / Incomplete command. Use ? to list commands.\n\n",
		},
	.has_caret = true,
	.running = switch_cli_delln_running,
};
