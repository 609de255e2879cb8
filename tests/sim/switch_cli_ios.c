/* Cisco IOS and IOS-XE on Catalyst switches: "Catalyst 2960-X and 9300 Command Reference", VLAN and
 * Interface chapters. The switch is in VTP transparent mode, so its VLANs stand in the
 * configuration. A VLAN comes into being when its mode is left, as there. */
#include <string.h>

#include "tests/sim/switch_cli_common.h"
#include "tests/sim/switch_cli_flow.h"
#include "tests/sim/switch_cli_lag.h"
#include "tests/sim/switch_cli_mirror.h"

#define ALL (CF | VL | PT | SV)

/* --- configuring ----------------------------------------------------- */

/* A list is read by the command itself, which has an error of its own. */
static bool read_list(struct cli_call *call, struct vlan_set *ret)
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

	if (!read_list(call, &value.vids))
		return;
	value.number = vlan_set_next(&value.vids, 1);
	changed.values = &value;
	run(&changed);
}

static void vlan(struct cli_call *call)
{
	with_list(call, cli_enter_vlan);
}

static void no_vlan(struct cli_call *call)
{
	with_list(call, cli_delete_vlan);
}

static void allowed(struct cli_call *call)
{
	with_list(call, cli_allowed);
}

/* Names are unique on a switch. */
static void name(struct cli_call *call)
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

static void on_file_name(struct cli_session *session, const char *line, struct text *out)
{
	if (line[0] != '\0' && line[0] != 'y' && strcmp(line, "startup-config") != 0) {
		text_add(out, "%Error opening nvram: (No such file or directory)\n");
		return;
	}
	cli_keep(session);
	text_add(out, "Building configuration...\n[OK]\n");
}

static void copy(struct cli_call *call)
{
	cli_ask(call->session, call->out, "Destination filename [startup-config]? ", on_file_name);
}

/* --- the configuration as text --------------------------------------- */

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

static void write_port(const struct cli_session *session, const struct cli_port *port,
		       unsigned number, struct text *out)
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
	if (port->is_shut)
		text_add(out, " shutdown\n");
	if (port->lag)
		text_addf(out, " channel-group %u mode active\n", port->lag);
	text_add(out, "!\n");
}

static void write_vlans(const struct cli_config *config, struct text *out)
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

static void running(const struct cli_session *session, const struct cli_config *config,
		    const struct cli_ports *ports, struct text *out)
{
	const struct cli_store *store = session->device->store;
	struct text body = {0};

	if (!ports) {
		text_addf(&body, "!\nversion 15.2\n!\nhostname %s\n!\nvtp mode transparent\n!\n",
			  session->device->hostname);
		write_vlans(config, &body);
		cli_flow_write(config, &body);
	}
	for (unsigned lag = cli_lag_next(config, ports, 0); lag;
	     lag = cli_lag_next(config, ports, lag))
		write_port(session, &config->ports[lag], lag, &body);
	for (unsigned number = 1; number <= store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			write_port(session, &config->ports[number], number, &body);
	}
	if (!ports)
		cli_mirror_write(session, config, &body);
	text_addf(out, "%sCurrent configuration : %zu bytes\n%s%send\n\n",
		  config == store->running ? "Building configuration...\n\n" : "", body.size,
		  ports ? "!\n" : "", text_get(&body));
	text_done(&body);
}

/* --- showing --------------------------------------------------------- */

static void show_version(struct cli_call *call)
{
	text_addf(call->out,
		  "Cisco IOS Software, C2960X Software (C2960X-UNIVERSALK9-M), Version 15.2(7)E6, "
		  "RELEASE SOFTWARE (fc2)\nTechnical Support: http://www.cisco.com/techsupport\n\n"
		  "%s uptime is 1 day, 2 hours, 3 minutes\n"
		  "System image file is \"flash:/c2960x-universalk9-mz.152-7.E6.bin\"\n\n"
		  "cisco WS-C2960X-48TS-L (APM86XXX) processor (revision A0) with 524288K bytes of "
		  "memory.\nProcessor board ID FOC0000X000\n%u Gigabit Ethernet interfaces\n\n"
		  "Configuration register is 0xF\n\n",
		  call->session->device->hostname, call->session->device->store->port_count);
}

static void vlan_row(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	struct cli_ports ports = {{0}};
	char text[CLI_NAME_SIZE];

	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];

		if (port->mode == CLI_ACCESS && port->access == vid)
			cli_ports_add(&ports, number);
	}
	text_addf(call->out, "%-4u %-32s active    ", vid,
		  cli_vlan_name(store->running, vid, "VLAN{}", text));
	cli_list_ports(call->session, &ports, ", ", 4, 48, call->out);
	text_add(call->out, "\n");
}

static const char vlan_head[] =
	"\nVLAN Name                             Status    Ports\n"
	"---- -------------------------------- --------- -------------------------------\n";
static const char vlan_reserved[] = "1002 fddi-default                     act/unsup \n"
				    "1003 token-ring-default               act/unsup \n"
				    "1004 fddinet-default                  act/unsup \n"
				    "1005 trnet-default                    act/unsup \n";

/* `argument`: brief, without the second table. */
static void show_vlan(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;
	bool is_past = false;

	text_add(call->out, vlan_head);
	for
		EACH_VLAN(vid, vlans)
		{
			if (vid > 1005 && !is_past)
				text_add(call->out, vlan_reserved);
			is_past = vid > 1005;
			vlan_row(call, vid);
		}
	text_add(call->out, is_past ? "" : vlan_reserved);
	if (call->command->argument)
		return;
	text_add(
		call->out,
		"\nVLAN Type  SAID       MTU   Parent RingNo BridgeNo Stp  BrdgMode Trans1 Trans2\n"
		"---- ----- ---------- ----- ------ ------ -------- ---- -------- ------ ------\n");
	for
		EACH_VLAN(vid, vlans)
		{
			text_addf(
				call->out,
				"%-4u enet  %-10u 1500  -      -      -        -    -        0      0   \n",
				vid, 100000 + vid);
		}
	text_add(
		call->out,
		"\nRemote SPAN VLANs\n"
		"------------------------------------------------------------------------------\n\n\n"
		"Primary Secondary Type              Ports\n"
		"------- --------- ----------------- ------------------------------------------\n\n");
}

static void show_vlan_id(struct cli_call *call)
{
	unsigned vid = call->values[0].number;

	if (!vlan_set_has(&call->session->device->store->running->vlans, vid)) {
		text_addf(call->out, "VLAN id %u not found in current VLAN database\n", vid);
		return;
	}
	text_add(call->out, vlan_head);
	vlan_row(call, vid);
	text_add(call->out, "\n");
}

static void switchport(struct cli_call *call, unsigned number)
{
	const struct cli_store *store = call->session->device->store;
	const struct cli_port *port = cli_port_at(call->session, number);
	bool trunk = port->mode == CLI_TRUNK;
	char port_name[CLI_NAME_SIZE];
	char access[CLI_NAME_SIZE];
	char native[CLI_NAME_SIZE];
	struct text list = {0};

	text_addf(call->out, "Name: %s\n", cli_port_text(call->session, number, false, port_name));
	if (port->mode == CLI_OFF) {
		text_add(call->out, "Switchport: Disabled\n\n");
		return;
	}
	text_addf(call->out,
		  "Switchport: Enabled\nAdministrative Mode: %s\nOperational Mode: %s\n"
		  "Administrative Trunking Encapsulation: dot1q\n"
		  "Operational Trunking Encapsulation: %s\nNegotiation of Trunking: %s\n"
		  "Access Mode VLAN: %u (%s)\nTrunking Native Mode VLAN: %u (%s)\n"
		  "Administrative Native VLAN tagging: enabled\nVoice VLAN: none\n"
		  "Administrative private-vlan host-association: none \n"
		  "Administrative private-vlan mapping: none \n"
		  "Operational private-vlan: none\n",
		  trunk ? "trunk" : "static access",
		  port->is_shut ? "down"
		  : trunk       ? "trunk"
				: "static access",
		  trunk ? "dot1q" : "native", trunk ? "On" : "Off", port->access,
		  vlan_set_has(&store->running->vlans, port->access)
			  ? cli_vlan_name(store->running, port->access, "VLAN{}", access)
			  : "Inactive",
		  port->native,
		  vlan_set_has(&store->running->vlans, port->native)
			  ? cli_vlan_name(store->running, port->native, "VLAN{}", native)
			  : "Inactive");
	vlan_set_text(&port->allowed, &list);
	cli_wrap_list(call->out,
		      port->is_allowed_all ? "ALL"
		      : list.size > 0      ? text_get(&list)
					   : "NONE",
		      "Trunking VLANs Enabled: ", "     ", 79);
	text_add(call->out, "Pruning VLANs Enabled: 2-1001\nCapture Mode Disabled\n"
			    "Capture VLANs Allowed: ALL\n\nProtected: false\n"
			    "Unknown unicast blocked: disabled\n"
			    "Unknown multicast blocked: disabled\nAppliance trust: none\n\n");
	text_done(&list);
}

static void show_switchport(struct cli_call *call)
{
	for (unsigned number = 1; number <= call->session->device->store->port_count; number++)
		switchport(call, number);
}

static void show_switchport_port(struct cli_call *call)
{
	switchport(call, call->values[0].number);
}

/* Three of the four tables, of trunks only. */
static void show_trunk(struct cli_call *call)
{
	static const char *const heads[] = {
		"\nPort        Mode             Encapsulation  Status        Native vlan\n",
		"\nPort        Vlans allowed on trunk\n",
		"\nPort        Vlans allowed and active in management domain\n"};
	const struct cli_store *store = call->session->device->store;
	char port_name[CLI_NAME_SIZE];

	for (size_t table = 0; table < COUNT_OF(heads); table++) {
		text_add(call->out, heads[table]);
		for (unsigned number = 1; number <= store->port_count; number++) {
			const struct cli_port *port = &store->running->ports[number];
			struct vlan_set vids = port->allowed;
			struct text list = {0};

			if (port->mode != CLI_TRUNK || port->is_shut)
				continue;
			if (table == 2)
				vids = vlan_set_intersection(&vids, &store->running->vlans);
			vlan_set_text(&vids, &list);
			(void)cli_port_text(call->session, number, false, port_name);
			if (table == 0)
				text_addf(
					call->out,
					"%-11s on               802.1q         trunking      %u\n",
					port_name, port->native);
			else
				text_addf(call->out, "%-11s %s\n", port_name,
					  list.size > 0 ? text_get(&list) : "none");
			text_done(&list);
		}
	}
}

static void show_status(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 "\nPort      Name               Status       Vlan       Duplex  Speed Type\n");
	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];
		char port_name[CLI_NAME_SIZE];
		char vlan_text[16];

		(void)text_format(vlan_text, sizeof(vlan_text), "%u", port->access);
		text_addf(call->out, "%-9s %-18.18s %-12s %-10s a-full a-1000 10/100/1000BaseTX\n",
			  cli_port_text(call->session, number, false, port_name), port->description,
			  port->is_shut ? "disabled" : "connected",
			  port->mode == CLI_TRUNK ? "trunk"
			  : port->mode == CLI_OFF ? "routed"
						  : vlan_text);
	}
}

static void show_macs(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	const struct cli_value *value = call->values;
	unsigned total = 0;

	cli_store_learn(store);
	text_add(call->out, "          Mac Address Table\n"
			    "-------------------------------------------\n\n"
			    "Vlan    Mac Address       Type        Ports\n"
			    "----    -----------       --------    -----\n");
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		char mac[20];
		char port_name[CLI_NAME_SIZE];

		if ((call->command->argument == 1 && row->vid != value->number) ||
		    (call->command->argument == 2 && row->port != value->number))
			continue;
		text_addf(call->out, "%4u    %s    DYNAMIC     %s\n", row->vid,
			  cli_mac_text(row->mac, 2, '.', mac),
			  cli_port_text(call->session, row->port, false, port_name));
		total++;
	}
	text_addf(call->out, "Total Mac Addresses for this criterion: %u\n", total);
}

static void show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 "Capability codes:\n"
		 "    (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n"
		 "    (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n\n"
		 "Device ID           Local Intf     Hold-time  Capability      Port ID\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char port_name[CLI_NAME_SIZE];

		text_addf(call->out, "%-19.19s %-14s 120        B               %s\n", row->system,
			  cli_port_text(call->session, row->port, false, port_name), row->port_id);
	}
	text_addf(call->out, "\nTotal entries displayed: %zu\n\n", store->neighbor_count);
}

static void show_lldp_detail(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char port_name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(call->out,
			  "------------------------------------------------\nLocal Intf: %s\n"
			  "Chassis id: %s\nPort id: %s\nPort Description: %s\nSystem Name: %s\n\n"
			  "System Description: \n%s\n\nTime remaining: 104 seconds\n"
			  "System Capabilities: B\nEnabled Capabilities: B\n"
			  "Management Addresses - not advertised\n"
			  "Auto Negotiation - not supported\n"
			  "Physical media capabilities - not advertised\n"
			  "Media Attachment Unit type - not advertised\n"
			  "Vlan ID: - not advertised\n\n",
			  cli_port_text(call->session, row->port, false, port_name),
			  cli_mac_text(row->chassis, 2, '.', mac), row->port_id, row->port_id,
			  row->system, row->system);
	}
	text_addf(call->out, "\nTotal entries displayed: %zu\n\n", store->neighbor_count);
}

static const struct cli_command commands[] = {
	{EX | EN, "enable", cli_enable, 0, LOOK},
	{EX | EN, "disable", cli_disable, 0, LOOK},
	{EX | EN, "exit|logout|quit", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "terminal no monitor", cli_nothing, 0, LOOK},
	{EX | EN, "show version", show_version, 0, LOOK},
	/* Catalyst 9000, 16.9 and later. */
	{EN, "hw-module beacon slot <number> on", cli_led, CLI_LED_ON, LOOK},
	{EN, "hw-module beacon slot <number> off", cli_led, 0, LOOK},
	{EX | EN, "show vlan", show_vlan, 0, LOOK},
	{EX | EN, "show vlan brief", show_vlan, 1, LOOK},
	{EX | EN, "show vlan id <vid>", show_vlan_id, 0, LOOK},
	{EX | EN, "show interfaces switchport", show_switchport, 0, LOOK},
	{EX | EN, "show interfaces status", show_status, 0, LOOK},
	{EX | EN, "show interfaces trunk", show_trunk, 0, LOOK},
	{EX | EN, "show interfaces <port> switchport", show_switchport_port, 0, LOOK},
	{EX | EN, "show mac address-table [dynamic]", show_macs, 0, LOOK},
	{EX | EN, "show mac address-table vlan <vid>", show_macs, 1, LOOK},
	{EX | EN, "show mac address-table interface <port>", show_macs, 2, LOOK},
	{EX | EN, "show mac address-table dynamic vlan <vid>", show_macs, 1, LOOK},
	{EX | EN, "show mac address-table dynamic interface <port>", show_macs, 2, LOOK},
	{EX | EN, "show lldp neighbors", show_lldp, 0, LOOK},
	{EX | EN, "show lldp neighbors detail", show_lldp_detail, 0, LOOK},
	{EN, "show running-config", cli_show_running, 0, LOOK},
	{EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EN, "show startup-config", cli_show_running, 1, LOOK},
	{EN, "configure [terminal]", cli_enter_config, 0, LOOK},
	{EN, "write [memory]", cli_save, 0, SWITCH_SAVE},
	{EN, "copy running-config startup-config", copy, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{ALL, "exit", cli_exit, 0, LOOK},
	{ALL, "end", cli_end, 0, LOOK},
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
	{ALL, "do <text>", cli_do_exec, 0, LOOK},
	{CF, "hostname <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "vtp mode transparent|server|off", cli_nothing, 0, LOOK},
	{CF, "lldp run", cli_nothing, 0, LOOK},
	{CF, "vlan <word>", vlan, 0, SWITCH_CREATE},
	{CF, "no vlan <word>", no_vlan, 0, SWITCH_DELETE},
	{CF, "interface vlan <vid>", cli_enter_svi, 0, LOOK},
	{CF, "interface range <ports>", cli_enter_ports, 0, LOOK},
	{CF, "interface <port>", cli_enter_ports, 0, LOOK},
	{CF, "default interface <port>", default_port, 0, SWITCH_PVID},
	{VL, "name <word>", name, 0, SWITCH_NAME},
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
	{PT, "switchport trunk encapsulation dot1q", cli_nothing, 0, LOOK},
	{PT, "switchport access vlan <vid>", cli_access, 0, SWITCH_PVID},
	{PT, "no switchport access vlan", cli_access, 0, SWITCH_PVID},
	{PT, "switchport trunk native vlan <vid>", cli_native, 0, SWITCH_PVID},
	{PT, "no switchport trunk native vlan", cli_native, 0, SWITCH_PVID},
	{PT, "switchport trunk allowed vlan add <word>", allowed, CLI_LIST_ADD, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan remove <word>", allowed, CLI_LIST_REMOVE,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan except <word>", allowed, CLI_LIST_EXCEPT,
	 SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan all", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan none", cli_allowed, CLI_LIST_NONE, SWITCH_EGRESS},
	{PT, "switchport trunk allowed vlan <word>", allowed, CLI_LIST_SET, SWITCH_EGRESS},
	{PT, "no switchport trunk allowed vlan", cli_allowed, CLI_LIST_ALL, SWITCH_EGRESS},
	{PT, "spanning-tree portfast [trunk|edge]", cli_nothing, 0, LOOK},
};

const struct cli_family cli_ios = {
	.name = "ios",
	.title = "Cisco IOS, IOS-XE",
	.commands = commands,
	.command_count = COUNT_OF(commands),
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
	.running = running,
};
