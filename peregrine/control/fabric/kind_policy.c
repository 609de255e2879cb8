#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/link_private.h"

/* --- who is behind a port --- */

static int kind_policy_see(struct link_work *work, const struct fabric_nic *nic, struct port_ref at)
{
	uint32_t number = (uint32_t)work->seen_count;
	struct port_ref *seen =
		fabric_array_add(&work->seen, &work->seen_count, sizeof(*work->seen));

	if (!seen)
		return -ENOMEM;
	*seen = at;
	return key_map_add(&work->at_ports, (uint64_t)(nic - work->facts->nics), number);
}

static int behind_of(struct link_work *work, uint32_t source)
{
	const struct switch_reading *reading = reading_of(work, source);
	const uint8_t *old = work->facts->sources[source].fdb_old;
	struct behind *behind = calloc(reading->port_count + 1, sizeof(*behind));
	int rc = 0;

	if (!behind)
		return -ENOMEM;
	work->behind[source] = behind;
	for (size_t i = 0; i < reading->fdb_count && rc == 0; i++) {
		struct port_ref at = {source, port_index(reading, reading->fdb[i].if_index)};
		const struct fabric_nic *nic;
		struct mac mac;

		if (at.port == UINT32_MAX || (old && old[i]))
			continue;
		memcpy(mac.bytes, reading->fdb[i].mac, sizeof(mac.bytes));
		nic = fabric_nic_find(work->facts, mac);
		behind[at.port].entries++;
		if (!nic)
			continue;
		if (!behind[at.port].nic)
			behind[at.port].nic = nic;
		rc = kind_policy_see(work, nic, at);
	}
	return rc;
}

int behind_make(struct link_work *work)
{
	int rc = 0;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	work->behind = calloc(work->facts->source_count + 1, sizeof(*work->behind));
	if (!work->behind)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->facts->source_count && rc == 0; i++)
		rc = reading_of(work, i) ? behind_of(work, i) : 0;
	return rc;
}

void behind_done(struct link_work *work)
{
	for (size_t i = 0; work->behind && i < work->facts->source_count; i++)
		free(work->behind[i]);
	free(work->behind);
	free(work->seen);
}

bool is_given(const struct link_work *work, struct port_ref at)
{
	const uint8_t *given = work->facts->sources[at.source].given;
	uint32_t lag = lag_of(work, at);

	return given && (given[at.port] || (lag != UINT32_MAX && given[lag]));
}

const struct fabric_nic *node_behind(const struct link_work *work, struct port_ref at)
{
	const struct behind *behind = &work->behind[at.source][at.port];

	return behind->entries <= NODE_FDB_MAX ? behind->nic : NULL;
}

/* --- kinds of ports --- */

static enum port_kind kind_alone(const struct fabric_source *source, size_t port)
{
	const struct switch_port *row = &source->reading->ports[port];

	if (source->given && source->given[port])
		return PORT_EDGE;
	if (source->unread && source->unread[port])
		return PORT_UPLINK;
	/* What it was while its cable was in; a port that never was up is nobody's. An uplink on
	 * which nothing is heard any more may still be one: see edge_nic(). */
	if (source->prior_kinds && (!row->up || source->prior_kinds[port] == PORT_UPLINK))
		return (enum port_kind)source->prior_kinds[port];
	if (!row->up || (row->base_port == 0 && row->lag == 0 && !row->is_lag))
		return PORT_UNKNOWN;
	return PORT_EDGE;
}

/* Of all its ports; NULL: no memory. */
static uint8_t *kinds_alone(const struct fabric_source *source)
{
	uint8_t *kinds = calloc(source->reading->port_count + 1, 1);

	for (size_t port = 0; kinds && port < source->reading->port_count; port++)
		kinds[port] = (uint8_t)kind_alone(source, port);
	return kinds;
}

static void kind_raise(const struct link_work *work, struct port_ref at)
{
	uint32_t lag = lag_of(work, at);

	if (is_given(work, at))
		return;
	work->ret->kinds[at.source][at.port] = PORT_UPLINK;
	if (lag != UINT32_MAX)
		work->ret->kinds[at.source][lag] = PORT_UPLINK;
}

static bool leads_to_unread(const struct link_work *work, struct port_ref at)
{
	const uint32_t *unread = work->facts->sources[at.source].unread;

	return unread && unread[at.port];
}

/* Or behind a switch that was not read, by another port than this. */
static bool is_at_other_edge(struct link_work *work, const struct fabric_nic *nic,
			     struct port_ref at)
{
	struct key_map *map = &work->at_ports;

	for (uint32_t entry = key_map_first(map, (uint64_t)(nic - work->facts->nics));
	     entry != KEY_NONE; entry = key_map_next(map, entry)) {
		struct port_ref other = work->seen[key_map_value(map, entry)];

		if (!port_ref_equal(other, at) &&
		    (work->ret->kinds[other.source][other.port] == PORT_EDGE ||
		     leads_to_unread(work, other)))
			return true;
	}
	return false;
}

/* It was an uplink, and LLDP is silent on it: that alone makes no edge of it, for a port of a
 * tenant would be next. A node of ours that is seen nowhere else does. */
static const struct fabric_nic *edge_nic(struct link_work *work, struct port_ref at)
{
	const struct fabric_nic *nic =
		fabric_port(work->facts, at)->up ? node_behind(work, at) : NULL;

	return nic && !is_at_other_edge(work, nic, at) ? nic : NULL;
}

/* .. unless its cable led to a switch that nobody has read yet: the node may be behind that. */
static int keep_for_unread(struct link_work *work, struct port_ref at, const char *node)
{
	uint32_t number = work->facts->sources[at.source].unread[at.port] - 1;
	const char *peer = source_name(work, number);
	struct fabric_conflict *conflict;

	if (!work->facts->sources[number].silent)
		return 0;
	if (fabric_conflict_add(work->ret, "fabric.unread_peer", false, at, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "node %s is heard here alone; it stays an uplink, as its cable led to "
			  "switch %s, which does not answer",
			  node, peer);
	(void)text_format(
		conflict->hint, sizeof(conflict->hint),
		"bring %.63s back, or if it is gone for good: haasctl switch delete %.63s", peer,
		peer);
	return 0;
}

static int release_uplinks(struct link_work *work)
{
	int rc = 0;

	for (uint32_t source = 0; source < work->facts->source_count; source++) {
		const struct switch_reading *reading = reading_of(work, source);

		for (uint32_t port = 0; reading && port < reading->port_count && !rc; port++) {
			struct port_ref at = {source, port};
			const struct fabric_nic *nic;

			if (work->ret->kinds[source][port] != PORT_UPLINK ||
			    fabric_link_at(work->ret, at))
				continue;
			nic = edge_nic(work, at);
			if (!nic)
				continue;
			if (leads_to_unread(work, at))
				rc = keep_for_unread(work, at, nic->node);
			else
				work->ret->kinds[source][port] = PORT_EDGE;
		}
	}
	return rc;
}

int kinds_conclude(struct link_work *work)
{
	const struct fabric_facts *facts = work->facts;
	uint8_t **kinds = calloc(facts->source_count + 1, sizeof(*kinds));

	if (!kinds)
		return -ENOMEM;
	work->ret->source_count = facts->source_count;
	work->ret->kinds = kinds;
	for (size_t i = 0; i < facts->source_count; i++) {
		if (!facts->sources[i].reading)
			continue;
		kinds[i] = kinds_alone(&facts->sources[i]);
		if (!kinds[i])
			return -ENOMEM;
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
	return release_uplinks(work);
}
