/* Engines in a plan: a library offers several for a product, those that are faster may need more workspace. The workspace is
 * planned with the tensors, and a limit of it chooses the engine of each op. */
#pragma once

#include "trainer_image/plan/plan.h"

enum { PLAN_ENGINE_NAME = 96, PLAN_ENGINE_LIBRARY = 32, PLAN_ENGINE_LIMITS = 7 };

/* No op gets more workspace, however much memory there is: the back end of a GPU has the same limit. */
#define PLAN_ENGINE_LIMIT (INT64_C(1) << 30)

struct plan_engine {
	int shape; /* its number: equal shapes have equal numbers, from 0 on; -1 = a kernel of our own */
	int64_t id;
	int64_t workspace; /* bytes */
	bool tensor_cores;
	char name[PLAN_ENGINE_NAME]; /* "eng67_k2=1": the library's own */
};

/* Who knows the engines: a library on a GPU, or a back end. */
struct plan_engine_source {
	char library[PLAN_ENGINE_LIBRARY]; /* "cuDNN 9.19.0" */
	void *context;
	/* The engine of an op with at most `limit` bytes, else the one with the least. E_UNSUPPORTED: there is none. */
	int (*find)(void *context, const struct graph *graph, int op, int64_t limit,
		    struct plan_engine *ret, struct problem *problem);
	/* "forward 32x56x56x64 to 64, 3x3/1". Valid until the next call. NULL where no engine has a shape. */
	const char *(*shape_text)(void *context, int shape);
};

/* Of an op. */
struct plan_engine_op {
	struct plan_engine engine;
	int64_t first_workspace; /* of the engine that is expected to be the fastest */
};

/* The engines of all ops of a graph. */
struct plan_engines {
	const struct plan_engine_source *source;
	int64_t limit; /* bytes of workspace that an op may have, at most PLAN_ENGINE_LIMIT */
	struct plan_engine_op *ops;
	/* PLAN_ENGINE_LIMITS rows of op_count: bytes of each op within each limit; -1 = not asked yet. Numbers that the caller
	 * raises hold: ranks plan with the largest of all, each for engines of its own. */
	int64_t *workspaces;
	int op_count;
};

/* Chooses the first engines within PLAN_ENGINE_LIMIT. `source` must outlive `engines`. E_UNSUPPORTED when ops have none: the
 * problem names them. -EIO, -ENOMEM. Call plan_engines_done() in any case. */
MUST_USE int plan_engines_init(struct plan_engines *engines,
			       const struct plan_engine_source *source, const struct graph *graph,
			       struct problem *problem);
void plan_engines_done(struct plan_engines *engines);
/* Asks for all rows of `workspaces`. Without it, plan_engines_make() asks for those that it wants. */
MUST_USE int plan_engines_ask(struct plan_engines *engines, const struct graph *graph,
			      struct problem *problem);

/* plan_make() with the workspace of the engines; `options->workspace` is not read. With a budget the limit of workspace is the
 * largest that costs no more than 2 % of the forward pass in ops that run again. E_LIMIT names the smallest budget of the
 * smallest limit. */
MUST_USE int plan_engines_make(struct plan_engines *engines, const struct graph *graph,
			       const struct plan_options *options, struct plan **ret,
			       struct problem *problem);
