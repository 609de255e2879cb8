// links: trainer_train
/* A training step of a model on the processor, on made-up pictures: forward, backward, SGD with momentum.
 *
 *     cpu_step time MODEL BATCH THREADS SECONDS          steps for so long, one line each: milliseconds
 *     cpu_step dump MODEL BATCH KIND FOLDER              one step in FP32; KIND: sgd, adamw, lars
 *
 * `dump` writes what a golden test compares: FOLDER/model (no blocks left), FOLDER/tensors (a line each:
 * role, name, place in data, sizes) and FOLDER/data. Roles: input, label, parameter, gradient, updated, statistic
 * and counted (before and behind the step), loss. All words are 4 bytes: float, of labels and tokens int32. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer_image/graph/model_text.h"
#include "trainer_image/train/executor.h"
#include "trainer_image/train/executor_plan.h"

enum { CPU_STEP_SEED = 42 };

struct cpu_step {
	struct model *model;
	struct graph *graph;
	struct plan *plan;
	struct ops *ops;
	struct executor *executor;
	float **velocity, **square; /* of each tensor that is a parameter */
};

static int cpu_step_fail(const struct problem *problem)
{
	fprintf(stderr, "%s\n", problem->message);
	return 1;
}

static size_t cpu_step_count(const struct cpu_step *step, int tensor)
{
	return (size_t)tensor_shape_count(&step->graph->tensors[tensor].is.shape);
}

/* In [0, 1): splitmix64. */
static double cpu_step_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static int cpu_step_begin(struct cpu_step *step, const char *path, int64_t batch, unsigned threads)
{
	struct problem problem = {0};

	if (ops_cpu_new(threads, &step->ops, &problem) < 0 ||
	    model_load(path, &step->model, &problem) < 0 ||
	    graph_build(step->model, batch, TENSOR_FP32, true, &step->graph, &problem) < 0)
		return cpu_step_fail(&problem);
	const struct plan_options options = {.budget = 0};
	if (executor_plan(step->graph, step->ops, NULL, &options, &step->plan, &problem) < 0 ||
	    executor_new(step->graph, step->plan, step->ops, NULL, &step->executor, &problem) < 0)
		return cpu_step_fail(&problem);
	if (executor_begin(step->executor, CPU_STEP_SEED) != 0)
		return cpu_step_fail(&problem);

	const struct graph *graph = step->graph;
	step->velocity = calloc((size_t)graph->tensor_count, sizeof(*step->velocity));
	step->square = calloc((size_t)graph->tensor_count, sizeof(*step->square));
	for (int i = 0; step->velocity && step->square && i < graph->tensor_count; i++) {
		if (graph->tensors[i].role != GRAPH_PARAMETER)
			continue;
		step->velocity[i] = calloc(cpu_step_count(step, i), sizeof(float));
		step->square[i] = calloc(cpu_step_count(step, i), sizeof(float));
		if (!step->velocity[i] || !step->square[i])
			return cpu_step_fail(&problem);
	}

	uint64_t state = 9;
	float *input = executor_tensor(step->executor, graph->input);
	int32_t *label = executor_tensor(step->executor, graph->label);
	for (size_t i = 0; i < cpu_step_count(step, graph->input); i++) {
		double random = cpu_step_random(&state);

		if (step->model->words > 0)
			((int32_t *)(void *)input)[i] =
				(int32_t)(random * (double)step->model->words);
		else
			input[i] = (float)(2 * random - 1);
	}
	for (size_t i = 0; i < cpu_step_count(step, graph->label); i++)
		label[i] = (int32_t)(cpu_step_random(&state) * (double)step->model->classes);
	return 0;
}

static void cpu_step_end(struct cpu_step *step)
{
	for (int i = 0; step->velocity && step->square && i < step->graph->tensor_count; i++) {
		free(step->velocity[i]);
		free(step->square[i]);
	}
	free(step->velocity);
	free(step->square);
	executor_free(step->executor);
	plan_free(step->plan);
	graph_free(step->graph);
	model_free(step->model);
	ops_free(step->ops);
}

static int cpu_step_run(struct cpu_step *step, int64_t number, double *ret_loss)
{
	struct executor_step run = {.seed = CPU_STEP_SEED, .number = (uint64_t)number, .scale = 1};

	struct executor_result result = {0};
	int rc = executor_run(step->executor, &run, &result);

	*ret_loss = result.loss;
	return rc;
}

static int cpu_step_update(struct cpu_step *step, enum ops_update_kind kind, int64_t number)
{
	for (int i = 0; i < step->graph->tensor_count; i++) {
		const struct graph_tensor *tensor = &step->graph->tensors[i];

		if (tensor->role != GRAPH_PARAMETER)
			continue;
		const struct ops_update update = {
			.kind = kind,
			.count = cpu_step_count(step, i),
			.weight = executor_tensor(step->executor, i),
			.velocity = step->velocity[i],
			.square = step->square[i],
			.gradient = executor_tensor(step->executor, tensor->gradient),
			.rate = kind == OPS_ADAMW ? 0.001 : 0.1,
			.decay = kind == OPS_ADAMW ? 0.01 : 0.0001,
			.unscale = 1,
			.momentum = 0.9,
			.momentum2 = 0.999,
			.epsilon = 1e-8,
			.trust = 0.001,
			.step = number};
		int rc = ops_update(step->ops, &update);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static double cpu_step_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int cpu_step_time(struct cpu_step *step, double seconds)
{
	double end = cpu_step_now() + seconds;
	double loss = 0;

	for (int64_t number = 1; number <= 2 || cpu_step_now() < end; number++) {
		double begin = cpu_step_now();

		if (cpu_step_run(step, number, &loss) < 0 ||
		    cpu_step_update(step, OPS_SGD, number) < 0)
			return 1;
		if (number > 1) /* the first one touches all memory */
			printf("%.3f\n", (cpu_step_now() - begin) * 1e3);
	}
	return isfinite(loss) ? 0 : 1;
}

struct cpu_step_dump {
	FILE *tensors, *data;
	size_t place; /* words */
};

static void cpu_step_write(struct cpu_step_dump *dump, const struct cpu_step *step,
			   const char *role, const char *name, int tensor)
{
	const struct tensor_shape *shape = &step->graph->tensors[tensor].is.shape;
	const void *data = executor_tensor(step->executor, tensor);
	size_t count = cpu_step_count(step, tensor);

	fprintf(dump->tensors, "%s %s %zu", role, name, dump->place);
	for (int i = 0; i < shape->rank; i++)
		fprintf(dump->tensors, " %" PRId64, shape->size[i]);
	fputc('\n', dump->tensors);
	(void)fwrite(data, 4, count, dump->data);
	dump->place += count;
}

static void cpu_step_write_all(struct cpu_step_dump *dump, const struct cpu_step *step, bool before)
{
	for (int i = 0; i < step->graph->tensor_count; i++) {
		const struct graph_tensor *tensor = &step->graph->tensors[i];
		const char *name = graph_tensor_name(step->graph, i);

		if (tensor->role == GRAPH_PARAMETER)
			cpu_step_write(dump, step, before ? "parameter" : "updated", name, i);
		if (tensor->role == GRAPH_PARAMETER && !before)
			cpu_step_write(dump, step, "gradient", name, tensor->gradient);
		if (tensor->role == GRAPH_STATISTIC)
			cpu_step_write(dump, step, before ? "statistic" : "counted", name, i);
	}
}

static FILE *cpu_step_open(const char *folder, const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, "w");
}

static int cpu_step_dump(struct cpu_step *step, enum ops_update_kind kind, const char *folder)
{
	struct cpu_step_dump dump = {cpu_step_open(folder, "tensors"),
				     cpu_step_open(folder, "data"), 0};
	FILE *model = cpu_step_open(folder, "model");
	CLEANUP(text_done) struct text text = {0};
	double loss = 0;

	if (!dump.tensors || !dump.data || !model)
		return 1;
	model_print(step->model, &text);
	fputs(text_get(&text), model);
	cpu_step_write(&dump, step, "input", step->model->input_name, step->graph->input);
	cpu_step_write(&dump, step, "label", step->model->label_name, step->graph->label);
	cpu_step_write_all(&dump, step, true);
	if (cpu_step_run(step, 1, &loss) < 0 || cpu_step_update(step, kind, 1) < 0)
		return 1;
	cpu_step_write_all(&dump, step, false);
	fprintf(dump.tensors, "loss %.17g 0\n", loss);
	int failed = ferror(dump.data) | ferror(dump.tensors) | ferror(model);
	failed |= fclose(dump.data) | fclose(dump.tensors) | fclose(model);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {
		[OPS_SGD] = "sgd", [OPS_ADAMW] = "adamw", [OPS_LARS] = "lars"};
	struct cpu_step step = {0};

	int rc = 2;

	if (argc == 6 && strcmp(argv[1], "time") == 0)
		rc = cpu_step_begin(&step, argv[2], atoll(argv[3]), (unsigned)atoi(argv[4])) ||
		     cpu_step_time(&step, atof(argv[5]));
	for (int kind = OPS_SGD; argc == 6 && strcmp(argv[1], "dump") == 0 && kind <= OPS_LARS;
	     kind++)
		if (strcmp(argv[4], kinds[kind]) == 0)
			rc = cpu_step_begin(&step, argv[2], atoll(argv[3]), 0) ||
			     cpu_step_dump(&step, (enum ops_update_kind)kind, argv[5]);
	cpu_step_end(&step);
	return rc;
}
