#include "peregrine/flowd/flow/rollup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/egress_book.h"
#include "peregrine/flowd/flow/flow_routes.h"
#include "peregrine/flowd/flow/source_policy.h"
#include "peregrine/flowd/sample/agent_directory.h"

const int32_t traffic_step_seconds[TRAFFIC_STEP_COUNT] = {
	[STEP_MINUTE] = 60, [STEP_FIVE_MINUTES] = 300, [STEP_HOUR] = 3600};

enum {
	/* A clock that goes back by more than this was set, and what we have is of another time. */
	CLOCK_BACK_S = 5,
	/* For how long one ingress sample makes a switch one that samples at its ingress. */
	HABIT_MEMORY_S = 600,
	/* Flows whose rows are fetched from memory before the first of them is touched. */
	BATCH = 16,
	/* Of a frame with addresses, at least: it has that and what is taken off. */
	HEADER_SIZE = 14,
};

struct bucket {
	int64_t at_s;
	bool partial;
	struct traffic_set set;
};

/* When an agent last sampled frames as they came in, sampled at all, told records of what came in
 * and of what went out. What is told in two ways is counted in one. */
struct agent_habit {
	int64_t ingress_s, sampled_s, record_in_s, record_out_s;
};

struct rollup {
	struct rollup_options options;
	bucket_fn fn;
	void *context;
	const struct attribution_index *index;
	struct traffic_names *names;
	/* Numbers of traffic_names for what the index numbers in its own way. */
	uint32_t *place_of_port, *node_of_nic;
	uint64_t *out_bytes; /* by place, of samples, since the start */
	uint32_t out_room;
	struct agent_habit *habits; /* per agent */
	struct egress_book *egress;

	/* No binding begins or ends after that: whose a flow is does not change any more. */
	int64_t settled_us;
	struct flow_routes routes;
	uint32_t layout; /* of the minute's set that the routes lead to */

	unsigned second_thinned;
	int64_t second_s;   /* being gathered; 0 = none */
	int64_t last_s;     /* the last one that was begun */
	unsigned harvests;  /* taken into it */
	int64_t covered_us; /* by those of samples, together */
	bool told;
	struct traffic_ring *ring;
	struct bucket buckets[TRAFFIC_STEP_COUNT];
	struct rollup_counts counts;
};

static int64_t begin_of(int64_t at_s, enum traffic_step step)
{
	return at_s - at_s % traffic_step_seconds[step];
}

int rollup_new(const struct rollup_options *options, int64_t now_s, bucket_fn fn, void *context,
	       struct rollup **ret)
{
	struct rollup *rollup = calloc(1, sizeof(*rollup));
	struct traffic_limits longer = options->bucket;
	int rc;

	if (!rollup)
		return -ENOMEM;
	longer.flows = 1; /* the hour's flows would be a list of its longest ones only */
	longer.flows_kept = 0;
	*rollup = (struct rollup){.options = *options, .fn = fn, .context = context};
	rollup->habits = calloc(AGENT_LIMIT + 1, sizeof(*rollup->habits));
	rc = rollup->habits ? traffic_names_new(&rollup->names) : -ENOMEM;
	if (!rc)
		rc = egress_book_new(&rollup->egress);
	if (!rc)
		rc = traffic_ring_new(options->ring_seconds, options->ring_bytes, &rollup->ring);
	if (!rc)
		rc = flow_routes_init(&rollup->routes, options->route_bits);
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT && !rc; step++) {
		struct traffic_set *set = &rollup->buckets[step].set;

		rc = step == STEP_MINUTE ? traffic_set_init_live(set, &options->bucket)
					 : traffic_set_init(set, &longer);
		rollup->buckets[step].at_s = begin_of(now_s, step);
		rollup->buckets[step].partial = now_s % traffic_step_seconds[step] != 0;
	}
	if (rc) {
		rollup_free(rollup);
		return rc;
	}
	*ret = rollup;
	return 0;
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return;
	flow_routes_done(&rollup->routes);
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT; step++)
		traffic_set_done(&rollup->buckets[step].set);
	traffic_ring_free(rollup->ring);
	traffic_names_free(rollup->names);
	free(rollup->place_of_port);
	free(rollup->node_of_nic);
	free(rollup->out_bytes);
	free(rollup->habits);
	egress_book_free(rollup->egress);
	free(rollup);
}

static int64_t later(int64_t at_us, int64_t from_us, int64_t to_us)
{
	if (at_us < from_us)
		at_us = from_us;
	return to_us != BINDING_ENDLESS && at_us < to_us ? to_us : at_us;
}

static int64_t settled_us(const struct attribution_index *index)
{
	int64_t at_us = 0;

	for (size_t i = 0; i < index->binding_count; i++)
		at_us = later(at_us, index->bindings[i].from_us, index->bindings[i].to_us);
	for (size_t i = 0; i < index->nic_count; i++)
		at_us = later(at_us, index->nics[i].from_us, index->nics[i].to_us);
	for (size_t i = 0; i < index->tag_count; i++)
		at_us = later(at_us, index->tags[i].from_us, index->tags[i].to_us);
	return at_us;
}

/* Room for the places there are and so many more. */
static int make_places(struct rollup *rollup, size_t more)
{
	size_t room = traffic_place_count(rollup->names) + more;
	uint64_t *bytes;

	if (room <= rollup->out_room)
		return 0;
	bytes = reallocarray(rollup->out_bytes, room, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	memset(bytes + rollup->out_room, 0, (room - rollup->out_room) * sizeof(*bytes));
	rollup->out_bytes = bytes;
	rollup->out_room = (uint32_t)room;
	return 0;
}

int rollup_use(struct rollup *rollup, const struct attribution_index *index)
{
	uint32_t *places = calloc(index->port_count + 1, sizeof(*places));
	uint32_t *nodes = calloc(index->nic_count + 1, sizeof(*nodes));

	if (!places || !nodes || make_places(rollup, index->port_count)) {
		free(places);
		free(nodes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < index->port_count; i++) {
		const struct index_port *port = &index->ports[i];
		const struct index_switch *owner = &index->switches[port->switch_index];

		places[i] = traffic_names_place(rollup->names, owner->id, owner->name, port->name,
						port->speed_bps);
	}
	for (size_t i = 0; i < index->nic_count; i++)
		nodes[i] = index->nics[i].node
				   ? traffic_names_node(rollup->names, index->nics[i].node,
							index->nics[i].node_name)
				   : INDEX_NONE;
	free(rollup->place_of_port);
	free(rollup->node_of_nic);
	rollup->place_of_port = places;
	rollup->node_of_nic = nodes;
	rollup->index = index;
	rollup->settled_us = settled_us(index);
	flow_routes_forget(&rollup->routes);
	return 0;
}

uint32_t rollup_place(const struct rollup *rollup, uint32_t port)
{
	return rollup->place_of_port[port];
}

uint64_t rollup_out_bytes(const struct rollup *rollup, uint32_t place)
{
	return place < rollup->out_room ? rollup->out_bytes[place] : 0;
}

/* --- one flow ------------------------------------------------------------------- */

static struct traffic_end end_of(const struct rollup *rollup, const struct flow_key *key,
				 bool source, int64_t at_us)
{
	const uint8_t *mac = source ? key->source_mac : key->target_mac;
	const struct index_nic *nic = index_nic_find(rollup->index, mac, at_us);
	const uint32_t *node = nic ? &rollup->node_of_nic[nic - rollup->index->nics] : NULL;
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

static void conversation_of(const struct rollup *rollup, const struct flow_key *key, int64_t at_us,
			    struct pair_key *ret_pair, struct conversation_key *ret_flow)
{
	struct traffic_end source;
	struct traffic_end target;

	*ret_pair = (struct pair_key){0};
	*ret_flow = (struct conversation_key){0};
	if (key->flags & FLOW_FOLDED)
		return; /* in the totals, and then in "other" */
	source = end_of(rollup, key, true, at_us);
	target = end_of(rollup, key, false, at_us);
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

static struct traffic_sums sums_of(const struct flow_entry *entry, double factor)
{
	/* Rounded here, once: from here on sums are integers and agree at every level. */
	return (struct traffic_sums){
		.bytes = (uint64_t)llround((double)entry->bytes * factor),
		.packets = (uint64_t)llround((double)entry->packets * factor),
		.square = entry->square * factor * factor,
		.samples = entry->samples,
	};
}

static struct traffic_set *live_set(struct rollup *rollup)
{
	return &rollup->buckets[STEP_MINUTE].set;
}

/* An exporter that tells of a flow where it came in and again where it went out: each record counts
 * at its own end. */
static bool counts_at(const struct rollup *rollup, const struct flow_key *key, bool out,
		      int64_t at_s)
{
	const struct agent_habit *habit = &rollup->habits[key->agent];

	if (!(key->flags & FLOW_RECORD) || out == !!(key->flags & FLOW_EGRESS))
		return true;
	return at_s - (out ? habit->record_out_s : habit->record_in_s) >= HABIT_MEMORY_S;
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
	conversation_of(rollup, key, at_us, &pair, &flow);
	if (a.out_port != INDEX_NONE && counts_at(rollup, key, true, at_us / 1000000)) {
		share.place = rollup->place_of_port[a.out_port];
		share.direction = TRAFFIC_OUT;
		ret->out = traffic_set_spot(set, &share, &pair, &flow);
		ret->counts_out = true;
	}
	if (a.from_edge && counts_at(rollup, key, false, at_us / 1000000)) {
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

static void add(struct rollup *rollup, const struct flow_route *route,
		const struct traffic_sums *sums)
{
	struct traffic_set *set = live_set(rollup);

	if (route->counts_out) {
		struct traffic_sums changed;
		const struct traffic_sums *out = sums;
		uint32_t place = route->out.share == INDEX_NONE
					 ? INDEX_NONE
					 : set->shares[route->out.share].key.place;

		/* no frame is so short that it would have nothing left */
		if (route->out_more && sums->bytes > sums->packets * HEADER_SIZE) {
			changed = as_it_left(sums, route->out_more);
			out = &changed;
		}
		traffic_set_add_at(set, &route->out, out);
		if (place < rollup->out_room)
			rollup->out_bytes[place] += out->bytes;
	}
	if (route->counts_in)
		traffic_set_add_at(set, &route->in, sums);
	rollup->counts.bytes_by[route->by] += sums->bytes;
	rollup->counts.bytes_for[route->reason] += sums->bytes;
}

/* Rows moved: routes to them hold no more. */
static void follow_layout(struct rollup *rollup)
{
	if (rollup->layout == live_set(rollup)->layout)
		return;
	rollup->layout = live_set(rollup)->layout;
	flow_routes_forget(&rollup->routes);
}

static void take_flow(struct rollup *rollup, const struct flow_entry *entry, double factor,
		      int64_t at_us)
{
	const struct traffic_sums sums = sums_of(entry, factor);
	struct flow_route *slot;
	struct flow_route found;

	/* Near a change each flow is asked for at its own time; where records count may change with
	 * the next, and which of two ports it left by may be seen then. */
	if (at_us < rollup->settled_us || (entry->key.flags & FLOW_RECORD) ||
	    entry->key.output == (uint32_t)PORT_TWO) {
		find_route(rollup, &entry->key, at_us, &found);
		add(rollup, &found, &sums);
		follow_layout(rollup);
		return;
	}
	slot = flow_routes_slot(&rollup->routes, &entry->key, entry->hash);
	if (slot->age != rollup->routes.age) {
		find_route(rollup, &entry->key, at_us, slot);
		follow_layout(rollup);
		slot->hash = entry->hash;
		slot->age = rollup->routes.age;
	}
	add(rollup, slot, &sums);
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

/* Which ends of flows exporters tell of, before the first of this harvest's records is counted. A
 * harvest is of records or of samples alone. */
static void note_records(struct rollup *rollup, const struct flow_table *flows, int64_t at_s)
{
	const struct flow_entry *entry;
	size_t at = 0;

	while ((entry = flow_table_next(flows, &at)) && (entry->key.flags & FLOW_RECORD)) {
		struct agent_habit *habit = &rollup->habits[entry->key.agent];

		*(entry->key.flags & FLOW_EGRESS ? &habit->record_out_s : &habit->record_in_s) =
			at_s;
	}
}

/* --- time ----------------------------------------------------------------------- */

static void close_bucket(struct rollup *rollup, enum traffic_step step, bool partial)
{
	struct bucket *bucket = &rollup->buckets[step];

	/* Without memory for it all is written that is there. */
	rollup->counts.no_memory += traffic_set_prune(&bucket->set) != 0;
	rollup->counts.prunes += bucket->set.prunes;
	rollup->counts.lost_bytes += bucket->set.lost_bytes;
	rollup->fn(rollup->context, step, bucket->at_s, partial, &bucket->set);
	if (step + 1 < TRAFFIC_STEP_COUNT)
		traffic_set_merge(&rollup->buckets[step + 1].set, &bucket->set);
	traffic_set_clear(&bucket->set);
	follow_layout(rollup);
}

static void tell_second(struct rollup *rollup)
{
	unsigned samplers = rollup->options.samplers ? rollup->options.samplers : 1;

	if (rollup->told || !rollup->options.on_second)
		return;
	rollup->told = true;
	rollup->options.on_second(rollup->context, rollup->second_s,
				  (double)rollup->covered_us / 1e6 / samplers, live_set(rollup));
}

static void close_second(struct rollup *rollup)
{
	struct traffic_set *set = live_set(rollup);

	if (!rollup->second_s)
		return;
	tell_second(rollup);
	rollup->counts.no_memory +=
		traffic_ring_put(rollup->ring, rollup->second_s, set, &rollup->options.kept,
				 rollup->second_thinned) != 0;
	traffic_set_next_second(set);
	rollup->second_thinned = 0;
	rollup->second_s = 0;
}

/* Hands out what ended before `now_s` and begins what it is in. The shortest first: its traffic
 * is the last part of the longer one that may end with it. To an earlier bucket only when the clock
 * was set back: a tick looks a little behind the clock. */
static void turn_buckets(struct rollup *rollup, int64_t now_s, bool set_back)
{
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT; step++) {
		struct bucket *bucket = &rollup->buckets[step];
		int64_t at_s = begin_of(now_s, step);

		if (at_s == bucket->at_s || (at_s < bucket->at_s && !set_back))
			continue;
		close_bucket(rollup, step, bucket->partial);
		/* Begun late when the clock jumped into the middle of it. */
		bucket->partial = at_s != bucket->at_s + traffic_step_seconds[step];
		bucket->at_s = at_s;
	}
}

void rollup_tick(struct rollup *rollup, int64_t now_s)
{
	if (rollup->second_s && now_s > rollup->second_s)
		close_second(rollup);
	if (!rollup->second_s)
		turn_buckets(rollup, now_s, false);
}

static void open_second(struct rollup *rollup, int64_t at_s)
{
	bool set_back = at_s < rollup->last_s - CLOCK_BACK_S;

	if (set_back) {
		rollup->counts.clock_jumps++;
		close_second(rollup);
	} else if (rollup->second_s && at_s < rollup->second_s) {
		rollup->counts.late++;
		return; /* counted in the second that is open: nothing is lost, a little is late */
	} else if (!rollup->second_s && at_s <= rollup->last_s) {
		rollup->counts.late++;
		at_s = rollup->last_s + 1; /* that one is in the ring already */
	} else if (at_s > rollup->second_s) {
		close_second(rollup);
	}
	if (!rollup->second_s) {
		turn_buckets(rollup, at_s, set_back);
		rollup->second_s = rollup->last_s = at_s;
		rollup->harvests = 0;
		rollup->covered_us = 0;
		rollup->told = false;
	}
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

static void take_batch(struct rollup *rollup, const struct harvest *harvest,
		       const struct flow_entry *const batch[BATCH], size_t count,
		       const double *factors, int64_t at_us)
{
	const struct flow_routes *routes = &rollup->routes;

	for (size_t i = 0; i < count; i++)
		flow_routes_prefetch(routes, batch[i]->hash);
	for (size_t i = 0; i < count; i++) {
		const struct flow_route *likely = &routes->slots[batch[i]->hash & routes->mask];

		prefetch_spot(live_set(rollup), &likely->out);
		prefetch_spot(live_set(rollup), &likely->in);
	}
	for (size_t i = 0; i < count; i++) {
		const struct flow_entry *entry = batch[i];
		double factor = entry->source < harvest->source_count ? factors[entry->source] : 1;

		if (is_twice(rollup, &entry->key, at_us / 1000000))
			*(entry->key.flags & FLOW_RECORD ? &rollup->counts.records_ignored
							 : &rollup->counts.egress_ignored) +=
				entry->samples;
		else
			take_flow(rollup, entry, factor, at_us);
	}
}

void rollup_take(struct rollup *rollup, const struct harvest *harvest)
{
	/* The middle of what it covers: a harvest that ends at 10:00:00.01 is of the second before.
	 */
	int64_t at_us = harvest->from_us + (harvest->until_us - harvest->from_us) / 2;
	const struct flow_entry *batch[BATCH];
	double *factors;
	size_t count;
	size_t at = 0;

	if (!rollup->index)
		return;
	factors = calloc(harvest->source_count + 1, sizeof(*factors));
	if (!factors)
		return;
	for (size_t i = 0; i < harvest->source_count; i++)
		factors[i] = source_factor(&harvest->sources[i]);
	open_second(rollup, at_us / 1000000);
	if (rollup->second_thinned < harvest->thin)
		rollup->second_thinned = harvest->thin;
	if (live_set(rollup)->thinned < harvest->thin)
		live_set(rollup)->thinned = harvest->thin;
	note_records(rollup, &harvest->flows, at_us / 1000000);
	do {
		for (count = 0; count < BATCH; count++)
			if (!(batch[count] = flow_table_next(&harvest->flows, &at)))
				break;
		take_batch(rollup, harvest, batch, count, factors, at_us);
	} while (count == BATCH);
	free(factors);
	if (harvest->of_samples)
		rollup->covered_us += harvest->until_us - harvest->from_us;
	if (++rollup->harvests == rollup->options.harvests)
		tell_second(rollup);
}

void rollup_flush(struct rollup *rollup)
{
	close_second(rollup);
	for (enum traffic_step step = 0; step < TRAFFIC_STEP_COUNT; step++)
		close_bucket(rollup, step, true);
}

int64_t rollup_minute_s(const struct rollup *rollup)
{
	return rollup->buckets[STEP_MINUTE].at_s;
}

const struct traffic_ring *rollup_ring(const struct rollup *rollup)
{
	return rollup->ring;
}

const struct traffic_names *rollup_names(const struct rollup *rollup)
{
	return rollup->names;
}

struct rollup_counts rollup_counts(const struct rollup *rollup)
{
	return rollup->counts;
}
