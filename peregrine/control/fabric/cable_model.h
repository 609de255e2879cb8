/* Facts for the policies of the fabric, and their conclusions. All pointers are borrowed; times are
 * wall clock in us. A port is named by two indexes: that of its switch in the sources, and its own
 * in that switch's reading. So no name is looked up twice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/mac.h"

#include "peregrine/control/fabric/key_map.h"
#include "peregrine/switch/switch_driver.h"

enum port_kind { PORT_UNKNOWN, PORT_EDGE, PORT_UPLINK, PORT_KIND_COUNT };
extern const char *const port_kind_words[PORT_KIND_COUNT];

/* One switch. */
struct fabric_source {
	int64_t id, fabric_id;
	int64_t since_us; /* when the operator added it: of two entries for one switch, the later is not configured */
	const char *name;
	const struct switch_reading *reading; /* NULL = it was never read */
	bool fresh;                           /* it answers now */
	bool silent;                          /* it was asked, and does not */
	int64_t read_us;
	const uint8_t *prior_kinds; /* enum port_kind per port of the reading; NULL = none yet */
	const uint8_t *given;       /* enum port_given per port; NULL = none was */
	const uint32_t *
		bundle; /* per port: the aggregate of ours that it is in or was in last, from 1; 0 = none; NULL = no port has one */
	const int64_t *holder;  /* per port: the node that it was given to and that may still use
				   it; 0 = nobody; NULL = of none */
	const int64_t *cut_us;  /* per port: when it was last seen without a link; NULL = never */
	const uint8_t *fdb_old; /* per FDB entry: from before that; NULL = none is */
	/* per port: index + 1 of the switch at the other end of its last known cable. Set only
	 * while that switch was not read since we started; 0 = none; NULL = no port has one */
	const uint32_t *unread;
};

/* A known NIC, with the LLDP neighbour that the node's agent heard on it (empty = none). */
struct fabric_nic {
	struct mac mac;
	int64_t node_id, tenant_id; /* tenant 0 = nobody's */
	bool off;                   /* its node is known to be switched off */
	bool on;                    /* and to be on; neither = not known */
	bool starting; /* on, or declared, for so short that it may not have sent yet */
	bool idle; /* no tenant's OS is meant to run on it: it has none, or is being installed */
	const char *node, *name;
	const char *heard_chassis, *heard_port, *heard_system;
	int64_t heard_us;
};

/* Option 82 of a DHCP request, as the rules of the site read it. */
struct fabric_sighting {
	struct mac mac;
	const char *switch_name, *port;
	int64_t seen_us;
};

struct port_ref {
	uint32_t source, port;
};

/* The place of a MAC by the last conclusion. */
struct fabric_prior {
	struct mac mac;
	struct port_ref at;
	bool has_left; /* it moved here from `left`, where its old FDB entry still ages */
	struct port_ref left;
	unsigned moves;  /* within the last FABRIC_MOVES_US */
	int64_t seen_us; /* by FDB or LLDP; 0 = never */
	bool has_home;   /* it was seen at a port with an intent, and the intent has not changed */
	struct port_ref home;
	int64_t home_version, home_us; /* of port_intent; of the reading that showed it there */
};
#define FABRIC_MOVES_US ((int64_t)600 * 1000000)

struct fabric_index;

struct fabric_facts {
	const struct fabric_source *sources;
	size_t source_count;
	const struct fabric_nic *nics; /* sorted by mac_key */
	size_t nic_count;
	const struct fabric_sighting *sightings;
	size_t sighting_count;
	const struct fabric_prior *priors; /* sorted by mac_key */
	size_t prior_count;
	struct fabric_index *index; /* fabric_index_make(): before any policy */
};

enum link_state { LINK_CONFIRMED, LINK_CLAIMED, LINK_CONFLICT, LINK_STATE_COUNT };
extern const char *const link_state_words[LINK_STATE_COUNT];

struct fabric_link {
	struct port_ref a, b; /* a before b by (source id, port name) */
	enum link_state state;
	unsigned certainty;   /* 0..100 */
	const char *evidence; /* one word: how the far port was found; static */
	bool lag;             /* derived from its members */
	unsigned members;
};

/* A fault of the fabric for a person to check. */
struct fabric_conflict {
	const char *kind;   /* "fabric.two_neighbors"; static */
	bool warning;       /* else for information */
	struct port_ref at; /* port UINT32_MAX = the switch as a whole */
	char message[200];
	char hint[200];
};

enum place_source {
	PLACE_FDB = 1 << 0,
	PLACE_LLDP = 1 << 1,
	PLACE_AGENT = 1 << 2,
	PLACE_OPTION82 = 1 << 3,
	PLACE_EARLIER = 1 << 4 /* the MAC is silent now, and its port kept its link */
};

/* Where a MAC is plugged in. */
struct fabric_place {
	struct mac mac;
	struct port_ref at;
	unsigned certainty;
	unsigned sources; /* bits of enum place_source */
	uint16_t vlan;    /* that the FDB shows; 0 = none */
	bool doubted;     /* it is also seen at another port */
	int64_t seen_us;
};

/* All owned. */
struct fabric_conclusion {
	uint8_t **kinds; /* per source: enum port_kind per port of its reading; NULL = not read */
	size_t source_count;
	struct fabric_link *links;
	size_t link_count;
	struct key_map link_ends;    /* port of either end -> link */
	struct fabric_place *places; /* sorted by mac_key */
	size_t place_count;
	struct fabric_place
		*strays; /* ports where a MAC is heard although its own port kept its link */
	size_t stray_count;
	struct fabric_conflict *conflicts;
	size_t conflict_count;
	uint64_t
		compared; /* entries that were compared, besides those of link_ends and the index */
};

void fabric_conclusion_done(struct fabric_conclusion *conclusion);
/* The next free element of a growing array, zeroed; NULL = no memory. `items` is the address of the
 * pointer to it. */
void *fabric_array_add(void *items, size_t *count, size_t size);
/* -ENOMEM. */
MUST_USE int fabric_conflict_add(struct fabric_conclusion *conclusion, const char *kind,
				 bool warning, struct port_ref at, struct fabric_conflict **ret);

static inline const struct switch_port *fabric_port(const struct fabric_facts *facts,
						    struct port_ref ref)
{
	return &facts->sources[ref.source].reading->ports[ref.port];
}
/* NULL = not one of our NICs. */
const struct fabric_nic *fabric_nic_find(const struct fabric_facts *facts, struct mac mac);
/* The best link that ends at this port; NULL = none. */
const struct fabric_link *fabric_link_at(struct fabric_conclusion *conclusion, struct port_ref at);
const struct fabric_place *fabric_place_find(const struct fabric_conclusion *conclusion,
					     struct mac mac);
static inline uint64_t key_of_port(struct port_ref at)
{
	return key_of_pair(at.source, at.port);
}
static inline bool port_ref_equal(struct port_ref a, struct port_ref b)
{
	return a.source == b.source && a.port == b.port;
}
/* True: equal ports, or an aggregate and one of its members, which share a neighbour. */
static inline bool fabric_same_place(const struct fabric_facts *facts, struct port_ref a,
				     struct port_ref b)
{
	const struct switch_port *x;
	const struct switch_port *y;

	if (a.source != b.source || a.port == b.port)
		return port_ref_equal(a, b);
	x = fabric_port(facts, a);
	y = fabric_port(facts, b);
	return (x->lag && (x->lag == y->lag || x->lag == y->if_index)) ||
	       (y->lag && y->lag == x->if_index);
}
