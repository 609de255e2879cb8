/* The face of a back end: runs the ops of graph/op.h on memory that the caller has.
 *
 * All results are the same, bit by bit, for any number of threads and in every run. A back end
 * allocates nothing while an op runs: workspace comes with the call, its size is known before. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/graph/op.h"

struct ops_tensor {
	struct op_tensor is;
	void *data; /* at least 64-byte aligned */
};

/* One op to be run. An output never shares memory with an input, but for ACTIVATION,
 * ACTIVATION_BACK, ADD, DROPOUT and DROPOUT_BACK: there y may lie where an input of the same size lay. */
struct ops_call {
	enum op_kind kind;
	const struct op_attributes *attributes;
	struct ops_tensor in[OP_IN_MAX];
	struct ops_tensor out[OP_OUT_MAX];
	size_t in_count, out_count;
	void *workspace;     /* ops_workspace() bytes, 64-byte aligned */
	uint64_t seed, step; /* DROPOUT* */
	double scale; /* CROSS_ENTROPY_BACK: dlogit is multiplied by it: 1 / batch, times the loss scale */
	bool accumulate; /* gradients of parameters: add to what is there */
	bool recompute;  /* a second run within the step: running averages stay */
};

/* One step of an optimizer on one parameter. The master weights are FP32, whatever the type of the
 * model is. The gradient is multiplied by `unscale` first.
 *
 *     OPS_SGD    v = momentum v + (g + decay w);  w -= rate v            (nesterov: g + decay w + momentum v)
 *     OPS_ADAMW  Loshchilov, Hutter 2019: v and `square` are its two moments, bias-corrected for `step` >= 1
 *     OPS_LARS   You et al. 2017: SGD whose rate is multiplied by trust |w| / (|g| + decay |w|), 1 where either is 0 */
enum ops_update_kind { OPS_SGD, OPS_ADAMW, OPS_LARS };

struct ops_update {
	enum ops_update_kind kind;
	size_t count;
	float *weight, *velocity;
	float *square; /* ADAMW alone */
	const float *gradient;
	void *copy; /* the weight as the model takes it, or NULL */
	enum tensor_type copy_type;
	double rate, decay, unscale;
	double momentum;           /* ADAMW: of the first moment */
	double momentum2, epsilon; /* ADAMW */
	double trust;              /* LARS */
	bool nesterov;             /* SGD */
	int64_t step;
};

struct ops;

/* Why an op cannot be run here is told before anything runs: E_UNSUPPORTED with the op and its types. */
struct ops_backend {
	const char *name; /* "cpu" */
	MUST_USE int (*workspace)(struct ops *ops, const struct ops_call *call, size_t *ret_size,
				  struct problem *problem);
	MUST_USE int (*run)(struct ops *ops, const struct ops_call *call);
	MUST_USE int (*update)(struct ops *ops, const struct ops_update *update);
	void (*free)(struct ops *ops);
};

/* A back end begins with this. */
struct ops {
	const struct ops_backend *backend;
};

/* Bytes of workspace that the call needs; its `data` are not read. */
MUST_USE static inline int ops_workspace(struct ops *ops, const struct ops_call *call,
					 size_t *ret_size, struct problem *problem)
{
	return ops->backend->workspace(ops, call, ret_size, problem);
}

MUST_USE static inline int ops_run(struct ops *ops, const struct ops_call *call)
{
	return ops->backend->run(ops, call);
}

MUST_USE static inline int ops_update(struct ops *ops, const struct ops_update *update)
{
	return ops->backend->update(ops, update);
}

static inline void ops_free(struct ops *ops)
{
	if (ops)
		ops->backend->free(ops);
}

/* The processor of this machine, by `threads` threads; 0 = as many as it has. -ENOENT: no OpenBLAS here;
 * -ENOMEM, -EAGAIN. */
MUST_USE int ops_cpu_new(unsigned threads, struct ops **ret, struct problem *problem);
