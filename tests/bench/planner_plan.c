// links: trainer_plan
/* bench_planner_plan MODEL BATCH TYPE BUDGET: plans one step, checks the plan, prints one line of key=value. BUDGET in bytes, 0 = any. */
#include "trainer_image/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer_image/graph/graph.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/plan/plan_check.h"

static double planner_cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	struct problem problem = {0};
	struct model *model = NULL;
	struct graph *graph = NULL;
	struct plan *plan = NULL;
	enum tensor_type type =
		argc > 3 && strcmp(argv[3], "fp32") == 0 ? TENSOR_FP32 : TENSOR_BF16;

	if (argc != 5)
		return 2;
	if (model_load(argv[1], &model, &problem) < 0 ||
	    graph_build(model, atoll(argv[2]), type, true, &graph, &problem) < 0) {
		fprintf(stderr, "%s\n", problem.message);
		return 1;
	}
	double start = planner_cpu_ms();
	int rc =
		plan_make(graph, &(struct plan_options){.budget = atoll(argv[4])}, &plan, &problem);
	double spent = planner_cpu_ms() - start;

	if (rc == 0)
		rc = plan_check(graph, plan, &problem);
	if (rc < 0) {
		fprintf(stderr, "%s\n", problem.message);
		return 1;
	}
	printf("naive=%" PRId64 " floor=%" PRId64 " arena=%" PRId64
	       " forward=%.9f ms=%.1f steps=%d "
	       "exact=%d\n",
	       plan_naive_bytes(graph), plan->floor, plan->arena,
	       1 + plan->extra_flops / graph_flops(graph, false), spent, plan->step_count,
	       plan->exact ? 1 : 0);
	plan_free(plan);
	graph_free(graph);
	model_free(model);
	return 0;
}
