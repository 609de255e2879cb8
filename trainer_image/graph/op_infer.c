#include "trainer_image/graph/op_infer.h"

#include <string.h>

#include "trainer_image/graph/op_infer_call.h"

/* Both inputs alike, the output too. */
static int op_infer_pair(struct op_infer_call *call)
{
	int rc = op_infer_same(call, 0, 1);

	op_infer_like(call, 0, &call->in[0]);
	return rc;
}

static int op_infer_single(struct op_infer_call *call)
{
	op_infer_like(call, 0, &call->in[0]);
	return 0;
}

static int op_infer_dropout(struct op_infer_call *call)
{
	if (!(call->attributes->rate >= 0 && call->attributes->rate < 1))
		return op_infer_bad(call, "the rate is not in 0 .. 1");
	return op_infer_single(call);
}

static int op_infer_concat(struct op_infer_call *call)
{
	int64_t channels = tensor_shape_channels(&call->in[0].shape);

	for (size_t i = 1; i < call->in_count; i++) {
		int rc = op_infer_type(call, i, call->in[0].type);

		if (!op_infer_outer_equal(&call->in[0], &call->in[i]))
			return op_infer_differ(call, &call->in[0], &call->in[i],
					       "differ in more than channels");
		if (rc < 0)
			return rc;
		if (__builtin_add_overflow(channels, tensor_shape_channels(&call->in[i].shape),
					   &channels))
			return op_infer_bad(call, "too many channels");
	}
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = channels;
	return 0;
}

static int op_infer_slice(struct op_infer_call *call)
{
	const struct op_attributes *a = call->attributes;
	int64_t channels = tensor_shape_channels(&call->in[0].shape);

	if (call->in[0].shape.rank == 0 || a->offset < 0 || a->in[0] < 1 || a->offset > channels ||
	    a->in[0] > channels - a->offset)
		return op_infer_one(call, &call->in[0], "has not the channels of the slice");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = a->in[0];
	return 0;
}

static int (*const op_infer_rules[OP_KINDS])(struct op_infer_call *call) = {
	[OP_CONV] = op_infer_conv,
	[OP_CONV_DATA] = op_infer_conv_data,
	[OP_CONV_WEIGHT] = op_infer_conv_weight,
	[OP_LINEAR] = op_infer_linear,
	[OP_LINEAR_DATA] = op_infer_linear_data,
	[OP_LINEAR_WEIGHT] = op_infer_linear_weight,
	[OP_BIAS_BACK] = op_infer_bias_back,
	[OP_BATCH_NORM] = op_infer_batch_norm,
	[OP_BATCH_NORM_BACK] = op_infer_batch_norm_back,
	[OP_LAYER_NORM] = op_infer_layer_norm,
	[OP_LAYER_NORM_BACK] = op_infer_layer_norm_back,
	[OP_MAX_POOL] = op_infer_pool,
	[OP_MAX_POOL_BACK] = op_infer_pool_back,
	[OP_AVERAGE_POOL] = op_infer_pool,
	[OP_AVERAGE_POOL_BACK] = op_infer_pool_back,
	[OP_UPSAMPLE] = op_infer_upsample,
	[OP_UPSAMPLE_BACK] = op_infer_upsample_back,
	[OP_ADD] = op_infer_pair,
	[OP_CONCAT] = op_infer_concat,
	[OP_SLICE] = op_infer_slice,
	[OP_ACTIVATION] = op_infer_single,
	[OP_ACTIVATION_BACK] = op_infer_pair,
	[OP_DROPOUT] = op_infer_dropout,
	[OP_DROPOUT_BACK] = op_infer_dropout,
	[OP_EMBEDDING] = op_infer_embedding,
	[OP_EMBEDDING_BACK] = op_infer_embedding_back,
	[OP_ATTENTION] = op_infer_attention,
	[OP_ATTENTION_BACK] = op_infer_attention_back,
	[OP_CROSS_ENTROPY] = op_infer_cross_entropy,
	[OP_CROSS_ENTROPY_BACK] = op_infer_cross_entropy_back,
};

/* The first input that is a number with a fraction; tokens come first in two ops. */
static int op_infer_inputs(struct op_infer_call *call)
{
	const struct op_row *row = op_row(call->kind);
	size_t first = call->kind == OP_EMBEDDING || call->kind == OP_EMBEDDING_BACK ? 1 : 0;

	if (call->in_count < row->in_least || call->in_count > row->in_most)
		return op_infer_bad(call, "%zu inputs, it takes %zu to %zu", call->in_count,
				    row->in_least, row->in_most);
	for (size_t i = 0; i < call->in_count; i++)
		if (call->in[i].shape.rank < 0 || call->in[i].shape.rank > TENSOR_RANK_MAX ||
		    tensor_shape_count(&call->in[i].shape) == 0)
			return op_infer_bad(call, "input %zu is empty or too large", i + 1);
	if (!tensor_type_is_float(call->in[first].type))
		return op_infer_bad(call, "input %zu is %s, it must be of a float type", first + 1,
				    tensor_type_text(call->in[first].type));
	return 0;
}

static int op_infer_run(const struct op_inputs *op, struct op_infer_call *call,
			struct op_tensor ret[OP_OUT_MAX], size_t *ret_count)
{
	call->kind = op->kind;
	call->attributes = op->attributes;
	call->in = op->in;
	call->in_count = op->count;
	size_t count = op_row(call->kind)->out_count;
	int rc = op_infer_inputs(call);

	rc = rc < 0 ? rc : op_infer_rules[call->kind](call);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		if (tensor_shape_count(&call->out[i].shape) == 0)
			return op_infer_bad(call, "its output is too large");
	memcpy(ret, call->out, count * sizeof(ret[0]));
	*ret_count = count;
	return 0;
}

int op_infer(const struct op_inputs *op, struct op_tensor ret[OP_OUT_MAX], size_t *ret_count,
	     struct problem *problem)
{
	struct op_infer_call call = {.problem = problem};

	return op_infer_run(op, &call, ret, ret_count);
}

int op_infer_sample(const struct op_inputs *op, struct op_tensor ret[OP_OUT_MAX], size_t *ret_count,
		    struct problem *problem)
{
	struct op_infer_call call = {.shown = 1, .problem = problem};

	return op_infer_run(op, &call, ret, ret_count);
}
