// links: trainer_cuda_conv trainer_cuda_emulated trainer_cudnn trainer_ops
// alone: it has the back end of GPUs on an emulation of CUDA, with a fake cuDNN
/* Products of the back end of GPUs: what reaches cuDNN, and the kernel that writes the bias. The fake cuDNN computes nothing, so
 * y is the bias afterwards. */
#include <errno.h>
#include <math.h>

#include "common/base/error.h"

#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/cudnn_fake/cudnn_lab.h"
#include "trainer_image/ops/ops.h"

enum { ROWS = 37, IN = 5, MEMORY = 1 << 16 };

static struct ops *begin(struct cudnn_fake **ret_fake)
{
	struct ops *ops = NULL;
	struct problem problem = {0};

	cudnn_use("fake");
	*ret_fake = cudnn_state();
	**ret_fake = (struct cudnn_fake){.version = 91900, .first = {{.id = 7, .workspace = 512}}};
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	return ops;
}

static void end(struct ops *ops, const struct cudnn_fake *fake)
{
	ops_free(ops);
	assert_int_equal(fake->live, 0);
	assert_int_equal(fake->handles, 0);
	assert_int_equal(emulation_taken(), 0);
}

/* y = x w + bias with `out` channels, at the places 0, 16, 32 and 48 KiB of `memory`. */
static struct ops_call product(enum tensor_type type, int64_t out, char *memory)
{
	static const struct op_attributes none = {.factor = 0};

	return (struct ops_call){
		.kind = OP_LINEAR,
		.attributes = &none,
		.in = {{{type, {2, {ROWS, IN}}}, memory},
		       {{type, {2, {out, IN}}}, memory + MEMORY / 4},
		       {{type, {1, {out}}}, memory + MEMORY / 2}},
		.out = {{{type, {2, {ROWS, out}}}, memory + (size_t)MEMORY / 4 * 3}},
		.in_count = 3,
		.out_count = 1,
	};
}

/* All types, and channels with and without whole packs of 16 bytes. */
static void bias(void **state)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};
	static const int64_t channels[] = {1, 8, 13, 64};
	struct cudnn_fake *fake = NULL;
	struct ops *ops = begin(&fake);
	char *memory = ops_take(ops, MEMORY);
	char *host = malloc(MEMORY);

	(void)state;
	assert_non_null(memory);
	for (int i = 0; i < MEMORY; i++)
		host[i] = (char)(i % 61); /* no NaN in any type */
	for (size_t t = 0; t < COUNT_OF(types); t++)
		for (size_t c = 0; c < COUNT_OF(channels); c++) {
			struct ops_call call = product(types[t], channels[c], memory);
			size_t row = (size_t)channels[c] * tensor_type_size(types[t]);
			struct problem problem = {0};
			size_t workspace = 0;
			int runs = fake->runs;

			assert_int_equal(ops_workspace(ops, &call, &workspace, &problem), 0);
			assert_int_equal(workspace, 512);
			call.workspace_size = workspace;
			call.workspace = ops_take(ops, workspace);
			assert_int_equal(ops_copy(ops, memory, host, MEMORY, OPS_IN), 0);
			assert_int_equal(ops_run(ops, &call), 0);
			assert_int_equal(fake->runs, runs + 1);
			assert_int_equal(fake->ran, 7);
			assert_true(fake->beta >= 1 && fake->beta <= 1);
			assert_ptr_equal(fake->memory[0], call.in[0].data);
			assert_ptr_equal(fake->memory[1], call.in[1].data);
			assert_ptr_equal(fake->memory[2], call.out[0].data);
			assert_ptr_equal(fake->workspace, call.workspace);
			char *y = malloc(MEMORY / 4);

			assert_int_equal(ops_copy(ops, y, call.out[0].data, MEMORY / 4, OPS_OUT),
					 0);
			for (size_t i = 0; i < ROWS; i++)
				assert_memory_equal(y + i * row, host + MEMORY / 2, row);
			/* Nothing behind it is written. */
			assert_memory_equal(y + ROWS * row,
					    host + (size_t)MEMORY / 4 * 3 + ROWS * row,
					    MEMORY / 4 - ROWS * row);
			free(y);
			ops_give(ops, call.workspace, workspace);
		}
	free(host);
	ops_give(ops, memory, MEMORY);
	end(ops, fake);
}

static void faults(void **state)
{
	struct cudnn_fake *fake = NULL;
	struct ops *ops = NULL;
	struct problem problem = {0};
	size_t workspace = 0;

	(void)state;
	setenv("TRAINER_CUDNN", "/none", 1);
	assert_int_equal(ops_cuda_new(0, &ops, &problem), -ENOENT);
	assert_string_equal(problem.message, "cuDNN cannot be loaded: no usable libcudnn.so.9");
	assert_int_equal(emulation_taken(), 0);

	ops = begin(&fake);
	char *memory = ops_take(ops, MEMORY);
	struct ops_call call = product(TENSOR_BF16, 8, memory);

	fake->first[0].workspace = (INT64_C(1) << 30) + 1; /* over the limit of the planner */
	assert_int_equal(ops_workspace(ops, &call, &workspace, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.message, "no engine for forward 37x5 to 8 in bf16");
	call = product(TENSOR_BF16, 16, memory); /* refusals of a shape are remembered */
	fake->first[0].workspace = 1 << 30;
	assert_int_equal(ops_workspace(ops, &call, &workspace, &problem), 0);
	assert_int_equal(workspace, 1 << 30);
	fake->run = 5003;
	call.workspace_size = workspace;
	assert_int_equal(ops_run(ops, &call), -EIO);
	/* The first fault stays: those behind it come of it. */
	emulation_break(0);
	assert_int_equal(ops_wait(ops), -EIO);
	assert_int_equal(ops_fault_tell(ops, -EIO, &problem, "step 1"), -EIO);
	assert_string_equal(problem.message,
			    "step 1: GPU 0 (emulated GPU): cuDNN: eng7_k2=5 of forward 37x5 to 16 "
			    "in bf16 failed, status 5003");
	assert_string_equal(problem.detail, "the fake says why");
	ops_give(ops, memory, MEMORY);
	end(ops, fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bias),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests_name("trainer_cuda_conv", tests, NULL, NULL);
}
