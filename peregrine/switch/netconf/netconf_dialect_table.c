/* The families' rows, from the vendors' YANG models and guides. None was tried on a vendor's device
 * (docs/switches.md). */
#include "common/base/macros.h"

#include "peregrine/switch/netconf/netconf_dialect.h"

/* --- Cisco NX-OS --- */

/* Cisco-NX-OS-device: the object tree of the switch. A port's membership is four leaves of its
 * entry, each of which is replaced by merging it; the entry itself is never replaced, it holds
 * everything else of the port. The native VLAN passes when it is in the list. */
#define NX      "http://cisco.com/ns/yang/cisco-nx-os-device"
#define NX_ROOT "<System xmlns=\"" NX "\">"
#define NX_PORT(inside)                                                                     \
	NX_ROOT "<intf-items><{holder}><{row}><id>{port}</id>" inside "</{row}></{holder}>" \
		"</intf-items></System>"
#define NX_VLAN(operation, inside)                                                \
	NX_ROOT "<bd-items><bd-items><BD-list" operation "><fabEncap>vlan-{vlan}" \
		"</fabEncap>" inside "</BD-list></bd-items></bd-items></System>"
#define NX_LEAVES "<id/><descr/><adminSt/><layer/><mode/><accessVlan/><nativeVlan/><trunkVlans/>"
#define NX_FIELDS                                                                           \
	{FIELD_KEY, "id"}, {FIELD_ALIAS, "descr"}, {FIELD_ADMIN, "adminSt"},                \
		{FIELD_LAYER, "layer"}, {FIELD_MODE, "mode"}, {FIELD_ACCESS, "accessVlan"}, \
		{FIELD_NATIVE, "nativeVlan"},                                               \
	{                                                                                   \
		FIELD_LIST, "trunkVlans"                                                    \
	}

const struct netconf_dialect netconf_dialect_nxos = {
	.name = "nxos",
	.needs = NX,
	.look = NX_ROOT "<bd-items><bd-items><BD-list><fabEncap/><name/></BD-list></bd-items>"
			"</bd-items><intf-items><phys-items><PhysIf-list>" NX_LEAVES
			"<phys-items><operSt/></phys-items></PhysIf-list></phys-items><aggr-items>"
			"<AggrIf-list>" NX_LEAVES "<aggrif-items><operSt/></aggrif-items>"
			"<rsmbrIfs-items/></AggrIf-list></aggr-items></intf-items></System>",
	.vlans = {"System/bd-items/bd-items/BD-list",
		  {{FIELD_VLAN, "fabEncap"}, {FIELD_NAME, "name"}}},
	.ports = {{"System/intf-items/phys-items/PhysIf-list",
		   {NX_FIELDS, {FIELD_UP, "phys-items/operSt"}}},
		  {"System/intf-items/aggr-items/AggrIf-list",
		   {NX_FIELDS, {FIELD_UP, "aggrif-items/operSt"}}},
		  {"System/intf-items/aggr-items/AggrIf-list/rsmbrIfs-items/RsMbrIfs-list",
		   {{FIELD_KEY_QUOTED, "tDn"}, {FIELD_LAG, "../../id"}}}},
	.kinds = {{"Ethernet", "eth", "phys-items", "PhysIf-list"},
		  {"port-channel", "po", "aggr-items", "AggrIf-list"}},
	.vlan_prefix = "vlan-",
	.native_default = 1,
	.list_default_all = true,
	.native_in_list = true,
	.neighbors_filter = NX_ROOT "<lldp-items><inst-items><if-items><If-list/></if-items>"
				    "</inst-items></lldp-items></System>",
	.neighbors = {"System/lldp-items/inst-items/if-items/If-list/adj-items/AdjEp-list",
		      {{FIELD_KEY, "../../id"},
		       {FIELD_CHASSIS_KIND, "chassisIdT"},
		       {FIELD_CHASSIS, "chassisIdV"},
		       {FIELD_PORT_KIND, "portIdT"},
		       {FIELD_PORT, "portIdV"},
		       {FIELD_PORT_TEXT, "portDesc"},
		       {FIELD_SYSTEM, "sysName"}}},
	.fdb_filter = NX_ROOT "<mac-items><table-items/></mac-items></System>",
	.fdb = {"System/mac-items/table-items/vlan-items/MacAddressEntry-list",
		{{FIELD_VLAN, "vlan"}, {FIELD_MAC, "macAddress"}, {FIELD_KEY, "port"}}},
	.identity_filter = NX_ROOT "<name/><showversion-items><nxosVersion/></showversion-items>"
				   "</System>",
	.identity = {"System",
		     {{FIELD_SYSTEM, "name"}, {FIELD_TEXT, "showversion-items/nxosVersion"}}},
	.vlan_create = NX_VLAN("", "{name}"),
	.vlan_delete = NX_VLAN(" nc:operation=\"remove\"", ""),
	.vlan_name = "name",
	.port_access = NX_PORT("<mode>access</mode><accessVlan>vlan-{native}</accessVlan>"),
	.port_trunk = NX_PORT("<mode>trunk</mode><nativeVlan>vlan-{native}</nativeVlan>"
			      "<trunkVlans>{list}</trunkVlans>"),
	.port_trunk_tagged = NX_PORT("<mode>trunk</mode><nativeVlan>vlan-1</nativeVlan>"
				     "<trunkVlans>{list}</trunkVlans>"),
	.save = "<copy_running_config_src xmlns=\"" NX "\"><startup-config/>"
		"</copy_running_config_src>",
	/* A commit that waits holds the back end busy for all of its time: none. */
};

/* --- Cisco IOS-XE --- */

/* Cisco-IOS-XE-native: the running configuration, word for word, without defaults. VLANs are read
 * where they are (vlan-oper), since a VTP server does not configure them. Each of mode, access and
 * trunk is replaced whole; the rest of `switchport` (port security, ..) stays. The list stands in
 * trunk/allowed/vlan/vlans, which newer releases call deprecated and still take; both are read. */
#define XE    "http://cisco.com/ns/yang/Cisco-IOS-XE-"
#define XE_SW " xmlns=\"" XE "switch\""
#define XE_PORT(inside)                                                              \
	"<native xmlns=\"" XE "native\"><interface><{row}><name>{port}</name>"       \
	"<switchport-config><switchport>" inside "</switchport></switchport-config>" \
	"</{row}></interface></native>"
#define XE_VLAN(operation, inside)                                                       \
	"<native xmlns=\"" XE "native\"><vlan><vlan-list xmlns=\"" XE "vlan\"" operation \
	"><id>{vlan}</id>" inside "</vlan-list></vlan></native>"
#define XE_TRUNK(native)                                                             \
	"<mode" XE_SW " nc:operation=\"replace\"><trunk/></mode><access" XE_SW       \
	" nc:operation=\"remove\"/><trunk" XE_SW " nc:operation=\"replace\">" native \
	"<allowed><vlan><vlans>{list}</vlans></vlan></allowed></trunk>"

const struct netconf_dialect netconf_dialect_iosxe = {
	.name = "iosxe",
	.needs = XE "native",
	.look = "<native xmlns=\"" XE "native\"><interface/></native><vlans xmlns=\"" XE
		"vlan-oper\"><vlan><id/><name/></vlan></vlans><interfaces xmlns=\"" XE
		"interfaces-oper\"><interface><name/><admin-status/><oper-status/><if-index/>"
		"<phys-address/><speed/></interface></interfaces>",
	.vlans = {"vlans/vlan", {{FIELD_VLAN, "id"}, {FIELD_NAME, "name"}}},
	.ports = {{"native/interface/*",
		   {{FIELD_KEY, "name"},
		    {FIELD_ALIAS, "description"},
		    {FIELD_SHUT, "shutdown"},
		    {FIELD_LAG, "channel-group/number"},
		    {FIELD_IS_PORT, "switchport-config/switchport"},
		    {FIELD_IS_ACCESS, "switchport-config/switchport/mode/access"},
		    {FIELD_IS_TRUNK, "switchport-config/switchport/mode/trunk"},
		    {FIELD_ACCESS, "switchport-config/switchport/access/vlan/vlan"},
		    {FIELD_NATIVE, "switchport-config/switchport/trunk/native/vlan/vlan-id"},
		    {FIELD_LIST, "switchport-config/switchport/trunk/allowed/vlan/vlans"},
		    {FIELD_NONE, "switchport-config/switchport/trunk/allowed/vlan/none"},
		    {FIELD_LIST, "switchport-config/switchport/trunk/allowed/vlan-v2/"
				 "vlan-choices/vlans"},
		    {FIELD_NONE, "switchport-config/switchport/trunk/allowed/vlan-v2/"
				 "vlan-choices/none"}}},
		  {"interfaces/interface",
		   {{FIELD_NAME, "name"},
		    {FIELD_INDEX, "if-index"},
		    {FIELD_ADMIN, "admin-status"},
		    {FIELD_UP, "oper-status"},
		    {FIELD_MAC, "phys-address"},
		    {FIELD_SPEED, "speed"}}}},
	.kinds = {{"Gi", "", "", "GigabitEthernet"},
		  {"Te", "", "", "TenGigabitEthernet"},
		  {"Twe", "", "", "TwentyFiveGigE"},
		  {"Fo", "", "", "FortyGigabitEthernet"},
		  {"Hu", "", "", "HundredGigE"},
		  {"Fa", "", "", "FastEthernet"},
		  {"Tw", "", "", "TwoGigabitEthernet"},
		  {"Fi", "", "", "FiveGigabitEthernet"},
		  {"Po", "", "", "Port-channel"}},
	.native_default = 1,
	.list_default_all = true,
	.native_in_list = true,
	.neighbors_filter = "<lldp-entries xmlns=\"" XE "lldp-oper\"/>",
	.neighbors = {"lldp-entries/lldp-entry",
		      {{FIELD_NAME, "local-interface"},
		       {FIELD_PORT, "connecting-interface"},
		       {FIELD_SYSTEM, "device-id"}}},
	.fdb_filter = "<matm-oper-data xmlns=\"" XE "matm-oper\"/>",
	.fdb = {"matm-oper-data/matm-table/matm-mac-entry",
		{{FIELD_VLAN, "../vlan-id-number"}, {FIELD_MAC, "mac"}, {FIELD_NAME, "port"}}},
	.identity_filter = "<native xmlns=\"" XE "native\"><hostname/><version/></native>",
	.identity = {"native", {{FIELD_SYSTEM, "hostname"}, {FIELD_TEXT, "version"}}},
	.vlan_create = XE_VLAN("", "{name}"),
	.vlan_delete = XE_VLAN(" nc:operation=\"remove\"", ""),
	.vlan_name = "name",
	.port_access =
		XE_PORT("<mode" XE_SW " nc:operation=\"replace\"><access/></mode><access" XE_SW
			" nc:operation=\"replace\"><vlan><vlan>{native}</vlan></vlan>"
			"</access><trunk" XE_SW " nc:operation=\"remove\"/>"),
	.port_trunk = XE_PORT(XE_TRUNK("<native><vlan><vlan-id>{native}</vlan-id></vlan>"
				       "</native>")),
	.port_trunk_tagged = XE_PORT(XE_TRUNK("")),
	.save = "<save-config xmlns=\"http://cisco.com/yang/cisco-ia\"/>",
	.confirm_s = 30,
};

/* --- HPE Comware --- */

/* Tables below <top>: what is read has the namespace data:1.0, what is changed config:1.0. Ports go
 * by ifIndex; the MAC table has a port index of its own. A row is replaced whole; one that is not
 * there cannot be, so the link type goes first, by itself: a port on its way from one mode to the
 * other is in VLAN 1. */
#define HP_DATA         "http://www.hp.com/netconf/data:1.0"
#define HP_CONFIG       "http://www.hp.com/netconf/config:1.0"
#define HP_EDIT(inside) "<top xmlns=\"" HP_CONFIG "\">" inside "</top>"
#define HP_LINK(type)                                                                    \
	HP_EDIT("<Ifmgr><Interfaces><Interface><IfIndex>{port}</IfIndex><LinkType>" type \
		"</LinkType></Interface></Interfaces></Ifmgr>")
#define HP_TRUNK(pvid)                                                                       \
	HP_EDIT("<VLAN><TrunkInterfaces><Interface nc:operation=\"replace\"><IfIndex>{port}" \
		"</IfIndex><PVID>" pvid "</PVID><PermitVlanList>{list}</PermitVlanList>"     \
		"</Interface></TrunkInterfaces></VLAN>")

const struct netconf_dialect netconf_dialect_comware = {
	.name = "comware",
	.look = "<top xmlns=\"" HP_DATA "\"><Ifmgr><Interfaces><Interface><IfIndex/><Name/>"
		"<PortIndex/><Description/><AdminStatus/><OperStatus/><LinkType/><MAC/>"
		"<ActualSpeed/></Interface></Interfaces></Ifmgr><VLAN><VLANs><VLANID><ID/><Name/>"
		"</VLANID></VLANs><AccessInterfaces/><TrunkInterfaces/></VLAN><LAGG><LAGGMembers>"
		"<LAGGMember><IfIndex/><GroupId/></LAGGMember></LAGGMembers></LAGG></top>",
	.vlans = {"top/VLAN/VLANs/VLANID", {{FIELD_VLAN, "ID"}, {FIELD_NAME, "Name"}}},
	.ports =
		{{"top/Ifmgr/Interfaces/Interface",
		  {{FIELD_KEY, "IfIndex"},
		   {FIELD_NAME, "Name"},
		   {FIELD_INDEX, "IfIndex"},
		   {FIELD_PORT_INDEX, "PortIndex"},
		   {FIELD_ALIAS, "Description"},
		   {FIELD_ADMIN, "AdminStatus"},
		   {FIELD_UP, "OperStatus"},
		   {FIELD_MAC, "MAC"},
		   {FIELD_KBPS, "ActualSpeed"},
		   {FIELD_MODE, "LinkType"}}},
		 {"top/VLAN/AccessInterfaces/Interface",
		  {{FIELD_KEY, "IfIndex"}, {FIELD_ACCESS, "PVID"}}},
		 {"top/VLAN/TrunkInterfaces/Interface",
		  {{FIELD_KEY, "IfIndex"}, {FIELD_NATIVE, "PVID"}, {FIELD_LIST, "PermitVlanList"}}},
		 /* Groups from 1 to 16384 are the Bridge-Aggregation of that number. */
		 {"top/LAGG/LAGGMembers/LAGGMember",
		  {{FIELD_KEY, "IfIndex"}, {FIELD_LAG, "GroupId"}}}},
	.native_default = 1,
	.native_in_list = true,
	.neighbors_filter = "<top xmlns=\"" HP_DATA "\"><LLDP><LLDPNeighbors/></LLDP></top>",
	.neighbors = {"top/LLDP/LLDPNeighbors/LLDPNeighbor",
		      {{FIELD_INDEX, "IfIndex"},
		       {FIELD_CHASSIS_KIND, "ChassisId/SubType"},
		       {FIELD_CHASSIS, "ChassisId/Value"},
		       {FIELD_PORT_KIND, "PortId/SubType"},
		       {FIELD_PORT, "PortId/Value"},
		       {FIELD_PORT_TEXT, "PortDesc"},
		       {FIELD_SYSTEM, "SystemName"}}},
	.fdb_filter = "<top xmlns=\"" HP_DATA "\"><MAC><MacUnicastTable><Unicast><VLANID/>"
		      "<MacAddress/><PortIndex/></Unicast></MacUnicastTable></MAC></top>",
	.fdb = {"top/MAC/MacUnicastTable/Unicast",
		{{FIELD_VLAN, "VLANID"},
		 {FIELD_MAC, "MacAddress"},
		 {FIELD_PORT_INDEX, "PortIndex"}}},
	.identity_filter = "<top xmlns=\"" HP_DATA "\"><Device><Base/></Device></top>",
	.identity = {"top/Device/Base",
		     {{FIELD_SYSTEM, "HostName"},
		      {FIELD_OBJECT_ID, "HostOid"},
		      {FIELD_TEXT, "HostDescription"},
		      {FIELD_UPTIME_S, "Uptime"}}},
	.vlan_create =
		HP_EDIT("<VLAN><VLANs><VLANID><ID>{vlan}</ID>{name}</VLANID></VLANs></VLAN>"),
	.vlan_delete = HP_EDIT("<VLAN><VLANs><VLANID nc:operation=\"remove\"><ID>{vlan}</ID>"
			       "</VLANID></VLANs></VLAN>"),
	.vlan_name = "Name",
	.to_access = HP_LINK("1"),
	.to_trunk = HP_LINK("2"),
	.port_access = HP_EDIT("<VLAN><AccessInterfaces><Interface nc:operation=\"replace\">"
			       "<IfIndex>{port}</IfIndex><PVID>{native}</PVID></Interface>"
			       "</AccessInterfaces></VLAN>"),
	.port_trunk = HP_TRUNK("{native}"),
	.port_trunk_tagged = HP_TRUNK("1"),
	.save = "<save OverWrite=\"true\"/>",
};

/* --- OpenConfig --- */

/* Any switch that offers openconfig-interfaces, -vlan and -network-instance. `config` of a
 * switched-vlan is replaced whole: its list of VLANs would only grow by merging. Without a list a
 * trunk carries everything. Whether the native VLAN must be in the list the model does not say: it
 * is sent in it, and it counts as passing wherever it is read. */
#define OC "http://openconfig.net/yang/"
#define OC_VLANS(inside)                                            \
	"<network-instances xmlns=\"" OC                            \
	"network-instance\"><network-instance><name>default</name>" \
	"<vlans>" inside "</vlans></network-instance></network-instances>"
#define OC_PORT(inside)                                                                       \
	"<interfaces xmlns=\"" OC                                                             \
	"interfaces\"><interface><name>{port}</name><ethernet xmlns=\"" OC                    \
	"interfaces/ethernet\"><switched-vlan xmlns=\"" OC "vlan\"><config "                  \
	"nc:operation=\"replace\">" inside "</config></switched-vlan></ethernet></interface>" \
	"</interfaces>"

const struct netconf_dialect netconf_dialect_openconfig = {
	.name = "openconfig",
	.needs = OC "interfaces",
	.look = "<interfaces xmlns=\"" OC
		"interfaces\"><interface><name/><config/><state><ifindex/>"
		"<admin-status/><oper-status/></state><ethernet xmlns=\"" OC
		"interfaces/ethernet\">"
		"<config/><state><mac-address/></state><switched-vlan xmlns=\"" OC
		"vlan\"><config/>"
		"</switched-vlan></ethernet></interface></interfaces>" OC_VLANS("<vlan><vlan-id/>"
										"<config/></vlan>"),
	.vlans = {"network-instances/network-instance/vlans/vlan",
		  {{FIELD_VLAN, "vlan-id"}, {FIELD_NAME, "config/name"}}},
	.ports = {{"interfaces/interface",
		   {{FIELD_KEY, "name"},
		    {FIELD_INDEX, "state/ifindex"},
		    {FIELD_ALIAS, "config/description"},
		    {FIELD_ADMIN, "state/admin-status"},
		    {FIELD_UP, "state/oper-status"},
		    {FIELD_MAC, "ethernet/state/mac-address"},
		    {FIELD_LAG, "ethernet/config/aggregate-id"},
		    {FIELD_MODE, "ethernet/switched-vlan/config/interface-mode"},
		    {FIELD_ACCESS, "ethernet/switched-vlan/config/access-vlan"},
		    {FIELD_NATIVE, "ethernet/switched-vlan/config/native-vlan"},
		    {FIELD_LIST, "ethernet/switched-vlan/config/trunk-vlans"}}}},
	.list_default_all = true,
	.neighbors_filter = "<lldp xmlns=\"" OC "lldp\"><interfaces><interface><name/><neighbors/>"
			    "</interface></interfaces></lldp>",
	.neighbors = {"lldp/interfaces/interface/neighbors/neighbor",
		      {{FIELD_KEY, "../../name"},
		       {FIELD_CHASSIS_KIND, "state/chassis-id-type"},
		       {FIELD_CHASSIS, "state/chassis-id"},
		       {FIELD_PORT_KIND, "state/port-id-type"},
		       {FIELD_PORT, "state/port-id"},
		       {FIELD_PORT_TEXT, "state/port-description"},
		       {FIELD_SYSTEM, "state/system-name"}}},
	.fdb_filter =
		"<network-instances xmlns=\"" OC "network-instance\"><network-instance><name>"
		"default</name><fdb><mac-table/></fdb></network-instance></network-instances>",
	.fdb = {"network-instances/network-instance/fdb/mac-table/entries/entry",
		{{FIELD_VLAN, "vlan"},
		 {FIELD_MAC, "mac-address"},
		 {FIELD_KEY, "interface/interface-ref/state/interface"}}},
	.identity_filter = "<system xmlns=\"" OC "system\"><state/></system>",
	.identity = {"system/state",
		     {{FIELD_SYSTEM, "hostname"}, {FIELD_TEXT, "software-version"}}},
	.vlan_create = OC_VLANS("<vlan><vlan-id>{vlan}</vlan-id><config><vlan-id>{vlan}</vlan-id>"
				"{name}</config></vlan>"),
	.vlan_delete = OC_VLANS("<vlan nc:operation=\"remove\"><vlan-id>{vlan}</vlan-id></vlan>"),
	.vlan_name = "name",
	.port_access = OC_PORT("<interface-mode>ACCESS</interface-mode><access-vlan>{native}"
			       "</access-vlan>"),
	.port_trunk = OC_PORT("<interface-mode>TRUNK</interface-mode><native-vlan>{native}"
			      "</native-vlan>{ranges}"),
	.port_trunk_tagged = OC_PORT("<interface-mode>TRUNK</interface-mode>{ranges}"),
	.range = "trunk-vlans",
	.confirm_s = 30,
};

const struct netconf_dialect *const netconf_dialects[] = {
	&netconf_dialect_nxos,
	&netconf_dialect_iosxe,
	&netconf_dialect_comware,
	&netconf_dialect_openconfig,
};
const size_t netconf_dialect_count = COUNT_OF(netconf_dialects);
