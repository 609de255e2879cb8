#include "trainer_image/train/executor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/hash.h"
#include "common/base/pages.h"

struct executor {
	const struct graph *graph;
	const struct plan *plan;
	struct ops *ops;
	uint8_t *arena, *lasting; /* one mapping each */
	size_t lasting_bytes;
	int64_t *offsets; /* per tensor in `lasting`, -1 = not there */
	int64_t gradients, gradient_bytes;
	int64_t peak;
};

static int64_t executor_align(int64_t bytes)
{
	return (bytes + PLAN_ALIGNMENT - 1) & ~(int64_t)(PLAN_ALIGNMENT - 1);
}

static int64_t executor_place(struct executor *executor, int tensor, int64_t at)
{
	executor->offsets[tensor] = at;
	return at + executor_align(graph_tensor_bytes(executor->graph, tensor));
}

/* Gradients come last, in the order in which ops make them. */
static int executor_layout(struct executor *executor)
{
	const struct graph *graph = executor->graph;
	int64_t at = 0;

	executor->offsets = malloc((size_t)(graph->tensor_count + 1) * sizeof(*executor->offsets));
	if (!executor->offsets)
		return -ENOMEM;
	for (int i = 0; i < graph->tensor_count; i++) {
		bool is_gradient = graph->tensors[i].role == GRAPH_GRADIENT;

		executor->offsets[i] = -1;
		if (graph->tensors[i].alias == i && graph_tensor_is_lasting(graph, i) &&
		    !is_gradient)
			at = executor_place(executor, i, at);
	}
	executor->gradients = at;
	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == GRAPH_GRADIENT)
			at = executor_place(executor, i, at);
	executor->gradient_bytes = at - executor->gradients;
	executor->lasting_bytes = (size_t)at;
	executor->lasting = pages_new(executor->lasting_bytes + 1);
	executor->arena = pages_new((size_t)executor->plan->arena + 1);
	return executor->lasting && executor->arena ? 0 : -ENOMEM;
}

/* --- calls --- */

static void *executor_memory(struct executor *executor, int tensor, int value)
{
	const struct plan_value *is = value >= 0 ? &executor->plan->values[value] : NULL;

	if (!is)
		return executor->lasting +
		       executor->offsets[executor->graph->tensors[tensor].alias];
	if (is->offset + is->bytes > executor->peak)
		executor->peak = is->offset + is->bytes;
	return executor->arena + is->offset;
}

static struct ops_call executor_shape(const struct graph *graph, int nth)
{
	const struct graph_op *op = &graph->ops[nth];
	struct ops_call call = {.kind = op->kind,
				.attributes = &op->attributes,
				.in_count = (size_t)op->in_count,
				.out_count = (size_t)op->out_count};

	for (int i = 0; i < op->in_count; i++)
		call.in[i].is = graph->tensors[op->in[i]].is;
	for (int i = 0; i < op->out_count; i++)
		call.out[i].is = graph->tensors[op->out[i]].is;
	return call;
}

int64_t executor_workspace(void *ops, const struct graph *graph, int op)
{
	struct ops_call call = executor_shape(graph, op);
	struct problem problem = {0};
	size_t size = 0;

	return ops_workspace(ops, &call, &size, &problem) == 0 ? (int64_t)size : -1;
}

static int executor_check(const struct executor *executor, struct problem *problem)
{
	const struct plan *plan = executor->plan;

	for (int i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];
		struct ops_call call = executor_shape(executor->graph, step->op);
		int64_t room = step->workspace >= 0 ? plan->values[step->workspace].bytes : 0;
		size_t size = 0;
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

int executor_new(const struct graph *graph, const struct plan *plan, struct ops *ops,
		 struct executor **ret, struct problem *problem)
{
	struct executor *executor = calloc(1, sizeof(*executor));
	int rc;

	if (!executor)
		return problem_set(problem, -ENOMEM, "no memory for a training step");
	*executor = (struct executor){.graph = graph, .plan = plan, .ops = ops};
	rc = executor_check(executor, problem);
	if (rc == 0 && executor_layout(executor) != 0)
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
	pages_free(executor->arena, (size_t)executor->plan->arena + 1);
	pages_free(executor->lasting, executor->lasting_bytes + 1);
	free(executor->offsets);
	free(executor);
}

void *executor_tensor(struct executor *executor, int tensor)
{
	int64_t offset = executor->offsets[executor->graph->tensors[tensor].alias];

	return offset < 0 ? NULL : executor->lasting + offset;
}

int64_t executor_peak(const struct executor *executor)
{
	return executor->peak;
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

void executor_begin(struct executor *executor, uint64_t seed)
{
	const struct graph *graph = executor->graph;
	uint64_t parameter = 0;

	for (int i = 0; i < graph->tensor_count; i++) {
		const struct graph_tensor *tensor = &graph->tensors[i];

		if (tensor->role != GRAPH_PARAMETER && tensor->role != GRAPH_STATISTIC)
			continue;
		uint64_t start = hash_spread(seed ^ hash_spread(++parameter));
		size_t count = (size_t)tensor_shape_count(&tensor->is.shape);

		for (size_t k = 0; k < count; k++)
			executor_store(tensor->is.type, executor_tensor(executor, i), k,
				       executor_first(tensor, start, k));
	}
}

/* --- a step --- */

static double executor_number(const struct ops_tensor *tensor, size_t nth)
{
	float full = 0;

	switch (tensor->is.type) {
	case TENSOR_FP32: return (double)((const float *)tensor->data)[nth];
	case TENSOR_FP64: return ((const double *)tensor->data)[nth];
	case TENSOR_BF16: half_from_bf16((const uint16_t *)tensor->data + nth, &full, 1); break;
	case TENSOR_FP16: half_from_fp16((const uint16_t *)tensor->data + nth, &full, 1); break;
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
	return (double)full;
}

/* Of the logits of one label the first that is the largest. */
static size_t executor_largest(const struct ops_tensor *logits, size_t row, size_t classes)
{
	size_t largest = 0;
	double most = executor_number(logits, row * classes);

	for (size_t i = 1; i < classes; i++) {
		double is = executor_number(logits, row * classes + i);

		if (is > most) {
			most = is;
			largest = i;
		}
	}
	return largest;
}

static uint64_t executor_right(const struct ops_call *call)
{
	size_t classes = (size_t)tensor_shape_channels(&call->in[0].is.shape);
	size_t all = (size_t)tensor_shape_count(&call->in[1].is.shape);
	const int32_t *labels = call->in[1].data;
	uint64_t right = 0;

	for (size_t i = 0; i < all; i++)
		if (labels[i] >= 0 &&
		    executor_largest(&call->in[0], i, classes) == (size_t)labels[i])
			right++;
	return right;
}

/* Read at once: the memory of losses and logits is another's in the backward pass. */
static void executor_lose(const struct executor_step *step, const struct ops_call *call,
			  struct executor_result *result)
{
	size_t all = (size_t)tensor_shape_count(&call->out[0].is.shape);

	for (size_t i = 0; i < all; i++)
		result->loss += executor_number(&call->out[0], i);
	if (step->count_right)
		result->right = executor_right(call);
}

/* Labels below 0 have no loss, and do not count. */
static size_t executor_counted(const struct executor *executor)
{
	const struct graph *graph = executor->graph;
	const int32_t *labels = (const void *)(executor->lasting + executor->offsets[graph->label]);
	size_t all = (size_t)tensor_shape_count(&graph->tensors[graph->label].is.shape);
	size_t counted = 0;

	for (size_t i = 0; i < all; i++)
		counted += labels[i] >= 0 ? 1 : 0;
	return counted;
}

static void executor_tell(const struct executor *executor, const struct executor_step *step,
			  const struct graph_op *op)
{
	for (int i = 0; step->gradient && i < op->out_count; i++)
		if (executor->graph->tensors[op->out[i]].role == GRAPH_GRADIENT)
			step->gradient(step->context, op->out[i]);
}

/* The call of a step of the plan, with the memory that the plan gives it. */
static struct ops_call executor_call(struct executor *executor, const struct executor_step *step,
				     const struct plan_step *is)
{
	const struct graph_op *op = &executor->graph->ops[is->op];
	struct ops_call call = executor_shape(executor->graph, is->op);

	for (int k = 0; k < op->in_count; k++)
		call.in[k].data = executor_memory(executor, op->in[k], is->in[k]);
	for (int k = 0; k < op->out_count; k++)
		call.out[k].data = executor_memory(executor, op->out[k], is->out[k]);
	if (is->workspace >= 0)
		call.workspace = executor_memory(executor, -1, is->workspace);
	call.seed = step->seed;
	call.step = step->number;
	call.recompute = is->recompute;
	return call;
}

int executor_run(struct executor *executor, const struct executor_step *step,
		 struct executor_result *ret)
{
	const struct graph *graph = executor->graph;
	struct executor_result result = {.counted = executor_counted(executor)};
	double labels = step->labels > 0 ? step->labels : (double)result.counted;
	int64_t begun_us = clock_monotonic_us();

	for (int i = 0; i < executor->plan->step_count; i++) {
		const struct plan_step *is = &executor->plan->steps[i];
		const struct graph_op *op = &graph->ops[is->op];
		struct ops_call call = executor_call(executor, step, is);
		int rc;

		call.scale = result.counted > 0 ? step->scale / labels : 0;
		rc = ops_run(executor->ops, &call);
		if (rc != 0)
			return rc;
		if (op->out[0] == graph->loss && !is->recompute) {
			executor_lose(step, &call, &result);
			result.forward_us = clock_monotonic_us() - begun_us;
		}
		executor_tell(executor, step, op);
	}
	result.loss = result.counted > 0 ? result.loss / (double)result.counted : 0;
	*ret = result;
	return 0;
}

static bool executor_is_finite(const struct ops_tensor *tensor)
{
	size_t count = (size_t)tensor_shape_count(&tensor->is.shape);

	for (size_t i = 0; i < count; i++)
		if (!isfinite(executor_number(tensor, i)))
			return false;
	return true;
}

/* What is read comes first: a parameter that is broken breaks the result. */
static int executor_broken(const struct graph_op *op, const struct ops_call *call)
{
	for (int i = 0; i < op->in_count; i++)
		if (!executor_is_finite(&call->in[i]))
			return op->in[i];
	return -1;
}

int executor_find_broken(struct executor *executor, const struct executor_step *step)
{
	const struct plan *plan = executor->plan;

	for (int i = 0; i < plan->step_count; i++) {
		const struct plan_step *is = &plan->steps[i];
		const struct graph_op *op = &executor->graph->ops[is->op];
		struct ops_call call = executor_call(executor, step, is);
		int broken;

		if (op->backward || is->recompute)
			continue;
		call.recompute = true; /* running statistics stay */
		broken = executor_broken(op, &call);
		if (broken >= 0)
			return broken;
		if (ops_run(executor->ops, &call) != 0)
			return -1;
		for (int k = 0; k < op->out_count; k++)
			if (!executor_is_finite(&call.out[k]))
				return op->out[k];
	}
	return -1;
}
