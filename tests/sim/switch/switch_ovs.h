/* Open vSwitch as the data plane of a lab switch: ports and their VLANs by OVSDB (RFC 7047) on the
 * database's Unix socket, learned addresses by vswitchd's control socket, which speaks JSON-RPC as
 * well. Connections stay open; a call blocks for two seconds at most. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"
#include "common/net/vlan_set.h"

#include "tests/sim/switch/switch_fdb_wire.h"
#include "tests/sim/switch/switch_model.h"

#define SWITCH_PORT_NAME 64

struct switch_plane_port {
	char name[SWITCH_PORT_NAME];
	uint32_t number; /* OpenFlow port, our base port */
	uint32_t if_index;
	struct mac mac;
	bool enabled, linked; /* admin and oper state */
	uint8_t stp_state;    /* dot1dStpPortState */
	struct switch_tagging tagging;
	bool bond; /* of several; `number` is the first's */
};

struct switch_plane {
	struct mac mac; /* of the bridge */
	struct switch_plane_port *ports;
	size_t port_count;
};
void switch_plane_done(struct switch_plane *plane);

struct switch_ovs;
MUST_USE int switch_ovs_new(const char *database, const char *control, const char *bridge,
			    struct switch_ovs **ret);
void switch_ovs_free(struct switch_ovs *ovs);
MUST_USE int switch_ovs_read(struct switch_ovs *ovs, struct switch_plane *ret);
/* Another number after each change that was waited for; -1: it does not answer. */
int64_t switch_ovs_configuration(struct switch_ovs *ovs);

/* What Open vSwitch knows of its spanning tree and its bonds. Zeros: it does neither. */
struct switch_plane_health {
	bool rstp;
	uint8_t bridge[8], root[8]; /* priority and MAC */
	uint32_t root_cost, root_port;
	struct {
		uint32_t number; /* OpenFlow port */
		uint8_t designated[8];
	} ports[128];
	size_t port_count;
	struct {
		uint32_t if_index, lag; /* no netdev is a bond: the lag's number is made up */
		uint8_t actor, partner; /* LacpState, its first bit the highest */
		uint8_t partner_system[6];
	} members[64];
	size_t member_count;
};
MUST_USE int switch_ovs_health(struct switch_ovs *ovs, struct switch_plane_health *ret);

struct switch_ovs_change {
	const char *port;
	struct switch_tagging tagging;
};
/* A VLAN table, which Open vSwitch has none of: external_ids of the bridge, "vlan-200" = name. So
 * two programs that are one switch, its command line and its SNMP agent, know of the same VLANs. */
struct switch_ovs_vlans {
	struct vlan_set vids; /* empty: nobody keeps them there */
	char names[VLAN_LIMIT][SWITCH_NAME_SIZE];
};
MUST_USE int switch_ovs_vlans(struct switch_ovs *ovs, struct switch_ovs_vlans *ret);
/* Written only where it differs. */
MUST_USE int switch_ovs_keep_vlans(struct switch_ovs *ovs, const struct switch_ovs_vlans *vlans);

/* All of them in one transaction; returns when the data plane has them. */
MUST_USE int switch_ovs_write(struct switch_ovs *ovs, const struct switch_ovs_change *changes,
			      size_t count);
/* Bond "lagNUMBER" of these ports, with LACP and its fallback, in no VLAN yet; or they are ports of
 * their own again, in none either. Returns when the data plane has it. */
enum { SWITCH_BOND_MAX = 8 };
struct switch_ovs_member {
	const char *name;
	unsigned number; /* OpenFlow port */
};
MUST_USE int switch_ovs_bond(struct switch_ovs *ovs, unsigned number,
			     const struct switch_ovs_member *members, size_t member_count,
			     bool make);
/* A mirror session: the frames that its ports send and get are copied out of another port, or
 * wrapped as ERSPAN II. ERSPAN goes from an address of the switch to a collector, by the routes of
 * Open vSwitch. Kept by value and compared as bytes. */
enum { SWITCH_MIRROR_PORTS = 16 };
struct switch_ovs_mirror {
	unsigned number, id; /* 1 and up; ERSPAN's session */
	size_t count;
	char ports[SWITCH_MIRROR_PORTS][SWITCH_PORT_NAME];
	char target[SWITCH_PORT_NAME], from[16], to[16]; /* target "": it is sent */
};
/* Made, or taken away as it was made; returns when the data plane has it. */
MUST_USE int switch_ovs_mirror(struct switch_ovs *ovs, const struct switch_ovs_mirror *mirror,
			       bool make);
/* The bridge's sFlow: one for all of its ports. `interval` 0: no counters. */
struct switch_ovs_sflow {
	char target[80]; /* "10.0.0.1:6343" */
	uint32_t rate, header, interval;
};
/* NULL: none. Returns when the data plane does so. */
MUST_USE int switch_ovs_sample(struct switch_ovs *ovs, const struct switch_ovs_sflow *sflow);
/* The bridge's OpenFlow rules, all at once, by ovs-ofctl; `path` is where the text may be put. */
MUST_USE int switch_ovs_flows(const char *openflow, const char *path, const char *flows);
/* Some of them, at once: lines "add ..." and "delete ..." (ovs-ofctl(8), add-flows). */
MUST_USE int switch_ovs_rules(const char *openflow, const char *path, const char *lines);
/* Caller frees *ret_rows. */
MUST_USE int switch_ovs_fdb(struct switch_ovs *ovs, struct switch_fdb_row **ret_rows,
			    size_t *ret_count);
