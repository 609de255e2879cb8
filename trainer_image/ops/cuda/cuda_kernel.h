/* What stands between cuda.c and the kernels: an op is a row with a function that launches its kernels.
 * For C and C++. Kernels allocate nothing, and wait for nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "trainer_image/ops/ops_sum.h"

/* In device memory. A captured graph runs again with other numbers, so kernels read them here. */
struct cuda_state {
	uint64_t seed, step;
	double scale;
	uint32_t invalid;  /* a label or a word was out of its limit */
	uint32_t infinite; /* cuda_finite found a number that is none */
};

struct cuda_launch {
	void *stream; /* cudaStream_t */
	struct cuda_state *state;
	double *sums; /* device memory: CUDA_SUMS of them, for norms of weights */
};

enum { CUDA_SUMS = 2 * 1024 + 2 };

/* `run` takes as many calls as its row in cuda.c says, which is 1 for an op by itself. It returns 0 or
 * the cudaError_t of a launch. Of a fused row the workspace is that of its norm. */
struct cuda_op {
	int (*run)(const struct cuda_launch *launch, const struct ops_call calls[]);
	size_t (*workspace)(const struct ops_call *call);  /* bytes; NULL = none */
	const char *(*lacks)(const struct ops_call *call); /* why it cannot run; NULL = it can */
};

extern const struct cuda_op cuda_add, cuda_activation, cuda_activation_back, cuda_dropout;
extern const struct cuda_op cuda_concat, cuda_slice;
extern const struct cuda_op cuda_batch_norm, cuda_batch_norm_back, cuda_bias_back;
extern const struct cuda_op cuda_layer_norm, cuda_layer_norm_back;
extern const struct cuda_op cuda_max_pool, cuda_max_pool_back, cuda_average_pool,
	cuda_average_pool_back, cuda_upsample, cuda_upsample_back;
extern const struct cuda_op cuda_embedding, cuda_embedding_back;
extern const struct cuda_op cuda_attention, cuda_attention_back;
extern const struct cuda_op cuda_cross_entropy, cuda_cross_entropy_back;
/* Two or three calls in one pass over memory. */
extern const struct cuda_op cuda_add_relu, cuda_batch_norm_relu, cuda_batch_norm_add_relu,
	cuda_relu_back_batch_norm_back;

/* The numbers of a pass into `state`, by value: nothing of the caller is kept. */
int cuda_state_set(const struct cuda_launch *launch, const struct ops_pass *pass);
int cuda_update(const struct cuda_launch *launch, const struct ops_update *update);
int cuda_convert(const struct cuda_launch *launch, const struct ops_convert *convert);
int cuda_code(const struct cuda_launch *launch, const struct ops_code *code);
/* Sets state->infinite when one of the numbers is infinite or none. */
int cuda_finite(const struct cuda_launch *launch, const float *numbers, size_t count);
/* y [rows][channels] = bias [channels], of `type`. */
int cuda_kernel_bias_fill(const struct cuda_launch *launch, enum tensor_type type, void *y,
			  const void *bias, int64_t rows, int64_t channels);

/* Pictures that a host left at stage k = 0 or 1 (loader/augment_table.h), in device memory. */
struct cuda_augment {
	const void
		*memory; /* k = 0: `count` times struct augment_place, then pixels; k = 1: bytes */
	const void *table; /* [3][256] of `type`: what a byte becomes */
	uint32_t width, height, channels;
	enum tensor_type type;
	uint32_t count, all; /* `all` pictures come out: of those that lack, the first come again */
	void *to;            /* [all][height][width][channels] */
};

int cuda_augment_pictures(const struct cuda_launch *launch, const struct cuda_augment *augment);
int cuda_augment_bytes(const struct cuda_launch *launch, const struct cuda_augment *augment);

#ifdef __cplusplus
}
#endif
