#include "trainer_image/ops/cuda/cudnn_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

bool cudnn_shape_is_for(enum op_kind kind)
{
	return kind == OP_CONV || kind == OP_CONV_DATA || kind == OP_CONV_WEIGHT ||
	       kind == OP_LINEAR || kind == OP_LINEAR_DATA || kind == OP_LINEAR_WEIGHT;
}

/* Which tensors of an op are x, w and y: their places among the inputs, -1 = the output. */
static const struct cudnn_graph_role {
	enum op_kind kind;
	enum cudnn_product product;
	bool linear;
	int x, w, y;
} cudnn_graph_roles[] = {
	{OP_CONV, CUDNN_FORWARD, false, 0, 1, -1},
	{OP_CONV_DATA, CUDNN_BACKWARD_DATA, false, -1, 1, 0},
	{OP_CONV_WEIGHT, CUDNN_BACKWARD_WEIGHT, false, 0, -1, 1},
	{OP_LINEAR, CUDNN_FORWARD, true, 0, 1, -1},
	{OP_LINEAR_DATA, CUDNN_BACKWARD_DATA, true, -1, 1, 0},
	{OP_LINEAR_WEIGHT, CUDNN_BACKWARD_WEIGHT, true, 0, -1, 1},
};

static void cudnn_graph_conv(const struct op_attributes *attributes, const struct op_tensor *x,
			     const struct op_tensor *y, struct cudnn_shape *ret)
{
	ret->batch = x->shape.size[0];
	for (int i = 0; i < 3; i++) {
		ret->in[i] = x->shape.size[i + 1];
		ret->out[i] = y->shape.size[i + 1];
	}
	for (int i = 0; i < 2; i++) {
		ret->window[i] = attributes->window[i];
		ret->stride[i] = attributes->stride[i];
		ret->pad[i] = attributes->pad[i];
	}
}

static void cudnn_graph_linear(const struct op_tensor *x, const struct op_tensor *y,
			       struct cudnn_shape *ret)
{
	int64_t channels = tensor_shape_channels(&x->shape);
	int64_t rows = tensor_shape_count(&x->shape) / channels;

	ret->batch = 1;
	memcpy(ret->in, (int64_t[]){rows, 1, channels}, sizeof(ret->in));
	memcpy(ret->out, (int64_t[]){rows, 1, tensor_shape_channels(&y->shape)}, sizeof(ret->out));
	for (int i = 0; i < 2; i++)
		ret->window[i] = ret->stride[i] = 1;
}

int cudnn_shape_of(const struct op_inputs *op, const struct op_tensor *out, bool accumulate,
		   struct cudnn_shape *ret, struct problem *problem)
{
	const struct cudnn_graph_role *role = NULL;

	for (size_t i = 0; i < COUNT_OF(cudnn_graph_roles); i++)
		if (cudnn_graph_roles[i].kind == op->kind)
			role = &cudnn_graph_roles[i];
	if (!role)
		return problem_set(problem, E_UNSUPPORTED, "%s is no product", op_text(op->kind));
	const struct op_tensor *x = role->x < 0 ? out : &op->in[role->x];
	const struct op_tensor *y = role->y < 0 ? out : &op->in[role->y];

	if (x->type != TENSOR_FP32 && x->type != TENSOR_BF16 && x->type != TENSOR_FP16) {
		(void)problem_set(problem, E_UNSUPPORTED, "%s in %s has no engine",
				  op_text(op->kind), tensor_type_text(x->type));
		problem_hint(problem, "fp32, bf16 and fp16 have");
		return E_UNSUPPORTED;
	}
	memset(ret, 0, sizeof(*ret));
	ret->product = role->product;
	ret->type = x->type;
	ret->adds = accumulate || (role->product == CUDNN_FORWARD && op->count > 2) ? 1 : 0;
	if (role->linear)
		cudnn_graph_linear(x, y, ret);
	else
		cudnn_graph_conv(op->attributes, x, y, ret);
	return 0;
}

const char *cudnn_shape_text(const struct cudnn_shape *shape, char ret[CUDNN_SHAPE_TEXT])
{
	static const char *const products[] = {
		[CUDNN_FORWARD] = "forward",
		[CUDNN_BACKWARD_DATA] = "data",
		[CUDNN_BACKWARD_WEIGHT] = "weight",
	};

	if (shape->batch == 1 && shape->in[1] == 1) {
		(void)snprintf(ret, CUDNN_SHAPE_TEXT, "%s %" PRId64 "x%" PRId64 " to %" PRId64,
			       products[shape->product], shape->in[0], shape->in[2], shape->out[2]);
		return ret;
	}
	(void)snprintf(ret, CUDNN_SHAPE_TEXT,
		       "%s %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64 ", %" PRId64
		       "x%" PRId64 "/%" PRId64,
		       products[shape->product], shape->batch, shape->in[0], shape->in[1],
		       shape->in[2], shape->out[2], shape->window[0], shape->window[1],
		       shape->stride[0]);
	return ret;
}

static int cudnn_graph_type(enum tensor_type type)
{
	return type == TENSOR_BF16   ? CUDNN_DATA_BFLOAT16
	       : type == TENSOR_FP16 ? CUDNN_DATA_HALF
				     : CUDNN_DATA_FLOAT;
}

/* Dimensions stand as N C H W, the strides say that the channels are the last in memory. */
static void *cudnn_graph_tensor(struct cudnn_pool *pool, int64_t id, enum tensor_type type,
				int64_t batch, const int64_t size[3])
{
	/* cuDNN's engines ask for 16 bytes at most; ops.h promises 64. */
	static const int64_t alignment = 16;
	const int64_t dimensions[4] = {batch, size[2], size[0], size[1]};
	const int64_t strides[4] = {size[0] * size[1] * size[2], 1, size[1] * size[2], size[2]};
	int data_type = cudnn_graph_type(type);
	void *tensor = cudnn_pool_add(pool, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	cudnn_pool_set(pool, tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
		       &data_type);
	cudnn_pool_set(pool, tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dimensions);
	cudnn_pool_set(pool, tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
	cudnn_pool_set(pool, tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	cudnn_pool_set(pool, tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
		       &alignment);
	cudnn_pool_finalize(pool, tensor);
	return tensor;
}

static void *cudnn_graph_window(struct cudnn_pool *pool, const struct cudnn_shape *shape)
{
	static const int64_t spatial = 2;
	static const int64_t dilation[2] = {1, 1};
	static const int compute = CUDNN_DATA_FLOAT;
	static const int mode = CUDNN_CROSS_CORRELATION;
	void *window = cudnn_pool_add(pool, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
		       &compute);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
		       1, &mode);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1,
		       &spatial);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2,
		       dilation);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
		       shape->stride);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2,
		       shape->pad);
	cudnn_pool_set(pool, window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2,
		       shape->pad);
	cudnn_pool_finalize(pool, window);
	return window;
}

/* The same descriptor under three names. */
static const struct cudnn_graph_names {
	enum cudnn_descriptor_type type;
	enum cudnn_attribute alpha, beta, window, x, w, y;
} cudnn_graph_names[CUDNN_PRODUCTS] = {
	[CUDNN_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
	[CUDNN_BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
				 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
	[CUDNN_BACKWARD_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
				   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

static void *cudnn_graph_product(struct cudnn_pool *pool, const struct cudnn_shape *shape)
{
	static const float one = 1;
	const struct cudnn_graph_names *names = &cudnn_graph_names[shape->product];
	const int64_t filter[3] = {shape->window[0], shape->window[1], shape->in[2]};
	float beta = shape->adds != 0 ? 1 : 0;
	void *x = cudnn_graph_tensor(pool, CUDNN_ID_X, shape->type, shape->batch, shape->in);
	void *w = cudnn_graph_tensor(pool, CUDNN_ID_W, shape->type, shape->out[2], filter);
	void *y = cudnn_graph_tensor(pool, CUDNN_ID_Y, shape->type, shape->batch, shape->out);
	void *window = cudnn_graph_window(pool, shape);
	void *product = cudnn_pool_add(pool, names->type);

	cudnn_pool_set(pool, product, names->alpha, CUDNN_TYPE_FLOAT, 1, &one);
	cudnn_pool_set(pool, product, names->beta, CUDNN_TYPE_FLOAT, 1, &beta);
	cudnn_pool_set_descriptor(pool, product, names->window, window);
	cudnn_pool_set_descriptor(pool, product, names->x, x);
	cudnn_pool_set_descriptor(pool, product, names->w, w);
	cudnn_pool_set_descriptor(pool, product, names->y, y);
	cudnn_pool_finalize(pool, product);
	return product;
}

void *cudnn_graph_make(struct cudnn_pool *pool, const struct cudnn_shape *shape, void *handle)
{
	void *product = cudnn_graph_product(pool, shape);
	void *graph = cudnn_pool_add(pool, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

	cudnn_pool_set_descriptor(pool, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, product);
	if (handle)
		cudnn_pool_set(pool, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
			       &handle);
	cudnn_pool_finalize(pool, graph);
	return pool->status == CUDNN_STATUS_SUCCESS ? graph : NULL;
}
