/* Edgecore ECS: "ECS4620-28T CLI Reference Guide", VLAN Commands, File Management, and what the
 * switch's own software says and checks as its maker published it (AOS: vlan_mgr, cli_api_vlan). A
 * port has an untagged list, a tagged one and a PVID; the mode decides which of them it may have.
 * Not every release is as strict: this one wants a VLAN to exist and the PVID to be a member. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_mirror.h"

#define SWITCH_CLI_ECS_ALL (CF | PT | DB | SV)

static void switch_cli_ecs_failed(struct cli_call *call, const char *what, unsigned number)
{
	text_addf(call->out, "Failed to %s on ethernet 1/%u\n", what, number);
}

/* --- VLANs --- */

static void switch_cli_ecs_database(struct cli_call *call)
{
	cli_leave(call->session, CLI_DATABASE);
}

static void switch_cli_ecs_add_vlans(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	bool several = strpbrk(call->values[0].text, ",-") != NULL;
	const char *name = call->command->argument ? call->values[1].text : NULL;

	if (several && name) {
		text_add(call->out, "Not allow to set the same name for multiple VLANs.\n");
		return;
	}
	for
		EACH_VLAN(vid, &call->values[0].vids)
		{
			if (!vlan_set_has(&store->running->vlans, vid))
				cli_store_create(store, vid, "");
			if (name)
				(void)text_copy(store->running->names[vid],
						sizeof(store->running->names[vid]), name);
		}
}

/* A port of no VLAN at all goes back into VLAN 1. False where its mode does not let it. */
static bool adopt_orphan(struct cli_port *port)
{
	if (!vlan_set_is_empty(&port->allowed) || !vlan_set_is_empty(&port->untagged))
		return true;
	if (port->link == CLI_LINK_TRUNK)
		return false;
	vlan_set_add(&port->untagged, 1);
	if (port->link == CLI_LINK_ACCESS)
		port->native = 1;
	return true;
}

static bool switch_cli_ecs_is_member(const struct cli_port *port, unsigned vid)
{
	return vlan_set_has(&port->allowed, vid) || vlan_set_has(&port->untagged, vid);
}

static bool is_removable(const struct cli_store *store, unsigned vid)
{
	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];

		if (port->native == vid && switch_cli_ecs_is_member(port, vid))
			return false;
	}
	return vid != 1;
}

static void switch_cli_ecs_no_vlan(struct cli_call *call)
{
	struct cli_store *store = call->session->device->store;
	bool several = strpbrk(call->values[0].text, ",-") != NULL;

	for
		EACH_VLAN(vid, &call->values[0].vids)
		{
			if (!vlan_set_has(&store->running->vlans, vid))
				continue;
			if (!is_removable(store, vid)) {
				text_addf(call->out,
					  several ? "Operation aborted: failed to remove VLAN %u\n"
						  : "Failed to remove VLAN %u\n",
					  vid);
				return;
			}
			vlan_set_remove(&store->running->vlans, vid);
			store->running->names[vid][0] = '\0';
			for (unsigned number = 1; number <= store->port_count; number++) {
				struct cli_port *port = &store->running->ports[number];

				vlan_set_remove(&port->allowed, vid);
				vlan_set_remove(&port->untagged, vid);
				(void)adopt_orphan(port);
			}
		}
}

/* Without a value: the name goes. */
static void no_name(struct cli_call *call)
{
	struct cli_config *running = call->session->device->store->running;
	unsigned vid = call->values[0].number;

	if (!vlan_set_has(&running->vlans, vid))
		text_addf(call->out, "No such VLAN %u\n", vid);
	else
		running->names[vid][0] = '\0';
}

/* --- ports --- */

static void join_untagged(struct cli_call *call, unsigned number, unsigned vid)
{
	struct cli_port *port = cli_port_at(call->session, number);

	if (port->link == CLI_LINK_TRUNK) {
		switch_cli_ecs_failed(call, "join untagged list", number);
		return;
	}
	if (port->link == CLI_LINK_ACCESS) { /* one untagged VLAN, which is its PVID */
		port->untagged = (struct vlan_set){{0}};
		port->native = (uint16_t)vid;
	}
	vlan_set_add(&port->untagged, vid);
	vlan_set_remove(&port->allowed, vid);
}

static void join_tagged(struct cli_call *call, unsigned number, unsigned vid)
{
	struct cli_port *port = cli_port_at(call->session, number);

	if (port->link == CLI_LINK_ACCESS) {
		switch_cli_ecs_failed(call, "join egress list", number);
	} else if (vlan_set_has(&port->untagged, vid) && port->native == vid) {
		switch_cli_ecs_failed(call, "remove untagged list", number);
	} else {
		vlan_set_remove(&port->untagged, vid);
		vlan_set_add(&port->allowed, vid);
	}
}

static void switch_cli_ecs_leave_vlan(struct cli_call *call, unsigned number, unsigned vid)
{
	struct cli_port *port = cli_port_at(call->session, number);

	if (!switch_cli_ecs_is_member(port, vid))
		return;
	if (port->link != CLI_LINK_TRUNK && port->native == vid) {
		switch_cli_ecs_failed(call, "remove from egress list", number);
		return;
	}
	vlan_set_remove(&port->allowed, vid);
	vlan_set_remove(&port->untagged, vid);
	if (!adopt_orphan(port))
		switch_cli_ecs_failed(call, "remove from egress list", number);
}

/* `argument`: which of the three. Each VLAN and each port for itself: what fails is told, the rest
 * is done. */
enum { JOIN_UNTAGGED, JOIN_TAGGED, LEAVE };
static void switch_cli_ecs_change_list(struct cli_call *call)
{
	static void (*const run[])(struct cli_call *, unsigned,
				   unsigned) = {[JOIN_UNTAGGED] = join_untagged,
						[JOIN_TAGGED] = join_tagged,
						[LEAVE] = switch_cli_ecs_leave_vlan};
	const struct cli_store *store = call->session->device->store;

	for
		EACH_PORT(number, &call->session->ports)
		for
			EACH_VLAN(vid, &call->values[0].vids)
			{
				if (vlan_set_has(&store->running->vlans, vid))
					run[call->command->argument](call, number, vid);
				else
					cli_say(call, CLI_SAYS_NO_VLAN, vid);
			}
}

/* `no switchport allowed vlan`: untagged in VLAN 1 and in no other. */
static void reset_list(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			if (port->link != CLI_LINK_TRUNK)
				join_untagged(call, number, 1);
			for (unsigned vid = 2; vid <= VLAN_LAST; vid++)
				switch_cli_ecs_leave_vlan(call, number, vid);
		}
}

static void switch_cli_ecs_native(struct cli_call *call)
{
	unsigned vid = call->values[0].number ? call->values[0].number : 1;

	if (!vlan_set_has(&call->session->device->store->running->vlans, vid)) {
		text_add(call->out, "No such VLAN.\n");
		return;
	}
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);
			const struct vlan_set *in =
				port->link == CLI_LINK_TRUNK ? &port->allowed : &port->untagged;

			if (vlan_set_has(in, vid))
				port->native = (uint16_t)vid;
			else
				switch_cli_ecs_failed(call, "set PVID", number);
		}
}

static void switch_cli_ecs_set_mode(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			struct cli_port *port = cli_port_at(call->session, number);

			port->link = (enum cli_link)call->command->argument;
			if (port->link == CLI_LINK_ACCESS) {
				port->allowed = port->untagged = (struct vlan_set){{0}};
				vlan_set_add(&port->untagged, port->native);
			} else if (port->link == CLI_LINK_TRUNK) {
				port->allowed = vlan_set_union(&port->allowed, &port->untagged);
				vlan_set_add(&port->allowed, port->native);
				port->untagged = (struct vlan_set){{0}};
			} else {
				vlan_set_remove(&port->allowed, port->native);
				vlan_set_add(&port->untagged, port->native);
			}
		}
}

static void set_frames(struct cli_call *call)
{
	for
		EACH_PORT(number, &call->session->ports)
		{
			cli_port_at(call->session, number)->is_tagged_only =
				call->command->argument != 0;
		}
}

/* --- files --- */

static void switch_cli_ecs_on_file_name(struct cli_session *session, const char *line,
					struct text *out)
{
	(void)line;
	cli_keep(session);
	text_add(out, "\nFlash programming started.\nFlash programming completed.\nSuccess.\n");
}

static void switch_cli_ecs_save(struct cli_call *call)
{
	cli_ask(call->session, call->out,
		"Startup configuration file name [startup1.cfg]: ", switch_cli_ecs_on_file_name);
}

/* --- the configuration as text --- */

static void switch_cli_ecs_write_vlans(const struct cli_config *config, struct text *out)
{
	struct vlan_set unnamed = {{0}};

	text_add(out, "vlan database\n");
	for
		EACH_VLAN(vid, &config->vlans)
		{
			const char *name = vid == 1 && config->names[1][0] == '\0'
						   ? "DefaultVlan"
						   : config->names[vid];

			if (name[0] == '\0')
				vlan_set_add(&unnamed, vid);
			else
				text_addf(out, " VLAN %u name %s media ethernet\n", vid, name);
		}
	cli_write_list(out, " vlan ", &unnamed, " media ethernet\n");
	text_add(out, "!\n!\n");
}

static void switch_cli_ecs_write_port(const struct cli_port *port, unsigned number,
				      struct text *out)
{
	struct vlan_set untagged = port->untagged;

	vlan_set_remove(&untagged, 1);
	text_addf(out, "interface ethernet 1/%u\n", number);
	if (port->description[0] != '\0')
		text_addf(out, " description %s\n", port->description);
	if (port->is_shut)
		text_add(out, " shutdown\n");
	cli_write_list(out, " switchport allowed vlan add ", &untagged, " untagged\n");
	if (port->native != 1)
		text_addf(out, " switchport native vlan %u\n", port->native);
	if (port->is_tagged_only)
		text_add(out, " switchport acceptable-frame-types tagged\n");
	if (port->link == CLI_LINK_TRUNK)
		text_add(out, " switchport mode trunk\n");
	if (port->link == CLI_LINK_ACCESS)
		text_add(out, " switchport mode access\n");
	cli_write_list(out, " switchport allowed vlan add ", &port->allowed, " tagged\n");
	if (!switch_cli_ecs_is_member(port, 1))
		text_add(out, " switchport allowed vlan remove 1\n");
	text_add(out, "!\n");
}

static void switch_cli_ecs_running(const struct cli_session *session,
				   const struct cli_config *config, const struct cli_ports *ports,
				   struct text *out)
{
	if (!ports) {
		text_add(out, "Building running configuration. Please wait...\n"
			      "!<stackingDB>00</stackingDB>\n"
			      "!<stackingMac>01_70-72-cf-24-15-ee_03</stackingMac>\n!\n!\n"
			      "snmp-server community public ro\n!\n!\n");
		switch_cli_ecs_write_vlans(config, out);
		text_add(out, "spanning-tree mst configuration\n!\n!\n");
	}
	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		if (!ports || cli_ports_has(ports, number))
			switch_cli_ecs_write_port(&config->ports[number], number, out);
	}
	if (!ports) {
		cli_write_lines(config, out); /* traffic segmentation */
		cli_mirror_write(session, config, out);
	}
	if (!ports)
		text_add(out,
			 "interface vlan 1\n ip address dhcp\n!\n!\nline console\n!\nline vty\n"
			 "!\n!\nend\n!\n");
}

/* --- showing --- */

static void switch_cli_ecs_show_version(struct cli_call *call)
{
	text_add(call->out, "Unit 1\n"
			    " Serial Number           : EC1234567890\n"
			    " Hardware Version        : R01A\n"
			    " EPLD Version            : 0.00\n"
			    " Number of Ports         : 28\n"
			    " Main Power Status       : Up\n"
			    " Role                    : Master\n"
			    " Loader Version          : 1.1.0.3\n"
			    " Linux Kernel Version    : 2.6.22.18\n"
			    " Operation Code Version  : 1.2.2.26\n\n");
}

static void show_one_vlan(struct cli_call *call, unsigned vid)
{
	const struct cli_store *store = call->session->device->store;
	const struct cli_config *config = store->running;
	const char *name =
		vid == 1 && config->names[1][0] == '\0' ? "DefaultVlan" : config->names[vid];
	unsigned count = 0;

	text_addf(call->out,
		  "\nVLAN ID             : %u\nType                : Static\n"
		  "Name                : %s\nStatus              : Active\nPorts/Port Channels :",
		  vid, name);
	for (unsigned number = 1; number <= store->port_count; number++) {
		if (!switch_cli_ecs_is_member(&config->ports[number], vid))
			continue;
		if (count > 0 && count % 5 == 0)
			text_addf(call->out, "\n%21s", "");
		text_addf(call->out, " Eth1/%2u(S)", number);
		count++;
	}
	text_add(call->out, "\n");
}

static void switch_cli_ecs_show_vlan(struct cli_call *call)
{
	const struct vlan_set *vlans = &call->session->device->store->running->vlans;
	unsigned wanted = call->command->argument ? call->values[0].number : 0;

	if (wanted != 0 && !vlan_set_has(vlans, wanted)) {
		text_add(call->out, "No such VLAN.\n");
		return;
	}
	for
		EACH_VLAN(vid, vlans)
		{
			if (wanted == 0 || vid == wanted)
				show_one_vlan(call, vid);
		}
	text_add(call->out, "\n");
}

static const char *const link_names[] = {
	[CLI_LINK_NONE] = "Hybrid",   [CLI_LINK_ACCESS] = "Access", [CLI_LINK_TRUNK] = "Trunk",
	[CLI_LINK_HYBRID] = "Hybrid", [CLI_LINK_ROUTED] = "Hybrid",
};

static void switch_cli_ecs_show_switchport(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = cli_port_at(call->session, number);
		bool is_first = true;

		if (call->command->argument && call->values[0].number != number)
			continue;
		text_addf(call->out,
			  "Information of Eth 1/%u\n VLAN Membership Mode          : %s\n"
			  " Ingress Rule                  : Disabled\n"
			  " Acceptable Frame Type         : %s\n"
			  " Native VLAN                   : %u\n Allowed VLAN                  :",
			  number, link_names[port->link],
			  port->is_tagged_only ? "Tagged frames only" : "All frames", port->native);
		for (unsigned vid = 1; vid <= VLAN_LAST; vid++) {
			if (!switch_cli_ecs_is_member(port, vid))
				continue;
			text_addf(call->out, "%s%u(%c)", is_first ? " " : ", ", vid,
				  vlan_set_has(&port->untagged, vid) ? 'u' : 't');
			is_first = false;
		}
		text_add(call->out, "\n Forbidden VLAN                :\n");
	}
}

static void switch_cli_ecs_show_brief(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(call->out,
		 "Interface Name              Status    PVID Pri Speed/Duplex  Type"
		 "         Trunk\n--------- ----------------- --------- ---- --- ------------- "
		 "------------ -----\n");
	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = cli_port_at(call->session, number);

		text_addf(call->out,
			  "Eth 1/%2u  %-17.17s %-9s %4u   0 Auto-1000full 1000BASE-T   None\n",
			  number, port->description, port->is_shut ? "Down" : "Up", port->native);
	}
}

static void switch_cli_ecs_mac_row(struct text *out, const char *mac, unsigned vid,
				   const char *port)
{
	char upper[20];
	size_t i = 0;

	for (; mac[i] != '\0' && i + 1 < sizeof(upper); i++)
		upper[i] = (char)(mac[i] >= 'a' && mac[i] <= 'f' ? mac[i] - 'a' + 'A' : mac[i]);
	upper[i] = '\0';
	text_addf(out, " %-9s %s %4u Learn    Delete on Timeout\n", port, upper, vid);
}

static void switch_cli_ecs_show_macs(struct cli_call *call)
{
	text_add(call->out, " Interface MAC Address       VLAN Type     Life Time\n"
			    " --------- ----------------- ---- -------- -----------------\n");
	cli_each_mac(call, (struct cli_mac_style){1, '-', false, switch_cli_ecs_mac_row});
}

static void switch_cli_ecs_show_lldp(struct cli_call *call)
{
	const struct cli_store *store = call->session->device->store;

	text_add(
		call->out,
		"LLDP Remote Devices Information\n"
		" Local Port Chassis ID        Port ID           System Name\n"
		" ---------- ----------------- ----------------- ------------------------------\n");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char mac[20];

		text_addf(call->out, " Eth 1/%-2u   %s %-17.17s %s\n", row->port,
			  cli_mac_text(row->chassis, 1, '-', mac), row->port_id, row->system);
	}
}

static const struct cli_command switch_cli_ecs_commands[] = {
	{EX, "enable", cli_enable, 0, LOOK},
	{EN, "disable", cli_disable, 0, LOOK},
	{EX | EN, "exit|quit", cli_logout, 0, LOOK},
	{EX | EN, "terminal length <number>", cli_pager, 0, LOOK},
	{EX | EN, "terminal width <number>", cli_nothing, 0, LOOK},
	{EX | EN, "show version", switch_cli_ecs_show_version, 0, LOOK},
	{EX | EN, "show vlan", switch_cli_ecs_show_vlan, 0, LOOK},
	{EX | EN, "show vlan id <vid>", switch_cli_ecs_show_vlan, 1, LOOK},
	{EX | EN, "show interfaces brief", switch_cli_ecs_show_brief, 0, LOOK},
	{EX | EN, "show interfaces switchport", switch_cli_ecs_show_switchport, 0, LOOK},
	{EX | EN, "show interfaces switchport <port>", switch_cli_ecs_show_switchport, 1, LOOK},
	{EN, "show mac-address-table", switch_cli_ecs_show_macs, 0, LOOK},
	{EN, "show mac-address-table vlan <vid>", switch_cli_ecs_show_macs, 1, LOOK},
	{EN, "show mac-address-table interface <port>", switch_cli_ecs_show_macs, 2, LOOK},
	{EN, "show lldp info remote-device", switch_cli_ecs_show_lldp, 0, LOOK},
	{EN, "show running-config", cli_show_running, 0, LOOK},
	{EN, "show running-config interface <port>", cli_show_running_port, 0, LOOK},
	{EN, "show startup-config", cli_show_running, 1, LOOK},
	{EN, "configure", cli_enter_config, 0, LOOK},
	{EN, "copy running-config startup-config", switch_cli_ecs_save, 0, SWITCH_SAVE},
	{EN, "reload", cli_reload, 0, LOOK},
	{SWITCH_CLI_ECS_ALL, "exit", cli_exit, 0, LOOK},
	{PT, "port monitor <port> [both|rx|tx]", cli_mirror_source, CLI_MIRROR_HERE, SWITCH_SPAN},
	{PT, "no port monitor <port>", cli_mirror_source, CLI_MIRROR_HERE | CLI_MIRROR_NO,
	 SWITCH_SPAN},
	{SWITCH_CLI_ECS_ALL, "end", cli_end, 0, LOOK},
	{CF, "prompt <word>", cli_hostname, 0, SWITCH_NAME},
	{CF, "hostname <word>", cli_nothing, 0, SWITCH_NAME},
	{CF, "traffic-segmentation", cli_keep_line, 1, SWITCH_FILTER},
	{CF, "no traffic-segmentation", cli_drop_line, 0, SWITCH_FILTER},
	{CF, "traffic-segmentation session <number> uplink <port> downlink <text>", cli_keep_line,
	 0, SWITCH_FILTER},
	{CF, "vlan database", switch_cli_ecs_database, 0, LOOK},
	{CF, "interface vlan <vid>", cli_enter_svi, 0, LOOK},
	{CF, "interface <ports>", cli_enter_ports, 0, LOOK},
	{DB, "vlan <vids>", switch_cli_ecs_add_vlans, 0, SWITCH_CREATE},
	{DB, "vlan <vids> media ethernet", switch_cli_ecs_add_vlans, 0, SWITCH_CREATE},
	{DB, "vlan <vids> media ethernet state active", switch_cli_ecs_add_vlans, 0, SWITCH_CREATE},
	{DB, "vlan <vids> name <word>", switch_cli_ecs_add_vlans, 1, SWITCH_CREATE},
	{DB, "vlan <vids> name <word> media ethernet", switch_cli_ecs_add_vlans, 1, SWITCH_CREATE},
	{DB, "vlan <vids> name <word> media ethernet state active", switch_cli_ecs_add_vlans, 1,
	 SWITCH_CREATE},
	{DB, "no vlan <vids>", switch_cli_ecs_no_vlan, 0, SWITCH_DELETE},
	{DB, "no vlan <vids> name", no_name, 0, SWITCH_NAME},
	{PT, "description <text>", cli_describe, 0, SWITCH_NAME},
	{PT, "no description", cli_describe, 0, SWITCH_NAME},
	{PT, "shutdown", cli_shut, 1, SWITCH_FILTER},
	{PT, "no shutdown", cli_shut, 0, SWITCH_FILTER},
	{PT, "switchport mode hybrid", switch_cli_ecs_set_mode, CLI_LINK_HYBRID, SWITCH_FRAMES},
	{PT, "switchport mode access", switch_cli_ecs_set_mode, CLI_LINK_ACCESS, SWITCH_FRAMES},
	{PT, "switchport mode trunk", switch_cli_ecs_set_mode, CLI_LINK_TRUNK, SWITCH_FRAMES},
	{PT, "no switchport mode", switch_cli_ecs_set_mode, CLI_LINK_HYBRID, SWITCH_FRAMES},
	{PT, "switchport acceptable-frame-types all", set_frames, 0, SWITCH_FRAMES},
	{PT, "switchport acceptable-frame-types tagged", set_frames, 1, SWITCH_FRAMES},
	{PT, "no switchport acceptable-frame-types", set_frames, 0, SWITCH_FRAMES},
	{PT, "switchport ingress-filtering", cli_nothing, 0, SWITCH_FILTER},
	{PT, "no switchport ingress-filtering", cli_nothing, 0, SWITCH_FILTER},
	{PT, "switchport allowed vlan add <vids> tagged", switch_cli_ecs_change_list, JOIN_TAGGED,
	 SWITCH_EGRESS},
	{PT, "switchport allowed vlan add <vids> [untagged]", switch_cli_ecs_change_list,
	 JOIN_UNTAGGED, SWITCH_UNTAGGED},
	{PT, "switchport allowed vlan remove <vids>", switch_cli_ecs_change_list, LEAVE,
	 SWITCH_EGRESS},
	{PT, "no switchport allowed vlan", reset_list, 0, SWITCH_EGRESS},
	{PT, "switchport native vlan <vid>", switch_cli_ecs_native, 0, SWITCH_PVID},
	{PT, "no switchport native vlan", switch_cli_ecs_native, 0, SWITCH_PVID},
	{PT, "spanning-tree edge-port", cli_nothing, 0, LOOK},
};

#define INVALID_RANGE \
	"% Invalid parameter value/range. Type \"?\" to get more detail information.\n\n"

const struct cli_family cli_ecs = {
	.name = "ecs",
	.title = "Edgecore ECS",
	.commands = switch_cli_ecs_commands,
	.command_count = COUNT_OF(switch_cli_ecs_commands),
	.naming = {"ethernet", NULL, "1/", 1, 1, "Eth %s", "ethernet %s", NULL, NULL, NULL, NULL},
	.port =
		{
			.mode = CLI_GENERAL,
			.native = 1,
			.untagged = {{1U << 1}},
			.link = CLI_LINK_HYBRID,
		},
	.vid_high = 4094,
	.hostname = "Vty",
	.login_text = "\n      CLI session with the ECS4620-28T is opened.\n"
		      "      To end the CLI session, enter [Exit].\n\n",
	.more = "---More---",
	.more_erase = "\r          \r",
	.more_quit = "qQ\003",
	.pager = 24,
	.sessions = 8,
	.unknown_access = CLI_UNKNOWN_REFUSED,
	.unknown_listed = CLI_UNKNOWN_REFUSED,
	.says =
		{
			[CLI_SAYS_NO_VLAN] = "VLAN{} does not exist\n",
			[CLI_SAYS_RESERVED] = "Failed to create VLAN {}\n",
			[CLI_SAYS_DEFAULT_VLAN] = "Failed to remove VLAN {}\n",
			[CLI_SAYS_CREATING] = "",
			[CLI_SAYS_REJECTED] = "Failed to set VLAN list on ethernet 1/1\n",
		},
	.prompts =
		{
			[CLI_EXEC] = "{h}-0>",
			[CLI_ENABLE] = "{h}-0#",
			[CLI_CONFIG] = "{h}-0(config)#",
			[CLI_PORT] = "{h}-0(config-if)#",
			[CLI_SVI] = "{h}-0(config-if)#",
			[CLI_DATABASE] = "{h}-0(config-vlan)#",
		},
	.complaints =
		{
			[CLI_INVALID] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_RANGE] = INVALID_RANGE,
			[CLI_TOO_MANY] = "% Invalid input detected at '^' marker.\n\n",
			[CLI_AMBIGUOUS] = "% Ambiguous command : \"{l}\"\n\n",
			[CLI_INCOMPLETE] = "% Incomplete command.\n\n",
		},
	.has_caret = true,
	.running = switch_cli_ecs_running,
};
