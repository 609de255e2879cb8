#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/hash.h"

#include "trainer_image/train/executor_private.h"

static int64_t executor_align(int64_t bytes)
{
	return (bytes + PLAN_ALIGNMENT - 1) & ~(int64_t)(PLAN_ALIGNMENT - 1);
}

static bool executor_lasts(const struct graph *graph, int tensor)
{
	return graph->tensors[tensor].alias == tensor && graph_tensor_is_lasting(graph, tensor);
}

/* The same tensor of the model in its other graph: the n-th of its role in both. NULL: it is not there. */
static uint8_t *executor_twin(const struct executor *executor, int tensor,
			      const struct executor *other)
{
	const struct graph *graph = executor->graph;
	enum graph_role role = graph->tensors[tensor].role;
	int before = 0;

	for (int i = 0; i < tensor; i++)
		before += graph->tensors[i].role == role && executor_lasts(graph, i) ? 1 : 0;
	for (int i = 0; i < other->graph->tensor_count; i++)
		if (other->graph->tensors[i].role == role && executor_lasts(other->graph, i) &&
		    before-- == 0)
			return graph_tensor_bytes(other->graph, i) ==
					       graph_tensor_bytes(graph, tensor)
				       ? other->tensors[i]
				       : NULL;
	return NULL;
}

/* Places the tensors of `lasting` that are gradients, or all others, from `at` on; gives where they end. */
static int64_t executor_place(struct executor *executor, bool gradients, int64_t at)
{
	const struct graph *graph = executor->graph;

	for (int i = 0; i < graph->tensor_count; i++) {
		if (!executor_lasts(graph, i) || executor->tensors[i] ||
		    (graph->tensors[i].role == GRAPH_GRADIENT) != gradients)
			continue;
		if (executor->lasting)
			executor->tensors[i] = executor->lasting + at;
		at += executor_align(graph_tensor_bytes(graph, i));
	}
	return at;
}

/* Gradients come last, in the order in which ops make them; behind them the losses of a device. */
static int executor_layout(struct executor *executor)
{
	const struct graph *graph = executor->graph;

	executor->gradients = executor_place(executor, false, 0);
	executor->losses = executor_place(executor, true, executor->gradients);
	executor->gradient_bytes = executor->losses - executor->gradients;
	executor->lasting_bytes = (size_t)executor->losses;
	if (!executor->ops->backend->on_host)
		executor->lasting_bytes +=
			(size_t)executor_align(graph_tensor_bytes(graph, graph->loss));
	executor->lasting = ops_take(executor->ops, executor->lasting_bytes);
	if (!executor->borrows)
		executor->arena = ops_take(executor->ops, (size_t)executor->plan->arena);
	if (!executor->lasting || !executor->arena)
		return -ENOMEM;
	(void)executor_place(executor, false, 0);
	(void)executor_place(executor, true, executor->gradients);
	return 0;
}

/* What the host has to see of a device's memory. */
static int executor_host(struct executor *executor)
{
	const struct graph *graph = executor->graph;
	int64_t most = graph_tensor_bytes(graph, graph->logit);

	if (executor->ops->backend->on_host)
		return 0;
	if (graph_tensor_bytes(graph, graph->loss) > most)
		most = graph_tensor_bytes(graph, graph->loss);
	executor->labels = calloc(1, (size_t)graph_tensor_bytes(graph, graph->label) + 1);
	executor->room = malloc((size_t)most + 1);
	return executor->labels && executor->room ? 0 : -ENOMEM;
}

/* --- calls --- */

struct ops_call executor_shape(const struct graph *graph, int nth)
{
	static const struct ops_pass none = {0};
	const struct graph_op *op = &graph->ops[nth];
	struct ops_call call = {.kind = op->kind,
				.attributes = &op->attributes,
				.in_count = (size_t)op->in_count,
				.out_count = (size_t)op->out_count,
				.pass = &none};

	for (int i = 0; i < op->in_count; i++)
		call.in[i].is = graph->tensors[op->in[i]].is;
	for (int i = 0; i < op->out_count; i++)
		call.out[i].is = graph->tensors[op->out[i]].is;
	return call;
}

static int executor_check(const struct executor *executor, struct problem *problem)
{
	const struct plan *plan = executor->plan;

	for (int i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];
		struct ops_call call = executor_shape(executor->graph, step->op);
		int64_t room = step->workspace >= 0 ? plan->values[step->workspace].bytes : 0;
		size_t size = 0;

		call.workspace_size = (size_t)room;
		int rc = ops_workspace(executor->ops, &call, &size, problem);

		if (rc != 0)
			return rc;
		if ((int64_t)size > room)
			return problem_set(
				problem, E_UNSUPPORTED,
				"%s wants %zu bytes of workspace, and the plan has %lld for it",
				op_text(call.kind), size, (long long)room);
	}
	return 0;
}

/* Does the step behind `nth` alone read what it gives? */
static bool executor_hands_on(const struct executor *executor, int nth)
{
	const struct plan *plan = executor->plan;
	const struct plan_step *step = &plan->steps[nth];
	const struct plan_step *next = &plan->steps[nth + 1];
	int value = step->out[0];
	int readers = 0;

	if (value < 0 || plan->values[value].last != nth + 1 || next->recompute != step->recompute)
		return false;
	for (int i = 0; i < executor->graph->ops[next->op].in_count; i++)
		readers += next->in[i] == value ? 1 : 0;
	return readers == 1;
}

static int executor_join(struct executor *executor)
{
	const struct plan *plan = executor->plan;
	struct ops_call calls[OPS_TOGETHER_MAX];

	executor->together = calloc((size_t)plan->step_count + 1, sizeof(*executor->together));
	if (!executor->together)
		return -ENOMEM;
	for (int i = 0; i < plan->step_count; i++) {
		size_t count = 1;

		calls[0] = executor_shape(executor->graph, plan->steps[i].op);
		calls[0].recompute = plan->steps[i].recompute;
		while (count < OPS_TOGETHER_MAX && i + (int)count < plan->step_count &&
		       executor_hands_on(executor, i + (int)count - 1)) {
			calls[count] =
				executor_shape(executor->graph, plan->steps[i + (int)count].op);
			count++;
		}
		executor->together[i] = ops_together(executor->ops, calls, count);
	}
	return 0;
}

static int executor_make(struct executor *executor, const struct executor *beside)
{
	const struct graph *graph = executor->graph;
	int rc;

	executor->tensors = calloc((size_t)graph->tensor_count + 1, sizeof(*executor->tensors));
	if (!executor->tensors)
		return -ENOMEM;
	for (int i = 0; beside && i < graph->tensor_count; i++)
		if (executor_lasts(graph, i) && graph->tensors[i].role != GRAPH_GRADIENT)
			executor->tensors[i] = executor_twin(executor, i, beside);
	rc = executor_layout(executor);
	if (rc == 0)
		rc = executor_host(executor);
	return rc == 0 ? executor_join(executor) : rc;
}

int executor_new(const struct graph *graph, const struct plan *plan, struct ops *ops,
		 const struct executor *beside, struct executor **ret, struct problem *problem)
{
	static _Atomic uint64_t made;
	struct executor *executor = calloc(1, sizeof(*executor));
	int rc;

	if (!executor)
		return problem_set(problem, -ENOMEM, "no memory for a training step");
	*executor = (struct executor){
		.graph = graph, .plan = plan, .ops = ops, .key = atomic_fetch_add(&made, 1) + 1};
	executor->borrows = beside && beside->plan->arena >= plan->arena;
	executor->arena = executor->borrows ? beside->arena : NULL;
	rc = executor_check(executor, problem);
	if (rc == 0 && executor_make(executor, beside) != 0)
		rc = problem_set(problem, -ENOMEM, "no memory for a training step of %lld bytes",
				 (long long)plan->arena);
	if (rc != 0) {
		executor_free(executor);
		return rc;
	}
	*ret = executor;
	return 0;
}

void executor_free(struct executor *executor)
{
	if (!executor)
		return;
	if (!executor->borrows)
		ops_give(executor->ops, executor->arena, (size_t)executor->plan->arena);
	ops_give(executor->ops, executor->lasting, executor->lasting_bytes);
	free(executor->tensors);
	free(executor->together);
	free(executor->labels);
	free(executor->room);
	free(executor);
}

struct ops *executor_ops(const struct executor *executor)
{
	return executor->ops;
}

void *executor_tensor(struct executor *executor, int tensor)
{
	return executor->tensors[executor->graph->tensors[tensor].alias];
}

int executor_write(struct executor *executor, int tensor, size_t at, const void *from, size_t bytes)
{
	uint8_t *to = executor_tensor(executor, tensor);

	if (tensor == executor->graph->label && executor->labels)
		memcpy((uint8_t *)executor->labels + at, from, bytes);
	return ops_copy(executor->ops, to + at, from, bytes, OPS_IN);
}

int executor_read(struct executor *executor, int tensor, void *to)
{
	return ops_copy(executor->ops, to, executor_tensor(executor, tensor),
			(size_t)graph_tensor_bytes(executor->graph, tensor), OPS_OUT);
}

int64_t executor_peak(const struct executor *executor)
{
	return executor->peak;
}

int64_t executor_bytes(const struct executor *executor)
{
	return (int64_t)executor->lasting_bytes + (executor->borrows ? 0 : executor->plan->arena);
}

void *executor_gradients(struct executor *executor, int64_t *ret_bytes)
{
	*ret_bytes = executor->gradient_bytes;
	return executor->lasting + executor->gradients;
}

/* --- the begin --- */

/* Even in (0, 1). */
static double executor_even(uint64_t start, uint64_t nth)
{
	return ((double)(hash_spread(start + nth * UINT64_C(0x9e3779b97f4a7c15)) >> 12) + 0.5) *
	       0x1p-52;
}

/* Normal with deviation 1 (Box, Muller 1958). */
static double executor_normal(uint64_t start, uint64_t nth)
{
	const double two_pi = 6.283185307179586;

	return sqrt(-2 * log(executor_even(start, 2 * nth))) *
	       cos(two_pi * executor_even(start, 2 * nth + 1));
}

static double executor_first(const struct graph_tensor *tensor, uint64_t start, uint64_t nth)
{
	switch (tensor->start) {
	case MODEL_ZERO: return 0;
	case MODEL_ONE: return 1;
	case MODEL_HE: return executor_normal(start, nth) * sqrt(2.0 / (double)tensor->fan_in);
	case MODEL_NORMAL: return executor_normal(start, nth) * 0.02;
	}
	return 0;
}

static void executor_store(enum tensor_type type, void *data, size_t nth, double value)
{
	float full = (float)value;

	switch (type) {
	case TENSOR_FP32: ((float *)data)[nth] = full; break;
	case TENSOR_FP64: ((double *)data)[nth] = value; break;
	case TENSOR_BF16: half_to_bf16(&full, (uint16_t *)data + nth, 1); break;
	case TENSOR_FP16: half_to_fp16(&full, (uint16_t *)data + nth, 1); break;
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
}

static int executor_begin_tensor(struct executor *executor, int nth, uint64_t start)
{
	const struct graph_tensor *tensor = &executor->graph->tensors[nth];
	size_t bytes = (size_t)graph_tensor_bytes(executor->graph, nth);
	size_t count = (size_t)tensor_shape_count(&tensor->is.shape);
	CLEANUP(freep) void *values = malloc(bytes + 1);

	if (!values)
		return -ENOMEM;
	for (size_t k = 0; k < count; k++)
		executor_store(tensor->is.type, values, k, executor_first(tensor, start, k));
	return executor_write(executor, nth, 0, values, bytes);
}

int executor_begin(struct executor *executor, uint64_t seed)
{
	const struct graph *graph = executor->graph;
	uint64_t parameter = 0;
	int rc = 0;

	for (int i = 0; i < graph->tensor_count && rc == 0; i++)
		if (graph->tensors[i].role == GRAPH_PARAMETER ||
		    graph->tensors[i].role == GRAPH_STATISTIC)
			rc = executor_begin_tensor(executor, i,
						   hash_spread(seed ^ hash_spread(++parameter)));
	return rc;
}
