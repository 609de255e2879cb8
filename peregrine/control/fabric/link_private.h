/* Inside of link_policy: claim_policy.c finds the two ends of a cable in the LLDP neighbours of
 * switches. link_policy.c derives links and conflicts from them, lag_policy.c aggregates,
 * kind_policy.c kinds of ports. All lookups are by key: the work grows with the claims, not with
 * their square. */
#pragma once

#include "peregrine/control/fabric/cable_model.h"
#include "peregrine/control/fabric/fabric_index.h"
#include "peregrine/control/fabric/match_policy.h"

/* One switch hears another at one of its ports. */
struct claim {
	struct port_ref from;
	uint32_t to; /* source */
	struct port_match ports[MATCH_MAX];
	size_t port_count;
	const struct switch_neighbor *neighbor;
	int partner; /* the claim of the other end; -1 = none */
	bool done;
};

/* The MACs behind a port, by the FDB. */
struct behind {
	uint32_t entries;
	const struct fabric_nic *nic; /* the first of ours; NULL = none */
};

struct link_work {
	const struct fabric_facts *facts;
	struct fabric_conclusion *ret;
	struct claim *claims;
	size_t claim_count;
	struct key_map by_pair; /* (from.source, to) -> claim */
	struct key_map by_from; /* port -> claim */
	struct key_map by_end;  /* (to, port where it ends) -> claim; made when they are paired */
	struct key_map by_lag;  /* port of an aggregate -> link of it; KEY_NONE = told as split */
	struct key_map
		at_ports; /* index of a NIC -> index in `seen` of the port where it is seen */
	struct port_ref *seen;
	size_t seen_count;
	struct behind **behind; /* per source, per port */
};

static inline const char *source_name(const struct link_work *work, uint32_t source)
{
	return work->facts->sources[source].name;
}

static inline const struct switch_reading *reading_of(const struct link_work *work, uint32_t source)
{
	return work->facts->sources[source].reading;
}

static inline uint32_t port_index(const struct switch_reading *reading, uint32_t if_index)
{
	const struct switch_port *port = switch_reading_port(reading, if_index);

	return port ? (uint32_t)(port - reading->ports) : UINT32_MAX;
}

/* claim_policy.c: fills claims, by_pair, by_from and by_end. -ENOMEM. */
MUST_USE int claims_make(struct link_work *work);
const struct port_match *claim_names_port(const struct claim *claim, uint32_t port);

/* link_policy.c: adds a link if it is missing. -ENOMEM. */
MUST_USE int link_add(struct link_work *work, const struct fabric_link *link);

/* lag_policy.c: the links of aggregates from those of their members. -ENOMEM. */
MUST_USE int lags_derive(struct link_work *work);
/* The aggregate that a port is a member of; UINT32_MAX = none. */
uint32_t lag_of(const struct link_work *work, struct port_ref at);

/* kind_policy.c */
enum {
	NODE_FDB_MAX = 4, /* a port with more MACs behind it does not lead to a node */
	LIE_CERTAINTY = 10,
};
MUST_USE int behind_make(struct link_work *work);
void behind_done(struct link_work *work);
/* True: the port or its aggregate was given to a node. A node there can send any LLDP, and two
 * nodes of one tenant can each claim the other's port. So LLDP from there never makes a cable of
 * the fabric. The FDB cannot replace this test: a node that sends from many addresses looks like a
 * switch. */
bool is_given(const struct link_work *work, struct port_ref at);
/* The node behind this port; NULL = none. A neighbour there that claims to be a switch lies, or the
 * node bridges. */
const struct fabric_nic *node_behind(const struct link_work *work, struct port_ref at);
MUST_USE int kinds_conclude(struct link_work *work);
