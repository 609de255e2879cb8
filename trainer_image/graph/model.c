#include "trainer_image/graph/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/op_infer.h"

void model_free(struct model *model)
{
	if (!model)
		return;
	free(model->ops);
	free(model);
}

void model_freep(struct model **model)
{
	model_free(*model);
}

struct tensor_shape model_shape(const struct model *model, int result, int64_t batch)
{
	const struct tensor_shape *sample = result == MODEL_INPUT ? &model->input
					    : result == MODEL_LABEL
						    ? &model->label
						    : &model->ops[result - MODEL_FIRST].shape;
	struct tensor_shape shape = {.rank = sample->rank + 1, .size = {batch}};

	memcpy(shape.size + 1, sample->size, (size_t)sample->rank * sizeof(shape.size[0]));
	return shape;
}

static enum tensor_type model_statistic_type(enum tensor_type type)
{
	return type == TENSOR_FP64 ? TENSOR_FP64 : TENSOR_FP32;
}

static size_t model_norm_parameters(const struct model_op *op, const struct op_tensor *x,
				    struct model_parameter ret[MODEL_PARAMETERS_MAX])
{
	static const struct model_parameter rows[] = {
		{.word = "scale", .start = MODEL_ONE},
		{.word = "shift", .start = MODEL_ZERO},
		{.word = "mean", .start = MODEL_ZERO, .statistic = true},
		{.word = "variance", .start = MODEL_ONE, .statistic = true},
	};
	size_t count = op->kind == OP_BATCH_NORM ? 4 : 2;

	for (size_t i = 0; i < count; i++) {
		ret[i] = rows[i];
		ret[i].is = (struct op_tensor){model_statistic_type(x->type),
					       {1, {tensor_shape_channels(&x->shape)}}};
	}
	return count;
}

static size_t model_product_parameters(const struct model_op *op, const struct op_tensor *x,
				       struct model_parameter ret[MODEL_PARAMETERS_MAX])
{
	const int *window = op->attributes.window;
	int64_t channels = tensor_shape_channels(&x->shape);

	ret[0] = (struct model_parameter){.word = "weight", .start = MODEL_HE, .fan_in = channels};
	ret[0].is = (struct op_tensor){x->type, {2, {op->out, channels}}};
	if (op->kind == OP_CONV) {
		ret[0].fan_in = window[0] * (int64_t)window[1] * channels;
		ret[0].is.shape =
			(struct tensor_shape){4, {op->out, window[0], window[1], channels}};
	}
	ret[1] = (struct model_parameter){
		.word = "bias", .is = {x->type, {1, {op->out}}}, .start = MODEL_ZERO};
	return op->bias ? 2 : 1;
}

size_t model_parameters(const struct model_op *op, const struct op_tensor *x,
			struct model_parameter ret[MODEL_PARAMETERS_MAX])
{
	if (op->kind == OP_CONV || op->kind == OP_LINEAR)
		return model_product_parameters(op, x, ret);
	if (op->kind == OP_BATCH_NORM || op->kind == OP_LAYER_NORM)
		return model_norm_parameters(op, x, ret);
	if (op->kind != OP_EMBEDDING)
		return 0;
	ret[0] = (struct model_parameter){.word = "table", .start = MODEL_NORMAL};
	ret[0].is = (struct op_tensor){TENSOR_FP32, {2, {op->words, op->out}}};
	ret[1] = (struct model_parameter){.word = "place", .start = MODEL_NORMAL};
	ret[1].is = (struct op_tensor){TENSOR_FP32, {2, {x->shape.size[1], op->out}}};
	return 2;
}

static int model_infer_flatten(const struct op_tensor *x, struct model_op *op,
			       struct problem *problem)
{
	struct tensor_shape sample = x->shape;

	sample.size[0] = 1;
	if (x->shape.rank < 2)
		return problem_set(problem, E_INVALID, "flatten: the input is a single number");
	op->shape = (struct tensor_shape){1, {tensor_shape_count(&sample)}};
	return 0;
}

static struct op_tensor model_tensor(const struct model *model, int result)
{
	struct op_tensor tensor = {TENSOR_FP32, model_shape(model, result, 1)};

	if (result == MODEL_LABEL || (result == MODEL_INPUT && model->words > 0))
		tensor.type = TENSOR_INT32;
	return tensor;
}

int model_infer(const struct model *model, struct model_op *op, struct problem *problem)
{
	struct op_tensor in[OP_IN_MAX + MODEL_PARAMETERS_MAX] = {0};
	struct model_parameter parameters[MODEL_PARAMETERS_MAX];
	struct op_tensor out[OP_OUT_MAX];
	size_t count = 0;
	size_t in_count = (size_t)op->in_count;

	for (size_t i = 0; i < in_count; i++)
		in[i] = model_tensor(model, op->in[i]);
	if (op->kind == MODEL_FLATTEN)
		return model_infer_flatten(&in[0], op, problem);
	if (op->whole && in[0].shape.rank == 4)
		for (int i = 0; i < 2; i++) {
			op->attributes.window[i] = (int)in[0].shape.size[1 + i];
			op->attributes.stride[i] = 1;
		}
	if (op->kind == OP_EMBEDDING && in[0].shape.rank != 2)
		return problem_set(problem, E_INVALID,
				   "embedding: the input is no sequence of tokens");

	size_t more = model_parameters(op, &in[0], parameters);

	for (size_t i = 0; i < more; i++)
		in[in_count + i] = parameters[i].is;
	int rc = op_infer_sample(
		&(struct op_inputs){(enum op_kind)op->kind, &op->attributes, in, in_count + more},
		out, &count, problem);

	if (rc < 0)
		return rc;
	if (out[0].shape.rank < 1)
		return problem_set(problem, E_INVALID, "%s: its result has no batch",
				   op_text((enum op_kind)op->kind));
	op->shape.rank = out[0].shape.rank - 1;
	memcpy(op->shape.size, out[0].shape.size + 1, sizeof(op->shape.size) - sizeof(int64_t));
	return 0;
}
