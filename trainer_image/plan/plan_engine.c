#include "trainer_image/plan/plan_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* The share of the forward pass that workspace may cost in ops that run again. A guess: how much faster the engines are
 * that want workspace is only known on a GPU. */
#define PLAN_ENGINE_WORTH 0.02

static const int64_t plan_engine_limits[] = {
	INT64_C(64) << 10, INT64_C(1) << 20,   INT64_C(4) << 20,  INT64_C(16) << 20,
	INT64_C(64) << 20, INT64_C(256) << 20, PLAN_ENGINE_LIMIT,
};

static int plan_engine_none(int count, const struct problem *first, struct problem *problem)
{
	(void)problem_set(problem, E_UNSUPPORTED, "%d op%s no engine", count,
			  count == 1 ? " has" : "s have");
	problem_detail(problem, "the first: %s; %s", first->message, first->detail);
	problem_hint(problem, "%s", first->hint);
	return E_UNSUPPORTED;
}

/* Each op's engine within the limit. */
static int plan_engine_choose(struct plan_engines *engines, const struct graph *graph,
			      int64_t limit, struct problem *problem)
{
	const struct plan_engine_source *source = engines->source;
	struct problem first = {0};
	int none = 0;

	for (int i = 0; i < graph->op_count; i++) {
		struct plan_engine_op *op = &engines->ops[i];
		struct problem why = {0};
		int rc = source->find(source->context, graph, i, limit, &op->engine, &why);

		if (rc == E_UNSUPPORTED) {
			first = none++ == 0 ? why : first;
			continue;
		}
		if (rc < 0) {
			*problem = why;
			return rc;
		}
	}
	engines->limit = limit;
	return none > 0 ? plan_engine_none(none, &first, problem) : 0;
}

int plan_engines_init(struct plan_engines *engines, const struct plan_engine_source *source,
		      const struct graph *graph, struct problem *problem)
{
	*engines = (struct plan_engines){.source = source, .op_count = graph->op_count};
	engines->ops = calloc((size_t)graph->op_count + 1, sizeof(engines->ops[0]));
	if (!engines->ops)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	int rc = plan_engine_choose(engines, graph, PLAN_ENGINE_LIMIT, problem);

	for (int i = 0; rc == 0 && i < graph->op_count; i++)
		engines->ops[i].first_workspace = engines->ops[i].engine.workspace;
	return rc;
}

void plan_engines_done(struct plan_engines *engines)
{
	free(engines->ops);
	engines->ops = NULL;
}

static int64_t plan_engine_workspace(void *context, const struct graph *graph, int op)
{
	const struct plan_engines *engines = context;

	(void)graph;
	return engines->ops[op].engine.workspace;
}

static int plan_engine_try(struct plan_engines *engines, const struct graph *graph,
			   const struct plan_options *options, int64_t limit, struct plan **ret,
			   struct problem *problem)
{
	struct plan_options of_engines = *options;
	int rc = plan_engine_choose(engines, graph, limit, problem);

	if (rc < 0)
		return rc;
	of_engines.workspace = plan_engine_workspace;
	of_engines.context = engines;
	return plan_make(graph, &of_engines, ret, problem);
}

/* Has every op its first engine? Then a larger limit changes nothing. Engines of an op differ in their workspace. */
static bool plan_engine_is_first(const struct plan_engines *engines)
{
	for (int i = 0; i < engines->op_count; i++)
		if (engines->ops[i].engine.workspace != engines->ops[i].first_workspace)
			return false;
	return true;
}

int plan_engines_make(struct plan_engines *engines, const struct graph *graph,
		      const struct plan_options *options, struct plan **ret,
		      struct problem *problem)
{
	CLEANUP(plan_freep) struct plan *best = NULL;
	int low = 0;
	int high = COUNT_OF(plan_engine_limits);

	if (options->budget == 0)
		return plan_engine_try(engines, graph, options, PLAN_ENGINE_LIMIT, ret, problem);
	int rc = plan_engine_try(engines, graph, options, plan_engine_limits[0], &best, problem);

	if (rc < 0)
		return rc;
	double worth = best->extra_flops + PLAN_ENGINE_WORTH * graph_flops(graph, false);
	bool done = plan_engine_is_first(engines);

	/* `low` is good, `high` is not or is none. The last limit is tried first: most often there is room. */
	for (int at = high - 1; !done && high - low > 1; at = low + (high - low) / 2) {
		CLEANUP(plan_freep) struct plan *plan = NULL;
		struct problem over = {0};

		rc = plan_engine_try(engines, graph, options, plan_engine_limits[at], &plan, &over);
		if (rc < 0 && rc != E_LIMIT) {
			*problem = over;
			return rc;
		}
		if (rc == 0 && plan->extra_flops <= worth) {
			plan_free(best);
			best = TAKE(plan);
			low = at;
			done = plan_engine_is_first(engines);
		} else {
			high = at;
		}
	}
	rc = plan_engine_choose(engines, graph, plan_engine_limits[low], problem);
	if (rc == 0)
		*ret = TAKE(best);
	return rc;
}
