#include "peregrine/control/fabric/place_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/match_policy.h"

#define MINUTE_US ((int64_t)60 * 1000000)

enum { SURE = 70, STRAY = 50, MOVES_MAX = 3, NOW = PLACE_FDB | PLACE_LLDP };

/* How much each source is worth while it is fresh and when it is not. */
static const struct {
	enum place_source source;
	unsigned fresh, old;
	int64_t fresh_us;
} worth[] = {
	{PLACE_LLDP, 95, 60, 10 * MINUTE_US}, {PLACE_AGENT, 95, 60, 10 * MINUTE_US},
	{PLACE_FDB, 80, 45, 10 * MINUTE_US},  {PLACE_OPTION82, 70, 40, 1440 * MINUTE_US},
	{PLACE_EARLIER, 55, 55, 0},
};

/* One thing that says where a MAC is. */
struct hint {
	uint64_t key;
	struct mac mac;
	struct port_ref at;
	unsigned source; /* index into worth */
	unsigned score;
	uint16_t vlan;
	int64_t seen_us;
};

struct work {
	const struct fabric_facts *facts;
	struct fabric_conclusion *ret;
	int64_t now_us;
	struct hint *hints;
	size_t hint_count;
};

static const struct fabric_nic *nic_of_node(const struct work *work, int64_t node_id)
{
	for (size_t i = 0; i < work->facts->nic_count && node_id; i++) {
		if (work->facts->nics[i].node_id == node_id)
			return &work->facts->nics[i];
	}
	return NULL;
}

/* Whose port this is, when it is no place for the NIC; 0 = nothing speaks against it. Anybody can
 * send under the MAC of a node that is silent, and a node that is free or being installed is let
 * into whatever port it is found at. Of the same tenant one may have been moved to another's port.
 */
static int64_t other_holder(const struct work *work, const struct fabric_nic *nic,
			    struct port_ref at)
{
	const int64_t *holder = work->facts->sources[at.source].holder;
	const struct fabric_nic *owner;

	if (!nic || !holder || holder[at.port] == 0 || holder[at.port] == nic->node_id)
		return 0;
	owner = nic_of_node(work, holder[at.port]);
	return nic->idle || !owner || owner->tenant_id != nic->tenant_id ? holder[at.port] : 0;
}

static int tell_foreign(struct work *work, const struct fabric_nic *nic, struct port_ref at,
			int64_t holder)
{
	const struct fabric_nic *nic_there = nic_of_node(work, holder);
	const char *owner = nic_there ? nic_there->node : NULL;
	struct fabric_conflict *conflict;

	if (fabric_conflict_add(work->ret, "nic.foreign_port", true, at, &conflict) != 0)
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "NIC %s of node %s is heard here, and %s%s%s: not believed", nic->name,
			  nic->node, holder ? "the port is node " : "its own port kept its link",
			  holder ? (owner ? owner : "?") : "", holder ? "'s" : "");
	(void)text_format(conflict->hint, sizeof(conflict->hint),
			  "%s%s sends under that address, or a cable was moved",
			  owner ? "node " : "", owner ? owner : "who is there");
	return 0;
}

/* Heard where it is not believed: somebody sends under its address there, or its cable is in the
 * wrong port, and it is moved nowhere by that. guard_policy looks at who it is. */
static int add_stray(struct work *work, const struct fabric_nic *nic,
		     const struct fabric_place *place)
{
	const int64_t *holder = work->facts->sources[place->at.source].holder;
	struct fabric_place *added;

	if (!(place->sources & NOW)) /* the others may be of last week */
		return 0;
	if (place->certainty >= STRAY) {
		added = fabric_array_add(&work->ret->strays, &work->ret->stray_count,
					 sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = *place;
	}
	return tell_foreign(work, nic, place->at, holder ? holder[place->at.port] : 0);
}

static int hint_add(struct work *work, const struct hint *hint)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, hint->mac);
	bool fresh = work->now_us - hint->seen_us <= worth[hint->source].fresh_us;
	unsigned score = fresh ? worth[hint->source].fresh : worth[hint->source].old;
	struct hint *added;

	if (mac_is_zero(hint->mac) || hint->mac.bytes[0] & 1)
		return 0; /* some agents tell rows of MAC 0; a group address is nobody's */
	if (other_holder(work, nic, hint->at))
		return add_stray(work, nic,
				 &(struct fabric_place){.mac = hint->mac,
							.at = hint->at,
							.sources = worth[hint->source].source,
							.certainty = score,
							.vlan = hint->vlan,
							.seen_us = hint->seen_us});
	added = fabric_array_add(&work->hints, &work->hint_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = *hint;
	added->key = mac_key(hint->mac);
	added->score = score;
	return 0;
}

/* --- what is seen ----------------------------------------------------------- */

static uint32_t index_of(const struct switch_reading *reading, uint32_t if_index)
{
	const struct switch_port *port = switch_reading_port(reading, if_index);

	return port ? (uint32_t)(port - reading->ports) : UINT32_MAX;
}

static int hints_of_fdb(struct work *work, uint32_t source)
{
	const struct switch_reading *reading = work->facts->sources[source].reading;
	const uint8_t *old = work->facts->sources[source].fdb_old;
	size_t before;
	int rc = 0;

	for (size_t i = 0; i < reading->fdb_count && rc == 0; i++) {
		const struct switch_fdb_entry *entry = &reading->fdb[i];
		uint32_t port = index_of(reading, entry->if_index);
		struct hint hint = {.source = 2,
				    .vlan = entry->vlan,
				    .seen_us = work->facts->sources[source].read_us};

		/* Not every switch forgets what was behind a port that lost its link. */
		if (port == UINT32_MAX || work->ret->kinds[source][port] == PORT_UPLINK ||
		    !reading->ports[port].up || (old && old[i]))
			continue;
		memcpy(hint.mac.bytes, entry->mac, sizeof(hint.mac.bytes));
		hint.at = (struct port_ref){source, port};
		before = work->hint_count;
		rc = hint_add(work, &hint);
		if (work->hint_count > before && work->ret->kinds[source][port] == PORT_UNKNOWN)
			work->hints[before].score /= 2;
	}
	return rc;
}

/* Linux says its NIC's MAC as chassis or port id: only NICs that we know are believed. */
static int hints_of_lldp(struct work *work, uint32_t source)
{
	const struct switch_reading *reading = work->facts->sources[source].reading;
	int rc = 0;

	for (size_t i = 0; i < reading->neighbor_count && rc == 0; i++) {
		const struct switch_neighbor *neighbor = &reading->neighbors[i];
		uint32_t port = index_of(reading, neighbor->if_index);
		const struct {
			const char *id;
			bool is_mac;
		} ids[] = {{neighbor->port, neighbor->port_subtype == 3},
			   {neighbor->chassis, neighbor->chassis_subtype == 4}};
		struct hint hint = {.source = 0, .seen_us = work->facts->sources[source].read_us};

		if (port == UINT32_MAX || work->ret->kinds[source][port] == PORT_UPLINK)
			continue;
		hint.at = (struct port_ref){source, port};
		for (size_t id = 0; id < COUNT_OF(ids) && rc == 0; id++) {
			if (!ids[id].is_mac || mac_parse(ids[id].id, &hint.mac) != 0 ||
			    !fabric_nic_find(work->facts, hint.mac))
				continue;
			/* The port id is the NIC itself; a chassis is any of its NICs. */
			rc = hint_add(work, &hint);
			break;
		}
	}
	return rc;
}

/* "What the switch calls itself and this port" -> ours. */
static bool find_place(const struct fabric_facts *facts, const struct match_words *words,
		       struct port_ref *ret)
{
	struct port_match found[MATCH_MAX];
	int source = match_switch(facts, words);

	if (source < 0 || match_ports(facts, (uint32_t)source, words, found) == 0)
		return false;
	*ret = (struct port_ref){(uint32_t)source, found[0].port};
	return true;
}

static int hints_of_agents(struct work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->facts->nic_count && rc == 0; i++) {
		const struct fabric_nic *nic = &work->facts->nics[i];
		const struct match_words words = {.chassis = nic->heard_chassis,
						  .port = nic->heard_port,
						  .port_text = "",
						  .system = nic->heard_system};
		struct hint hint = {.mac = nic->mac, .source = 1, .seen_us = nic->heard_us};

		if (nic->heard_port[0] && find_place(work->facts, &words, &hint.at))
			rc = hint_add(work, &hint);
	}
	return rc;
}

/* Ports as the rules of option 82 call them: a number there is one on the box, no ifIndex. */
static int hints_of_sightings(struct work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->facts->sighting_count && rc == 0; i++) {
		const struct fabric_sighting *sighting = &work->facts->sightings[i];
		const struct match_words words = {.chassis = "",
						  .port = sighting->port,
						  .port_text = "",
						  .system = sighting->switch_name,
						  .by_name_only = true};
		struct hint hint = {
			.mac = sighting->mac, .source = 3, .seen_us = sighting->seen_us};

		if (find_place(work->facts, &words, &hint.at))
			rc = hint_add(work, &hint);
	}
	return rc;
}

/* Is a NIC of ours seen at this port now? hints[0..seen) are sorted by their place. */
static int compare_places(const void *left, const void *right)
{
	const struct hint *a = left;
	const struct hint *b = right;

	if (a->at.source != b->at.source)
		return a->at.source < b->at.source ? -1 : 1;
	return a->at.port < b->at.port ? -1 : a->at.port > b->at.port;
}

static bool is_taken(const struct work *work, const struct fabric_prior *prior, size_t seen)
{
	const struct hint key = {.at = prior->at};
	const struct hint *found =
		seen ? bsearch(&key, work->hints, seen, sizeof(key), compare_places) : NULL;

	while (found && found > work->hints && compare_places(found - 1, &key) == 0)
		found--;
	for (; found && found < work->hints + seen && compare_places(found, &key) == 0; found++) {
		if (found->score >= SURE && found->key != mac_key(prior->mac) &&
		    fabric_nic_find(work->facts, found->mac))
			return true;
	}
	return false;
}

/* An FDB forgets within minutes who says nothing; a cable does not move while its port has a link
 * and nobody else of ours is there. */
static int hints_of_priors(struct work *work)
{
	size_t seen = work->hint_count;
	int rc = 0;

	if (seen > 0)
		qsort(work->hints, seen, sizeof(*work->hints), compare_places);
	for (size_t i = 0; i < work->facts->prior_count && rc == 0; i++) {
		const struct fabric_prior *prior = &work->facts->priors[i];
		const struct hint hint = {
			.mac = prior->mac, .at = prior->at, .source = 4, .seen_us = prior->seen_us};

		if (fabric_port(work->facts, prior->at)->up &&
		    work->ret->kinds[prior->at.source][prior->at.port] != PORT_UPLINK &&
		    fabric_nic_find(work->facts, prior->mac) && !is_taken(work, prior, seen))
			rc = hint_add(work, &hint);
	}
	return rc;
}

/* --- one MAC ------------------------------------------------------------------- */

static int compare_hints(const void *left, const void *right)
{
	const struct hint *a = left;
	const struct hint *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->at.source != b->at.source)
		return a->at.source < b->at.source ? -1 : 1;
	if (a->at.port != b->at.port)
		return a->at.port < b->at.port ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static int compare_prior(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = mac_key(((const struct fabric_prior *)item)->mac);

	return a < b ? -1 : a > b;
}

static const struct fabric_prior *prior_of(const struct work *work, uint64_t key)
{
	const struct fabric_facts *facts = work->facts;

	return facts->prior_count ? bsearch(&key, facts->priors, facts->prior_count,
					    sizeof(*facts->priors), compare_prior)
				  : NULL;
}

/* All that is said of one MAC at one port. */
static struct fabric_place place_at(const struct hint hints[], size_t count)
{
	struct fabric_place place = {.mac = hints[0].mac, .at = hints[0].at};
	unsigned kinds = 0;

	for (size_t i = 0; i < count; i++) {
		enum place_source source = worth[hints[i].source].source;

		if (source == PLACE_EARLIER && place.sources & NOW)
			continue; /* it is heard there now: nothing to remember */
		kinds += source != PLACE_EARLIER && !(place.sources & source);
		place.sources |= source;
		if (hints[i].score > place.certainty)
			place.certainty = hints[i].score;
		if (hints[i].vlan && !place.vlan)
			place.vlan = hints[i].vlan;
		if (hints[i].seen_us > place.seen_us)
			place.seen_us = hints[i].seen_us;
	}
	if (place.certainty >= SURE)
		place.certainty += 5 * (kinds - 1);
	if (place.certainty > 100)
		place.certainty = 100;
	return place;
}

static int tell_conflict(struct work *work, const struct fabric_place *best,
			 const struct fabric_place *other, bool flaps)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, best->mac);
	struct fabric_conflict *conflict;

	if (!nic) /* MACs that we do not know may be anything: guests, bridges */
		return 0;
	if (fabric_conflict_add(work->ret, flaps ? "nic.flapping" : "nic.two_ports", flaps,
				best->at, &conflict) != 0)
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "NIC %s of node %s is seen here and at %s:%s%s", nic->name, nic->node,
			  work->facts->sources[other->at.source].name,
			  fabric_port(work->facts, other->at)->name,
			  flaps ? ", back and forth" : "");
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			flaps ? "a loop, a bridge on the node, or the same MAC twice"
			      : "two NICs with one MAC, or a bridge; LLDP on the node tells");
	return 0;
}

static bool by_lldp(const struct fabric_place *place)
{
	return place->certainty >= 95 && place->sources & (PLACE_LLDP | PLACE_AGENT);
}

static void exchange_places(struct fabric_place *a, struct fabric_place *b)
{
	struct fabric_place was = *a;

	*a = *b;
	*b = was;
}

/* Two places, both seen now. Where it was not before is where it is now: an old entry ages for
 * minutes, and says nothing new when it is still there the next time. False: nothing tells. */
static bool settle(const struct fabric_prior *prior, struct fabric_place *best,
		   struct fabric_place *second)
{
	bool stays = port_ref_equal(prior->at, best->at);

	if (!stays && !port_ref_equal(prior->at, second->at))
		return false;
	if (stays && best->certainty > second->certainty)
		return true;
	if (!stays)
		exchange_places(best, second); /* best: where it was */
	if (!prior->has_left || !port_ref_equal(prior->left, second->at))
		exchange_places(best, second);
	return true;
}

static int decide(struct work *work, struct fabric_place *best, struct fabric_place *second)
{
	const struct fabric_prior *prior = prior_of(work, mac_key(best->mac));

	best->doubted = second->certainty >= SURE;
	if (!best->doubted || (by_lldp(best) && !by_lldp(second)))
		return 0;
	if (!prior || !settle(prior, best, second)) {
		best->certainty = 50;
		return tell_conflict(work, best, second, false);
	}
	best->doubted = true;
	best->certainty = 60;
	if (prior->moves < MOVES_MAX)
		return 0;
	best->certainty = 40;
	return tell_conflict(work, best, second, true);
}

/* Is this the node's own port, given to it, and does it hold it yet? It is heard there, or the link
 * was not lost since it was; what an agent or a relay once said renews nothing. */
static bool is_own(const struct work *work, const struct fabric_nic *nic,
		   const struct fabric_place *place)
{
	const struct fabric_source *source = &work->facts->sources[place->at.source];
	const struct fabric_prior *prior = prior_of(work, mac_key(place->mac));
	int64_t cut_us = source->cut_us ? source->cut_us[place->at.port] : 0;

	if (!nic || !source->holder || source->holder[place->at.port] != nic->node_id)
		return false;
	return place->sources & NOW ||
	       (place->sources & PLACE_EARLIER && prior && cut_us <= prior->seen_us);
}

/* The places of one MAC: hints[0..count), in order of their ports, become places[0..]. */
static size_t places_of(const struct hint hints[], size_t count, struct fabric_place places[])
{
	size_t found = 0;

	for (size_t i = 0; i < count;) {
		size_t end = i;

		while (end < count && port_ref_equal(hints[end].at, hints[i].at))
			end++;
		places[found++] = place_at(&hints[i], end - i);
		i = end;
	}
	return found;
}

/* The agent in memory is ours, and its node is where it says. */
static bool agent_says(const struct fabric_place *place)
{
	return place->sources & PLACE_AGENT && place->certainty >= worth[1].fresh;
}

/* Leaves the node's own ports when it has one that it holds; the others are strays. */
static int leave_own(struct work *work, struct fabric_place places[], size_t *count)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, places[0].mac);
	bool held = false;
	size_t left = 0;
	int rc = 0;

	for (size_t i = 0; i < *count; i++) {
		held |= is_own(work, nic, &places[i]);
		if (agent_says(&places[i]) && !is_own(work, nic, &places[i]))
			return 0;
	}
	for (size_t i = 0; i < *count && held && rc == 0; i++) {
		if (is_own(work, nic, &places[i]))
			places[left++] = places[i];
		else
			rc = add_stray(work, nic, &places[i]);
	}
	if (held)
		*count = left;
	return rc;
}

/* hints[0..count) are those of one MAC, in order of their ports; places has room for as many. */
static int conclude_mac(struct work *work, const struct hint hints[], size_t count,
			struct fabric_place places[])
{
	size_t found = places_of(hints, count, places);
	struct fabric_place best = {0};
	struct fabric_place second = {0};
	struct fabric_place *added;

	if (found > 1 && leave_own(work, places, &found) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < found; i++) {
		if (places[i].certainty > best.certainty) {
			second = best;
			best = places[i];
		} else if (places[i].certainty > second.certainty) {
			second = places[i];
		}
	}
	if (decide(work, &best, &second) != 0)
		return -ENOMEM;
	added = fabric_array_add(&work->ret->places, &work->ret->place_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = best;
	return 0;
}

static int conclude_macs(struct work *work)
{
	struct fabric_place *places = calloc(work->hint_count + 1, sizeof(*places));
	int rc = places ? 0 : -ENOMEM;

	if (work->hint_count > 0)
		qsort(work->hints, work->hint_count, sizeof(*work->hints), compare_hints);
	for (size_t i = 0; i < work->hint_count && rc == 0;) {
		size_t end = i;

		while (end < work->hint_count && work->hints[end].key == work->hints[i].key)
			end++;
		rc = conclude_mac(work, &work->hints[i], end - i, places);
		i = end;
	}
	free(places);
	return rc;
}

int place_policy_conclude(const struct fabric_facts *facts, int64_t now_us,
			  struct fabric_conclusion *conclusion)
{
	struct work work = {.facts = facts, .ret = conclusion, .now_us = now_us};
	int rc = 0;

	for (uint32_t i = 0; i < facts->source_count && rc == 0; i++) {
		if (!facts->sources[i].reading)
			continue;
		rc = hints_of_fdb(&work, i);
		if (rc == 0)
			rc = hints_of_lldp(&work, i);
	}
	if (rc == 0)
		rc = hints_of_agents(&work);
	if (rc == 0)
		rc = hints_of_sightings(&work);
	if (rc == 0)
		rc = hints_of_priors(&work);
	if (rc == 0)
		rc = conclude_macs(&work);
	free(work.hints);
	return rc;
}
