/* Cisco NX-OS, its own model (Cisco-NX-OS-device: the switch's object tree): VLANs are bridge
 * domains `vlan-N`, ports entries of l1PhysIf with the whole membership in four leaves. From the
 * model and the NX-API reference's DME examples. */
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_netconf.h"

#define NXOS "http://cisco.com/ns/yang/cisco-nx-os-device"
#define PHYS "System/intf-items/phys-items/PhysIf-list[id]/"
#define AGGR "System/intf-items/aggr-items/AggrIf-list[id]/"
#define BD   "System/bd-items/bd-items/BD-list[fabEncap]/"

static const char *const switch_netconf_nxos_capabilities[] = {
	"urn:ietf:params:netconf:capability:with-defaults:1.0?basic-mode=report-all",
	"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring?revision=2010-10-04",
	NXOS "?revision=2022-08-10&module=Cisco-NX-OS-device",
	NULL,
};

static const struct netconf_namespace switch_netconf_nxos_namespaces[] = {{"", NXOS}, {NULL, NULL}};

static const char *const switch_netconf_nxos_schema[] = {
	"System/name",
	BD "fabEncap",
	BD "name",
	BD "adminSt",
	PHYS "id",
	PHYS "descr",
	PHYS "adminSt",
	PHYS "layer",
	PHYS "mode",
	PHYS "accessVlan",
	PHYS "mtu",
	PHYS "nativeVlan",
	PHYS "trunkVlans",
	PHYS "userCfgdFlags",
	AGGR "id",
	AGGR "descr",
	AGGR "adminSt",
	AGGR "layer",
	AGGR "mode",
	AGGR "accessVlan",
	AGGR "mtu",
	AGGR "nativeVlan",
	AGGR "trunkVlans",
	AGGR "userCfgdFlags",
	AGGR "pcMode",
	AGGR "rsmbrIfs-items/RsMbrIfs-list[tDn]/tDn",
	NULL,
};

static const char *port_id(const struct cli_store *store, unsigned number, char ret[32])
{
	(void)text_format(ret, 32, store->is_aggregate[number] ? "po%u" : "eth1/%u", number);
	return ret;
}

static void switch_netconf_nxos_write_members(const struct cli_store *store, unsigned aggregate,
					      struct text *out)
{
	char id[32];

	text_add(out, "<pcMode>active</pcMode><rsmbrIfs-items>");
	for (unsigned i = 1; i <= store->port_count; i++) {
		if (store->member_of[i] == aggregate)
			text_addf(out,
				  "<RsMbrIfs-list><tDn>/System/intf-items/phys-items/PhysIf-list"
				  "[id='%s']</tDn></RsMbrIfs-list>",
				  port_id(store, i, id));
	}
	text_add(out, "</rsmbrIfs-items>");
}

static void switch_netconf_nxos_write_vlans(const struct cli_config *config, unsigned what,
					    struct text *out)
{
	text_add(out, "<bd-items><bd-items>");
	for (unsigned vid = vlan_set_next(&config->vlans, 1); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		text_addf(out, "<BD-list><fabEncap>vlan-%u</fabEncap><adminSt>active</adminSt>",
			  vid);
		if (vid == 1)
			netconf_add(out, "name", "default");
		else if (config->names[vid][0])
			netconf_add(out, "name", config->names[vid]);
		if (what & NETCONF_STATE)
			text_addf(out,
				  "<id>%u</id><operSt>up</operSt><fabEncap2>unknown"
				  "</fabEncap2>",
				  vid);
		text_add(out, "</BD-list>");
	}
	text_add(out, "</bd-items></bd-items>");
}

static void switch_netconf_nxos_write_port(const struct cli_store *store,
					   const struct cli_port *port, unsigned number,
					   unsigned what, struct text *out)
{
	bool aggregate = store->is_aggregate[number];
	const char *row = aggregate ? "AggrIf-list" : "PhysIf-list";
	const char *state = aggregate ? "aggrif-items" : "phys-items";
	struct text list = {0};
	char id[32];

	vlan_set_text(&port->allowed, &list);
	text_addf(out, "<%s>", row);
	netconf_add(out, "id", port_id(store, number, id));
	netconf_add(out, "adminSt", port->is_shut ? "down" : "up");
	if (port->description[0])
		netconf_add(out, "descr", port->description);
	netconf_add(out, "layer", port->mode == CLI_OFF ? "Layer3" : "Layer2");
	netconf_add(out, "mode", port->mode == CLI_TRUNK ? "trunk" : "access");
	text_addf(out, "<accessVlan>vlan-%u</accessVlan><nativeVlan>vlan-%u</nativeVlan>",
		  port->access, port->native);
	netconf_add(out, "trunkVlans", text_get(&list));
	netconf_add(out, "mtu", "1500");
	if (aggregate)
		switch_netconf_nxos_write_members(store, number, out);
	if (what & NETCONF_STATE)
		text_addf(out,
			  "<%s><operSt>%s</operSt><operSpeed>10G</operSpeed>"
			  "<operMode>%s</operMode></%s>",
			  state, port->is_shut ? "down" : "up",
			  port->mode == CLI_TRUNK ? "trunk" : "access", state);
	text_addf(out, "</%s>", row);
	text_done(&list);
}

static void switch_netconf_nxos_write_ports(const struct cli_store *store,
					    const struct cli_config *config, bool aggregates,
					    unsigned what, struct text *out)
{
	for (unsigned i = 1; i <= store->port_count; i++) {
		if (store->is_aggregate[i] == aggregates)
			switch_netconf_nxos_write_port(store, &config->ports[i], i, what, out);
	}
}

static void switch_netconf_nxos_write_neighbors(const struct cli_store *store, struct text *out)
{
	text_add(out, "<lldp-items><inst-items><if-items>");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char mac[20];
		char id[32];

		text_add(out, "<If-list>");
		netconf_add(out, "id", port_id(store, row->port, id));
		text_addf(out, "<adj-items><AdjEp-list><id>%zu</id><chassisIdT>4</chassisIdT>",
			  i + 1);
		netconf_add(out, "chassisIdV", cli_mac_text(row->chassis, 2, '.', mac));
		netconf_add(out, "portIdT", "5");
		netconf_add(out, "portIdV", row->port_id);
		netconf_add(out, "sysName", row->system);
		text_add(out, "<ttl>120</ttl></AdjEp-list></adj-items></If-list>");
	}
	text_add(out, "</if-items></inst-items></lldp-items>");
}

static void switch_netconf_nxos_write_macs(const struct cli_store *store, struct text *out)
{
	text_add(out, "<mac-items><table-items><vlan-items>");
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		const uint8_t *mac = row->mac.bytes;
		char id[32];

		text_addf(out,
			  "<MacAddressEntry-list><vlan>vlan-%u</vlan><macAddress>"
			  "%02X:%02X:%02X:%02X:%02X:%02X</macAddress><macInfo>standard</macInfo>"
			  "<port>%s</port><static>false</static></MacAddressEntry-list>",
			  row->vid, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
			  port_id(store, row->port, id));
	}
	text_add(out, "</vlan-items></table-items></mac-items>");
}

static void switch_netconf_nxos_write(const struct netconf_device *at,
				      const struct cli_config *config, unsigned what,
				      struct text *out)
{
	text_add(out, "<System xmlns=\"" NXOS "\">");
	netconf_add(out, "name", at->device->hostname);
	switch_netconf_nxos_write_vlans(config, what, out);
	text_add(out, "<intf-items><phys-items>");
	switch_netconf_nxos_write_ports(at->device->store, config, false, what, out);
	text_add(out, "</phys-items><aggr-items>");
	switch_netconf_nxos_write_ports(at->device->store, config, true, what, out);
	text_add(out, "</aggr-items></intf-items>");
	if (what & NETCONF_STATE) {
		switch_netconf_nxos_write_neighbors(at->device->store, out);
		switch_netconf_nxos_write_macs(at->device->store, out);
		text_add(out, "<showversion-items><nxosVersion>9.3(10)</nxosVersion>"
			      "</showversion-items>");
	}
	text_add(out, "</System>");
}

/* --- back --- */

static bool switch_netconf_nxos_read_vlan(const struct netconf_device *at, const xmlNode *row,
					  const struct cli_config *before, struct cli_config *fresh,
					  struct netconf_error *error)
{
	const struct cli_family *family = at->device->family;
	char text[NETCONF_TEXT];
	uint16_t vid;

	if (!netconf_vlan(netconf_leaf(row, "fabEncap", text), "vlan-", &vid, error))
		return false;
	if (vid >= family->reserved_low && vid <= family->reserved_high &&
	    !vlan_set_has(&before->vlans, vid))
		return netconf_fail(error, "operation-failed",
				    "VLAN %u is reserved for internal use", vid);
	vlan_set_add(&fresh->vlans, vid);
	(void)netconf_leaf(row, "name", text);
	if (strlen(text) > 32)
		return netconf_fail(error, "invalid-value", "name is too long");
	if (vid != 1)
		(void)text_copy(fresh->names[vid], sizeof(fresh->names[vid]), text);
	return true;
}

static bool read_modes(const xmlNode *row, struct cli_port *port, struct netconf_error *error)
{
	char text[NETCONF_TEXT];

	(void)netconf_leaf(row, "mode", text);
	if (text[0] && strcmp(text, "access") != 0 && strcmp(text, "trunk") != 0)
		return netconf_fail(error, "invalid-value", "mode %.20s", text);
	port->mode = strcmp(text, "trunk") == 0 ? CLI_TRUNK : CLI_ACCESS;
	(void)netconf_leaf(row, "layer", text);
	if (text[0] && strcmp(text, "Layer2") != 0 && strcmp(text, "Layer3") != 0)
		return netconf_fail(error, "invalid-value", "layer %.20s", text);
	if (strcmp(text, "Layer3") == 0)
		port->mode = CLI_OFF;
	(void)netconf_leaf(row, "adminSt", text);
	port->is_shut = strcmp(text, "down") == 0;
	return true;
}

static bool switch_netconf_nxos_read_port(const struct netconf_device *at, const xmlNode *row,
					  struct cli_config *fresh, struct netconf_error *error)
{
	char text[NETCONF_TEXT];
	unsigned number = 0;
	struct cli_port *port;

	(void)netconf_leaf(row, "id", text);
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		char id[32];

		if (strcmp(port_id(at->device->store, i, id), text) == 0)
			number = i;
	}
	if (number == 0)
		return netconf_fail(error, "operation-failed", "no such interface: %.30s", text);
	port = &fresh->ports[number];
	(void)netconf_leaf(row, "descr", text);
	(void)text_copy(port->description, sizeof(port->description), text);
	if (!read_modes(row, port, error))
		return false;
	if (netconf_child(row, "accessVlan") &&
	    !netconf_vlan(netconf_leaf(row, "accessVlan", text), "vlan-", &port->access, error))
		return false;
	if (netconf_child(row, "nativeVlan") &&
	    !netconf_vlan(netconf_leaf(row, "nativeVlan", text), "vlan-", &port->native, error))
		return false;
	if (!netconf_child(row, "trunkVlans"))
		return true;
	if (vlan_set_parse(netconf_leaf(row, "trunkVlans", text), &port->allowed) != 0)
		return netconf_fail(error, "invalid-value", "trunkVlans %.40s", text);
	port->is_allowed_all = vlan_set_count(&port->allowed) == VLAN_LAST;
	return true;
}

static bool switch_netconf_nxos_read_ports(const struct netconf_device *at, const xmlNode *row,
					   struct cli_config *fresh, struct netconf_error *error)
{
	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_nxos_read_port(at, row, fresh, error))
			return false;
	}
	return true;
}

static bool switch_netconf_nxos_read(const struct netconf_device *at, const xmlNode *data,
				     const struct cli_config *before, struct cli_config *fresh,
				     struct netconf_error *error)
{
	const xmlNode *row = netconf_child(data, "System/bd-items/bd-items/BD-list");

	fresh->vlans = (struct vlan_set){{0}};
	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_nxos_read_vlan(at, row, before, fresh, error))
			return false;
	}
	if (!vlan_set_has(&fresh->vlans, 1))
		return netconf_fail(error, "operation-failed", "Cannot delete VLAN 1");
	return switch_netconf_nxos_read_ports(
		       at, netconf_child(data, "System/intf-items/phys-items/PhysIf-list"), fresh,
		       error) &&
	       switch_netconf_nxos_read_ports(
		       at, netconf_child(data, "System/intf-items/aggr-items/AggrIf-list"), fresh,
		       error);
}

const struct netconf_model netconf_nxos = {
	.name = "nxos",
	.title = "Cisco NX-OS, Cisco-NX-OS-device",
	.family = "nxos",
	.capabilities = switch_netconf_nxos_capabilities,
	.schema = switch_netconf_nxos_schema,
	.namespaces = switch_netconf_nxos_namespaces,
	.has_candidate = true,
	.has_running = true,
	.has_validate = true,
	.has_confirmed = true,
	.has_rollback = true,
	.save = "copy_running_config_src",
	.write = switch_netconf_nxos_write,
	.read = switch_netconf_nxos_read,
};
