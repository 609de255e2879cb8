/* What a tensor is: element type and shape, without memory.
 *
 * Images are N H W C in memory (channels last), sequences N T C. A filter of a convolution is
 * out, height, width, in; a weight of a linear layer is out, in. Dense, row major, no strides. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSOR_RANK_MAX = 4 };

enum tensor_type {
	TENSOR_FP32,
	TENSOR_FP64, /* for checks of gradients alone */
	TENSOR_BF16, /* the upper half of an FP32 */
	TENSOR_FP16, /* IEEE 754 binary16 */
	TENSOR_INT32,
	TENSOR_UINT8,
};

struct tensor_shape {
	int rank; /* 0: a single number */
	int64_t size[TENSOR_RANK_MAX];
};

/* Bytes of one element. */
size_t tensor_type_size(enum tensor_type type);
/* "fp32"; static. */
const char *tensor_type_text(enum tensor_type type);
/* Is it one that gradients are computed in? */
bool tensor_type_is_float(enum tensor_type type);

bool tensor_shape_equal(const struct tensor_shape *a, const struct tensor_shape *b);
/* Elements of all dimensions; 0 when it is more than INT64_MAX / 16. */
int64_t tensor_shape_count(const struct tensor_shape *shape);
/* The last dimension, 1 of a single number. */
int64_t tensor_shape_channels(const struct tensor_shape *shape);
/* "32x56x56x64" in `ret`, which it returns. */
enum { TENSOR_SHAPE_TEXT = 96 };
const char *tensor_shape_text(const struct tensor_shape *shape, char ret[TENSOR_SHAPE_TEXT]);
