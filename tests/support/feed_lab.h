/* An executor of a small model, forward alone on the CPU: what a feed puts its batches into. */
#pragma once

#include <string.h>

#include "tests/support/cmocka.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/train/executor.h"
#include "trainer_image/train/executor_plan.h"

struct feed_lab {
	struct model *model;
	struct graph *graph;
	struct plan *plan;
	struct ops *ops;
	struct executor *executor;
};

static inline void feed_lab_open(struct feed_lab *lab, const char *text, int64_t batch)
{
	const struct plan_options options = {0};
	struct problem problem = {0};

	*lab = (struct feed_lab){0};
	if (model_parse("test", text, strlen(text), &lab->model, &problem) != 0)
		fail_msg("%s", problem.message);
	assert_int_equal(ops_cpu_new(1, &lab->ops, &problem), 0);
	assert_int_equal(graph_build(lab->model, batch, TENSOR_FP32, false, &lab->graph, &problem),
			 0);
	assert_int_equal(executor_plan(lab->graph, lab->ops, NULL, &options, &lab->plan, &problem),
			 0);
	assert_int_equal(
		executor_new(lab->graph, lab->plan, lab->ops, NULL, &lab->executor, &problem), 0);
}

static inline void feed_lab_close(struct feed_lab *lab)
{
	executor_free(lab->executor);
	plan_free(lab->plan);
	graph_free(lab->graph);
	ops_free(lab->ops);
	model_free(lab->model);
}
