#include "trainer_image/graph/op_infer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/op_table.h"

struct op_infer_call {
	enum op_kind kind;
	const struct op_attributes *attributes;
	const struct op_tensor *in;
	size_t in_count;
	struct op_tensor out[OP_OUT_MAX];
	int shown; /* the first dimension that messages show */
	struct problem *problem;
};

enum { OP_INFER_SIZE_MAX = 1 << 20 }; /* of windows, strides, paddings, factors */

PRINTF_LIKE(2, 3) static int op_infer_bad(struct op_infer_call *call, const char *format, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return problem_set(call->problem, E_INVALID, "%s: %s", op_text(call->kind), text);
}

static const char *op_infer_text(const struct op_infer_call *call, const struct op_tensor *tensor,
				 char ret[TENSOR_SHAPE_TEXT])
{
	struct tensor_shape shape = {.rank = 0};

	for (int i = call->shown; i < tensor->shape.rank; i++)
		shape.size[shape.rank++] = tensor->shape.size[i];
	return tensor_shape_text(&shape, ret);
}

/* Two tensors that do not fit, and why. */
static int op_infer_differ(struct op_infer_call *call, const struct op_tensor *a,
			   const struct op_tensor *b, const char *rule)
{
	char first[TENSOR_SHAPE_TEXT];
	char second[TENSOR_SHAPE_TEXT];

	return op_infer_bad(call, "%s and %s %s", op_infer_text(call, a, first),
			    op_infer_text(call, b, second), rule);
}

static int op_infer_one(struct op_infer_call *call, const struct op_tensor *x, const char *rule)
{
	char text[TENSOR_SHAPE_TEXT];

	return op_infer_bad(call, "%s %s", op_infer_text(call, x, text), rule);
}

static int op_infer_rank(struct op_infer_call *call, size_t at, int rank, const char *dimensions)
{
	char rule[64];

	if (call->in[at].shape.rank == rank)
		return 0;
	(void)snprintf(rule, sizeof(rule), "is not %s", dimensions);
	return op_infer_one(call, &call->in[at], rule);
}

static int op_infer_type(struct op_infer_call *call, size_t at, enum tensor_type type)
{
	if (call->in[at].type == type)
		return 0;
	return op_infer_bad(call, "input %zu is %s, it must be %s", at + 1,
			    tensor_type_text(call->in[at].type), tensor_type_text(type));
}

static int op_infer_same(struct op_infer_call *call, size_t a, size_t b)
{
	if (!tensor_shape_equal(&call->in[a].shape, &call->in[b].shape))
		return op_infer_differ(call, &call->in[a], &call->in[b], "differ");
	return op_infer_type(call, b, call->in[a].type);
}

static enum tensor_type op_infer_statistic(enum tensor_type type)
{
	return type == TENSOR_FP64 ? TENSOR_FP64 : TENSOR_FP32;
}

/* Input `at` is a row of `size` numbers. */
static int op_infer_row(struct op_infer_call *call, size_t at, int64_t size, enum tensor_type type)
{
	const struct tensor_shape *shape = &call->in[at].shape;
	char text[TENSOR_SHAPE_TEXT];

	if (shape->rank != 1 || shape->size[0] != size)
		return op_infer_bad(call, "input %zu is %s, it must be %" PRId64, at + 1,
				    tensor_shape_text(shape, text), size);
	return op_infer_type(call, at, type);
}

static void op_infer_like(struct op_infer_call *call, size_t out, const struct op_tensor *x)
{
	call->out[out] = *x;
}

static void op_infer_give(struct op_infer_call *call, size_t out, enum tensor_type type, int rank,
			  const int64_t size[])
{
	call->out[out] = (struct op_tensor){.type = type, .shape.rank = rank};
	memcpy(call->out[out].shape.size, size, (size_t)rank * sizeof(size[0]));
}

/* x without its last dimension. */
static void op_infer_give_outer(struct op_infer_call *call, size_t out, const struct op_tensor *x)
{
	op_infer_give(call, out, op_infer_statistic(x->type), x->shape.rank - 1, x->shape.size);
}

static bool op_infer_outer_equal(const struct op_tensor *a, const struct op_tensor *b)
{
	struct tensor_shape first = a->shape;
	struct tensor_shape second = b->shape;

	first.rank--;
	second.rank--;
	return a->shape.rank > 0 && b->shape.rank > 0 && tensor_shape_equal(&first, &second);
}

/* Height and width that windows over `x` give: rounded down. */
static int op_infer_window(struct op_infer_call *call, const struct op_tensor *x, int64_t ret[2])
{
	const struct op_attributes *a = call->attributes;

	for (int i = 0; i < 2; i++) {
		if (a->window[i] < 1 || a->stride[i] < 1 || a->pad[i] < 0 ||
		    a->window[i] > OP_INFER_SIZE_MAX || a->stride[i] > OP_INFER_SIZE_MAX)
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

static int op_infer_conv_shape(struct op_infer_call *call, const struct op_tensor *x,
			       const struct op_tensor *w, struct op_tensor *ret)
{
	const struct op_attributes *a = call->attributes;
	char shape[TENSOR_SHAPE_TEXT];
	int64_t size[2];
	int rc = op_infer_window(call, x, size);

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

static struct op_tensor op_infer_from_attributes(const struct op_infer_call *call, int rank)
{
	struct op_tensor tensor = {.type = call->in[0].type, .shape.rank = rank};

	memcpy(tensor.shape.size, call->attributes->in, (size_t)rank * sizeof(int64_t));
	return tensor;
}

static int op_infer_conv(struct op_infer_call *call)
{
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_rank(call, 1, 4, "a filter");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc < 0)
		return rc;
	if (call->in_count > 2)
		rc = op_infer_row(call, 2, call->in[1].shape.size[0], call->in[0].type);
	return rc < 0 ? rc : op_infer_conv_shape(call, &call->in[0], &call->in[1], &call->out[0]);
}

/* Both gradients: that the forward pass of what they give would give dy. */
static int op_infer_conv_back(struct op_infer_call *call, const struct op_tensor *x,
			      const struct op_tensor *w, const struct op_tensor *dy, size_t given)
{
	struct op_tensor y;
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_rank(call, 1, 4, "of four dimensions");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc == 0 && tensor_shape_count(&call->out[0].shape) == 0)
		rc = op_infer_bad(call, "the shape that it gives is missing");
	rc = rc < 0 ? rc : op_infer_conv_shape(call, x, w, &y);
	if (rc == 0 && !tensor_shape_equal(&y.shape, &dy->shape))
		return op_infer_differ(call, &call->out[0], &call->in[given], "do not go together");
	return rc;
}

static int op_infer_conv_data(struct op_infer_call *call)
{
	call->out[0] = op_infer_from_attributes(call, 4);
	return op_infer_conv_back(call, &call->out[0], &call->in[1], &call->in[0], 0);
}

static int op_infer_conv_weight(struct op_infer_call *call)
{
	call->out[0] = op_infer_from_attributes(call, 4);
	return op_infer_conv_back(call, &call->in[0], &call->out[0], &call->in[1], 1);
}

static int op_infer_linear(struct op_infer_call *call)
{
	const struct op_tensor *w = &call->in[1];
	int rc = op_infer_rank(call, 1, 2, "a matrix");

	if (rc == 0 && call->in[0].shape.rank == 0)
		rc = op_infer_one(call, &call->in[0], "is a single number");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc == 0 && call->in_count > 2)
		rc = op_infer_row(call, 2, w->shape.size[0], call->in[0].type);
	if (rc < 0)
		return rc;
	if (w->shape.size[1] != tensor_shape_channels(&call->in[0].shape))
		return op_infer_differ(call, &call->in[0], w, "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = w->shape.size[0];
	return 0;
}

static int op_infer_linear_data(struct op_infer_call *call)
{
	const struct op_tensor *w = &call->in[1];
	int rc = op_infer_rank(call, 1, 2, "a matrix");

	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc < 0)
		return rc;
	if (call->in[0].shape.rank == 0 ||
	    w->shape.size[0] != tensor_shape_channels(&call->in[0].shape))
		return op_infer_differ(call, &call->in[0], w, "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = w->shape.size[1];
	return 0;
}

static int op_infer_linear_weight(struct op_infer_call *call)
{
	int rc = op_infer_type(call, 1, call->in[0].type);

	if (rc < 0)
		return rc;
	if (!op_infer_outer_equal(&call->in[0], &call->in[1]))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	op_infer_give(call, 0, call->in[0].type, 2,
		      (const int64_t[]){tensor_shape_channels(&call->in[1].shape),
					tensor_shape_channels(&call->in[0].shape)});
	return 0;
}

static int op_infer_bias_back(struct op_infer_call *call)
{
	if (call->in[0].shape.rank == 0)
		return op_infer_one(call, &call->in[0], "is a single number");
	op_infer_give(call, 0, call->in[0].type, 1,
		      (const int64_t[]){tensor_shape_channels(&call->in[0].shape)});
	return 0;
}

/* Inputs from `from` on are rows of C statistics. */
static int op_infer_rows(struct op_infer_call *call, size_t from)
{
	int64_t channels = tensor_shape_channels(&call->in[0].shape);
	int rc = 0;

	if (call->in[0].shape.rank < 2)
		return op_infer_one(call, &call->in[0], "has no channels");
	for (size_t i = from; i < call->in_count && rc == 0; i++)
		rc = op_infer_row(call, i, channels, op_infer_statistic(call->in[0].type));
	return rc;
}

static int op_infer_batch_norm(struct op_infer_call *call)
{
	int rc = op_infer_rows(call, 1);

	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->in[1]);
	op_infer_like(call, 2, &call->in[1]);
	return 0;
}

static int op_infer_batch_norm_back(struct op_infer_call *call)
{
	int rc = op_infer_same(call, 0, 1);

	rc = rc < 0 ? rc : op_infer_rows(call, 2);
	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->in[2]);
	op_infer_like(call, 2, &call->in[2]);
	return 0;
}

static int op_infer_layer_norm(struct op_infer_call *call)
{
	int rc = op_infer_rows(call, 1);

	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_give_outer(call, 1, &call->in[0]);
	op_infer_give_outer(call, 2, &call->in[0]);
	return 0;
}

static int op_infer_layer_norm_back(struct op_infer_call *call)
{
	const struct op_tensor *x = &call->in[0];
	int rc = op_infer_same(call, 0, 1);

	if (rc == 0 && x->shape.rank < 2)
		rc = op_infer_one(call, x, "has no channels");
	rc = rc < 0 ? rc
		    : op_infer_row(call, 2, tensor_shape_channels(&x->shape),
				   op_infer_statistic(x->type));
	if (rc < 0)
		return rc;
	op_infer_give_outer(call, 0, x);
	for (size_t i = 3; i < 5; i++) {
		if (!tensor_shape_equal(&call->in[i].shape, &call->out[0].shape))
			return op_infer_differ(call, x, &call->in[i], "do not go together");
		rc = op_infer_type(call, i, op_infer_statistic(x->type));
		if (rc < 0)
			return rc;
	}
	op_infer_like(call, 0, x);
	op_infer_like(call, 1, &call->in[2]);
	op_infer_like(call, 2, &call->in[2]);
	return 0;
}

static int op_infer_pool(struct op_infer_call *call)
{
	const struct tensor_shape *x = &call->in[0].shape;
	int64_t size[2];
	int rc = op_infer_rank(call, 0, 4, "an image");

	rc = rc < 0 ? rc : op_infer_window(call, &call->in[0], size);
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

static int op_infer_pool_back(struct op_infer_call *call)
{
	const struct tensor_shape *dy = &call->in[0].shape;
	struct op_tensor x = op_infer_from_attributes(call, 4);
	int64_t size[2] = {0};
	int rc = op_infer_rank(call, 0, 4, "an image");

	if (rc == 0 && tensor_shape_count(&x.shape) == 0)
		rc = op_infer_bad(call, "the shape that it gives is missing");
	rc = rc < 0 ? rc : op_infer_window(call, &x, size);
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

static int op_infer_upsample(struct op_infer_call *call)
{
	int factor = call->attributes->factor;
	int rc = op_infer_rank(call, 0, 4, "an image");

	if (rc < 0)
		return rc;
	if (factor < 1 || factor > OP_INFER_SIZE_MAX)
		return op_infer_bad(call, "the factor %d is not at least 1", factor);
	op_infer_like(call, 0, &call->in[0]);
	for (int i = 1; i < 3; i++)
		if (__builtin_mul_overflow(call->out[0].shape.size[i], factor,
					   &call->out[0].shape.size[i]))
			return op_infer_one(call, &call->in[0], "becomes too large");
	return 0;
}

static int op_infer_upsample_back(struct op_infer_call *call)
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

static int op_infer_embedding(struct op_infer_call *call)
{
	const struct tensor_shape *token = &call->in[0].shape;
	const struct tensor_shape *table = &call->in[1].shape;
	const struct tensor_shape *place = &call->in[2].shape;
	int rc = op_infer_rank(call, 0, 2, "a sequence of tokens");

	rc = rc < 0 ? rc : op_infer_type(call, 0, TENSOR_INT32);
	rc = rc < 0 ? rc : op_infer_rank(call, 1, 2, "a table");
	rc = rc < 0 ? rc : op_infer_rank(call, 2, 2, "a table of places");
	rc = rc < 0 ? rc : op_infer_type(call, 2, call->in[1].type);
	if (rc < 0)
		return rc;
	if (place->size[0] != token->size[1] || place->size[1] != table->size[1])
		return op_infer_differ(call, &call->in[1], &call->in[2], "do not go together");
	op_infer_give(call, 0, call->in[1].type, 3,
		      (const int64_t[]){token->size[0], token->size[1], table->size[1]});
	return 0;
}

static int op_infer_embedding_back(struct op_infer_call *call)
{
	const struct tensor_shape *dy = &call->in[1].shape;
	int rc = op_infer_rank(call, 1, 3, "a sequence");

	rc = rc < 0 ? rc : op_infer_type(call, 0, TENSOR_INT32);
	if (rc < 0)
		return rc;
	if (!op_infer_outer_equal(
		    &call->in[1],
		    &(struct op_tensor){
			    call->in[0].type,
			    {3, {call->in[0].shape.size[0], call->in[0].shape.size[1], 1}}}) ||
	    call->in[0].shape.rank != 2)
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	if (call->attributes->in[0] < 1)
		return op_infer_bad(call, "the number of words is missing");
	op_infer_give(call, 0, call->in[1].type, 2,
		      (const int64_t[]){call->attributes->in[0], dy->size[2]});
	op_infer_give(call, 1, call->in[1].type, 2, (const int64_t[]){dy->size[1], dy->size[2]});
	return 0;
}

static int op_infer_attention(struct op_infer_call *call)
{
	const struct op_tensor *x = &call->in[0];
	int heads = call->attributes->heads;
	int rc = op_infer_rank(call, 0, 3, "a sequence");

	if (rc < 0)
		return rc;
	if (heads < 1 || x->shape.size[2] % (3 * (int64_t)heads) != 0)
		return op_infer_one(call, x, "are not queries, keys and values of whole heads");
	op_infer_give(call, 0, x->type, 3,
		      (const int64_t[]){x->shape.size[0], x->shape.size[1], x->shape.size[2] / 3});
	op_infer_give(call, 1, op_infer_statistic(x->type), 3,
		      (const int64_t[]){x->shape.size[0], heads, x->shape.size[1]});
	return 0;
}

static int op_infer_attention_back(struct op_infer_call *call)
{
	int rc = op_infer_attention(call);

	rc = rc < 0 ? rc : op_infer_same(call, 1, 2);
	if (rc < 0)
		return rc;
	if (!tensor_shape_equal(&call->out[0].shape, &call->in[1].shape) ||
	    !tensor_shape_equal(&call->out[1].shape, &call->in[3].shape))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	return 0;
}

static int op_infer_cross_entropy(struct op_infer_call *call)
{
	int rc = op_infer_type(call, 1, TENSOR_INT32);

	if (rc < 0)
		return rc;
	if (call->in[0].shape.rank == 0)
		return op_infer_one(call, &call->in[0], "is a single number");
	op_infer_give_outer(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->out[0]);
	if (!tensor_shape_equal(&call->out[0].shape, &call->in[1].shape))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	return 0;
}

static int op_infer_cross_entropy_back(struct op_infer_call *call)
{
	int rc = op_infer_cross_entropy(call);

	rc = rc < 0 ? rc : op_infer_type(call, 2, op_infer_statistic(call->in[0].type));
	if (rc == 0 && !tensor_shape_equal(&call->in[1].shape, &call->in[2].shape))
		rc = op_infer_differ(call, &call->in[1], &call->in[2], "differ");
	op_infer_like(call, 0, &call->in[0]);
	return rc;
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
