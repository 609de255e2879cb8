/* One pass over the plan of an executor, and the search for what broke it. */
#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/half.h"
#include "common/base/hash.h"

#include "trainer_image/train/executor_private.h"

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

static const int32_t *executor_labels(const struct executor *executor)
{
	return executor->labels ? executor->labels
				: (const void *)executor->tensors[executor->graph->label];
}

static uint64_t executor_right(const int32_t *labels, const struct ops_tensor *logits)
{
	size_t classes = (size_t)tensor_shape_channels(&logits->is.shape);
	size_t all = (size_t)tensor_shape_count(&logits->is.shape) / classes;
	uint64_t right = 0;

	for (size_t i = 0; i < all; i++)
		if (labels[i] >= 0 && executor_largest(logits, i, classes) == (size_t)labels[i])
			right++;
	return right;
}

static double executor_sum(const struct ops_tensor *losses)
{
	size_t all = (size_t)tensor_shape_count(&losses->is.shape);
	double sum = 0;

	for (size_t i = 0; i < all; i++)
		sum += executor_number(losses, i);
	return sum;
}

/* The same numbers where the host can read them. */
static int executor_fetch(const struct executor *executor, struct ops_tensor *tensor)
{
	int rc = 0;

	if (executor->room) {
		rc = ops_copy(executor->ops, executor->room, tensor->data,
			      (size_t)tensor_shape_count(&tensor->is.shape) *
				      tensor_type_size(tensor->is.type),
			      OPS_OUT);
		tensor->data = executor->room;
	}
	return rc;
}

/* Right behind the op: the memory of losses and logits is another's in the backward pass. A device's losses are
 * kept, and read at the end of the pass. */
static int executor_lose(const struct executor *executor, const struct executor_step *step,
			 const struct ops_call *call, struct executor_result *result)
{
	struct ops_tensor logits = call->in[0];
	int rc = 0;

	if (executor->room)
		rc = ops_copy(executor->ops, executor->lasting + executor->losses,
			      call->out[0].data,
			      (size_t)graph_tensor_bytes(executor->graph, executor->graph->loss),
			      OPS_WITHIN);
	else
		result->loss = executor_sum(&call->out[0]);
	if (rc == 0 && step->count_right) {
		rc = executor_fetch(executor, &logits);
		if (rc == 0)
			result->right = executor_right(executor_labels(executor), &logits);
	}
	return rc;
}

static int executor_lost(const struct executor *executor, struct executor_result *result)
{
	struct ops_tensor losses = {.is = executor->graph->tensors[executor->graph->loss].is,
				    .data = executor->lasting + executor->losses};
	int rc = executor->room ? executor_fetch(executor, &losses) : 0;

	if (rc == 0 && executor->room)
		result->loss = executor_sum(&losses);
	return rc == 0 ? ops_wait(executor->ops) : rc;
}

/* Labels below 0 have no loss, and do not count. */
static size_t executor_counted(const struct executor *executor)
{
	const struct graph *graph = executor->graph;
	const int32_t *labels = executor_labels(executor);
	size_t all = (size_t)tensor_shape_count(&graph->tensors[graph->label].is.shape);
	size_t counted = 0;

	for (size_t i = 0; i < all; i++)
		counted += labels[i] >= 0 ? 1 : 0;
	return counted;
}

static int executor_tell(const struct executor *executor, const struct executor_step *step,
			 const struct graph_op *op)
{
	int rc = 0;

	for (int i = 0; step->gradient && i < op->out_count && rc == 0; i++)
		if (executor->graph->tensors[op->out[i]].role == GRAPH_GRADIENT)
			rc = step->gradient(step->context, op->out[i]);
	return rc;
}

static void *executor_memory(struct executor *executor, int tensor, int value)
{
	const struct plan_value *is = value >= 0 ? &executor->plan->values[value] : NULL;

	if (!is)
		return executor->tensors[executor->graph->tensors[tensor].alias];
	if (is->offset + is->bytes > executor->peak)
		executor->peak = is->offset + is->bytes;
	return executor->arena + is->offset;
}

/* The call of a step of the plan, with the memory that the plan gives it. */
static struct ops_call executor_call(struct executor *executor, const struct ops_pass *pass,
				     const struct plan_step *is)
{
	const struct graph_op *op = &executor->graph->ops[is->op];
	struct ops_call call = executor_shape(executor->graph, is->op);

	for (int k = 0; k < op->in_count; k++)
		call.in[k].data = executor_memory(executor, op->in[k], is->in[k]);
	for (int k = 0; k < op->out_count; k++)
		call.out[k].data = executor_memory(executor, op->out[k], is->out[k]);
	if (is->workspace >= 0) {
		call.workspace = executor_memory(executor, -1, is->workspace);
		call.workspace_size = (size_t)executor->plan->values[is->workspace].bytes;
	}
	call.pass = pass;
	call.recompute = is->recompute;
	return call;
}

/* The steps from `nth` on that run as one. */
static int executor_run_steps(struct executor *executor, const struct ops_pass *pass, int nth,
			      struct ops_call *ret_last)
{
	struct ops_call calls[OPS_TOGETHER_MAX];
	size_t count = executor->together[nth];

	for (size_t i = 0; i < count; i++)
		calls[i] = executor_call(executor, pass, &executor->plan->steps[nth + (int)i]);
	*ret_last = calls[count - 1];
	return ops_run_together(executor->ops, calls, count);
}

static int executor_pass(struct executor *executor, const struct executor_step *step,
			 const struct ops_pass *pass, struct executor_result *result)
{
	const struct graph *graph = executor->graph;
	const struct plan *plan = executor->plan;
	int64_t begun_us = clock_monotonic_us();
	int rc = 0;

	for (int i = 0; i < plan->step_count && rc == 0; i += (int)executor->together[i]) {
		int last = i + (int)executor->together[i] - 1;
		struct ops_call call;

		rc = executor_run_steps(executor, pass, i, &call);
		if (rc == 0 && graph->ops[plan->steps[last].op].out[0] == graph->loss &&
		    !plan->steps[last].recompute) {
			rc = executor_lose(executor, step, &call, result);
			result->forward_us = clock_monotonic_us() - begun_us;
		}
		for (int k = i; k <= last && rc == 0; k++)
			rc = executor_tell(executor, step, &graph->ops[plan->steps[k].op]);
	}
	return rc;
}

int executor_run(struct executor *executor, const struct executor_step *step,
		 struct executor_result *ret)
{
	struct executor_result result = {.counted = executor_counted(executor)};
	double labels = step->labels > 0 ? step->labels : (double)result.counted;
	const struct ops_pass pass = {
		.seed = step->seed,
		.step = step->number,
		.scale = result.counted > 0 ? step->scale / labels : 0,
	};
	uint64_t key = step->same > 0 ? hash_spread(executor->key ^ hash_spread(step->same)) : 0;
	bool done = false;
	int rc = ops_begin(executor->ops, &pass, key, &done);

	if (rc == 0 && !done)
		rc = executor_pass(executor, step, &pass, &result);
	rc = ops_end(executor->ops, rc);
	if (rc == 0 && step->launched)
		step->launched(step->context);
	if (rc == 0)
		rc = executor_lost(executor, &result);
	if (rc != 0)
		return rc;
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

/* `is`: at the place of the call's memory. What cannot be read counts as finite. */
static bool executor_call_is_finite(const struct executor *executor, struct ops_tensor is)
{
	size_t bytes = (size_t)tensor_shape_count(&is.is.shape) * tensor_type_size(is.is.type);
	CLEANUP(freep) void *copy = NULL;

	if (executor->ops->backend->on_host)
		return executor_is_finite(&is);
	copy = malloc(bytes + 1);
	if (!copy || ops_copy(executor->ops, copy, is.data, bytes, OPS_OUT) != 0)
		return true;
	is.data = copy;
	return executor_is_finite(&is);
}

/* What is read comes first: a parameter that is broken breaks the result. */
static int executor_broken(const struct executor *executor, const struct graph_op *op,
			   const struct ops_call *call)
{
	for (int i = 0; i < op->in_count; i++)
		if (!executor_call_is_finite(executor, call->in[i]))
			return op->in[i];
	return -1;
}

static int executor_find(struct executor *executor, const struct ops_pass *pass)
{
	const struct plan *plan = executor->plan;

	for (int i = 0; i < plan->step_count; i++) {
		const struct plan_step *is = &plan->steps[i];
		const struct graph_op *op = &executor->graph->ops[is->op];
		struct ops_call call = executor_call(executor, pass, is);
		int broken;

		if (op->backward || is->recompute)
			continue;
		call.recompute = true; /* running statistics stay */
		broken = executor_broken(executor, op, &call);
		if (broken >= 0)
			return broken;
		if (ops_run(executor->ops, &call) != 0)
			return -1;
		for (int k = 0; k < op->out_count; k++)
			if (!executor_call_is_finite(executor, call.out[k]))
				return op->out[k];
	}
	return -1;
}

int executor_find_broken(struct executor *executor, const struct executor_step *step)
{
	const struct ops_pass pass = {.seed = step->seed, .step = step->number};
	bool done;
	int broken = -1;

	if (ops_begin(executor->ops, &pass, 0, &done) == 0)
		broken = executor_find(executor, &pass);
	return ops_end(executor->ops, 0) == 0 ? broken : -1;
}
