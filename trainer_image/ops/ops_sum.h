/* What a back end has besides ops.h that sums gradients over ranks by itself: bytes from device to device, and the
 * codecs of gradients.
 *
 * Both are work of its own stream, in the order of the calls, beside the calls of ops.h. ops_sum_ready() and
 * ops_sum_end() put the two in order. Before a back end has joined ranks, codecs run in the order of ops.h. */
#pragma once

#include "trainer_image/ops/ops.h"

enum { OPS_ID_SIZE = 128 };

struct ops_ranks {
	int rank, count;
	uint8_t id[OPS_ID_SIZE];           /* that rank 0 made, the same on all */
	bool (*is_stopped)(void *context); /* true ends all waiting, from then on */
	void *context;
	int64_t join_ms;  /* joining may take so long */
	int64_t still_ms; /* a sum may stand still so long, while this rank's gradients are there */
};

/* Bytes of the device to the rank `to`, and others from the rank `from`. A size of 0: not. */
struct ops_exchange {
	int to, from;
	const void *out;
	void *in;
	size_t out_size, in_size;
};

/* How gradients travel: comm/codec.h says what each makes of a number, and these have its bits. */
enum ops_codec { OPS_CODEC_NONE, OPS_CODEC_BF16, OPS_CODEC_FP16, OPS_CODEC_INT8, OPS_CODECS };
enum { OPS_CODEC_BLOCK = 256 }; /* numbers of INT8 with a scale of their own */

enum ops_code_kind {
	OPS_ENCODE,
	OPS_ENCODE_FEEDBACK, /* from + lost; `lost` becomes what that loses */
	OPS_DECODE,
	OPS_DECODE_ADD, /* to what is there */
};

struct ops_code {
	enum ops_code_kind kind;
	enum ops_codec codec;
	const void *from; /* floats, or bytes */
	void *to;
	float *lost;
	size_t count; /* numbers */
};

/* Functions that return an int: -ECANCELED, the job was stopped; -ECONNRESET, the library of sums failed, maybe by the
 * end of another rank; -ETIMEDOUT, nothing moves; -EIO, the device failed. why() tells more of the second and third. */
struct ops_sums {
	MUST_USE int (*id)(struct ops *ops, uint8_t ret[OPS_ID_SIZE], struct problem *problem);
	MUST_USE int (*join)(struct ops *ops, const struct ops_ranks *ranks,
			     struct problem *problem);
	void (*leave)(struct ops *ops);
	MUST_USE int (*exchange)(struct ops *ops, const struct ops_exchange *exchange);
	MUST_USE int (*together)(struct ops *ops, bool begins);
	void (*why)(struct ops *ops, struct problem *problem);
	MUST_USE int (*code)(struct ops *ops, const struct ops_code *code);
	MUST_USE int (*clear)(struct ops *ops, float *numbers, size_t count);
	MUST_USE int (*ready)(struct ops *ops);
	MUST_USE int (*end)(struct ops *ops);
};

/* Can the back end sum over ranks? */
static inline bool ops_sums(const struct ops *ops)
{
	return ops->backend->sums != NULL;
}

/* Rank 0: what all ranks of the job need to find each other. */
MUST_USE static inline int ops_sum_id(struct ops *ops, uint8_t ret[OPS_ID_SIZE],
				      struct problem *problem)
{
	return ops->backend->sums->id(ops, ret, problem);
}

/* All ranks together. Behind a failure, ops_sum_leave() and ops_free() may wait for other ranks: first they are told. */
MUST_USE static inline int ops_sum_join(struct ops *ops, const struct ops_ranks *ranks,
					struct problem *problem)
{
	return ops->backend->sums->join(ops, ranks, problem);
}

/* Gives up what is under way: memory of sums is free behind it. All ranks of a machine do it together. */
static inline void ops_sum_leave(struct ops *ops)
{
	ops->backend->sums->leave(ops);
}

/* All ranks make calls that belong to each other in the same order. */
MUST_USE static inline int ops_sum_exchange(struct ops *ops, const struct ops_exchange *exchange)
{
	return ops->backend->sums->exchange(ops, exchange);
}

/* Exchanges between the two calls are one piece of work: none waits for another. The second call also follows a failure. */
MUST_USE static inline int ops_sum_together(struct ops *ops, bool begins)
{
	return ops->backend->sums->together(ops, begins);
}

/* In words, why the first call failed that did; where none did, `problem` stays. */
static inline void ops_sum_why(struct ops *ops, struct problem *problem)
{
	ops->backend->sums->why(ops, problem);
}

MUST_USE static inline int ops_sum_code(struct ops *ops, const struct ops_code *code)
{
	return ops->backend->sums->code(ops, code);
}

/* Zeros. */
MUST_USE static inline int ops_sum_clear(struct ops *ops, float *numbers, size_t count)
{
	return ops->backend->sums->clear(ops, numbers, count);
}

/* Sums from here on run behind the calls of ops.h before. */
MUST_USE static inline int ops_sum_ready(struct ops *ops)
{
	return ops->backend->sums->ready(ops);
}

/* Calls of ops.h from here on run behind the sums before. */
MUST_USE static inline int ops_sum_end(struct ops *ops)
{
	return ops->backend->sums->end(ops);
}
