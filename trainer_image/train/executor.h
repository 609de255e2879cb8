/* Runs the steps of a plan (executor_plan.h) on a back end: one training step is one pass over them.
 *
 * Memory is taken once, of the back end: the arena of the plan, and what lasts from step to step (input, label,
 * parameters, running statistics, gradients). The gradients of all parameters lie one behind the other, in
 * the order in which the backward pass makes them. So buckets of them are ranges of bytes. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/ops.h"
#include "trainer_image/plan/plan.h"

struct executor;

struct executor_step {
	uint64_t seed, number; /* of dropout */
	double scale;  /* the gradients are those of the mean loss times this: 1, or a loss scale */
	double labels; /* what the mean divides by; 0 = the labels that count */
	bool count_right; /* compare the largest logit with the label */
	/* Passes with the same number above 0 differ in seed, number, scale and data alone, and `gradient` tells the back
	 * end the same. So a back end may keep the first, and run the others without the calls. Not with count_right. */
	unsigned same;
	/* Called behind the op that made the gradient of a parameter, in the order of their memory; may be
	 * NULL. `tensor`: the gradient. An error ends the pass. */
	int (*gradient)(void *context, int tensor);
	/* Called when the back end was told all of the pass, before it is waited for; may be NULL. */
	void (*launched)(void *context);
	void *context;
};

struct executor_result {
	double loss;             /* the mean of those whose labels count; 0 when none does */
	uint64_t counted, right; /* labels; `right` with count_right alone */
	int64_t forward_us; /* until the losses were there; of a device: until it was told all of it */
};

/* `graph`, `plan` and `ops` outlive it. `beside`, which outlives it, is of another graph of the same model, and the two run by turns:
 * it has the input, label, parameters and statistics of `beside`, and its arena where that is large enough. NULL = all of its own. E_UNSUPPORTED: an op that the back end has not, or one that wants more workspace than
 * the plan has; -ENOMEM. */
MUST_USE int executor_new(const struct graph *graph, const struct plan *plan, struct ops *ops,
			  const struct executor *beside, struct executor **ret,
			  struct problem *problem);
void executor_free(struct executor *executor);
/* The back end. Borrowed. */
struct ops *executor_ops(const struct executor *executor);

/* What lasts: graph->input, graph->label, parameters, statistics, gradients; NULL for others. Borrowed memory of
 * the back end, which the caller may touch where the back end is `on_host`. */
void *executor_tensor(struct executor *executor, int tensor);
/* Bytes of a tensor that lasts, from and to memory of the caller. Labels are written by this alone. -EIO. */
MUST_USE int executor_write(struct executor *executor, int tensor, size_t at, const void *from,
			    size_t bytes);
MUST_USE int executor_read(struct executor *executor, int tensor, void *to);
/* Parameters and statistics as training begins with them: the same for one seed on every rank and back
 * end. -EIO, -ENOMEM. */
MUST_USE int executor_begin(struct executor *executor, uint64_t seed);
/* One pass over the plan. E_INVALID: a label or word that the model does not have; -EIO; what `gradient` said. */
MUST_USE int executor_run(struct executor *executor, const struct executor_step *step,
			  struct executor_result *ret);
/* Where a loss that is no number comes from: runs the forward pass of the step again. The first tensor
 * that holds infinity or NaN: the input, a parameter, or what an op gives. -1 = none that can be found. */
int executor_find_broken(struct executor *executor, const struct executor_step *step);
/* The furthest byte of the arena that a step was given so far: never more than plan->arena. */
int64_t executor_peak(const struct executor *executor);
/* All that it has taken of the back end. */
int64_t executor_bytes(const struct executor *executor);
/* The gradients of all parameters, in memory of the back end. */
void *executor_gradients(struct executor *executor, int64_t *ret_bytes);
