/* Numbers as they lie in memory, and packs of them: what one thread reads or writes at once.
 *
 * Kernels compute in FP32 and round once, as the CPU does (cpu/cpu.c). A wide pack has 16 bytes: four
 * FP32 or eight halves. Where channels leave a rest, packs have one number. */
#pragma once

#include <stdint.h>

#include "trainer_image/ops/cuda/cuda_kernel.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
extern "C" {
#include "common/base/half.h"
}
#endif

struct number_bf16 {
	uint16_t bits;
};

struct number_fp16 {
	uint16_t bits;
};

__device__ static inline float number_full(float number)
{
	return number;
}

#ifdef __CUDACC__
__device__ static inline float number_full(number_bf16 number)
{
	return __bfloat162float(__ushort_as_bfloat16(number.bits));
}

__device__ static inline float number_full(number_fp16 number)
{
	return __half2float(__ushort_as_half(number.bits));
}

__device__ static inline void number_set(number_bf16 *to, float number)
{
	to->bits = __bfloat16_as_ushort(__float2bfloat16_rn(number));
}

__device__ static inline void number_set(number_fp16 *to, float number)
{
	to->bits = __half_as_ushort(__float2half_rn(number));
}
#else
static inline float number_full(number_bf16 number)
{
	float full;

	half_from_bf16(&number.bits, &full, 1);
	return full;
}

static inline float number_full(number_fp16 number)
{
	float full;

	half_from_fp16(&number.bits, &full, 1);
	return full;
}

static inline void number_set(number_bf16 *to, float number)
{
	half_to_bf16(&number, &to->bits, 1);
}

static inline void number_set(number_fp16 *to, float number)
{
	half_to_fp16(&number, &to->bits, 1);
}
#endif

__device__ static inline void number_set(float *to, float number)
{
	*to = number;
}

/* --- packs --- */

template <typename T, int N> struct alignas(sizeof(T) * N) number_pack {
	T at[N];
};

template <int N> struct number_row {
	float at[N];
};

template <typename T> struct number_wide {
	static constexpr int count = 16 / (int)sizeof(T);
};

/* `from` is aligned to the size of the pack: tensors are to 64 bytes, and channels divide by N. */
template <int N, typename T> __device__ static inline number_row<N> number_read(const T *from)
{
	number_pack<T, N> pack = *reinterpret_cast<const number_pack<T, N> *>(from);
	number_row<N> row;

#pragma unroll
	for (int i = 0; i < N; i++)
		row.at[i] = number_full(pack.at[i]);
	return row;
}

template <int N, typename T>
__device__ static inline void number_write(T *to, const number_row<N> &row)
{
	number_pack<T, N> pack;

#pragma unroll
	for (int i = 0; i < N; i++)
		number_set(&pack.at[i], row.at[i]);
	*reinterpret_cast<number_pack<T, N> *>(to) = pack;
}

/* --- from the type of a tensor to that of a kernel --- */

/* Calls run(T()) with the type's own; cuda.c has let no other through. */
template <typename Run> static inline int number_by_type(enum tensor_type type, Run run)
{
	switch (type) {
	case TENSOR_FP32: return run(float());
	case TENSOR_BF16: return run(number_bf16());
	case TENSOR_FP16: return run(number_fp16());
	case TENSOR_FP64:
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
	return (int)cudaErrorInvalidValue;
}

template <int N> struct number_count {
	static constexpr int value = N;
};

/* Calls run(T(), number_count<N>()): wide packs where `channels` are full of them. */
template <typename Run>
static inline int number_by_pack(enum tensor_type type, int64_t channels, Run run)
{
	return number_by_type(type, [&](auto zero) {
		using T = decltype(zero);
		constexpr int wide = number_wide<T>::count;

		if (channels % wide == 0)
			return run(zero, number_count<wide>());
		return run(zero, number_count<1>());
	});
}
