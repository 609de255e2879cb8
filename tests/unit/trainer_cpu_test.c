// links: trainer_ops
/* The CPU back end beside itself: every set of instructions, every type, any number of threads. */
#include <math.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/half.h"

#include "tests/support/cmocka.h"
#include "tests/support/ops_cases.h"
#include "trainer_image/ops/cpu/cpu_kernel.h"

/* Forward and backward of a case: slopes and outputs in `run`. */
static void run_case(const struct cpu_kernels *kernels, unsigned threads, const struct ops_case *is,
		     enum tensor_type type, struct ops_case_run *run)
{
	struct ops *ops;

	assert_int_equal(cpu_new(threads, kernels, &ops, &(struct problem){0}), 0);
	ops_case_begin(run, is, type, 77);
	assert_int_equal(ops_case_forward(ops, run), 0);
	ops_case_backward(ops, run);
	ops_free(ops);
}

static double size_of(const struct ops_value *value)
{
	double size = 1e-2;

	size_t count = ops_run_count(&value->is);

	for (size_t i = 0; i < count; i++)
		size = fmax(size, fabs(value->values[i]));
	return size;
}

static void compare(const char *name, const char *what, const struct ops_value *found,
		    const struct ops_value *wanted, double least)
{
	if (!wanted->values)
		return;
	size_t count = ops_run_count(&wanted->is);
	double bound = least * size_of(wanted);

	for (size_t i = 0; i < count; i++)
		if (!(fabs(found->values[i] - wanted->values[i]) <= bound))
			fail_msg("%s, %s, element %zu: %.9g, not %.9g", name, what, i,
				 found->values[i], wanted->values[i]);
}

static void compare_runs(const struct ops_case_run *found, const struct ops_case_run *wanted,
			 double least)
{
	for (size_t i = 0; i < OP_OUT_MAX; i++)
		compare(wanted->is->name, "output", &found->out[i], &wanted->out[i], least);
	for (size_t i = 0; i < OP_IN_MAX; i++)
		compare(wanted->is->name, "slope", &found->slope[i], &wanted->slope[i], least);
}

/* Each set of instructions that this processor has, against FP64. */
static void test_variants(void **state)
{
	const struct cpu_kernels *all[3] = {&cpu_kernels_base};
	size_t count = 1;

	(void)state;
#if defined(__x86_64__)
	if (cpu_kernels_best() != &cpu_kernels_base)
		all[count++] = &cpu_kernels_avx2;
	if (cpu_kernels_best() == &cpu_kernels_avx512)
		all[count++] = &cpu_kernels_avx512;
#endif
	for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
		struct ops_case_run wanted;

		run_case(all[0], 1, &ops_cases[i], TENSOR_FP64, &wanted);
		for (size_t k = 0; k < count; k++) {
			struct ops_case_run found;

			run_case(all[k], 2, &ops_cases[i], TENSOR_FP32, &found);
			compare_runs(&found, &wanted, 3e-5);
			ops_case_end(&found);
		}
		ops_case_end(&wanted);
	}
}

/* Emulated types: what FP32 gives, rounded. Inputs are rounded first, so that only the last rounding
 * differs; a saved output that was rounded is an input of the backward op. */
static void test_half_types(void **state)
{
	static const struct {
		enum tensor_type type;
		double least;
	} rows[] = {{TENSOR_BF16, 0x1p-6}, {TENSOR_FP16, 0x1p-9}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(rows); k++)
		for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
			struct ops_case_run found;
			struct ops_case_run wanted;

			if (ops_cases[i].kind ==
			    OP_MAX_POOL) /* numbers that rounding makes equal have another place */
				continue;
			run_case(cpu_kernels_best(), 2, &ops_cases[i], rows[k].type, &found);
			run_case(cpu_kernels_best(), 2, &ops_cases[i], TENSOR_FP32, &wanted);
			compare_runs(&found, &wanted, rows[k].least * 2);
			ops_case_end(&found);
			ops_case_end(&wanted);
		}
}

/* Shapes of some size, so that there is something to share. */
/* clang-format off */
static const struct ops_case large[] = {
	{"conv", OP_CONV, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}}, {OPS_SHAPE4(7, 12, 11, 16), OPS_SHAPE4(24, 3, 3, 16)}, 2,
	 {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"linear", OP_LINEAR, {.factor = 0}, {OPS_SHAPE2(70, 300), OPS_SHAPE2(520, 300), OPS_SHAPE1(520)}, 3,
	 {{OP_LINEAR_DATA, "yb", "A", 0, 0}, {OP_LINEAR_WEIGHT, "ay", "B", 0, 0}, {OP_BIAS_BACK, "y", "C", 0, 0}}},
	{"batch norm", OP_BATCH_NORM, {.training = true, .epsilon = 1e-5, .momentum = 0.1},
	 {OPS_SHAPE4(9, 13, 11, 7), OPS_SHAPE1(7), OPS_SHAPE1(7), OPS_SHAPE1(7), OPS_SHAPE1(7)}, 5, {{OP_BATCH_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"layer norm", OP_LAYER_NORM, {.epsilon = 1e-5}, {OPS_SHAPE2(333, 65), OPS_SHAPE1(65), OPS_SHAPE1(65)}, 3,
	 {{OP_LAYER_NORM_BACK, "ayb12", "ABC", 0, 0}}},
	{"embedding", OP_EMBEDDING, {.factor = 0}, {OPS_SHAPE2(9, 31), OPS_SHAPE2(700, 16), OPS_SHAPE2(31, 16)}, 3, {{OP_EMBEDDING_BACK, "ay", "BC", 0, 0}}},
	{"attention", OP_ATTENTION, {.heads = 4, .causal = true}, {OPS_SHAPE3(3, 33, 96)}, 1, {{OP_ATTENTION_BACK, "a0y1", "A", 0, 0}}},
	{"dropout", OP_DROPOUT, {.rate = 0.5, .stream = 1}, {OPS_SHAPE2(40, 1000)}, 1, {{OP_DROPOUT_BACK, "y", "A", 0, 0}}},
};
/* clang-format on */

static void test_threads(void **state)
{
	static const unsigned threads[] = {2, 3, 7};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(large); i++) {
		struct ops_case_run alone;

		run_case(cpu_kernels_best(), 1, &large[i], TENSOR_FP32, &alone);
		for (size_t k = 0; k < COUNT_OF(threads); k++) {
			struct ops_case_run found;

			run_case(cpu_kernels_best(), threads[k], &large[i], TENSOR_FP32, &found);
			compare_runs(&found, &alone, 0);
			ops_case_end(&found);
		}
		ops_case_end(&alone);
	}
}

/* Every fp16 there is, and what lies around it. */
static void test_fp16(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 0x7c00U; i++) {
		uint16_t half = (uint16_t)i;
		uint16_t back[3];
		float full;

		half_from_fp16(&half, &full, 1);
		assert_true((double)full == ops_run_from_fp16(half));
		/* The middle to the next one goes to the even one; anything beside the middle to the nearer. */
		double next = i + 1 < 0x7c00U ? ops_run_from_fp16((uint16_t)(i + 1)) : 65536.0;
		float middle = (float)(((double)full + next) / 2);
		const float around[3] = {nextafterf(middle, 0), middle,
					 nextafterf(middle, HUGE_VALF)};

		half_to_fp16(around, back, 3);
		assert_int_equal(back[0], i);
		assert_int_equal(back[1], i % 2 == 0 ? i : i + 1);
		assert_int_equal(back[2], i + 1);
	}
}

static void test_special_halves(void **state)
{
	const float numbers[] = {-0.0F, HUGE_VALF, -HUGE_VALF, NAN,
				 1e30F, -1e30F,    65519.0F,   65520.0F};
	const uint16_t fp16[] = {0x8000, 0x7c00, 0xfc00, 0, 0x7c00, 0xfc00, 0x7bff, 0x7c00};
	uint16_t to[COUNT_OF(numbers)];
	float back[COUNT_OF(numbers)];

	(void)state;
	half_to_fp16(numbers, to, COUNT_OF(numbers));
	half_from_fp16(to, back, COUNT_OF(numbers));
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		if (isnan(numbers[i]))
			assert_true(isnan(back[i]));
		else
			assert_int_equal(to[i], fp16[i]);
	}
	half_to_bf16(numbers, to, COUNT_OF(numbers));
	half_from_bf16(to, back, COUNT_OF(numbers));
	assert_true(isnan(back[3]) && isinf(back[1]) && signbit(back[0]) && isfinite(back[4]));
	/* 1 + 2^-8 lies in the middle of two: the even one is 1; a bit more is 1 + 2^-7. */
	const float middles[] = {1.00390625F, 1.0039064F, 1.01171875F};

	half_to_bf16(middles, to, 3);
	assert_int_equal(to[0], 0x3f80);
	assert_int_equal(to[1], 0x3f81);
	assert_int_equal(to[2], 0x3f82);
}

/* Running averages move in the first run of a step alone, to those of the batch. */
static void test_running(void **state)
{
	const struct op_attributes is = {.training = true, .epsilon = 1e-5, .momentum = 1};
	struct ops_case_run run;
	const struct ops_case one = {
		"running",
		OP_BATCH_NORM,
		is,
		{OPS_SHAPE2(4, 1), OPS_SHAPE1(1), OPS_SHAPE1(1), OPS_SHAPE1(1), OPS_SHAPE1(1)},
		5,
		{{0}}};
	struct ops_call call = {.kind = OP_BATCH_NORM,
				.attributes = &is,
				.in_count = 5,
				.out_count = 3,
				.recompute = true};
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cpu_new(1, &ops, &(struct problem){0}), 0);
	ops_case_begin(&run, &one, TENSOR_FP64, 1);
	for (size_t i = 0; i < 4; i++)
		run.in[0].values[i] =
			1e8 + (double)i; /* what one pass over the squares would lose */
	run.in[3].values[0] = run.in[4].values[0] = 7;
	assert_int_equal(ops_run_values(ops, &call, run.in, run.out), 0);
	assert_true(run.in[3].values[0] == 7 && run.in[4].values[0] == 7);
	call.recompute = false;
	assert_int_equal(ops_run_values(ops, &call, run.in, run.out), 0);
	assert_true(fabs(run.in[3].values[0] - 100000001.5) < 1e-6);
	assert_true(fabs(run.in[4].values[0] - 5.0 / 3) < 1e-6);
	ops_case_end(&run);
	ops_free(ops);
}

/* Indexes choose memory: one that is too large ends the op before it reads. */
static void test_indexes(void **state)
{
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cpu_new(1, &ops, &(struct problem){0}), 0);
	for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
		const struct ops_case *is = &ops_cases[i];
		size_t nth = is->kind == OP_EMBEDDING ? 0 : 1;
		struct ops_case_run run;

		if (is->kind != OP_EMBEDDING && is->kind != OP_CROSS_ENTROPY)
			continue;
		ops_case_begin(&run, is, TENSOR_FP32, 2);
		assert_int_equal(ops_case_forward(ops, &run), 0);
		run.in[nth].values[2] = (double)ops_case_indexes(is, nth);
		assert_int_equal(ops_case_forward(ops, &run), E_INVALID);
		ops_case_end(&run);
	}
	ops_free(ops);
}

/* --- optimizers, against their papers in FP64 --- */

struct trace {
	double weight, velocity, square;
};

static void follow(const struct ops_update *is, double norm_weight, double norm_slope, double slope,
		   struct trace *at)
{
	double trust = is->trust * norm_weight / (norm_slope + is->decay * norm_weight);

	switch (is->kind) {
	case OPS_SGD:
		slope += is->decay * at->weight;
		at->velocity = is->momentum * at->velocity + slope;
		at->weight -= is->rate *
			      (is->nesterov ? slope + is->momentum * at->velocity : at->velocity);
		break;
	case OPS_ADAMW:
		at->velocity = is->momentum * at->velocity + (1 - is->momentum) * slope;
		at->square = is->momentum2 * at->square + (1 - is->momentum2) * slope * slope;
		at->weight =
			at->weight * (1 - is->rate * is->decay) -
			is->rate * (at->velocity / (1 - pow(is->momentum, (double)is->step))) /
				(sqrt(at->square / (1 - pow(is->momentum2, (double)is->step))) +
				 is->epsilon);
		break;
	case OPS_LARS:
		at->velocity = is->momentum * at->velocity +
			       is->rate * trust * (slope + is->decay * at->weight);
		at->weight -= at->velocity;
		break;
	}
}

enum { WEIGHTS = 70001, STEPS = 3 };

static double norm_of(const float *numbers)
{
	double sum = 0;

	for (size_t i = 0; i < WEIGHTS; i++)
		sum += (double)numbers[i] * (double)numbers[i];
	return sqrt(sum);
}

static void update_once(struct ops *ops, struct ops_update *is, float *gradient,
			struct trace *traces, uint64_t *random)
{
	double weight = norm_of(is->weight);

	for (size_t i = 0; i < WEIGHTS; i++)
		gradient[i] = (float)ops_run_random(random);
	double slope = norm_of(gradient) * is->unscale;

	assert_int_equal(ops_update(ops, is), 0);
	for (size_t i = 0; i < WEIGHTS; i++) {
		follow(is, weight, slope, (double)gradient[i] * is->unscale, &traces[i]);
		assert_true(fabs((double)is->weight[i] - traces[i].weight) < 2e-6);
	}
}

static void test_updates(void **state)
{
	static const struct ops_update rows[] = {
		{.kind = OPS_SGD, .rate = 0.1, .momentum = 0.9, .decay = 1e-2, .unscale = 1},
		{.kind = OPS_SGD,
		 .rate = 0.1,
		 .momentum = 0.9,
		 .decay = 1e-2,
		 .unscale = 0.5,
		 .nesterov = true},
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
	float *memory = calloc((size_t)WEIGHTS * 4, sizeof(float));
	uint16_t *copy = calloc(WEIGHTS, sizeof(*copy));
	struct trace *traces = calloc(WEIGHTS, sizeof(*traces));
	struct ops *ops;

	(void)state;
	assert_true(memory && copy && traces);
	assert_int_equal(ops_cpu_new(2, &ops, &(struct problem){0}), 0);
	for (size_t row = 0; row < COUNT_OF(rows); row++) {
		struct ops_update is = rows[row];
		uint64_t random = row;

		memset(memory, 0, (size_t)WEIGHTS * 4 * sizeof(float));
		is.count = WEIGHTS;
		is.weight = memory;
		is.velocity = memory + WEIGHTS;
		is.square = memory + 2 * WEIGHTS;
		is.gradient = memory + 3 * WEIGHTS;
		is.copy = copy;
		is.copy_type = TENSOR_BF16;
		for (size_t i = 0; i < WEIGHTS; i++) {
			is.weight[i] = (float)ops_run_random(&random);
			traces[i] = (struct trace){.weight = (double)is.weight[i]};
		}
		for (is.step = 1; is.step <= STEPS; is.step++)
			update_once(ops, &is, memory + 3 * WEIGHTS, traces, &random);
		for (size_t i = 0; i < WEIGHTS; i += 1000)
			assert_true(ops_run_load(TENSOR_BF16, copy, i) ==
				    ops_run_nearest(TENSOR_BF16, (double)is.weight[i]));
	}
	ops_free(ops);
	free(traces);
	free(copy);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variants),       cmocka_unit_test(test_half_types),
		cmocka_unit_test(test_threads),        cmocka_unit_test(test_fp16),
		cmocka_unit_test(test_special_halves), cmocka_unit_test(test_running),
		cmocka_unit_test(test_indexes),        cmocka_unit_test(test_updates),
	};

	return cmocka_run_group_tests_name("trainer_cpu", tests, NULL, NULL);
}
