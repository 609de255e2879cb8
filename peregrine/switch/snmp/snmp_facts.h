/* An agent's words, column by column, before any conclusion. One table of columns
 * (snmp_fact_table.c) says which object goes where. So a reading can be made, and tested, from a
 * list of (object id, value) alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_dialect.h"

enum fact_table {
	FACT_INTERFACES,   /* ifIndex */
	FACT_STACK,        /* higher ifIndex, lower ifIndex */
	FACT_BRIDGE_PORTS, /* base port */
	FACT_VLANS,        /* dot1qVlanStaticTable's index */
	FACT_CURRENT,      /* TimeMark, VID */
	FACT_LLDP_LOCAL,   /* local port number */
	FACT_LLDP_REMOTE,  /* TimeMark, local port number, remote index */
	FACT_FDB,          /* FdbId, MAC; per-VLAN bridges: VLAN, MAC */
	FACT_BRIDGE_FDB,   /* 0, MAC */
	FACT_VTP_VLANS,    /* domain, VID */
	FACT_VTP_DOMAINS,  /* domain */
	FACT_VTP_SERIAL,   /* 0: vlanTrunkPortSetSerialNo */
	FACT_TABLE_COUNT
};

/* Columns that are walked together, as their rows have one index. */
enum fact_group {
	GROUP_INTERFACES,
	GROUP_NAMES,   /* of GROUP_INTERFACES, what tells one port from another */
	GROUP_LINKS,   /* whether links went or came */
	GROUP_MEMBERS, /* that, and whether a port was moved: of a dialect without `changes` */
	GROUP_STACK,
	GROUP_BRIDGE,
	GROUP_VLANS,
	GROUP_CURRENT,
	GROUP_LLDP_LOCAL,
	GROUP_LLDP_REMOTE,
	GROUP_FDB,
	GROUP_BRIDGE_FDB,
	GROUP_VTP_VLANS,
	GROUP_VTP_PORTS,
	GROUP_LAGS,        /* of the dialect: groups of ports */
	GROUP_MODE,        /* of the dialect: mode, access and native VLAN */
	GROUP_MODE_EGRESS, /* of the dialect: members in trunk mode */
	GROUP_COUNT
};

enum { FACT_KEYS = 3, FACT_ROW_LIMIT = 1 << 18 };

struct fact_octets {
	uint8_t *bytes; /* owned */
	uint32_t size;
};

/* All rows begin with their key; a number that was not read is 0. */
struct fact_interface {
	uint32_t key[FACT_KEYS];
	char descr[64], name[64], alias[64];
	uint8_t mac[6];
	uint32_t type, admin, oper, speed_mbps;
	uint32_t speed_bps;         /* ifSpeed; UINT32_MAX = more than it can say */
	uint32_t last_change;       /* sysUpTime when the link went or came last */
	uint32_t lag, lag_selected; /* dot3adAggPortAttachedAggID, SelectedAggID */
	uint32_t lag_group;         /* the dialect's */
	uint32_t vm_vlan, trunk_state, trunk_status, trunk_native, trunk_tagging; /* Cisco */
	struct fact_octets enabled[4];
};

struct fact_pair {
	uint32_t key[FACT_KEYS];
	uint32_t status;
};

struct fact_bridge_port {
	uint32_t key[FACT_KEYS];
	uint32_t if_index, stp, pvid, frame_types, ingress;
	uint32_t mode, mode_access, mode_native;
};

struct fact_vlan {
	uint32_t key[FACT_KEYS];
	char name[33];
	struct fact_octets egress, untagged, trunk_egress;
	uint32_t status, fdb_id, type;
};

struct fact_domain {
	uint32_t key[FACT_KEYS];
	uint32_t mode;  /* managementDomainLocalMode */
	char owner[64]; /* vtpVlanEditBufferOwner: "" = free */
};

struct fact_lldp {
	uint32_t key[FACT_KEYS];
	uint32_t chassis_subtype, port_subtype;
	struct fact_octets chassis, port;
	char text[64], system[64];
};

struct fact_fdb {
	uint32_t key[FACT_KEYS];
	uint32_t port, status;
};

/* What rows are found by beside their key (snmp_order.h). */
enum fact_order_kind {
	ORDER_BRIDGE_PORTS, /* ifIndex */
	ORDER_STACK,        /* the lower ifIndex */
	ORDER_PORT_NAMES,   /* fact_port_name() */
	ORDER_NAMES,
	ORDER_DESCRS,
	ORDER_ALIASES,
	ORDER_MACS,
	ORDER_NAME_SPELLINGS, /* as port_name_same() */
	ORDER_DESCR_SPELLINGS,
	FACT_ORDER_COUNT
};

struct fact_place {
	uint64_t hash;
	uint32_t row;
};

struct fact_order {
	struct fact_place *places; /* owned, by hash and row; NULL = not made */
	uint32_t count;
};

struct fact_rows {
	uint8_t *rows; /* owned, sorted by key */
	uint32_t count, room;
};

struct snmp_facts {
	const struct snmp_dialect *dialect;
	struct switch_identity identity;
	uint32_t chassis_subtype;
	uint32_t model; /* the arc of sysObjectID that the dialect's `mode` wants */
	struct fact_rows tables[FACT_TABLE_COUNT];
	uint32_t odd;
	char odd_text[128];
	uint32_t left_out[GROUP_COUNT]; /* values with an index or a length that they cannot have */
	bool shows_members;             /* of aggregates, though it may be that there are none */
	uint32_t lost_addresses, lost_port; /* at base ports that are none; the first of these */
	uint32_t lost_neighbors;            /* without chassis or port */
	uint32_t alike;                     /* ports whose names others have, too */
	char alike_name[64];                /* the first of them */
	struct fact_order orders[FACT_ORDER_COUNT];
	bool fixed_frame_types; /* they cannot be written, so they say nothing */
	bool links;             /* GROUP_LINKS was read, of all interfaces */
	bool members;           /* dot1qPvid and the egress lists were read, of all ports */
	bool create_and_wait;   /* rows are not made in one go here */
	bool vm_unsigned;       /* vmVlan is an Unsigned32 here */
	bool by_steps;          /* a port takes what is of another mode only when it is in it */
	const uint32_t *downed; /* ifIndex of ports that were taken down for an edit; borrowed */
	size_t downed_count;
	bool failed;     /* no memory */
	uint64_t *looks; /* NULL, or counts rows that were looked at by something else than key */
};

/* Which object goes into which field. */
enum fact_kind { FACT_NUMBER, FACT_TEXT, FACT_OCTETS, FACT_MAC };
enum fact_index { FACT_PLAIN, FACT_ID_MAC, FACT_ONLY_MAC };

/* What a look at some ports, whose places are known, asks for (snmp_targets.h). */
enum fact_need {
	NEED_ALWAYS,
	NEED_WHOLE, /* nothing: it comes with the whole table alone */
	NEED_DESCR, /* of a port without an ifName */
	NEED_TYPE,  /* of a port that no bridge port says to be one */
};

struct fact_column {
	struct snmp_oid root;
	enum fact_group group;
	enum fact_table table;
	enum fact_index index;
	uint8_t keys; /* arcs of the index */
	enum fact_need need;
	enum fact_kind kind;
	uint16_t at, size; /* of the field */
};

extern const struct fact_column fact_columns[];
extern const size_t fact_column_count;
extern const uint16_t fact_row_sizes[FACT_TABLE_COUNT];

/* The columns of a group for this dialect, with its own ids where it has them; returns how many. */
size_t fact_group_columns(const struct snmp_facts *facts, enum fact_group group,
			  const struct fact_column *ret[SNMP_WALK_COLUMNS],
			  struct snmp_oid ret_roots[SNMP_WALK_COLUMNS]);

static inline void fact_looked(const struct snmp_facts *facts, uint64_t rows)
{
	if (facts->looks)
		*facts->looks += rows;
}

/* One value of one column. `vlan`: whose bridge it is of, 0 = the whole switch's. False: no more
 * room. What makes no sense is counted in `odd` and left out. */
bool snmp_facts_take(struct snmp_facts *facts, const struct fact_column *column,
		     const uint32_t *index, size_t count, const struct snmp_value *value,
		     uint16_t vlan);
/* Remarks on something odd; the first is kept as text. */
void snmp_facts_odd(struct snmp_facts *facts, const char *format, ...) PRINTF_LIKE(2, 3);
/* Forgets the rows of one table. */
void snmp_facts_clear(struct snmp_facts *facts, enum fact_table table);
void snmp_facts_done(struct snmp_facts *facts);

/* Borrowed; NULL when there is none. */
void *fact_find(const struct snmp_facts *facts, enum fact_table table, uint32_t key_0,
		uint32_t key_1, uint32_t key_2);
void *fact_at(const struct snmp_facts *facts, enum fact_table table, uint32_t number);
uint32_t fact_count(const struct snmp_facts *facts, enum fact_table table);
/* Was the port taken down for an edit that did not come to its end? */
bool fact_is_downed(const struct snmp_facts *facts, const struct fact_interface *interface);
/* A field of octets as it will be. False: no memory, and the facts have failed. */
bool fact_set_octets(struct snmp_facts *facts, struct fact_octets *field, const void *bytes,
		     size_t size);

/* --- scalars of PART_IDENTITY --- */

enum { FACT_SCALARS = 9 };
extern const struct snmp_oid fact_scalars[FACT_SCALARS];
/* One of their values; behind them the dialect's `changes`. Returns false for a number that is none
 * of them. */
bool snmp_facts_scalar(struct snmp_facts *facts, size_t number, const struct snmp_value *value);
