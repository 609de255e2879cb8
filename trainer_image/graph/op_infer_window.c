/* Ops whose windows go over an image, and those that make it larger. */
#include <inttypes.h>
#include <string.h>

#include "trainer_image/graph/op_infer_call.h"

enum { OP_INFER_WINDOW_MAX = 1 << 20 }; /* of windows, strides, paddings, factors */

/* Height and width that windows over `x` give: rounded down. */
static int op_infer_window_size(struct op_infer_call *call, const struct op_tensor *x,
				int64_t ret[2])
{
	const struct op_attributes *a = call->attributes;

	for (int i = 0; i < 2; i++) {
		if (a->window[i] < 1 || a->stride[i] < 1 || a->pad[i] < 0 ||
		    a->window[i] > OP_INFER_WINDOW_MAX || a->stride[i] > OP_INFER_WINDOW_MAX)
			return op_infer_bad(call, "windows and strides are at least 1, paddings 0");
		if (a->pad[i] >= a->window[i])
			return op_infer_bad(call, "the padding %d is as large as the window %d",
					    a->pad[i], a->window[i]);
		if (x->shape.size[1 + i] > INT32_MAX ||
		    x->shape.size[1 + i] + 2 * (int64_t)a->pad[i] < a->window[i])
			return op_infer_one(call, x, "is smaller than the window");
		ret[i] = (x->shape.size[1 + i] + 2 * (int64_t)a->pad[i] - a->window[i]) /
				 a->stride[i] +
			 1;
	}
	return 0;
}

static int op_infer_window_conv(struct op_infer_call *call, const struct op_tensor *x,
				const struct op_tensor *w, struct op_tensor *ret)
{
	const struct op_attributes *a = call->attributes;
	char shape[TENSOR_SHAPE_TEXT];
	int64_t size[2];
	int rc = op_infer_window_size(call, x, size);

	if (rc < 0)
		return rc;
	if (w->shape.size[1] != a->window[0] || w->shape.size[2] != a->window[1])
		return op_infer_bad(call, "the filter %s is not %d high and %d wide",
				    tensor_shape_text(&w->shape, shape), a->window[0],
				    a->window[1]);
	if (w->shape.size[3] != x->shape.size[3])
		return op_infer_bad(
			call, "the filter %s is not for the %" PRId64 " channels of the input",
			tensor_shape_text(&w->shape, shape), x->shape.size[3]);
	*ret = (struct op_tensor){x->type,
				  {4, {x->shape.size[0], size[0], size[1], w->shape.size[0]}}};
	return 0;
}

static struct op_tensor op_infer_window_given(const struct op_infer_call *call, int rank)
{
	struct op_tensor tensor = {.type = call->in[0].type, .shape.rank = rank};

	memcpy(tensor.shape.size, call->attributes->in, (size_t)rank * sizeof(int64_t));
	return tensor;
}

int op_infer_conv(struct op_infer_call *call)
{
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_rank(call, 1, 4, "a filter");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc < 0)
		return rc;
	if (call->in_count > 2)
		rc = op_infer_row(call, 2, call->in[1].shape.size[0], call->in[0].type);
	return rc < 0 ? rc : op_infer_window_conv(call, &call->in[0], &call->in[1], &call->out[0]);
}

/* Both gradients: that the forward pass of what they give would give dy. */
static int op_infer_window_conv_back(struct op_infer_call *call, const struct op_tensor *x,
				     const struct op_tensor *w, const struct op_tensor *dy,
				     size_t given)
{
	struct op_tensor y;
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_rank(call, 1, 4, "of four dimensions");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc == 0 && tensor_shape_count(&call->out[0].shape) == 0)
		rc = op_infer_bad(call, "the shape that it gives is missing");
	rc = rc < 0 ? rc : op_infer_window_conv(call, x, w, &y);
	if (rc == 0 && !tensor_shape_equal(&y.shape, &dy->shape))
		return op_infer_differ(call, &call->out[0], &call->in[given], "do not go together");
	return rc;
}

int op_infer_conv_data(struct op_infer_call *call)
{
	call->out[0] = op_infer_window_given(call, 4);
	return op_infer_window_conv_back(call, &call->out[0], &call->in[1], &call->in[0], 0);
}

int op_infer_conv_weight(struct op_infer_call *call)
{
	call->out[0] = op_infer_window_given(call, 4);
	return op_infer_window_conv_back(call, &call->in[0], &call->out[0], &call->in[1], 1);
}

int op_infer_pool(struct op_infer_call *call)
{
	const struct tensor_shape *x = &call->in[0].shape;
	int64_t size[2];
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_window_size(call, &call->in[0], size);
	if (rc < 0)
		return rc;
	if (call->kind == OP_MAX_POOL &&
	    (int64_t)call->attributes->window[0] * call->attributes->window[1] > 256)
		return op_infer_bad(call, "a window has at most 256 places");
	op_infer_give(call, 0, call->in[0].type, 4,
		      (const int64_t[]){x->size[0], size[0], size[1], x->size[3]});
	op_infer_like(call, 1, &call->out[0]);
	call->out[1].type = TENSOR_UINT8;
	return 0;
}

int op_infer_pool_back(struct op_infer_call *call)
{
	const struct tensor_shape *dy = &call->in[0].shape;
	struct op_tensor x = op_infer_window_given(call, 4);
	int64_t size[2] = {0};
	int rc = op_infer_rank(call, 0, 4, "an image");

	if (rc == 0 && tensor_shape_count(&x.shape) == 0)
		rc = op_infer_bad(call, "the shape that it gives is missing");
	rc = rc < 0 ? rc : op_infer_window_size(call, &x, size);
	if (rc < 0)
		return rc;
	if (size[0] != dy->size[1] || size[1] != dy->size[2] || x.shape.size[0] != dy->size[0] ||
	    x.shape.size[3] != dy->size[3])
		return op_infer_differ(call, &x, &call->in[0], "do not go together");
	if (call->kind == OP_MAX_POOL_BACK) {
		if (!tensor_shape_equal(dy, &call->in[1].shape))
			return op_infer_differ(call, &call->in[0], &call->in[1], "differ");
		rc = op_infer_type(call, 1, TENSOR_UINT8);
	}
	op_infer_like(call, 0, &x);
	return rc;
}

int op_infer_upsample(struct op_infer_call *call)
{
	int factor = call->attributes->factor;
	int rc = op_infer_rank(call, 0, 4, "an image");

	if (rc < 0)
		return rc;
	if (factor < 1 || factor > OP_INFER_WINDOW_MAX)
		return op_infer_bad(call, "the factor %d is not at least 1", factor);
	op_infer_like(call, 0, &call->in[0]);
	for (int i = 1; i < 3; i++)
		if (__builtin_mul_overflow(call->out[0].shape.size[i], factor,
					   &call->out[0].shape.size[i]))
			return op_infer_one(call, &call->in[0], "becomes too large");
	return 0;
}

int op_infer_upsample_back(struct op_infer_call *call)
{
	int factor = call->attributes->factor;
	int rc = op_infer_rank(call, 0, 4, "an image");

	if (rc < 0)
		return rc;
	if (factor < 1 || call->in[0].shape.size[1] % factor != 0 ||
	    call->in[0].shape.size[2] % factor != 0)
		return op_infer_one(call, &call->in[0], "is no multiple of the factor");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[1] /= factor;
	call->out[0].shape.size[2] /= factor;
	return 0;
}
