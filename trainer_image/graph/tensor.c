#include "trainer_image/graph/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	size_t size;
	bool is_float;
} tensor_types[] = {
	[TENSOR_FP32] = {"fp32", 4, true},    [TENSOR_FP64] = {"fp64", 8, true},
	[TENSOR_BF16] = {"bf16", 2, true},    [TENSOR_FP16] = {"fp16", 2, true},
	[TENSOR_INT32] = {"int32", 4, false}, [TENSOR_UINT8] = {"uint8", 1, false},
};

size_t tensor_type_size(enum tensor_type type)
{
	return tensor_types[type].size;
}

const char *tensor_type_text(enum tensor_type type)
{
	return tensor_types[type].text;
}

bool tensor_type_is_float(enum tensor_type type)
{
	return tensor_types[type].is_float;
}

bool tensor_shape_equal(const struct tensor_shape *a, const struct tensor_shape *b)
{
	return a->rank == b->rank &&
	       memcmp(a->size, b->size, (size_t)a->rank * sizeof(a->size[0])) == 0;
}

int64_t tensor_shape_count(const struct tensor_shape *shape)
{
	int64_t count = 1;

	for (int i = 0; i < shape->rank; i++)
		if (shape->size[i] <= 0 || __builtin_mul_overflow(count, shape->size[i], &count))
			return 0;
	return count > INT64_MAX / 16 ? 0 : count;
}

int64_t tensor_shape_channels(const struct tensor_shape *shape)
{
	return shape->rank > 0 ? shape->size[shape->rank - 1] : 1;
}

const char *tensor_shape_text(const struct tensor_shape *shape, char ret[TENSOR_SHAPE_TEXT])
{
	size_t at = 0;

	ret[0] = '1';
	ret[1] = '\0';
	for (int i = 0; i < shape->rank && at < TENSOR_SHAPE_TEXT; i++) {
		const char *between = i > 0 ? "x" : "";
		int size = snprintf(ret + at, TENSOR_SHAPE_TEXT - at, "%s%" PRId64, between,
				    shape->size[i]);

		at += size > 0 ? (size_t)size : 0;
	}
	return ret;
}
