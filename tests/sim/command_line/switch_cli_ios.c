/* Cisco IOS and IOS-XE on Catalyst switches: "Catalyst 2960-X and 9300 Command Reference", VLAN and
 * Interface chapters. The switch is in VTP transparent mode, so its VLANs stand in the
 * configuration. A VLAN comes into being when its mode is left, as there. */
#include "tests/sim/command_line/switch_cli_ios.h"

#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_flow.h"
#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_IOS_ALL (CF | VL | PT | SV)

/* --- configuring --- */

/* A list is read by the command itself, which has an error of its own. */
static bool switch_cli_ios_read_list(struct cli_call *call, struct vlan_set *ret)
{
	const char *text = call->values[0].text;

	if (vlan_set_parse(text, ret) == 0 && !vlan_set_is_empty(ret))
		return true;
	text_addf(call->out,
		  "Command rejected: Bad VLAN list - character #%zu (EOL) delimits a VLAN\n"
		  " number which is out of the range 1..4094.\n",
		  strlen(text) + 1);
	return false;
}

static void with_list(struct cli_call *call, void (*run)(struct cli_call *))
{
	struct cli_value value = call->values[0];
	struct cli_call changed = *call;

	if (!switch_cli_ios_read_list(call, &value.vids))
		return;
	value.number = vlan_set_next(&value.vids, 1);
	changed.values = &value;
	run(&changed);
}

static void switch_cli_ios_vlan(struct cli_call *call)
{
	with_list(call, cli_enter_vlan);
}

static void switch_cli_ios_no_vlan(struct cli_call *call)
{
	with_list(call, cli_delete_vlan);
}

static void switch_cli_ios_allowed(struct cli_call *call)
{
	with_list(call, cli_allowed);
}

/* Names are unique on a switch. */
static void switch_cli_ios_name(struct cli_call *call)
{
	const struct cli_config *running = call->session->device->store->running;
	const char *wanted = call->values[0].text;
	unsigned mine = vlan_set_next(&call->session->vids, 1);

	if (strlen(wanted) > 32) {
		text_add(call->out, "%VLAN name is too long, truncated to 32 characters\n");
		return;
	}
	for
		EACH_VLAN(vid, &running->vlans)
		{
			if (vid != mine && strcmp(running->names[vid], wanted) == 0) {
				text_addf(call->out,
					  "VLAN #%u and #%u have an identical name: %s\n", vid,
					  mine, wanted);
				return;
			}
		}
	cli_name_vlan(call);
}

static void default_port(struct cli_call *call)
{
	for
		EACH_PORT(port, &call->values[0].ports)
		{
			*cli_port_at(call->session, port) =
				cli_port_new(&call->session->device->family->port);
		}
	text_addf(call->out, "Interface %s set to default configuration\n", call->values[0].text);
}

static void switch_cli_ios_on_file_name(struct cli_session *session, const char *line,
					struct text *out)
{
	if (line[0] != '\0' && line[0] != 'y' && strcmp(line, "startup-config") != 0) {
		text_add(out, "%Error opening nvram: (No such file or directory)\n");
		return;
	}
	cli_keep(session);
	text_add(out, "Building configuration...\n[OK]\n");
}

static void switch_cli_ios_copy(struct cli_call *call)
{
	cli_ask(call->session, call->out, "Destination filename [startup-config]? ",
		switch_cli_ios_on_file_name);
}

/* --- the configuration as text --- */

static void write_allowed(const struct cli_port *port, struct text *out)
{
	struct text list = {0};

	if (port->is_allowed_all)
		return;
	vlan_set_text(&port->allowed, &list);
	cli_wrap_list(out, list.size > 0 ? text_get(&list) : "none",
		      " switchport trunk allowed vlan ", " switchport trunk allowed vlan add ",
		      110);
	text_done(&list);
}

static void switch_cli_ios_write_port(const struct cli_session *session,
				      const struct cli_port *port, unsigned number,
				      struct text *out)
{
	char port_name[CLI_NAME_SIZE];

	text_addf(out, "interface %s\n", cli_port_text(session, number, true, port_name));
	if (port->description[0] != '\0')
		text_addf(out, " description %s\n", port->description);
	if (port->mode == CLI_OFF)
		text_add(out, " no switchport\n");
	if (port->access != 1)
		text_addf(out, " switchport access vlan %u\n", port->access);
	if (port->native != 1)
		text_addf(out, " switchport trunk native vlan %u\n", port->native);
	write_allowed(port, out);
	if (port->flow[0] != '\0')
		text_addf(out, " ip flow monitor %s input\n", port->flow);
	if (port->mode == CLI_TRUNK)
		text_add(out, " switchport mode trunk\n");
	if (port->mode == CLI_ACCESS)
		text_add(out, " switchport mode access\n");
	if (port->apart)
		text_add(out, " switchport protected\n");
	if (port->is_shut)
		text_add(out, " shutdown\n");
	if (port->lag)
		text_addf(out, " channel-group %u mode active\n", port->lag);
	text_add(out, "!\n");
}

static void switch_cli_ios_write_vlans(const struct cli_config *config, struct text *out)
{
	struct vlan_set nameless = config->vlans;
	struct text list = {0};

	vlan_set_remove(&nameless, 1);
	for
		EACH_VLAN(vid, &config->vlans)
		{
			if (config->names[vid][0] == '\0')
				continue;
			vlan_set_remove(&nameless, vid);
			text_addf(out, "vlan %u\n name %s\n!\n", vid, config->names[vid]);
		}
	vlan_set_text(&nameless, &list);
	if (list.size > 0)
		text_addf(out, "vlan %s \n!\n", text_get(&list));
	text_done(&list);
}

static void switch_cli_ios_running(const struct cli_session *session,
				   const struct cli_config *config, const struct cli_ports *ports,
				   struct text *out)
{
	const struct cli_store *store = session->device->store;
	struct text body = {0};

	if (!ports) {
		text_addf(&body, "!\nversion 15.2\n!\nhostname %s\n!\nvtp mode transparent\n!\n",
			  session->device->hostname);
		switch_cli_ios_write_vlans(config, &body);
		cli_flow_write(config, &body);
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		switch_cli_ios_write_port(session, &config->ports[lag], lag, &body);
	for (unsigned number = 1; number <= store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_ios_write_port(session, &config->ports[number], number, &body);
	}
	if (!ports)
		cli_mirror_write(session, config, &body);
	text_addf(out, "%sCurrent configuration : %zu bytes\n%s%send\n\n",
		  config == store->running ? "Building configuration...\n\n" : "", body.size,
		  ports ? "!\n" : "", text_get(&body));
	text_done(&body);
}

static const struct cli_command switch_cli_ios_commands[] = {
	{EX | EN, "enable", cli_enable, 0, LOOK},
	{EX | EN, "disable", cli_disable, 0, LOOK},
	{EX | EN, "exit|logout|quit", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "terminal no monitor", cli_nothing, 0, LOOK},
	{EX | EN, "show version", ios_show_version, 0, LOOK},
	/* Catalyst 9000, 16.9 and later. */
	{EN, "hw-module beacon slot <number> on", cli_led, CLI_LED_ON, LOOK},
	{EN, "hw-module beacon slot <number> off", cli_led, 0, LOOK},
	{EX | EN, "show vlan", ios_show_vlan, 0, LOOK},
	{EX | EN, "show vlan brief", ios_show_vlan, 1, LOOK},
	{EX | EN, "show vlan id <vid>", ios_show_vlan_id, 0, LOOK},
	{EX | EN, "show interfaces switchport", ios_show_switchport, 0, LOOK},
	{EX | EN, "show interfaces status", ios_show_status, 0, LOOK},
	{EX | EN, "show interfaces trunk", ios_show_trunk, 0, LOOK},
	{EX | EN, "show interfaces <port> switchport", ios_show_switchport_port, 0, LOOK},
	{EX | EN, "show mac address-table [dynamic]", ios_show_macs, 0, LOOK},
	{EX | EN, "show mac address-table vlan <vid>", ios_show_macs, 1, LOOK},
	{EX | EN, "show mac address-table interface <port>", ios_show_macs, 2, LOOK},
	{EX | EN, "show mac address-table dynamic vlan <vid>", ios_show_macs, 1, LOOK},
	{EX | EN, "show mac address-table dynamic interface <port>", ios_show_macs, 2, LOOK},
	{EX | EN, "show lldp neighbors", ios_show_lldp, 0, LOOK},
	{EX | EN, "show lldp neighbors detail", ios_show_lldp_detail, 0, LOOK},
	{EN, "show running-config", cli_show_running, 0, LOOK},
	{EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EN, "show startup-config", cli_show_running, 1, LOOK},
	{EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EN, "write [memory]", cli_save, 0, SWITCH_SAVE},
	{EN, "copy running-config startup-config", switch_cli_ios_copy, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_IOS_ALL, "exit", cli_exit, 0, LOOK},
	{SWITCH_CLI_IOS_ALL, "end", cli_end, 0, LOOK},
	{CF, "monitor session <number> source interface <port> [both|rx|tx]", cli_mirror_source,
	 CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "no monitor session <number> source interface <port> [both|rx|tx]", cli_mirror_source,
	 CLI_MIRROR_LINE | CLI_MIRROR_NO, SWITCH_SPAN},
	{CF, "monitor session <number> destination interface <port>", cli_mirror_target,
	 CLI_MIRROR_LINE, SWITCH_SPAN},
	{CF, "no monitor session <number>", cli_mirror_close, 0, SWITCH_SPAN},
	{CF, "monitor session <number> type erspan-source", cli_erspan_enter, 0, SWITCH_SPAN},
	{MI, "source interface <port> [both|rx|tx]", cli_mirror_source, 0, SWITCH_SPAN},
	{MI, "no source interface <port> [both|rx|tx]", cli_mirror_source, CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{MI, "no shutdown", cli_mirror_on, 0, SWITCH_SPAN},
	{MI, "destination", cli_erspan_below, 0, SWITCH_SPAN},
	{MT, "erspan-id <number>", cli_erspan_set, CLI_ERSPAN_ID, SWITCH_SPAN},
	{MT, "ip address <word>", cli_erspan_set, CLI_ERSPAN_TO, SWITCH_SPAN},
	{MT, "origin ip address <word>", cli_erspan_set, CLI_ERSPAN_FROM, SWITCH_SPAN},
	{MI, "exit", cli_exit, 0, LOOK},
	{MT, "exit", cli_erspan_above, 0, LOOK},
	{MI | MT, "end", cli_end, 0, LOOK},
	{CF | FL, "flow record <word>", cli_flow_enter, CLI_FLOW_RECORD, SWITCH_FILTER},
	{CF | FL, "flow exporter <word>", cli_flow_enter, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{CF | FL, "flow monitor <word>", cli_flow_enter, CLI_FLOW_MONITOR, SWITCH_FILTER},
	{CF, "sampler <word>", cli_flow_enter, CLI_FLOW_SAMPLER, SWITCH_FILTER},
	{CF, "no flow record <word>", cli_flow_drop, CLI_FLOW_RECORD, SWITCH_FILTER},
	{CF, "no flow exporter <word>", cli_flow_drop, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{CF, "no flow monitor <word>", cli_flow_drop, CLI_FLOW_MONITOR, SWITCH_FILTER},
	{CF, "no sampler <word>", cli_flow_drop, CLI_FLOW_SAMPLER, SWITCH_FILTER},
	{FL, "match <text>", cli_flow_line, CLI_FLOW_RECORD | CLI_FLOW_MANY, SWITCH_FILTER},
	{FL, "collect <text>", cli_flow_line, CLI_FLOW_RECORD | CLI_FLOW_MANY, SWITCH_FILTER},
	{FL, "destination <word>", cli_flow_line, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{FL, "transport udp <number>", cli_flow_line, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{FL, "export-protocol ipfix", cli_flow_line, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{FL, "template data timeout <number>", cli_flow_line, CLI_FLOW_EXPORTER, SWITCH_FILTER},
	{FL, "option sampler-table timeout <number>", cli_flow_line, CLI_FLOW_EXPORTER,
	 SWITCH_FILTER},
	{FL, "exporter <word>", cli_flow_line, CLI_FLOW_MONITOR, SWITCH_FILTER},
	{FL, "cache timeout active <number>", cli_flow_line, CLI_FLOW_MONITOR, SWITCH_FILTER},
	{FL, "record <word>", cli_flow_line, CLI_FLOW_MONITOR, SWITCH_FILTER},
	{FL, "mode random 1 out-of <number>", cli_flow_line, CLI_FLOW_SAMPLER, SWITCH_FILTER},
	{FL, "exit", cli_exit, 0, LOOK},
	{FL, "end", cli_end, 0, LOOK},
	{PT, "ip flow monitor <word> sampler <word> input", cli_flow_port, 1, SWITCH_FILTER},
	{PT, "no ip flow monitor <word> sampler <word> input", cli_flow_port, 0, SWITCH_FILTER},
	{SWITCH_CLI_IOS_ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vtp mode transparent|server|off", cli_nothing, 0, LOOK},
	{CF, "lldp run", cli_nothing, 0, LOOK},
	{CF, "vlan <word>", switch_cli_ios_vlan, 0, SWITCH_CREATE},
	{CF, "no vlan <word>", switch_cli_ios_no_vlan, 0, SWITCH_DELETE},
	{CF, "interface vlan <vid>", cli_enter_svi, 0, LOOK},
	{CF, "interface range <ports>", cli_enter_ports, 0, LOOK},
	{CF, "interface <port>", cli_enter_ports, 0, LOOK},
	{CF, "default interface <port>", default_port, 0, SWITCH_PVID},
	{VL, "name <word>", switch_cli_ios_name, 0, SWITCH_NAME},
	{VL, "no name", cli_name_vlan, 0, SWITCH_NAME},
	{VL, "state active|suspend", cli_nothing, 0, LOOK},
	{VL, "no shutdown", cli_nothing, 0, LOOK},
	{PT | SV, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT | SV, "no description", cli_describe, 0, SWITCH_NAME},
	{PT | SV, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT | SV, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{CF, "no interface <port>", cli_lag_delete, 0, SWITCH_BUNDLE},
	{PT, "channel-group <number> mode active|passive", cli_lag_join, 0, SWITCH_BUNDLE},
	{PT, "no channel-group", cli_lag_leave, 0, SWITCH_BUNDLE},
	{PT, "switchport", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "no switchport", cli_port_mode, CLI_OFF, SWITCH_FRAMES},
	{PT, "switchport mode access", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport mode trunk", cli_port_mode, CLI_TRUNK, SWITCH_FRAMES},
	{PT, "no switchport mode", cli_port_mode, CLI_ACCESS, SWITCH_FRAMES},
	{PT, "switchport nonegotiate", cli_nothing, 0, LOOK},
	{PT, "switchport protected", cli_apart, 1, SWITCH_FILTER},
	{PT, "no switchport protected", cli_apart, 0, SWITCH_FILTER},
	{PT, "switchport trunk encapsulation dot1q", cli_nothing, 0, LOOK},
	{PT, "switchport access vlan <vid>", cli_access, 0, SWITCH_PVID},
	{PT, "no switchport access vlan", cli_access, 0, SWITCH_PVID},
	{PT, "switchport trunk native vlan <vid>", cli_native, 0, SWITCH_PVID},
	{PT, "no switchport trunk native vlan", cli_native, 0, SWITCH_PVID},
	{PT, "switchport trunk allowed vlan add <word>", switch_cli_ios_allowed, CLI_LIST_ADD,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan remove <word>", switch_cli_ios_allowed, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan except <word>", switch_cli_ios_allowed, CLI_LIST_EXCEPT,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan all", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan none", cli_allowed, CLI_LIST_NONE, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan <word>", switch_cli_ios_allowed, CLI_LIST_SET,
	 SWITCH_EGRESS},
	{PT, "no switchport trunk allowed vlan", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "spanning-tree portfast [trunk|edge]", cli_nothing, 0, LOOK},
};

const struct cli_family cli_ios = {
	.name = "ios",
	.title = "Cisco IOS, IOS-XE",
	.commands = switch_cli_ios_commands,
	.command_count = COUNT_OF(switch_cli_ios_commands),
	.naming = {"GigabitEthernet", "Gi", "1/0/", 1, 1, "Gi%s", "GigabitEthernet%s",
		   "Port-channel", "Po", "Po%s", "Port-channel%s"},
	.port = {.mode = CLI_ACCESS, .access = 1, .native = 1, .is_allowed_all = true},
	.vid_high = 4094,
	.reserved_low = 1002,
	.reserved_high = 1005,
	.hostname = "Switch",
	.login_text = "\n",
	.more = " --More-- ",
	.more_erase = "\b\b\b\b\b\b\b\b\b\b          \b\b\b\b\b\b\b\b\b\b",
	.more_quit = "qQ\003",
	.pager = 24,
	.vlan_on_exit = true,
	.unknown_access = CLI_UNKNOWN_MADE,
	.unknown_listed = CLI_UNKNOWN_TAKEN,
	.sessions = 16,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "% VLAN {} does not exist.\n",
			[CLI_SAYS_RESERVED] =
				"Command rejected: VLAN {} is reserved for FDDI, Token Ring.\n",
			[CLI_SAYS_DEFAULT_VLAN] = "%Default VLAN {} may not be deleted.\n",
			[CLI_SAYS_CREATING] = "% Access VLAN does not exist. Creating vlan {}\n",
			[CLI_SAYS_LOCKED] =
				"Configuration mode is locked by process '42' user 'someone' from terminal '3'. Please try later.\n",
			[CLI_SAYS_REJECTED] = "Command rejected: not allowed on this interface.\n",
			[CLI_SAYS_SAVED] = "Building configuration...\n[OK]\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}>",
			[CLI_ENABLE] = "{h}#",
			[CLI_CONFIG] = "{h}(config)#",
			[CLI_FLOW_MODE] = "{h}(config-flow)#",
			[CLI_MIRROR] = "{h}(config-mon-erspan-src)#",
			[CLI_MIRROR_TO] = "{h}(config-mon-erspan-src-dst)#",
			[CLI_VLAN] = "{h}(config-vlan)#",
			[CLI_PORT] = "{h}(config-if{d})#",
			[CLI_SVI] = "{h}(config-if)#",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_RANGE] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_TOO_MANY] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_AMBIGUOUS] = "% Ambiguous command:  \"{l}\"\n",
			[CLI_INCOMPLETE] = "% Incomplete command.\n\n",
		},
	.has_caret = true,
	.configure_text = "Enter configuration commands, one per line.  End with CNTL/Z.\n",
	.running = switch_cli_ios_running,
};
