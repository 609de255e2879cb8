/* How the SNMP agents of the families differ: constant rows, no control flow per vendor. What a row
 * does not say is plain RFC 4363 (Q-BRIDGE-MIB). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/switch/snmp/snmp_oid.h"

enum snmp_writer {
	SNMP_WRITER_NONE,    /* read only: written by CLI or NETCONF */
	SNMP_WRITER_QBRIDGE, /* dot1qVlanStaticTable and dot1qPortVlanTable */
	SNMP_WRITER_VTP,     /* CISCO-VTP-MIB's edit buffer, vmVlan, four bitmaps */
};

enum snmp_fdb {
	SNMP_FDB_BRIDGE,   /* Q-BRIDGE, then BRIDGE */
	SNMP_FDB_PER_VLAN, /* one BRIDGE-MIB per VLAN: community@vlan, or context vlan-N with v3 */
};

/* A port's mode beside Q-BRIDGE: FASTPATH's and SMI's, by base port. Zero roots: none. */
struct snmp_port_mode {
	struct snmp_oid mode;         /* INTEGER */
	int32_t access, trunk;        /* its values */
	struct snmp_oid access_vlan;  /* of an access port */
	struct snmp_oid native_vlan;  /* of a trunk */
	struct snmp_oid trunk_egress; /* PortList by VLAN: members in trunk mode */
	uint8_t model_at; /* arc of `mode`, and of what saves, that is the model's, taken from
			     sysObjectID at the same place; 0 = none */
};

/* Which group a port belongs to, whether its members are up or not: INTEGER by ifIndex, 0 = none.
 * The aggregate is the interface of that number's name. */
struct snmp_lag_group {
	struct snmp_oid group;
	const char *name; /* before the number */
};

/* One SET of SWITCH_SAVE; all of a dialect's go in one PDU. */
struct snmp_save {
	struct snmp_oid name;
	int32_t value;
	bool row; /* the last arc is a row that is made for this: a number that is free */
};

enum { SNMP_SAVE_SETS = 4 };
/* How it ends, where the answer to the SET is only the beginning. */
struct snmp_save_end {
	struct snmp_oid state;  /* INTEGER in the same row, read until it is `good` or more */
	int32_t good;           /* more is a failure, less is under way */
	struct snmp_oid status; /* RowStatus, destroyed at the end; without a state, before the next
				 * one: rows stay, and there are few */
};

struct snmp_dialect {
	const char *name;
	enum snmp_writer writer;
	enum snmp_fdb fdb;
	bool vlan_by_if_index; /* dot1qVlanStaticTable is indexed by the VLAN's ifIndex: the low 12
				  bits are the VID (OS9) */
	bool add_first;        /* a port is never left without a VLAN: the new one before the old */
	bool text_lists;       /* PortLists are base ports in decimal, "0,513,515" (Junos, unless it
				  is told `port-list bit-map`) */
	bool fdb_id_is_vlan;   /* dot1qFdbId is the VID although dot1qVlanFdbId is empty */
	uint8_t octets_per_unit, ports_per_unit; /* PortList of a stack; 0 = bit = base port */
	struct snmp_port_mode mode;
	struct snmp_lag_group lag;
	struct snmp_save save[SNMP_SAVE_SETS];      /* ended by an empty name */
	struct snmp_save_end save_end;              /* empty: the answer is the end */
	struct snmp_save save_else[SNMP_SAVE_SETS]; /* where `save` is refused */
	/* Moves with each change of configuration, whoever made it; empty: what ports are in is
	 * looked at itself (GROUP_MEMBERS). */
	struct snmp_oid changes;
};

extern const struct snmp_dialect snmp_dialect_qbridge, snmp_dialect_lab, snmp_dialect_procurve,
	snmp_dialect_comware, snmp_dialect_dnos, snmp_dialect_os9, snmp_dialect_ecs,
	snmp_dialect_ios, snmp_dialect_junos, snmp_dialect_read_only;
