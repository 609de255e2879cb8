/* Convolutions and linear layers beside the CPU back end, by each engine that the device has for them: less workspace is another
 * engine. And a product in a pass that becomes a graph. */
#pragma once

#include "tests/support/ops_parity_chain.h"

/* On an H200 the jobs of ResNet-50 and of the transformer take engines of cuDNN that no small shape has. Of these shapes cuDNN 9.19
 * offers them first, in 16 bits: forward 62, 22, 45, 47; data 67, 73, 46; weights 65, 33. Most want workspace. */
/* clang-format off */
static const struct ops_case parity_products[] = {
	{"linear 2048x256 to 512", OP_LINEAR, {.factor = 0}, {OPS_SHAPE2(2048, 256), OPS_SHAPE2(512, 256), OPS_SHAPE1(512)}, 3,
	 {{OP_LINEAR_DATA, "yb", "A", 0, 0}, {OP_LINEAR_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 3x3 of 256 channels", OP_CONV, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}},
	 {OPS_SHAPE4(8, 14, 14, 256), OPS_SHAPE4(256, 3, 3, 256)}, 2, {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 3x3 of 64 channels", OP_CONV, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}},
	 {OPS_SHAPE4(8, 56, 56, 64), OPS_SHAPE4(64, 3, 3, 64)}, 2, {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 1x1 stride 2, odd", OP_CONV, {.window = {1, 1}, .stride = {2, 2}},
	 {OPS_SHAPE4(8, 29, 29, 128), OPS_SHAPE4(256, 1, 1, 128)}, 2, {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
	{"conv 7x7 of a picture", OP_CONV, {.window = {7, 7}, .stride = {2, 2}, .pad = {3, 3}},
	 {OPS_SHAPE4(2, 224, 224, 3), OPS_SHAPE4(64, 7, 7, 3)}, 2, {{OP_CONV_DATA, "yb", "A", 0, 0}, {OP_CONV_WEIGHT, "ay", "B", 0, 0}}},
};
/* clang-format on */

/* `call` with all engines, each into memory that the one before has not left its answer in. Returns how many there were. */
static inline int parity_engines_run(struct ops *ops, struct ops_call *call, const char *name,
				     const struct ops_value *wanted)
{
	size_t bytes = ops_run_bytes(wanted);
	uint8_t *data = malloc(bytes + 1);
	struct ops_value found;
	size_t last = SIZE_MAX;
	int engines = 0;

	assert_non_null(data);
	ops_value_new(&found, wanted->is);
	for (call->workspace_size = SIZE_MAX; last > 0;) {
		struct problem problem = {0};
		size_t size = 0;

		if (ops_workspace(ops, call, &size, &problem) != 0)
			fail_msg("%s: %s (%s)", name, problem.message, problem.detail);
		if (size >= last)
			break;
		memset(data, 0x55, bytes);
		assert_int_equal(ops_copy(ops, call->out[0].data, data, bytes, OPS_IN), 0);
		call->workspace = size > 0 ? ops_take(ops, size) : NULL;
		call->workspace_size = size;
		int rc = ops_run(ops, call);

		rc = rc == 0 ? ops_copy(ops, data, call->out[0].data, bytes, OPS_OUT) : rc;
		if (rc != 0) {
			(void)ops_fault_tell(ops, rc, &problem, "%s, %zu bytes of workspace", name,
					     size);
			fail_msg("%s (%s)", problem.message, problem.detail);
		}
		ops_give(ops, call->workspace, size);
		for (size_t k = 0; k < ops_run_count(&found.is); k++)
			found.values[k] = ops_run_load(found.is.type, data, k);
		parity_compare(name, op_text(call->kind), &found, wanted, 1);
		engines++;
		last = size;
		call->workspace_size = size > 0 ? size - 1 : 0;
	}
	free(found.values);
	free(data);
	return engines;
}

static inline int parity_engines_call(struct ops *ops, struct ops_case_run *run,
				      struct ops_call *call, const char *takes,
				      const struct ops_value *wanted)
{
	for (size_t i = 0; i < call->in_count; i++) {
		const struct ops_value *in = ops_case_named(run, takes[i]);

		call->in[i] = (struct ops_tensor){in->is, ops_run_put(ops, in)};
	}
	call->out[0] = (struct ops_tensor){wanted->is, ops_run_put(ops, wanted)};
	int engines = parity_engines_run(ops, call, run->is->name, wanted);

	for (size_t i = 0; i < call->in_count; i++)
		ops_give(ops, call->in[i].data, ops_run_bytes(ops_case_named(run, takes[i])));
	ops_give(ops, call->out[0].data, ops_run_bytes(wanted));
	return engines;
}

/* Forward and both backward products of each case, in all types. Returns how many engines ran. */
static inline int parity_engines(const struct parity *parity, const struct ops_case *cases,
				 size_t count)
{
	int engines = 0;

	for (size_t i = 0; i < count * COUNT_OF(parity_types); i++) {
		const struct ops_case *is = &cases[i / COUNT_OF(parity_types)];
		struct ops_case_run run;
		struct ops_call call = {.kind = is->kind,
					.attributes = &is->is,
					.in_count = is->in_count,
					.out_count = 1,
					.pass = &ops_case_pass};

		ops_case_begin(&run, is, parity_types[i % COUNT_OF(parity_types)], 77);
		assert_int_equal(ops_case_forward(parity->cpu, &run), 0);
		ops_case_backward(parity->cpu, &run);
		engines += parity_engines_call(parity->device, &run, &call, "abc", &run.out[0]);
		for (const struct ops_case_step *step = is->steps; step->takes; step++) {
			struct op_attributes back = ops_case_back_attributes(is, step);

			if (step->kind == OP_BIAS_BACK) /* no product */
				continue;
			call.kind = step->kind;
			call.attributes = &back;
			call.in_count = strlen(step->takes);
			engines += parity_engines_call(parity->device, &run, &call, step->takes,
						       ops_case_named(&run, step->gives[0]));
		}
		ops_case_end(&run);
	}
	return engines;
}

/* --- a product in a pass --- */

static inline void chain_make_product(struct parity_chain *chain)
{
	struct ops_call *call = chain_call(chain, OP_LINEAR, &chain_drop);

	call->in[call->in_count++] =
		chain_tensor(chain, TENSOR_BF16, (struct tensor_shape)OPS_SHAPE2(256, 256));
	call->in[call->in_count++] =
		chain_tensor(chain, TENSOR_BF16, (struct tensor_shape)OPS_SHAPE2(128, 256));
	call->in[call->in_count++] =
		chain_tensor(chain, TENSOR_BF16, (struct tensor_shape)OPS_SHAPE1(128));
	call->out[call->out_count++] =
		chain_tensor(chain, TENSOR_BF16, (struct tensor_shape)OPS_SHAPE2(256, 128));
	chain_workspace(chain, call);
}

/* A linear layer with its bias in bf16, call by call, captured, and as a graph that runs again. */
static inline void parity_product_passes(const struct parity *parity)
{
	struct parity_chain wanted, found;

	chain_begin(&wanted, parity->cpu);
	chain_begin(&found, parity->device);
	chain_make_product(&wanted);
	chain_make_product(&found);
	for (uint64_t i = 0; i < 4; i++) {
		struct ops_value values[CHAIN_TENSORS] = {0};
		size_t count;

		chain_fill(&wanted, i);
		chain_fill(&found, i);
		(void)chain_pass(&wanted, &ops_case_pass, 0);
		chain_results(&wanted, values, &count);
		assert_int_equal(chain_pass(&found, &ops_case_pass, 9), i >= 2);
		chain_compare(&found, "a product in a pass", values, 1);
		for (size_t k = 0; k < count; k++)
			free(values[k].values);
	}
	chain_end(&wanted);
	chain_end(&found);
}
