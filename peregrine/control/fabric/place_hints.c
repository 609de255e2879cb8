#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/match_policy.h"
#include "peregrine/control/fabric/place_private.h"

#define MINUTE_US ((int64_t)60 * 1000000)

/* How much each source is worth while it is fresh and when it is not. */
static const struct worth {
	enum place_source source;
	unsigned fresh, old;
	int64_t fresh_us;
} place_hints_worths[] = {
	{PLACE_LLDP, 95, 60, 10 * MINUTE_US}, {PLACE_AGENT, PLACE_AGENT_FRESH, 60, 10 * MINUTE_US},
	{PLACE_FDB, 80, 45, 10 * MINUTE_US},  {PLACE_OPTION82, 70, 40, 1440 * MINUTE_US},
	{PLACE_EARLIER, 55, 55, 0},
};

static const struct worth *worth_of(enum place_source source)
{
	size_t at = 0;

	while (place_hints_worths[at].source != source)
		at++;
	return &place_hints_worths[at];
}

static const struct fabric_nic *nic_of_node(const struct place_work *work, int64_t node_id)
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
static int64_t other_holder(const struct place_work *work, const struct fabric_nic *nic,
			    struct port_ref at)
{
	const int64_t *holder = work->facts->sources[at.source].holder;
	const struct fabric_nic *owner;

	if (!nic || !holder || holder[at.port] == 0 || holder[at.port] == nic->node_id)
		return 0;
	owner = nic_of_node(work, holder[at.port]);
	return nic->idle || !owner || owner->tenant_id != nic->tenant_id ? holder[at.port] : 0;
}

static int tell_foreign(struct place_work *work, const struct fabric_nic *nic, struct port_ref at,
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
			  "%s%s uses that MAC, or a cable was moved", owner ? "node " : "",
			  owner ? owner : "who is there");
	return 0;
}

int place_stray_add(struct place_work *work, const struct fabric_nic *nic,
		    const struct fabric_place *place)
{
	const int64_t *holder = work->facts->sources[place->at.source].holder;
	struct fabric_place *added;

	if (!(place->sources & PLACE_NOW)) /* the others may be of last week */
		return 0;
	if (place->certainty >= PLACE_STRAY) {
		added = fabric_array_add(&work->ret->strays, &work->ret->stray_count,
					 sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = *place;
	}
	return tell_foreign(work, nic, place->at, holder ? holder[place->at.port] : 0);
}

static int hint_add(struct place_work *work, const struct place_hint *hint)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, hint->mac);
	const struct worth *worth = worth_of(hint->source);
	bool fresh = work->now_us - hint->seen_us <= worth->fresh_us;
	unsigned score = fresh ? worth->fresh : worth->old;
	struct place_hint *added;

	if (mac_is_zero(hint->mac) || hint->mac.bytes[0] & 1)
		return 0; /* some agents tell rows of MAC 0; a group address is nobody's */
	if (other_holder(work, nic, hint->at))
		return place_stray_add(work, nic,
				       &(struct fabric_place){.mac = hint->mac,
							      .at = hint->at,
							      .sources = hint->source,
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

/* --- what is seen --- */

static uint32_t place_hints_index_of(const struct switch_reading *reading, uint32_t if_index)
{
	const struct switch_port *port = switch_reading_port(reading, if_index);

	return port ? (uint32_t)(port - reading->ports) : UINT32_MAX;
}

/* A switch may tell a quarter of a million addresses, and a conclusion is one turn of the loop. */
static int tell_many(struct place_work *work, uint32_t source, size_t left_out)
{
	struct fabric_conflict *conflict;

	if (left_out == 0)
		return 0;
	if (fabric_conflict_add(work->ret, "fabric.many_addresses", false,
				(struct port_ref){source, UINT32_MAX}, &conflict) != 0)
		return -ENOMEM;
	(void)text_format(
		conflict->message, sizeof(conflict->message),
		"%zu addresses of nobody's at ports of nodes are left out: %d of a switch are "
		"kept",
		left_out, PLACE_STRANGERS_MAX);
	(void)text_format(conflict->hint, sizeof(conflict->hint),
			  "NICs of nodes are found all the same; look who floods the switch, or "
			  "whether a port leads to another one");
	return 0;
}

static int hints_of_fdb(struct place_work *work, uint32_t source)
{
	const struct switch_reading *reading = work->facts->sources[source].reading;
	const uint8_t *old = work->facts->sources[source].fdb_old;
	size_t strangers = 0;
	size_t left_out = 0;
	size_t before;
	int rc = 0;

	for (size_t i = 0; i < reading->fdb_count && rc == 0; i++) {
		const struct switch_fdb_entry *entry = &reading->fdb[i];
		uint32_t port = place_hints_index_of(reading, entry->if_index);
		struct place_hint hint = {.source = PLACE_FDB,
					  .vlan = entry->vlan,
					  .seen_us = work->facts->sources[source].read_us};

		/* Not every switch forgets what was behind a port that lost its link. */
		if (port == UINT32_MAX || work->ret->kinds[source][port] == PORT_UPLINK ||
		    !reading->ports[port].up || (old && old[i]))
			continue;
		memcpy(hint.mac.bytes, entry->mac, sizeof(hint.mac.bytes));
		hint.at = (struct port_ref){source, port};
		if (!fabric_nic_find(work->facts, hint.mac) && ++strangers > PLACE_STRANGERS_MAX) {
			left_out++;
			continue;
		}
		before = work->hint_count;
		rc = hint_add(work, &hint);
		if (work->hint_count > before && work->ret->kinds[source][port] == PORT_UNKNOWN)
			work->hints[before].score /= 2;
	}
	return rc ? rc : tell_many(work, source, left_out);
}

/* Does the address table of this switch (hints from `first` on) let this NIC be at the port? What
 * LLDP says is the text of whoever is at some port, and a command line prints it without bounds
 * between ports (S22). A node in use may have its address at another port: two NICs of a bond share
 * one. Where the text has no total the table has to show the node there. */
static bool lldp_is_borne_out(const struct place_work *work, size_t first, struct port_ref at,
			      const struct fabric_nic *nic)
{
	const struct switch_port *ports = work->facts->sources[at.source].reading->ports;
	bool uncounted = work->facts->sources[at.source].reading->neighbors_uncounted;
	bool own = false;
	bool others = false;
	bool elsewhere = false;

	for (size_t i = first; i < work->hint_count; i++) {
		const struct place_hint *seen = &work->hints[i];
		const struct fabric_nic *there;

		if (seen->source != PLACE_FDB)
			continue;
		if (seen->at.port != at.port &&
		    (!ports[at.port].lag || ports[seen->at.port].if_index != ports[at.port].lag)) {
			elsewhere |= mac_equal(seen->mac, nic->mac);
			continue;
		}
		there = fabric_nic_find(work->facts, seen->mac);
		own |= there && there->node_id == nic->node_id;
		others |= there && there->node_id != nic->node_id;
	}
	return own || (!uncounted && !others && !(elsewhere && nic->idle));
}

/* Linux says its NIC's MAC as chassis or port id: only NICs that we know are believed. A port
 * without a link has no neighbour. */
static int hints_of_lldp(struct place_work *work, uint32_t source, size_t first)
{
	const struct switch_reading *reading = work->facts->sources[source].reading;
	int rc = 0;

	for (size_t i = 0; i < reading->neighbor_count && rc == 0; i++) {
		const struct switch_neighbor *neighbor = &reading->neighbors[i];
		uint32_t port = place_hints_index_of(reading, neighbor->if_index);
		const struct {
			const char *id;
			bool is_mac;
		} ids[] = {{neighbor->port, neighbor->port_subtype == 3},
			   {neighbor->chassis, neighbor->chassis_subtype == 4}};
		struct place_hint hint = {.source = PLACE_LLDP,
					  .seen_us = work->facts->sources[source].read_us};

		if (port == UINT32_MAX || work->ret->kinds[source][port] == PORT_UPLINK ||
		    !reading->ports[port].up)
			continue;
		hint.at = (struct port_ref){source, port};
		for (size_t id = 0; id < COUNT_OF(ids) && rc == 0; id++) {
			const struct fabric_nic *nic = NULL;

			if (ids[id].is_mac && mac_parse(ids[id].id, &hint.mac) == 0)
				nic = fabric_nic_find(work->facts, hint.mac);
			if (!nic)
				continue;
			/* The port id is the NIC itself; a chassis is any of its NICs. At the port of
			 * another node it is no place, but told. */
			if (other_holder(work, nic, hint.at) ||
			    lldp_is_borne_out(work, first, hint.at, nic))
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

static int hints_of_agents(struct place_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->facts->nic_count && rc == 0; i++) {
		const struct fabric_nic *nic = &work->facts->nics[i];
		const struct match_words words = {.chassis = nic->heard_chassis,
						  .port = nic->heard_port,
						  .port_text = "",
						  .system = nic->heard_system};
		struct place_hint hint = {
			.mac = nic->mac, .source = PLACE_AGENT, .seen_us = nic->heard_us};

		if (nic->heard_port[0] && find_place(work->facts, &words, &hint.at))
			rc = hint_add(work, &hint);
	}
	return rc;
}

/* Ports as the rules of option 82 call them: a number there is one on the box, no ifIndex. */
static int hints_of_sightings(struct place_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->facts->sighting_count && rc == 0; i++) {
		const struct fabric_sighting *sighting = &work->facts->sightings[i];
		const struct match_words words = {.chassis = "",
						  .port = sighting->port,
						  .port_text = "",
						  .system = sighting->switch_name,
						  .by_name_only = true};
		struct place_hint hint = {.mac = sighting->mac,
					  .source = PLACE_OPTION82,
					  .seen_us = sighting->seen_us};

		if (find_place(work->facts, &words, &hint.at))
			rc = hint_add(work, &hint);
	}
	return rc;
}

/* Is a NIC of ours seen at this port now? hints[0..seen) are sorted by their place. */
static int compare_places(const void *left, const void *right)
{
	const struct place_hint *a = left;
	const struct place_hint *b = right;

	if (a->at.source != b->at.source)
		return a->at.source < b->at.source ? -1 : 1;
	return a->at.port < b->at.port ? -1 : a->at.port > b->at.port;
}

static bool place_hints_is_taken(const struct place_work *work, const struct fabric_prior *prior,
				 size_t seen)
{
	const struct place_hint key = {.at = prior->at};
	const struct place_hint *found =
		seen ? bsearch(&key, work->hints, seen, sizeof(key), compare_places) : NULL;

	while (found && found > work->hints && compare_places(found - 1, &key) == 0)
		found--;
	for (; found && found < work->hints + seen && compare_places(found, &key) == 0; found++) {
		if (found->score >= PLACE_SURE && found->key != mac_key(prior->mac) &&
		    fabric_nic_find(work->facts, found->mac))
			return true;
	}
	return false;
}

/* An FDB forgets within minutes who says nothing; a cable does not move while its port has a link
 * and nobody else of ours is there. */
static int hints_of_priors(struct place_work *work)
{
	size_t seen = work->hint_count;
	int rc = 0;

	if (seen > 0)
		qsort(work->hints, seen, sizeof(*work->hints), compare_places);
	for (size_t i = 0; i < work->facts->prior_count && rc == 0; i++) {
		const struct fabric_prior *prior = &work->facts->priors[i];
		const struct place_hint hint = {.mac = prior->mac,
						.at = prior->at,
						.source = PLACE_EARLIER,
						.seen_us = prior->seen_us};

		if (fabric_port(work->facts, prior->at)->up &&
		    work->ret->kinds[prior->at.source][prior->at.port] != PORT_UPLINK &&
		    fabric_nic_find(work->facts, prior->mac) &&
		    !place_hints_is_taken(work, prior, seen))
			rc = hint_add(work, &hint);
	}
	return rc;
}

int place_hints_gather(struct place_work *work)
{
	int rc = 0;

	for (uint32_t i = 0; i < work->facts->source_count && rc == 0; i++) {
		size_t first = work->hint_count;

		if (!work->facts->sources[i].reading)
			continue;
		rc = hints_of_fdb(work, i);
		if (rc == 0)
			rc = hints_of_lldp(work, i, first);
	}
	if (rc == 0)
		rc = hints_of_agents(work);
	if (rc == 0)
		rc = hints_of_sightings(work);
	return rc ? rc : hints_of_priors(work);
}
