/* From a choice of ops to compute again to steps, and to the interval in which each value is live.
 *
 * The forward pass runs first. Before a backward op the missing inputs are computed again, the missing
 * inputs of those before them, each op at most once. */
#pragma once

#include "trainer_image/plan/plan.h"

struct liveness {
	const struct graph *graph;
	int64_t *workspace; /* bytes per op */
	int *forward_of;    /* per op: the forward op that it belongs to */
	struct plan_step *steps;
	struct plan_value *values;
	int *current; /* per tensor: its value, -1 = none */
	int *stack;
	int64_t *live; /* bytes per step */
	int step_count, value_count;
	int turn; /* the first step of the backward pass */
	int64_t peak;
	double extra_flops;
};

/* -ENOMEM. Call liveness_done() in any case. */
MUST_USE int liveness_init(struct liveness *life, const struct graph *graph,
			   const struct plan_options *options);
void liveness_done(struct liveness *life);

/* `dropped` per forward op. Sets steps, values (without offsets), live bytes, peak and work. */
void liveness_run(struct liveness *life, const bool dropped[]);
/* Sets the offsets of the values; bytes of the arena in `ret_arena`. -ENOMEM. */
MUST_USE int liveness_pack(struct liveness *life, int64_t *ret_arena);
