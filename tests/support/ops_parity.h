/* A back end beside the CPU's, op by op: the same inputs, and outputs that differ by the last rounding at
 * most. For the emulation of CUDA (tests/unit/trainer_cuda_test.c) and for a GPU (tests/gpu). */
#pragma once

#include <math.h>

#include "common/base/error.h"

#include "tests/support/ops_cases.h"

struct parity {
	struct ops *cpu, *device;
	uint64_t (*kernels)(void); /* that ran so far; 0 where nobody counts */
};

/* Shapes of some size: several blocks, a rest everywhere, packs and single numbers. */
/* clang-format off */
static const struct ops_case parity_large[] = {
	{"add", OP_ADD, {.factor = 0}, {OPS_SHAPE2(71, 73), OPS_SHAPE2(71, 73)}, 2, {{0}}},
	{"batch norm, one by one", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(9, 13, 11, 7), OPS_SHAPE1(7), OPS_SHAPE1(7), OPS_SHAPE1(7), OPS_SHAPE1(7)}, 5, {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"batch norm, packs", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(3, 9, 13, 24), OPS_SHAPE1(24), OPS_SHAPE1(24), OPS_SHAPE1(24), OPS_SHAPE1(24)}, 5, {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"batch norm, many channels", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(2, 3, 3, 264), OPS_SHAPE1(264), OPS_SHAPE1(264), OPS_SHAPE1(264), OPS_SHAPE1(264)}, 5, {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"batch norm, running", OP_BATCH_NORM, {.training = false, .epsilon = 1e-3},
	 {OPS_SHAPE4(2, 9, 9, 16), OPS_SHAPE1(16), OPS_SHAPE1(16), OPS_SHAPE1(16), OPS_SHAPE1(16)}, 5, {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"layer norm, one by one", OP_LAYER_NORM, {.epsilon = 1e-5}, {OPS_SHAPE2(133, 65), OPS_SHAPE1(65), OPS_SHAPE1(65)}, 3,
	 {{OP_LAYER_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"layer norm, packs", OP_LAYER_NORM, {.epsilon = 1e-5}, {OPS_SHAPE3(3, 11, 312), OPS_SHAPE1(312), OPS_SHAPE1(312)}, 3,
	 {{OP_LAYER_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"bias of a linear layer", OP_LINEAR, {.factor = 0}, {OPS_SHAPE2(700, 4), OPS_SHAPE2(24, 4), OPS_SHAPE1(24)}, 3,
	 {{OP_LINEAR_DATA, "yb", "A", 0, 0}, {OP_LINEAR_WEIGHT, "ay", "B", 0, 0}, {OP_BIAS_BACK, "y", "C", 0, 0}}},
	{"max pool, packs", OP_MAX_POOL, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}, {OPS_SHAPE4(2, 17, 15, 24)}, 1,
	 {{OP_MAX_POOL_BACK, "y1", "A", 0, 0}}},
	{"average pool, packs", OP_AVERAGE_POOL, {.window = {3, 2}, .stride = {1, 2}, .pad = {1, 0}}, {OPS_SHAPE4(2, 11, 12, 16)}, 1,
	 {{OP_AVERAGE_POOL_BACK, "y", "A", 0, 0}}},
	{"average of all", OP_AVERAGE_POOL, {.window = {7, 7}, .stride = {1, 1}}, {OPS_SHAPE4(2, 7, 7, 264)}, 1,
	 {{OP_AVERAGE_POOL_BACK, "y", "A", 0, 0}}},
	{"upsample 3", OP_UPSAMPLE, {.factor = 3}, {OPS_SHAPE4(2, 5, 7, 16)}, 1, {{OP_UPSAMPLE_BACK, "y", "A", 0, 0}}},
	{"concat of packs", OP_CONCAT, {.factor = 0}, {OPS_SHAPE4(2, 7, 9, 32), OPS_SHAPE4(2, 7, 9, 16), OPS_SHAPE4(2, 7, 9, 8)}, 3,
	 {{OP_SLICE, "y", "A", 0, 32}, {OP_SLICE, "y", "B", 32, 16}, {OP_SLICE, "y", "C", 48, 8}}},
	{"relu", OP_ACTIVATION, {.function = OP_RELU}, {OPS_SHAPE2(5, 1003)}, 1, {{OP_ACTIVATION_BACK, "0y", "A", 0, 0}}},
	{"gelu", OP_ACTIVATION, {.function = OP_GELU}, {OPS_SHAPE2(5, 1003)}, 1, {{OP_ACTIVATION_BACK, "ay", "A", 0, 0}}},
	{"dropout", OP_DROPOUT, {.rate = 0.5, .stream = 1}, {OPS_SHAPE2(5, 1003)}, 1, {{OP_DROPOUT_BACK, "y", "A", 0, 0}}},
	{"embedding, few words", OP_EMBEDDING, {.factor = 0}, {OPS_SHAPE2(5, 19), OPS_SHAPE2(11, 300), OPS_SHAPE2(19, 300)}, 3,
	 {{OP_EMBEDDING_BACK, "ay", "BC", 0, 0}}},
	{"embedding, packs", OP_EMBEDDING, {.factor = 0}, {OPS_SHAPE2(3, 31), OPS_SHAPE2(700, 16), OPS_SHAPE2(31, 16)}, 3,
	 {{OP_EMBEDDING_BACK, "ay", "BC", 0, 0}}},
	{"attention, a thread a row", OP_ATTENTION, {.heads = 2, .causal = true}, {OPS_SHAPE3(2, 133, 96)}, 1, {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"attention, two threads a row", OP_ATTENTION, {.heads = 2}, {OPS_SHAPE3(1, 70, 240)}, 1, {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"attention, four threads a row", OP_ATTENTION, {.heads = 1, .causal = true}, {OPS_SHAPE3(1, 45, 297)}, 1, {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"cross entropy, a warp a row", OP_CROSS_ENTROPY, {.smooth = 0.1}, {OPS_SHAPE2(21, 1000), OPS_SHAPE1(21)}, 2, {{OP_CROSS_ENTROPY_BACK, "ab1", "A", 0, 0}}},
	{"cross entropy, a block a row", OP_CROSS_ENTROPY, {.smooth = 0}, {OPS_SHAPE2(4, 2500), OPS_SHAPE1(4)}, 2, {{OP_CROSS_ENTROPY_BACK, "ab1", "A", 0, 0}}},
};
/* clang-format on */

/* One step between two numbers of the type; in FP32 sums in another order too. */
static inline double parity_step(enum tensor_type type)
{
	return type == TENSOR_BF16 ? 0x1p-7 : type == TENSOR_FP16 ? 0x1p-10 : 2e-5;
}

static inline void parity_compare(const char *name, const char *kind, const struct ops_value *found,
				  const struct ops_value *wanted, double steps)
{
	double most = 1e-2;
	double bound;

	if (!wanted->values)
		return;
	for (size_t i = 0; i < ops_run_count(&wanted->is); i++)
		most = fmax(most, fabs(wanted->values[i]));
	bound = tensor_type_is_float(wanted->is.type) ? steps * parity_step(wanted->is.type) * most
						      : 0;
	for (size_t i = 0; i < ops_run_count(&wanted->is); i++)
		if (!(fabs(found->values[i] - wanted->values[i]) <= bound))
			fail_msg("%s, %s, %s of %s, number %zu: %.9g, not %.9g", name, kind,
				 found == wanted ? "?" : "a tensor",
				 tensor_type_text(wanted->is.type), i, found->values[i],
				 wanted->values[i]);
}

static inline void parity_copy(struct ops_value *to, const struct ops_value *from)
{
	if (from->values)
		memcpy(to->values, from->values, ops_run_count(&from->is) * sizeof(double));
}

/* The forward op as the first of a step: running averages move. */
static inline int parity_forward(struct ops *ops, struct ops_case_run *run)
{
	struct ops_call call = {.kind = run->is->kind,
				.attributes = &run->is->is,
				.in_count = run->is->in_count,
				.out_count = run->out_count,
				.pass = &ops_case_pass};

	return ops_run_values(ops, &call, run->in, run->out);
}

/* Both ways. The second back end gets the outputs of the first for its backward ops. */
static inline void parity_case(const struct parity *parity, const struct ops_case *is,
			       enum tensor_type type)
{
	struct ops_case_run wanted, found;

	ops_case_begin(&wanted, is, type, 77);
	ops_case_begin(&found, is, type, 77);
	assert_int_equal(parity_forward(parity->cpu, &wanted), 0);
	assert_int_equal(parity_forward(parity->device, &found), 0);
	for (size_t i = 0; i < OP_OUT_MAX; i++) {
		parity_compare(is->name, "output", &found.out[i], &wanted.out[i], 1);
		parity_copy(&found.out[i], &wanted.out[i]);
	}
	for (size_t i = 0; i < is->in_count; i++) {
		parity_compare(is->name, "running", &found.in[i], &wanted.in[i], 1);
		parity_copy(&found.in[i], &wanted.in[i]);
	}
	ops_case_backward(parity->cpu, &wanted);
	ops_case_backward(parity->device, &found);
	for (size_t i = 0; i < OP_IN_MAX; i++) {
		parity_compare(is->name, "slope", &found.slope[i], &wanted.slope[i], 1);
		parity_copy(&found.slope[i], &wanted.slope[i]);
	}
	for (const struct ops_case_step *step = is->steps; step->takes; step++) {
		ops_case_step_run(parity->cpu, &wanted, step, true);
		ops_case_step_run(parity->device, &found, step, true);
	}
	for (size_t i = 0; i < OP_IN_MAX; i++)
		parity_compare(is->name, "added slope", &found.slope[i], &wanted.slope[i], 1);
	ops_case_end(&wanted);
	ops_case_end(&found);
}

static const enum tensor_type parity_types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};

static inline void parity_cases(const struct parity *parity, const struct ops_case *cases,
				size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < COUNT_OF(parity_types); k++)
			parity_case(parity, &cases[i], parity_types[k]);
}

/* --- memory --- */

static inline void parity_memory(const struct parity *parity)
{
	const size_t bytes = ((size_t)9 << 20) + 13;
	uint8_t *from = malloc(bytes);
	uint8_t *back = malloc(bytes);
	uint8_t *memory = ops_take(parity->device, 2 * bytes);
	uint64_t random = 5;

	assert_true(from && back && memory);
	assert_false(parity->device->backend->on_host);
	assert_true((uintptr_t)memory % 256 == 0);
	memset(back, 1, bytes);
	assert_int_equal(ops_copy(parity->device, back, memory + bytes, bytes, OPS_OUT), 0);
	for (size_t i = 0; i < bytes; i++)
		if (back[i] != 0)
			fail_msg("byte %zu of new memory is %u, not 0", i, back[i]);
	for (size_t i = 0; i < bytes; i++)
		from[i] = (uint8_t)(ops_run_random(&random) * 127);
	assert_int_equal(ops_copy(parity->device, memory, from, bytes, OPS_IN), 0);
	assert_int_equal(ops_copy(parity->device, memory + bytes, memory, bytes, OPS_WITHIN), 0);
	assert_int_equal(ops_copy(parity->device, back, memory + bytes, bytes, OPS_OUT), 0);
	assert_memory_equal(from, back, bytes);
	ops_give(parity->device, memory, 2 * bytes);
	free(back);
	free(from);
}

/* --- labels and words out of their limit --- */

static inline void parity_invalid_value(const struct parity *parity, const struct ops_case *is,
					double value)
{
	size_t nth = is->kind == OP_EMBEDDING ? 0 : 1;
	struct ops_case_run run;

	ops_case_begin(&run, is, TENSOR_FP32, 2);
	assert_int_equal(ops_case_forward(parity->device, &run), 0);
	double kept = run.in[nth].values[2];

	run.in[nth].values[2] = value;
	assert_int_equal(ops_case_forward(parity->device, &run), E_INVALID);
	/* It is told once: the next pass is another. */
	assert_int_equal(ops_wait(parity->device), 0);
	run.in[nth].values[2] = kept;
	assert_int_equal(ops_case_forward(parity->device, &run), 0);
	ops_case_end(&run);
}

static inline void parity_invalid(const struct parity *parity)
{
	for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
		const struct ops_case *is = &ops_cases[i];

		if (is->kind == OP_EMBEDDING || is->kind == OP_CROSS_ENTROPY) {
			parity_invalid_value(
				parity, is,
				(double)ops_case_indexes(is, is->kind == OP_EMBEDDING ? 0 : 1));
			parity_invalid_value(parity, is, 2147483647);
		}
		if (is->kind == OP_EMBEDDING)
			parity_invalid_value(parity, is, -1);
	}
}

/* --- optimizers, conversions, infinities --- */

enum { PARITY_WEIGHTS = 5003 };

/* The memory of an update: weight, velocity, square, gradient, copy. */
struct parity_update {
	struct ops_value values[5];
	struct ops_tensor memory[5];
};

static inline void parity_update_begin(struct parity_update *is, struct ops *ops,
				       enum tensor_type copy)
{
	uint64_t random = 11;

	for (size_t i = 0; i < 5; i++) {
		ops_value_new(&is->values[i], (struct op_tensor){i == 4 ? copy : TENSOR_FP32,
								 OPS_SHAPE1(PARITY_WEIGHTS)});
		for (size_t k = 0; k < PARITY_WEIGHTS; k++)
			is->values[i].values[k] = i == 2   ? 0.5 + ops_run_random(&random) / 4
						  : i == 4 ? 0
							   : (double)(float)ops_run_random(&random);
		is->memory[i] =
			(struct ops_tensor){is->values[i].is, ops_run_put(ops, &is->values[i])};
	}
}

static inline void parity_update_end(struct parity_update *is, struct ops *ops)
{
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(ops_run_get(ops, is->memory[i].data, &is->values[i]), 0);
}

static inline void parity_update_run(struct parity_update *is, struct ops *ops,
				     struct ops_update update)
{
	parity_update_begin(is, ops, update.copy_type);
	update.count = PARITY_WEIGHTS;
	update.weight = is->memory[0].data;
	update.velocity = is->memory[1].data;
	update.square = is->memory[2].data;
	update.gradient = is->memory[3].data;
	update.copy = is->memory[4].data;
	for (update.step = 1; update.step <= 3; update.step++)
		assert_int_equal(ops_update(ops, &update), 0);
	parity_update_end(is, ops);
}

static inline void parity_updates(const struct parity *parity)
{
	static const struct ops_update rows[] = {
		{.kind = OPS_SGD, .rate = 0.1, .momentum = 0.9, .decay = 1e-2, .unscale = 1},
		{.kind = OPS_SGD, .rate = 0.1, .momentum = 0.9, .unscale = 0.5, .nesterov = true},
		{.kind = OPS_ADAMW,
		 .rate = 1e-3,
		 .momentum = 0.9,
		 .momentum2 = 0.999,
		 .epsilon = 1e-8,
		 .decay = 0.1,
		 .unscale = 1},
		{.kind = OPS_LARS,
		 .rate = 0.5,
		 .momentum = 0.9,
		 .decay = 1e-3,
		 .trust = 0.02,
		 .unscale = 2},
	};

	for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(parity_types); i++) {
		struct ops_update update = rows[i / COUNT_OF(parity_types)];
		struct parity_update wanted, found;

		update.copy_type = parity_types[i % COUNT_OF(parity_types)];
		parity_update_run(&wanted, parity->cpu, update);
		parity_update_run(&found, parity->device, update);
		for (size_t k = 0; k < 5; k++) {
			parity_compare("an optimizer", "state", &found.values[k], &wanted.values[k],
				       1);
			free(wanted.values[k].values);
			free(found.values[k].values);
		}
	}
}

static inline void parity_convert_one(struct ops *ops, enum tensor_type to, enum tensor_type from,
				      bool adds, struct ops_value *ret)
{
	const struct tensor_shape shape = OPS_SHAPE1(PARITY_WEIGHTS);
	struct ops_value source;
	uint64_t random = 3;

	ops_value_new(&source, (struct op_tensor){from, shape});
	ops_value_new(ret, (struct op_tensor){to, shape});
	for (size_t i = 0; i < PARITY_WEIGHTS; i++) {
		source.values[i] = ops_run_nearest(from, ops_run_random(&random));
		ret->values[i] = ops_run_nearest(to, ops_run_random(&random));
	}
	const struct ops_convert convert = {.to = ops_run_put(ops, ret),
					    .from = ops_run_put(ops, &source),
					    .to_type = to,
					    .from_type = from,
					    .count = PARITY_WEIGHTS,
					    .adds = adds};

	assert_int_equal(ops_convert(ops, &convert), 0);
	assert_int_equal(ops_run_get(ops, convert.to, ret), 0);
	assert_int_equal(ops_run_get(ops, (void *)(uintptr_t)convert.from, &source), 0);
	free(source.values);
}

static inline void parity_converts(const struct parity *parity)
{
	static const struct {
		enum tensor_type to, from;
		bool adds;
	} rows[] = {{TENSOR_FP32, TENSOR_BF16, false}, {TENSOR_FP32, TENSOR_FP16, true},
		    {TENSOR_FP32, TENSOR_FP32, true},  {TENSOR_FP32, TENSOR_BF16, true},
		    {TENSOR_BF16, TENSOR_FP32, false}, {TENSOR_FP16, TENSOR_FP32, false}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ops_value wanted, found;

		parity_convert_one(parity->cpu, rows[i].to, rows[i].from, rows[i].adds, &wanted);
		parity_convert_one(parity->device, rows[i].to, rows[i].from, rows[i].adds, &found);
		for (size_t k = 0; k < PARITY_WEIGHTS; k++)
			assert_true(found.values[k] == wanted.values[k]);
		free(wanted.values);
		free(found.values);
	}
}

static inline void parity_finite(const struct parity *parity)
{
	const double rows[] = {1, HUGE_VAL, -HUGE_VAL, (double)NAN, 1};
	struct ops_value value;

	ops_value_new(&value, (struct op_tensor){TENSOR_FP32, OPS_SHAPE1(PARITY_WEIGHTS)});
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool finite = rows[i] == 1;
		bool found = !finite;
		void *memory;

		value.values[PARITY_WEIGHTS - 1] = rows[i];
		memory = ops_run_put(parity->device, &value);
		assert_int_equal(ops_finite(parity->device, memory, PARITY_WEIGHTS, &found), 0);
		assert_int_equal(found, finite);
		ops_give(parity->device, memory, ops_run_bytes(&value));
	}
	free(value.values);
}
