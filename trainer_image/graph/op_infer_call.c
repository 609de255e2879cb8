#include "trainer_image/graph/op_infer_call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

int op_infer_bad(struct op_infer_call *call, const char *format, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return problem_set(call->problem, E_INVALID, "%s: %s", op_text(call->kind), text);
}

static const char *op_infer_call_text(const struct op_infer_call *call,
				      const struct op_tensor *tensor, char ret[TENSOR_SHAPE_TEXT])
{
	struct tensor_shape shape = {.rank = 0};

	for (int i = call->shown; i < tensor->shape.rank; i++)
		shape.size[shape.rank++] = tensor->shape.size[i];
	return tensor_shape_text(&shape, ret);
}

/* Two tensors that do not fit, and why. */
int op_infer_differ(struct op_infer_call *call, const struct op_tensor *a,
		    const struct op_tensor *b, const char *rule)
{
	char first[TENSOR_SHAPE_TEXT];
	char second[TENSOR_SHAPE_TEXT];

	return op_infer_bad(call, "%s and %s %s", op_infer_call_text(call, a, first),
			    op_infer_call_text(call, b, second), rule);
}

int op_infer_one(struct op_infer_call *call, const struct op_tensor *x, const char *rule)
{
	char text[TENSOR_SHAPE_TEXT];

	return op_infer_bad(call, "%s %s", op_infer_call_text(call, x, text), rule);
}

int op_infer_rank(struct op_infer_call *call, size_t at, int rank, const char *dimensions)
{
	char rule[64];

	if (call->in[at].shape.rank == rank)
		return 0;
	(void)snprintf(rule, sizeof(rule), "is not %s", dimensions);
	return op_infer_one(call, &call->in[at], rule);
}

int op_infer_type(struct op_infer_call *call, size_t at, enum tensor_type type)
{
	if (call->in[at].type == type)
		return 0;
	return op_infer_bad(call, "input %zu is %s, it must be %s", at + 1,
			    tensor_type_text(call->in[at].type), tensor_type_text(type));
}

int op_infer_same(struct op_infer_call *call, size_t a, size_t b)
{
	if (!tensor_shape_equal(&call->in[a].shape, &call->in[b].shape))
		return op_infer_differ(call, &call->in[a], &call->in[b], "differ");
	return op_infer_type(call, b, call->in[a].type);
}

enum tensor_type op_infer_statistic(enum tensor_type type)
{
	return type == TENSOR_FP64 ? TENSOR_FP64 : TENSOR_FP32;
}

/* Input `at` is a row of `size` numbers. */
int op_infer_row(struct op_infer_call *call, size_t at, int64_t size, enum tensor_type type)
{
	const struct tensor_shape *shape = &call->in[at].shape;
	char text[TENSOR_SHAPE_TEXT];

	if (shape->rank != 1 || shape->size[0] != size)
		return op_infer_bad(call, "input %zu is %s, it must be %" PRId64, at + 1,
				    tensor_shape_text(shape, text), size);
	return op_infer_type(call, at, type);
}

void op_infer_like(struct op_infer_call *call, size_t out, const struct op_tensor *x)
{
	call->out[out] = *x;
}

void op_infer_give(struct op_infer_call *call, size_t out, enum tensor_type type, int rank,
		   const int64_t size[])
{
	call->out[out] = (struct op_tensor){.type = type, .shape.rank = rank};
	memcpy(call->out[out].shape.size, size, (size_t)rank * sizeof(size[0]));
}

/* x without its last dimension. */
void op_infer_give_outer(struct op_infer_call *call, size_t out, const struct op_tensor *x)
{
	op_infer_give(call, out, op_infer_statistic(x->type), x->shape.rank - 1, x->shape.size);
}

bool op_infer_outer_equal(const struct op_tensor *a, const struct op_tensor *b)
{
	struct tensor_shape first = a->shape;
	struct tensor_shape second = b->shape;

	first.rank--;
	second.rank--;
	return a->shape.rank > 0 && b->shape.rank > 0 && tensor_shape_equal(&first, &second);
}
