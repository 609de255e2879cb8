#include "trainer_image/plan/recompute_policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/plan/chain_policy.h"

enum {
	RECOMPUTE_TRIES = 3,
	RECOMPUTE_WORK_MAX =
		2000000, /* ops of all exchanges that are tried, about: a third of a second */
};

/* The loss is never computed again. */
static bool recompute_may_drop(const struct graph *graph, int op)
{
	return graph->ops[op].kind != OP_CROSS_ENTROPY;
}

/* Steps and peak of a set: does it fit, also with offsets? */
static int recompute_fits(struct liveness *life, const bool dropped[], int64_t budget,
			  int64_t *ret_arena)
{
	liveness_run(life, dropped);
	if (life->peak > budget)
		return E_LIMIT;
	int rc = liveness_pack(life, ret_arena);

	return rc == 0 && *ret_arena > budget ? E_LIMIT : rc;
}

/* Finds the set with the fewest extra operations; of equals the smallest arena. Without one the
 * smallest arena of all in `ret_smallest`. */
static int recompute_all_sets(struct liveness *life, int64_t budget, const int ops[], int count,
			      uint32_t *ret_set, int64_t *ret_smallest)
{
	bool dropped[RECOMPUTE_EXACT_MAX + 2] = {false};
	int64_t best_arena = INT64_MAX;
	double best = 0;
	bool found = false;

	*ret_smallest = INT64_MAX;
	for (uint32_t set = 0; set < 1U << count; set++) {
		int64_t arena = 0;

		for (int i = 0; i < count; i++)
			dropped[ops[i]] = (set >> i & 1U) != 0;
		liveness_run(life, dropped);
		bool worse = found && (life->extra_flops > best || life->peak > budget ||
				       (life->extra_flops >= best && life->peak >= best_arena));

		if (worse || (!found && life->peak >= *ret_smallest && life->peak > budget))
			continue;
		int rc = liveness_pack(life, &arena);

		if (rc < 0)
			return rc;
		*ret_smallest = arena < *ret_smallest ? arena : *ret_smallest;
		if (arena > budget || (found && life->extra_flops >= best && arena >= best_arena))
			continue;
		found = true;
		best = life->extra_flops;
		best_arena = arena;
		*ret_set = set;
	}
	return found ? 0 : E_LIMIT;
}

static int recompute_exact(struct liveness *life, int64_t budget, bool dropped[],
			   int64_t *ret_arena, int64_t *ret_smallest)
{
	int ops[RECOMPUTE_EXACT_MAX + 2];
	int count = 0;
	uint32_t set = 0;

	for (int i = 0; i < life->graph->forward_count; i++)
		if (recompute_may_drop(life->graph, i))
			ops[count++] = i;
	int rc = recompute_all_sets(life, budget, ops, count, &set, ret_smallest);

	if (rc < 0)
		return rc;
	for (int i = 0; i < count; i++)
		dropped[ops[i]] = (set >> i & 1U) != 0;
	return recompute_fits(life, dropped, budget, ret_arena);
}

struct recompute_saving {
	int op;
	double flops;
};

static int recompute_by_flops(const void *a, const void *b)
{
	const struct recompute_saving *first = a;
	const struct recompute_saving *second = b;

	if (first->flops > second->flops)
		return -1;
	if (first->flops < second->flops)
		return 1;
	return first->op < second->op ? -1 : 1;
}

/* Keeps ops after all, the dearest first, as long as the live bytes fit. */
static int recompute_improve(struct liveness *life, int64_t budget, bool dropped[])
{
	const struct graph *graph = life->graph;
	size_t room = (size_t)graph->forward_count + 1;
	CLEANUP(freep) struct recompute_saving *savings = calloc(room, sizeof(savings[0]));
	int count = 0;

	if (!savings)
		return -ENOMEM;
	for (int i = 0; i < graph->forward_count; i++)
		if (dropped[i])
			savings[count++] = (struct recompute_saving){i, graph->ops[i].flops};
	qsort(savings, (size_t)count, sizeof(savings[0]), recompute_by_flops);
	liveness_run(life, dropped);
	double flops = life->extra_flops;

	for (int i = 0; i < count; i++) {
		dropped[savings[i].op] = false;
		liveness_run(life, dropped);
		if (life->peak <= budget && life->extra_flops <= flops)
			flops = life->extra_flops;
		else
			dropped[savings[i].op] = true;
	}
	return 0;
}

/* Exchanges a dear op that is dropped for a cheaper one that is kept. */
static int recompute_swap(struct liveness *life, int64_t budget, bool dropped[])
{
	const struct graph *graph = life->graph;
	size_t room = (size_t)graph->forward_count + 1;
	CLEANUP(freep) struct recompute_saving *ops = calloc(room, sizeof(ops[0]));
	int tries = RECOMPUTE_WORK_MAX / (graph->op_count + 1);
	int count = 0;

	if (!ops)
		return -ENOMEM;
	for (int i = 0; i < graph->forward_count; i++)
		if (recompute_may_drop(graph, i))
			ops[count++] = (struct recompute_saving){i, graph->ops[i].flops};
	qsort(ops, (size_t)count, sizeof(ops[0]), recompute_by_flops);
	liveness_run(life, dropped);
	double flops = life->extra_flops;

	for (int i = 0; i < count; i++)
		for (int k = count - 1; k > i && dropped[ops[i].op] && tries > 0; k--) {
			if (dropped[ops[k].op] || ops[k].flops >= ops[i].flops)
				continue;
			tries--;
			dropped[ops[i].op] = false;
			dropped[ops[k].op] = true;
			liveness_run(life, dropped);
			if (life->peak <= budget && life->extra_flops < flops) {
				flops = life->extra_flops;
				continue;
			}
			dropped[ops[i].op] = true;
			dropped[ops[k].op] = false;
		}
	return 0;
}

/* Improves what stands in `tried`, and keeps it when its live bytes fit with the fewest operations. */
static int recompute_take(struct liveness *life, int64_t budget, bool tried[], double *best,
			  bool dropped[])
{
	liveness_run(life, tried);
	if (life->peak > budget)
		return 0;
	int rc = recompute_improve(life, budget, tried);

	liveness_run(life, tried);
	if (rc < 0 || life->extra_flops >= *best)
		return rc;
	*best = life->extra_flops;
	memcpy(dropped, tried, (size_t)life->graph->forward_count * sizeof(dropped[0]));
	return 0;
}

/* The chain's choices for several budgets, since what it measured holds only about; each is improved by
 * the true peak, and the best of them once more by exchanges. E_LIMIT when none fits. */
static int recompute_search(struct liveness *life, struct chain *chain, int64_t budget,
			    bool dropped[])
{
	static const int percents[] = {104, 100, 97, 94, 90, 85, 75};
	size_t ops = (size_t)life->graph->forward_count;
	CLEANUP(freep) bool *tried = calloc(ops + 1, sizeof(tried[0]));
	double best = HUGE_VAL;
	int rc = 0;

	if (!tried)
		return -ENOMEM;
	for (size_t i = 0; i < COUNT_OF(percents) && rc == 0; i++) {
		rc = chain_choose(chain, (int64_t)((double)budget * percents[i] / 100), tried);
		rc = rc < 0 ? rc : recompute_take(life, budget, tried, &best, dropped);
	}
	if (rc == -ENOMEM)
		return rc;
	rc = chain_smallest(chain, tried);
	rc = rc < 0 ? rc : recompute_take(life, budget, tried, &best, dropped);
	if (rc < 0)
		return rc;
	if (isinf(best))
		return E_LIMIT;
	rc = recompute_swap(life, budget, dropped);
	return rc < 0 ? rc : recompute_improve(life, budget, dropped);
}

/* Live bytes may fit where no offsets do: then a little less is asked for. The last resort is the
 * smallest set as it is. */
static int recompute_chain(struct liveness *life, struct chain *chain, int64_t budget,
			   bool dropped[], int64_t *ret_arena)
{
	int64_t target = budget;

	for (int i = 0; i < RECOMPUTE_TRIES; i++) {
		int rc = recompute_search(life, chain, target, dropped);

		if (rc == E_LIMIT)
			break;
		rc = rc < 0 ? rc : recompute_fits(life, dropped, budget, ret_arena);
		if (rc != E_LIMIT)
			return rc;
		target -= *ret_arena - budget + budget / 500;
	}
	int rc = chain_smallest(chain, dropped);

	return rc < 0 ? rc : recompute_fits(life, dropped, budget, ret_arena);
}

int recompute_choose(struct liveness *life, int64_t budget, bool dropped[], int64_t *ret_arena,
		     struct recompute_choice *ret_choice)
{
	struct chain chain;

	*ret_choice = (struct recompute_choice){.exact = true};
	memset(dropped, 0, (size_t)life->graph->forward_count);
	int rc = recompute_fits(life, dropped, budget > 0 ? budget : INT64_MAX, ret_arena);

	if (rc != E_LIMIT)
		return rc;
	if (life->graph->forward_count <= RECOMPUTE_EXACT_MAX + 1)
		return recompute_exact(life, budget, dropped, ret_arena, &ret_choice->smallest);
	ret_choice->exact = false;
	rc = chain_init(&chain, life);
	rc = rc < 0 ? rc : recompute_chain(life, &chain, budget, dropped, ret_arena);
	chain_done(&chain);
	if (rc == E_LIMIT) {
		int packed = liveness_pack(life, &ret_choice->smallest);

		return packed < 0 ? packed : rc;
	}
	return rc;
}
