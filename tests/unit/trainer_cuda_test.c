// links: trainer_cuda_emulated trainer_ops
// alone: it has the back end of GPUs on an emulation of CUDA
/* The kernels of GPUs without a GPU: their own files, on an emulation of CUDA, beside the CPU back end. */
#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/ops_parity.h"

static void begin(struct parity *parity)
{
	struct problem problem = {0};

	assert_int_equal(ops_cpu_new(1, &parity->cpu, &problem), 0);
	assert_int_equal(ops_cuda_new(0, &parity->device, &problem), 0);
}

static void end(struct parity *parity)
{
	ops_free(parity->cpu);
	ops_free(parity->device);
	assert_int_equal(emulation_taken(), 0);
}

static void test_small(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	parity_cases(&parity, ops_cases, COUNT_OF(ops_cases));
	end(&parity);
}

static void test_large(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	parity_cases(&parity, parity_large, COUNT_OF(parity_large));
	end(&parity);
}

static void test_state(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	parity_memory(&parity);
	parity_invalid(&parity);
	parity_updates(&parity);
	parity_converts(&parity);
	parity_finite(&parity);
	end(&parity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_state),
	};

	return cmocka_run_group_tests_name("trainer_cuda", tests, NULL, NULL);
}
