// links: trainer_train
/* Whole models: gradients against differences, and plans of less memory that give the same bits. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/ops_run.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/plan/plan_check.h"
#include "trainer_image/train/executor.h"
#include "trainer_image/train/executor_plan.h"

/* Each has what the others lack: branches, several readers, views, dropout, attention, upsampling. */
static const char *const models[] = {
	"model residual\ninput image 6 6 3\nlabel class 4\n"
	"block part(x, out=)\nconv x out=out window=3 pad=1\nbatch_norm\nrelu\nconv out=out window=3 pad=1\ny = batch_norm\nadd x y\nrelu\nend\n"
	"conv out=8 window=3 pad=1\nbatch_norm\nrelu\nrepeat 3\npart out=8\nend\n"
	"max_pool window=2 stride=2\ndropout rate=0.25\nflatten\nlinear out=4 bias=1\ncross_entropy\n",
	"model branches\ninput image 8 8 2\nlabel class 3\n"
	"a = conv out=4 window=3 pad=1\nb = conv image out=3 window=1\nsigmoid\nc = conv out=3 window=3 pad=1\n"
	"joined = concat a b c\ngelu\naverage_pool window=2 stride=2\nup = upsample factor=2\ntwice = add up joined\ntanh\naverage_pool\nflatten\nlinear out=3\ncross_entropy\n",
	"model words\ninput token 6 words=11\nlabel next 11 6\n"
	"block layer(x)\nlayer_norm x\nlinear out=24\nattention heads=2 causal=1\ny = linear out=8\ns = add x y\nlayer_norm\nlinear out=16\ngelu\nz = linear out=8\nadd s z\nend\n"
	"embedding words=11 out=8\nrepeat 2\nlayer\nend\nlayer_norm\nlinear out=11 bias=0\ncross_entropy\n",
};

struct lab {
	struct model *model;
	struct graph *graph;
	struct plan *plan;
	struct executor *executor;
	struct ops *ops;
};

static void lab_begin(struct lab *lab, const char *text, enum tensor_type type, int64_t budget)
{
	struct problem problem = {0};

	*lab = (struct lab){0};
	assert_int_equal(ops_cpu_new(2, &lab->ops, &(struct problem){0}), 0);
	const struct plan_options options = {.budget = budget};

	if (model_parse("test", text, strlen(text), &lab->model, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	assert_int_equal(graph_build(lab->model, 3, type, true, &lab->graph, &problem), 0);
	if (executor_plan(lab->graph, lab->ops, NULL, &options, &lab->plan, &problem) != 0)
		fail_msg("%s", problem.message);
	assert_int_equal(plan_check(lab->graph, lab->plan, &problem), 0);
	assert_int_equal(
		executor_new(lab->graph, lab->plan, lab->ops, NULL, &lab->executor, &problem), 0);
	assert_int_equal(executor_begin(lab->executor, 42), 0);
}

static void lab_end(struct lab *lab)
{
	executor_free(lab->executor);
	plan_free(lab->plan);
	graph_free(lab->graph);
	model_free(lab->model);
	ops_free(lab->ops);
}

static void fill(struct lab *lab)
{
	const struct graph_tensor *input = &lab->graph->tensors[lab->graph->input];
	const struct graph_tensor *label = &lab->graph->tensors[lab->graph->label];
	uint64_t state = 9;

	for (size_t i = 0; i < ops_run_count(&input->is); i++)
		ops_run_store(input->is.type, executor_tensor(lab->executor, lab->graph->input), i,
			      input->is.type == TENSOR_INT32 ? (double)(i * 7 % 11)
							     : ops_run_random(&state));
	for (size_t i = 0; i < ops_run_count(&label->is); i++)
		((int32_t *)executor_tensor(lab->executor, lab->graph->label))[i] =
			i == 1 ? -1 : (int32_t)(i * 5 % 3);
}

static double run(struct lab *lab, double scale)
{
	const struct executor_step step = {.seed = 7, .number = 1, .scale = scale};
	struct executor_result result;

	assert_int_equal(executor_run(lab->executor, &step, &result), 0);
	assert_int_equal(executor_peak(lab->executor), lab->plan->arena);
	assert_true(isfinite(result.loss) && result.loss > 0);
	return result.loss;
}

/* Every parameter of every model, some of its elements. */
static void test_whole_gradients(void **state)
{
	const double step =
		1e-6; /* rows of an embedding are small, and layer norm is steep there */

	(void)state;
	for (size_t m = 0; m < COUNT_OF(models); m++) {
		struct lab lab;
		double *gradients;
		int64_t bytes;

		lab_begin(&lab, models[m], TENSOR_FP64, 0);
		fill(&lab);
		(void)run(&lab, 1);
		uint8_t *at = executor_gradients(lab.executor, &bytes);

		gradients = malloc((size_t)bytes);
		assert_non_null(gradients);
		memcpy(gradients, at, (size_t)bytes);
		for (int i = 0; i < lab.graph->tensor_count; i++) {
			const struct graph_tensor *tensor = &lab.graph->tensors[i];

			if (tensor->role != GRAPH_PARAMETER)
				continue;
			double *values = executor_tensor(lab.executor, i);
			const uint8_t *slope = executor_tensor(lab.executor, tensor->gradient);
			const double *found = gradients + (slope - at) / (ptrdiff_t)sizeof(double);
			size_t count = ops_run_count(&tensor->is);

			for (size_t k = 0; k < count; k += count / 3 + 1) {
				double kept = values[k];

				values[k] = kept + step;
				double more = run(&lab, 1);

				values[k] = kept - step;
				double less = run(&lab, 1);

				values[k] = kept;
				double wanted = (more - less) / (2 * step);

				if (!(fabs(found[k] - wanted) <= 1e-6 * fmax(1e-2, fabs(wanted))))
					fail_msg(
						"model %zu, %s, element %zu: %.10g, by differences %.10g",
						m, graph_tensor_name(lab.graph, i), k, found[k],
						wanted);
			}
		}
		free(gradients);
		lab_end(&lab);
	}
}

/* The smallest budget that works, as the planner says when one byte is too few. */
static int64_t smallest(const char *text, enum tensor_type type)
{
	struct lab lab;
	int64_t low = 0;
	int64_t high;

	lab_begin(&lab, text, type, 0);
	high = lab.plan->arena;
	while (high - low > PLAN_ALIGNMENT) {
		const struct plan_options options = {.budget = (low + high) / 2};
		struct problem problem = {0};
		struct plan *plan = NULL;
		int rc = executor_plan(lab.graph, lab.ops, NULL, &options, &plan, &problem);

		assert_true(rc == 0 || rc == E_LIMIT);
		*(rc == 0 ? &high : &low) = options.budget;
		plan_free(plan);
	}
	lab_end(&lab);
	return high;
}

static void compare(struct lab *found, struct lab *wanted)
{
	int64_t bytes;
	int64_t same;

	/* A second step as well: the running statistics moved once. */
	for (int i = 0; i < 2; i++) {
		double loss = run(wanted, 2);

		assert_true(run(found, 2) == loss);
		void *gradients = executor_gradients(wanted->executor, &bytes);

		assert_memory_equal(executor_gradients(found->executor, &same), gradients,
				    (size_t)bytes);
		assert_int_equal(same, bytes);
	}
	for (int i = 0; i < wanted->graph->tensor_count; i++)
		if (wanted->graph->tensors[i].role == GRAPH_STATISTIC)
			assert_memory_equal(executor_tensor(found->executor, i),
					    executor_tensor(wanted->executor, i),
					    (size_t)graph_tensor_bytes(wanted->graph, i));
}

static void test_less_memory(void **state)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};
	int recomputed = 0;

	(void)state;
	for (size_t m = 0; m < COUNT_OF(models) * COUNT_OF(types); m++) {
		const char *text = models[m % COUNT_OF(models)];
		enum tensor_type type = types[m / COUNT_OF(models)];
		struct lab all;
		struct lab little;

		lab_begin(&all, text, type, 0);
		lab_begin(&little, text, type, smallest(text, type));
		assert_true(little.plan->arena <= all.plan->arena);
		for (int i = 0; i < little.plan->step_count; i++)
			recomputed += little.plan->steps[i].recompute ? 1 : 0;
		fill(&all);
		fill(&little);
		compare(&little, &all);
		lab_end(&little);
		lab_end(&all);
	}
	assert_true(recomputed > 20);
}

/* Two by turns with one set of weights and one arena, as training and evaluation are; one whose arena is larger has its own. */
static void test_beside(void **state)
{
	struct problem problem = {0};
	struct lab large;
	struct lab small;

	(void)state;
	lab_begin(&large, models[0], TENSOR_FP32, 0);
	lab_begin(&small, models[0], TENSOR_FP32, smallest(models[0], TENSOR_FP32));
	assert_true(small.plan->arena < large.plan->arena);
	for (int i = 0; i < 2; i++) {
		struct lab *first = i == 0 ? &large : &small;
		struct lab *second = i == 0 ? &small : &large;

		executor_free(second->executor);
		assert_int_equal(executor_new(second->graph, second->plan, second->ops,
					      first->executor, &second->executor, &problem),
				 0);
		for (int k = 0; k < first->graph->tensor_count; k++)
			if (first->graph->tensors[k].role == GRAPH_PARAMETER)
				assert_ptr_equal(executor_tensor(second->executor, k),
						 executor_tensor(first->executor, k));
		assert_int_equal(executor_begin(first->executor, 42), 0);
		fill(first);
		fill(second);
		compare(second, first);
		executor_free(second->executor);
		assert_int_equal(executor_new(second->graph, second->plan, second->ops, NULL,
					      &second->executor, &problem),
				 0);
	}
	lab_end(&small);
	lab_end(&large);
}

struct told {
	const struct graph *graph;
	struct executor *executor;
	const uint8_t *last;
	int count;
};

static int tell_gradient(void *context, int tensor)
{
	struct told *told = context;
	const uint8_t *at = executor_tensor(told->executor, tensor);

	assert_true(at > told->last);
	told->last = at;
	told->count++;
	return 0;
}

/* Buckets are ranges of the gradients' memory: they come in its order. */
static void test_order(void **state)
{
	(void)state;
	for (size_t m = 0; m < COUNT_OF(models); m++) {
		struct lab lab;
		int parameters = 0;
		struct executor_result result;

		lab_begin(&lab, models[m], TENSOR_FP32, 0);
		fill(&lab);
		struct told told = {.graph = lab.graph, .executor = lab.executor};
		const struct executor_step step = {
			.scale = 1, .gradient = tell_gradient, .context = &told};

		assert_int_equal(executor_run(lab.executor, &step, &result), 0);
		for (int i = 0; i < lab.graph->tensor_count; i++)
			parameters += lab.graph->tensors[i].role == GRAPH_PARAMETER ? 1 : 0;
		assert_int_equal(told.count, parameters);
		lab_end(&lab);
	}
}

static void test_refusals(void **state)
{
	struct problem problem = {0};
	struct executor *executor;
	struct executor_result result;
	struct lab lab;

	(void)state;
	lab_begin(&lab, models[0], TENSOR_FP32, 0);
	fill(&lab);
	((int32_t *)executor_tensor(lab.executor, lab.graph->label))[0] =
		4; /* classes are 0 .. 3 */
	assert_int_equal(executor_run(lab.executor, &(struct executor_step){.scale = 1}, &result),
			 E_INVALID);
	/* A plan that knew of no workspace. */
	const struct plan_options options = {.budget = 0};
	struct plan *plan;

	assert_int_equal(plan_make(lab.graph, &options, &plan, &problem), 0);
	assert_int_equal(executor_new(lab.graph, plan, lab.ops, NULL, &executor, &problem),
			 E_UNSUPPORTED);
	assert_non_null(strstr(problem.message, "workspace"));
	plan_free(plan);
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_gradients), cmocka_unit_test(test_less_memory),
		cmocka_unit_test(test_beside),          cmocka_unit_test(test_order),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("trainer_executor", tests, NULL, NULL);
}
