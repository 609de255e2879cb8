/* A switch by OpenConfig: openconfig-interfaces with openconfig-if-ethernet and openconfig-vlan,
 * VLANs in openconfig-network-instance's `default`. From the models: `config` is what is wanted,
 * `state` what is; a trunk without `trunk-vlans` carries every VLAN; `native-vlan` has no default.
 * As device: one with a candidate, a startup configuration and confirmed commits. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

#define OC                             "http://openconfig.net/yang/"
#define SWITCH_NETCONF_OPENCONFIG_INST "network-instances/network-instance[name]/"
#define PORT                           "i:interfaces/interface[name]/"
#define SWITCH_NETCONF_OPENCONFIG_SW   PORT "e:ethernet/v:switched-vlan/config/"

static const char *const switch_netconf_openconfig_capabilities[] = {
	OC "interfaces?module=openconfig-interfaces&revision=2021-04-06",
	OC "interfaces/ethernet?module=openconfig-if-ethernet&revision=2021-06-09",
	OC "vlan?module=openconfig-vlan&revision=2021-07-28",
	OC "network-instance?module=openconfig-network-instance&revision=2021-07-22",
	OC "lldp?module=openconfig-lldp&revision=2018-11-21",
	OC "system?module=openconfig-system&revision=2021-07-20",
	NULL,
};

static const struct netconf_namespace switch_netconf_openconfig_namespaces[] = {
	{"", OC "network-instance"},
	{"i", OC "interfaces"},
	{"e", OC "interfaces/ethernet"},
	{"v", OC "vlan"},
	{NULL, NULL},
};

static const char *const switch_netconf_openconfig_schema[] = {
	SWITCH_NETCONF_OPENCONFIG_INST "name",
	SWITCH_NETCONF_OPENCONFIG_INST "config/name",
	SWITCH_NETCONF_OPENCONFIG_INST "vlans/vlan[vlan-id]/vlan-id",
	SWITCH_NETCONF_OPENCONFIG_INST "vlans/vlan[vlan-id]/config/vlan-id",
	SWITCH_NETCONF_OPENCONFIG_INST "vlans/vlan[vlan-id]/config/name",
	SWITCH_NETCONF_OPENCONFIG_INST "vlans/vlan[vlan-id]/config/status",
	PORT "name",
	PORT "config/name",
	PORT "config/description",
	PORT "config/enabled",
	SWITCH_NETCONF_OPENCONFIG_SW "interface-mode",
	SWITCH_NETCONF_OPENCONFIG_SW "native-vlan",
	SWITCH_NETCONF_OPENCONFIG_SW "access-vlan",
	SWITCH_NETCONF_OPENCONFIG_SW "trunk-vlans*",
	NULL,
};

static void add_ranges(struct text *out, const struct vlan_set *set)
{
	for (unsigned low = vlan_set_next(set, 1); low;) {
		unsigned high = low;

		while (vlan_set_has(set, high + 1))
			high++;
		if (high == low)
			text_addf(out, "<trunk-vlans>%u</trunk-vlans>", low);
		else
			text_addf(out, "<trunk-vlans>%u..%u</trunk-vlans>", low, high);
		low = vlan_set_next(set, high + 1);
	}
}

static void write_switched(const struct cli_port *port, const char *container, struct text *out)
{
	text_addf(out, "<%s>", container);
	if (port->mode == CLI_TRUNK) {
		text_add(out, "<interface-mode>TRUNK</interface-mode>");
		if (port->native != 0)
			netconf_addu(out, "native-vlan", port->native);
		if (!port->is_allowed_all)
			add_ranges(out, &port->allowed);
	} else {
		text_add(out, "<interface-mode>ACCESS</interface-mode>");
		netconf_addu(out, "access-vlan", port->access);
	}
	text_addf(out, "</%s>", container);
}

static void switch_netconf_openconfig_write_port(const struct netconf_device *at,
						 const struct cli_port *port, unsigned i,
						 unsigned what, struct text *out)
{
	text_addf(out, "<interface><name>Ethernet1/%u</name><config><name>Ethernet1/%u</name>", i,
		  i);
	if (port->description[0])
		netconf_add(out, "description", port->description);
	text_addf(out, "<enabled>%s</enabled></config>", port->is_shut ? "false" : "true");
	if (what & NETCONF_STATE)
		text_addf(out,
			  "<state><name>Ethernet1/%u</name><ifindex>%u</ifindex><admin-status>%s"
			  "</admin-status><oper-status>%s</oper-status></state>",
			  i, 436207616U + (i - 1) * 512, port->is_shut ? "DOWN" : "UP",
			  port->is_shut ? "DOWN" : "UP");
	text_add(out, "<ethernet xmlns=\"" OC "interfaces/ethernet\">");
	if (what & NETCONF_STATE)
		text_addf(out,
			  "<state><mac-address>52:55:00:00:00:%02x</mac-address><port-speed "
			  "xmlns:e=\"" OC "interfaces/ethernet\">e:SPEED_25GB</port-speed></state>",
			  i & 0xffU);
	text_add(out, "<switched-vlan xmlns=\"" OC "vlan\">");
	write_switched(port, "config", out);
	if (what & NETCONF_STATE)
		write_switched(&at->device->store->running->ports[i], "state", out);
	text_add(out, "</switched-vlan></ethernet></interface>");
}

static void switch_netconf_openconfig_write_vlans(const struct cli_config *config, unsigned what,
						  struct text *out)
{
	text_add(out, "<vlans>");
	for (unsigned vid = vlan_set_next(&config->vlans, 1); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		text_addf(out, "<vlan><vlan-id>%u</vlan-id><config><vlan-id>%u</vlan-id>", vid,
			  vid);
		if (config->names[vid][0])
			netconf_add(out, "name", config->names[vid]);
		text_add(out, "<status>ACTIVE</status></config>");
		if (what & NETCONF_STATE)
			text_addf(out,
				  "<state><vlan-id>%u</vlan-id><status>ACTIVE</status></state>",
				  vid);
		text_add(out, "</vlan>");
	}
	text_add(out, "</vlans>");
}

static void switch_netconf_openconfig_write_macs(const struct cli_store *store, struct text *out)
{
	text_add(out, "<fdb><mac-table><entries>");
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		const uint8_t *mac = row->mac.bytes;
		char text[20];

		(void)text_format(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
				  mac[1], mac[2], mac[3], mac[4], mac[5]);
		text_addf(out,
			  "<entry><mac-address>%s</mac-address><vlan>%u</vlan><state>"
			  "<mac-address>%s</mac-address><vlan>%u</vlan><entry-type>DYNAMIC"
			  "</entry-type></state><interface><interface-ref><state><interface>"
			  "Ethernet1/%u</interface></state></interface-ref></interface></entry>",
			  text, row->vid, text, row->vid, row->port);
	}
	text_add(out, "</entries></mac-table></fdb>");
}

static void switch_netconf_openconfig_write_neighbors(const struct cli_store *store,
						      struct text *out)
{
	text_add(out, "<lldp xmlns=\"" OC "lldp\"><interfaces>");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		const uint8_t *mac = row->chassis.bytes;

		text_addf(out,
			  "<interface><name>Ethernet1/%u</name><neighbors><neighbor><id>%zu</id>"
			  "<state><id>%zu</id><chassis-id>%02x:%02x:%02x:%02x:%02x:%02x"
			  "</chassis-id><chassis-id-type>MAC_ADDRESS</chassis-id-type>",
			  row->port, i + 1, i + 1, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
		netconf_add(out, "port-id", row->port_id);
		netconf_add(out, "port-id-type", "INTERFACE_NAME");
		netconf_add(out, "system-name", row->system);
		text_add(out, "</state></neighbor></neighbors></interface>");
	}
	text_add(out, "</interfaces></lldp>");
}

static void switch_netconf_openconfig_write(const struct netconf_device *at,
					    const struct cli_config *config, unsigned what,
					    struct text *out)
{
	text_add(out, "<interfaces xmlns=\"" OC "interfaces\">");
	for (unsigned i = 1; i <= at->device->store->port_count; i++)
		switch_netconf_openconfig_write_port(at, &config->ports[i], i, what, out);
	text_add(out, "</interfaces><network-instances xmlns=\"" OC "network-instance\">"
		      "<network-instance><name>default</name><config><name>default</name>"
		      "</config>");
	if (what & NETCONF_STATE)
		switch_netconf_openconfig_write_macs(at->device->store, out);
	switch_netconf_openconfig_write_vlans(config, what, out);
	text_add(out, "</network-instance></network-instances>");
	if (what & NETCONF_STATE) {
		text_add(out, "<system xmlns=\"" OC "system\"><state>");
		netconf_add(out, "hostname", at->device->hostname);
		text_add(out, "</state></system>");
		switch_netconf_openconfig_write_neighbors(at->device->store, out);
	}
}

/* --- back --- */

static bool switch_netconf_openconfig_read_list(const xmlNode *node, struct cli_port *port,
						struct netconf_error *error)
{
	port->is_allowed_all = !node;
	port->allowed = (struct vlan_set){{0}};
	if (!node)
		vlan_set_add_range(&port->allowed, VLAN_FIRST, VLAN_LAST);
	for (; node; node = netconf_next(node)) {
		char text[NETCONF_TEXT];
		char *dots;
		uint16_t low;
		uint16_t high;

		(void)netconf_text_of(node, text);
		dots = strstr(text, "..");
		if (dots)
			*dots = '\0';
		if (!netconf_vlan(text, "", &low, error) ||
		    !netconf_vlan(dots ? dots + 2 : text, "", &high, error))
			return false;
		if (high < low)
			return netconf_fail(error, "invalid-value", "trunk-vlans");
		vlan_set_add_range(&port->allowed, low, high);
	}
	return true;
}

static bool read_switched(const xmlNode *at, struct cli_port *port, struct netconf_error *error)
{
	char text[NETCONF_TEXT];

	port->native = 0;
	(void)netconf_leaf(at, "interface-mode", text);
	port->mode = strcmp(text, "TRUNK") == 0 ? CLI_TRUNK : CLI_ACCESS;
	if (port->mode == CLI_ACCESS && text[0] && strcmp(text, "ACCESS") != 0)
		return netconf_fail(error, "invalid-value", "interface-mode %.20s", text);
	if (netconf_child(at, "access-vlan") &&
	    !netconf_vlan(netconf_leaf(at, "access-vlan", text), "", &port->access, error))
		return false;
	if (netconf_child(at, "native-vlan") &&
	    !netconf_vlan(netconf_leaf(at, "native-vlan", text), "", &port->native, error))
		return false;
	if (!switch_netconf_openconfig_read_list(netconf_child(at, "trunk-vlans"), port, error))
		return false;
	return true;
}

static bool switch_netconf_openconfig_read_port(const struct netconf_device *at, const xmlNode *row,
						struct cli_config *fresh,
						struct netconf_error *error)
{
	const xmlNode *switched = netconf_child(row, "ethernet/switched-vlan/config");
	char text[NETCONF_TEXT];
	unsigned number = 0;
	struct cli_port *port;

	(void)netconf_leaf(row, "name", text);
	if (strncmp(text, "Ethernet1/", 10) == 0)
		number = (unsigned)strtoul(text + 10, NULL, 10);
	if (number < 1 || number > at->device->store->port_count)
		return netconf_fail(error, "invalid-value", "no such interface: %.30s", text);
	port = &fresh->ports[number];
	(void)netconf_leaf(row, "config/description", text);
	(void)text_copy(port->description, sizeof(port->description), text);
	port->is_shut = strcmp(netconf_leaf(row, "config/enabled", text), "false") == 0;
	return !switched || read_switched(switched, port, error);
}

static bool switch_netconf_openconfig_read_vlan(const xmlNode *row, struct cli_config *fresh,
						struct netconf_error *error)
{
	char text[NETCONF_TEXT];
	uint16_t vid;
	uint16_t again;

	if (!netconf_vlan(netconf_leaf(row, "vlan-id", text), "", &vid, error))
		return false;
	/* A leafref: the key and what it refers to are the same. */
	if (!netconf_vlan(netconf_leaf(row, "config/vlan-id", text), "", &again, error) ||
	    again != vid)
		return netconf_fail(error, "data-missing", "vlan-id refers to no config/vlan-id");
	vlan_set_add(&fresh->vlans, vid);
	(void)netconf_leaf(row, "config/name", text);
	(void)text_copy(fresh->names[vid], sizeof(fresh->names[vid]), text);
	return true;
}

static bool switch_netconf_openconfig_read(const struct netconf_device *at, const xmlNode *data,
					   const struct cli_config *before,
					   struct cli_config *fresh, struct netconf_error *error)
{
	const xmlNode *row = netconf_child(data, "network-instances/network-instance/vlans/vlan");

	(void)before;
	fresh->vlans = (struct vlan_set){{0}};
	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_openconfig_read_vlan(row, fresh, error))
			return false;
	}
	if (!vlan_set_has(&fresh->vlans, 1))
		return netconf_fail(error, "operation-failed", "VLAN 1 stays");
	row = netconf_child(data, "interfaces/interface");
	for (; row; row = netconf_next(row)) {
		if (!switch_netconf_openconfig_read_port(at, row, fresh, error))
			return false;
	}
	return true;
}

const struct netconf_model netconf_openconfig = {
	.name = "openconfig",
	.title = "a switch by OpenConfig's models",
	.family = "nxos",
	.capabilities = switch_netconf_openconfig_capabilities,
	.schema = switch_netconf_openconfig_schema,
	.namespaces = switch_netconf_openconfig_namespaces,
	.has_candidate = true,
	.has_startup = true,
	.has_validate = true,
	.has_confirmed = true,
	.has_rollback = true,
	.write = switch_netconf_openconfig_write,
	.read = switch_netconf_openconfig_read,
};
