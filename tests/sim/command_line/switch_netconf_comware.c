/* HPE Comware 7 (H3C): tables of modules below <top>; what is read is in the namespace data:1.0,
 * what is changed in config:1.0, where only what is not a default is shown. Ports go by ifIndex;
 * the MAC table by a port index that is another. From the vendor's NETCONF guide (its operations,
 * what `replace` does to a row that is not there) and public clients of it. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

#define CONFIG "http://www.hp.com/netconf/config:1.0"
#define DATA   "http://www.hp.com/netconf/data:1.0"

static const char *const switch_netconf_comware_capabilities[] = {
	"urn:h3c:params:netconf:capability:h3c-netconf-ext:1.0",
	"urn:h3c:params:netconf:capability:h3c-save-point:1.0",
	NULL,
};

static const struct netconf_namespace switch_netconf_comware_namespaces[] = {{"", CONFIG},
									     {NULL, NULL}};

static const char *const switch_netconf_comware_schema[] = {
	"top/VLAN/VLANs/VLANID[ID]/ID",
	"top/VLAN/VLANs/VLANID[ID]/Name",
	"top/VLAN/VLANs/VLANID[ID]/Description",
	"top/Ifmgr/Interfaces/Interface[IfIndex]/IfIndex",
	"top/Ifmgr/Interfaces/Interface[IfIndex]/Description",
	"top/Ifmgr/Interfaces/Interface[IfIndex]/AdminStatus",
	"top/Ifmgr/Interfaces/Interface[IfIndex]/LinkType",
	"top/VLAN/AccessInterfaces/Interface[IfIndex]/IfIndex",
	"top/VLAN/AccessInterfaces/Interface[IfIndex]/PVID",
	"top/VLAN/TrunkInterfaces/Interface[IfIndex]/IfIndex",
	"top/VLAN/TrunkInterfaces/Interface[IfIndex]/PVID",
	"top/VLAN/TrunkInterfaces/Interface[IfIndex]/PermitVlanList",
	NULL,
};

static void switch_netconf_comware_write_vlans(const struct cli_config *config, struct text *out)
{
	text_add(out, "<VLANs>");
	for (unsigned vid = vlan_set_next(&config->vlans, 1); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		char name[CLI_NAME_SIZE];

		(void)text_format(name, sizeof(name), "VLAN %04u", vid);
		text_addf(out, "<VLANID><ID>%u</ID>", vid);
		netconf_add(out, "Name", config->names[vid][0] ? config->names[vid] : name);
		text_add(out, "</VLANID>");
	}
	text_add(out, "</VLANs>");
}

static bool is_trunk(const struct cli_port *port)
{
	return port->mode == CLI_TRUNK;
}

static void switch_netconf_comware_write_members(const struct netconf_device *at,
						 const struct cli_config *config, bool trunks,
						 struct text *out)
{
	text_add(out, trunks ? "<TrunkInterfaces>" : "<AccessInterfaces>");
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		const struct cli_port *port = &config->ports[i];
		struct text list = {0};

		if (port->mode == CLI_OFF || is_trunk(port) != trunks)
			continue;
		text_addf(out, "<Interface><IfIndex>%u</IfIndex><PVID>%u</PVID>", i,
			  (unsigned)(trunks ? port->native : port->access));
		vlan_set_text(&port->allowed, &list);
		if (trunks && list.size > 0)
			netconf_add(out, "PermitVlanList", text_get(&list));
		text_add(out, "</Interface>");
		text_done(&list);
	}
	text_add(out, trunks ? "</TrunkInterfaces>" : "</AccessInterfaces>");
}

static void switch_netconf_comware_write_interfaces(const struct netconf_device *at,
						    const struct cli_config *config, bool whole,
						    struct text *out)
{
	text_add(out, "<Ifmgr><Interfaces>");
	for (unsigned i = 1; i <= at->device->store->port_count; i++) {
		const struct cli_port *port = &config->ports[i];
		bool aggregate = at->device->store->is_aggregate[i];

		text_addf(out, "<Interface><IfIndex>%u</IfIndex>", i);
		if (whole)
			text_addf(out,
				  "<Name>%s%u</Name><AbbreviatedName>%s%u</AbbreviatedName>"
				  "<PortIndex>%u</PortIndex><ifType>6</ifType>"
				  "<MAC>74-1F-4A-00-00-%02X</MAC><OperStatus>%u</OperStatus>"
				  "<ActualSpeed>10000000</ActualSpeed>",
				  aggregate ? "Bridge-Aggregation" : "Ten-GigabitEthernet1/0/", i,
				  aggregate ? "BAGG" : "XGE1/0/", i, i + 256, i & 0xffU,
				  port->is_shut ? 2U : 1U);
		if (port->description[0])
			netconf_add(out, "Description", port->description);
		if (whole || port->is_shut)
			netconf_addu(out, "AdminStatus", port->is_shut ? 2U : 1U);
		if ((whole || is_trunk(port)) && port->mode != CLI_OFF)
			netconf_addu(out, "LinkType", is_trunk(port) ? 2U : 1U);
		if (whole && port->mode != CLI_OFF)
			netconf_addu(out, "PVID",
				     (unsigned)(is_trunk(port) ? port->native : port->access));
		text_add(out, "</Interface>");
	}
	text_add(out, "</Interfaces></Ifmgr>");
}

/* Dynamic groups: LACP. Group N is Bridge-Aggregation N. */
static void write_aggregates(const struct cli_store *store, struct text *out)
{
	text_add(out, "<LAGG><LAGGGroups>");
	for (unsigned i = 1; i <= store->port_count; i++) {
		if (store->is_aggregate[i])
			text_addf(
				out,
				"<LAGGGroup><GroupId>%u</GroupId><LinkMode>2</LinkMode><IfIndex>%u"
				"</IfIndex></LAGGGroup>",
				i, i);
	}
	text_add(out, "</LAGGGroups><LAGGMembers>");
	for (unsigned i = 1; i <= store->port_count; i++) {
		if (store->member_of[i])
			text_addf(out,
				  "<LAGGMember><IfIndex>%u</IfIndex><GroupId>%u</GroupId>"
				  "<SelectedStatus>1</SelectedStatus><LacpEnable>true</LacpEnable>"
				  "<LacpMode>1</LacpMode></LAGGMember>",
				  i, (unsigned)store->member_of[i]);
	}
	text_add(out, "</LAGGMembers></LAGG>");
}

static void switch_netconf_comware_write_learned(const struct cli_store *store, struct text *out)
{
	text_add(out, "<LLDP><LLDPNeighbors>");
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		const uint8_t *mac = row->chassis.bytes;

		text_addf(out,
			  "<LLDPNeighbor><TimeMark>0</TimeMark><IfIndex>%u</IfIndex><AgentID>1"
			  "</AgentID><NeighborIndex>%zu</NeighborIndex><ChassisId><SubType>4"
			  "</SubType><Value>%02x%02x-%02x%02x-%02x%02x</Value></ChassisId>"
			  "<PortId><SubType>5</SubType>",
			  row->port, i + 1, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
		netconf_add(out, "Value", row->port_id);
		text_add(out, "</PortId>");
		netconf_add(out, "SystemName", row->system);
		text_add(out, "</LLDPNeighbor>");
	}
	text_add(out, "</LLDPNeighbors></LLDP><MAC><MacUnicastTable>");
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		const uint8_t *mac = row->mac.bytes;

		text_addf(out,
			  "<Unicast><VLANID>%u</VLANID><MacAddress>%02X-%02X-%02X-%02X-%02X-%02X"
			  "</MacAddress><PortIndex>%u</PortIndex><Status>2</Status><Aging>true"
			  "</Aging></Unicast>",
			  row->vid, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
			  row->port + 256U);
	}
	text_add(out, "</MacUnicastTable></MAC>");
}

static void switch_netconf_comware_write_top(const struct netconf_device *at,
					     const struct cli_config *config, bool whole,
					     struct text *out)
{
	text_addf(out, "<top xmlns=\"%s\">", whole ? DATA : CONFIG);
	if (whole) {
		text_add(out, "<Device><Base><Uptime>4711</Uptime>");
		netconf_add(out, "HostName", at->device->hostname);
		text_add(out, "<HostOid>1.3.6.1.4.1.25506.11.1.154</HostOid><HostDescription>HPE "
			      "Comware Platform Software, Software Version 7.1.070"
			      "</HostDescription></Base></Device>");
		switch_netconf_comware_write_learned(at->device->store, out);
		write_aggregates(at->device->store, out);
	}
	switch_netconf_comware_write_interfaces(at, config, whole, out);
	text_add(out, "<VLAN>");
	switch_netconf_comware_write_vlans(config, out);
	switch_netconf_comware_write_members(at, config, false, out);
	switch_netconf_comware_write_members(at, config, true, out);
	text_add(out, "</VLAN></top>");
}

static void switch_netconf_comware_write(const struct netconf_device *at,
					 const struct cli_config *config, unsigned what,
					 struct text *out)
{
	if (what & NETCONF_STATE)
		switch_netconf_comware_write_top(at, config, true, out);
	else
		switch_netconf_comware_write_top(at, config, false, out);
}

/* --- back --- */

static struct cli_port *switch_netconf_comware_port_of(const struct netconf_device *at,
						       const xmlNode *row, struct cli_config *fresh,
						       unsigned *ret_number,
						       struct netconf_error *error)
{
	char text[NETCONF_TEXT];
	unsigned number = (unsigned)strtoul(netconf_leaf(row, "IfIndex", text), NULL, 10);

	if (number < 1 || number > at->device->store->port_count) {
		(void)netconf_fail(error, "invalid-value", "IfIndex %.20s does not exist", text);
		return NULL;
	}
	*ret_number = number;
	return &fresh->ports[number];
}

static bool read_interface(const struct netconf_device *at, const xmlNode *row,
			   struct cli_config *fresh, struct netconf_error *error)
{
	char text[NETCONF_TEXT];
	unsigned number = 0;
	struct cli_port *port = switch_netconf_comware_port_of(at, row, fresh, &number, error);

	if (!port)
		return false;
	(void)netconf_leaf(row, "LinkType", text);
	if (text[0] && strcmp(text, "1") != 0 && strcmp(text, "2") != 0)
		return netconf_fail(error, "invalid-value", "LinkType %.20s", text);
	port->mode = strcmp(text, "2") == 0 ? CLI_TRUNK : CLI_ACCESS;
	/* A port that becomes a trunk carries VLAN 1. */
	if (port->mode == CLI_TRUNK) {
		port->allowed = (struct vlan_set){{0}};
		vlan_set_add(&port->allowed, 1);
	}
	port->is_shut = strcmp(netconf_leaf(row, "AdminStatus", text), "2") == 0;
	(void)netconf_leaf(row, "Description", text);
	(void)text_copy(port->description, sizeof(port->description), text);
	return true;
}

static bool read_pvid(const xmlNode *row, const struct cli_config *fresh, uint16_t *ret,
		      struct netconf_error *error)
{
	char text[NETCONF_TEXT];

	if (!netconf_child(row, "PVID"))
		return true;
	return netconf_vlan(netconf_leaf(row, "PVID", text), "", ret, error) &&
	       (vlan_set_has(&fresh->vlans, *ret) ||
		netconf_fail(error, "operation-failed", "The specified VLAN does not exist."));
}

static bool read_access(const struct netconf_device *at, const xmlNode *row,
			const struct cli_config *before, struct cli_config *fresh,
			struct netconf_error *error)
{
	unsigned number = 0;
	struct cli_port *port = switch_netconf_comware_port_of(at, row, fresh, &number, error);

	if (!port)
		return false;
	if (port->mode == CLI_ACCESS)
		return read_pvid(row, fresh, &port->access, error);
	/* Its row of before, when the link type was changed; else one that cannot be. */
	return before->ports[number].mode == CLI_ACCESS ||
	       netconf_fail(error, "operation-failed", "the interface is not an access port");
}

static bool read_trunk(const struct netconf_device *at, const xmlNode *row,
		       const struct cli_config *before, struct cli_config *fresh,
		       struct netconf_error *error)
{
	unsigned number = 0;
	struct cli_port *port = switch_netconf_comware_port_of(at, row, fresh, &number, error);
	char text[NETCONF_TEXT];

	if (!port)
		return false;
	if (port->mode != CLI_TRUNK)
		return before->ports[number].mode == CLI_TRUNK ||
		       netconf_fail(error, "operation-failed", "the interface is not a trunk port");
	/* Its default VLAN may be one that is not there. */
	if (netconf_child(row, "PVID") &&
	    !netconf_vlan(netconf_leaf(row, "PVID", text), "", &port->native, error))
		return false;
	if (vlan_set_parse(netconf_leaf(row, "PermitVlanList", text), &port->allowed) != 0)
		return netconf_fail(error, "invalid-value", "PermitVlanList %.40s", text);
	return true;
}

static bool switch_netconf_comware_read_vlans(const xmlNode *data, struct cli_config *fresh,
					      struct netconf_error *error)
{
	const xmlNode *row = netconf_child(data, "top/VLAN/VLANs/VLANID");
	char text[NETCONF_TEXT];
	char name[CLI_NAME_SIZE];

	fresh->vlans = (struct vlan_set){{0}};
	for (; row; row = netconf_next(row)) {
		uint16_t vid;

		if (!netconf_vlan(netconf_leaf(row, "ID", text), "", &vid, error))
			return false;
		vlan_set_add(&fresh->vlans, vid);
		(void)netconf_leaf(row, "Name", text);
		(void)text_format(name, sizeof(name), "VLAN %04u", vid);
		if (strlen(text) > 32)
			return netconf_fail(error, "invalid-value", "Name is too long");
		(void)text_copy(fresh->names[vid], sizeof(fresh->names[vid]),
				strcmp(text, name) == 0 ? "" : text);
	}
	if (!vlan_set_has(&fresh->vlans, 1))
		return netconf_fail(error, "operation-failed",
				    "The default VLAN cannot be deleted.");
	return true;
}

/* A VLAN that goes takes its access ports back to VLAN 1, as `undo vlan` does. */
static void leave_deleted(const struct netconf_device *at, const struct cli_config *before,
			  struct cli_config *fresh, xmlNode *rows)
{
	for (xmlNode *row = rows; row; row = (xmlNode *)(uintptr_t)netconf_next(row)) {
		xmlNode *pvid = (xmlNode *)(uintptr_t)netconf_child(row, "PVID");
		char text[NETCONF_TEXT];
		unsigned vid = (unsigned)strtoul(netconf_text_of(pvid, text), NULL, 10);

		if (pvid && vlan_set_has(&before->vlans, vid) && !vlan_set_has(&fresh->vlans, vid))
			xmlNodeSetContent(pvid, (const xmlChar *)"1");
	}
	(void)at;
}

static bool switch_netconf_comware_read(const struct netconf_device *at, const xmlNode *data,
					const struct cli_config *before, struct cli_config *fresh,
					struct netconf_error *error)
{
	const xmlNode *row;

	if (!switch_netconf_comware_read_vlans(data, fresh, error))
		return false;
	for (row = netconf_child(data, "top/Ifmgr/Interfaces/Interface"); row;
	     row = netconf_next(row)) {
		if (!read_interface(at, row, fresh, error))
			return false;
	}
	row = netconf_child(data, "top/VLAN/AccessInterfaces/Interface");
	leave_deleted(at, before, fresh, (xmlNode *)(uintptr_t)row);
	for (; row; row = netconf_next(row)) {
		if (!read_access(at, row, before, fresh, error))
			return false;
	}
	for (row = netconf_child(data, "top/VLAN/TrunkInterfaces/Interface"); row;
	     row = netconf_next(row)) {
		if (!read_trunk(at, row, before, fresh, error))
			return false;
	}
	return true;
}

const struct netconf_model netconf_comware = {
	.name = "comware",
	.title = "HPE Comware 7, VLAN and Ifmgr",
	.family = "comware",
	.capabilities = switch_netconf_comware_capabilities,
	.schema = switch_netconf_comware_schema,
	.namespaces = switch_netconf_comware_namespaces,
	.has_running = true,
	.has_rollback = true,
	.save = "save",
	.replace_needs_target = true,
	.write = switch_netconf_comware_write,
	.read = switch_netconf_comware_read,
};
