/* One fabric as the policies see it: switches, ports, uplinks between them, networks with their
 * VLANs, and which port is meant for which network. Constant facts; how ports are set is a *state*
 * beside it: one pointer per port to its membership, so that a state is copied and changed for the
 * price of pointers. Arrays are borrowed from whoever made the model. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"

#define MODEL_NONE UINT32_MAX /* no such port, switch or network */

enum member_mode { MEMBER_ACCESS, MEMBER_NATIVE, MEMBER_TAGGED };

struct fabric_switch {
	int64_t id;
	const char *name;
	bool spine;
	bool held;         /* not to be changed now: unreachable, not read yet, not managed */
	bool enters_first; /* switch_family.enters_first */
	enum family_apart apart;
	struct vlan_set vlans;    /* that exist on it */
	struct vlan_set reserved; /* never to be used there (switch_family.reserved, range) */
	struct vlan_set moving;   /* that ports of it are in as long as a change is under way */
	uint32_t first_port, port_count;
};

enum port_role {
	PORT_FOREIGN, /* nobody said that it is ours: read, never written */
	PORT_EDGE,    /* has a row in port_intent, or is the aggregate of such ports */
	PORT_UPLINK,  /* one end of a confirmed link: of its VLANs those of our range are ours */
	PORT_FORMER,  /* a link was there and is gone: ours is only to take our VLANs off */
	PORT_MEMBER,  /* of an aggregate, which has the membership for it */
};

struct fabric_port {
	uint32_t at; /* switch */
	const char *name;
	enum port_role role;
	bool up;
	bool held;        /* as for the switch */
	bool busy;        /* a change of it is under way: what is observed is where it leads */
	bool forming;     /* is put into an aggregate or out of one: free until that is done */
	bool alike;       /* other ports of its switch have its name: it cannot be set */
	bool blocked;     /* somebody else may be behind it: free, whatever it is meant for */
	uint32_t carrier; /* the port that has the membership: itself, or its aggregate */
	uint32_t peer;    /* PORT_UPLINK: port at the other end; else MODEL_NONE */
	uint32_t first_member, member_count; /* PORT_EDGE: what it is meant for */
};

struct fabric_member {
	uint32_t network; /* index */
	enum member_mode mode;
	bool apart; /* its ports should not hear each other: nodes that are nobody's yet */
};

struct fabric_network {
	int64_t id, tenant_id; /* 0 = of the system */
	const char *name;
	const char *tenant; /* its name; NULL = of the system */
	uint16_t vlan;      /* 0 = has none (yet) */
};

struct fabric_model {
	const char *name;
	uint16_t vlan_low, vlan_high;
	uint16_t parking, parking_high; /* of free ports, each its own; high 0 = only `parking` */
	struct fabric_switch *switches;
	uint32_t switch_count;
	struct fabric_port *ports; /* those of one switch side by side */
	uint32_t port_count;
	struct fabric_member *members;
	uint32_t member_count;
	struct fabric_network *networks;
	uint32_t network_count;
};

/* Of port i; NULL = the switch shows no membership for it, so it forwards nothing. */
typedef const struct port_vlans *port_state;

/* In our range, or the parking VLAN. */
bool model_vlan_is_ours(const struct fabric_model *model, unsigned vlan);
struct vlan_set model_our_vlans(const struct fabric_model *model);
bool model_vlan_is_parking(const struct fabric_model *model, unsigned vlan);
/* Index of the network whose VLAN it is, or MODEL_NONE. */
uint32_t model_network_of(const struct fabric_model *model, unsigned vlan);
/* On the wire a trunk of its native VLAN alone is an access port, and switches show it as either:
 * `trunk` says that there are tags, or that untagged frames are dropped. */
struct port_vlans port_vlans_plain(const struct port_vlans *vlans);
/* tagged and native together. */
struct vlan_set port_vlans_all(const struct port_vlans *vlans);
/* Puts them into `set`. */
void port_vlans_add_to(const struct port_vlans *vlans, struct vlan_set *set);
/* "trunk native 5 tagged 7-9", "access 5", "nothing". */
void port_vlans_text(const struct port_vlans *vlans, struct text *ret);

/* Where new memberships live; freed as a whole. Zero bytes are an empty pool. */
struct state_pool {
	struct state_block *first;
};
/* One that is equal and lives as long as the pool: `like` itself (may be NULL) if that is, the same
 * one for every pool if there is but an untagged VLAN, else a copy. NULL: no memory. */
port_state state_pool_add(struct state_pool *pool, const struct port_vlans *vlans, port_state like);
void state_pool_done(struct state_pool *pool);
