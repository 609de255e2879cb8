#include "trainer_image/train/step_bench.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/hash.h"

#include "trainer_image/graph/model_text.h"
#include "trainer_image/plan/plan_lasting.h"
#include "trainer_image/train/executor.h"
#include "trainer_image/train/executor_plan.h"
#include "trainer_image/train/weights.h"

struct step_bench {
	struct model *model;
	struct graph *graph;
	struct plan *plan;
	struct ops *ops;
	struct executor *executor;
	struct weights weights;
	size_t part;
	int64_t free;  /* bytes of the GPU before anything is taken */
	double *times; /* forward, backward, update, step: of each step */
};

enum { BENCH_FORWARD, BENCH_BACKWARD, BENCH_UPDATE, BENCH_STEP, BENCH_TIMES };

static int step_bench_plan(struct step_bench *bench, const struct step_bench_request *request,
			   struct problem *problem)
{
	const struct plan_lasting lasting = plan_lasting(bench->graph, PLAN_SGD, request->cuda);
	const struct plan_options options = {.budget = request->memory,
					     .beside = plan_lasting_sum(&lasting)};

	return executor_plan(bench->graph, bench->ops, NULL, &options, &bench->plan, problem);
}

static int step_bench_device(struct step_bench *bench, const struct step_bench_request *request,
			     struct problem *problem)
{
	struct ops_about about;
	int rc = request->cuda ? ops_cuda_new(0, &bench->ops, problem)
			       : ops_cpu_new(request->threads, &bench->ops, problem);

	if (rc != 0)
		return rc;
	rc = ops_about(bench->ops, &about);
	bench->free = about.free;
	return rc == 0 ? 0 : problem_set(problem, rc, "the device: %s", error_text(rc));
}

static int step_bench_open(struct step_bench *bench, const struct step_bench_request *request,
			   struct problem *problem)
{
	int rc = model_load(request->model, &bench->model, problem);

	if (rc == 0)
		rc = step_bench_device(bench, request, problem);
	if (rc == 0)
		rc = graph_build(bench->model, request->batch, request->type, true, &bench->graph,
				 problem);
	if (rc == 0)
		rc = step_bench_plan(bench, request, problem);
	if (rc == 0)
		rc = executor_new(bench->graph, bench->plan, bench->ops, NULL, &bench->executor,
				  problem);
	if (rc != 0)
		return rc;
	rc = executor_begin(bench->executor, 1);
	if (rc == 0)
		rc = weights_init(&bench->weights, bench->graph, bench->ops, bench->executor,
				  OPS_SGD);
	bench->times = calloc((size_t)request->steps * BENCH_TIMES, sizeof(*bench->times));
	if (rc == 0 && !bench->times)
		rc = -ENOMEM;
	return rc == 0 ? 0 : ops_fault_tell(bench->ops, rc, problem, "weights");
}

static void step_bench_close(struct step_bench *bench)
{
	free(bench->times);
	weights_done(&bench->weights);
	executor_free(bench->executor);
	plan_free(bench->plan);
	graph_free(bench->graph);
	ops_free(bench->ops);
	model_free(bench->model);
}

/* Words, or pixels of -1 to 1; labels of each class. */
static int step_bench_fill(struct step_bench *bench)
{
	const struct graph *graph = bench->graph;
	const struct op_tensor *input = &graph->tensors[graph->input].is;
	size_t count = (size_t)tensor_shape_count(&input->shape);
	size_t labels = (size_t)tensor_shape_count(&graph->tensors[graph->label].is.shape);
	CLEANUP(freep) void *to = malloc((size_t)graph_tensor_bytes(graph, graph->input) + 1);
	CLEANUP(freep) int32_t *label = calloc(labels + 1, sizeof(*label));

	if (!to || !label)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t random = hash_spread(i + 1);
		float pixel = (float)(int32_t)(random >> 32) * 0x1p-31F;

		if (input->type == TENSOR_INT32)
			((int32_t *)to)[i] = (int32_t)(random % (uint64_t)bench->model->words);
		else if (input->type == TENSOR_FP32)
			((float *)to)[i] = pixel;
		else if (input->type == TENSOR_BF16)
			half_to_bf16(&pixel, (uint16_t *)to + i, 1);
		else
			half_to_fp16(&pixel, (uint16_t *)to + i, 1);
	}
	for (size_t i = 0; i < labels; i++)
		label[i] = (int32_t)(hash_spread(~i) % (uint64_t)bench->model->classes);
	int rc = executor_write(bench->executor, graph->input, 0, to,
				(size_t)graph_tensor_bytes(graph, graph->input));

	return rc == 0 ? executor_write(bench->executor, graph->label, 0, label,
					labels * sizeof(*label))
		       : rc;
}

static int step_bench_gradient(void *context, int tensor)
{
	struct step_bench *bench = context;

	(void)tensor;
	return weights_take(&bench->weights, bench->part++, false);
}

static int step_bench_step(struct step_bench *bench, unsigned nth, double times[BENCH_TIMES])
{
	/* So small a rate that the numbers stay as they are. */
	const struct weights_rule rule = {
		.kind = OPS_SGD, .rate = 1e-12, .momentum = 0.9, .unscale = 1, .step = nth + 1};
	const struct executor_step step = {.seed = 1,
					   .number = nth,
					   .scale = 1,
					   .same = 1,
					   .gradient = step_bench_gradient,
					   .context = bench};
	struct executor_result result = {0};
	int64_t begun_us = clock_monotonic_us();
	int rc;

	bench->part = 0;
	rc = executor_run(bench->executor, &step, &result);
	int64_t run_us = clock_monotonic_us();

	if (rc == 0)
		rc = weights_update(&bench->weights, &rule);
	if (rc == 0)
		rc = ops_wait(bench->ops);
	int64_t end_us = clock_monotonic_us();

	times[BENCH_FORWARD] = (double)result.forward_us / 1e3;
	times[BENCH_BACKWARD] = (double)(run_us - begun_us - result.forward_us) / 1e3;
	times[BENCH_UPDATE] = (double)(end_us - run_us) / 1e3;
	times[BENCH_STEP] = (double)(end_us - begun_us) / 1e3;
	return rc;
}

static int step_bench_order(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static double step_bench_median(const struct step_bench *bench, unsigned steps, int which,
				double room[])
{
	for (unsigned i = 0; i < steps; i++)
		room[i] = bench->times[(size_t)i * BENCH_TIMES + (size_t)which];
	qsort(room, steps, sizeof(*room), step_bench_order);
	return steps % 2 ? room[steps / 2] : (room[steps / 2 - 1] + room[steps / 2]) / 2;
}

static int step_bench_measure(struct step_bench *bench, const struct step_bench_request *request,
			      struct step_bench_result *ret, struct problem *problem)
{
	CLEANUP(freep) double *room = calloc(request->steps, sizeof(*room));
	double warm[BENCH_TIMES];
	int rc = room ? step_bench_step(bench, 0, warm) : -ENOMEM;

	for (unsigned i = 0; i < request->steps && rc == 0; i++)
		rc = step_bench_step(bench, i + 1, bench->times + (size_t)i * BENCH_TIMES);
	if (rc == 0)
		rc = ops_about(bench->ops, &ret->about);
	if (rc != 0)
		return ops_fault_tell(bench->ops, rc, problem, "a step");
	ret->forward_ms = step_bench_median(bench, request->steps, BENCH_FORWARD, room);
	ret->backward_ms = step_bench_median(bench, request->steps, BENCH_BACKWARD, room);
	ret->update_ms = step_bench_median(bench, request->steps, BENCH_UPDATE, room);
	ret->step_ms = step_bench_median(bench, request->steps, BENCH_STEP, room);
	ret->length = bench->model->words > 0 ? bench->model->input.size[0] : 0;
	ret->samples_s = (double)request->batch / (ret->step_ms / 1e3 + 1e-9);
	ret->flops_s = (graph_flops(bench->graph, false) + graph_flops(bench->graph, true)) /
		       ((ret->forward_ms + ret->backward_ms) / 1e3 + 1e-9);
	ret->arena = bench->plan->arena;
	ret->peak = executor_peak(bench->executor);
	ret->parameters = graph_elements(bench->graph, GRAPH_PARAMETER);
	ret->taken = bench->free - ret->about.free;
	ret->planned = ret->about.total > 0
			       ? executor_bytes(bench->executor) + weights_bytes(&bench->weights)
			       : 0;
	return 0;
}

int step_bench_run(const struct step_bench_request *request, struct step_bench_result *ret,
		   struct problem *problem)
{
	struct step_bench bench = {0};
	int rc = step_bench_open(&bench, request, problem);

	if (rc == 0) {
		rc = step_bench_fill(&bench);
		rc = rc == 0 ? step_bench_measure(&bench, request, ret, problem)
			     : ops_fault_tell(bench.ops, rc, problem, "made-up data");
	}
	step_bench_close(&bench);
	return rc;
}
