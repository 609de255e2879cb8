/* The ops that models are made of: what each takes and gives, its shapes, work and backward pass.
 *
 * An op is pure: its outputs depend on its inputs, its attributes and, of DROPOUT alone, on seed and
 * step. So a planner may run it again instead of keeping what it gave. The one exception are the
 * running averages of BATCH_NORM: the second run of a step leaves them alone (`recompute`).
 *
 * Gradients are ops of the same table. The suffix says of what: _DATA of the input, _WEIGHT of the
 * parameters, _BACK of all.
 *
 *     op                  inputs                                      outputs
 *     CONV                x [N H W C], w [K R S C], (b [K])           y [N P Q K]
 *     CONV_DATA           dy, w                                       dx
 *     CONV_WEIGHT         x, dy                                       dw
 *     LINEAR              x [.. C], w [K C], (b [K])                  y [.. K]
 *     LINEAR_DATA         dy, w                                       dx
 *     LINEAR_WEIGHT       x, dy                                       dw
 *     BIAS_BACK           dy [.. K]                                   db [K]
 *     BATCH_NORM          x [.. C], scale, shift, run_mean, run_var   y, mean [C], inv_std [C]
 *     BATCH_NORM_BACK     x, dy, scale, mean, inv_std                 dx, dscale, dshift
 *     LAYER_NORM          x [.. C], scale, shift                      y, mean [..], inv_std [..]
 *     LAYER_NORM_BACK     x, dy, scale, mean, inv_std                 dx, dscale, dshift
 *     MAX_POOL            x                                           y, place (uint8: which of the window)
 *     MAX_POOL_BACK       dy, place                                   dx
 *     AVERAGE_POOL        x                                           y
 *     AVERAGE_POOL_BACK   dy                                          dx
 *     UPSAMPLE            x                                           y (nearest, `factor` times)
 *     UPSAMPLE_BACK       dy                                          dx
 *     ADD                 a, b                                        y
 *     CONCAT              a, b, ..  (the last dimension)              y
 *     SLICE               y                                           a (channels `offset` .. + `out`)
 *     ACTIVATION          x                                           y
 *     ACTIVATION_BACK     y (RELU, SIGMOID, TANH) or x (GELU), dy     dx
 *     DROPOUT             x                                           y
 *     DROPOUT_BACK        dy                                          dx
 *     EMBEDDING           token [N T] int32, table [V C], place [T C] y [N T C]
 *     EMBEDDING_BACK      token, dy                                   dtable, dplace
 *     ATTENTION           qkv [N T 3C]                                y [N T C], log_sum [N heads T]
 *     ATTENTION_BACK      qkv, y, dy, log_sum                         dqkv
 *     CROSS_ENTROPY       logit [.. V], label [..] int32              loss [..], log_sum [..]
 *     CROSS_ENTROPY_BACK  logit, label, log_sum                       dlogit
 *
 * N H W C: batch, height, width, channels. K: channels out. R S: window. P Q: height and width out. T:
 * length of a sequence. V: words, or classes. Scales, shifts, statistics, losses and log_sum are FP32 (FP64 where x is FP64); all
 * else has the type of x. A label below 0 counts for nothing: its loss and gradient are 0.
 * A transposed view: FLATTEN is no op, the graph gives the same memory another shape. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/graph/tensor.h"

enum op_kind {
	OP_CONV,
	OP_CONV_DATA,
	OP_CONV_WEIGHT,
	OP_LINEAR,
	OP_LINEAR_DATA,
	OP_LINEAR_WEIGHT,
	OP_BIAS_BACK,
	OP_BATCH_NORM,
	OP_BATCH_NORM_BACK,
	OP_LAYER_NORM,
	OP_LAYER_NORM_BACK,
	OP_MAX_POOL,
	OP_MAX_POOL_BACK,
	OP_AVERAGE_POOL,
	OP_AVERAGE_POOL_BACK,
	OP_UPSAMPLE,
	OP_UPSAMPLE_BACK,
	OP_ADD,
	OP_CONCAT,
	OP_SLICE,
	OP_ACTIVATION,
	OP_ACTIVATION_BACK,
	OP_DROPOUT,
	OP_DROPOUT_BACK,
	OP_EMBEDDING,
	OP_EMBEDDING_BACK,
	OP_ATTENTION,
	OP_ATTENTION_BACK,
	OP_CROSS_ENTROPY,
	OP_CROSS_ENTROPY_BACK,
	OP_KINDS,
};

enum op_function { OP_RELU, OP_GELU, OP_SIGMOID, OP_TANH };

enum { OP_IN_MAX = 8, OP_OUT_MAX = 3 };

/* Of each kind those count that it names; the rest is 0. */
struct op_attributes {
	int window[2], stride[2],
		pad[2]; /* CONV*, *_POOL*: height, width. Padding of averages counts as zeros */
	int64_t in
		[TENSOR_RANK_MAX]; /* CONV_DATA, *_POOL_BACK: the shape of dx; CONV_WEIGHT: of dw; SLICE: [0] = its channels; EMBEDDING_BACK: [0] = V */
	int64_t offset;            /* SLICE: its first channel */
	enum op_function function; /* ACTIVATION* */
	int factor;                /* UPSAMPLE* */
	int heads;                 /* ATTENTION* */
	bool causal;               /* ATTENTION*: a place sees those before it and itself */
	bool training;             /* BATCH_NORM: statistics of the batch; else the running ones */
	double epsilon;            /* *_NORM*: added to the variance */
	double momentum;           /* BATCH_NORM: running += momentum * (batch - running) */
	double rate;     /* DROPOUT*: the share that becomes 0; what stays is divided by 1 - rate */
	uint64_t stream; /* DROPOUT*: tells the ops of a model apart; both passes have the same */
	double smooth;   /* CROSS_ENTROPY*: label smoothing, 0 .. 1 */
};

/* A tensor without memory, as the functions below take and give it. */
struct op_tensor {
	enum tensor_type type;
	struct tensor_shape shape;
};

/* "conv", "conv_data": words of a model file are those of forward ops. Static. */
const char *op_text(enum op_kind kind);
/* OP_KINDS when there is none. */
enum op_kind op_parse(const char *text);
/* "relu". */
const char *op_function_text(enum op_function function);

/* An op with what it takes. */
struct op_inputs {
	enum op_kind kind;
	const struct op_attributes *attributes;
	const struct op_tensor *in;
	size_t count;
};

/* Shapes and types of the outputs from those of the inputs. E_INVALID with both shapes and the rule
 * that they break in `problem`. `ret_count` counts the outputs. */
MUST_USE int op_infer(const struct op_inputs *op, struct op_tensor ret[OP_OUT_MAX],
		      size_t *ret_count, struct problem *problem);
/* Floating point operations: 2 for a multiplication with addition, 1 for all else; what moves memory
 * alone has 0. */
double op_flops(enum op_kind kind, const struct op_attributes *attributes,
		const struct op_tensor in[], size_t in_count, const struct op_tensor out[],
		size_t out_count);
