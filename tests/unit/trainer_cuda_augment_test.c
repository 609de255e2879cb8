// links: trainer_cuda_emulated trainer_ops trainer_loader
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* Augmentation on a GPU without a GPU: its kernels on an emulation of CUDA, beside the processor, bit by bit. */
#include "tests/support/augment_parity.h"
#include "tests/support/cuda_emulation/emulation.h"

static struct ops *begin(void)
{
	struct problem problem = {0};
	struct ops *ops = NULL;

	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	return ops;
}

static void end(struct ops *ops)
{
	ops_free(ops);
	assert_int_equal(emulation_taken(), 0);
}

static void test_bits(void **state)
{
	struct ops *ops = begin();
	uint64_t kernels = emulation_kernels();

	(void)state;
	augment_parity_all(ops);
	assert_true(emulation_kernels() > kernels);
	end(ops);
}

/* The threads of a block in another order: no barrier lacks. */
static void test_orders(void **state)
{
	struct ops *ops = begin();

	(void)state;
	for (enum emulation_order order = 0; order < EMULATION_ORDERS; order++) {
		emulation_set_order(order);
		augment_parity_order(ops);
	}
	emulation_set_order(EMULATION_FORWARDS);
	end(ops);
}

/* An upload is on its way while the host goes on: nothing has run, and the host's memory is not free. */
static void test_upload_is_behind(void **state)
{
	struct ops *ops = begin();
	struct augment_parity parity;
	struct ops_intake_batch batch;
	uint64_t kernels;
	bool is_read = true;

	(void)state;
	augment_parity_begin(&parity, ops, "random_crop width=33 height=41");
	assert_int_equal(ops_intake_is_read(ops, parity.intake, 0, false, &is_read), 0);
	assert_true(is_read);
	batch = augment_parity_fill(&parity, 0, 4);
	kernels = emulation_kernels();
	assert_int_equal(ops_intake_upload(ops, parity.intake, 0, &batch), 0);
	assert_int_equal(ops_intake_put(ops, parity.intake, 0, parity.to, batch.count), 0);
	assert_int_equal(ops_intake_is_read(ops, parity.intake, 0, false, &is_read), 0);
	assert_false(is_read);
	assert_true(emulation_kernels() == kernels);
	assert_int_equal(ops_intake_is_read(ops, parity.intake, 0, true, &is_read), 0);
	assert_true(is_read);
	assert_true(emulation_kernels() == kernels); /* the kernel is behind it */
	memset(parity.host, 0xee, batch.bytes);
	augment_parity_compare(&parity, batch.count, batch.count);
	assert_true(emulation_kernels() == kernels + 1);
	augment_parity_end(&parity);
	end(ops);
}

static void test_refused(void **state)
{
	struct ops *ops = begin();

	(void)state;
	augment_parity_refused(ops);
	end(ops);
}

static void test_no_memory(void **state)
{
	struct ops *ops = begin();
	const uint8_t table[(size_t)3 * 256 * sizeof(float)] = {0};
	const struct ops_intake_kind kind = {4, 4, 3, TENSOR_FP32, 2, 4096, table};
	struct ops_intake *intake = NULL;

	(void)state;
	for (int64_t count = 0; count < 3; count++) {
		emulation_set_memory(count);
		assert_int_equal(ops->backend->intake->open(ops, &kind, &intake), E_LIMIT);
		assert_null(intake);
	}
	emulation_set_memory(-1);
	emulation_set_host_memory(100, -1);
	assert_null(ops->backend->intake->host_take(ops, 101));
	emulation_set_host_memory(SIZE_MAX, -1);
	end(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),      cmocka_unit_test(test_orders),
		cmocka_unit_test(test_refused),   cmocka_unit_test(test_upload_is_behind),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("trainer_cuda_augment", tests, NULL, NULL);
}
