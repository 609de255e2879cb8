/* An emulation of the part of CUDA's runtime that the trainer calls: no GPU is behind it.
 *
 * The files of trainer_image/ops/cuda find this header instead of the toolkit's. A C++ compiler makes
 * host code of the kernels; emulation.c runs each of their threads. So tests see what a kernel
 * computes, which memory it touches and where barriers lack. They see nothing of its speed.
 *
 * What is stricter than a GPU:
 *     work      a stream only keeps it; it runs when something waits. Memory given to a copy must live
 *     memory    host code that touches device memory ends by SIGSEGV; it holds 0xa5 at first
 *     bounds    AddressSanitizer knows the end of each piece of device and of shared memory
 *     order     threads run forwards, backwards or mixed (emulation.h): a lacking barrier shows
 *     barriers  a barrier that a thread does not reach ends the program */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNotReady = 600,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
} cudaError_t;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
};
enum cudaStreamCaptureMode {
	cudaStreamCaptureModeGlobal,
	cudaStreamCaptureModeThreadLocal,
	cudaStreamCaptureModeRelaxed,
};

typedef struct emulation_stream *cudaStream_t;
typedef struct emulation_event *cudaEvent_t;
typedef struct emulation_graph *cudaGraph_t;
typedef struct emulation_graph *cudaGraphExec_t;

enum { cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };

#ifdef __cplusplus
extern "C" {
#endif

struct cudaDeviceProp {
	char name[256];
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaSetDevice(int device);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaMallocHost(void **ret, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMalloc(void **ret, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t event);

#ifdef __cplusplus
}
#endif

/* --- what a kernel sees --- */

#ifdef __cplusplus

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct uint3 {
	unsigned x, y, z;
};

struct dim3 {
	unsigned x, y, z;

	dim3(unsigned across = 1, unsigned down = 1, unsigned deep = 1)
	    : x(across), y(down), z(deep)
	{
	}
};

struct float2 {
	float x, y;
};

struct cudaLaunchConfig_t {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
};

extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* The shared memory of the block that runs, as many bytes as its launch says. */
void *emulation_shared(void);
void emulation_block_barrier(void);
/* Gives `value` to the warp of the calling thread, and returns that of `lane`. */
uint64_t emulation_exchange(uint64_t value, unsigned lane);
uint32_t emulation_ballot(bool value);
/* `body` of `size` bytes is copied; `run` is called with the copy for each thread. */
cudaError_t emulation_launch(const unsigned grid[3], const unsigned block[3], size_t shared,
			     cudaStream_t stream, void (*run)(const void *body), const void *body,
			     size_t size);
}

static inline void __syncthreads()
{
	emulation_block_barrier();
}

static inline unsigned emulation_lane()
{
	return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

template <typename T> static inline T __shfl_sync(unsigned mask, T value, int lane)
{
	uint64_t bits = 0;

	static_assert(sizeof(T) <= sizeof(bits), "a register or two");
	if (mask != 0xffffffffU)
		__builtin_trap();
	memcpy(&bits, &value, sizeof(value));
	bits = emulation_exchange(bits, (unsigned)lane % 32);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int with)
{
	return __shfl_sync(mask, value, (int)(emulation_lane() ^ (unsigned)with));
}

template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by)
{
	unsigned from = emulation_lane() + by;

	return __shfl_sync(mask, value, (int)(from < 32 ? from : emulation_lane()));
}

static inline unsigned __ballot_sync(unsigned mask, bool value)
{
	if (mask != 0xffffffffU)
		__builtin_trap();
	return emulation_ballot(value);
}

static inline int __ffs(unsigned bits)
{
	return __builtin_ffs((int)bits);
}

/* Host code makes one operation of no two (-ffp-contract=off). */
static inline float __fmul_rn(float a, float b)
{
	return a * b;
}

/* Threads run one after another: nothing comes between. */
static inline unsigned atomicOr(unsigned *at, unsigned bits)
{
	unsigned was = *at;

	*at |= bits;
	return was;
}

template <typename Body> static void emulation_call(const void *body)
{
	(*static_cast<const Body *>(body))();
}

template <typename... P, typename... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
					     A &&...arguments)
{
	auto body = [kernel, arguments...]() { kernel(arguments...); };
	const unsigned grid[3] = {config->gridDim.x, config->gridDim.y, config->gridDim.z};
	const unsigned block[3] = {config->blockDim.x, config->blockDim.y, config->blockDim.z};

	static_assert(__is_trivially_copyable(decltype(body)), "arguments of a kernel are bytes");
	return emulation_launch(grid, block, config->dynamicSmemBytes, config->stream,
				emulation_call<decltype(body)>, &body, sizeof(body));
}

#endif
