#include <errno.h>

#include "peregrine/control/fabric/link_private.h"

static int claims_of(struct link_work *work, uint32_t source)
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
		uint32_t number = (uint32_t)work->claim_count;
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
		if (key_map_add(&work->by_pair, key_of_pair(source, claim->to), number) ||
		    key_map_add(&work->by_from, key_of_port(claim->from), number))
			return -ENOMEM;
		claim->port_count = match_ports(work->facts, claim->to, &words, claim->ports);
	}
	return 0;
}

const struct port_match *claim_names_port(const struct claim *claim, uint32_t port)
{
	for (size_t i = 0; i < claim->port_count; i++) {
		if (claim->ports[i].port == port)
			return &claim->ports[i];
	}
	return NULL;
}

/* --- both ends --- */

/* How sure two claims are about each other; 0 = they are not about one cable. The port of each is
 * certain at its own end, so what the other calls it need only fit. */
static unsigned claim_policy_mutual(const struct claim *a, const struct claim *b)
{
	const struct port_match *there = claim_names_port(a, b->from.port);
	const struct port_match *back = claim_names_port(b, a->from.port);

	if (a->to != b->from.source || b->to != a->from.source || a == b)
		return 0;
	if (there && back)
		return there->certainty + back->certainty;
	/* One end cannot be told by its port id at all: the other names it. */
	if ((there && b->port_count == 0) || (back && a->port_count == 0))
		return 85;
	return 0;
}

/* The claims of the other end that could be about the same cable are those between the same two
 * switches; of equals the first. */
static void pair_one(struct link_work *work, struct claim *claim)
{
	struct key_map *map = &work->by_pair;
	unsigned best = 0;

	for (uint32_t entry = key_map_first(map, key_of_pair(claim->to, claim->from.source));
	     entry != KEY_NONE; entry = key_map_next(map, entry)) {
		uint32_t other = key_map_value(map, entry);
		unsigned sure = claim_policy_mutual(claim, &work->claims[other]);

		if (sure > 0 && sure >= best) {
			best = sure;
			claim->partner = (int)other;
		}
	}
}

static void pair_up(struct link_work *work)
{
	for (size_t i = 0; i < work->claim_count; i++)
		pair_one(work, &work->claims[i]);
	/* Each must be the other's best. */
	for (size_t i = 0; i < work->claim_count; i++) {
		struct claim *claim = &work->claims[i];
		const struct claim *partner =
			claim->partner >= 0 ? &work->claims[claim->partner] : NULL;

		if (partner && partner->partner >= 0 && partner->partner != (int)i &&
		    claim_policy_mutual(claim, partner) <
			    claim_policy_mutual(partner, &work->claims[partner->partner]))
			claim->partner = -1;
	}
}

/* The one claim from a switch about another; KEY_NONE when there are none or several. */
static uint32_t only_between(struct link_work *work, uint32_t from, uint32_t to)
{
	struct key_map *map = &work->by_pair;
	uint32_t first = key_map_first(map, key_of_pair(from, to));

	if (first == KEY_NONE || key_map_next(map, first) != KEY_NONE)
		return KEY_NONE;
	return key_map_value(map, first);
}

/* Exactly one cable in each direction, and no port id that can be read: then it is that one. */
static void pair_by_exclusion(struct link_work *work)
{
	for (size_t i = 0; i < work->claim_count; i++) {
		struct claim *claim = &work->claims[i];
		uint32_t back;

		if (claim->partner >= 0 || claim->port_count > 0 || claim->to == claim->from.source)
			continue;
		back = only_between(work, claim->to, claim->from.source);
		if (back == KEY_NONE || work->claims[back].port_count > 0 ||
		    only_between(work, claim->from.source, claim->to) != i)
			continue;
		claim->partner = (int)back;
		work->claims[back].partner = (int)i;
	}
}

/* Where each says that it ends. */
static int note_ends(struct link_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->claim_count && rc == 0; i++) {
		const struct claim *claim = &work->claims[i];
		uint32_t port;

		if (claim->partner >= 0)
			port = work->claims[claim->partner].from.port;
		else if (claim->port_count > 0)
			port = claim->ports[0].port;
		else
			continue;
		rc = key_map_add(&work->by_end, key_of_pair(claim->to, port), (uint32_t)i);
	}
	return rc;
}

int claims_make(struct link_work *work)
{
	for (uint32_t i = 0; i < work->facts->source_count; i++) {
		int rc = reading_of(work, i) ? claims_of(work, i) : 0;

		if (rc)
			return rc;
	}
	pair_up(work);
	pair_by_exclusion(work);
	return note_ends(work);
}
