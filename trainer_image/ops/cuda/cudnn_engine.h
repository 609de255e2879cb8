/* Engines of cuDNN for one product on one GPU, in the order of cuDNN's heuristics: the fastest is expected first.
 *
 * Refused are those that may break what the trainer promises:
 *
 *     nondeterministic            two runs of one seed are equal, bit by bit
 *     FP32 by tensor cores        TF32 has 10 bits; also those that convert FP32 inputs down
 *     sums below FP32             16-bit types are summed in FP32
 *     Winograd, tiles over 4x4    loses digits
 *     compiled at run time        needs a driver to be planned, and a second each
 *
 * Kept are those with less workspace than all before them: a limit of workspace chooses the first that fits. */
#pragma once

#include "trainer_image/ops/cuda/cudnn_device.h"
#include "trainer_image/ops/cuda/cudnn_graph.h"

enum cudnn_refusal {
	CUDNN_REFUSED_NONDETERMINISTIC,
	CUDNN_REFUSED_PRECISION,
	CUDNN_REFUSED_COMPILED,
	CUDNN_REFUSED_WORKSPACE, /* over the limit, or not less than one before */
	CUDNN_REFUSED_PLAN,      /* its plan cannot be made on this GPU */
	CUDNN_REFUSALS,
};

enum { CUDNN_ENGINES_MAX = 16, CUDNN_ENGINE_NAME = 96 };

struct cudnn_engine {
	int64_t id; /* cuDNN's number of it, for this product */
	int64_t workspace;
	bool tensor_cores;
	/* With the choices within it, "eng67_k2=1_k27=8": what cuDNN's log and cudnn-frontend call it. */
	char name[CUDNN_ENGINE_NAME];
};

struct cudnn_engines {
	struct cudnn_engine rows[CUDNN_ENGINES_MAX]; /* workspace falls from row to row */
	size_t count;
	unsigned offered; /* by cuDNN */
	unsigned refused[CUDNN_REFUSALS];
};

/* At most `most` engines with at most `limit` bytes, each with a plan that was made. E_UNSUPPORTED when there is none: the
 * problem says how many were refused and why. -EIO: cuDNN failed. */
MUST_USE int cudnn_engines_find(const struct cudnn_target *target, const struct cudnn_shape *shape,
				int64_t limit, size_t most, struct cudnn_engines *ret,
				struct problem *problem);
/* The first that needs at most `limit` bytes, NULL when there is none. */
const struct cudnn_engine *cudnn_engines_choose(const struct cudnn_engines *engines, int64_t limit);

/* The plan of an engine, to be executed. Never moves: the descriptors of the pool know its address. */
struct cudnn_plan {
	struct cudnn_pool pool; /* what the plan is made of */
	struct cudnn_engine engine;
	void *plan; /* of the pool */
};

/* Of the first engine within `limit`. Errors as above. Call cudnn_plan_done() in any case. */
MUST_USE int cudnn_plan_init(struct cudnn_plan *plan, const struct cudnn_target *target,
			     const struct cudnn_shape *shape, int64_t limit,
			     struct problem *problem);
void cudnn_plan_done(struct cudnn_plan *plan);
