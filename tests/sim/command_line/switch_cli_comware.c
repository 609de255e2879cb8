/* HPE Comware 7 (H3C): "HPE FlexNetwork 5900 Layer 2 LAN Switching Configuration Guide" and Command
 * Reference. Views instead of modes, `undo` instead of `no`, "10 to 20" instead of "10-20", and
 * every view takes the commands of the system view. A trunk lets VLAN 1 pass, and no other, until
 * told. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_COMWARE_ALL (CF | VL | PT)
#define ANY                    (EN | SWITCH_CLI_COMWARE_ALL)

/* --- lists --- */

/* "1 to 3 7" as "1-3,7". False when it does not fit. */
static bool plain_list(const char *text, char ret[256])
{
	size_t at = 0;

	while (*text) {
		if (at + 2 > 255)
			return false;
		if (strncmp(text, " to ", 4) == 0) {
			ret[at++] = '-';
			text += 4;
		} else {
			ret[at++] = (char)(*text == ' ' ? ',' : *text);
			text++;
		}
	}
	ret[at] = '\0';
	return true;
}

static void switch_cli_comware_complain(struct cli_call *call, const char *about)
{
	text_addf(call->out, " %% Wrong parameter found at '^' position: %s\n", about);
}

static bool switch_cli_comware_read_vids(struct cli_call *call, const char *text,
					 struct vlan_set *ret)
{
	char list[256];

	if (plain_list(text, list) && vlan_set_parse(list, ret) == 0 && !vlan_set_is_empty(ret))
		return true;
	switch_cli_comware_complain(call, text);
	return false;
}

/* --- configuring --- */

static void switch_cli_comware_make_vlans(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	unsigned low = call->values[0].number;
	unsigned high = call->values[1].number;

	for (unsigned vid = low; vid <= high; vid++) {
		if (!vlan_set_has(&store->running->vlans, vid))
			cli_store_create(store, vid, "");
	}
}

/* Access ports fall back to VLAN 1. */
static void undo_vlan(struct cli_call *call)
{
	struct cli_config *running = call->session->device->store->running;
	unsigned vid = call->values[0].number;

	if (!vlan_set_has(&running->vlans, vid)) {
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
		return;
	}
	cli_delete_vlan(call);
	for (unsigned number = 1; vid != 1 && number <= call->session->device->store->port_count;
	     number++) {
		if (running->ports[number].access == vid)
			running->ports[number].access = 1;
	}
}

static void enter_range(struct cli_call *call)
{
	const struct cli_session *session = call->session;
	struct cli_value value = call->values[0];
	struct cli_call inner = *call;
	char list[256];
	const char *text = value.text;

	/* "X1/0/1 to X1/0/4 X1/0/7": the blanks between names are commas, as with VLANs */
	if (!plain_list(text, list) ||
	    !cli_ports_parse(&session->device->family->naming, session->device->store->port_count,
			     list, &value.ports)) {
		switch_cli_comware_complain(call, text);
		return;
	}
	inner.values = &value;
	cli_enter_ports(&inner);
}

static void switch_cli_comware_enter_ports(struct cli_call *call)
{
	cli_enter_ports(call);
	(void)cli_port_text(call->session, call->values[0].number, true, call->session->level_name);
}

/* A port starts anew in its type: in VLAN 1 alone. */
static void link_type(struct cli_call *call)
{
	enum cli_port_mode mode = (enum cli_port_mode)call->command->argument;

	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			if (port->mode == mode)
				continue;
			*port = (struct cli_port){.mode = mode,
						  .access = 1,
						  .native = 1,
						  .lag = port->lag,
						  .is_there = port->is_there};
			vlan_set_add(mode == CLI_GENERAL ? &port->untagged : &port->allowed, 1);
		}
}

static bool is_type(struct cli_call *call, enum cli_port_mode mode, const char *name)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			if (cli_port_at(call->session, number)->mode != mode) {
				text_addf(call->out, "The port link-type is not %s.\n", name);
				return false;
			}
		}
	return true;
}

static void switch_cli_comware_access_vlan(struct cli_call *call)
{
	if (is_type(call, CLI_ACCESS, "access"))
		cli_access(call);
}

static void switch_cli_comware_permit(struct cli_call *call)
{
	struct cli_value value = call->values[0];
	struct cli_call inner = *call;
	bool listed = call->command->argument == CLI_LIST_ADD ||
		      call->command->argument == CLI_LIST_REMOVE;

	if (!is_type(call, CLI_TRUNK, "trunk") ||
	    (listed && !switch_cli_comware_read_vids(call, value.text, &value.vids)))
		return;
	inner.values = &value;
	cli_allowed(&inner);
}

static void switch_cli_comware_pvid(struct cli_call *call)
{
	if (is_type(call, CLI_TRUNK, "trunk"))
		cli_native(call);
}

static void hybrid_pvid(struct cli_call *call)
{
	if (is_type(call, CLI_GENERAL, "hybrid"))
		cli_native(call);
}

/* `argument`: 0 untagged, 1 tagged, 2 in neither. */
static void switch_cli_comware_hybrid(struct cli_call *call)
{
	char text[256];
	char *last;
	struct vlan_set vids;

	if (!is_type(call, CLI_GENERAL, "hybrid"))
		return;
	(void)text_copy(text, sizeof(text), call->values[0].text);
	last = strrchr(text, ' ');
	if (call->command->argument == 0 && last &&
	    (strcmp(last, " tagged") == 0 || strcmp(last, " untagged") == 0)) {
		bool tagged = last[1] == 't';

		*last = '\0';
		if (!switch_cli_comware_read_vids(call, text, &vids))
			return;
		for
			EACH_PORT(number, &call->session->ports)
			{
				struct cli_port *port = cli_port_at(call->session, number);
				struct vlan_set *to = tagged ? &port->allowed : &port->untagged;
				struct vlan_set *from = tagged ? &port->untagged : &port->allowed;

				*to = vlan_set_union(to, &vids);
				*from = vlan_set_minus(from, &vids);
			}
	} else if (call->command->argument == 2 &&
		   switch_cli_comware_read_vids(call, text, &vids)) {
		for
			EACH_PORT(number, &call->session->ports)
			{
				struct cli_port *port = cli_port_at(call->session, number);

				port->allowed = vlan_set_minus(&port->allowed, &vids);
				port->untagged = vlan_set_minus(&port->untagged, &vids);
			}
	} else if (call->command->argument == 0) {
		text_add(call->out, " % Incomplete command found at '^' position.\n");
	}
}

/* --- saving --- */

static void on_overwrite(struct cli_session *session, const char *line, struct text *out)
{
	if (line[0] != 'y' && line[0] != 'Y')
		return;
	cli_keep(session);
	text_add(out, "Validating file. Please wait...\n"
		      "Saved the current configuration to mainboard device successfully.\n");
}

static void switch_cli_comware_on_file_name(struct cli_session *session, const char *line,
					    struct text *out)
{
	(void)line;
	cli_ask(session, out, "flash:/startup.cfg exists, overwrite? [Y/N]:", on_overwrite);
}

static void switch_cli_comware_on_save(struct cli_session *session, const char *line,
				       struct text *out)
{
	if (line[0] != 'y' && line[0] != 'Y')
		return;
	cli_ask(session, out,
		"Please input the file name(*.cfg)[flash:/startup.cfg]\n"
		"(To leave the existing filename unchanged, press the enter key):",
		switch_cli_comware_on_file_name);
}

static void switch_cli_comware_save(struct cli_call *call)
{
	cli_ask(call->session, call->out,
		"The current configuration will be written to the device. Are you sure? [Y/N]:",
		switch_cli_comware_on_save);
}

/* --- the configuration as text --- */

static void write_vids(struct text *out, const char *before, const struct vlan_set *vids,
		       const char *after)
{
	if (vlan_set_is_empty(vids))
		return;
	text_add(out, before);
	for (unsigned vid = vlan_set_next(vids, 1); vid;) {
		unsigned end = vid;

		while (vlan_set_has(vids, end + 1))
			end++;
		text_addf(out, " %u", vid);
		if (end > vid)
			text_addf(out, end == vid + 1 ? " %u" : " to %u", end);
		vid = vlan_set_next(vids, end + 1);
	}
	text_addf(out, "%s\n", after);
}

static void write_trunk(const struct cli_port *port, struct text *out)
{
	struct vlan_set beyond = port->allowed;

	text_add(out, " port link-type trunk\n");
	if (!vlan_set_has(&port->allowed, 1))
		text_add(out, " undo port trunk permit vlan 1\n");
	vlan_set_remove(&beyond, 1);
	if (port->is_allowed_all)
		text_add(out, " port trunk permit vlan all\n");
	else
		write_vids(out, " port trunk permit vlan",
			   vlan_set_has(&port->allowed, 1) && vlan_set_is_empty(&beyond)
				   ? &beyond
				   : &port->allowed,
			   "");
	if (port->native != 1)
		text_addf(out, " port trunk pvid vlan %u\n", port->native);
}

static void switch_cli_comware_write_port(const struct cli_session *session,
					  const struct cli_port *port, unsigned number,
					  struct text *out)
{
	char name[CLI_NAME_SIZE];

	text_addf(out, "#\ninterface %s\n port link-mode bridge\n",
		  cli_port_text(session, number, true, name));
	if (port->description[0] != '\0')
		text_addf(out, " description %s\n", port->description);
	if (port->mode == CLI_ACCESS && port->access != 1)
		text_addf(out, " port access vlan %u\n", port->access);
	if (port->mode == CLI_TRUNK)
		write_trunk(port, out);
	if (port->mode == CLI_GENERAL) {
		text_add(out, " port link-type hybrid\n");
		write_vids(out, " port hybrid vlan", &port->allowed, " tagged");
		write_vids(out, " port hybrid vlan", &port->untagged, " untagged");
		if (port->native != 1)
			text_addf(out, " port hybrid pvid vlan %u\n", port->native);
	}
	if (port->is_shut)
		text_add(out, " shutdown\n");
	if (port->apart)
		text_addf(out, " port-isolate enable group %u\n", port->apart - 1U);
	if (cli_lag_number(number))
		text_add(out, " link-aggregation mode dynamic\n");
	if (port->lag)
		text_addf(out, " port link-aggregation group %u\n", port->lag);
}

static void switch_cli_comware_running(const struct cli_session *session,
				       const struct cli_config *config,
				       const struct cli_ports *ports, struct text *out)
{
	if (!ports) {
		text_addf(out, "#\n version 7.1.070, Release 2432P06\n#\n sysname %s\n",
			  session->device->hostname);
		for
			EACH_VLAN(vid, &config->vlans)
			{
				text_addf(out, "#\nvlan %u\n", vid);
				if (config->names[vid][0] != '\0')
					text_addf(out, " name %s\n", config->names[vid]);
			}
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		switch_cli_comware_write_port(session, &config->ports[lag], lag, out);
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_comware_write_port(session, &config->ports[number], number, out);
	}
	if (!ports)
		cli_mirror_write(session, config, out);
	text_add(out, "#\nreturn\n");
}

/* --- showing --- */

static void switch_cli_comware_show_version(struct cli_call *call)
{
	text_add(call->out,
		 "HPE Comware Software, Version 7.1.070, Release 2432P06\n"
		 "Copyright (c) 2010-2018 Hewlett Packard Enterprise Development LP\n"
		 "HPE 5900AF-48XG-4QSFP+ uptime is 0 weeks, 1 day, 2 hours, 3 minutes\n");
}

static void list_ports(struct cli_call *call, const char *what, const struct cli_ports *ports)
{
	unsigned count = 0;

	text_addf(call->out, " %s ports:   %s", what, cli_ports_next(ports, 1) ? "" : "None");
	for
		EACH_PORT(port, ports)
		{
			char name[CLI_NAME_SIZE];

			text_addf(call->out, "%s%-30s", count++ % 2 == 0 ? "\n    " : "",
				  cli_port_text(call->session, port, true, name));
		}
	text_add(call->out, "\n");
}

static void one_vlan(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports tagged = cli_members(store, vid, true);
	struct cli_ports untagged = cli_members(store, vid, false);
	const char *name = store->running->names[vid];

	text_addf(call->out,
		  " VLAN ID: %u\n VLAN type: Static\n Route interface: Not configured\n"
		  " Description: VLAN %04u\n",
		  vid, vid);
	if (name[0] != '\0')
		text_addf(call->out, " Name: %s\n", name);
	else
		text_addf(call->out, " Name: VLAN %04u\n", vid);
	list_ports(call, "Tagged", &tagged);
	list_ports(call, "Untagged", &untagged);
	text_add(call->out, "\n");
}

static void show_vlan_all(struct cli_call *call)
{
	for
		EACH_VLAN(vid, &call->session->device->store->running->vlans)
		{
			one_vlan(call, vid);
		}
}

static void switch_cli_comware_show_vlan(struct cli_call *call)
{
	unsigned vid = call->values[0].number;

	if (vlan_set_has(&call->session->device->store->running->vlans, vid))
		one_vlan(call, vid);
	else
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
}

static void show_vlan_brief(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out, "Brief information about all VLANs:\nSupported Minimum VLAN ID: 1\n"
			    "Supported Maximum VLAN ID: 4094\nDefault VLAN ID: 1\n"
			    "VLAN ID   Name                             Port\n");
	for
		EACH_VLAN(vid, &store->running->vlans)
		{
			struct cli_ports ports = cli_members(store, vid, false);
			struct cli_ports tagged = cli_members(store, vid, true);
			char name[CLI_NAME_SIZE];

		for
			EACH_PORT(port, &tagged)
			{
				cli_ports_add(&ports, port);
			}
		(void)text_format(name, sizeof(name), "VLAN %04u", vid);
		text_addf(call->out, "%-9u %-32.32s ", vid,
			  store->running->names[vid][0] != '\0' ? store->running->names[vid]
								: name);
		cli_list_ports(call->session, &ports, "  ", 3, 43, call->out);
		text_add(call->out, "\n");
		}
}

static void switch_cli_comware_show_vlans(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;

	text_addf(call->out, " Total VLANs: %zu\n", vlan_set_count(vlans));
	write_vids(call->out, " The VLANs include:\n", vlans, "");
}

static void switch_cli_comware_mac_row(struct text *out, const char *mac, unsigned vid,
				       const char *port)
{
	text_addf(out, "%-16s %-10u %-16s %-24s Y\n", mac, vid, "Learned", port);
}

static void switch_cli_comware_show_macs(struct cli_call *call)
{
	text_add(call->out,
		 "MAC Address      VLAN ID    State            Port/Nickname            Aging\n");
	cli_each_mac(call, (struct cli_mac_style){2, '-', false, switch_cli_comware_mac_row});
}

static void switch_cli_comware_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out, "Chassis ID : * -- -- Nearest nontpmr bridge neighbor\n"
			    "             # -- -- Nearest customer bridge neighbor\n"
			    "             Default -- -- Nearest bridge neighbor\n"
			    "System Name          Local Interface Chassis ID      Port ID\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out, "%-20.20s %-15s %-15s %s\n", row->system,
			  cli_port_text(call->session, row->port, false, name),
			  cli_mac_text(row->chassis, 2, '-', mac), row->port_id);
	}
}

static const struct cli_command switch_cli_comware_commands[] = {
	{EN, "quit", cli_logout, 0, LOOK},
	{EN, "system-view", cli_enter_config, 0, LOOK},
	{ANY, "screen-length disable", cli_pager_fixed, 0, LOOK},
	{ANY, "undo screen-length disable", cli_pager_fixed, 24, LOOK},
	{ANY, "display version", switch_cli_comware_show_version, 0, LOOK},
	{EN, "locator blink <number>", cli_led, CLI_LED_ON, LOOK},
	{EN, "locator blink stop", cli_led, 0, LOOK},
	{ANY, "display vlan", switch_cli_comware_show_vlans, 0, LOOK},
	{ANY, "display vlan all", show_vlan_all, 0, LOOK},
	{ANY, "display vlan brief", show_vlan_brief, 0, LOOK},
	{ANY, "display vlan <vid>", switch_cli_comware_show_vlan, 0, LOOK},
	{ANY, "display mac-address [dynamic]", switch_cli_comware_show_macs, 0, LOOK},
	{ANY, "display mac-address vlan <vid>", switch_cli_comware_show_macs, 1, LOOK},
	{ANY, "display mac-address interface <port>", switch_cli_comware_show_macs, 2, LOOK},
	{ANY, "display lldp neighbor-information list", switch_cli_comware_show_lldp, 0, LOOK},
	{ANY, "display current-configuration", cli_show_running, 0, LOOK},
	{ANY, "display current-configuration interface <port>", cli_show_running_port, 0, LOOK},
	{ANY, "display saved-configuration", cli_show_running, 1, LOOK},
	{ANY, "save", switch_cli_comware_save, 0, SWITCH_SAVE},
	{ANY, "save force", cli_save, 0, SWITCH_SAVE},
	{EN, "reboot", cli_reload, 0, LOOK},
	{SWITCH_CLI_COMWARE_ALL, "quit", cli_exit, 0, LOOK},
	{CF, "mirroring-group <number> local", cli_mirror_make, 0, SWITCH_SPAN},
	{CF, "mirroring-group <number> monitor-port <port>", cli_mirror_target, CLI_MIRROR_LINE,
	 SWITCH_SPAN},
	{CF, "mirroring-group <number> mirroring-port <port> both|inbound|outbound",
	 cli_mirror_source, CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "undo mirroring-group <number> mirroring-port <port> both|inbound|outbound",
	 cli_mirror_source, CLI_MIRROR_LINE | CLI_MIRROR_NO, SWITCH_SPAN},
	{CF, "undo mirroring-group <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{SWITCH_CLI_COMWARE_ALL, "return", cli_end, 0, LOOK},
	{CF, "sysname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vlan <vid>", cli_enter_vlan, 0, SWITCH_CREATE},
	{CF, "vlan <vid> to <vid>", switch_cli_comware_make_vlans, 0, SWITCH_CREATE},
	{CF, "undo vlan <vid>", undo_vlan, 0, SWITCH_DELETE},
	{CF, "interface range <text>", enter_range, 0, LOOK},
	{CF, "interface <port>", switch_cli_comware_enter_ports, 0, LOOK},
	{VL, "name <text>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "undo name", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "description <text>", cli_nothing, 0, LOOK},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "undo description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "undo shutdown", cli_shut, 0, SWITCH_FILTER},
	{CF, "undo interface <port>", cli_lag_delete, 0, SWITCH_BUNDLE},
	{PT, "port link-aggregation group <number>", cli_lag_join, 0, SWITCH_BUNDLE},
	{PT, "undo port link-aggregation group", cli_lag_leave, 0, SWITCH_BUNDLE},
	{PT, "link-aggregation mode dynamic", cli_nothing, 0, LOOK},
	{PT, "lacp edge-port", cli_nothing, 0, LOOK},
	{CF, "port-isolate group <number>", cli_nothing, 0, LOOK},
	{PT, "port-isolate enable group <number>", cli_apart, 1, SWITCH_FILTER},
	{PT, "undo port-isolate enable", cli_apart, 0, SWITCH_FILTER},
	{PT, "port link-type access", link_type, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "port link-type trunk", link_type, CLI_TRUNK, SWITCH_FRAMES},
	{PT, "port link-type hybrid", link_type, CLI_GENERAL, SWITCH_FRAMES},
	{PT, "undo port link-type", link_type, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "port access vlan <vid>", switch_cli_comware_access_vlan, 0, SWITCH_PVID},
	{PT, "undo port access vlan", switch_cli_comware_access_vlan, 0, SWITCH_PVID},
	{PT, "port trunk permit vlan all", switch_cli_comware_permit, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "port trunk permit vlan <text>", switch_cli_comware_permit, CLI_LIST_ADD,
	 SWITCH_EGRESS},
	{PT, "undo port trunk permit vlan all", switch_cli_comware_permit, CLI_LIST_NONE,
	 SWITCH_EGRESS},
	{PT, "undo port trunk permit vlan <text>", switch_cli_comware_permit, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "port trunk pvid vlan <vid>", switch_cli_comware_pvid, 0, SWITCH_PVID},
	{PT, "undo port trunk pvid", switch_cli_comware_pvid, 0, SWITCH_PVID},
	{PT, "port hybrid vlan <text>", switch_cli_comware_hybrid, 0, SWITCH_EGRESS},
	{PT, "undo port hybrid vlan <text>", switch_cli_comware_hybrid, 2, SWITCH_EGRESS},
	{PT, "port hybrid pvid vlan <vid>", hybrid_pvid, 0, SWITCH_PVID},
	{PT, "undo port hybrid pvid", hybrid_pvid, 0, SWITCH_PVID},
};

const struct cli_family cli_comware = {
	.name = "comware",
	.title = "HPE Comware, H3C",
	.commands = switch_cli_comware_commands,
	.command_count = COUNT_OF(switch_cli_comware_commands),
	.naming = {"Ten-GigabitEthernet", "XGE", "1/0/", 1, 1, "XGE%s", "Ten-GigabitEthernet%s",
		   "Bridge-Aggregation", "BAGG", "BAGG%s", "Bridge-Aggregation%s"},
	.port = {.mode = CLI_ACCESS, .access = 1, .native = 1},
	.vid_high = 4094,
	.hostname = "HPE",
	.login_text =
		"\n******************************************************************************\n"
		"* Copyright (c) 2010-2018 Hewlett Packard Enterprise Development LP          *\n"
		"* Without the owner's prior written consent,                                 *\n"
		"* no decompiling or reverse-engineering shall be allowed.                    *\n"
		"******************************************************************************\n\n",
	.more = "---- More ----",
	.more_erase = "\033[16D                \033[16D",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 16,
	.unknown_access = CLI_UNKNOWN_REFUSED,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "The specified VLAN does not exist.\n",
			[CLI_SAYS_RESERVED] = "VLAN {} is reserved.\n",
			[CLI_SAYS_DEFAULT_VLAN] = "The default VLAN cannot be deleted.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] = "The configuration is locked by another user.\n",
			[CLI_SAYS_REJECTED] = "The operation is not allowed.\n",
			[CLI_SAYS_SAVED] =
				"Validating file. Please wait...\nSaved the current configuration to mainboard device successfully.\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "<{h}>",
			[CLI_ENABLE] = "<{h}>",
			[CLI_CONFIG] = "[{h}]",
			[CLI_VLAN] = "[{h}-vlan{l}]",
			[CLI_PORT] = "[{h}-{l}]",
		},
	.complaints =
		{
			[CLI_INVALID] = " % Unrecognized command found at '^' position.\n",
			[CLI_RANGE] = " % Wrong parameter found at '^' position.\n",
			[CLI_TOO_MANY] = " % Too many parameters found at '^' position.\n",
			[CLI_AMBIGUOUS] = " % Ambiguous command found at '^' position.\n",
			[CLI_INCOMPLETE] = " % Incomplete command found at '^' position.\n",
		},
	.has_caret = true,
	.caret_at_end = true,
	.configure_text = "System View: return to User View with Ctrl+Z.\n",
	.running = switch_cli_comware_running,
};
