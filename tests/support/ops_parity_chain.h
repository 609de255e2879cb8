/* Calls in a row beside the CPU back end: several as one pass over memory, and passes that become graphs. */
#pragma once

#include "tests/support/ops_parity.h"

enum { CHAIN_TENSORS = 16, CHAIN_ROOM = 1 << 20 };

/* Calls on one piece of memory, each tensor filled with its own numbers. */
struct parity_chain {
	struct ops *ops;
	uint8_t *memory;
	size_t used;
	struct ops_tensor tensors[CHAIN_TENSORS];
	size_t tensor_count;
	struct ops_call calls[OPS_TOGETHER_MAX];
	size_t count;
};

static inline size_t chain_bytes(const struct ops_tensor *tensor)
{
	return ops_run_count(&tensor->is) * tensor_type_size(tensor->is.type);
}

static inline struct ops_tensor chain_tensor(struct parity_chain *chain, enum tensor_type type,
					     struct tensor_shape shape)
{
	struct ops_tensor tensor = {{type, shape}, chain->memory + chain->used};

	chain->used += (chain_bytes(&tensor) + 255) & ~(size_t)255;
	assert_true(chain->used <= CHAIN_ROOM && chain->tensor_count < CHAIN_TENSORS);
	chain->tensors[chain->tensor_count++] = tensor;
	return tensor;
}

/* All tensors as they were at first; whole numbers are labels below 8. */
static inline void chain_fill(struct parity_chain *chain, uint64_t seed)
{
	for (size_t i = 0; i < chain->tensor_count; i++) {
		const struct ops_tensor *tensor = &chain->tensors[i];
		size_t count = ops_run_count(&tensor->is);
		void *data = malloc(chain_bytes(tensor) + 1);
		uint64_t random = seed * 100 + i;

		assert_non_null(data);
		for (size_t k = 0; k < count; k++) {
			double value = ops_run_random(&random);

			ops_run_store(tensor->is.type, data, k,
				      tensor->is.type == TENSOR_INT32 ? (value + 1) * 4 : value);
		}
		assert_int_equal(
			ops_copy(chain->ops, tensor->data, data, chain_bytes(tensor), OPS_IN), 0);
		free(data);
	}
}

static inline void chain_begin(struct parity_chain *chain, struct ops *ops)
{
	*chain = (struct parity_chain){.ops = ops, .memory = ops_take(ops, CHAIN_ROOM)};
	assert_non_null(chain->memory);
}

static inline void chain_end(struct parity_chain *chain)
{
	ops_give(chain->ops, chain->memory, CHAIN_ROOM);
}

/* Another call, with workspace behind all tensors so far. */
static inline struct ops_call *chain_call(struct parity_chain *chain, enum op_kind kind,
					  const struct op_attributes *is)
{
	struct ops_call *call = &chain->calls[chain->count++];

	*call = (struct ops_call){
		.kind = kind, .attributes = is, .pass = &ops_case_pass, .recompute = true};
	return call;
}

static inline void chain_workspace(struct parity_chain *chain, struct ops_call *call)
{
	struct problem problem = {0};
	size_t bytes = 0;

	call->workspace_size = SIZE_MAX;
	assert_int_equal(ops_workspace(chain->ops, call, &bytes, &problem), 0);
	call->workspace = chain->memory + chain->used;
	call->workspace_size = bytes;
	chain->used += (bytes + 255) & ~(size_t)255;
	assert_true(chain->used <= CHAIN_ROOM);
}

static inline void chain_read(struct parity_chain *chain, const struct ops_tensor *tensor,
			      struct ops_value *ret)
{
	void *data = malloc(chain_bytes(tensor) + 1);

	assert_non_null(data);
	ops_value_new(ret, tensor->is);
	assert_int_equal(ops_copy(chain->ops, data, tensor->data, chain_bytes(tensor), OPS_OUT), 0);
	for (size_t k = 0; k < ops_run_count(&tensor->is); k++)
		ret->values[k] = ops_run_load(tensor->is.type, data, k);
	free(data);
}

/* --- several as one --- */

static const struct op_attributes chain_norm = {
	.training = true, .epsilon = 1e-5, .momentum = 0.1, .function = OP_RELU};

static inline void chain_add_norm(struct parity_chain *chain, enum tensor_type type,
				  struct tensor_shape x)
{
	const struct tensor_shape channels = OPS_SHAPE1(tensor_shape_channels(&x));
	struct ops_call *call = chain_call(chain, OP_BATCH_NORM, &chain_norm);

	call->in[call->in_count++] = chain_tensor(chain, type, x);
	while (call->in_count < 5)
		call->in[call->in_count++] = chain_tensor(chain, TENSOR_FP32, channels);
	call->out[call->out_count++] = chain_tensor(chain, type, x);
	while (call->out_count < 3)
		call->out[call->out_count++] = chain_tensor(chain, TENSOR_FP32, channels);
	chain_workspace(chain, call);
}

static inline void chain_add_add(struct parity_chain *chain, enum tensor_type type,
				 struct tensor_shape x, bool behind)
{
	struct ops_tensor handed = chain->count > 0 ? chain->calls[chain->count - 1].out[0]
						    : chain_tensor(chain, type, x);
	struct ops_call *call = chain_call(chain, OP_ADD, &chain_norm);

	call->in[behind ? 1 : 0] = handed;
	call->in[behind ? 0 : 1] = chain_tensor(chain, type, x);
	call->in_count = 2;
	call->out[call->out_count++] = chain_tensor(chain, type, x);
}

static inline void chain_add_relu(struct parity_chain *chain, enum tensor_type type,
				  struct tensor_shape x)
{
	struct ops_tensor handed = chain->calls[chain->count - 1].out[0];
	struct ops_call *call = chain_call(chain, OP_ACTIVATION, &chain_norm);

	call->in[call->in_count++] = handed;
	call->out[call->out_count++] = chain_tensor(chain, type, x);
}

static inline void chain_add_back(struct parity_chain *chain, enum tensor_type type,
				  struct tensor_shape x)
{
	const struct tensor_shape channels = OPS_SHAPE1(tensor_shape_channels(&x));
	struct ops_call *relu = chain_call(chain, OP_ACTIVATION_BACK, &chain_norm);
	struct ops_call *norm = chain_call(chain, OP_BATCH_NORM_BACK, &chain_norm);

	relu->in[0] = chain_tensor(chain, type, x);
	relu->in[1] = chain_tensor(chain, type, x);
	relu->in_count = 2;
	relu->out[relu->out_count++] = chain_tensor(chain, type, x);
	norm->in[0] = chain_tensor(chain, type, x);
	norm->in[1] = relu->out[0];
	for (norm->in_count = 2; norm->in_count < 5; norm->in_count++)
		norm->in[norm->in_count] = chain_tensor(chain, TENSOR_FP32, channels);
	norm->out[norm->out_count++] = chain_tensor(chain, type, x);
	while (norm->out_count < 3)
		norm->out[norm->out_count++] = chain_tensor(chain, TENSOR_FP32, channels);
	chain_workspace(chain, norm);
}

enum {
	CHAIN_NORM_RELU,
	CHAIN_NORM_ADD_RELU,
	CHAIN_ADD_NORM_RELU,
	CHAIN_ADD_RELU,
	CHAIN_BACK,
	CHAINS
};

static inline void chain_make(struct parity_chain *chain, int which, enum tensor_type type,
			      struct tensor_shape x)
{
	if (which == CHAIN_BACK) {
		chain_add_back(chain, type, x);
		return;
	}
	if (which != CHAIN_ADD_RELU)
		chain_add_norm(chain, type, x);
	if (which != CHAIN_NORM_RELU)
		chain_add_add(chain, type, x, which == CHAIN_ADD_NORM_RELU);
	chain_add_relu(chain, type, x);
}

/* Where the last output, or the workspace of the last call, is moved to. */
enum chain_move {
	CHAIN_STAYS,
	CHAIN_TO_FIRST_INPUT,  /* number for number: still one pass */
	CHAIN_TO_LATER_INPUT,  /* what the call before reads beside what it was handed */
	CHAIN_INTO_INPUT,      /* beside its numbers: one after another */
	CHAIN_INTO_WORKSPACE,  /* of the first call */
	CHAIN_WORK_INTO_INPUT, /* the workspace of the last call lies in an input of the first */
	CHAIN_MOVES,
};

/* Can the chain be moved so? `apart`: it may still run as one. */
static inline bool chain_moved(struct parity_chain *chain, enum chain_move move, bool *apart)
{
	struct ops_call *first = &chain->calls[0];
	struct ops_call *last = &chain->calls[chain->count - 1];

	*apart = move <= CHAIN_TO_LATER_INPUT;
	switch (move) {
	case CHAIN_STAYS: return true;
	case CHAIN_TO_FIRST_INPUT: last->out[0].data = first->in[0].data; return true;
	case CHAIN_TO_LATER_INPUT:
		last->out[0].data = chain->calls[chain->count - 2].in[1].data;
		return first->kind != OP_BATCH_NORM || chain->count == 3;
	case CHAIN_INTO_INPUT: last->out[0].data = (uint8_t *)first->in[0].data + 256; return true;
	case CHAIN_INTO_WORKSPACE:
		last->out[0].data = first->workspace;
		return first->workspace != NULL;
	case CHAIN_WORK_INTO_INPUT:
		last->workspace = first->in[1].data;
		return first->kind == OP_ACTIVATION_BACK;
	case CHAIN_MOVES: break;
	}
	return false;
}

/* All outputs but those handed on. */
static inline void chain_results(struct parity_chain *chain, struct ops_value ret[],
				 size_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = 0; i < chain->count; i++)
		for (size_t k = 0; k < chain->calls[i].out_count; k++)
			if (k > 0 || i + 1 == chain->count)
				chain_read(chain, &chain->calls[i].out[k], &ret[(*ret_count)++]);
}

static inline void chain_one_by_one(struct parity_chain *chain)
{
	chain_fill(chain, 1);
	for (size_t i = 0; i < chain->count; i++)
		assert_int_equal(ops_run(chain->ops, &chain->calls[i]), 0);
}

static inline void chain_compare(struct parity_chain *chain, const char *name,
				 const struct ops_value wanted[], double steps)
{
	struct ops_value found[CHAIN_TENSORS];
	size_t count;

	chain_results(chain, found, &count);
	for (size_t i = 0; i < count; i++) {
		parity_compare(name, "result", &found[i], &wanted[i], steps);
		free(found[i].values);
	}
}

/* As one, wherever its memory lies. What is handed on is not rounded then: another step. */
static inline void chain_check(const struct parity *parity, int which, enum tensor_type type,
			       struct tensor_shape x)
{
	struct parity_chain chain;
	struct ops_value wanted[CHAIN_TENSORS];
	size_t count;

	chain_begin(&chain, parity->device);
	chain_make(&chain, which, type, x);
	chain_one_by_one(&chain);
	chain_results(&chain, wanted, &count);
	for (enum chain_move move = CHAIN_STAYS; move < CHAIN_MOVES; move++) {
		struct parity_chain moved = chain;
		bool apart;
		uint64_t kernels;
		uint64_t alone;

		if (!chain_moved(&moved, move, &apart))
			continue;
		chain_fill(&moved, 1);
		kernels = parity->kernels();
		assert_int_equal(ops_together(parity->device, moved.calls, moved.count),
				 moved.count);
		assert_int_equal(ops_run_together(parity->device, moved.calls, moved.count), 0);
		assert_int_equal(ops_wait(parity->device), 0);
		kernels = parity->kernels() - kernels;
		chain_compare(&moved, "as one", wanted, 2);
		alone = parity->kernels();
		chain_one_by_one(&moved);
		assert_int_equal(ops_wait(parity->device), 0);
		alone = parity->kernels() - alone;
		chain_compare(&moved, "one by one", wanted, 0);
		if (alone > 0) /* who counts them sees that it was one pass, or was not */
			assert_int_equal(kernels, apart ? alone - chain.count + 1 : alone);
	}
	for (size_t i = 0; i < count; i++)
		free(wanted[i].values);
	chain_end(&chain);
}

static inline void parity_together(const struct parity *parity)
{
	static const struct tensor_shape shapes[] = {OPS_SHAPE4(3, 7, 9, 16),
						     OPS_SHAPE4(2, 9, 5, 5)};

	for (int which = 0; which < CHAINS; which++)
		for (size_t i = 0; i < COUNT_OF(parity_types) * COUNT_OF(shapes); i++)
			chain_check(parity, which, parity_types[i / COUNT_OF(shapes)],
				    shapes[i % COUNT_OF(shapes)]);
}

/* What looks like a row of the table but is none. */
static inline void parity_apart(const struct parity *parity)
{
	static const struct op_attributes tanh = {.function = OP_TANH};
	struct parity_chain chain;

	chain_begin(&chain, parity->device);
	chain_make(&chain, CHAIN_NORM_ADD_RELU, TENSOR_FP32, (struct tensor_shape)OPS_SHAPE2(4, 8));
	assert_int_equal(ops_together(parity->device, chain.calls, 2), 1);
	assert_int_equal(ops_together(parity->device, chain.calls + 1, 2), 2);
	assert_int_equal(ops_together(parity->device, chain.calls + 2, 1), 1);
	chain.calls[2].attributes = &tanh;
	assert_int_equal(ops_together(parity->device, chain.calls, 3), 1);
	chain_end(&chain);
}

/* --- passes --- */

static const struct op_attributes chain_drop = {.rate = 0.4, .stream = 3};

/* DROPOUT, CROSS_ENTROPY and both backward ops. */
static inline void chain_make_pass(struct parity_chain *chain, const struct ops_pass *pass)
{
	const struct tensor_shape rows = OPS_SHAPE2(9, 8);
	const struct tensor_shape labels = OPS_SHAPE1(9);
	struct ops_call *drop = chain_call(chain, OP_DROPOUT, &chain_drop);
	struct ops_call *lose = chain_call(chain, OP_CROSS_ENTROPY, &chain_drop);
	struct ops_call *slope = chain_call(chain, OP_CROSS_ENTROPY_BACK, &chain_drop);
	struct ops_call *back = chain_call(chain, OP_DROPOUT_BACK, &chain_drop);

	drop->in[drop->in_count++] = chain_tensor(chain, TENSOR_FP32, rows);
	drop->out[drop->out_count++] = chain_tensor(chain, TENSOR_FP32, rows);
	lose->in[lose->in_count++] = drop->out[0];
	lose->in[lose->in_count++] = chain_tensor(chain, TENSOR_INT32, labels);
	lose->out[lose->out_count++] = chain_tensor(chain, TENSOR_FP32, labels);
	lose->out[lose->out_count++] = chain_tensor(chain, TENSOR_FP32, labels);
	slope->in[slope->in_count++] = lose->in[0];
	slope->in[slope->in_count++] = lose->in[1];
	slope->in[slope->in_count++] = lose->out[1];
	slope->out[slope->out_count++] = chain_tensor(chain, TENSOR_FP32, rows);
	back->in[back->in_count++] = slope->out[0];
	back->out[back->out_count++] = chain_tensor(chain, TENSOR_FP32, rows);
	for (size_t i = 0; i < chain->count; i++)
		chain->calls[i].pass = pass;
}

/* Returns what ops_begin() said in `done`. */
static inline bool chain_pass(struct parity_chain *chain, const struct ops_pass *pass, uint64_t key)
{
	bool done = false;

	assert_int_equal(ops_begin(chain->ops, pass, key, &done), 0);
	for (size_t i = 0; !done && i < chain->count; i++)
		assert_int_equal(ops_run(chain->ops, &chain->calls[i]), 0);
	assert_int_equal(ops_end(chain->ops, 0), 0);
	return done;
}

/* Each pass has other numbers, other inputs, and the results of the CPU: whether it is run call by call,
 * captured, or a graph that runs again. Two keys by turns. */
static inline void parity_passes(const struct parity *parity)
{
	struct parity_chain wanted[2], found[2];
	struct ops_pass pass = {.seed = 1};

	for (size_t i = 0; i < 2; i++) {
		chain_begin(&wanted[i], parity->cpu);
		chain_begin(&found[i], parity->device);
		chain_make_pass(&wanted[i], &pass);
		chain_make_pass(&found[i], &pass);
	}
	for (size_t i = 0; i < 10; i++) {
		struct parity_chain *is = &found[i % 2];
		struct ops_value values[CHAIN_TENSORS] = {0};
		size_t count;

		pass.seed = 1 + i / 3;
		pass.step = i;
		pass.scale = 1.0 / (double)(1 + i);
		chain_fill(&wanted[i % 2], i);
		chain_fill(is, i);
		(void)chain_pass(&wanted[i % 2], &pass, 0);
		chain_results(&wanted[i % 2], values, &count);
		assert_int_equal(chain_pass(is, &pass, 7 + i % 2), i >= 4);
		chain_compare(is, "a pass", values, 1);
		for (size_t k = 0; k < count; k++)
			free(values[k].values);
	}
	for (size_t i = 0; i < 2; i++) {
		chain_end(&wanted[i]);
		chain_end(&found[i]);
	}
}

/* A graph would copy from memory of the caller that is gone: that is refused while one is made. */
static inline void parity_captures(const struct parity *parity)
{
	const struct ops_pass pass = {.seed = 1};
	struct parity_chain chain;
	char byte = 0;
	bool done = true;

	chain_begin(&chain, parity->device);
	chain_make_pass(&chain, &pass);
	chain_fill(&chain, 1);
	assert_false(chain_pass(&chain, &pass, 5));
	assert_int_equal(ops_begin(parity->device, &pass, 5, &done), 0);
	assert_false(done);
	assert_int_equal(ops_copy(parity->device, chain.memory, &byte, 1, OPS_IN), E_CONFLICT);
	assert_int_equal(ops_copy(parity->device, &byte, chain.memory, 1, OPS_OUT), E_CONFLICT);
	assert_int_equal(ops_wait(parity->device), E_CONFLICT);
	assert_int_equal(ops_run(parity->device, &chain.calls[0]), 0);
	assert_int_equal(ops_end(parity->device, E_CONFLICT), E_CONFLICT);
	assert_int_equal(ops_wait(parity->device), 0);
	/* What failed is not kept: it begins anew. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(chain_pass(&chain, &pass, 5), i == 2);
	chain_end(&chain);
}
