#include "peregrine/control/fabric/place_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/place_private.h"

enum { MOVES_MAX = 3 };

static int compare_hints(const void *left, const void *right)
{
	const struct place_hint *a = left;
	const struct place_hint *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->at.source != b->at.source)
		return a->at.source < b->at.source ? -1 : 1;
	if (a->at.port != b->at.port)
		return a->at.port < b->at.port ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static int place_policy_compare_prior(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = mac_key(((const struct fabric_prior *)item)->mac);

	return a < b ? -1 : a > b;
}

static const struct fabric_prior *prior_of(const struct place_work *work, uint64_t key)
{
	const struct fabric_facts *facts = work->facts;

	return facts->prior_count ? bsearch(&key, facts->priors, facts->prior_count,
					    sizeof(*facts->priors), place_policy_compare_prior)
				  : NULL;
}

/* All that is said of one MAC at one port. */
static struct fabric_place place_at(const struct place_hint hints[], size_t count)
{
	struct fabric_place place = {.mac = hints[0].mac, .at = hints[0].at};
	unsigned kinds = 0;

	for (size_t i = 0; i < count; i++) {
		enum place_source source = hints[i].source;

		if (source == PLACE_EARLIER && place.sources & PLACE_NOW)
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
	if (place.certainty >= PLACE_SURE)
		place.certainty += 5 * (kinds - 1);
	if (place.certainty > 100)
		place.certainty = 100;
	return place;
}

static int tell_conflict(struct place_work *work, const struct fabric_place *best,
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
			      : "two NICs with one MAC, or a bridge; LLDP on the node shows which");
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
static bool place_policy_settle(const struct fabric_prior *prior, struct fabric_place *best,
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

static int place_policy_decide(struct place_work *work, struct fabric_place *best,
			       struct fabric_place *second)
{
	const struct fabric_prior *prior = prior_of(work, mac_key(best->mac));

	best->doubted = second->certainty >= PLACE_SURE;
	if (!best->doubted || (by_lldp(best) && !by_lldp(second)))
		return 0;
	if (!prior || !place_policy_settle(prior, best, second)) {
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
static bool place_policy_is_own(const struct place_work *work, const struct fabric_nic *nic,
				const struct fabric_place *place)
{
	const struct fabric_source *source = &work->facts->sources[place->at.source];
	const struct fabric_prior *prior = prior_of(work, mac_key(place->mac));
	int64_t cut_us = source->cut_us ? source->cut_us[place->at.port] : 0;

	if (!nic || !source->holder || source->holder[place->at.port] != nic->node_id)
		return false;
	return place->sources & PLACE_NOW ||
	       (place->sources & PLACE_EARLIER && prior && cut_us <= prior->seen_us);
}

/* The places of one MAC: hints[0..count), in order of their ports, become places[0..]. */
static size_t place_policy_places_of(const struct place_hint hints[], size_t count,
				     struct fabric_place places[])
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
	return place->sources & PLACE_AGENT && place->certainty >= PLACE_AGENT_FRESH;
}

/* Leaves the node's own ports when it has one that it holds; the others are strays. */
static int leave_own(struct place_work *work, struct fabric_place places[], size_t *count)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, places[0].mac);
	bool held = false;
	size_t left = 0;
	int rc = 0;

	for (size_t i = 0; i < *count; i++) {
		held |= place_policy_is_own(work, nic, &places[i]);
		if (agent_says(&places[i]) && !place_policy_is_own(work, nic, &places[i]))
			return 0;
	}
	for (size_t i = 0; i < *count && held && rc == 0; i++) {
		if (place_policy_is_own(work, nic, &places[i]))
			places[left++] = places[i];
		else
			rc = place_stray_add(work, nic, &places[i]);
	}
	if (held)
		*count = left;
	return rc;
}

/* hints[0..count) are those of one MAC, in order of their ports; places has room for as many. */
static int conclude_mac(struct place_work *work, const struct place_hint hints[], size_t count,
			struct fabric_place places[])
{
	size_t found = place_policy_places_of(hints, count, places);
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
	if (place_policy_decide(work, &best, &second) != 0)
		return -ENOMEM;
	added = fabric_array_add(&work->ret->places, &work->ret->place_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = best;
	return 0;
}

static int conclude_macs(struct place_work *work)
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
	struct place_work work = {.facts = facts, .ret = conclusion, .now_us = now_us};
	int rc = place_hints_gather(&work);

	if (rc == 0)
		rc = conclude_macs(&work);
	free(work.hints);
	return rc;
}
