/* The face of a back end: runs the ops of graph/op.h on memory that it gave.
 *
 * All results are the same, bit by bit, for any number of threads and in every run. A back end
 * allocates nothing while an op runs: workspace comes with the call, its size is known before.
 *
 * What a back end is told to do runs in the order of the calls. A device may be behind: ops_wait() and a copy
 * out of its memory wait for it. The memory of the CPU's is the caller's own (`on_host`). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/macros.h"

#include "trainer_image/graph/op.h"

struct ops_tensor {
	struct op_tensor is;
	void *data; /* at least 64-byte aligned */
};

/* What all calls of one pass over a plan share. */
struct ops_pass {
	uint64_t seed, step; /* DROPOUT* */
	double scale; /* CROSS_ENTROPY_BACK: dlogit is multiplied by it: 1 / batch, times the loss scale */
};

/* One op to be run. An output never shares memory with an input, but for ACTIVATION,
 * ACTIVATION_BACK, ADD, DROPOUT and DROPOUT_BACK: there y may lie where an input of the same size lay. */
struct ops_call {
	enum op_kind kind;
	const struct op_attributes *attributes;
	struct ops_tensor in[OP_IN_MAX];
	struct ops_tensor out[OP_OUT_MAX];
	size_t in_count, out_count;
	void *workspace;       /* ops_workspace() bytes, 64-byte aligned */
	size_t workspace_size; /* bytes there; they choose among the engines of a back end */
	const struct ops_pass *pass;
	/* Gradients of parameters: add to what is there. In 16-bit types the sum is rounded once more, and an engine of a GPU
	 * may want workspace for it. A training step adds in FP32 instead (ops_convert). */
	bool accumulate;
	bool recompute; /* a second run within the step: running averages stay */
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

/* Numbers of one type to another: a gradient into FP32, master weights into what the model reads. */
struct ops_convert {
	void *to;
	const void *from;
	enum tensor_type to_type, from_type; /* FP32, BF16, FP16; one of them FP32 */
	size_t count;
	bool adds; /* to what is there; `to` is FP32 */
};

enum ops_way {
	OPS_IN,     /* from the caller's memory; it is read when the copy returns */
	OPS_OUT,    /* to the caller's memory; waits for all that was called before */
	OPS_WITHIN, /* from one place of the back end's memory to another */
};

/* What a back end runs on. */
struct ops_about {
	char device[96];     /* "NVIDIA H200"; empty: the processor */
	char library[96];    /* "CUDA 13.0, driver for 13.0, cuDNN 9.19.0" */
	int64_t free, total; /* bytes of its memory, for all programs; 0 = it has none of its own */
};

struct ops;
struct ops_sums;

/* Where a device takes batches of pictures in. The host leaves a batch at stage k of loader/augment_table.h. The device
 * does the rest: the bits are those that the host would give. */
struct ops_intake;

/* A batch waits in one of these, or is on its way to it. */
enum { OPS_INTAKE_PLACES = 2 };

struct ops_intake_kind {
	uint32_t width, height, channels; /* of what comes out: [height][width][channels] */
	enum tensor_type type;            /* of it; FP32, BF16 or FP16 */
	uint32_t batch;                   /* pictures, at most */
	size_t room;                      /* bytes of a batch as the host leaves it, at most */
	const void *table; /* [3][256] of `type`: what a byte becomes; read by open */
};

struct ops_intake_batch {
	const void *memory; /* of ops_host_take() */
	size_t bytes;
	uint32_t count; /* pictures */
	uint32_t k;     /* 2 numbers; 1 bytes; 0 `count` times struct augment_place, then pixels */
};

struct ops_intake_face {
	/* Memory of the host that a device reads by itself; NULL when none is to be had. */
	void *(*host_take)(struct ops *ops, size_t bytes);
	void (*host_give)(struct ops *ops, void *memory);
	/* E_LIMIT: the device has no memory for it, or takes no batch so large. */
	MUST_USE int (*open)(struct ops *ops, const struct ops_intake_kind *kind,
			     struct ops_intake **ret);
	void (*close)(struct ops_intake *intake);
	MUST_USE int (*upload)(struct ops_intake *intake, unsigned place,
			       const struct ops_intake_batch *batch);
	MUST_USE int (*is_read)(struct ops_intake *intake, unsigned place, bool waits, bool *ret);
	MUST_USE int (*put)(struct ops_intake *intake, unsigned place, void *to, uint32_t all);
};

enum { OPS_TOGETHER_MAX = 4 };

/* Why an op cannot be run here is told before anything runs: E_UNSUPPORTED with the op and its types.
 * Functions that return an int: E_INVALID, a label or a word is out of its limit; -EIO, the device failed. */
struct ops_backend {
	const char *name; /* "cpu" */
	bool on_host;     /* the caller may read and write memory of `take` */

	/* Memory for calls, all zeros, aligned to a page or to 256 bytes; NULL when none is left. */
	void *(*take)(struct ops *ops, size_t bytes);
	void (*give)(struct ops *ops, void *memory, size_t bytes);
	MUST_USE int (*copy)(struct ops *ops, void *to, const void *from, size_t bytes,
			     enum ops_way way);

	MUST_USE int (*workspace)(struct ops *ops, const struct ops_call *call, size_t *ret_size,
				  struct problem *problem);
	MUST_USE int (*run)(struct ops *ops, const struct ops_call *call);
	MUST_USE int (*update)(struct ops *ops, const struct ops_update *update);
	MUST_USE int (*convert)(struct ops *ops, const struct ops_convert *convert);
	MUST_USE int (*finite)(struct ops *ops, const float *numbers, size_t count, bool *ret);
	MUST_USE int (*wait)(struct ops *ops);

	/* NULL where each call runs alone. */
	size_t (*together)(struct ops *ops, const struct ops_call calls[], size_t count);
	MUST_USE int (*run_together)(struct ops *ops, const struct ops_call calls[], size_t count);
	MUST_USE int (*begin)(struct ops *ops, const struct ops_pass *pass, uint64_t key,
			      bool *ret_done);
	MUST_USE int (*end)(struct ops *ops, int rc);

	/* As ops_mark(), ops_marks(). */
	MUST_USE int (*mark)(struct ops *ops, size_t nth);
	MUST_USE int (*marks)(struct ops *ops, size_t count, double *ret_ms);

	const struct ops_sums *sums; /* over ranks (ops_sum.h); NULL where the host sums */

	const struct ops_intake_face *intake; /* NULL where the host makes the numbers */
	MUST_USE int (*about)(struct ops *ops, struct ops_about *ret); /* NULL: the processor */
	/* The first fault of a device; code 0: none. NULL where none is behind. */
	const struct problem *(*fault)(struct ops *ops);

	void (*free)(struct ops *ops);
};

/* A back end begins with this. */
struct ops {
	const struct ops_backend *backend;
};

static inline void *ops_take(struct ops *ops, size_t bytes)
{
	return ops->backend->take(ops, bytes);
}

/* NULL is allowed. */
static inline void ops_give(struct ops *ops, void *memory, size_t bytes)
{
	if (memory)
		ops->backend->give(ops, memory, bytes);
}

MUST_USE static inline int ops_copy(struct ops *ops, void *to, const void *from, size_t bytes,
				    enum ops_way way)
{
	return ops->backend->copy(ops, to, from, bytes, way);
}

/* Bytes of workspace of the call's engine: the fastest with at most call->workspace_size, else the one with the least. `data`
 * are not read. ops_run() takes the same engine with any workspace_size from the answer to the asked one. */
MUST_USE static inline int ops_workspace(struct ops *ops, const struct ops_call *call,
					 size_t *ret_size, struct problem *problem)
{
	return ops->backend->workspace(ops, call, ret_size, problem);
}

MUST_USE static inline int ops_run(struct ops *ops, const struct ops_call *call)
{
	return ops->backend->run(ops, call);
}

/* How many of the calls, from the first, one pass over memory runs as one; at least 1. The caller promises that
 * the next call alone reads out[0] of each but the last, so it need not be written. `data` are not read. */
static inline size_t ops_together(struct ops *ops, const struct ops_call calls[], size_t count)
{
	return ops->backend->together ? ops->backend->together(ops, calls, count) : 1;
}

/* As many calls as ops_together() said. */
MUST_USE static inline int ops_run_together(struct ops *ops, const struct ops_call calls[],
					    size_t count)
{
	return count == 1 ? ops_run(ops, calls) : ops->backend->run_together(ops, calls, count);
}

/* A pass over a plan begins. It makes the same calls on the same memory as each pass before with this `key`; 0 = no
 * such pass. `ret_done`: the back end has run them all by itself, and the caller leaves them out. */
MUST_USE static inline int ops_begin(struct ops *ops, const struct ops_pass *pass, uint64_t key,
				     bool *ret_done)
{
	*ret_done = false;
	return ops->backend->begin ? ops->backend->begin(ops, pass, key, ret_done) : 0;
}

/* The pass ends. `rc`: how its calls went; one that failed is not run, and not kept. `rc`, or what the end itself says. */
MUST_USE static inline int ops_end(struct ops *ops, int rc)
{
	int ended = ops->backend->end ? ops->backend->end(ops, rc) : 0;

	return rc != 0 ? rc : ended;
}

MUST_USE static inline int ops_update(struct ops *ops, const struct ops_update *update)
{
	return ops->backend->update(ops, update);
}

MUST_USE static inline int ops_convert(struct ops *ops, const struct ops_convert *convert)
{
	return ops->backend->convert(ops, convert);
}

/* `ret`: none of the numbers is infinity or NaN. Waits for the answer. */
MUST_USE static inline int ops_finite(struct ops *ops, const float *numbers, size_t count,
				      bool *ret)
{
	return ops->backend->finite(ops, numbers, count, ret);
}

/* Until all that was called has run. */
MUST_USE static inline int ops_wait(struct ops *ops)
{
	return ops->backend->wait(ops);
}

MUST_USE static inline int ops_about(struct ops *ops, struct ops_about *ret)
{
	memset(ret, 0, sizeof(*ret));
	return ops->backend->about ? ops->backend->about(ops, ret) : 0;
}

/* Keeps the time at which all that was called before has run, as mark `nth`. A later call with it takes its place. */
MUST_USE static inline int ops_mark(struct ops *ops, size_t nth)
{
	return ops->backend->mark(ops, nth);
}

/* The times of marks 1 .. count since mark 0, in milliseconds. Waits for them. */
MUST_USE static inline int ops_marks(struct ops *ops, size_t count, double *ret_ms)
{
	return ops->backend->marks(ops, count, ret_ms);
}

/* The batch goes to a place of the device, beside the calls; its memory is read until ops_intake_is_read() says that it
 * was. What was put from the place before comes first. E_INVALID: it is not what `open` was told. */
MUST_USE static inline int ops_intake_upload(struct ops *ops, struct ops_intake *intake,
					     unsigned place, const struct ops_intake_batch *batch)
{
	return ops->backend->intake->upload(intake, place, batch);
}

/* May the host write its memory again? True also of a place that nothing was uploaded to. */
MUST_USE static inline int ops_intake_is_read(struct ops *ops, struct ops_intake *intake,
					      unsigned place, bool waits, bool *ret)
{
	return ops->backend->intake->is_read(intake, place, waits, ret);
}

/* In the order of the calls: `all` pictures at `to`. Of a shorter batch the first come again behind the last. */
MUST_USE static inline int ops_intake_put(struct ops *ops, struct ops_intake *intake,
					  unsigned place, void *to, uint32_t all)
{
	return ops->backend->intake->put(intake, place, to, all);
}

/* What a person reads when a call has returned `rc`: the words of the device where it has failed, "step 812: GPU 3 (NVIDIA
 * H200): cudaErrorIllegalAddress: an illegal memory access was encountered", else "step 812: cuda: " and the text of `rc`.
 * `format` and the rest: what was done. Returns `rc`. */
int ops_fault_tell(struct ops *ops, int rc, struct problem *problem, const char *format, ...)
	PRINTF_LIKE(4, 5);

static inline void ops_free(struct ops *ops)
{
	if (ops)
		ops->backend->free(ops);
}

/* The processor of this machine, by `threads` threads; 0 = as many as it has. -ENOENT: no OpenBLAS here;
 * -ENOMEM, -EAGAIN. */
MUST_USE int ops_cpu_new(unsigned threads, struct ops **ret, struct problem *problem);
/* GPU number `device` of this machine, from 0 on. E_UNSUPPORTED: built without CUDA; E_UNAVAILABLE: no driver, GPU
 * or cuDNN; E_NOT_FOUND: not so many GPUs; -ENOMEM, -EIO. Each says what to do. */
MUST_USE int ops_cuda_new(int device, struct ops **ret, struct problem *problem);
