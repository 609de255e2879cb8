/* The shapes of products that were asked for, each with cuDNN's engines. Who has less workspace takes another engine. */
#pragma once

#include "trainer_image/ops/cuda/cudnn_engine.h"

struct cudnn_shapes_row {
	struct cudnn_shapes_row *next;
	struct cudnn_shape shape;
	int number;                   /* from 0 on, in the order of the questions */
	struct cudnn_engines engines; /* none: `problem` says why */
	struct problem problem;
	struct cudnn_plan *plans[CUDNN_ENGINES_MAX]; /* of `engines`; NULL = nobody executes it */
};

struct cudnn_shapes {
	const struct cudnn_target *target; /* borrowed; of plans a handle */
	int64_t limit;                     /* bytes of workspace that no engine may exceed */
	struct cudnn_shapes_row *rows;
	int count;
};

/* Asks cuDNN when the shape is new. `ret` lives as long as `shapes`. E_UNSUPPORTED: no engine, which is remembered, too. Other
 * errors of cudnn_engines_find(). */
MUST_USE int cudnn_shapes_find(struct cudnn_shapes *shapes, const struct cudnn_shape *shape,
			       struct cudnn_shapes_row **ret, struct problem *problem);
/* NULL when it was never found. */
struct cudnn_shapes_row *cudnn_shapes_look(const struct cudnn_shapes *shapes,
					   const struct cudnn_shape *shape);
/* NULL when there are not so many. */
const struct cudnn_shapes_row *cudnn_shapes_at(const struct cudnn_shapes *shapes, int number);
void cudnn_shapes_done(struct cudnn_shapes *shapes);

/* The number of an engine of a row that has engines: the first with at most `limit` bytes of workspace. Where all need more, the
 * one with the least. */
size_t cudnn_shapes_choose(const struct cudnn_shapes_row *row, size_t limit);
/* Makes the plan of an engine, when it is not there. Errors of cudnn_plan_init(), -ENOMEM. */
MUST_USE int cudnn_shapes_plan(struct cudnn_shapes *shapes, struct cudnn_shapes_row *row,
			       size_t engine, struct problem *problem);
