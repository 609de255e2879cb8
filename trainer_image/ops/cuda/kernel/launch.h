/* How a kernel is started, and what the threads of a block do together. The same code is compiled for
 * a GPU and for the emulation (tests/support/cuda_emulation). */
#pragma once

#include <cuda_runtime.h>

#include "trainer_image/ops/cuda/kernel/number.h"

enum { LAUNCH_THREADS = 256, LAUNCH_WARP = 32 };
#define LAUNCH_ALL 0xffffffffU

/* The shared memory of a block, as its launch gives it. */
#ifdef __CUDACC__
__device__ static inline float *launch_shared()
{
	extern __shared__ __align__(16) unsigned char launch_bytes[];

	return reinterpret_cast<float *>(launch_bytes);
}
#else
static inline float *launch_shared()
{
	return static_cast<float *>(emulation_shared());
}
#endif

static inline int64_t launch_parts(int64_t count, int64_t size)
{
	return (count + size - 1) / size;
}

/* kernel<<<blocks, threads, shared, stream>>>(arguments). Nothing to do is no launch. */
template <typename... P, typename... A>
static inline int launch_kernel(const struct cuda_launch *to, dim3 blocks, int threads,
				size_t shared, void (*kernel)(P...), A... arguments)
{
	cudaLaunchConfig_t config = {};

	if (blocks.x == 0 || blocks.y == 0)
		return 0;
	config.gridDim = blocks;
	config.blockDim = dim3((unsigned)threads);
	config.dynamicSmemBytes = shared;
	config.stream = static_cast<cudaStream_t>(to->stream);
	return (int)cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...);
}

/* --- sums of a warp and of a block, in an order that never changes --- */

__device__ static inline float launch_warp_sum(float value)
{
#pragma unroll
	for (int with = LAUNCH_WARP / 2; with > 0; with /= 2)
		value += __shfl_xor_sync(LAUNCH_ALL, value, with);
	return value;
}

__device__ static inline float launch_warp_most(float value)
{
#pragma unroll
	for (int with = LAUNCH_WARP / 2; with > 0; with /= 2)
		value = fmaxf(value, __shfl_xor_sync(LAUNCH_ALL, value, with));
	return value;
}

__device__ static inline int64_t launch_thread()
{
	return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* --- tensors of a call --- */

template <typename T> static inline const T *launch_in(const struct ops_call *call, size_t nth)
{
	return static_cast<const T *>(call->in[nth].data);
}

template <typename T> static inline T *launch_out(const struct ops_call *call, size_t nth)
{
	return static_cast<T *>(call->out[nth].data);
}

static inline int64_t launch_count(const struct ops_tensor *tensor)
{
	return tensor_shape_count(&tensor->is.shape);
}

static inline int64_t launch_channels(const struct ops_tensor *tensor)
{
	return tensor_shape_channels(&tensor->is.shape);
}

static inline int64_t launch_rows(const struct ops_tensor *tensor)
{
	return launch_count(tensor) / launch_channels(tensor);
}
