// links: trainer_ops
/* The gradient of every op against central differences in FP64. */
#include <math.h>
#include <stdio.h>

#include "tests/support/cmocka.h"
#include "tests/support/ops_cases.h"

#define LEAST 1e-6 /* relative error that the product promises */
#define STEP  1e-5

/* The number that is differentiated: the sum of dy * y; of losses, as the backward op scales them. */
static double measure(struct ops *ops, struct ops_case_run *run)
{
	double sum = 0;

	assert_int_equal(ops_case_forward(ops, run), 0);
	for (size_t i = 0; i < ops_run_count(&run->out[0].is); i++)
		sum += run->out[0].values[i] * run->dy.values[i];
	return run->is->kind == OP_CROSS_ENTROPY ? sum * 0.25 : sum;
}

static double difference(struct ops *ops, struct ops_case_run *run, size_t nth, size_t place)
{
	double *value = &run->in[nth].values[place];
	double kept = *value;
	double more;
	double less;

	*value = kept + STEP;
	more = measure(ops, run);
	*value = kept - STEP;
	less = measure(ops, run);
	*value = kept;
	return (more - less) / (2 * STEP);
}

/* The largest slope is the measure of small ones: what is 0 has no relative error. */
static double largest(const struct ops_value *slope)
{
	double size = 1e-3;

	for (size_t i = 0; i < ops_run_count(&slope->is); i++)
		size = fabs(slope->values[i]) > size ? fabs(slope->values[i]) : size;
	return size;
}

static void test_gradients(void **state)
{
	struct ops *ops;
	size_t compared = 0;

	(void)state;
	assert_int_equal(ops_cpu_new(2, &ops, &(struct problem){0}), 0);
	for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
		struct ops_case_run run;

		ops_case_begin(&run, &ops_cases[i], TENSOR_FP64, 11 + i);
		(void)measure(ops, &run);
		ops_case_backward(ops, &run);
		for (size_t nth = 0; nth < run.is->in_count; nth++)
			for (size_t k = 0;
			     run.slope[nth].values && k < ops_run_count(&run.in[nth].is); k++) {
				double found = run.slope[nth].values[k];
				double wanted = difference(ops, &run, nth, k);

				compared++;
				if (!(fabs(found - wanted) <= LEAST * largest(&run.slope[nth])))
					fail_msg(
						"%s: input %zu, element %zu: %.12g, by differences %.12g",
						run.is->name, nth, k, found, wanted);
			}
		ops_case_end(&run);
	}
	assert_true(compared > 1500);
	ops_free(ops);
}

/* Gradients of parameters are added where the call says so. */
static void test_accumulate(void **state)
{
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cpu_new(2, &ops, &(struct problem){0}), 0);
	for (size_t i = 0; i < COUNT_OF(ops_cases); i++) {
		const struct ops_case *is = &ops_cases[i];
		struct ops_case_run run;

		ops_case_begin(&run, is, TENSOR_FP64, 5);
		assert_int_equal(ops_case_forward(ops, &run), 0);
		ops_case_backward(ops, &run);
		for (const struct ops_case_step *step = is->steps; step->takes; step++) {
			const struct ops_value *slope =
				ops_case_named(&run, step->gives[strlen(step->gives) - 1]);
			size_t count = ops_run_count(&slope->is);
			double *once;

			if (strchr(step->gives, 'B') == NULL && strchr(step->gives, 'C') == NULL)
				continue;
			if (step->kind == OP_SLICE)
				continue;
			once = malloc(count * sizeof(*once));
			assert_non_null(once);
			memcpy(once, slope->values, count * sizeof(*once));
			ops_case_step_run(ops, &run, step, true);
			for (size_t k = 0; k < count; k++)
				assert_true(fabs(slope->values[k] - 2 * once[k]) <=
					    1e-12 * (1 + fabs(once[k])));
			free(once);
		}
		ops_case_end(&run);
	}
	ops_free(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients),
		cmocka_unit_test(test_accumulate),
	};

	return cmocka_run_group_tests_name("trainer_gradient", tests, NULL, NULL);
}
