#include "peregrine/control/fabric/link_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/link_private.h"

enum {
	CLAIMED_PERCENT = 50, /* of the certainty, when only one end says so */
	SILENT_PERCENT = 60,  /* and the other end cannot be asked */
	EXCLUDED_CERTAINTY = 70,
};

/* --- switches that look alike --- */

static bool was_entered_before(const struct link_work *work, uint32_t a, uint32_t b)
{
	const struct fabric_source *left = &work->facts->sources[a];
	const struct fabric_source *right = &work->facts->sources[b];

	return left->since_us != right->since_us ? left->since_us < right->since_us
						 : left->id < right->id;
}

/* The first switch that was entered before this one and tells the same chassis id; UINT32_MAX =
 * none. As scene_switches.c has it, which leaves this one alone then. */
static uint32_t link_policy_twin_of(const struct link_work *work, uint32_t source)
{
	struct key_map *map = &work->facts->index->words;
	const char *chassis = reading_of(work, source)->identity.chassis;
	uint32_t twin = UINT32_MAX;

	for (uint32_t entry = key_map_first(map, index_text_key(WORD_CHASSIS, 0, chassis));
	     entry != KEY_NONE; entry = key_map_next(map, entry)) {
		uint32_t other = key_map_value(map, entry);
		const struct switch_reading *reading = reading_of(work, other);

		if (reading && was_entered_before(work, other, source) &&
		    (twin == UINT32_MAX || was_entered_before(work, other, twin)) &&
		    strcasecmp(chassis, reading->identity.chassis) == 0)
			twin = other;
	}
	return twin;
}

static int chassis_shared(struct link_work *work)
{
	for (uint32_t i = 0; i < work->facts->source_count; i++) {
		const struct switch_reading *reading = reading_of(work, i);
		uint32_t twin = reading && reading->identity.chassis[0]
					? link_policy_twin_of(work, i)
					: UINT32_MAX;
		struct fabric_conflict *conflict;
		struct mac mac;
		bool is_proof;

		if (twin == UINT32_MAX)
			continue;
		is_proof = mac_parse(reading->identity.chassis, &mac) == 0 && !mac_is_zero(mac);
		if (fabric_conflict_add(work->ret, "fabric.chassis_shared", false,
					(struct port_ref){i, UINT32_MAX}, &conflict) != 0)
			return -ENOMEM;
		(void)text_format(conflict->message, sizeof(conflict->message),
				  "switch %s reports the chassis id of switch %s (%s)%s",
				  source_name(work, i), source_name(work, twin),
				  reading->identity.chassis,
				  is_proof ? ": it is not configured" : "");
		(void)text_copy(
			conflict->hint, sizeof(conflict->hint),
			"if both addresses are one switch, delete one entry: haasctl switch delete; if one switch is a copy of the other, give it its own chassis id");
	}
	return 0;
}

/* --- links --- */

static bool in_order(const struct link_work *work, struct port_ref a, struct port_ref b)
{
	int64_t left = work->facts->sources[a.source].id;
	int64_t right = work->facts->sources[b.source].id;

	if (left != right)
		return left < right;
	return strcmp(fabric_port(work->facts, a)->name, fabric_port(work->facts, b)->name) < 0;
}

int link_add(struct link_work *work, const struct fabric_link *link)
{
	struct fabric_conclusion *ret = work->ret;
	uint32_t number = (uint32_t)ret->link_count;
	struct fabric_link *added;

	for (uint32_t entry = key_map_first(&ret->link_ends, key_of_port(link->a));
	     entry != KEY_NONE; entry = key_map_next(&ret->link_ends, entry)) {
		const struct fabric_link *other =
			&ret->links[key_map_value(&ret->link_ends, entry)];

		if (port_ref_equal(other->a, link->b) || port_ref_equal(other->b, link->b))
			return 0;
	}
	added = fabric_array_add(&ret->links, &ret->link_count, sizeof(*added));
	if (!added || key_map_add(&ret->link_ends, key_of_port(link->a), number) ||
	    key_map_add(&ret->link_ends, key_of_port(link->b), number))
		return -ENOMEM;
	*added = *link;
	if (!in_order(work, link->a, link->b)) {
		added->a = link->b;
		added->b = link->a;
	}
	return 0;
}

static unsigned link_policy_lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* `nic` NULL: it is not known who. */
static int link_policy_lie(struct link_work *work, const struct claim *claim,
			   const struct fabric_nic *nic)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.lldp_lie", true, claim->from, &conflict))
		return -ENOMEM;
	if (nic)
		(void)text_format(conflict->message, sizeof(conflict->message),
				  "node %s is behind this port and claims by LLDP to be switch %s",
				  nic->node, source_name(work, claim->to));
	else
		(void)text_format(
			conflict->message, sizeof(conflict->message),
			"this port was given to nodes, and a node claims by LLDP to be switch %s",
			source_name(work, claim->to));
	(void)text_copy(
		conflict->hint, sizeof(conflict->hint),
		is_given(work, claim->from)
			? "the port stays an edge port; check the software of the node, or if a switch was plugged in: haasctl port release"
			: "the port stays an edge port; check the software of the node");
	return 0;
}

static int lie_add(struct link_work *work, struct fabric_link link)
{
	link.state = LINK_CONFLICT;
	link.certainty = LIE_CERTAINTY;
	return link_add(work, &link);
}

static int link_policy_confirm(struct link_work *work, struct claim *claim)
{
	struct claim *partner = &work->claims[claim->partner];
	const struct claim *const ends[] = {claim, partner};
	bool believed = true;
	int rc;
	const struct port_match *there = claim_names_port(claim, partner->from.port);
	const struct port_match *back = claim_names_port(partner, claim->from.port);
	/* What both sides say weighs more than how well each spelled it. */
	unsigned each = link_policy_lower(there ? there->certainty : EXCLUDED_CERTAINTY,
					  back ? back->certainty : EXCLUDED_CERTAINTY);
	const struct fabric_link link = {
		.a = claim->from,
		.b = partner->from,
		.state = LINK_CONFIRMED,
		.certainty = there || back ? link_policy_lower(100, each + (100 - each) / 2)
					   : EXCLUDED_CERTAINTY,
		.evidence = there  ? there->how
			    : back ? back->how
				   : "the only one",
	};

	claim->done = true;
	partner->done = true;
	for (size_t end = 0; end < COUNT_OF(ends); end++) {
		if (!is_given(work, ends[end]->from))
			continue;
		rc = link_policy_lie(work, ends[end], node_behind(work, ends[end]->from));
		if (rc)
			return rc;
		believed = false;
	}
	return believed ? link_add(work, &link) : lie_add(work, link);
}

/* --- one end only --- */

static int port_unknown(struct link_work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.port_unknown", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s at port '%.40s', which that switch does not have",
			  source_name(work, claim->to), claim->neighbor->port);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"let LLDP send the interface name as port id");
	return 0;
}

static int one_sided(struct link_work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.one_sided", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s port %s, which hears no neighbour there",
			  source_name(work, claim->to),
			  reading_of(work, claim->to)->ports[claim->ports[0].port].name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"is LLDP on at both ends, and does the cable carry both ways?");
	return 0;
}

static int link_policy_ambiguous(struct link_work *work, const struct claim *claim)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.port_ambiguous", false, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it hears switch %s at port '%.40s', which fits %s and %s",
			  source_name(work, claim->to), claim->neighbor->port,
			  reading_of(work, claim->to)->ports[claim->ports[0].port].name,
			  reading_of(work, claim->to)->ports[claim->ports[1].port].name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"let LLDP send the interface name as port id, on both switches");
	return 0;
}

static int self_link(struct link_work *work, struct claim *claim)
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

static bool other_end_answers(const struct link_work *work, const struct claim *claim)
{
	return work->facts->sources[claim->to].fresh &&
	       (reading_of(work, claim->to)->parts & PART_NEIGHBORS);
}

/* Does another claim say that it ends at the same port? */
static const struct claim *rival_of(struct link_work *work, const struct claim *claim)
{
	const struct claim *rival = NULL;

	for (uint32_t entry =
		     key_map_first(&work->by_end, key_of_pair(claim->to, claim->ports[0].port));
	     entry != KEY_NONE; entry = key_map_next(&work->by_end, entry)) {
		const struct claim *other = &work->claims[key_map_value(&work->by_end, entry)];

		if (other != claim && !port_ref_equal(other->from, claim->from))
			rival = other;
	}
	return rival;
}

static int two_claims(struct link_work *work, const struct claim *claim, const struct claim *rival)
{
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "fabric.two_claims", true, claim->from, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "it claims to end at %s:%s, and %s:%s claims the same",
			  source_name(work, claim->to),
			  reading_of(work, claim->to)->ports[claim->ports[0].port].name,
			  source_name(work, rival->from.source),
			  fabric_port(work->facts, rival->from)->name);
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"one of them hears an old or passed-on LLDP frame: read both switches "
			"again, then look for a hub between them");
	return 0;
}

static int claim_alone(struct link_work *work, struct claim *claim)
{
	const struct fabric_nic *nic = node_behind(work, claim->from);
	const struct claim *rival = claim->port_count ? rival_of(work, claim) : NULL;
	bool answers = other_end_answers(work, claim);
	struct fabric_link link = {.a = claim->from, .state = LINK_CLAIMED};
	int rc = 0;

	if (claim->port_count == 0)
		return nic || is_given(work, claim->from) ? link_policy_lie(work, claim, nic)
							  : port_unknown(work, claim);
	link.b = (struct port_ref){claim->to, claim->ports[0].port};
	link.evidence = claim->ports[0].how;
	link.certainty = claim->ports[0].certainty *
			 (unsigned)(answers ? CLAIMED_PERCENT : SILENT_PERCENT) / 100;
	if ((nic && answers) || is_given(work, claim->from)) {
		rc = link_policy_lie(work, claim, nic);
		return rc ? rc : lie_add(work, link);
	}
	if (rival) {
		link.state = LINK_CONFLICT;
		rc = two_claims(work, claim, rival);
	} else if (claim->port_count > 1 &&
		   claim->ports[0].certainty < 2 * claim->ports[1].certainty) {
		rc = link_policy_ambiguous(work, claim);
	} else if (answers) {
		rc = one_sided(work, claim);
	}
	return rc ? rc : link_add(work, &link);
}

/* The first claim of another switch that was heard at the same port before; NULL = none. */
static const struct claim *heard_before(struct link_work *work, const struct claim *claim)
{
	const struct claim *first = NULL;

	for (uint32_t entry = key_map_first(&work->by_from, key_of_port(claim->from));
	     entry != KEY_NONE; entry = key_map_next(&work->by_from, entry)) {
		const struct claim *other = &work->claims[key_map_value(&work->by_from, entry)];

		if (other < claim && other->to != claim->to)
			first = other;
	}
	return first;
}

static int two_neighbors(struct link_work *work)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		const struct claim *b = &work->claims[i];
		const struct claim *a = heard_before(work, b);
		struct fabric_conflict *conflict;

		if (!a)
			continue;
		if (fabric_conflict_add(work->ret, "fabric.two_neighbors", true, a->from,
					&conflict))
			return -ENOMEM;
		(void)text_format(conflict->message, sizeof(conflict->message),
				  "it hears two switches, %s and %s", source_name(work, a->to),
				  source_name(work, b->to));
		(void)text_copy(
			conflict->hint, sizeof(conflict->hint),
			"a device between them forwards LLDP: a hub, or an unmanaged switch");
	}
	return 0;
}

/* --- all --- */

static int conclude_links(struct link_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->claim_count && rc == 0; i++) {
		struct claim *claim = &work->claims[i];

		if (claim->to == claim->from.source)
			rc = self_link(work, claim);
		else if (claim->partner >= 0 && !claim->done)
			rc = link_policy_confirm(work, claim);
	}
	for (size_t i = 0; i < work->claim_count && rc == 0; i++) {
		if (!work->claims[i].done && work->claims[i].partner < 0)
			rc = claim_alone(work, &work->claims[i]);
	}
	return rc;
}

static void link_policy_work_done(struct link_work *work)
{
	struct key_map *const maps[] = {&work->by_pair, &work->by_from, &work->by_end,
					&work->by_lag, &work->at_ports};

	for (size_t i = 0; i < COUNT_OF(maps); i++) {
		work->ret->compared += maps[i]->compared;
		key_map_done(maps[i]);
	}
	behind_done(work);
	free(work->claims);
}

int link_policy_conclude(const struct fabric_facts *facts, struct fabric_conclusion *ret)
{
	struct link_work work = {.facts = facts, .ret = ret};
	static int (*const steps[])(struct link_work * work) = {
		chassis_shared, behind_make, claims_make,    conclude_links,
		two_neighbors,  lags_derive, kinds_conclude,
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(steps) && rc == 0; i++)
		rc = steps[i](&work);
	link_policy_work_done(&work);
	return rc;
}
