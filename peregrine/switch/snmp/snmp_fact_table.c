/* The objects that are read (IF-MIB, IEEE8023-LAG-MIB, BRIDGE-MIB, Q-BRIDGE-MIB, LLDP-MIB of 2005,
 * CISCO-VTP-MIB, CISCO-VLAN-MEMBERSHIP-MIB) and the field that each fills. */
#include "peregrine/switch/snmp/snmp_facts.h"

#define SNMP_FACT_TABLE_IF    1, 3, 6, 1, 2, 1, 2, 2, 1
#define SNMP_FACT_TABLE_IFX   1, 3, 6, 1, 2, 1, 31, 1, 1, 1
#define DOT1D                 1, 3, 6, 1, 2, 1, 17
#define SNMP_FACT_TABLE_DOT1Q 1, 3, 6, 1, 2, 1, 17, 7, 1
#define LLDP                  1, 0, 8802, 1, 1, 2, 1
#define SNMP_FACT_TABLE_VTP   1, 3, 6, 1, 4, 1, 9, 9, 46, 1
#define SNMP_FACT_TABLE_TRUNK SNMP_FACT_TABLE_VTP, 6, 1, 1
#define VM_VLAN               1, 3, 6, 1, 4, 1, 9, 9, 68, 1, 2, 2, 1, 2
#define NONE                  0

#define FIELD(kind, type, field) \
	kind, offsetof(struct type, field), sizeof(((struct type *)0)->field)
#define SNMP_FACT_TABLE_NUMBER(type, field) FIELD(FACT_NUMBER, type, field)
#define TEXT(type, field)                   FIELD(FACT_TEXT, type, field)
#define OCTETS(type, field)                 FIELD(FACT_OCTETS, type, field)
#define MAC(type, field)                    FIELD(FACT_MAC, type, field)

#define INTERFACE_IF(need)    FACT_INTERFACES, FACT_PLAIN, 1, need
#define BRIDGE_IF(need)       FACT_BRIDGE_PORTS, FACT_PLAIN, 1, need
#define INTERFACE             INTERFACE_IF(NEED_ALWAYS)
#define BRIDGE                BRIDGE_IF(NEED_ALWAYS)
#define VLAN                  FACT_VLANS, FACT_PLAIN, 1, NEED_ALWAYS
#define CURRENT               FACT_CURRENT, FACT_PLAIN, 2, NEED_ALWAYS
#define REMOTE                FACT_LLDP_REMOTE, FACT_PLAIN, 3, NEED_ALWAYS
#define SNMP_FACT_TABLE_LOCAL FACT_LLDP_LOCAL, FACT_PLAIN, 1, NEED_ALWAYS

/* clang-format off */
const struct fact_column fact_columns[] = {
	{OID(SNMP_FACT_TABLE_IF, 2), GROUP_NAMES, INTERFACE_IF(NEED_DESCR), TEXT(fact_interface, descr)},
	{OID(SNMP_FACT_TABLE_IFX, 1), GROUP_NAMES, INTERFACE, TEXT(fact_interface, name)},
	{OID(SNMP_FACT_TABLE_IF, 3), GROUP_NAMES, INTERFACE_IF(NEED_TYPE), SNMP_FACT_TABLE_NUMBER(fact_interface, type)},
	{OID(SNMP_FACT_TABLE_IF, 5), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_interface, speed_bps)},
	{OID(SNMP_FACT_TABLE_IF, 6), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), MAC(fact_interface, mac)},
	{OID(SNMP_FACT_TABLE_IF, 7), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_interface, admin)},
	{OID(SNMP_FACT_TABLE_IF, 8), GROUP_INTERFACES, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, oper)},
	{OID(SNMP_FACT_TABLE_IFX, 15), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_interface, speed_mbps)},
	{OID(SNMP_FACT_TABLE_IFX, 18), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), TEXT(fact_interface, alias)},
	{OID(1, 2, 840, 10006, 300, 43, 1, 2, 1, 1, 13), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_interface, lag)},
	{OID(1, 2, 840, 10006, 300, 43, 1, 2, 1, 1, 12), GROUP_INTERFACES, INTERFACE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_interface, lag_selected)},
	{OID(SNMP_FACT_TABLE_IF, 8), GROUP_LINKS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, oper)},
	{OID(SNMP_FACT_TABLE_IF, 9), GROUP_LINKS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, last_change)},
	{OID(SNMP_FACT_TABLE_IF, 8), GROUP_MEMBERS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, oper)},
	{OID(SNMP_FACT_TABLE_IF, 9), GROUP_MEMBERS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, last_change)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 5, 1, 1), GROUP_MEMBERS, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, pvid)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 3, 1, 2), GROUP_MEMBERS, VLAN, OCTETS(fact_vlan, egress)},
	{OID(1, 3, 6, 1, 2, 1, 31, 1, 2, 1, 3), GROUP_STACK, FACT_STACK, FACT_PLAIN, 2, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_pair, status)},

	{OID(DOT1D, 1, 4, 1, 2), GROUP_BRIDGE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, if_index)},
	{OID(DOT1D, 2, 15, 1, 3), GROUP_BRIDGE, BRIDGE_IF(NEED_WHOLE), SNMP_FACT_TABLE_NUMBER(fact_bridge_port, stp)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 5, 1, 1), GROUP_BRIDGE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, pvid)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 5, 1, 2), GROUP_BRIDGE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, frame_types)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 5, 1, 3), GROUP_BRIDGE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, ingress)},

	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 3, 1, 1), GROUP_VLANS, VLAN, TEXT(fact_vlan, name)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 3, 1, 2), GROUP_VLANS, VLAN, OCTETS(fact_vlan, egress)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 3, 1, 4), GROUP_VLANS, VLAN, OCTETS(fact_vlan, untagged)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 3, 1, 5), GROUP_VLANS, VLAN, SNMP_FACT_TABLE_NUMBER(fact_vlan, status)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 2, 1, 3), GROUP_CURRENT, CURRENT, SNMP_FACT_TABLE_NUMBER(fact_vlan, fdb_id)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 2, 1, 4), GROUP_CURRENT, CURRENT, OCTETS(fact_vlan, egress)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 4, 2, 1, 5), GROUP_CURRENT, CURRENT, OCTETS(fact_vlan, untagged)},

	{OID(LLDP, 3, 7, 1, 2), GROUP_LLDP_LOCAL, SNMP_FACT_TABLE_LOCAL, SNMP_FACT_TABLE_NUMBER(fact_lldp, port_subtype)},
	{OID(LLDP, 3, 7, 1, 3), GROUP_LLDP_LOCAL, SNMP_FACT_TABLE_LOCAL, OCTETS(fact_lldp, port)},
	{OID(LLDP, 3, 7, 1, 4), GROUP_LLDP_LOCAL, SNMP_FACT_TABLE_LOCAL, TEXT(fact_lldp, text)},
	{OID(LLDP, 4, 1, 1, 4), GROUP_LLDP_REMOTE, REMOTE, SNMP_FACT_TABLE_NUMBER(fact_lldp, chassis_subtype)},
	{OID(LLDP, 4, 1, 1, 5), GROUP_LLDP_REMOTE, REMOTE, OCTETS(fact_lldp, chassis)},
	{OID(LLDP, 4, 1, 1, 6), GROUP_LLDP_REMOTE, REMOTE, SNMP_FACT_TABLE_NUMBER(fact_lldp, port_subtype)},
	{OID(LLDP, 4, 1, 1, 7), GROUP_LLDP_REMOTE, REMOTE, OCTETS(fact_lldp, port)},
	{OID(LLDP, 4, 1, 1, 8), GROUP_LLDP_REMOTE, REMOTE, TEXT(fact_lldp, text)},
	{OID(LLDP, 4, 1, 1, 9), GROUP_LLDP_REMOTE, REMOTE, TEXT(fact_lldp, system)},

	{OID(SNMP_FACT_TABLE_DOT1Q, 2, 2, 1, 2), GROUP_FDB, FACT_FDB, FACT_ID_MAC, 7, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_fdb, port)},
	{OID(SNMP_FACT_TABLE_DOT1Q, 2, 2, 1, 3), GROUP_FDB, FACT_FDB, FACT_ID_MAC, 7, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_fdb, status)},
	{OID(DOT1D, 4, 3, 1, 2), GROUP_BRIDGE_FDB, FACT_BRIDGE_FDB, FACT_ONLY_MAC, 6, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_fdb, port)},
	{OID(DOT1D, 4, 3, 1, 3), GROUP_BRIDGE_FDB, FACT_BRIDGE_FDB, FACT_ONLY_MAC, 6, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_fdb, status)},

	{OID(SNMP_FACT_TABLE_VTP, 3, 1, 1, 2), GROUP_VTP_VLANS, FACT_VTP_VLANS, FACT_PLAIN, 2, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_vlan, status)},
	{OID(SNMP_FACT_TABLE_VTP, 3, 1, 1, 3), GROUP_VTP_VLANS, FACT_VTP_VLANS, FACT_PLAIN, 2, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_vlan, type)},
	{OID(SNMP_FACT_TABLE_VTP, 3, 1, 1, 4), GROUP_VTP_VLANS, FACT_VTP_VLANS, FACT_PLAIN, 2, NEED_ALWAYS, TEXT(fact_vlan, name)},
	{OID(SNMP_FACT_TABLE_VTP, 2, 1, 1, 3), GROUP_VTP_VLANS, FACT_VTP_DOMAINS, FACT_PLAIN, 1, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_domain, mode)},
	{OID(SNMP_FACT_TABLE_VTP, 4, 1, 1, 3), GROUP_VTP_VLANS, FACT_VTP_DOMAINS, FACT_PLAIN, 1, NEED_ALWAYS, TEXT(fact_domain, owner)},
	{OID(VM_VLAN), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, vm_vlan)},
	{OID(SNMP_FACT_TABLE_TRUNK, 4), GROUP_VTP_PORTS, INTERFACE, OCTETS(fact_interface, enabled[0])},
	{OID(SNMP_FACT_TABLE_TRUNK, 17), GROUP_VTP_PORTS, INTERFACE, OCTETS(fact_interface, enabled[1])},
	{OID(SNMP_FACT_TABLE_TRUNK, 18), GROUP_VTP_PORTS, INTERFACE, OCTETS(fact_interface, enabled[2])},
	{OID(SNMP_FACT_TABLE_TRUNK, 19), GROUP_VTP_PORTS, INTERFACE, OCTETS(fact_interface, enabled[3])},
	{OID(SNMP_FACT_TABLE_TRUNK, 5), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, trunk_native)},
	{OID(SNMP_FACT_TABLE_TRUNK, 13), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, trunk_state)},
	{OID(SNMP_FACT_TABLE_TRUNK, 14), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, trunk_status)},
	{OID(SNMP_FACT_TABLE_TRUNK, 3), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, trunk_tagging)},
	{OID(SNMP_FACT_TABLE_IF, 7), GROUP_VTP_PORTS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, admin)},
	{OID(SNMP_FACT_TABLE_VTP, 6, 2), GROUP_VTP_PORTS, FACT_VTP_SERIAL, FACT_PLAIN, 1, NEED_ALWAYS, SNMP_FACT_TABLE_NUMBER(fact_pair, status)},

	{OID(NONE), GROUP_LAGS, INTERFACE, SNMP_FACT_TABLE_NUMBER(fact_interface, lag_group)},
	/* In the order of struct snmp_port_mode, which has their ids. */
	{OID(NONE), GROUP_MODE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, mode)},
	{OID(NONE), GROUP_MODE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, mode_access)},
	{OID(NONE), GROUP_MODE, BRIDGE, SNMP_FACT_TABLE_NUMBER(fact_bridge_port, mode_native)},
	{OID(NONE), GROUP_MODE_EGRESS, VLAN, OCTETS(fact_vlan, trunk_egress)},
};
/* clang-format on */

const size_t fact_column_count = sizeof(fact_columns) / sizeof(fact_columns[0]);

const uint16_t fact_row_sizes[FACT_TABLE_COUNT] = {
	[FACT_INTERFACES] = sizeof(struct fact_interface),
	[FACT_STACK] = sizeof(struct fact_pair),
	[FACT_BRIDGE_PORTS] = sizeof(struct fact_bridge_port),
	[FACT_VLANS] = sizeof(struct fact_vlan),
	[FACT_CURRENT] = sizeof(struct fact_vlan),
	[FACT_LLDP_LOCAL] = sizeof(struct fact_lldp),
	[FACT_LLDP_REMOTE] = sizeof(struct fact_lldp),
	[FACT_FDB] = sizeof(struct fact_fdb),
	[FACT_BRIDGE_FDB] = sizeof(struct fact_fdb),
	[FACT_VTP_VLANS] = sizeof(struct fact_vlan),
	[FACT_VTP_DOMAINS] = sizeof(struct fact_domain),
	[FACT_VTP_SERIAL] = sizeof(struct fact_pair),
};

/* sysDescr, sysObjectID, sysUpTime, sysName, LLDP's chassis subtype and id, dot1qNumVlans,
 * dot1qVlanNumDeletes, lldpStatsRemTablesLastChangeTime. */
const struct snmp_oid fact_scalars[FACT_SCALARS] = {
	OID(1, 3, 6, 1, 2, 1, 1, 1, 0),
	OID(1, 3, 6, 1, 2, 1, 1, 2, 0),
	OID(1, 3, 6, 1, 2, 1, 1, 3, 0),
	OID(1, 3, 6, 1, 2, 1, 1, 5, 0),
	OID(LLDP, 3, 1, 0),
	OID(LLDP, 3, 2, 0),
	OID(SNMP_FACT_TABLE_DOT1Q, 1, 4, 0),
	OID(SNMP_FACT_TABLE_DOT1Q, 4, 1, 0),
	OID(LLDP, 2, 1, 0),
};
