/* What the rules of op_infer.c share: one op with what it takes, the words for what does not fit, and ways to
 * say what comes out. */
#pragma once

#include "trainer_image/graph/op_infer.h"
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

/* --- what does not fit: all set the problem and return E_INVALID --- */

int op_infer_bad(struct op_infer_call *call, const char *format, ...) PRINTF_LIKE(2, 3);
/* Two tensors that do not fit, and why. */
int op_infer_differ(struct op_infer_call *call, const struct op_tensor *a,
		    const struct op_tensor *b, const char *rule);
int op_infer_one(struct op_infer_call *call, const struct op_tensor *x, const char *rule);

/* --- conditions: 0, or as above --- */

/* Input `at` has so many dimensions: "an image". */
MUST_USE int op_infer_rank(struct op_infer_call *call, size_t at, int rank, const char *dimensions);
MUST_USE int op_infer_type(struct op_infer_call *call, size_t at, enum tensor_type type);
/* Inputs of one shape and type. */
MUST_USE int op_infer_same(struct op_infer_call *call, size_t a, size_t b);
/* Input `at` is a row of `size` numbers. */
MUST_USE int op_infer_row(struct op_infer_call *call, size_t at, int64_t size,
			  enum tensor_type type);
/* Alike but for the last dimension. */
bool op_infer_outer_equal(const struct op_tensor *a, const struct op_tensor *b);

/* --- outputs --- */

/* The type of statistics, scales and losses of an op on `type`. */
enum tensor_type op_infer_statistic(enum tensor_type type);
void op_infer_like(struct op_infer_call *call, size_t out, const struct op_tensor *x);
void op_infer_give(struct op_infer_call *call, size_t out, enum tensor_type type, int rank,
		   const int64_t size[]);
/* x without its last dimension. */
void op_infer_give_outer(struct op_infer_call *call, size_t out, const struct op_tensor *x);

/* --- rules: from inputs and attributes to outputs --- */

/* op_infer_window.c */
MUST_USE int op_infer_conv(struct op_infer_call *call);
MUST_USE int op_infer_conv_data(struct op_infer_call *call);
MUST_USE int op_infer_conv_weight(struct op_infer_call *call);
MUST_USE int op_infer_pool(struct op_infer_call *call);
MUST_USE int op_infer_pool_back(struct op_infer_call *call);
MUST_USE int op_infer_upsample(struct op_infer_call *call);
MUST_USE int op_infer_upsample_back(struct op_infer_call *call);
/* op_infer_norm.c */
MUST_USE int op_infer_batch_norm(struct op_infer_call *call);
MUST_USE int op_infer_batch_norm_back(struct op_infer_call *call);
MUST_USE int op_infer_layer_norm(struct op_infer_call *call);
MUST_USE int op_infer_layer_norm_back(struct op_infer_call *call);
/* op_infer_product.c */
MUST_USE int op_infer_linear(struct op_infer_call *call);
MUST_USE int op_infer_linear_data(struct op_infer_call *call);
MUST_USE int op_infer_linear_weight(struct op_infer_call *call);
MUST_USE int op_infer_bias_back(struct op_infer_call *call);
MUST_USE int op_infer_embedding(struct op_infer_call *call);
MUST_USE int op_infer_embedding_back(struct op_infer_call *call);
MUST_USE int op_infer_attention(struct op_infer_call *call);
MUST_USE int op_infer_attention_back(struct op_infer_call *call);
MUST_USE int op_infer_cross_entropy(struct op_infer_call *call);
MUST_USE int op_infer_cross_entropy_back(struct op_infer_call *call);
