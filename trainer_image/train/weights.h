/* What is learned: FP32 master weights, what the optimizer remembers of each, and the vector of
 * gradients that ranks sum. All of it lies in memory of the back end.
 *
 * The vector has a part for each parameter, in the order in which the backward pass makes their
 * gradients. Each part begins with a block of the codecs. A bucket is a range of parts. With bf16 or fp16 the model
 * reads rounded copies of the master weights; with fp32 the model's own tensors are the masters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/ops/ops.h"
#include "trainer_image/train/executor.h"

struct weights_part {
	int tensor, gradient; /* of the graph */
	size_t first, count;  /* numbers of the vector */
	float *master;        /* of the back end */
	bool is_matrix; /* what has one dimension (bias, scale, shift) has no decay and no trust */
};

struct weights {
	const struct graph *graph;
	struct ops *ops;
	struct executor *executor;
	struct weights_part *parts;
	size_t count;
	size_t numbers;                      /* of a vector, with the gaps */
	float *gradient, *velocity, *square; /* vectors; `square` of AdamW alone */
	float *masters;                      /* a vector; NULL with fp32 */
	float *shared; /* the gradient where the host can sum it: the same vector, or a copy of it */
};

/* How a step changes weights; what struct ops_update has for all of them. */
struct weights_rule {
	enum ops_update_kind kind;
	double rate, decay, momentum, momentum2, epsilon, trust;
	double unscale;
	bool nesterov;
	int64_t step; /* that weights were changed in, from 1 */
};

/* Of an executor of a graph with its backward pass, after executor_begin(). `ops` and `executor` outlive it.
 * E_UNSUPPORTED: a model of fp64; -EIO; -ENOMEM. Call weights_done() in any case. */
MUST_USE int weights_init(struct weights *weights, const struct graph *graph, struct ops *ops,
			  struct executor *executor, enum ops_update_kind kind);
void weights_done(struct weights *weights);
/* All that they have taken of the back end. */
int64_t weights_bytes(const struct weights *weights);

/* Takes the gradient of the part `nth` from the executor: `adds` to what is there, or in its place. */
MUST_USE int weights_take(struct weights *weights, size_t nth, bool adds);
/* All gradients are 0. */
MUST_USE int weights_clear(struct weights *weights);
/* The part `nth` of the gradient to `shared`, and all of it back from there. */
MUST_USE int weights_share(struct weights *weights, size_t nth);
MUST_USE int weights_share_end(struct weights *weights);
/* `ret`: the first part whose gradient holds infinity or NaN; -1 = none. */
MUST_USE int weights_broken(const struct weights *weights, int *ret);
/* The same of master weights. */
MUST_USE int weights_broken_master(const struct weights *weights, int *ret);
MUST_USE int weights_update(struct weights *weights, const struct weights_rule *rule);
/* The model's copies from the masters, after these were loaded. */
MUST_USE int weights_copy(struct weights *weights);
/* All masters and running statistics, by FNV-1a: two runs with the same digest have the same bits. 0: they cannot
 * be read. */
uint64_t weights_digest(const struct weights *weights);
