#include "trainer_image/ops/cpu/kernel/real.h"

#if defined(__AVX512F__)
#define KERNEL_CORE "SkylakeX"
#elif defined(__AVX2__)
#define KERNEL_CORE "Haswell"
#else
#define KERNEL_CORE NULL
#endif

const struct cpu_kernels REAL_NAME(cpu_kernels) = {
	.blas_core = KERNEL_CORE,
	.ops =
		{
			[OP_CONV] = &REAL_NAME(cpu_conv),
			[OP_CONV_DATA] = &REAL_NAME(cpu_conv_data),
			[OP_CONV_WEIGHT] = &REAL_NAME(cpu_conv_weight),
			[OP_LINEAR] = &REAL_NAME(cpu_linear),
			[OP_LINEAR_DATA] = &REAL_NAME(cpu_linear_data),
			[OP_LINEAR_WEIGHT] = &REAL_NAME(cpu_linear_weight),
			[OP_BIAS_BACK] = &REAL_NAME(cpu_bias_back),
			[OP_BATCH_NORM] = &REAL_NAME(cpu_batch_norm),
			[OP_BATCH_NORM_BACK] = &REAL_NAME(cpu_batch_norm_back),
			[OP_LAYER_NORM] = &REAL_NAME(cpu_layer_norm),
			[OP_LAYER_NORM_BACK] = &REAL_NAME(cpu_layer_norm_back),
			[OP_MAX_POOL] = &REAL_NAME(cpu_max_pool),
			[OP_MAX_POOL_BACK] = &REAL_NAME(cpu_max_pool_back),
			[OP_AVERAGE_POOL] = &REAL_NAME(cpu_average_pool),
			[OP_AVERAGE_POOL_BACK] = &REAL_NAME(cpu_average_pool_back),
			[OP_UPSAMPLE] = &REAL_NAME(cpu_upsample),
			[OP_UPSAMPLE_BACK] = &REAL_NAME(cpu_upsample_back),
			[OP_ADD] = &REAL_NAME(cpu_add),
			[OP_CONCAT] = &REAL_NAME(cpu_concat),
			[OP_SLICE] = &REAL_NAME(cpu_slice),
			[OP_ACTIVATION] = &REAL_NAME(cpu_activation),
			[OP_ACTIVATION_BACK] = &REAL_NAME(cpu_activation_back),
			[OP_DROPOUT] = &REAL_NAME(cpu_dropout),
			[OP_DROPOUT_BACK] = &REAL_NAME(cpu_dropout),
			[OP_EMBEDDING] = &REAL_NAME(cpu_embedding),
			[OP_EMBEDDING_BACK] = &REAL_NAME(cpu_embedding_back),
			[OP_ATTENTION] = &REAL_NAME(cpu_attention),
			[OP_ATTENTION_BACK] = &REAL_NAME(cpu_attention_back),
			[OP_CROSS_ENTROPY] = &REAL_NAME(cpu_cross_entropy),
			[OP_CROSS_ENTROPY_BACK] = &REAL_NAME(cpu_cross_entropy_back),
		},
#if REAL_BITS == 32
	.update = REAL_NAME(cpu_update),
	.squares = REAL_NAME(cpu_squares),
#endif
};
