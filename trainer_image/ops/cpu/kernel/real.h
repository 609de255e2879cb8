/* What a kernel is compiled for: the number type and the instructions (../../CMakeLists.txt).
 * REAL_NAME(cpu_kernels) is cpu_kernels_avx2, for example. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer_image/ops/cpu/cpu_blas.h"
#include "trainer_image/ops/cpu/cpu_kernel.h"

#define REAL_PASTE_(a, b) a##_##b
#define REAL_PASTE(a, b)  REAL_PASTE_(a, b)
#define REAL_NAME(name)   REAL_PASTE(name, REAL_VARIANT)

#if REAL_BITS == 64
typedef double real;
#define REAL_GEMM  dgemm
#define REAL_EXP   exp
#define REAL_LOG   log
#define REAL_SQRT  sqrt
#define REAL_TANH  tanh
#define REAL_ERF   erf
#define REAL_LEAST (-DBL_MAX)
#else
typedef float real;
#define REAL_GEMM  sgemm
#define REAL_EXP   expf
#define REAL_LOG   logf
#define REAL_SQRT  sqrtf
#define REAL_TANH  tanhf
#define REAL_ERF   erff
#define REAL_LEAST (-FLT_MAX)
#endif

/* A matrix in memory: rows of `stride` numbers. */
struct real_matrix {
	const real *at;
	int64_t stride;
	bool turned; /* its columns are the rows of memory */
};

/* to = from x by + keep * to: `rows` x `columns`, sums over `depth`. */
static inline void real_multiply(const struct cpu_work *work, struct real_matrix from,
				 struct real_matrix by, int64_t rows, int64_t columns,
				 int64_t depth, real keep, real *to, int64_t to_stride)
{
	work->blas->REAL_GEMM(CblasRowMajor, from.turned ? CblasTrans : CblasNoTrans,
			      by.turned ? CblasTrans : CblasNoTrans, (blasint)rows,
			      (blasint)columns, (blasint)depth, (real)1, from.at,
			      (blasint)from.stride, by.at, (blasint)by.stride, keep, to,
			      (blasint)to_stride);
}

static inline const real *real_in(const struct ops_call *call, size_t nth)
{
	return call->in[nth].data;
}

static inline real *real_out(const struct ops_call *call, size_t nth)
{
	return call->out[nth].data;
}

static inline const struct tensor_shape *real_in_shape(const struct ops_call *call, size_t nth)
{
	return &call->in[nth].is.shape;
}

static inline const struct tensor_shape *real_out_shape(const struct ops_call *call, size_t nth)
{
	return &call->out[nth].is.shape;
}

/* Channels, and rows of channels. */
static inline int64_t real_channels(const struct tensor_shape *shape)
{
	return tensor_shape_channels(shape);
}

static inline int64_t real_rows(const struct tensor_shape *shape)
{
	return tensor_shape_count(shape) / tensor_shape_channels(shape);
}

/* A column's sum over many rows is made of sums of blocks, then of those in order: the same blocks
 * for any number of threads. */
enum { REAL_BLOCKS_MAX = 64, REAL_BLOCK_ROWS = 64 };

static inline int64_t real_block_rows(int64_t rows)
{
	int64_t even = (rows + REAL_BLOCKS_MAX - 1) / REAL_BLOCKS_MAX;

	return even < REAL_BLOCK_ROWS ? REAL_BLOCK_ROWS : even;
}

static inline int64_t real_blocks(int64_t rows)
{
	return (rows + real_block_rows(rows) - 1) / real_block_rows(rows);
}

static inline int64_t real_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Gradients of parameters are added to what is there when the call says so. */
static inline void real_store(const struct ops_call *call, real *to, real value)
{
	*to = call->accumulate ? *to + value : value;
}

extern const struct cpu_op REAL_NAME(cpu_conv), REAL_NAME(cpu_conv_data),
	REAL_NAME(cpu_conv_weight);
extern const struct cpu_op REAL_NAME(cpu_linear), REAL_NAME(cpu_linear_data),
	REAL_NAME(cpu_linear_weight), REAL_NAME(cpu_bias_back);
extern const struct cpu_op REAL_NAME(cpu_batch_norm), REAL_NAME(cpu_batch_norm_back),
	REAL_NAME(cpu_layer_norm), REAL_NAME(cpu_layer_norm_back);
extern const struct cpu_op REAL_NAME(cpu_max_pool), REAL_NAME(cpu_max_pool_back),
	REAL_NAME(cpu_average_pool), REAL_NAME(cpu_average_pool_back), REAL_NAME(cpu_upsample),
	REAL_NAME(cpu_upsample_back);
extern const struct cpu_op REAL_NAME(cpu_add), REAL_NAME(cpu_concat), REAL_NAME(cpu_slice),
	REAL_NAME(cpu_activation), REAL_NAME(cpu_activation_back), REAL_NAME(cpu_dropout);
extern const struct cpu_op REAL_NAME(cpu_embedding), REAL_NAME(cpu_embedding_back),
	REAL_NAME(cpu_attention), REAL_NAME(cpu_attention_back);
extern const struct cpu_op REAL_NAME(cpu_cross_entropy), REAL_NAME(cpu_cross_entropy_back);
void REAL_NAME(cpu_update)(const struct ops_update *update,
			   const struct cpu_update_factors *factors, size_t first, size_t last);
double REAL_NAME(cpu_squares)(const float *numbers, size_t count);
