#include "trainer_image/plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"

#include "trainer_image/plan/liveness.h"
#include "trainer_image/plan/recompute_policy.h"

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	free(plan->steps);
	free(plan->values);
	free(plan->frees);
	free(plan->dropped);
	free(plan);
}

void plan_freep(struct plan **plan)
{
	plan_free(*plan);
}

int64_t plan_naive_bytes(const struct graph *graph)
{
	int64_t sum = 0;

	for (int i = 0; i < graph->forward_count; i++)
		for (int k = 0; k < graph->ops[i].out_count; k++)
			sum += graph_tensor_bytes(graph, graph->ops[i].out[k]);
	return sum;
}

/* Each value is freed behind the last step that reads it; bytes that were taken over in place are
 * freed with the value that took them. */
static void plan_set_frees(struct plan *plan)
{
	int at = 0;

	for (int i = 0; i < plan->value_count; i++)
		plan->steps[plan->values[i].last].free_count++;
	for (int i = 0; i < plan->step_count; i++) {
		plan->steps[i].free_from = at;
		at += plan->steps[i].free_count;
		plan->steps[i].free_count = 0;
	}
	for (int i = 0; i < plan->value_count; i++) {
		struct plan_step *step = &plan->steps[plan->values[i].last];

		plan->frees[step->free_from + step->free_count++] = i;
	}
}

static int plan_copy(struct plan *plan, const struct liveness *life)
{
	size_t steps = (size_t)life->step_count;
	size_t values = (size_t)life->value_count;

	plan->steps = calloc(steps + 1, sizeof(plan->steps[0]));
	plan->values = calloc(values + 1, sizeof(plan->values[0]));
	plan->frees = calloc(values + 1, sizeof(plan->frees[0]));
	if (!plan->steps || !plan->values || !plan->frees)
		return -ENOMEM;
	memcpy(plan->steps, life->steps, steps * sizeof(plan->steps[0]));
	memcpy(plan->values, life->values, values * sizeof(plan->values[0]));
	plan->step_count = life->step_count;
	plan->value_count = life->value_count;
	plan->floor = life->peak;
	plan->extra_flops = life->extra_flops;
	for (size_t i = 0; i < values; i++)
		if (plan->values[i].tensor < 0 && plan->values[i].bytes > plan->workspace)
			plan->workspace = plan->values[i].bytes;
	plan_set_frees(plan);
	return 0;
}

static int plan_over(const struct plan_options *options, int64_t smallest, struct problem *problem)
{
	(void)problem_set(problem, E_LIMIT,
			  "%" PRId64 " bytes of memory are too few: at least %" PRId64
			  " are needed",
			  options->budget, smallest);
	if (options->beside > 0)
		problem_detail(problem,
			       "parameters, gradients, optimizer and input %" PRId64
			       ", activations at least %" PRId64,
			       options->beside, smallest - options->beside);
	problem_hint(problem, "a smaller batch needs less");
	return E_LIMIT;
}

/* Of the arena; 0 = any number. */
static int64_t plan_budget(const struct plan_options *options)
{
	int64_t left = options->budget - options->beside;

	return options->budget == 0 ? 0 : left > 0 ? left : 1;
}

int plan_make(const struct graph *graph, const struct plan_options *options, struct plan **ret,
	      struct problem *problem)
{
	CLEANUP(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
	struct recompute_choice choice = {0};
	struct liveness life;
	int rc = liveness_init(&life, graph, options);

	if (plan)
		plan->dropped = calloc((size_t)graph->forward_count + 1, sizeof(bool));
	if (!plan || !plan->dropped)
		rc = -ENOMEM;
	if (rc == 0)
		rc = recompute_choose(&life, plan_budget(options), plan->dropped, &plan->arena,
				      &choice);
	if (rc == 0)
		rc = plan_copy(plan, &life);
	liveness_done(&life);
	choice.smallest += options->beside;
	if (rc == E_LIMIT && options->ret_smallest)
		*options->ret_smallest = choice.smallest;
	if (rc == E_LIMIT)
		return plan_over(options, choice.smallest, problem);
	if (rc < 0)
		return problem_set(problem, rc, "no memory for the plan");
	plan->forward_count = graph->forward_count;
	plan->exact = choice.exact;
	*ret = TAKE(plan);
	return 0;
}

uint64_t plan_digest(const struct plan *plan)
{
	uint64_t hash = HASH_START;

	for (int i = 0; i < plan->step_count; i++) {
		hash = hash_number(hash, (uint64_t)plan->steps[i].op);
		hash = hash_number(hash, plan->steps[i].recompute ? 1 : 0);
	}
	return hash;
}
