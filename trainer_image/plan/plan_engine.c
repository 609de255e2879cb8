#include "trainer_image/plan/plan_engine.h"

#include <assert.h>
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
enum { PLAN_ENGINE_LAST = PLAN_ENGINE_LIMITS - 1 };

static_assert(COUNT_OF(plan_engine_limits) == PLAN_ENGINE_LIMITS, "a row of bytes for each limit");

static int plan_engine_none(int count, const struct problem *first, struct problem *problem)
{
	(void)problem_set(problem, E_UNSUPPORTED, "%d op%s no engine", count,
			  count == 1 ? " has" : "s have");
	problem_detail(problem, "the first: %s; %s", first->message, first->detail);
	problem_hint(problem, "%s", first->hint);
	return E_UNSUPPORTED;
}

static int64_t *plan_engine_row(const struct plan_engines *engines, int nth)
{
	return engines->workspaces + (size_t)nth * (size_t)engines->op_count;
}

/* Each op's engine within limit number `nth`. */
static int plan_engine_choose(struct plan_engines *engines, const struct graph *graph, int nth,
			      struct problem *problem)
{
	const struct plan_engine_source *source = engines->source;
	int64_t *bytes = plan_engine_row(engines, nth);
	struct problem first = {0};
	int none = 0;

	for (int i = 0; i < graph->op_count; i++) {
		struct plan_engine *engine = &engines->ops[i].engine;
		struct problem why = {0};
		int rc = source->find(source->context, graph, i, plan_engine_limits[nth], engine,
				      &why);

		if (rc == E_UNSUPPORTED) {
			first = none++ == 0 ? why : first;
			continue;
		}
		if (rc < 0) {
			*problem = why;
			return rc;
		}
		if (engine->workspace > bytes[i])
			bytes[i] = engine->workspace;
		engine->workspace = bytes[i];
	}
	engines->limit = plan_engine_limits[nth];
	return none > 0 ? plan_engine_none(none, &first, problem) : 0;
}

int plan_engines_init(struct plan_engines *engines, const struct plan_engine_source *source,
		      const struct graph *graph, struct problem *problem)
{
	size_t ops = (size_t)graph->op_count + 1;

	*engines = (struct plan_engines){.source = source, .op_count = graph->op_count};
	engines->ops = calloc(ops, sizeof(engines->ops[0]));
	engines->workspaces = malloc(PLAN_ENGINE_LIMITS * ops * sizeof(engines->workspaces[0]));
	if (!engines->ops || !engines->workspaces)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	memset(engines->workspaces, 0xff,
	       PLAN_ENGINE_LIMITS * ops * sizeof(engines->workspaces[0]));
	int rc = plan_engine_choose(engines, graph, PLAN_ENGINE_LAST, problem);

	for (int i = 0; rc == 0 && i < graph->op_count; i++)
		engines->ops[i].first_workspace = engines->ops[i].engine.workspace;
	return rc;
}

void plan_engines_done(struct plan_engines *engines)
{
	free(engines->ops);
	free(engines->workspaces);
	engines->ops = NULL;
	engines->workspaces = NULL;
}

int plan_engines_ask(struct plan_engines *engines, const struct graph *graph,
		     struct problem *problem)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < PLAN_ENGINE_LIMITS; i++)
		rc = plan_engine_choose(engines, graph, i, problem);
	return rc;
}

static int64_t plan_engine_workspace(void *context, const struct graph *graph, int op)
{
	const struct plan_engines *engines = context;

	(void)graph;
	return engines->ops[op].engine.workspace;
}

static int plan_engine_try(struct plan_engines *engines, const struct graph *graph,
			   const struct plan_options *options, int nth, struct plan **ret,
			   struct problem *problem)
{
	struct plan_options of_engines = *options;
	int rc = plan_engine_choose(engines, graph, nth, problem);

	if (rc < 0)
		return rc;
	of_engines.workspace = plan_engine_workspace;
	of_engines.context = engines;
	return plan_make(graph, &of_engines, ret, problem);
}

/* Has every op its first engine? Then a larger limit changes nothing. */
static bool plan_engine_is_first(const struct plan_engines *engines, int nth)
{
	return memcmp(plan_engine_row(engines, nth), plan_engine_row(engines, PLAN_ENGINE_LAST),
		      (size_t)engines->op_count * sizeof(engines->workspaces[0])) == 0;
}

/* A plan, and the limit that it has. */
struct plan_engine_best {
	struct plan *plan;
	int nth;
};

/* The largest limit whose plan has at most so many extra operations. `best` has the smallest limit before. */
static int plan_engine_search(struct plan_engines *engines, const struct graph *graph,
			      const struct plan_options *options, double worth,
			      struct plan_engine_best *best, struct problem *problem)
{
	int high = PLAN_ENGINE_LAST; /* is not good */

	while (high - best->nth > 1) {
		CLEANUP(plan_freep) struct plan *plan = NULL;
		struct problem over = {0};
		int at = best->nth + (high - best->nth) / 2;
		int rc = plan_engine_try(engines, graph, options, at, &plan, &over);

		if (rc < 0 && rc != E_LIMIT) {
			*problem = over;
			return rc;
		}
		if (rc == 0 && plan->extra_flops <= worth) {
			plan_free(best->plan);
			*best = (struct plan_engine_best){TAKE(plan), at};
		} else {
			high = at;
		}
	}
	return 0;
}

/* With less workspace, where the plan of the first engines is `first`, or NULL when it is too large. */
static int plan_engine_less(struct plan_engines *engines, const struct graph *graph,
			    const struct plan_options *options, struct plan **first,
			    struct plan **ret, struct problem *problem)
{
	struct plan_engine_best best = {NULL, 0};
	int rc = plan_engine_try(engines, graph, options, 0, &best.plan, problem);

	if (rc < 0)
		return rc;
	double worth = best.plan->extra_flops + PLAN_ENGINE_WORTH * graph_flops(graph, false);

	if (*first && (*first)->extra_flops <= worth) {
		plan_free(best.plan);
		best = (struct plan_engine_best){TAKE(*first), PLAN_ENGINE_LAST};
	} else {
		rc = plan_engine_search(engines, graph, options, worth, &best, problem);
	}
	if (rc == 0)
		rc = plan_engine_choose(engines, graph, best.nth, problem);
	if (rc == 0)
		*ret = TAKE(best.plan);
	plan_free(best.plan);
	return rc;
}

int plan_engines_make(struct plan_engines *engines, const struct graph *graph,
		      const struct plan_options *options, struct plan **ret,
		      struct problem *problem)
{
	CLEANUP(plan_freep) struct plan *first = NULL;
	struct problem over = {0};
	int made = plan_engine_try(engines, graph, options, PLAN_ENGINE_LAST, &first, &over);
	int rc = 0;

	if (options->budget > 0 && (made == E_LIMIT || (made == 0 && first->extra_flops > 0))) {
		rc = plan_engine_choose(engines, graph, 0, problem);
		if (rc == 0 && !plan_engine_is_first(engines, 0))
			return plan_engine_less(engines, graph, options, &first, ret, problem);
		if (rc == 0)
			rc = plan_engine_choose(engines, graph, PLAN_ENGINE_LAST, problem);
	}
	if (rc == 0 && made < 0)
		*problem = over;
	if (rc < 0 || made < 0)
		return rc < 0 ? rc : made;
	*ret = TAKE(first);
	return 0;
}
