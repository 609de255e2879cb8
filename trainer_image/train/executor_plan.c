#include "trainer_image/train/executor_plan.h"

#include "common/base/hash.h"

#include "trainer_image/plan/plan_engine.h"
#include "trainer_image/train/executor_private.h"

static int executor_plan_find(void *context, const struct graph *graph, int op, int64_t limit,
			      struct plan_engine *ret, struct problem *problem)
{
	struct ops_call call = executor_shape(graph, op);
	size_t size = 0;

	call.workspace_size = (size_t)limit;
	int rc = ops_workspace(context, &call, &size, problem);

	*ret = (struct plan_engine){.shape = -1, .workspace = (int64_t)size};
	return rc;
}

/* Ranks with other graphs or budgets are refused later: their numbers are left alone. */
static int executor_plan_agree(struct plan_engines *engines, const struct graph *graph,
			       struct team *team, int64_t budget, struct problem *problem)
{
	size_t count = (size_t)PLAN_ENGINE_LIMITS * (size_t)engines->op_count;
	int rc = budget > 0 ? plan_engines_ask(engines, graph, problem) : 0;

	if (rc != 0)
		return rc;
	return team_most(team, hash_number(graph_digest(graph), (uint64_t)budget),
			 engines->workspaces, count, problem);
}

int executor_plan(const struct graph *graph, struct ops *ops, struct team *team,
		  const struct plan_options *options, struct plan **ret, struct problem *problem)
{
	const struct plan_engine_source source = {.context = ops, .find = executor_plan_find};
	struct plan_engines engines;
	int rc = plan_engines_init(&engines, &source, graph, problem);

	if (rc == 0 && team)
		rc = executor_plan_agree(&engines, graph, team, options->budget, problem);
	if (rc == 0)
		rc = plan_engines_make(&engines, graph, options, ret, problem);
	plan_engines_done(&engines);
	return rc;
}
