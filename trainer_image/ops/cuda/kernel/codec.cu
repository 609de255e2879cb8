/* The codecs of gradients on a GPU, with the bits of comm/codec.c. One number a thread; INT8 a block of threads for the
 * 256 numbers of a scale.
 *
 * nvcc makes one operation of a product and a sum, which rounds once where the host rounds twice: __fmul_rn() keeps them
 * apart. A NaN stays one, but its bits are the GPU's own.
 *
 * Bytes of n numbers: encode reads 4 n and writes what the codec makes of them; with feedback it reads and writes 4 n
 * more. Decode reads that and writes 4 n; where it adds, it reads 4 n more. */
#include "trainer_image/ops/cuda/kernel/launch.h"

enum { CODEC_STRIDE = OPS_CODEC_BLOCK + sizeof(float), CODEC_WARPS = LAUNCH_THREADS / LAUNCH_WARP };
static_assert((int)OPS_CODEC_BLOCK == (int)LAUNCH_THREADS, "a block of threads has one scale");

__device__ static inline float codec_wanted(const float *from, const float *lost, int64_t i)
{
	return lost ? from[i] + lost[i] : from[i];
}

__device__ static inline void codec_lose(float *lost, int64_t i, float wanted, float got)
{
	lost[i] = isfinite(got) ? wanted - got : 0.0F;
}

/* --- a number by itself; without feedback it is a conversion (update.cu) --- */

template <typename T>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	codec_feedback(const float *from, float *lost, T *to, int64_t count)
{
	int64_t i = launch_thread();
	T coded;

	if (i >= count)
		return;
	float wanted = codec_wanted(from, lost, i);

	number_set(&coded, wanted);
	to[i] = coded;
	codec_lose(lost, i, wanted, number_full(coded));
}

static int codec_numbers(const struct cuda_launch *to, const struct ops_code *code)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};
	const enum tensor_type type = types[code->codec];
	const bool decodes = code->kind == OPS_DECODE || code->kind == OPS_DECODE_ADD;
	const struct ops_convert convert = {code->to,
					    code->from,
					    decodes ? TENSOR_FP32 : type,
					    decodes ? type : TENSOR_FP32,
					    code->count,
					    code->kind == OPS_DECODE_ADD};
	const int64_t count = (int64_t)code->count;

	if (code->kind != OPS_ENCODE_FEEDBACK)
		return cuda_convert(to, &convert);
	return number_by_type(type, [&](auto zero) {
		using T = decltype(zero);

		return launch_kernel(to, dim3((unsigned)launch_parts(count, LAUNCH_THREADS)),
				     LAUNCH_THREADS, 0, codec_feedback<T>,
				     static_cast<const float *>(code->from), code->lost,
				     static_cast<T *>(code->to), count);
	});
}

/* --- INT8 --- */

/* The largest size of a block of threads. As bits sizes have their order, and each NaN is above all. */
__device__ static float codec_most(float size)
{
	unsigned *shared = reinterpret_cast<unsigned *>(launch_shared());
	unsigned bits;
	float most;

	memcpy(&bits, &size, sizeof(bits));
#pragma unroll
	for (int with = LAUNCH_WARP / 2; with > 0; with /= 2) {
		unsigned other = __shfl_xor_sync(LAUNCH_ALL, bits, with);

		bits = other > bits ? other : bits;
	}
	if (threadIdx.x % LAUNCH_WARP == 0)
		shared[threadIdx.x / LAUNCH_WARP] = bits;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < CODEC_WARPS; i++)
		bits = shared[i] > bits ? shared[i] : bits;
	memcpy(&most, &bits, sizeof(most));
	return most;
}

/* Encoded blocks begin at any byte. */
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	codec_int8_encode(const float *from, float *lost, uint8_t *to, int64_t count)
{
	int64_t i = launch_thread();
	uint8_t *block = to + (int64_t)blockIdx.x * CODEC_STRIDE;
	float wanted = i < count ? codec_wanted(from, lost, i) : 0.0F;
	float most = codec_most(fabsf(wanted));
	float whole = most / 127.0F;
	float inverse = most > 0 && isfinite(most) && whole > 0 ? 1.0F / whole : 0.0F;
	float in = isfinite(inverse) ? inverse : 0.0F;
	float scale = isfinite(inverse) ? whole : 0.0F;

	if (threadIdx.x == 0)
		memcpy(block, &scale, sizeof(scale));
	if (i >= count)
		return;
	float step = in > 0 ? rintf(__fmul_rn(wanted, in)) : 1.0F;
	int8_t coded = (int8_t)(step > 127 ? 127 : step < -127 ? -127 : step);

	block[sizeof(scale) + threadIdx.x] = (uint8_t)coded;
	if (lost)
		codec_lose(lost, i, wanted, __fmul_rn(scale, (float)coded));
}

__global__ static void __launch_bounds__(LAUNCH_THREADS)
	codec_int8_decode(const uint8_t *from, float *to, int64_t count, bool adds)
{
	int64_t i = launch_thread();
	const uint8_t *block = from + (int64_t)blockIdx.x * CODEC_STRIDE;
	float scale;

	if (i >= count)
		return;
	memcpy(&scale, block, sizeof(scale));
	float number = __fmul_rn(scale, (float)(int8_t)block[sizeof(scale) + threadIdx.x]);

	to[i] = adds ? to[i] + number : number;
}

static int codec_int8(const struct cuda_launch *to, const struct ops_code *code)
{
	const int64_t count = (int64_t)code->count;
	const dim3 blocks = dim3((unsigned)launch_parts(count, OPS_CODEC_BLOCK));

	if (code->kind == OPS_DECODE || code->kind == OPS_DECODE_ADD)
		return launch_kernel(to, blocks, LAUNCH_THREADS, 0, codec_int8_decode,
				     static_cast<const uint8_t *>(code->from),
				     static_cast<float *>(code->to), count,
				     code->kind == OPS_DECODE_ADD);
	return launch_kernel(to, blocks, LAUNCH_THREADS, CODEC_WARPS * sizeof(unsigned),
			     codec_int8_encode, static_cast<const float *>(code->from),
			     code->kind == OPS_ENCODE_FEEDBACK ? code->lost : nullptr,
			     static_cast<uint8_t *>(code->to), count);
}

extern "C" int cuda_code(const struct cuda_launch *to, const struct ops_code *code)
{
	return code->codec == OPS_CODEC_INT8 ? codec_int8(to, code) : codec_numbers(to, code);
}
