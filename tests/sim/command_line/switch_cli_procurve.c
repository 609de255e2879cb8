/* HP ProCurve, Aruba AOS-S: "ArubaOS-Switch Advanced Traffic Management Guide", static VLANs, and
 * the Basic Operation Guide. VLANs have ports, not ports VLANs; a port that becomes untagged in one
 * leaves the one where it was; no port is ever in none. Prompts come with VT100 sequences. */
#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_PROCURVE_ALL (CF | VL | PT)
#define VLANS_MAX               256

/* --- configuring --- */

static void switch_cli_procurve_enter_vlan(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	if (!vlan_set_has(&store->running->vlans, call->values[0].number) &&
	    vlan_set_count(&store->running->vlans) >= VLANS_MAX) {
		text_add(call->out,
			 "Maximum number of VLANs (max-vlans) has already been reached.\n");
		return;
	}
	cli_enter_vlan(call);
}

/* The ports meant: of a VLAN's command the written ones, of a port's the ones it is in. */
static bool switch_cli_procurve_ports_of(struct cli_call *call, const char *text,
					 struct cli_ports *ret)
{
	const struct cli_session *session = call->session;

	if (cli_ports_parse(&session->device->family->naming, session->device->store->port_count,
			    text, ret))
		return true;
	text_addf(call->out, "Module not present for port or invalid port: %s\n", text);
	return false;
}

static void back_to_default(struct cli_port *port)
{
	if (port->access == 0 && vlan_set_is_empty(&port->allowed))
		port->access = 1;
}

enum {
	SWITCH_CLI_PROCURVE_UNTAGGED,
	SWITCH_CLI_PROCURVE_TAGGED,
	SWITCH_CLI_PROCURVE_NO_UNTAGGED,
	SWITCH_CLI_PROCURVE_NO_TAGGED
};

static void switch_cli_procurve_move(struct cli_port *port, unsigned vid, unsigned how)
{
	switch (how) {
	case SWITCH_CLI_PROCURVE_UNTAGGED:
		vlan_set_remove(&port->allowed, vid);
		port->access = (uint16_t)vid;
		break;
	case SWITCH_CLI_PROCURVE_TAGGED:
		if (port->access == vid)
			port->access = 0;
		vlan_set_add(&port->allowed, vid);
		break;
	case SWITCH_CLI_PROCURVE_NO_UNTAGGED:
		if (port->access == vid)
			port->access = 0;
		break;
	default: vlan_set_remove(&port->allowed, vid); break;
	}
	back_to_default(port);
}

static void move_all(struct cli_call *call, unsigned vid, const struct cli_ports *ports)
{
	for
		EACH_PORT(number, ports)
		{
			switch_cli_procurve_move(cli_port_at(call->session, number), vid,
						 call->command->argument);
		}
}

/* `untagged 1-4` in a VLAN. */
static void switch_cli_procurve_members(struct cli_call *call)
{
	struct cli_ports ports;

	if (switch_cli_procurve_ports_of(call, call->values[0].text, &ports))
		move_all(call, vlan_set_next(&call->session->vids, 1), &ports);
}

/* `vlan 100 untagged 1-4`: makes the VLAN as well. */
static void vlan_members(struct cli_call *call)
{
	struct cli_ports ports;

	if (!switch_cli_procurve_ports_of(call, call->values[1].text, &ports))
		return;
	switch_cli_procurve_enter_vlan(call);
	cli_leave(call->session, CLI_CONFIG);
	move_all(call, call->values[0].number, &ports);
}

static void vlan_name(struct cli_call *call)
{
	struct cli_call inner = *call;

	switch_cli_procurve_enter_vlan(call);
	inner.values = &call->values[1];
	cli_name_vlan(&inner);
	cli_leave(call->session, CLI_CONFIG);
}

/* `untagged vlan 100` in a port. */
static void port_members(struct cli_call *call)
{
	const struct vlan_set *vids = &call->values[0].vids;

	if (!cli_vlans_usable(call, vids, CLI_UNKNOWN_REFUSED))
		return;
	for
		EACH_VLAN(vid, vids)
		{
			move_all(call, vid, &call->session->ports);
		}
}

static void delete_vlan(struct cli_session *session, unsigned vid)
{
	struct cli_config *running = session->device->store->running;

	vlan_set_remove(&running->vlans, vid);
	running->names[vid][0] = '\0';
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		struct cli_port *port = &running->ports[number];

		switch_cli_procurve_move(port, vid, SWITCH_CLI_PROCURVE_NO_TAGGED);
		switch_cli_procurve_move(port, vid, SWITCH_CLI_PROCURVE_NO_UNTAGGED);
	}
	cli_leave(session, CLI_CONFIG);
}

static void on_delete(struct cli_session *session, const char *line, struct text *out)
{
	text_add(out, "\n");
	if (line[0] == 'y' || line[0] == 'Y')
		delete_vlan(session, vlan_set_next(&session->vids, 1));
	else
		cli_leave(session, CLI_CONFIG);
	if (cli_store_push(session->device->store) != 0)
		text_add(out, "the emulator cannot reach its data plane\n");
}

static void switch_cli_procurve_no_vlan(struct cli_call *call)
{
	unsigned vid = call->values[0].number;
	const struct cli_store *store = call->session->device->store;
	struct cli_ports untagged;

	if (vid == 1) {
		cli_say(call, CLI_SAYS_DEFAULT_VLAN, vid);
		return;
	}
	if (!vlan_set_has(&store->running->vlans, vid)) {
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
		return;
	}
	cli_leave(call->session, CLI_CONFIG);
	untagged = cli_members(store, vid, false);
	if (cli_ports_next(&untagged, 1) == 0) {
		delete_vlan(call->session, vid);
		return;
	}
	vlan_set_add(&call->session->vids, vid);
	cli_write_ports(call->out, "The following ports will be moved to the default VLAN:\n",
			&untagged, "\n");
	cli_ask(call->session, call->out, "Do you want to continue? [y/n]  ", on_delete);
	call->session->wants_key = true;
}

/* --- leaving --- */

static void on_save_question(struct cli_session *session, const char *line, struct text *out)
{
	text_add(out, "\n");
	if (line[0] == 'y' || line[0] == 'Y')
		cli_keep(session);
	session->is_over = true;
}

static void on_logout_question(struct cli_session *session, const char *line, struct text *out)
{
	text_add(out, "\n");
	if (line[0] != 'y' && line[0] != 'Y')
		return;
	if (session->device->store->is_saved) {
		session->is_over = true;
		return;
	}
	cli_ask(session, out, "Do you want to save current configuration [y/n/^C]? ",
		on_save_question);
	session->wants_key = true;
}

static void switch_cli_procurve_logout(struct cli_call *call)
{
	cli_ask(call->session, call->out, "Do you want to log out [y/n]? ", on_logout_question);
	call->session->wants_key = true;
}

/* --- the configuration as text --- */

static void switch_cli_procurve_write_vlan(const struct cli_config *config, unsigned vid,
					   unsigned port_count, struct text *out)
{
	struct cli_ports sets[3] = {{{0}}, {{0}}, {{0}}}; /* untagged, tagged, not in VLAN 1 */
	char name[CLI_NAME_SIZE];

	for (unsigned number = 1; number <= port_count; number++) {
		const struct cli_port *port = &config->ports[number];

		if (port->access == vid)
			cli_ports_add(&sets[0], number);
		else if (vlan_set_has(&port->allowed, vid))
			cli_ports_add(&sets[1], number);
		else if (vid == 1)
			cli_ports_add(&sets[2], number);
	}
	text_addf(out, "vlan %u\n   name \"%s\"\n", vid,
		  vid == 1 && config->names[1][0] == '\0'
			  ? "DEFAULT_VLAN"
			  : cli_vlan_name(config, vid, "VLAN", name));
	cli_write_ports(out, "   no untagged ", &sets[2], "\n");
	cli_write_ports(out, "   untagged ", &sets[0], "\n");
	cli_write_ports(out, "   tagged ", &sets[1], "\n");
	text_add(out, "   no ip address\n   exit\n");
}

/* A source-port filter; without a list of ports: none. */
static void set_filter(struct cli_call *call)
{
	cli_port_at(call->session, call->values[0].number)->drops = call->values[1].ports;
}

static void write_filters(const struct cli_config *config, unsigned count, struct text *out)
{
	for (unsigned number = 1; number <= count; number++) {
		char before[48];

		(void)text_format(before, sizeof(before), "filter source-port \"%u\" drop ",
				  number);
		cli_write_ports(out, before, &config->ports[number].drops, "\n");
	}
}

static void switch_cli_procurve_running(const struct cli_session *session,
					const struct cli_config *config,
					const struct cli_ports *ports, struct text *out)
{
	unsigned count = session->device->store->port_count;

	text_addf(out,
		  "\n%s configuration:\n\n; J9776A Configuration Editor; Created on release "
		  "#YA.16.08.0001\n; Ver #14:01.44.00.04.19.02.13.98.82.34.61.18.28.f3.84.9c.63\n"
		  "hostname \"%s\"\n",
		  config == session->device->store->running ? "Running" : "Startup",
		  session->device->hostname);
	for (unsigned number = 1; number <= count; number++) {
		const struct cli_port *port = &config->ports[number];

		if ((port->is_shut || port->description[0] != '\0') &&
		    (!ports || cli_ports_has(ports, number)))
			text_addf(out, "interface %u\n%s   name \"%s\"\n   exit\n", number,
				  port->is_shut ? "   disable\n" : "", port->description);
	}
	for
		EACH_VLAN(vid, &config->vlans)
		{
			switch_cli_procurve_write_vlan(config, vid, count, out);
		}
	write_filters(config, count, out);
	cli_mirror_write(session, config, out);
}

/* --- showing --- */

static void switch_cli_procurve_show_version(struct cli_call *call)
{
	text_add(call->out, "\nImage stamp:    /ws/swbuildm/rel_yakima_qaoff/code/build/lakes\n"
			    "                Jul 17 2019 06:58:52\n                YA.16.08.0001\n"
			    "                546\nBoot Image:     Primary\n\n"
			    "Boot ROM Version:    YA.15.20\nActive Boot ROM:     Primary\n\n");
}

static const char *switch_cli_procurve_name_of(const struct cli_call *call, unsigned vid,
					       char ret[CLI_NAME_SIZE])
{
	const struct cli_config *config = call->session->device->store->running;

	if (vid == 1 && config->names[1][0] == '\0')
		return "DEFAULT_VLAN";
	(void)cli_vlan_name(config, vid, "VLAN", ret);
	if (config->names[vid][0] == '\0')
		(void)text_format(ret, CLI_NAME_SIZE, "VLAN%u", vid);
	return ret;
}

static void switch_cli_procurve_show_vlans(struct cli_call *call)
{
	char name[CLI_NAME_SIZE];

	text_addf(call->out,
		  "\n Status and Counters - VLAN Information\n\n"
		  "  Maximum VLANs to support : %-20u\n  Primary VLAN : DEFAULT_VLAN\n"
		  "  Management VLAN :             \n\n"
		  "  VLAN ID Name                             | Status     Voice Jumbo\n"
		  "  ------- -------------------------------- + ---------- ----- -----\n",
		  (unsigned)VLANS_MAX);
	for
		EACH_VLAN(vid, &call->session->device->store->running->vlans)
		{
			text_addf(call->out, "  %-7u %-32s | Port-based No    No   \n", vid,
				  switch_cli_procurve_name_of(call, vid, name));
		}
	text_add(call->out, " \n");
}

static void switch_cli_procurve_show_vlan(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;
	unsigned vid = call->values[0].number;
	struct cli_ports sets[2];
	char name[CLI_NAME_SIZE];

	if (!vlan_set_has(&store->running->vlans, vid)) {
		cli_say(call, CLI_SAYS_NO_VLAN, vid);
		return;
	}
	sets[0] = cli_members(store, vid, false);
	sets[1] = cli_members(store, vid, true);
	text_addf(call->out,
		  "\n Status and Counters - VLAN Information - VLAN %u\n\n  VLAN ID : %-6u\n"
		  "  Name : %-32s\n  Status : Port-based \n  Voice : No \n  Jumbo : No \n\n"
		  "  Port Information Mode     Unknown VLAN Status    \n"
		  "  ---------------- -------- ------------ ----------\n",
		  vid, vid, switch_cli_procurve_name_of(call, vid, name));
	for (unsigned number = 1; number <= store->port_count; number++) {
		bool tagged = cli_ports_has(&sets[1], number);

		if (tagged || cli_ports_has(&sets[0], number))
			text_addf(call->out, "  %-16u %-8s Learn        Up        \n", number,
				  tagged ? "Tagged" : "Untagged");
	}
	text_add(call->out, "\n");
}

static void switch_cli_procurve_mac_row(struct text *out, const char *mac, unsigned vid,
					const char *port)
{
	text_addf(out, "  %-17s %-31s %u\n", mac, port, vid);
}

static void switch_cli_procurve_show_macs(struct cli_call *call)
{
	text_add(call->out, "\n Status and Counters - Port Address Table\n\n"
			    "  MAC Address       Port                            VLAN\n"
			    "  ----------------- ------------------------------- ----\n");
	cli_each_mac(call, (struct cli_mac_style){3, '-', false, switch_cli_procurve_mac_row});
	text_add(call->out, "\n");
}

static void switch_cli_procurve_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(
		call->out,
		"\n LLDP Remote Devices Information\n\n"
		"  LocalPort | ChassisId          PortId             PortDescr SysName           \n"
		"  --------- + ------------------ ------------------ --------- ------------------\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char mac[20];

		text_addf(call->out, "  %-9u | %-18s %-18.18s %-9.9s %-18.18s\n", row->port,
			  cli_mac_text(row->chassis, 3, '-', mac), row->port_id, row->port_id,
			  row->system);
	}
	text_add(call->out, "\n");
}

static const struct cli_command switch_cli_procurve_commands[] = {
	{EX, "enable", cli_enable, 0, LOOK},
	{EX | EN, "exit|logout", switch_cli_procurve_logout, 0, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "no page", cli_pager_fixed, 0, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "page", cli_pager_fixed, 24, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "terminal length|width <number>", cli_nothing, 0, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show version", switch_cli_procurve_show_version, 0,
	 LOOK},
	{EN, "chassislocate blink|on", cli_led, CLI_LED_ON, LOOK},
	{EN, "chassislocate blink|on <number>", cli_led, CLI_LED_ON, LOOK},
	{EN, "chassislocate off", cli_led, 0, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show vlans", switch_cli_procurve_show_vlans, 0, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show vlans <vid>", switch_cli_procurve_show_vlan, 0,
	 LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show mac-address", switch_cli_procurve_show_macs, 0,
	 LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show mac-address vlan <vid>",
	 switch_cli_procurve_show_macs, 1, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show mac-address <port>",
	 switch_cli_procurve_show_macs, 2, LOOK},
	{EX | EN | SWITCH_CLI_PROCURVE_ALL, "show lldp info remote-device",
	 switch_cli_procurve_show_lldp, 0, LOOK},
	{EN | SWITCH_CLI_PROCURVE_ALL, "show running-config", cli_show_running, 0, LOOK},
	{EN | SWITCH_CLI_PROCURVE_ALL, "show config", cli_show_running, 1, LOOK},
	{EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EN | SWITCH_CLI_PROCURVE_ALL, "write memory", cli_save, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_PROCURVE_ALL, "exit", cli_exit, 0, LOOK},
	{CF, "mirror <number> port <port>", cli_mirror_target, CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "no mirror <number>", cli_mirror_close, 0, SWITCH_SPAN},
	/* first: with more words behind it a list of ports does not fit, a port does */
	{CF, "interface <ports>", cli_enter_ports, 0, LOOK},
	{CF, "interface <port> monitor all both mirror <number>", cli_mirror_source_first, 0,
	 SWITCH_SPAN},
	{CF, "no interface <port> monitor all both mirror <number>", cli_mirror_source_first,
	 CLI_MIRROR_NO, SWITCH_SPAN},
	{SWITCH_CLI_PROCURVE_ALL, "end", cli_end, 0, LOOK},
	{CF, "filter source-port <port> drop <ports>", set_filter, 0, SWITCH_FILTER},
	{CF, "no filter source-port <port>", set_filter, 0, SWITCH_FILTER},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vlan <vid>", switch_cli_procurve_enter_vlan, 0, SWITCH_CREATE},
	{CF, "vlan <vid> name <text>", vlan_name, 0, SWITCH_NAME},
	{CF, "vlan <vid> untagged <text>", vlan_members, SWITCH_CLI_PROCURVE_UNTAGGED,
	 SWITCH_UNTAGGED},
	{CF, "vlan <vid> tagged <text>", vlan_members, SWITCH_CLI_PROCURVE_TAGGED, SWITCH_EGRESS},
	{CF, "no vlan <vid>", switch_cli_procurve_no_vlan, 0, SWITCH_DELETE},
	{CF, "no vlan <vid> untagged <text>", vlan_members, SWITCH_CLI_PROCURVE_NO_UNTAGGED,
	 SWITCH_UNTAGGED},
	{CF, "no vlan <vid> tagged <text>", vlan_members, SWITCH_CLI_PROCURVE_NO_TAGGED,
	 SWITCH_EGRESS},
	{VL, "name <text>", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "no name", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "untagged <text>", switch_cli_procurve_members, SWITCH_CLI_PROCURVE_UNTAGGED,
	 SWITCH_UNTAGGED},
	{VL, "tagged <text>", switch_cli_procurve_members, SWITCH_CLI_PROCURVE_TAGGED,
	 SWITCH_EGRESS},
	{VL, "no untagged <text>", switch_cli_procurve_members, SWITCH_CLI_PROCURVE_NO_UNTAGGED,
	 SWITCH_UNTAGGED},
	{VL, "no tagged <text>", switch_cli_procurve_members, SWITCH_CLI_PROCURVE_NO_TAGGED,
	 SWITCH_EGRESS},
	{VL, "no ip address", cli_nothing, 0, LOOK},
	{PT, "name <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no name", cli_describe, 0, SWITCH_NAME},
	{PT, "untagged vlan <vid>", port_members, SWITCH_CLI_PROCURVE_UNTAGGED, SWITCH_UNTAGGED},
	{PT, "tagged vlan <vids>", port_members, SWITCH_CLI_PROCURVE_TAGGED, SWITCH_EGRESS},
	{PT, "no untagged vlan <vid>", port_members, SWITCH_CLI_PROCURVE_NO_UNTAGGED,
	 SWITCH_UNTAGGED},
	{PT, "no tagged vlan <vids>", port_members, SWITCH_CLI_PROCURVE_NO_TAGGED, SWITCH_EGRESS},
	{PT, "disable", cli_shut, 1, SWITCH_FILTER},
	{PT, "enable", cli_shut, 0, SWITCH_FILTER},
};

const struct cli_family cli_procurve = {
	.name = "procurve",
	.title = "HP ProCurve, Aruba AOS-S",
	.commands = switch_cli_procurve_commands,
	.command_count = COUNT_OF(switch_cli_procurve_commands),
	.naming = {"", "", "", 1, 1, "%s", "%s", NULL, NULL, NULL, NULL},
	.port = {.mode = CLI_MEMBER, .access = 1, .native = 1},
	.vid_high = 4094,
	.hostname = "HP-2530-24G",
	.login_text = "HP J9776A 2530-24G Switch\nSoftware revision YA.16.08.0001\n\n"
		      "(C) Copyright 2019 Hewlett Packard Enterprise Development LP\n\n"
		      "Press any key to continue",
	.login_key = true,
	.more = "-- MORE --, next page: Space, next line: Enter, quit: Control-C",
	.more_erase = "\r\033[K",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 5,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "VLAN {} does not exist.\n",
			[CLI_SAYS_RESERVED] = "Invalid value: {}\n",
			[CLI_SAYS_DEFAULT_VLAN] = "The default VLAN cannot be deleted.\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_LOCKED] = "Another session is configuring the switch.\n",
			[CLI_SAYS_REJECTED] = "Operation not allowed.\n",
			[CLI_SAYS_SAVED] = "",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}> ",
			[CLI_ENABLE] = "{h}# ",
			[CLI_CONFIG] = "{h}(config)# ",
			[CLI_VLAN] = "{h}(vlan-{l})# ",
			[CLI_PORT] = "{h}(eth-{l})# ",
		},
	.prompt_before = "\r\033[24;1H\033[2K\033[24;1H\033[1;24r\033[24;1H",
	.prompt_after = "\033[24;1H\033[24;13H\033[24;1H\033[?25h\033[24;13H",
	.complaints =
		{
			[CLI_INVALID] = "Invalid input: {w}\n",
			[CLI_RANGE] = "Invalid input: {w}\n",
			[CLI_TOO_MANY] = "Invalid input: {w}\n",
			[CLI_AMBIGUOUS] = "Ambiguous input: {w}\n",
			[CLI_INCOMPLETE] = "Incomplete input: {l}\n",
		},
	.running = switch_cli_procurve_running,
};
