/* Shared by rollup.c (seconds, minutes, hours) and rollup_flow.c (owner and rows of a flow). */
#pragma once

#include "peregrine/flowd/flow/egress_book.h"
#include "peregrine/flowd/flow/flow_routes.h"
#include "peregrine/flowd/flow/rollup.h"

struct bucket {
	int64_t at_s;
	bool partial;
	struct traffic_set set;
};

/* When an agent last sent input samples, and any samples. Traffic that an agent reports in two ways
 * is counted in one of them. */
struct agent_habit {
	int64_t ingress_s, sampled_s;
};

/* When records last told what came in by a port, and what went out. Exporters may watch some of
 * their ports alone, so it is a port's habit. */
struct place_habit {
	int64_t in_s, out_s;
};

struct rollup {
	struct rollup_options options;
	bucket_fn fn;
	void *context;
	const struct attribution_index *index;
	struct traffic_names *names;
	/* Maps numbers of the index to numbers of traffic_names. */
	uint32_t *place_of_port, *node_of_nic;
	struct agent_habit *habits;       /* per agent */
	struct place_habit *place_habits; /* by traffic_names' numbers */
	size_t place_habit_count;
	struct egress_book *egress;

	/* No binding begins or ends after that, so owners of flows stay the same. */
	int64_t settled_us;
	struct flow_routes routes;
	uint32_t layout; /* traffic_set.layout of the minute's set that the routes point into */

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

/* The minute's set: its rows keep the current second apart. */
static inline struct traffic_set *live_set(struct rollup *rollup)
{
	return &rollup->buckets[STEP_MINUTE].set;
}

/* Adds all flows of a harvest to the current second; `factors` by harvest->sources. */
void rollup_take_flows(struct rollup *rollup, const struct harvest *harvest, const double *factors,
		       int64_t at_us);
/* If rows moved, makes the routes to them invalid. */
void rollup_follow_layout(struct rollup *rollup);
