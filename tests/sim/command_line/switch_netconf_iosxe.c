/* Cisco IOS-XE, its own model: the running configuration word for word (Cisco-IOS-XE-native with
 * Cisco-IOS-XE-switch and Cisco-IOS-XE-vlan), and what is, in models of their own (-oper). Defaults
 * are left out, as the running configuration does. From the models and the examples of the
 * vendor's programmability guide. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

#define CISCO                   "http://cisco.com/ns/yang/Cisco-IOS-XE-"
#define GIG                     "native/interface/GigabitEthernet[name]/"
#define SWITCH_NETCONF_IOSXE_SW GIG "switchport-config/switchport/"

static const char *const switch_netconf_iosxe_capabilities[] = {
	"urn:ietf:params:netconf:capability:xpath:1.0",
	"urn:ietf:params:netconf:capability:with-defaults:1.0?basic-mode=explicit&also-supported="
	"report-all-tagged,report-all",
	CISCO "native?module=Cisco-IOS-XE-native&revision=2021-11-01",
	CISCO "switch?module=Cisco-IOS-XE-switch&revision=2021-11-01",
	CISCO "vlan?module=Cisco-IOS-XE-vlan&revision=2021-11-01",
	CISCO "interfaces-oper?module=Cisco-IOS-XE-interfaces-oper&revision=2021-11-01",
	CISCO "vlan-oper?module=Cisco-IOS-XE-vlan-oper&revision=2019-05-01",
	CISCO "lldp-oper?module=Cisco-IOS-XE-lldp-oper&revision=2021-11-01",
	CISCO "matm-oper?module=Cisco-IOS-XE-matm-oper&revision=2019-05-01",
	"http://cisco.com/yang/cisco-ia?module=cisco-ia&revision=2021-11-01",
	NULL,
};

static const struct netconf_namespace switch_netconf_iosxe_namespaces[] = {
	{"", CISCO "native"},
	{"s", CISCO "switch"},
	{"v", CISCO "vlan"},
	{NULL, NULL},
};

static const char *const switch_netconf_iosxe_schema[] = {
	"native/hostname",
	"native/vlan/v:vlan-list[id]/id",
	"native/vlan/v:vlan-list[id]/name",
	GIG "name",
	GIG "description",
	GIG "shutdown",
	SWITCH_NETCONF_IOSXE_SW "s:mode/access|",
	SWITCH_NETCONF_IOSXE_SW "s:mode/trunk|",
	SWITCH_NETCONF_IOSXE_SW "s:access/vlan/vlan",
	SWITCH_NETCONF_IOSXE_SW "s:trunk/native/vlan/vlan-id",
	SWITCH_NETCONF_IOSXE_SW "s:trunk/allowed/vlan/vlans|",
	SWITCH_NETCONF_IOSXE_SW "s:trunk/allowed/vlan/none|",
	SWITCH_NETCONF_IOSXE_SW "s:trunk/allowed/vlan/all|",
	SWITCH_NETCONF_IOSXE_SW "s:nonegotiate",
	SWITCH_NETCONF_IOSXE_SW "s:voice/vlan/vlan",
	NULL,
};

static void write_switchport(const struct cli_port *port, struct text *out)
{
	struct text list = {0};

	text_add(out, "<switchport-config><switchport>");
	if (port->access != 1)
		text_addf(out,
			  "<access xmlns=\"" CISCO "switch\"><vlan><vlan>%u</vlan></vlan></access>",
			  port->access);
	text_addf(out, "<mode xmlns=\"" CISCO "switch\"><%s/></mode>",
		  port->mode == CLI_TRUNK ? "trunk" : "access");
	if (!port->is_allowed_all || port->native != 1) {
		text_add(out, "<trunk xmlns=\"" CISCO "switch\">");
		vlan_set_text(&port->allowed, &list);
		if (!port->is_allowed_all)
			text_add(out, "<allowed><vlan>");
		if (!port->is_allowed_all && list.size > 0)
			netconf_add(out, "vlans", text_get(&list));
		else if (!port->is_allowed_all)
			text_add(out, "<none/>");
		if (!port->is_allowed_all)
			text_add(out, "</vlan></allowed>");
		if (port->native != 1)
			text_addf(out, "<native><vlan><vlan-id>%u</vlan-id></vlan></native>",
				  port->native);
		text_add(out, "</trunk>");
	}
	text_add(out, "</switchport></switchport-config>");
	text_done(&list);
}

static void write_native(const struct netconf_device *at, const struct cli_config *config,
			 struct text *out)
{
	text_add(out, "<native xmlns=\"" CISCO "native\">");
	netconf_add(out, "hostname", at->device->hostname);
	text_add(out, "<vlan>");
	for (unsigned vid = vlan_set_next(&config->vlans, 2); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		text_addf(out, "<vlan-list xmlns=\"" CISCO "vlan\"><id>%u</id>", vid);
		if (config->names[vid][0])
			netconf_add(out, "name", config->names[vid]);
		text_add(out, "</vlan-list>");
	}
	text_add(out, "</vlan><interface>");
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		const struct cli_port *port = &config->ports[i];

		text_addf(out, "<GigabitEthernet><name>1/0/%u</name>", i);
		if (port->description[0])
			netconf_add(out, "description", port->description);
		if (port->is_shut)
			text_add(out, "<shutdown/>");
		if (port->mode != CLI_OFF)
			write_switchport(port, out);
		text_add(out, "</GigabitEthernet>");
	}
	text_add(out, "</interface></native>");
}

static void switch_netconf_iosxe_write_interfaces(const struct netconf_device *at,
						  const struct cli_config *config, struct text *out)
{
	text_add(out, "<interfaces xmlns=\"" CISCO "interfaces-oper\">");
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		const struct cli_port *port = &config->ports[i];

		text_addf(out,
			  "<interface><name>GigabitEthernet1/0/%u</name>"
			  "<interface-type>iana-iftype-ethernet-csmacd</interface-type>"
			  "<admin-status>%s</admin-status><oper-status>%s</oper-status>"
			  "<if-index>%u</if-index><phys-address>00:1e:49:00:00:%02x</phys-address>"
			  "<speed>1000000000</speed>",
			  i, port->is_shut ? "if-state-down" : "if-state-up",
			  port->is_shut ? "if-oper-state-no-pass" : "if-oper-state-ready", i + 8,
			  i & 0xffU);
		netconf_add(out, "description", port->description);
		text_add(out, "</interface>");
	}
	text_add(out, "</interfaces><vlans xmlns=\"" CISCO "vlan-oper\">");
	for (unsigned vid = vlan_set_next(&config->vlans, 1); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		char name[CLI_NAME_SIZE];

		text_addf(out, "<vlan><id>%u</id>", vid);
		(void)text_format(name, sizeof(name), "VLAN%04u", vid);
		netconf_add(out, "name",
			    vid == 1 ? "default"
				     : (config->names[vid][0] ? config->names[vid] : name));
		text_add(out, "<status>active</status></vlan>");
	}
	text_add(out, "</vlans>");
}

static void switch_netconf_iosxe_write_learned(const struct cli_store *store, struct text *out)
{
	text_add(out, "<lldp-entries xmlns=\"" CISCO "lldp-oper\">");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];

		text_add(out, "<lldp-entry>");
		netconf_add(out, "device-id", row->system);
		text_addf(out, "<local-interface>Gi1/0/%u</local-interface>", row->port);
		netconf_add(out, "connecting-interface", row->port_id);
		text_add(out, "<ttl>120</ttl><capabilities><bridge/></capabilities></lldp-entry>");
	}
	text_add(out, "</lldp-entries><matm-oper-data xmlns=\"" CISCO "matm-oper\">");
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		const uint8_t *mac = row->mac.bytes;

		text_addf(out,
			  "<matm-table><table-type>mat-vlan</table-type><vlan-id-number>%u"
			  "</vlan-id-number><aging-time>300</aging-time><matm-mac-entry>"
			  "<table-type>mat-vlan</table-type><vlan-id-number>%u</vlan-id-number>"
			  "<mac>%02x:%02x:%02x:%02x:%02x:%02x</mac>"
			  "<mat-addr-type>dynamic</mat-addr-type><port>Gi1/0/%u</port>"
			  "</matm-mac-entry></matm-table>",
			  row->vid, row->vid, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
			  row->port);
	}
	text_add(out, "</matm-oper-data>");
}

static void switch_netconf_iosxe_write(const struct netconf_device *at,
				       const struct cli_config *config, unsigned what,
				       struct text *out)
{
	if (what & NETCONF_CONFIG)
		write_native(at, config, out);
	if (what & NETCONF_STATE) {
		switch_netconf_iosxe_write_interfaces(at, at->device->store->running, out);
		switch_netconf_iosxe_write_learned(at->device->store, out);
	}
}

/* --- back --- */

static bool switch_netconf_iosxe_read_vlan(const struct netconf_device *at, const xmlNode *row,
					   struct cli_config *fresh, struct netconf_error *error)
{
	const struct cli_family *family = at->device->family;
	char text[NETCONF_TEXT];
	uint16_t vid;

	if (!netconf_vlan(netconf_leaf(row, "id", text), "", &vid, error))
		return false;
	if (vid >= family->reserved_low && vid <= family->reserved_high)
		return netconf_fail(error, "invalid-value",
				    "inconsistent value: Device refused one or more commands: "
				    "VLAN %u is reserved",
				    vid);
	vlan_set_add(&fresh->vlans, vid);
	(void)netconf_leaf(row, "name", text);
	if (strlen(text) > 32)
		return netconf_fail(error, "invalid-value", "name is too long");
	(void)text_copy(fresh->names[vid], sizeof(fresh->names[vid]), text);
	return true;
}

static bool read_switchport(const xmlNode *at, struct cli_port *port, struct netconf_error *error)
{
	const xmlNode *allowed = netconf_child(at, "trunk/allowed/vlan");
	char text[NETCONF_TEXT];

	port->mode = netconf_child(at, "mode/trunk") ? CLI_TRUNK : CLI_ACCESS;
	if (netconf_child(at, "access/vlan/vlan") &&
	    !netconf_vlan(netconf_leaf(at, "access/vlan/vlan", text), "", &port->access, error))
		return false;
	if (netconf_child(at, "trunk/native/vlan/vlan-id") &&
	    !netconf_vlan(netconf_leaf(at, "trunk/native/vlan/vlan-id", text), "", &port->native,
			  error))
		return false;
	if (netconf_child(allowed, "none") || netconf_child(allowed, "vlans")) {
		port->is_allowed_all = false;
		if (vlan_set_parse(netconf_leaf(allowed, "vlans", text), &port->allowed) != 0)
			return netconf_fail(error, "invalid-value", "vlans %.40s", text);
	}
	return true;
}

static bool switch_netconf_iosxe_read_port(const struct netconf_device *at, const xmlNode *row,
					   struct cli_config *fresh, struct netconf_error *error)
{
	const xmlNode *switchport = netconf_child(row, "switchport-config/switchport");
	char text[NETCONF_TEXT];
	unsigned number = 0;
	struct cli_port *port;

	(void)netconf_leaf(row, "name", text);
	if (strncmp(text, "1/0/", 4) == 0)
		number = (unsigned)strtoul(text + 4, NULL, 10);
	if (number < 1 || number > at->device->store->port_count)
		return netconf_fail(error, "invalid-value", "no such interface: %.30s", text);
	port = &fresh->ports[number];
	(void)netconf_leaf(row, "description", text);
	(void)text_copy(port->description, sizeof(port->description), text);
	port->is_shut = netconf_child(row, "shutdown") != NULL;
	return !switchport || read_switchport(switchport, port, error);
}

static bool switch_netconf_iosxe_read(const struct netconf_device *at, const xmlNode *data,
				      const struct cli_config *before, struct cli_config *fresh,
				      struct netconf_error *error)
{
	const xmlNode *row = netconf_child(data, "native/vlan/vlan-list");

	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_iosxe_read_vlan(at, row, fresh, error))
			return false;
	}
	row = netconf_child(data, "native/interface/GigabitEthernet");
	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_iosxe_read_port(at, row, fresh, error))
			return false;
	}
	/* `switchport access vlan` makes the VLAN that it names, not those that are there already.
	 */
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		unsigned vid = fresh->ports[i].access;

		if (vid != before->ports[i].access && !vlan_set_has(&fresh->vlans, vid))
			vlan_set_add(&fresh->vlans, vid);
	}
	return true;
}

const struct netconf_model netconf_iosxe = {
	.name = "iosxe",
	.title = "Cisco IOS-XE, Cisco-IOS-XE-native",
	.family = "ios",
	.capabilities = switch_netconf_iosxe_capabilities,
	.schema = switch_netconf_iosxe_schema,
	.namespaces = switch_netconf_iosxe_namespaces,
	.has_running = true, /* the candidate is off unless it is switched on */
	.has_validate = true,
	.has_rollback = true,
	.save = "save-config",
	.write = switch_netconf_iosxe_write,
	.read = switch_netconf_iosxe_read,
};
