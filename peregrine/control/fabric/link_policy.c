#include "peregrine/control/fabric/link_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/match_policy.h"

enum {
	NODE_FDB_MAX = 4,     /* a port with more MACs behind it is no node's */
	CLAIMED_PERCENT = 50, /* of the certainty, when only one end says so */
	SILENT_PERCENT = 60,  /* and the other end cannot be asked */
	EXCLUDED_CERTAINTY = 70,
	LIE_CERTAINTY = 10,
};

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

struct work {
	const struct fabric_facts *facts;
	struct fabric_conclusion *ret;
	struct claim *claims;
	size_t claim_count;
};

static const char *switch_name(const struct work *work, uint32_t source)
{
	return work->facts->sources[source].name;
}

static const struct switch_reading *reading_of(const struct work *work, uint32_t source)
{
	return work->facts->sources[source].reading;
}

static uint32_t port_index(const struct switch_reading *reading, uint32_t if_index)
{
	const struct switch_port *port = switch_reading_port(reading, if_index);

	return port ? (uint32_t)(port - reading->ports) : UINT32_MAX;
}

/* --- claims ---------------------------------------------------------------- */

static int chassis_shared(struct work *work)
{
	const struct fabric_facts *facts = work->facts;

	for (uint32_t i = 0; i < facts->source_count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			const struct switch_reading *a = facts->sources[i].reading;
			const struct switch_reading *b = facts->sources[j].reading;
			struct fabric_conflict *conflict;

			if (!a || !b || !a->identity.chassis[0] ||
			    strcmp(a->identity.chassis, b->identity.chassis) != 0)
				continue;
			if (fabric_conflict_add(work->ret, "fabric.chassis_shared", true,
						(struct port_ref){i, UINT32_MAX}, &conflict) != 0)
				return -ENOMEM;
			(void)text_format(conflict->message, sizeof(conflict->message),
					  "switches %s and %s tell the same chassis id %s",
					  switch_name(work, j), switch_name(work, i),
					  a->identity.chassis);
			(void)text_copy(conflict->hint, sizeof(conflict->hint),
					"one is a copy of the other, or both addresses are one "
					"switch; their names decide until then");
		}
	}
	return 0;
}

static int port_unknown(struct work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.port_unknown", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s at port '%.40s', which that switch does not have",
			  switch_name(work, claim->to), claim->neighbor->port);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"let LLDP send the interface name as port id");
	return 0;
}

static int claims_of(struct work *work, uint32_t source)
{
	const struct switch_reading *reading = reading_of(work, source);

	for (size_t i = 0; i < reading->neighbor_count; i++) {
		const struct switch_neighbor *neighbor = &reading->neighbors[i];
		const struct match_words words = {.port_subtype = neighbor->port_subtype,
						  .chassis = neighbor->chassis,
						  .port = neighbor->port,
						  .port_text = neighbor->port_text,
						  .system = neighbor->system};
		uint32_t port = port_index(reading, neighbor->if_index);
		int to = match_switch(work->facts, &words);
		struct claim *claim;

		if (port == UINT32_MAX || to < 0)
			continue;
		claim = fabric_array_add(&work->claims, &work->claim_count, sizeof(*claim));
		if (!claim)
			return -ENOMEM;
		claim->from = (struct port_ref){source, port};
		claim->to = (uint32_t)to;
		claim->neighbor = neighbor;
		claim->partner = -1;
		claim->port_count = match_ports(reading_of(work, claim->to), &words, claim->ports);
	}
	return 0;
}

static const struct port_match *names_port(const struct claim *claim, uint32_t port)
{
	for (size_t i = 0; i < claim->port_count; i++) {
		if (claim->ports[i].port == port)
			return &claim->ports[i];
	}
	return NULL;
}

/* --- both ends -------------------------------------------------------------- */

/* How sure two claims are about each other; 0 = they are not about one cable. The port of each is
 * certain at its own end, so what the other calls it need only fit. */
static unsigned mutual(const struct claim *a, const struct claim *b)
{
	const struct port_match *there = names_port(a, b->from.port);
	const struct port_match *back = names_port(b, a->from.port);

	if (a->to != b->from.source || b->to != a->from.source || a == b)
		return 0;
	if (there && back)
		return there->certainty + back->certainty;
	/* One end cannot be told by its port id at all: the other names it. */
	if ((there && b->port_count == 0) || (back && a->port_count == 0))
		return 85;
	return 0;
}

static void pair_up(struct work *work)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		struct claim *claim = &work->claims[i];
		unsigned best = 0;

		for (size_t j = 0; j < work->claim_count; j++) {
			unsigned sure = mutual(claim, &work->claims[j]);

			if (sure > best) {
				best = sure;
				claim->partner = (int)j;
			}
		}
	}
	/* Each must be the other's best. */
	for (size_t i = 0; i < work->claim_count; i++) {
		struct claim *claim = &work->claims[i];

		if (claim->partner >= 0 && work->claims[claim->partner].partner != (int)i &&
		    mutual(claim, &work->claims[claim->partner]) <
			    mutual(&work->claims[claim->partner],
				   &work->claims[work->claims[claim->partner].partner]))
			claim->partner = -1;
	}
}

static size_t count_between(const struct work *work, uint32_t from, uint32_t to, size_t *ret_last)
{
	size_t count = 0;

	for (size_t i = 0; i < work->claim_count; i++) {
		if (work->claims[i].from.source == from && work->claims[i].to == to) {
			count++;
			*ret_last = i;
		}
	}
	return count;
}

/* Exactly one cable in each direction, and no port id that can be read: then it is that one. */
static void pair_by_exclusion(struct work *work)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		struct claim *claim = &work->claims[i];
		size_t back = 0;
		size_t there = 0;

		if (claim->partner >= 0 || claim->port_count > 0 ||
		    claim->to == claim->from.source ||
		    count_between(work, claim->from.source, claim->to, &there) != 1 ||
		    count_between(work, claim->to, claim->from.source, &back) != 1 ||
		    work->claims[back].port_count > 0)
			continue;
		claim->partner = (int)back;
		work->claims[back].partner = (int)i;
	}
}

/* --- links ------------------------------------------------------------------- */

static bool in_order(const struct work *work, struct port_ref a, struct port_ref b)
{
	int64_t left = work->facts->sources[a.source].id;
	int64_t right = work->facts->sources[b.source].id;

	if (left != right)
		return left < right;
	return strcmp(fabric_port(work->facts, a)->name, fabric_port(work->facts, b)->name) < 0;
}

static int link_add(struct work *work, const struct fabric_link *link)
{
	struct fabric_link *added;

	for (size_t i = 0; i < work->ret->link_count; i++) {
		const struct fabric_link *other = &work->ret->links[i];

		if ((port_ref_equal(other->a, link->a) && port_ref_equal(other->b, link->b)) ||
		    (port_ref_equal(other->a, link->b) && port_ref_equal(other->b, link->a)))
			return 0;
	}
	added = fabric_array_add(&work->ret->links, &work->ret->link_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = *link;
	if (!in_order(work, link->a, link->b)) {
		added->a = link->b;
		added->b = link->a;
	}
	return 0;
}

static unsigned lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int confirm(struct work *work, struct claim *claim)
{
	struct claim *partner = &work->claims[claim->partner];
	const struct port_match *there = names_port(claim, partner->from.port);
	const struct port_match *back = names_port(partner, claim->from.port);
	/* What both sides say weighs more than how well each spelled it. */
	unsigned each = lower(there ? there->certainty : EXCLUDED_CERTAINTY,
			      back ? back->certainty : EXCLUDED_CERTAINTY);
	const struct fabric_link link = {
		.a = claim->from,
		.b = partner->from,
		.state = LINK_CONFIRMED,
		.certainty =
			there || back ? lower(100, each + (100 - each) / 2) : EXCLUDED_CERTAINTY,
		.evidence = there  ? there->how
			    : back ? back->how
				   : "the only one",
	};

	claim->done = true;
	partner->done = true;
	return link_add(work, &link);
}

/* --- one end only -------------------------------------------------------------- */

/* Is a node behind this port? Then whoever there calls itself a switch lies, or bridges. */
static const struct fabric_nic *node_behind(const struct work *work, struct port_ref at)
{
	const struct switch_reading *reading = reading_of(work, at.source);
	const struct fabric_nic *nic = NULL;
	size_t macs = 0;

	for (size_t i = 0; i < reading->fdb_count; i++) {
		const struct switch_fdb_entry *entry = &reading->fdb[i];
		struct mac mac;

		if (entry->if_index != reading->ports[at.port].if_index)
			continue;
		memcpy(mac.bytes, entry->mac, sizeof(mac.bytes));
		macs++;
		if (!nic)
			nic = fabric_nic_find(work->facts, mac);
	}
	return macs <= NODE_FDB_MAX ? nic : NULL;
}

static int lie(struct work *work, const struct claim *claim, const struct fabric_nic *nic)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.lldp_lie", true, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "node %s is behind it and says by LLDP that it is switch %s", nic->node,
			  switch_name(work, claim->to));
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"it stays an edge port; look at what runs on the node");
	return 0;
}

static int one_sided(struct work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.one_sided", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s port %s, which hears nothing there",
			  switch_name(work, claim->to),
			  reading_of(work, claim->to)->ports[claim->ports[0].port].name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"is LLDP on at both ends, and does the cable carry both ways?");
	return 0;
}

static int ambiguous(struct work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.port_ambiguous", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s at port '%.40s', which fits %s and %s",
			  switch_name(work, claim->to), claim->neighbor->port,
			  reading_of(work, claim->to)->ports[claim->ports[0].port].name,
			  reading_of(work, claim->to)->ports[claim->ports[1].port].name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"let LLDP send the interface name as port id, on both switches");
	return 0;
}

static int self_link(struct work *work, struct claim *claim)
{
	struct fabric_conflict *conflict;
	struct fabric_link link = {.a = claim->from, .state = LINK_CONFLICT, .evidence = "itself"};

	claim->done = true;
	if (fabric_conflict_add(work->ret, "fabric.self_link", true, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "the switch hears itself%s%s", claim->port_count ? ", from port " : "",
			  claim->port_count
				  ? reading_of(work, claim->to)->ports[claim->ports[0].port].name
				  : "");
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"a cable between two of its own ports, or a loop: unplug it");
	if (claim->port_count == 0 || claim->ports[0].port == claim->from.port)
		return 0;
	link.b = (struct port_ref){claim->to, claim->ports[0].port};
	return link_add(work, &link);
}

static bool other_end_answers(const struct work *work, const struct claim *claim)
{
	return work->facts->sources[claim->to].fresh &&
	       (reading_of(work, claim->to)->parts & PART_NEIGHBORS);
}

/* Does another claim say that it ends at the same port? */
static const struct claim *rival_of(const struct work *work, const struct claim *claim)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		const struct claim *other = &work->claims[i];
		const struct claim *partner =
			other->partner >= 0 ? &work->claims[other->partner] : NULL;
		uint32_t port = partner             ? partner->from.port
				: other->port_count ? other->ports[0].port
						    : UINT32_MAX;

		if (other != claim && other->to == claim->to &&
		    !port_ref_equal(other->from, claim->from) && port == claim->ports[0].port)
			return other;
	}
	return NULL;
}

static int two_claims(struct work *work, const struct claim *claim, const struct claim *rival)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.two_claims", true, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(
		conflict->message, sizeof(conflict->message),
		"it says that it ends at %s:%s, and so does %s:%s", switch_name(work, claim->to),
		reading_of(work, claim->to)->ports[claim->ports[0].port].name,
		switch_name(work, rival->from.source), fabric_port(work->facts, rival->from)->name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"one of them hears an old or passed-on LLDP frame: read both switches "
			"again, then look for a hub between them");
	return 0;
}

static int claim_alone(struct work *work, struct claim *claim)
{
	const struct fabric_nic *nic = node_behind(work, claim->from);
	const struct claim *rival = claim->port_count ? rival_of(work, claim) : NULL;
	bool answers = other_end_answers(work, claim);
	struct fabric_link link = {.a = claim->from, .state = LINK_CLAIMED};
	int rc = 0;

	if (claim->port_count == 0)
		return nic ? lie(work, claim, nic) : port_unknown(work, claim);
	link.b = (struct port_ref){claim->to, claim->ports[0].port};
	link.evidence = claim->ports[0].how;
	link.certainty = claim->ports[0].certainty *
			 (unsigned)(answers ? CLAIMED_PERCENT : SILENT_PERCENT) / 100;
	if (nic && answers) {
		link.state = LINK_CONFLICT;
		link.certainty = LIE_CERTAINTY;
		rc = lie(work, claim, nic);
	} else if (rival) {
		link.state = LINK_CONFLICT;
		rc = two_claims(work, claim, rival);
	} else if (claim->port_count > 1 &&
		   claim->ports[0].certainty < 2 * claim->ports[1].certainty) {
		rc = ambiguous(work, claim);
	} else if (answers) {
		rc = one_sided(work, claim);
	}
	return rc ? rc : link_add(work, &link);
}

static int two_neighbors(struct work *work)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct claim *a = &work->claims[j];
			const struct claim *b = &work->claims[i];
			struct fabric_conflict *conflict;

			if (!port_ref_equal(a->from, b->from) || a->to == b->to)
				continue;
			if (fabric_conflict_add(work->ret, "fabric.two_neighbors", true, a->from,
						&conflict))
				return -ENOMEM;
			(void)text_format(conflict->message, sizeof(conflict->message),
					  "it hears two switches, %s and %s",
					  switch_name(work, a->to), switch_name(work, b->to));
			(void)text_copy(conflict->hint, sizeof(conflict->hint),
					"something between them passes LLDP on: a hub, or a "
					"switch that nobody manages");
			break;
		}
	}
	return 0;
}

/* --- aggregates ------------------------------------------------------------------ */

static uint32_t lag_of(const struct work *work, struct port_ref at)
{
	uint32_t lag = fabric_port(work->facts, at)->lag;

	return lag ? port_index(reading_of(work, at.source), lag) : UINT32_MAX;
}

static int lag_split(struct work *work, struct port_ref lag, uint32_t first, uint32_t second)
{
	struct fabric_conflict *conflict;

	for (size_t i = 0; i < work->ret->conflict_count; i++) {
		if (strcmp(work->ret->conflicts[i].kind, "fabric.lag_split") == 0 &&
		    port_ref_equal(work->ret->conflicts[i].at, lag))
			return 0;
	}
	if (fabric_conflict_add(work->ret, "fabric.lag_split", false, lag, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "members of this aggregate end at switch %s and at switch %s",
			  switch_name(work, first), switch_name(work, second));
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"right when these two are one MLAG pair, else a cable is in the wrong "
			"switch");
	return 0;
}

/* The aggregate's link, from one member's; its certainty is that of the surest member. */
static int lag_link(struct work *work, const struct fabric_link *member)
{
	struct port_ref a = {member->a.source, lag_of(work, member->a)};
	struct port_ref b = {member->b.source, lag_of(work, member->b)};
	struct fabric_link link;

	if (a.port == UINT32_MAX || b.port == UINT32_MAX)
		return 0;
	for (size_t i = 0; i < work->ret->link_count; i++) {
		struct fabric_link *other = &work->ret->links[i];
		bool same_a = port_ref_equal(other->a, a) || port_ref_equal(other->b, a);
		bool same_b = port_ref_equal(other->a, b) || port_ref_equal(other->b, b);

		if (!other->lag)
			continue;
		if (same_a && same_b) {
			other->members++;
			if (member->certainty > other->certainty)
				other->certainty = member->certainty;
			return 0;
		}
		if (same_a && other->a.source != b.source && other->b.source != b.source)
			return lag_split(work, a,
					 other->a.source == a.source ? other->b.source
								     : other->a.source,
					 b.source);
	}
	link = (struct fabric_link){.a = a,
				    .b = b,
				    .state = LINK_CONFIRMED,
				    .certainty = member->certainty,
				    .evidence = "members",
				    .lag = true,
				    .members = 1};
	return link_add(work, &link);
}

static int derive_lags(struct work *work)
{
	size_t members = work->ret->link_count;
	int rc = 0;

	for (size_t i = 0; i < members && rc == 0; i++) {
		const struct fabric_link member = work->ret->links[i];

		if (member.state == LINK_CONFIRMED)
			rc = lag_link(work, &member);
	}
	return rc;
}

/* --- kinds of ports ---------------------------------------------------------------- */

static enum port_kind kind_alone(const struct fabric_source *source, size_t port)
{
	const struct switch_port *row = &source->reading->ports[port];

	/* What it was while its cable was in; a port that never was up is nobody's. An uplink on
	 * which nothing is heard any more may still be one: see is_edge_now(). */
	if (source->prior_kinds && (!row->up || source->prior_kinds[port] == PORT_UPLINK))
		return (enum port_kind)source->prior_kinds[port];
	if (!row->up || (row->base_port == 0 && row->lag == 0 && !row->is_lag))
		return PORT_UNKNOWN;
	return PORT_EDGE;
}

static void kind_raise(const struct work *work, struct port_ref at)
{
	uint32_t lag = lag_of(work, at);

	work->ret->kinds[at.source][at.port] = PORT_UPLINK;
	if (lag != UINT32_MAX)
		work->ret->kinds[at.source][lag] = PORT_UPLINK;
}

static bool is_at_other_edge(const struct work *work, struct mac mac, struct port_ref at)
{
	for (uint32_t source = 0; source < work->facts->source_count; source++) {
		const struct switch_reading *reading = reading_of(work, source);

		for (size_t i = 0; reading && i < reading->fdb_count; i++) {
			struct port_ref other = {source,
						 port_index(reading, reading->fdb[i].if_index)};

			if (memcmp(reading->fdb[i].mac, mac.bytes, 6) == 0 &&
			    other.port != UINT32_MAX && !port_ref_equal(other, at) &&
			    work->ret->kinds[source][other.port] == PORT_EDGE)
				return true;
		}
	}
	return false;
}

/* It was an uplink, and LLDP is silent on it: that alone makes no edge of it, for a port of a
 * tenant would be next. A node of ours that is seen nowhere else does. */
static bool is_edge_now(const struct work *work, struct port_ref at)
{
	const struct fabric_nic *nic =
		fabric_port(work->facts, at)->up ? node_behind(work, at) : NULL;

	return nic && !is_at_other_edge(work, nic->mac, at);
}

static bool has_claim(const struct work *work, struct port_ref at)
{
	for (size_t i = 0; i < work->ret->link_count; i++) {
		if (port_ref_equal(work->ret->links[i].a, at) ||
		    port_ref_equal(work->ret->links[i].b, at))
			return true;
	}
	return false;
}

static void release_uplinks(struct work *work)
{
	for (uint32_t source = 0; source < work->facts->source_count; source++) {
		const struct switch_reading *reading = reading_of(work, source);

		for (uint32_t port = 0; reading && port < reading->port_count; port++) {
			struct port_ref at = {source, port};

			if (work->ret->kinds[source][port] == PORT_UPLINK && !has_claim(work, at) &&
			    is_edge_now(work, at))
				work->ret->kinds[source][port] = PORT_EDGE;
		}
	}
}

static int conclude_kinds(struct work *work)
{
	const struct fabric_facts *facts = work->facts;

	work->ret->source_count = facts->source_count;
	work->ret->kinds = calloc(facts->source_count + 1, sizeof(*work->ret->kinds));
	if (!work->ret->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < facts->source_count; i++) {
		const struct switch_reading *reading = facts->sources[i].reading;

		if (!reading)
			continue;
		work->ret->kinds[i] = calloc(reading->port_count + 1, 1);
		if (!work->ret->kinds[i])
			return -ENOMEM;
		for (size_t port = 0; port < reading->port_count; port++)
			work->ret->kinds[i][port] = (uint8_t)kind_alone(&facts->sources[i], port);
	}
	for (size_t i = 0; i < work->ret->link_count; i++) {
		const struct fabric_link *link = &work->ret->links[i];

		/* A lie makes no uplink; what is claimed by one end may be one, and nothing is
		 * ever parked there. */
		if (link->state == LINK_CONFLICT && link->certainty == LIE_CERTAINTY)
			continue;
		kind_raise(work, link->a);
		if (link->state != LINK_CONFLICT)
			kind_raise(work, link->b);
	}
	release_uplinks(work);
	return 0;
}

int link_policy_conclude(const struct fabric_facts *facts, struct fabric_conclusion *ret)
{
	struct work work = {.facts = facts, .ret = ret};
	int rc = chassis_shared(&work);

	for (uint32_t i = 0; i < facts->source_count && rc == 0; i++) {
		if (facts->sources[i].reading)
			rc = claims_of(&work, i);
	}
	pair_up(&work);
	pair_by_exclusion(&work);
	for (size_t i = 0; i < work.claim_count && rc == 0; i++) {
		struct claim *claim = &work.claims[i];

		if (claim->to == claim->from.source)
			rc = self_link(&work, claim);
		else if (claim->partner >= 0 && !claim->done)
			rc = confirm(&work, claim);
	}
	for (size_t i = 0; i < work.claim_count && rc == 0; i++) {
		if (!work.claims[i].done && work.claims[i].partner < 0)
			rc = claim_alone(&work, &work.claims[i]);
	}
	if (rc == 0)
		rc = two_neighbors(&work);
	if (rc == 0)
		rc = derive_lags(&work);
	if (rc == 0)
		rc = conclude_kinds(&work);
	free(work.claims);
	return rc;
}
