/* Whose each flow of a harvest is, and its sums into the rows of that. */
#include <math.h>
#include <string.h>

#include "peregrine/flowd/flow/rollup_private.h"

enum {
	/* For how long one ingress sample makes a switch one that samples at its ingress. */
	HABIT_MEMORY_S = 600,
	/* So many flows are on their way: a third of it each is fetched, its route, its rows. */
	ROLLUP_FLOW_AHEAD = 48,
	/* A route is believed for two minutes and up to a third one, so that not all are looked up
	 * again at once; where a MAC was seen is noted then (egress_book). */
	ROUTE_S = 120,
	ROUTE_SPREAD_S = 64,
	/* Of a frame with addresses, at least: it has that and what is taken off. */
	HEADER_SIZE = 14,
};

static struct traffic_end rollup_flow_end_of(const struct rollup *rollup,
					     const struct flow_key *key, uint32_t network,
					     bool source, int64_t at_us)
{
	const uint8_t *mac = source ? key->source_mac : key->target_mac;
	const struct index_nic *nic = index_nic_find(rollup->index, mac, at_us);
	const uint32_t *node = nic && attribution_nic_is_in(rollup->index, nic, network, at_us)
				       ? &rollup->node_of_nic[nic - rollup->index->nics]
				       : NULL;
	struct traffic_end end = {0};

	if (node && *node != INDEX_NONE) {
		end.kind = END_NODE;
		memcpy(end.bytes, node, sizeof(*node));
	} else if (key->flags & (FLOW_IPV4 | FLOW_IPV6)) {
		end.kind = END_IP;
		memcpy(end.bytes, source ? key->source : key->target, sizeof(end.bytes));
	} else {
		end.kind = END_MAC;
		memcpy(end.bytes, mac, 6);
	}
	return end;
}

static void conversation_of(const struct rollup *rollup, const struct flow_key *key,
			    uint32_t network, int64_t at_us, struct pair_key *ret_pair,
			    struct conversation_key *ret_flow)
{
	struct traffic_end source;
	struct traffic_end target;

	*ret_pair = (struct pair_key){0};
	*ret_flow = (struct conversation_key){0};
	if (key->flags & FLOW_FOLDED)
		return; /* in the totals, and then in "other" */
	source = rollup_flow_end_of(rollup, key, network, true, at_us);
	target = rollup_flow_end_of(rollup, key, network, false, at_us);
	ret_flow->forward = memcmp(&source, &target, sizeof(source)) <= 0;
	ret_pair->a = ret_flow->forward ? source : target;
	ret_pair->b = ret_flow->forward ? target : source;
	memcpy(ret_flow->source, key->source, sizeof(ret_flow->source));
	memcpy(ret_flow->target, key->target, sizeof(ret_flow->target));
	ret_flow->source_port = key->source_port;
	ret_flow->target_port = key->target_port;
	ret_flow->ethertype = key->ethertype;
	ret_flow->protocol = key->protocol;
}

static uint32_t group_of(struct rollup *rollup, const struct attribution *a)
{
	if (a->network == INDEX_NONE)
		return traffic_names_group(rollup->names, NULL, a->vlan, a->reason);
	return traffic_names_group(rollup->names, &rollup->index->networks[a->network], a->vlan,
				   REASON_NONE);
}

static struct traffic_sums rollup_flow_sums_of(const struct flow_entry *entry, double factor)
{
	/* Rounded here, once: from here on sums are integers and agree at every level. */
	return (struct traffic_sums){
		.bytes = (uint64_t)llround((double)entry->bytes * factor),
		.packets = (uint64_t)llround((double)entry->packets * factor),
		.square = entry->square * factor * factor,
		.samples = entry->samples,
	};
}

static const struct place_habit *rollup_flow_habit_of(const struct rollup *rollup, uint32_t port)
{
	uint32_t place = rollup->place_of_port[port];

	return place < rollup->place_habit_count ? &rollup->place_habits[place] : NULL;
}

/* An exporter may tell of a flow where it came in and again where it went out. A record counts at
 * its own end, and at the other one unless that port has records of its own. */
static bool counts_at(const struct rollup *rollup, const struct flow_key *key, bool out,
		      uint32_t port, int64_t at_s)
{
	const struct place_habit *habit;

	if (!(key->flags & FLOW_RECORD) || out == !!(key->flags & FLOW_EGRESS))
		return true;
	habit = rollup_flow_habit_of(rollup, port);
	return !habit || at_s - (out ? habit->out_s : habit->in_s) >= HABIT_MEMORY_S;
}

/* Whose it is; where its switch tells of two ports that it left by, by the one that frames to its
 * MAC are known to leave by. */
static struct attribution attribute_out(struct rollup *rollup, const struct flow_key *key,
					int64_t at_us)
{
	struct attribution a = attribute(rollup->index, key, at_us);
	struct flow_key told = *key;

	if (a.network == INDEX_NONE || key->flags & (FLOW_RECORD | FLOW_INNER | FLOW_FOLDED))
		return a;
	if (a.in_port != INDEX_NONE)
		egress_book_note(rollup->egress, key->agent, a.vlan, key->source_mac, key->input,
				 at_us / 1000000);
	if (a.out_port != INDEX_NONE)
		egress_book_note(rollup->egress, key->agent, a.vlan, key->target_mac, key->output,
				 at_us / 1000000);
	if (key->output != (uint32_t)PORT_TWO)
		return a;
	told.output = egress_book_find(rollup->egress, key->agent, a.vlan, key->target_mac,
				       at_us / 1000000);
	return told.output && told.output != key->input ? attribute(rollup->index, &told, at_us)
							: a;
}

/* Whose the flow is, and its rows; counted nowhere without memory for its group. */
static void find_route(struct rollup *rollup, const struct flow_key *key, int64_t at_us,
		       struct flow_route *ret)
{
	struct attribution a = attribute_out(rollup, key, at_us);
	struct traffic_set *set = live_set(rollup);
	struct share_key share = {.group = group_of(rollup, &a)};
	struct conversation_key flow;
	struct pair_key pair;

	*ret = (struct flow_route){.key = *key,
				   .by = (uint8_t)a.by,
				   .reason = (uint8_t)a.reason,
				   .out_more = a.out_more};
	if (share.group == INDEX_NONE)
		return;
	conversation_of(rollup, key, a.network, at_us, &pair, &flow);
	if (a.out_port != INDEX_NONE && counts_at(rollup, key, true, a.out_port, at_us / 1000000)) {
		share.place = rollup->place_of_port[a.out_port];
		share.direction = TRAFFIC_OUT;
		ret->out = traffic_set_spot(set, &share, &pair, &flow);
		ret->counts_out = true;
	}
	if (a.from_edge && counts_at(rollup, key, false, a.in_port, at_us / 1000000)) {
		uint32_t layout = set->layout;

		share.place = rollup->place_of_port[a.in_port];
		share.direction = TRAFFIC_IN;
		ret->in = traffic_set_spot(set, &share, &pair, &flow);
		ret->counts_in = true;
		if (layout != set->layout && ret->counts_out) { /* room was made: it moved */
			share.place = rollup->place_of_port[a.out_port];
			share.direction = TRAFFIC_OUT;
			ret->out = traffic_set_spot(set, &share, &pair, &flow);
		}
	}
}

/* So many bytes more, or fewer, in each frame: a link is told as what is on it, and so its
 * interface counts it. Of frames whose sizes differ the square is a little off. */
static struct traffic_sums as_it_left(const struct traffic_sums *sums, int more)
{
	struct traffic_sums left = *sums;
	double ratio;

	left.bytes += (uint64_t)((int64_t)sums->packets * more);
	ratio = (double)left.bytes / (double)sums->bytes;
	left.square *= ratio * ratio;
	return left;
}

static void rollup_flow_add(struct rollup *rollup, const struct flow_route *route,
			    const struct traffic_sums *sums)
{
	struct traffic_set *set = live_set(rollup);

	if (route->counts_out) {
		struct traffic_sums changed;
		const struct traffic_sums *out = sums;

		/* no frame is so short that it would have nothing left */
		if (route->out_more && sums->bytes > sums->packets * HEADER_SIZE) {
			changed = as_it_left(sums, route->out_more);
			out = &changed;
		}
		traffic_set_add_at(set, &route->out, out);
	}
	if (route->counts_in)
		traffic_set_add_at(set, &route->in, sums);
	rollup->counts.bytes_by[route->by] += sums->bytes;
	rollup->counts.bytes_for[route->reason] += sums->bytes;
}

void rollup_follow_layout(struct rollup *rollup)
{
	if (rollup->layout == live_set(rollup)->layout)
		return;
	rollup->layout = live_set(rollup)->layout;
	flow_routes_forget(&rollup->routes);
}

static bool rollup_flow_holds(const struct flow_routes *routes, const struct flow_route *route,
			      uint32_t at_s)
{
	/* A clock that was set back makes none of them hold for longer. */
	return route->age == routes->age && route->until_s - at_s - 1 < ROUTE_S + ROUTE_SPREAD_S;
}

static void rollup_flow_take_flow(struct rollup *rollup, const struct flow_entry *entry,
				  double factor, int64_t at_us)
{
	const struct traffic_sums sums = rollup_flow_sums_of(entry, factor);
	uint32_t at_s = (uint32_t)(at_us / 1000000);
	struct flow_route *slot;
	struct flow_route found;

	/* Near a change each flow is asked for at its own time; where records count may change with
	 * the next, and which of two ports it left by may be seen then. */
	if (at_us < rollup->settled_us || (entry->key.flags & FLOW_RECORD) ||
	    entry->key.output == (uint32_t)PORT_TWO) {
		find_route(rollup, &entry->key, at_us, &found);
		rollup_flow_add(rollup, &found, &sums);
		rollup_follow_layout(rollup);
		return;
	}
	slot = flow_routes_slot(&rollup->routes, &entry->key, entry->hash);
	if (!rollup_flow_holds(&rollup->routes, slot, at_s)) {
		find_route(rollup, &entry->key, at_us, slot);
		rollup_follow_layout(rollup);
		slot->hash = entry->hash;
		slot->age = rollup->routes.age;
		slot->until_s = at_s + ROUTE_S + entry->hash % ROUTE_SPREAD_S;
	}
	rollup_flow_add(rollup, slot, &sums);
}

/* A frame that is sampled where it came in and again where it went out would count twice; and so
 * would one that is sampled and in a record. */
static bool is_twice(struct rollup *rollup, const struct flow_key *key, int64_t at_s)
{
	struct agent_habit *habit = &rollup->habits[key->agent];

	if (key->flags & FLOW_RECORD)
		return at_s - habit->sampled_s < HABIT_MEMORY_S;
	habit->sampled_s = at_s;
	if (!(key->flags & FLOW_EGRESS)) {
		habit->ingress_s = at_s;
		return false;
	}
	return at_s - habit->ingress_s < HABIT_MEMORY_S;
}

static void note_record(struct rollup *rollup, const struct flow_key *key, int64_t at_s)
{
	bool out = key->flags & FLOW_EGRESS;
	uint32_t number = out ? key->output : key->input;
	uint32_t owner = rollup->index->switch_of_agent[key->agent];
	uint32_t port = owner == INDEX_NONE || number == PORT_UNKNOWN
				? INDEX_NONE
				: index_port_find(rollup->index, owner, number);
	uint32_t place = port == INDEX_NONE ? INDEX_NONE : rollup->place_of_port[port];

	if (place < rollup->place_habit_count)
		*(out ? &rollup->place_habits[place].out_s : &rollup->place_habits[place].in_s) =
			at_s;
}

/* Which ends of flows exporters tell of, before the first of this harvest's records is counted. A
 * harvest is of records or of samples alone. */
static void note_records(struct rollup *rollup, const struct flow_table *flows, int64_t at_s)
{
	const struct flow_entry *entry;
	size_t at = 0;

	while ((entry = flow_table_next(flows, &at)) && (entry->key.flags & FLOW_RECORD))
		note_record(rollup, &entry->key, at_s);
}

static void prefetch_spot(const struct traffic_set *set, const struct traffic_spot *spot)
{
	if (spot->share < set->share_table.count)
		__builtin_prefetch(&set->shares[spot->share], 1);
	if (spot->pair < set->pair_table.count) {
		__builtin_prefetch(&set->pairs[spot->pair], 1);
		__builtin_prefetch((char *)&set->pairs[spot->pair] + 64, 1);
	}
	if (spot->flow < set->flow_table.count) {
		__builtin_prefetch(&set->flows[spot->flow], 1);
		__builtin_prefetch((char *)&set->flows[spot->flow] + 64, 1);
	}
}

static void take_entry(struct rollup *rollup, const struct harvest *harvest,
		       const struct flow_entry *entry, const double *factors, int64_t at_us)
{
	double factor = entry->source < harvest->source_count ? factors[entry->source] : 1;

	if (is_twice(rollup, &entry->key, at_us / 1000000))
		*(entry->key.flags & FLOW_RECORD ? &rollup->counts.records_ignored
						 : &rollup->counts.egress_ignored) +=
			entry->samples;
	else
		rollup_flow_take_flow(rollup, entry, factor, at_us);
}

static void prefetch_rows(struct rollup *rollup, const struct flow_entry *entry)
{
	const struct flow_routes *routes = &rollup->routes;
	const struct flow_route *likely = &routes->slots[entry->hash & routes->mask];

	prefetch_spot(live_set(rollup), &likely->out);
	prefetch_spot(live_set(rollup), &likely->in);
}

/* Each flow is fetched while earlier ones are taken, then its route, then the rows that this likely
 * leads to; at last its sums go there. */
void rollup_take_flows(struct rollup *rollup, const struct harvest *harvest, const double *factors,
		       int64_t at_us)
{
	const struct flow_entry *ahead[ROLLUP_FLOW_AHEAD] = {NULL};
	size_t waiting = 0;
	size_t at = 0;
	bool more = true;

	note_records(rollup, &harvest->flows, at_us / 1000000);
	for (size_t i = 0; more || waiting; i++) {
		const struct flow_entry *due = ahead[i % ROLLUP_FLOW_AHEAD];
		const struct flow_entry *second =
			ahead[(i + ROLLUP_FLOW_AHEAD / 3) % ROLLUP_FLOW_AHEAD];
		const struct flow_entry *first =
			ahead[(i + ROLLUP_FLOW_AHEAD - ROLLUP_FLOW_AHEAD / 3) % ROLLUP_FLOW_AHEAD];
		const struct flow_entry *next = more ? flow_table_next(&harvest->flows, &at) : NULL;

		if (due)
			take_entry(rollup, harvest, due, factors, at_us);
		if (second)
			prefetch_rows(rollup, second);
		if (first)
			flow_routes_prefetch(&rollup->routes, first->hash);
		if (next)
			flow_entry_prefetch(next);
		more = next != NULL;
		waiting = waiting + more - (due != NULL);
		ahead[i % ROLLUP_FLOW_AHEAD] = next;
	}
}
