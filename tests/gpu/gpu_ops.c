// links: trainer_cuda trainer_ops trainer_loader trainer_comm
/* The kernels on the GPU of this machine, beside the CPU back end: what tests/unit/trainer_cuda_test.c does on an emulation. */
#include <stdio.h>

#include "common/base/error.h"

#include "tests/support/augment_parity.h"
#include "tests/support/cmocka.h"
#include "tests/support/ops_parity_chain.h"
#include "tests/support/ops_parity_code.h"

enum { SKIPPED = 77 };

static struct parity gpu;

static uint64_t no_kernels(void)
{
	return 0;
}

static void test_small(void **state)
{
	(void)state;
	parity_cases(&gpu, ops_cases, COUNT_OF(ops_cases));
}

static void test_large(void **state)
{
	(void)state;
	parity_cases(&gpu, parity_large, COUNT_OF(parity_large));
}

static void test_state(void **state)
{
	(void)state;
	parity_memory(&gpu);
	parity_invalid(&gpu);
	parity_updates(&gpu);
	parity_converts(&gpu);
	parity_finite(&gpu);
}

static void test_codes(void **state)
{
	(void)state;
	parity_codes(&gpu);
	parity_marks(&gpu);
}

static void test_chains(void **state)
{
	(void)state;
	parity_together(&gpu);
	parity_apart(&gpu);
	parity_passes(&gpu);
	parity_captures(&gpu);
}

static void test_augment(void **state)
{
	(void)state;
	augment_parity_all(gpu.device);
	augment_parity_order(gpu.device);
	augment_parity_refused(gpu.device);
}

/* What a person reads where the GPU cannot be used: the script looks at it. */
static int gpu_ops_tell(int rc, const struct problem *problem)
{
	printf("%s (%s). %s.\n", problem->message, problem->detail, problem->hint);
	return rc == E_UNAVAILABLE || rc == E_UNSUPPORTED ? SKIPPED : 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),   cmocka_unit_test(test_large),
		cmocka_unit_test(test_state),   cmocka_unit_test(test_chains),
		cmocka_unit_test(test_augment), cmocka_unit_test(test_codes),
	};
	struct problem problem = {0};
	int rc = ops_cuda_new(0, &gpu.device, &problem);

	if (rc == 0)
		rc = ops_cpu_new(0, &gpu.cpu, &problem);
	if (rc != 0)
		return gpu_ops_tell(rc, &problem);
	gpu.kernels = no_kernels;
	rc = cmocka_run_group_tests_name("gpu_trainer_ops", tests, NULL, NULL);
	ops_free(gpu.cpu);
	ops_free(gpu.device);
	return rc;
}
