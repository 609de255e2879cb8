/* A plan of one training step: which op runs when, what is kept, what is computed again, and at which
 * byte of one arena each tensor lies. The peak is known before the first step.
 *
 * Lasting tensors (parameters, their gradients, running statistics, input, label) are not in the arena. */
#pragma once

#include "trainer_image/graph/graph.h"

enum { PLAN_ALIGNMENT = 256 }; /* bytes: offsets and sizes are multiples */

/* The bytes of a tensor from one step to another; a tensor that is computed again has two values. */
struct plan_value {
	int tensor;      /* its root; -1 = workspace */
	int first, last; /* steps: the one that gives it, the last that reads it */
	int place;       /* the value whose bytes it takes over in place; itself = none */
	int64_t bytes;   /* a multiple of PLAN_ALIGNMENT */
	int64_t offset;  /* in the arena */
};

struct plan_step {
	int op; /* of the graph */
	bool recompute;
	int in[OP_IN_MAX], out[OP_OUT_MAX]; /* values; -1 = a lasting tensor */
	int workspace;                      /* value; -1 = none */
	int free_from, free_count; /* values whose last step this is: a range of `plan.frees` */
};

struct plan {
	struct plan_step *steps;
	struct plan_value *values;
	int *frees;
	bool *dropped; /* per forward op: not kept for the backward pass */
	int step_count, value_count, forward_count;
	int64_t arena; /* bytes: the peak */
	int64_t floor; /* the most bytes that are live at once: no arena is smaller for these steps */
	int64_t workspace; /* bytes of the largest workspace, part of the arena */
	double extra_flops;
	bool exact; /* no other set of ops to compute again has fewer extra operations */
};

struct plan_options {
	int64_t budget; /* bytes of the arena and of what is `beside` it; 0 = any number */
	int64_t beside;
	/* Bytes of workspace of an op; NULL = none. A back end offers engines this way. */
	int64_t (*workspace)(void *context, const struct graph *graph, int op);
	void *context;
	int64_t *ret_smallest; /* E_LIMIT: the smallest budget that works; NULL = not wanted */
};

/* E_LIMIT when the budget is too small: the problem says the smallest that works. -ENOMEM. The caller
 * frees `ret`. */
MUST_USE int plan_make(const struct graph *graph, const struct plan_options *options,
		       struct plan **ret, struct problem *problem);
void plan_free(struct plan *plan);
void plan_freep(struct plan **plan);

/* The same for plans that run and compute again the same ops in the same order. Bytes do not count: they change
 * no bit. With a budget, plans with other workspaces may differ in what they compute again. */
uint64_t plan_digest(const struct plan *plan);
/* Bytes when all that the forward pass gives is kept, each result in memory of its own. */
int64_t plan_naive_bytes(const struct graph *graph);
