#include "trainer_image/plan/recompute_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/plan/chain_policy.h"

enum {
	RECOMPUTE_TRIES = 8,    /* budgets for the chain, each smaller than the one before */
	RECOMPUTE_STEPS = 1500, /* sets that the local search looks at */
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

/* Keeps ops after all, the dearest first, as long as the set fits. */
static int recompute_improve(struct liveness *life, int64_t budget, bool dropped[])
{
	const struct graph *graph = life->graph;
	size_t room = (size_t)graph->forward_count + 1;
	CLEANUP(freep) struct recompute_saving *savings = calloc(room, sizeof(savings[0]));
	int count = 0;
	int64_t arena = 0;

	if (!savings)
		return -ENOMEM;
	for (int i = 0; i < graph->forward_count; i++)
		if (dropped[i])
			savings[count++] = (struct recompute_saving){i, graph->ops[i].flops};
	qsort(savings, (size_t)count, sizeof(savings[0]), recompute_by_flops);
	liveness_run(life, dropped);
	double flops = life->extra_flops;

	for (int i = 0; i < count && i < RECOMPUTE_STEPS; i++) {
		dropped[savings[i].op] = false;
		int rc = recompute_fits(life, dropped, budget, &arena);

		if (rc == 0 && life->extra_flops <= flops) {
			flops = life->extra_flops;
			continue;
		}
		dropped[savings[i].op] = true;
		if (rc < 0 && rc != E_LIMIT)
			return rc;
	}
	return 0;
}

/* The chain's choice for smaller and smaller budgets, until the true peak fits. */
static int recompute_chain(struct liveness *life, struct chain *chain, int64_t budget,
			   bool dropped[], int64_t *ret_arena)
{
	int64_t target = budget;

	for (int i = 0; i < RECOMPUTE_TRIES; i++) {
		int rc = chain_choose(chain, target, dropped);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			break;
		rc = recompute_fits(life, dropped, budget, ret_arena);
		if (rc == 0 || rc == -ENOMEM)
			return rc;
		int64_t over = (life->peak > budget ? life->peak : *ret_arena) - budget;

		target -= over > budget / 200 ? over : budget / 200;
	}
	int rc = chain_smallest(chain, dropped);

	if (rc < 0)
		return rc;
	rc = recompute_fits(life, dropped, budget, ret_arena);
	return rc;
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
	rc = rc < 0 ? rc : recompute_improve(life, budget, dropped);
	return rc < 0 ? rc : recompute_fits(life, dropped, budget, ret_arena);
}
