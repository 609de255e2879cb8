/* The NETCONF dialect of a family: the model that it must offer, the requests, the place of each
 * field in the answers, and the edits. Constant rows, no control flow per vendor.
 *
 * Paths are local names from a row downwards, "a/b"; ".." goes up, "*" is any element.
 *
 * Templates are XML with holes:
 *
 *   {port}             the model's name of the port
 *   {holder}, {row}    elements of its kind (struct netconf_port_kind)
 *   {vlan}, {native}   VLAN IDs
 *   {name}             an element with the VLAN's name, or nothing
 *   {list}             "1-3,7": all VLANs that pass
 *   {ranges}           the same as separate elements */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a field of a row is. */
enum netconf_field_kind {
	FIELD_KEY,        /* how the model calls the port, in edits and other rows */
	FIELD_KEY_QUOTED, /* the same, as what stands in quotes at the end of a path to it */
	FIELD_NAME,       /* its name, where the key is a number */
	FIELD_INDEX,      /* ifIndex */
	FIELD_PORT_INDEX, /* a number of its own that the MAC table has */
	FIELD_ALIAS,
	FIELD_ADMIN, /* up, UP, true, 1, if-state-up */
	FIELD_SHUT,  /* is there: shut down */
	FIELD_UP,    /* as FIELD_ADMIN */
	FIELD_MAC,
	FIELD_SPEED, /* bit/s */
	FIELD_KBPS,
	FIELD_LAYER,   /* anything but "Layer2": no bridge port */
	FIELD_MODE,    /* access, ACCESS, 1; trunk, TRUNK, 2; anything else: neither */
	FIELD_IS_PORT, /* is there: a bridge port, an access port if nothing else says more */
	FIELD_IS_ACCESS,
	FIELD_IS_TRUNK, /* is there: that is its mode */
	FIELD_ACCESS,
	FIELD_NATIVE,
	FIELD_LIST, /* "1-3,7", "1..3"; all elements of that name together */
	FIELD_NONE, /* is there: the list is empty */
	FIELD_LAG,  /* the aggregate it is a member of: its name, or its number */
	/* neighbours */
	FIELD_CHASSIS_KIND,
	FIELD_CHASSIS,
	FIELD_PORT_KIND,
	FIELD_PORT,
	FIELD_PORT_TEXT,
	FIELD_SYSTEM,
	/* MAC table */
	FIELD_VLAN,
	/* identity */
	FIELD_OBJECT_ID,
	FIELD_TEXT,
	FIELD_UPTIME_S,
	FIELD_END
};

struct netconf_field {
	enum netconf_field_kind kind;
	const char *path;
};

/* Rows of an answer: those at `path` from <data>, one after another. */
struct netconf_rows {
	const char *path;
	struct netconf_field fields[16];
};

/* Ports whose names begin alike. Ours is ifName's. The model's is `model` and what follows it. */
struct netconf_port_kind {
	const char *ours, *model;
	const char *holder, *row; /* elements around one and of one */
};

struct netconf_dialect {
	const char *name;
	const char *needs; /* namespace that must be offered; NULL: none is named in hellos */

	/* One <get> for VLANs and ports: a reading begins with it, a change before and after. */
	const char *look;
	struct netconf_rows vlans; /* FIELD_VLAN, FIELD_NAME */
	struct netconf_rows ports[6];
	struct netconf_port_kind kinds[16];
	const char *vlan_prefix; /* before the number: "vlan-"; NULL: none */
	uint16_t native_default; /* of a trunk that does not say; 0: none */
	bool list_default_all;   /* a trunk without a list carries everything */
	bool native_in_list;     /* the native VLAN passes only if it is in the list */

	/* NULL: the model has none of it. */
	const char *neighbors_filter, *fdb_filter, *identity_filter;
	struct netconf_rows neighbors, fdb, identity;

	const char *vlan_create, *vlan_delete, *vlan_name; /* the name's element */
	const char *to_access, *to_trunk; /* sent before, where the mode is another; NULL: none */
	const char *port_access, *port_trunk,
		*port_trunk_tagged; /* the last without a native VLAN */
	const char *range;          /* element of {ranges}, with its namespace: "trunk-vlans" */

	const char *save;   /* NULL: <copy-config> where there is a startup configuration */
	uint16_t confirm_s; /* commits wait for our confirmation so long; 0: they do not */
};

extern const struct netconf_dialect netconf_dialect_nxos, netconf_dialect_iosxe,
	netconf_dialect_comware, netconf_dialect_openconfig;

extern const struct netconf_dialect *const netconf_dialects[];
extern const size_t netconf_dialect_count;
