/* Products of the trainer as cuDNN's operation graphs. All six are convolutions over N H W C:
 *
 *     CONV, CONV_DATA, CONV_WEIGHT            as they are
 *     LINEAR, LINEAR_DATA, LINEAR_WEIGHT      window 1x1 over one picture of ROWS x 1, its rows are all places of x
 *
 * A linear layer is no matmul graph: of that cuDNN 9.19 has no engine that is compiled before, on no GPU. Rows are the height: with rows as the batch, Hopper's own engines for dw are not offered.
 *
 * A bias is no op of the graph: fused with it, 16-bit types have only engines that are compiled at run time. The bias is
 * written into y first, and the product is added to it (`adds`): FP32 sums, rounded once. */
#pragma once

#include "trainer_image/graph/op.h"
#include "trainer_image/ops/cuda/cudnn_library.h"

enum cudnn_product { CUDNN_FORWARD, CUDNN_BACKWARD_DATA, CUDNN_BACKWARD_WEIGHT, CUDNN_PRODUCTS };

/* A product, without memory. Products of the same bytes have the same engines: padding is 0. */
struct cudnn_shape {
	enum cudnn_product product;
	enum tensor_type type;
	int64_t batch;
	int64_t in[3];  /* height, width, channels of x or dx */
	int64_t out[3]; /* of y or dy */
	int64_t window[2], stride[2], pad[2];
	int64_t adds; /* 1: to what is there; 0: in its place */
};

/* The IDs of tensors in a graph: x or dx, w or dw, y or dy. */
enum { CUDNN_ID_X = 1, CUDNN_ID_W, CUDNN_ID_Y };

/* What cuDNN does: CONV* and LINEAR*. */
bool cudnn_shape_is_for(enum op_kind kind);
/* `in` and `out` as graph/op.h has them. `accumulate` as in ops.h; a bias (in[2]) also makes the product add. E_UNSUPPORTED:
 * a type that is no FP32, BF16, FP16. */
MUST_USE int cudnn_shape_of(const struct op_inputs *op, const struct op_tensor *out,
			    bool accumulate, struct cudnn_shape *ret, struct problem *problem);
/* "forward 64x56x56x64 to 64, 3x3/1", of a linear layer "forward 64x2048 to 1000"; `ret`. */
enum { CUDNN_SHAPE_TEXT = 128 };
const char *cudnn_shape_text(const struct cudnn_shape *shape, char ret[CUDNN_SHAPE_TEXT]);

/* The finalised graph, an element of `pool`, NULL when pool->status is no success. `handle` of a real GPU, or NULL. */
void *cudnn_graph_make(struct cudnn_pool *pool, const struct cudnn_shape *shape, void *handle);
