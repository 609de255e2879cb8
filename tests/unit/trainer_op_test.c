// links: trainer_graph
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/graph/op.h"

static struct op_tensor op_test_parse(const char *text)
{
	struct op_tensor tensor = {.type = TENSOR_BF16};
	static const struct {
		char letter;
		enum tensor_type type;
	} types[] = {
		{'f', TENSOR_FP32},
		{'d', TENSOR_FP64},
		{'i', TENSOR_INT32},
		{'u', TENSOR_UINT8},
	};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (text[0] == types[i].letter) {
			tensor.type = types[i].type;
			text++;
			break;
		}
	for (int used = 0; *text != '\0'; text += used) {
		assert_int_equal(sscanf(text, "%" SCNd64 "%n",
					&tensor.shape.size[tensor.shape.rank++], &used),
				 1);
		if (text[used] == 'x')
			used++;
	}
	return tensor;
}

static void op_test_text(const struct op_tensor *tensor, char ret[TENSOR_SHAPE_TEXT + 8])
{
	char shape[TENSOR_SHAPE_TEXT];

	(void)snprintf(ret, TENSOR_SHAPE_TEXT + 8, "%s%s", tensor_type_text(tensor->type),
		       tensor->shape.rank > 0 ? tensor_shape_text(&tensor->shape, shape) : "");
}

/* Inputs and outputs: a letter for the type (f fp32, d fp64, i int32, u uint8, else bf16), a shape. */
static const struct {
	enum op_kind kind;
	struct op_attributes attributes;
	const char *in, *out; /* "" = refused, with */
	const char *message;
	double flops;
} op_test_rows[] = {
	{OP_CONV,
	 {.window = {7, 7}, .stride = {2, 2}, .pad = {3, 3}},
	 "2x224x224x3 64x7x7x3",
	 "bf162x112x112x64",
	 NULL,
	 2.0 * 2 * 112 * 112 * 64 * 147},
	{OP_CONV,
	 {.window = {1, 1}, .stride = {1, 1}},
	 "2x4x4x8 16x1x1x8 16",
	 "bf162x4x4x16",
	 NULL,
	 2.0 * 512 * 8 + 512},
	{OP_CONV,
	 {.window = {3, 3}, .stride = {1, 1}},
	 "2x4x4x8 16x3x3x9",
	 "",
	 "conv: the filter 16x3x3x9 is not for the 8 channels of the input",
	 0},
	{OP_CONV,
	 {.window = {3, 3}, .stride = {1, 1}},
	 "2x2x2x8 16x3x3x8",
	 "",
	 "conv: 2x2x2x8 is smaller than the window",
	 0},
	{OP_CONV_DATA,
	 {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .in = {2, 8, 8, 4}},
	 "2x4x4x6 6x3x3x4",
	 "bf162x8x8x4",
	 NULL,
	 2.0 * 192 * 36},
	{OP_CONV_WEIGHT,
	 {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .in = {6, 3, 3, 4}},
	 "2x8x8x4 2x4x4x6",
	 "bf166x3x3x4",
	 NULL,
	 2.0 * 192 * 36},
	{OP_CONV_WEIGHT,
	 {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}, .in = {6, 3, 3, 4}},
	 "2x8x8x4 2x4x4x6",
	 "",
	 "conv_weight: 6x3x3x4 and 2x4x4x6 do not go together",
	 0},
	{OP_LINEAR, {.factor = 0}, "f2x5x8 f3x8 f3", "fp322x5x3", NULL, 2.0 * 30 * 8 + 30},
	{OP_LINEAR, {.factor = 0}, "f2x8 f3x9", "", "linear: 2x8 and 3x9 do not go together", 0},
	{OP_LINEAR_DATA, {.factor = 0}, "f2x3 f3x8", "fp322x8", NULL, 2.0 * 6 * 8},
	{OP_LINEAR_WEIGHT, {.factor = 0}, "f2x8 f2x3", "fp323x8", NULL, 2.0 * 6 * 8},
	{OP_BIAS_BACK, {.factor = 0}, "2x4x4x3", "bf163", NULL, 96},
	{OP_BATCH_NORM,
	 {.training = true},
	 "2x4x4x3 f3 f3 f3 f3",
	 "bf162x4x4x3 fp323 fp323",
	 NULL,
	 96 * 6},
	{OP_BATCH_NORM,
	 {.factor = 0},
	 "2x4x4x3 3 f3 f3 f3",
	 "",
	 "batch_norm: input 2 is bf16, it must be fp32",
	 0},
	{OP_BATCH_NORM_BACK,
	 {.factor = 0},
	 "2x4x4x3 2x4x4x3 f3 f3 f3",
	 "bf162x4x4x3 fp323 fp323",
	 NULL,
	 96 * 11},
	{OP_LAYER_NORM, {.factor = 0}, "d2x5x3 d3 d3", "fp642x5x3 fp642x5 fp642x5", NULL, 30 * 7},
	{OP_LAYER_NORM_BACK,
	 {.factor = 0},
	 "2x5x3 2x5x3 f3 f2x5 f2x5",
	 "bf162x5x3 fp323 fp323",
	 NULL,
	 30 * 13},
	{OP_MAX_POOL,
	 {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
	 "2x112x112x4",
	 "bf162x56x56x4 uint82x56x56x4",
	 NULL,
	 2.0 * 56 * 56 * 4 * 9},
	{OP_MAX_POOL,
	 {.window = {3, 3}, .stride = {2, 2}, .pad = {3, 3}},
	 "2x8x8x4",
	 "",
	 "max_pool: the padding 3 is as large as the window 3",
	 0},
	{OP_MAX_POOL_BACK,
	 {.window = {2, 2}, .stride = {2, 2}, .in = {2, 8, 8, 4}},
	 "2x4x4x4 u2x4x4x4",
	 "bf162x8x8x4",
	 NULL,
	 512},
	{OP_AVERAGE_POOL_BACK,
	 {.window = {8, 8}, .stride = {1, 1}, .in = {2, 8, 8, 4}},
	 "2x1x1x4",
	 "bf162x8x8x4",
	 NULL,
	 512},
	{OP_UPSAMPLE, {.factor = 2}, "2x4x4x3", "bf162x8x8x3", NULL, 0},
	{OP_UPSAMPLE_BACK, {.factor = 2}, "2x8x8x3", "bf162x4x4x3", NULL, 384},
	{OP_ADD,
	 {.factor = 0},
	 "1x56x56x64 1x28x28x64",
	 "",
	 "add: 1x56x56x64 and 1x28x28x64 differ",
	 0},
	{OP_ADD, {.factor = 0}, "2x3 2x3", "bf162x3", NULL, 6},
	{OP_CONCAT, {.factor = 0}, "2x4x3 2x4x5 2x4x1", "bf162x4x9", NULL, 0},
	{OP_CONCAT,
	 {.factor = 0},
	 "2x4x3 2x5x3",
	 "",
	 "concat: 2x4x3 and 2x5x3 differ in more than channels",
	 0},
	{OP_SLICE, {.offset = 3, .in = {5}}, "2x4x9", "bf162x4x5", NULL, 0},
	{OP_SLICE,
	 {.offset = 5, .in = {5}},
	 "2x4x9",
	 "",
	 "slice: 2x4x9 has not the channels of the slice",
	 0},
	{OP_EMBEDDING, {.factor = 0}, "i2x5 100x8 5x8", "bf162x5x8", NULL, 80},
	{OP_EMBEDDING_BACK, {.in = {100}}, "i2x5 2x5x8", "bf16100x8 bf165x8", NULL, 160},
	{OP_ATTENTION,
	 {.heads = 2},
	 "2x5x24",
	 "bf162x5x8 fp322x2x5",
	 NULL,
	 80.0 * 5 * 4 + 2 * 2 * 5 * 5 * 4.0},
	{OP_ATTENTION_BACK,
	 {.heads = 2},
	 "2x5x24 2x5x8 2x5x8 f2x2x5",
	 "bf162x5x24",
	 NULL,
	 80.0 * 5 * 10 + 2 * 2 * 5 * 5 * 4.0},
	{OP_CROSS_ENTROPY, {.factor = 0}, "2x10 i2", "fp322 fp322", NULL, 80},
	{OP_CROSS_ENTROPY_BACK, {.factor = 0}, "2x10 i2 f2", "bf162x10", NULL, 60},
	{OP_CROSS_ENTROPY,
	 {.factor = 0},
	 "2x10 i3",
	 "",
	 "cross_entropy: 2x10 and 3 do not go together",
	 0},
	{OP_ACTIVATION,
	 {.factor = 0},
	 "i2x3",
	 "",
	 "activation: input 1 is int32, it must be of a float type",
	 0},
	{OP_ADD, {.factor = 0}, "2x3", "", "add: 1 inputs, it takes 2 to 2", 0},
	{OP_DROPOUT, {.rate = 1}, "2x3", "", "dropout: the rate is not in 0 .. 1", 0},
};

static void shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(op_test_rows); i++) {
		struct op_tensor in[OP_IN_MAX];
		struct op_tensor out[OP_OUT_MAX];
		struct problem problem = {0};
		char words[200];
		char said[400] = "";
		char *rest = NULL;
		size_t in_count = 0;
		size_t out_count = 0;

		(void)snprintf(words, sizeof(words), "%s", op_test_rows[i].in);
		for (char *word = strtok_r(words, " ", &rest); word;
		     word = strtok_r(NULL, " ", &rest))
			in[in_count++] = op_test_parse(word);
		int rc = op_infer(&(struct op_inputs){op_test_rows[i].kind,
						      &op_test_rows[i].attributes, in, in_count},
				  out, &out_count, &problem);

		if (op_test_rows[i].message) {
			assert_int_equal(rc, E_INVALID);
			assert_string_equal(problem.message, op_test_rows[i].message);
			continue;
		}
		assert_string_equal(problem.message, "");
		assert_int_equal(rc, 0);
		for (size_t k = 0; k < out_count; k++) {
			char one[TENSOR_SHAPE_TEXT + 8];

			op_test_text(&out[k], one);
			(void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s",
				       k > 0 ? " " : "", one);
		}
		assert_string_equal(said, op_test_rows[i].out);
		assert_float_equal(op_flops(op_test_rows[i].kind, &op_test_rows[i].attributes, in,
					    in_count, out, out_count),
				   op_test_rows[i].flops, 0);
	}
}

static void words(void **state)
{
	(void)state;
	for (enum op_kind kind = OP_CONV; kind < OP_KINDS; kind++)
		assert_int_equal(op_parse(op_text(kind)), kind);
	assert_int_equal(op_parse("convolve"), OP_KINDS);
	assert_string_equal(op_function_text(OP_GELU), "gelu");
	assert_int_equal(tensor_type_size(TENSOR_FP64), 8);
}

static void counts(void **state)
{
	struct tensor_shape large = {2, {INT64_MAX / 2, 3}};
	struct tensor_shape single = {0};
	char text[TENSOR_SHAPE_TEXT];

	(void)state;
	assert_int_equal(tensor_shape_count(&large), 0);
	assert_int_equal(tensor_shape_count(&single), 1);
	assert_int_equal(tensor_shape_channels(&single), 1);
	assert_string_equal(tensor_shape_text(&large, text), "4611686018427387903x3");
	large = (struct tensor_shape){1, {INT64_MAX / 15}};
	assert_int_equal(tensor_shape_count(&large), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(words),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
