/* What an IOS shows: as the commands of switch_cli_ios.c print it. */
#include "tests/sim/command_line/switch_cli_ios.h"

void ios_show_version(struct cli_call *call)
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

static void switch_cli_ios_show_vlan_row(struct cli_call *call, unsigned vid)
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

static const char switch_cli_ios_show_vlan_head[] =
	"\nVLAN Name                             Status    Ports\n"
	"---- -------------------------------- --------- -------------------------------\n";
static const char vlan_reserved[] = "1002 fddi-default                     act/unsup \n"
				    "1003 token-ring-default               act/unsup \n"
				    "1004 fddinet-default                  act/unsup \n"
				    "1005 trnet-default                    act/unsup \n";

/* `argument`: brief, without the second table. */
void ios_show_vlan(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;
	bool is_past = false;

	text_add(call->out, switch_cli_ios_show_vlan_head);
	for
		EACH_VLAN(vid, vlans)
		{
			if (vid > 1005 && !is_past)
				text_add(call->out, vlan_reserved);
			is_past = vid > 1005;
			switch_cli_ios_show_vlan_row(call, vid);
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

void ios_show_vlan_id(struct cli_call *call)
{
	unsigned vid = call->values[0].number;

	if (!vlan_set_has(&call->session->device->store->running->vlans, vid)) {
		text_addf(call->out, "VLAN id %u not found in current VLAN database\n", vid);
		return;
	}
	text_add(call->out, switch_cli_ios_show_vlan_head);
	switch_cli_ios_show_vlan_row(call, vid);
	text_add(call->out, "\n");
}

static void switch_cli_ios_show_switchport(struct cli_call *call, unsigned number)
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

void ios_show_switchport(struct cli_call *call)
{
	for (unsigned number = 1; number <= call->session->device->store->port_count; number++)
		switch_cli_ios_show_switchport(call, number);
}

void ios_show_switchport_port(struct cli_call *call)
{
	switch_cli_ios_show_switchport(call, call->values[0].number);
}

/* Three of the four tables, of trunks only. */
void ios_show_trunk(struct cli_call *call)
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

void ios_show_status(struct cli_call *call)
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

void ios_show_macs(struct cli_call *call)
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

void ios_show_lldp(struct cli_call *call)
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

void ios_show_lldp_detail(struct cli_call *call)
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
