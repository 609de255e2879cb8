// links: trainer_cuda_emulated trainer_ops trainer_comm
// alone: it has the back end of GPUs on an emulation of CUDA
/* The kernels of GPUs without a GPU: their own files, on an emulation of CUDA, beside the CPU back end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/ops_parity_code.h"
#include "tests/support/ops_parity_product.h"

static void begin(struct parity *parity)
{
	struct problem problem = {0};

	parity->kernels = emulation_kernels;
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
	emulation_set_order(EMULATION_MIXED);
	parity_cases(&parity, parity_large, COUNT_OF(parity_large));
	emulation_set_order(EMULATION_FORWARDS);
	end(&parity);
}

static void compare_bits(const struct ops_value *found, const struct ops_value *wanted)
{
	if (wanted->values)
		assert_memory_equal(found->values, wanted->values,
				    ops_run_count(&wanted->is) * sizeof(double));
}

/* Whatever runs first, each bit is the same: no sum depends on it, and no barrier lacks. */
static void test_orders(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	for (size_t i = 0; i < COUNT_OF(parity_large); i++) {
		struct ops_case_run runs[EMULATION_ORDERS];

		for (enum emulation_order order = 0; order < EMULATION_ORDERS; order++) {
			emulation_set_order(order);
			ops_case_begin(&runs[order], &parity_large[i], TENSOR_FP32, 5);
			assert_int_equal(ops_case_forward(parity.device, &runs[order]), 0);
			ops_case_backward(parity.device, &runs[order]);
			for (size_t k = 0; k < OP_IN_MAX; k++)
				compare_bits(&runs[order].slope[k], &runs[0].slope[k]);
			for (size_t k = 0; k < OP_OUT_MAX; k++)
				compare_bits(&runs[order].out[k], &runs[0].out[k]);
		}
		for (enum emulation_order order = 0; order < EMULATION_ORDERS; order++)
			ops_case_end(&runs[order]);
	}
	emulation_set_order(EMULATION_FORWARDS);
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

static void test_codes(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	emulation_set_order(EMULATION_MIXED);
	parity_codes(&parity);
	emulation_set_order(EMULATION_FORWARDS);
	parity_marks(&parity);
	end(&parity);
}

static void test_chains(void **state)
{
	struct parity parity;

	(void)state;
	begin(&parity);
	parity_together(&parity);
	parity_apart(&parity);
	parity_passes(&parity);
	parity_captures(&parity);
	parity_product_passes(&parity);
	end(&parity);
}

/* The walk over engines, which tests/gpu makes with large shapes: each of three products has two here. */
static void test_engines(void **state)
{
	const size_t products = 7; /* the first of the cases */
	struct parity parity;

	(void)state;
	emulation_set_engine(512);
	begin(&parity);
	emulation_set_engine(0);
	assert_int_equal(parity_engines(&parity, ops_cases, products),
			 products * COUNT_OF(parity_types) * 3 * 2);
	end(&parity);
}

/* --- what cannot be --- */

static void expect_problem(int device, int code, const char *message, const char *detail)
{
	struct problem problem = {0};
	struct ops *ops = NULL;

	assert_int_equal(ops_cuda_new(device, &ops, &problem), code);
	assert_null(ops);
	assert_int_equal(problem.code, code);
	assert_non_null(strstr(problem.message, message));
	assert_non_null(strstr(problem.detail, detail));
	assert_int_equal(emulation_taken(), 0);
}

static void test_no_device(void **state)
{
	const int no_driver = 35; /* cudaErrorInsufficientDriver */
	struct problem problem = {0};
	struct ops *ops;

	(void)state;
	emulation_set_devices(0);
	expect_problem(0, E_UNAVAILABLE, "no GPU can be used", "no device");
	emulation_set_devices(-no_driver);
	expect_problem(0, E_UNAVAILABLE, "no GPU can be used", "cudaGetDeviceCount");
	emulation_set_devices(2);
	expect_problem(2, E_NOT_FOUND, "there is no GPU 2", "it has 2");
	expect_problem(-1, E_NOT_FOUND, "there is no GPU -1", "it has 2");
	assert_int_equal(ops_cuda_new(1, &ops, &problem), 0);
	ops_free(ops);
	emulation_set_devices(1);
}

static void test_no_memory(void **state)
{
	struct problem problem = {0};
	struct ops *ops;

	(void)state;
	for (int64_t count = 0; count < 2; count++) {
		emulation_set_memory(count);
		expect_problem(0, -ENOMEM, "no memory", "");
	}
	emulation_set_memory(2);
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	assert_null(ops_take(ops, 100));
	emulation_set_memory(-1);
	void *memory = ops_take(ops, 100);

	assert_non_null(memory);
	ops_give(ops, memory, 100);
	ops_free(ops);
}

static void test_broken(void **state)
{
	struct problem problem = {0};
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	assert_int_equal(ops_fault_tell(ops, E_INVALID, &problem, "step %d", 811), E_INVALID);
	assert_non_null(strstr(problem.message, "step 811: cuda: "));
	emulation_break(0);
	assert_int_equal(ops_wait(ops), -EIO);
	assert_int_equal(ops_fault_tell(ops, -EIO, &problem, "step %d", 812), -EIO);
	assert_string_equal(problem.message, "step 812: GPU 0 (emulated GPU): cudaErrorEmulated: "
					     "an error of the emulation");
	assert_non_null(strstr(problem.detail, "seen behind the begin; a GPU runs late"));
	assert_non_null(strstr(problem.hint, "Xid"));
	ops_free(ops);
}

static void expect_unsupported(struct ops *ops, const struct ops_call *call, const char *detail)
{
	struct problem problem = {0};
	size_t size;

	assert_int_equal(ops_workspace(ops, call, &size, &problem), E_UNSUPPORTED);
	assert_non_null(strstr(problem.message, op_text(call->kind)));
	assert_non_null(strstr(problem.detail, detail));
}

static void test_unsupported(void **state)
{
	const struct op_attributes heads = {.heads = 1};
	struct ops_call call = {.kind = OP_ATTENTION, .attributes = &heads, .in_count = 1};
	struct problem problem = {0};
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	call.in[0].is = (struct op_tensor){TENSOR_FP32, OPS_SHAPE3(1, 2, 3 * 129)};
	expect_unsupported(ops, &call, "128 channels");
	call.in[0].is = (struct op_tensor){TENSOR_FP64, OPS_SHAPE3(1, 2, 6)};
	expect_unsupported(ops, &call, "fp64");
	ops_free(ops);
}

/* --- the emulation: what it promises is seen to fail --- */

/* Runs `run` in a child, which must end by a signal or by the sanitizer. */
static void expect_end(void (*run)(struct ops *ops), struct ops *ops)
{
	int status = 0;

	fflush(stdout);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)!freopen("/dev/null", "w", stderr);
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka would catch it */
		run(ops);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void touch_memory(struct ops *ops)
{
	volatile char *memory = ops_take(ops, 64);

	assert_int_equal(ops_wait(ops), 0);
	memory[0] = 1;
}

/* A tensor whose memory is one number too short. */
static void run_past_end(struct ops *ops)
{
	const struct op_attributes is = {.function = OP_RELU};
	struct ops_call call = {
		.kind = OP_ACTIVATION, .attributes = &is, .in_count = 1, .out_count = 1};

	call.in[0].is = call.out[0].is = (struct op_tensor){TENSOR_FP32, OPS_SHAPE1(257)};
	call.in[0].data = ops_take(ops, 257 * sizeof(float));
	call.out[0].data = ops_take(ops, 256 * sizeof(float));
	assert_int_equal(ops_run(ops, &call), 0);
	assert_int_equal(ops_wait(ops), 0);
}

static void test_emulation(void **state)
{
	struct problem problem = {0};
	struct ops *ops;

	(void)state;
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	expect_end(touch_memory, ops);
#if defined(__SANITIZE_ADDRESS__)
	expect_end(run_past_end, ops);
#else
	(void)run_past_end;
#endif
	ops_free(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),     cmocka_unit_test(test_large),
		cmocka_unit_test(test_orders),    cmocka_unit_test(test_state),
		cmocka_unit_test(test_codes),     cmocka_unit_test(test_chains),
		cmocka_unit_test(test_no_device), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_broken),    cmocka_unit_test(test_unsupported),
		cmocka_unit_test(test_emulation), cmocka_unit_test(test_engines),
	};

	return cmocka_run_group_tests_name("trainer_cuda", tests, NULL, NULL);
}
