#include "peregrine/control/fabric/guard_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/fabric_index.h"

enum { GUARD_POLICY_SURE = 50, NOW = PLACE_FDB | PLACE_LLDP }; /* what says that it is there now */

const char *const guard_kind_words[GUARD_KIND_COUNT] = {"moved", "foreign"};

struct guard_policy_work {
	const struct fabric_facts *facts;
	const struct fabric_conclusion *conclusion;
	const struct guard_facts *guard;
	struct guard_found *ret;
	struct key_map taken; /* port -> block of it */
	struct key_map seen;  /* port -> place of a NIC of ours that is seen there now */
};

/* --- looking up --- */

static int compare_port(const void *key, const void *item)
{
	const struct guard_port *a = key;
	const struct guard_port *b = item;

	if (a->switch_id != b->switch_id)
		return a->switch_id < b->switch_id ? -1 : 1;
	return strcmp(a->port, b->port);
}

const struct guard_port *guard_port_find(const struct guard_port ports[], size_t count,
					 int64_t switch_id, const char *port)
{
	const struct guard_port key = {.switch_id = switch_id, .port = port};

	return count ? bsearch(&key, ports, count, sizeof(*ports), compare_port) : NULL;
}

static const struct guard_port *guard_at(const struct guard_policy_work *work, struct port_ref at)
{
	return guard_port_find(work->guard->ports, work->guard->port_count,
			       work->facts->sources[at.source].id,
			       fabric_port(work->facts, at)->name);
}

static bool guard_policy_is_seen(const struct fabric_place *place)
{
	return place && place->certainty >= GUARD_POLICY_SURE && place->sources & NOW;
}

/* Is this MAC heard there, though it is elsewhere? */
static bool is_stray(const struct guard_policy_work *work, struct mac mac, int64_t switch_id,
		     const char *port)
{
	struct port_ref at;

	if (!fabric_port_find(work->facts, switch_id, port, &at))
		return false;
	for (size_t i = 0; i < work->conclusion->stray_count; i++) {
		const struct fabric_place *stray = &work->conclusion->strays[i];

		if (mac_key(stray->mac) == mac_key(mac) &&
		    fabric_same_place(work->facts, stray->at, at))
			return true;
	}
	return false;
}

/* --- blocks --- */

static void say_moved(const struct guard_policy_work *work, struct guard_block *block,
		      const struct fabric_nic *nic, const char *networks)
{
	const struct fabric_place *place = fabric_place_find(work->conclusion, block->mac);

	(void)text_format(block->message, sizeof(block->message),
			  "node %s:%s was in it (%s)%s%s%s%s; the port is parked",
			  nic ? nic->node : "?", nic ? nic->name : "?", networks,
			  place ? " and is in " : ", its present port is not known",
			  place ? work->facts->sources[place->at.source].name : "",
			  place ? ":" : "", place ? fabric_port(work->facts, place->at)->name : "");
	(void)text_copy(
		block->hint, sizeof(block->hint),
		"put the cable back, or plan it at its present port (haasctl wiring delete, wiring set): the port is opened when plan and finding agree");
}

/* Somebody sends under its address here, whose port that is; mostly it is in its own. */
static void say_stray(const struct guard_policy_work *work, struct guard_block *block,
		      const struct fabric_nic *nic, const char *networks)
{
	const struct fabric_place *place = fabric_place_find(work->conclusion, block->mac);

	(void)text_format(
		block->message, sizeof(block->message),
		"a device there uses the MAC of node %s:%s of another tenant, which %s%s%s%s (%s); the port is parked",
		nic ? nic->node : "?", nic ? nic->name : "?",
		place ? "is in " : "is heard nowhere else",
		place ? work->facts->sources[place->at.source].name : "", place ? ":" : "",
		place ? fabric_port(work->facts, place->at)->name : "", networks);
	(void)text_copy(
		block->hint, sizeof(block->hint),
		"the port opens again when this ends; haasctl nic locate shows the MAC's own port");
}

static void say_foreign(struct guard_block *block, const struct fabric_nic *nic,
			const char *networks)
{
	(void)text_format(block->message, sizeof(block->message),
			  "node %s:%s of another tenant is in it (%s); the port is parked",
			  nic ? nic->node : "?", nic ? nic->name : "?", networks);
	(void)text_copy(block->hint, sizeof(block->hint),
			"put that cable where it belongs: haasctl wiring list");
}

static int guard_policy_block(struct guard_policy_work *work, const struct guard_port *port,
			      enum guard_kind kind, struct mac mac)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, mac);
	uint32_t source = fabric_source_find(work->facts, port->switch_id);
	uint64_t key = key_of_text((uint64_t)port->switch_id, port->port, strlen(port->port));
	struct guard_block *added;

	if (key_map_first(&work->taken, key) != KEY_NONE)
		return 0;
	added = fabric_array_add(&work->ret->items, &work->ret->count, sizeof(*added));
	if (!added || key_map_add(&work->taken, key, (uint32_t)work->ret->count))
		return -ENOMEM;
	added->switch_id = port->switch_id;
	(void)text_copy(added->port, sizeof(added->port), port->port);
	added->kind = kind;
	added->mac = mac;
	added->version = port->version;
	(void)text_format(added->subject, sizeof(added->subject), "%s:%s",
			  source == UINT32_MAX ? "?" : work->facts->sources[source].name,
			  port->port);
	if (kind == GUARD_MOVED)
		say_moved(work, added, nic, port->networks);
	else if (is_stray(work, mac, port->switch_id, port->port))
		say_stray(work, added, nic, port->networks);
	else
		say_foreign(added, nic, port->networks);
	return 0;
}

/* --- what was found before --- */

/* A switch that cannot be read says nothing new: the block stays. */
static bool guard_policy_is_over(const struct guard_policy_work *work,
				 const struct guard_block *before, const struct guard_port *port)
{
	const struct fabric_place *place = fabric_place_find(work->conclusion, before->mac);
	struct port_ref at;
	bool here;

	if (!port || port->version != before->version)
		return true;
	if (!fabric_port_find(work->facts, before->switch_id, before->port, &at))
		return false;
	here = place && fabric_same_place(work->facts, place->at, at);
	return before->kind == GUARD_MOVED
		       ? here && guard_policy_is_seen(place)
		       : !here && !is_stray(work, before->mac, before->switch_id, before->port);
}

static int guard_policy_keep_blocks(struct guard_policy_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->guard->before_count && rc == 0; i++) {
		const struct guard_block *before = &work->guard->before[i];
		const struct guard_port *port =
			guard_port_find(work->guard->ports, work->guard->port_count,
					before->switch_id, before->port);

		if (!guard_policy_is_over(work, before, port))
			rc = guard_policy_block(work, port, before->kind, before->mac);
	}
	return rc;
}

/* --- what is new --- */

static int block_foreign(struct guard_policy_work *work, const struct fabric_nic *nic,
			 struct port_ref at)
{
	const struct guard_port *port = guard_at(work, at);

	if (!port || !port->tenant_id || !nic->tenant_id || port->tenant_id == nic->tenant_id)
		return 0;
	return guard_policy_block(work, port, GUARD_FOREIGN, nic->mac);
}

static int block_moved(struct guard_policy_work *work, const struct fabric_nic *nic,
		       struct port_ref at)
{
	const struct guard_port *port = guard_at(work, at);

	return port ? guard_policy_block(work, port, GUARD_MOVED, nic->mac) : 0;
}

/* Intents are of the members of an aggregate, what is behind them is found at the aggregate, and
 * its VLANs are those of all: all are blocked, or none would be. */
static int block_place(struct guard_policy_work *work, const struct fabric_nic *nic,
		       struct port_ref at,
		       int (*block_at)(struct guard_policy_work *work, const struct fabric_nic *nic,
				       struct port_ref at))
{
	const struct switch_reading *reading = work->facts->sources[at.source].reading;
	const struct switch_port *port = fabric_port(work->facts, at);
	int rc = block_at(work, nic, at);

	if (!port->is_lag && !port->lag)
		return rc;
	for (uint32_t p = 0; p < reading->port_count && rc == 0; p++) {
		const struct port_ref other = {at.source, p};

		if (p != at.port && fabric_same_place(work->facts, at, other))
			rc = block_at(work, nic, other);
	}
	return rc;
}

static int find_foreign(struct guard_policy_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->conclusion->place_count && rc == 0; i++) {
		const struct fabric_place *place = &work->conclusion->places[i];
		const struct fabric_nic *nic = fabric_nic_find(work->facts, place->mac);

		if (!nic || !guard_policy_is_seen(place))
			continue;
		rc = key_map_add(&work->seen, key_of_port(place->at), (uint32_t)i);
		if (rc == 0)
			rc = block_place(work, nic, place->at, block_foreign);
	}
	return rc;
}

static int guard_policy_look_at(struct guard_policy_work *work, int64_t switch_id)
{
	int64_t *added;

	for (size_t i = 0; i < work->ret->look_count; i++) {
		if (work->ret->look[i] == switch_id)
			return 0;
	}
	added = fabric_array_add(&work->ret->look, &work->ret->look_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = switch_id;
	return 0;
}

/* Whether it is there or only its address, the port is not for it. */
static int find_strays(struct guard_policy_work *work)
{
	int rc = 0;

	for (size_t i = 0; i < work->conclusion->stray_count && rc == 0; i++) {
		const struct fabric_place *stray = &work->conclusion->strays[i];
		const struct fabric_place *own = fabric_place_find(work->conclusion, stray->mac);
		const struct fabric_source *source =
			own ? &work->facts->sources[own->at.source] : NULL;

		rc = block_place(work, fabric_nic_find(work->facts, stray->mac), stray->at,
				 block_foreign);
		/* Its own link may be lost since it was read last. */
		if (rc == 0 && source && source->fresh && source->read_us < stray->seen_us)
			rc = guard_policy_look_at(work, source->id);
	}
	return rc;
}

static int find_moved(struct guard_policy_work *work, const struct fabric_prior *prior)
{
	const struct fabric_place *place = fabric_place_find(work->conclusion, prior->mac);
	const struct guard_port *port = prior->has_home ? guard_at(work, prior->home) : NULL;
	const struct fabric_source *source = &work->facts->sources[prior->home.source];
	int64_t cut_us = port && source->cut_us ? source->cut_us[prior->home.port] : 0;

	if (!port || port->version != prior->home_version || !guard_policy_is_seen(place) ||
	    fabric_same_place(work->facts, place->at, prior->home) ||
	    key_map_first(&work->seen, key_of_port(prior->home)) != KEY_NONE)
		return 0;
	if (!fabric_port(work->facts, prior->home)->up || cut_us > prior->home_us)
		return block_place(work, &(struct fabric_nic){.mac = prior->mac}, prior->home,
				   block_moved);
	/* Its link may be lost since it was read last. */
	return source->fresh && source->read_us < place->seen_us
		       ? guard_policy_look_at(work, source->id)
		       : 0;
}

static void mark_new(struct guard_policy_work *work)
{
	for (size_t i = 0; i < work->ret->count; i++) {
		struct guard_block *found = &work->ret->items[i];

		found->is_new = true;
		for (size_t j = 0; j < work->guard->before_count && found->is_new; j++) {
			const struct guard_block *before = &work->guard->before[j];

			found->is_new = before->switch_id != found->switch_id ||
					before->version != found->version ||
					before->kind != found->kind ||
					strcmp(before->port, found->port) != 0;
		}
	}
}

int guard_policy_decide(const struct fabric_facts *facts,
			const struct fabric_conclusion *conclusion, const struct guard_facts *guard,
			struct guard_found *ret)
{
	struct guard_policy_work work = {
		.facts = facts, .conclusion = conclusion, .guard = guard, .ret = ret};
	int rc = find_foreign(&work);

	if (rc == 0)
		rc = find_strays(&work);
	if (rc == 0)
		rc = guard_policy_keep_blocks(&work);
	for (size_t i = 0; i < facts->prior_count && rc == 0; i++)
		rc = find_moved(&work, &facts->priors[i]);
	mark_new(&work);
	key_map_done(&work.taken);
	key_map_done(&work.seen);
	return rc;
}
