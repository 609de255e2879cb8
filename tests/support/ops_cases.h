/* Cases for every op of graph/op.h with its backward ops, for tests of all back ends: small shapes with
 * what goes wrong in mind (odd sizes, padding, strides that leave a rest, one channel). */
#pragma once

#include "tests/support/ops_run.h"

/* One backward op. `takes` and `gives` name tensors by letters:
 *   a, b, ..   inputs of the forward op      0, 1, 2   its outputs
 *   y          gradient of its output 0      A, B, ..  gradients of its inputs */
struct ops_case_step {
	enum op_kind kind;
	const char *takes, *gives;
	int64_t offset, channels; /* SLICE */
};

struct ops_case {
	const char *name;
	enum op_kind kind;
	struct op_attributes is;
	struct tensor_shape in[OP_IN_MAX];
	size_t in_count;
	struct ops_case_step steps[4];
};

#define OPS_SHAPE1(a)     \
	{                 \
		1,        \
		{         \
			a \
		}         \
	}
#define OPS_SHAPE2(a, b)     \
	{                    \
		2,           \
		{            \
			a, b \
		}            \
	}
#define OPS_SHAPE3(a, b, c)     \
	{                       \
		3,              \
		{               \
			a, b, c \
		}               \
	}
#define OPS_SHAPE4(a, b, c, d)     \
	{                          \
		4,                 \
		{                  \
			a, b, c, d \
		}                  \
	}

/* clang-format off */
static const struct ops_case ops_cases[] = {
	{"conv 3x3 pad 1 bias", OP_CONV, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}},
	 {OPS_SHAPE4(2, 5, 4, 3), OPS_SHAPE4(4, 3, 3, 3), OPS_SHAPE1(4)}, 3,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}, {OP_BIAS_BACK, "y", "C", 0, 0}}},
	{"conv 1x1", OP_CONV, {.window = {1, 1}, .stride = {1, 1}},
	 {OPS_SHAPE4(3, 4, 3, 5), OPS_SHAPE4(6, 1, 1, 5)}, 2,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 1x1 stride 2", OP_CONV, {.window = {1, 1}, .stride = {2, 2}},
	 {OPS_SHAPE4(2, 5, 4, 3), OPS_SHAPE4(2, 1, 1, 3)}, 2,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 7x7 stride 2 pad 3", OP_CONV, {.window = {7, 7}, .stride = {2, 2}, .pad = {3, 3}},
	 {OPS_SHAPE4(2, 8, 7, 2), OPS_SHAPE4(3, 7, 7, 2)}, 2,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 1x5 pad 0 2", OP_CONV, {.window = {1, 5}, .stride = {1, 2}, .pad = {0, 2}},
	 {OPS_SHAPE4(1, 3, 9, 1), OPS_SHAPE4(2, 1, 5, 1)}, 2,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"linear bias", OP_LINEAR, {.factor = 0}, {OPS_SHAPE2(5, 7), OPS_SHAPE2(3, 7), OPS_SHAPE1(3)}, 3,
	 {{OP_LINEAR_DATA, "yb", "A", 0, 0}, {OP_LINEAR_WEIGHT, "ay", "B", 0, 0}, {OP_BIAS_BACK, "y", "C", 0, 0}}},
	{"linear of a sequence", OP_LINEAR, {.factor = 0}, {OPS_SHAPE3(2, 3, 4), OPS_SHAPE2(5, 4)}, 2,
	 {{OP_LINEAR_DATA, "yb", "A", 0, 0}, {OP_LINEAR_WEIGHT, "ay", "B", 0, 0}}},
	{"batch norm", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(3, 4, 3, 5), OPS_SHAPE1(5), OPS_SHAPE1(5), OPS_SHAPE1(5), OPS_SHAPE1(5)}, 5,
	 {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"batch norm, running", OP_BATCH_NORM, {.training = false, .epsilon = 1e-3},
	 {OPS_SHAPE4(2, 3, 2, 4), OPS_SHAPE1(4), OPS_SHAPE1(4), OPS_SHAPE1(4), OPS_SHAPE1(4)}, 5,
	 {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"batch norm, many rows", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(3, 9, 7, 2), OPS_SHAPE1(2), OPS_SHAPE1(2), OPS_SHAPE1(2), OPS_SHAPE1(2)}, 5,
	 {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"layer norm", OP_LAYER_NORM, {.epsilon = 1e-5}, {OPS_SHAPE3(2, 3, 6), OPS_SHAPE1(6), OPS_SHAPE1(6)}, 3,
	 {{OP_LAYER_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"max pool 3x3 stride 2 pad 1", OP_MAX_POOL, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
	 {OPS_SHAPE4(2, 6, 5, 3)}, 1, {{OP_MAX_POOL_BACK, "y1", "A", 0, 0}}},
	{"max pool 2x2", OP_MAX_POOL, {.window = {2, 2}, .stride = {2, 2}}, {OPS_SHAPE4(1, 5, 4, 2)}, 1,
	 {{OP_MAX_POOL_BACK, "y1", "A", 0, 0}}},
	{"average pool 3x3 pad 1", OP_AVERAGE_POOL, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}},
	 {OPS_SHAPE4(2, 5, 5, 3)}, 1, {{OP_AVERAGE_POOL_BACK, "y", "A", 0, 0}}},
	{"average of all", OP_AVERAGE_POOL, {.window = {4, 3}, .stride = {1, 1}}, {OPS_SHAPE4(2, 4, 3, 5)}, 1,
	 {{OP_AVERAGE_POOL_BACK, "y", "A", 0, 0}}},
	{"upsample 2", OP_UPSAMPLE, {.factor = 2}, {OPS_SHAPE4(2, 3, 2, 3)}, 1, {{OP_UPSAMPLE_BACK, "y", "A", 0, 0}}},
	{"concat", OP_CONCAT, {.factor = 0}, {OPS_SHAPE4(2, 2, 3, 2), OPS_SHAPE4(2, 2, 3, 1), OPS_SHAPE4(2, 2, 3, 4)}, 3,
	 {{OP_SLICE, "y", "A", 0, 2}, {OP_SLICE, "y", "B", 2, 1}, {OP_SLICE, "y", "C", 3, 4}}},
	{"relu", OP_ACTIVATION, {.function = OP_RELU}, {OPS_SHAPE3(3, 4, 5)}, 1, {{OP_ACTIVATION_BACK, "0y", "A", 0, 0}}},
	{"gelu", OP_ACTIVATION, {.function = OP_GELU}, {OPS_SHAPE3(3, 4, 5)}, 1, {{OP_ACTIVATION_BACK, "ay", "A", 0, 0}}},
	{"sigmoid", OP_ACTIVATION, {.function = OP_SIGMOID}, {OPS_SHAPE2(3, 5)}, 1, {{OP_ACTIVATION_BACK, "0y", "A", 0, 0}}},
	{"tanh", OP_ACTIVATION, {.function = OP_TANH}, {OPS_SHAPE2(3, 5)}, 1, {{OP_ACTIVATION_BACK, "0y", "A", 0, 0}}},
	{"dropout", OP_DROPOUT, {.rate = 0.3, .stream = 5}, {OPS_SHAPE2(6, 11)}, 1, {{OP_DROPOUT_BACK, "y", "A", 0, 0}}},
	{"embedding", OP_EMBEDDING, {.factor = 0}, {OPS_SHAPE2(2, 3), OPS_SHAPE2(7, 4), OPS_SHAPE2(3, 4)}, 3,
	 {{OP_EMBEDDING_BACK, "ay", "BC", 0, 0}}},
	{"attention", OP_ATTENTION, {.heads = 2}, {OPS_SHAPE3(2, 4, 12)}, 1, {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"attention, causal", OP_ATTENTION, {.heads = 3, .causal = true}, {OPS_SHAPE3(1, 5, 18)}, 1,
	 {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"cross entropy", OP_CROSS_ENTROPY, {.factor = 0}, {OPS_SHAPE2(5, 6), OPS_SHAPE1(5)}, 2,
	 {{OP_CROSS_ENTROPY_BACK, "ab1", "A", 0, 0}}},
	{"cross entropy, smooth", OP_CROSS_ENTROPY, {.smooth = 0.1}, {OPS_SHAPE3(2, 3, 5), OPS_SHAPE2(2, 3)}, 2,
	 {{OP_CROSS_ENTROPY_BACK, "ab1", "A", 0, 0}}},
};
/* clang-format on */

/* A case with its tensors. */
struct ops_case_run {
	const struct ops_case *is;
	struct ops_value in[OP_IN_MAX], out[OP_OUT_MAX], slope[OP_IN_MAX];
	struct ops_value dy;
	size_t out_count;
};

/* Inputs that are whole numbers, and their limit; 0: it is a float. */
static inline int64_t ops_case_indexes(const struct ops_case *is, size_t nth)
{
	if (is->kind == OP_EMBEDDING && nth == 0)
		return is->in[1].size[0];
	if (is->kind == OP_CROSS_ENTROPY && nth == 1)
		return is->in[0].size[is->in[0].rank - 1];
	return 0;
}

/* What stays FP32 where the rest has a half type. */
static inline bool ops_case_is_statistic(const struct ops_case *is, size_t nth)
{
	return (is->kind == OP_BATCH_NORM || is->kind == OP_LAYER_NORM) && nth > 0;
}

static inline double ops_case_value(const struct ops_case *is, size_t nth, size_t place,
				    uint64_t *state)
{
	double value = ops_run_random(state);
	int64_t limit = ops_case_indexes(is, nth);

	if (limit > 0) /* one label counts for nothing */
		return is->kind == OP_CROSS_ENTROPY && place == 1
			       ? -1
			       : (double)((int64_t)((value + 1) * 1000) % limit);
	if (is->kind == OP_BATCH_NORM && nth == 4)
		return value * value + 0.5;
	return value;
}

static inline void ops_case_begin(struct ops_case_run *run, const struct ops_case *is,
				  enum tensor_type type, uint64_t seed)
{
	struct op_tensor in[OP_IN_MAX], out[OP_OUT_MAX];
	struct problem problem = {0};
	uint64_t state = seed;

	*run = (struct ops_case_run){.is = is};
	for (size_t i = 0; i < is->in_count; i++) {
		bool full = ops_case_is_statistic(is, i) && type != TENSOR_FP64;

		in[i] = (struct op_tensor){ops_case_indexes(is, i) ? TENSOR_INT32
					   : full                  ? TENSOR_FP32
								   : type,
					   is->in[i]};
		ops_value_new(&run->in[i], in[i]);
		for (size_t k = 0; k < ops_run_count(&in[i]); k++)
			run->in[i].values[k] =
				ops_run_nearest(in[i].type, ops_case_value(is, i, k, &state));
	}
	const struct op_inputs inputs = {is->kind, &is->is, in, is->in_count};
	assert_int_equal(op_infer(&inputs, out, &run->out_count, &problem), 0);
	for (size_t i = 0; i < run->out_count; i++)
		ops_value_new(&run->out[i], out[i]);
	ops_value_new(&run->dy, out[0]);
	for (size_t k = 0; k < ops_run_count(&out[0]); k++)
		run->dy.values[k] = is->kind == OP_CROSS_ENTROPY
					    ? 1
					    : ops_run_nearest(out[0].type, ops_run_random(&state));
}

static inline void ops_case_end(struct ops_case_run *run)
{
	for (size_t i = 0; i < OP_IN_MAX; i++) {
		free(run->in[i].values);
		free(run->slope[i].values);
	}
	for (size_t i = 0; i < OP_OUT_MAX; i++)
		free(run->out[i].values);
	free(run->dy.values);
}

static const struct ops_pass ops_case_pass = {.seed = 3, .step = 4, .scale = 0.25};

/* The forward op, as a second run of a step. */
static inline int ops_case_forward(struct ops *ops, struct ops_case_run *run)
{
	struct ops_call call = {.kind = run->is->kind,
				.attributes = &run->is->is,
				.in_count = run->is->in_count,
				.out_count = run->out_count,
				.pass = &ops_case_pass,
				.recompute = true};

	return ops_run_values(ops, &call, run->in, run->out);
}

static inline struct ops_value *ops_case_named(struct ops_case_run *run, char name)
{
	if (name == 'y')
		return &run->dy;
	if (name >= '0' && name <= '2')
		return &run->out[name - '0'];
	return name >= 'a' ? &run->in[name - 'a'] : &run->slope[name - 'A'];
}

static inline struct op_attributes ops_case_back_attributes(const struct ops_case *is,
							    const struct ops_case_step *step)
{
	struct op_attributes back = is->is;
	const struct tensor_shape *of =
		&is->in[step->kind == OP_CONV_WEIGHT || step->kind == OP_EMBEDDING_BACK ? 1 : 0];

	memcpy(back.in, of->size, sizeof(back.in));
	if (step->kind == OP_SLICE) {
		back.in[0] = step->channels;
		back.offset = step->offset;
	}
	return back;
}

/* One backward op; `accumulate`: it adds to the slopes that are there. */
static inline void ops_case_step_run(struct ops *ops, struct ops_case_run *run,
				     const struct ops_case_step *step, bool accumulate)
{
	struct op_attributes back = ops_case_back_attributes(run->is, step);
	struct ops_call call = {.kind = step->kind,
				.attributes = &back,
				.in_count = strlen(step->takes),
				.out_count = strlen(step->gives),
				.pass = &ops_case_pass,
				.accumulate = accumulate};
	struct ops_value in[OP_IN_MAX], out[OP_OUT_MAX];

	for (size_t i = 0; i < call.in_count; i++)
		in[i] = *ops_case_named(run, step->takes[i]);
	for (size_t i = 0; i < call.out_count; i++)
		out[i] = *ops_case_named(run, step->gives[i]);
	assert_int_equal(ops_run_values(ops, &call, in, out), 0);
}

/* All backward ops, whose shapes are held against op_infer. */
static inline void ops_case_backward(struct ops *ops, struct ops_case_run *run)
{
	for (const struct ops_case_step *step = run->is->steps; step->takes; step++) {
		struct op_attributes back = ops_case_back_attributes(run->is, step);
		struct op_tensor in[OP_IN_MAX], out[OP_OUT_MAX];
		struct problem problem = {0};
		size_t count = 0;

		for (size_t i = 0; step->takes[i]; i++)
			in[i] = ops_case_named(run, step->takes[i])->is;
		const struct op_inputs inputs = {step->kind, &back, in, strlen(step->takes)};
		assert_int_equal(op_infer(&inputs, out, &count, &problem), 0);
		assert_int_equal(count, strlen(step->gives));
		for (size_t i = 0; i < count; i++) {
			struct ops_value *slope = ops_case_named(run, step->gives[i]);

			assert_true(tensor_shape_equal(&out[i].shape,
						       &run->in[step->gives[i] - 'A'].is.shape));
			if (!slope->values)
				ops_value_new(slope, out[i]);
		}
		ops_case_step_run(ops, run, step, false);
	}
}
