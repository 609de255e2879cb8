/* What rollup.c (seconds, minutes, hours) and rollup_flow.c (whose a flow is, and where its sums
 * go) share. */
#pragma once

#include "peregrine/flowd/flow/egress_book.h"
#include "peregrine/flowd/flow/flow_routes.h"
#include "peregrine/flowd/flow/rollup.h"

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

/* The minute's: the second under way is kept apart in its rows. */
static inline struct traffic_set *live_set(struct rollup *rollup)
{
	return &rollup->buckets[STEP_MINUTE].set;
}

/* All flows of a harvest into the second under way; `factors` by harvest->sources. */
void rollup_take_flows(struct rollup *rollup, const struct harvest *harvest, const double *factors,
		       int64_t at_us);
/* Rows moved: routes to them hold no more. */
void rollup_follow_layout(struct rollup *rollup);
