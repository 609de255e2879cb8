// links: trainer_cuda trainer_ops trainer_loader trainer_comm
/* The kernels on the GPU of this machine, beside the CPU back end: what tests/unit/trainer_cuda_test.c does on an emulation.
 *
 * A GPU that met a fault does nothing more for its process. So tests run in a process of their own up to the first that fails, and
 * those behind it in the next one: one fault does not hide what the other kernels do.
 *
 *     gpu_ops [WORD]      tests whose name holds WORD */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/augment_parity.h"
#include "tests/support/cmocka.h"
#include "tests/support/ops_parity_code.h"
#include "tests/support/ops_parity_product.h"

enum {
	SKIPPED = 77,
	FAILED_MAX = 12,
	TESTS_MAX = COUNT_OF(ops_cases) + COUNT_OF(parity_large) + COUNT_OF(parity_products) + 8
};

static struct parity gpu;

static uint64_t no_kernels(void)
{
	return 0;
}

static void test_case(void **state)
{
	const struct ops_case *const *is = *state;

	parity_cases(&gpu, *is, 1);
}

static void test_engines(void **state)
{
	const struct ops_case *const *is = *state;

	printf("%s: %d engines give the processor's numbers\n", (*is)->name,
	       parity_engines(&gpu, *is, 1));
}

static void test_state(void **state)
{
	(void)state;
	parity_memory(&gpu);
	parity_invalid(&gpu);
	parity_converts(&gpu);
	parity_finite(&gpu);
}

static void test_updates(void **state)
{
	(void)state;
	parity_updates(&gpu);
}

static void test_codes(void **state)
{
	(void)state;
	parity_codes(&gpu);
	parity_marks(&gpu);
}

static void test_together(void **state)
{
	(void)state;
	parity_together(&gpu);
	parity_apart(&gpu);
}

static void test_passes(void **state)
{
	(void)state;
	parity_passes(&gpu);
	parity_captures(&gpu);
	parity_product_passes(&gpu);
}

static void test_augment(void **state)
{
	(void)state;
	augment_parity_all(gpu.device);
	augment_parity_order(gpu.device);
	augment_parity_refused(gpu.device);
}

/* --- the tests in their order --- */

static bool gpu_ops_is_product(const struct ops_case *is)
{
	return is->kind == OP_CONV || is->kind == OP_LINEAR;
}

static size_t gpu_ops_add_case(struct CMUnitTest tests[], size_t count, const struct ops_case *is,
			       CMUnitTestFunction run)
{
	static const struct ops_case *all[TESTS_MAX];

	all[count] = is;
	tests[count] = (struct CMUnitTest){
		.name = is->name, .test_func = run, .initial_state = &all[count]};
	return count + 1;
}

/* Those that cuDNN computes, or all others. */
static size_t gpu_ops_add(struct CMUnitTest tests[], size_t count, const struct ops_case *cases,
			  size_t case_count, bool products)
{
	for (size_t i = 0; i < case_count; i++)
		if (gpu_ops_is_product(&cases[i]) == products)
			count = gpu_ops_add_case(tests, count, &cases[i], test_case);
	return count;
}

/* Our own kernels first, what is the least certain last. */
static size_t gpu_ops_tests(struct CMUnitTest tests[TESTS_MAX])
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(test_state),    cmocka_unit_test(test_updates),
		cmocka_unit_test(test_codes),    cmocka_unit_test(test_augment),
		cmocka_unit_test(test_together),
	};
	size_t count = gpu_ops_add(tests, 0, ops_cases, COUNT_OF(ops_cases), false);

	count = gpu_ops_add(tests, count, parity_large, COUNT_OF(parity_large), false);
	memcpy(tests + count, others, sizeof(others));
	count += COUNT_OF(others);
	count = gpu_ops_add(tests, count, ops_cases, COUNT_OF(ops_cases), true);
	count = gpu_ops_add(tests, count, parity_large, COUNT_OF(parity_large), true);
	for (size_t i = 0; i < COUNT_OF(parity_products); i++)
		count = gpu_ops_add_case(tests, count, &parity_products[i], test_engines);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_passes);
	return count;
}

/* --- processes --- */

/* What a person reads where the GPU cannot be used: the script looks at it. */
static int gpu_ops_tell(int rc, const struct problem *problem)
{
	printf("%s (%s). %s.\n", problem->message, problem->detail, problem->hint);
	return rc == E_UNAVAILABLE || rc == E_UNSUPPORTED ? SKIPPED : 1;
}

/* From the test *at on; `at` is where it is. 0: up to the end. */
static int gpu_ops_run(const struct CMUnitTest tests[], size_t count, volatile size_t *at)
{
	struct problem problem = {0};
	int rc = ops_cuda_new(0, &gpu.device, &problem);

	if (rc == 0)
		rc = ops_cpu_new(0, &gpu.cpu, &problem);
	if (rc != 0)
		return gpu_ops_tell(rc, &problem);
	gpu.kernels = no_kernels;
	for (; *at < count; ++*at)
		if (_cmocka_run_group_tests(tests[*at].name, &tests[*at], 1, NULL, NULL) != 0) {
			const struct problem *fault = gpu.device->backend->fault(gpu.device);

			if (problem_is_set(fault))
				printf("%s (%s)\n", fault->message, fault->detail);
			return 1;
		}
	ops_free(gpu.cpu);
	ops_free(gpu.device);
	return 0;
}

static int gpu_ops_process(const struct CMUnitTest tests[], size_t count, volatile size_t *at)
{
	int status = 0;

	(void)fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		int rc = gpu_ops_run(tests, count, at);

		(void)fflush(stdout);
		_exit(rc);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Leaves those whose name holds `word`. */
static size_t gpu_ops_named(struct CMUnitTest tests[], size_t count, const char *word)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (strstr(tests[i].name, word))
			tests[left++] = tests[i];
	return left;
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[TESTS_MAX];
	const size_t count = gpu_ops_named(tests, gpu_ops_tests(tests), argc > 1 ? argv[1] : "");
	volatile size_t *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0;
	int rc;

	if (at == MAP_FAILED || count == 0)
		return 1;
	while ((rc = gpu_ops_process(tests, count, at)) != 0 && rc != SKIPPED) {
		printf("FAILED: %s\n", *at < count ? tests[*at].name : "the end");
		if (++failed == FAILED_MAX || ++*at >= count)
			break;
	}
	if (failed > 0)
		printf("%d of %zu tests failed%s\n", failed, count,
		       failed == FAILED_MAX ? "; those behind were not run" : "");
	return failed > 0 ? 1 : rc;
}
