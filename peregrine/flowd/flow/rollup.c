#include "peregrine/flowd/flow/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/flow/rollup_private.h"
#include "peregrine/flowd/flow/source_policy.h"
#include "peregrine/flowd/sample/agent_directory.h"

const int32_t traffic_step_seconds[TRAFFIC_STEP_COUNT] = {
	[STEP_MINUTE] = 60, [STEP_FIVE_MINUTES] = 300, [STEP_HOUR] = 3600};

enum {
	/* A clock that goes back by more than this was set, and what we have is of another time. */
	CLOCK_BACK_S = 5,
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
	free(rollup->habits);
	free(rollup->place_habits);
	egress_book_free(rollup->egress);
	free(rollup);
}

static int64_t rollup_later(int64_t at_us, int64_t from_us, int64_t to_us)
{
	if (at_us < from_us)
		at_us = from_us;
	return to_us != BINDING_ENDLESS && at_us < to_us ? to_us : at_us;
}

static int64_t settled_us(const struct attribution_index *index)
{
	int64_t at_us = 0;

	for (size_t i = 0; i < index->binding_count; i++)
		at_us = rollup_later(at_us, index->bindings[i].from_us, index->bindings[i].to_us);
	for (size_t i = 0; i < index->nic_count; i++)
		at_us = rollup_later(at_us, index->nics[i].from_us, index->nics[i].to_us);
	for (size_t i = 0; i < index->tag_count; i++)
		at_us = rollup_later(at_us, index->tags[i].from_us, index->tags[i].to_us);
	return at_us;
}

/* Places are given for good, so what is known of them stays. */
static int rollup_make_habits(struct rollup *rollup)
{
	size_t count = traffic_place_count(rollup->names);
	size_t more = count - rollup->place_habit_count;
	struct place_habit *habits;

	if (!more)
		return 0;
	habits = realloc(rollup->place_habits, count * sizeof(*habits));
	if (!habits)
		return -ENOMEM;
	memset(habits + rollup->place_habit_count, 0, more * sizeof(*habits));
	rollup->place_habits = habits;
	rollup->place_habit_count = count;
	return 0;
}

int rollup_use(struct rollup *rollup, const struct attribution_index *index)
{
	uint32_t *places = calloc(index->port_count + 1, sizeof(*places));
	uint32_t *nodes = calloc(index->nic_count + 1, sizeof(*nodes));

	if (!places || !nodes) {
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
	if (rollup_make_habits(rollup)) {
		free(places);
		free(nodes);
		return -ENOMEM;
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
	traffic_set_restart(&bucket->set);
	rollup_follow_layout(rollup);
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

void rollup_take(struct rollup *rollup, const struct harvest *harvest)
{
	/* The middle of what it covers: a harvest that ends at 10:00:00.01 is of the second before.
	 */
	int64_t at_us = harvest->from_us + (harvest->until_us - harvest->from_us) / 2;
	double *factors;

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
	rollup_take_flows(rollup, harvest, factors, at_us);
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
