/* What the parts of an executor share: executor.c (its memory), executor_pass.c (a pass over the plan). */
#pragma once

#include "trainer_image/train/executor.h"

struct executor {
	const struct graph *graph;
	const struct plan *plan;
	struct ops *ops;
	uint8_t *arena, *lasting; /* of the back end, one piece each */
	bool borrows;             /* the arena */
	size_t lasting_bytes;
	uint8_t **
		tensors; /* per tensor that lasts: in `lasting`, or of another executor; NULL = in the arena */
	size_t *together; /* per step of the plan: so many from it on run as one */
	int64_t gradients, gradient_bytes;
	int64_t peak;
	uint64_t key; /* tells this executor's passes from those of others */
	/* Of a back end that is not on the host: a copy of the labels; room for what is read of a pass; the losses, which
	 * lie behind the gradients. */
	int32_t *labels;
	void *room;
	int64_t losses;
};

/* The call of an op, without memory. */
struct ops_call executor_shape(const struct graph *graph, int nth);
