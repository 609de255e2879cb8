#include "trainer_image/graph/op_table.h"

#include <string.h>

#include "common/base/enum_text.h"

/* clang-format off: one row a line */
static const struct op_row op_rows[OP_KINDS] = {
	/*                         text                  least most out  flops  in place */
	[OP_CONV] = {"conv", 2, 3, 1, 1, false},
	[OP_CONV_DATA] = {"conv_data", 2, 2, 1, 0, false},
	[OP_CONV_WEIGHT] = {"conv_weight", 2, 2, 1, 0, false},
	[OP_LINEAR] = {"linear", 2, 3, 1, 1, false},
	[OP_LINEAR_DATA] = {"linear_data", 2, 2, 1, 0, false},
	[OP_LINEAR_WEIGHT] = {"linear_weight", 2, 2, 1, 0, false},
	[OP_BIAS_BACK] = {"bias_back", 1, 1, 1, 0, false},
	[OP_BATCH_NORM] = {"batch_norm", 5, 5, 3, 6, false},
	[OP_BATCH_NORM_BACK] = {"batch_norm_back", 5, 5, 3, 11, false},
	[OP_LAYER_NORM] = {"layer_norm", 3, 3, 3, 7, false},
	[OP_LAYER_NORM_BACK] = {"layer_norm_back", 5, 5, 3, 13, false},
	[OP_MAX_POOL] = {"max_pool", 1, 1, 2, 0, false},
	[OP_MAX_POOL_BACK] = {"max_pool_back", 2, 2, 1, 1, false},
	[OP_AVERAGE_POOL] = {"average_pool", 1, 1, 1, 0, false},
	[OP_AVERAGE_POOL_BACK] = {"average_pool_back", 1, 1, 1, 1, false},
	[OP_UPSAMPLE] = {"upsample", 1, 1, 1, 0, false},
	[OP_UPSAMPLE_BACK] = {"upsample_back", 1, 1, 1, 0, false},
	[OP_ADD] = {"add", 2, 2, 1, 1, true},
	[OP_CONCAT] = {"concat", 2, 8, 1, 0, false},
	[OP_SLICE] = {"slice", 1, 1, 1, 0, false},
	[OP_ACTIVATION] = {"activation", 1, 1, 1, 1, true},
	[OP_ACTIVATION_BACK] = {"activation_back", 2, 2, 1, 1, true},
	[OP_DROPOUT] = {"dropout", 1, 1, 1, 1, true},
	[OP_DROPOUT_BACK] = {"dropout_back", 1, 1, 1, 1, true},
	[OP_EMBEDDING] = {"embedding", 3, 3, 1, 1, false},
	[OP_EMBEDDING_BACK] = {"embedding_back", 2, 2, 2, 0, false},
	[OP_ATTENTION] = {"attention", 1, 1, 2, 0, false},
	[OP_ATTENTION_BACK] = {"attention_back", 4, 4, 1, 0, false},
	[OP_CROSS_ENTROPY] = {"cross_entropy", 2, 2, 2, 0, false},
	[OP_CROSS_ENTROPY_BACK] = {"cross_entropy_back", 3, 3, 1, 3, false},
};
/* clang-format on */

static const char *const op_functions[] = {
	[OP_RELU] = "relu", [OP_GELU] = "gelu", [OP_SIGMOID] = "sigmoid", [OP_TANH] = "tanh"};

const struct op_row *op_row(enum op_kind kind)
{
	return &op_rows[kind];
}

const char *op_text(enum op_kind kind)
{
	return (unsigned)kind < OP_KINDS ? op_rows[kind].text : "?";
}

enum op_kind op_parse(const char *text)
{
	enum op_kind kind = OP_CONV;

	while (kind < OP_KINDS && strcmp(op_rows[kind].text, text) != 0)
		kind++;
	return kind;
}

const char *op_function_text(enum op_function function)
{
	return enum_text(op_functions, COUNT_OF(op_functions), (int)function);
}

/* What matrix products do per element of the output of the forward pass: `inner` multiplications with
 * addition. */
static double op_table_count(const struct op_tensor *tensor)
{
	return (double)tensor_shape_count(&tensor->shape);
}

static double op_table_product(const struct op_tensor *y, const struct op_tensor *w)
{
	return 2 * op_table_count(y) * op_table_count(w) / (double)w->shape.size[0];
}

static double op_table_attention(const struct op_tensor *y, const struct op_attributes *attributes,
				 double products)
{
	double length = (double)y->shape.size[1];
	double pairs = attributes->causal ? (length + 1) / 2 : length;

	/* A pair of places: `products` dot products of C numbers, and the softmax of each head. */
	return op_table_count(y) * pairs * 2 * products +
	       (double)y->shape.size[0] * attributes->heads * length * pairs * 4;
}

static double op_table_window(const struct op_attributes *attributes)
{
	return (double)attributes->window[0] * attributes->window[1];
}

double op_flops(enum op_kind kind, const struct op_attributes *attributes,
		const struct op_tensor in[], size_t in_count, const struct op_tensor out[],
		size_t out_count)
{
	double elements = op_table_count(&out[0]) * op_rows[kind].element_flops;

	(void)out_count;
	switch (kind) {
	case OP_CONV:
	case OP_LINEAR: return op_table_product(&out[0], &in[1]) + (in_count > 2 ? elements : 0);
	case OP_CONV_DATA:
	case OP_LINEAR_DATA: return op_table_product(&in[0], &in[1]);
	case OP_CONV_WEIGHT:
	case OP_LINEAR_WEIGHT: return op_table_product(&in[1], &out[0]);
	case OP_BIAS_BACK:
	case OP_UPSAMPLE_BACK: return op_table_count(&in[0]);
	case OP_MAX_POOL:
	case OP_AVERAGE_POOL: return op_table_count(&out[0]) * op_table_window(attributes);
	case OP_AVERAGE_POOL_BACK: return op_table_count(&in[0]) * op_table_window(attributes);
	case OP_EMBEDDING_BACK: return 2 * op_table_count(&in[1]);
	case OP_ATTENTION: return op_table_attention(&out[0], attributes, 2);
	case OP_ATTENTION_BACK: return op_table_attention(&in[1], attributes, 5);
	case OP_CROSS_ENTROPY: return 4 * op_table_count(&in[0]);
	case OP_BATCH_NORM: return attributes->training ? elements : elements / 3;
	case OP_BATCH_NORM_BACK:
	case OP_LAYER_NORM:
	case OP_LAYER_NORM_BACK:
	case OP_MAX_POOL_BACK:
	case OP_UPSAMPLE:
	case OP_ADD:
	case OP_CONCAT:
	case OP_SLICE:
	case OP_ACTIVATION:
	case OP_ACTIVATION_BACK:
	case OP_DROPOUT:
	case OP_DROPOUT_BACK:
	case OP_EMBEDDING:
	case OP_CROSS_ENTROPY_BACK:
	case OP_KINDS: break;
	}
	return elements;
}
