/* Pools and upsampling, NHWC.
 *
 * A thread has one pack of channels of one pixel of what it writes; a block has neighbouring pixels of
 * one line, so a warp reads whole lines of 128 bytes where there are 64 channels of halves. Cells that
 * windows share come from the caches. From memory: the input once and the output once.
 *
 * Backward passes gather: a thread goes over the windows that hold its pixel, in their order. So no two
 * threads write to one place, and sums are the same in every run. */
#include <float.h>

#include "trainer_image/ops/cuda/kernel/launch.h"

/* `large`: the side with more pixels. */
struct window {
	int height, width, channels; /* of the large side */
	int down, across;            /* of the small side */
	int tall, wide, step_down, step_across, pad_down, pad_across;
};

static struct window window_of(const struct op_attributes *is, const struct tensor_shape *large,
			       const struct tensor_shape *small)
{
	return window{(int)large->size[1], (int)large->size[2], (int)large->size[3],
		      (int)small->size[1], (int)small->size[2], is->window[0],
		      is->window[1],       is->stride[0],       is->stride[1],
		      is->pad[0],          is->pad[1]};
}

/* A block has threads of one line of one image: `line` counts lines of all images. */
struct window_place {
	int64_t line;
	int image_line, pixel, channel;
	bool works;
};

template <int N>
__device__ static inline window_place window_here(int lines, int pixels, int channels)
{
	unsigned packs = (unsigned)channels / N;
	unsigned at = blockIdx.y * blockDim.x + threadIdx.x;
	window_place is;

	is.line = blockIdx.x;
	is.image_line = (int)(blockIdx.x % (unsigned)lines);
	is.pixel = (int)(at / packs);
	is.channel = (int)(at % packs) * N;
	is.works = is.pixel < pixels;
	return is;
}

/* Threads of a block, and blocks, for an output of that shape. */
static int window_threads(int64_t in_line)
{
	int64_t warps = launch_parts(in_line, LAUNCH_WARP);

	return warps * LAUNCH_WARP < LAUNCH_THREADS ? (int)warps * LAUNCH_WARP
						    : (int)LAUNCH_THREADS;
}

template <int N, typename Kernel, typename... A>
static int window_launch(const struct cuda_launch *to, const struct tensor_shape *out,
			 Kernel kernel, A... arguments)
{
	int64_t in_line = out->size[2] * (out->size[3] / N);
	int threads = window_threads(in_line);

	return launch_kernel(to,
			     dim3((unsigned)(out->size[0] * out->size[1]),
				  (unsigned)launch_parts(in_line, threads)),
			     threads, 0, kernel, arguments...);
}

/* --- max pool --- */

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	window_max(window is, const T *__restrict__ x, T *__restrict__ y,
		   uint8_t *__restrict__ place)
{
	window_place at = window_here<N>(is.down, is.across, is.channels);
	number_row<N> most;
	number_pack<uint8_t, N> which = {};

	if (!at.works)
		return;
#pragma unroll
	for (int i = 0; i < N; i++)
		most.at[i] = -FLT_MAX;
	const T *image = x + at.line / is.down * is.height * is.width * is.channels + at.channel;

	for (int r = 0; r < is.tall; r++) {
		int h = at.image_line * is.step_down - is.pad_down + r;

		if (h < 0 || h >= is.height)
			continue;
		for (int s = 0; s < is.wide; s++) {
			int w = at.pixel * is.step_across - is.pad_across + s;

			if (w < 0 || w >= is.width)
				continue;
			number_row<N> cell =
				number_read<N>(image + ((int64_t)h * is.width + w) * is.channels);

#pragma unroll
			for (int i = 0; i < N; i++)
				/* Not a number wins: a broken run must show it. */
				if (cell.at[i] > most.at[i] || cell.at[i] != cell.at[i]) {
					most.at[i] = cell.at[i];
					which.at[i] = (uint8_t)(r * is.wide + s);
				}
		}
	}
	int64_t to = (at.line * is.across + at.pixel) * is.channels + at.channel;

	number_write<N>(y + to, most);
	*reinterpret_cast<number_pack<uint8_t, N> *>(place + to) = which;
}

static int window_max_pool(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct tensor_shape *small = &calls->out[0].is.shape;
	struct window is = window_of(calls->attributes, &calls->in[0].is.shape, small);

	return number_by_pack(calls->in[0].is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;

		return window_launch<N>(to, small, window_max<T, N>, is, launch_in<T>(calls, 0),
					launch_out<T>(calls, 0), launch_out<uint8_t>(calls, 1));
	});
}

extern "C" const struct cuda_op cuda_max_pool = {window_max_pool, nullptr, nullptr};

/* The windows that hold the pixel `at` of a side of `count` windows: [first, last]. */
struct window_span {
	int first, last;
};

__device__ static inline window_span window_over(int at, int pad, int size, int step, int count)
{
	int first = at + pad - size + 1;
	int last = (at + pad) / step;

	first = first <= 0 ? 0 : (first + step - 1) / step;
	return window_span{first, last < count ? last : count - 1};
}

/* dx of a pixel: of each window that holds it what `Of` says. */
template <typename T, int N, typename Of>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	window_gather(window is, Of of, const T *__restrict__ dy, T *__restrict__ dx)
{
	window_place at = window_here<N>(is.height, is.width, is.channels);
	number_row<N> sum = {};

	if (!at.works)
		return;
	window_span down = window_over(at.image_line, is.pad_down, is.tall, is.step_down, is.down);
	window_span across =
		window_over(at.pixel, is.pad_across, is.wide, is.step_across, is.across);

	for (int p = down.first; p <= down.last; p++)
		for (int q = across.first; q <= across.last; q++) {
			int r = at.image_line + is.pad_down - p * is.step_down;
			int s = at.pixel + is.pad_across - q * is.step_across;
			int64_t from = ((at.line / is.height * is.down + p) * is.across + q) *
					       is.channels +
				       at.channel;

			of.add(sum, number_read<N>(dy + from), from, r * is.wide + s);
		}
	number_write<N>(dx + (at.line * is.width + at.pixel) * is.channels + at.channel, sum);
}

template <int N> struct window_chosen {
	const uint8_t *place;

	__device__ void add(number_row<N> &sum, const number_row<N> &dy, int64_t from,
			    int nth) const
	{
		number_pack<uint8_t, N> which =
			*reinterpret_cast<const number_pack<uint8_t, N> *>(place + from);

#pragma unroll
		for (int i = 0; i < N; i++)
			sum.at[i] += which.at[i] == nth ? dy.at[i] : 0;
	}
};

template <int N> struct window_share {
	float part;

	__device__ void add(number_row<N> &sum, const number_row<N> &dy, int64_t, int) const
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			sum.at[i] += dy.at[i] * part;
	}
};

static int window_max_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct tensor_shape *large = &calls->out[0].is.shape;
	struct window is = window_of(calls->attributes, large, &calls->in[0].is.shape);

	return number_by_pack(calls->in[0].is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		const window_chosen<N> of = {launch_in<uint8_t>(calls, 1)};

		return window_launch<N>(to, large, window_gather<T, N, window_chosen<N>>, is, of,
					launch_in<T>(calls, 0), launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_max_pool_back = {window_max_back, nullptr, nullptr};

/* --- average pool: padding counts as zeros --- */

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	window_average(window is, const T *__restrict__ x, T *__restrict__ y)
{
	window_place at = window_here<N>(is.down, is.across, is.channels);
	number_row<N> sum = {};
	float part = 1.0F / (float)(is.tall * is.wide);

	if (!at.works)
		return;
	const T *image = x + at.line / is.down * is.height * is.width * is.channels + at.channel;

	for (int r = 0; r < is.tall; r++) {
		int h = at.image_line * is.step_down - is.pad_down + r;

		if (h < 0 || h >= is.height)
			continue;
		for (int s = 0; s < is.wide; s++) {
			int w = at.pixel * is.step_across - is.pad_across + s;

			if (w < 0 || w >= is.width)
				continue;
			number_row<N> cell =
				number_read<N>(image + ((int64_t)h * is.width + w) * is.channels);

#pragma unroll
			for (int i = 0; i < N; i++)
				sum.at[i] += cell.at[i] * part;
		}
	}
	number_write<N>(y + (at.line * is.across + at.pixel) * is.channels + at.channel, sum);
}

static int window_average_pool(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct tensor_shape *small = &calls->out[0].is.shape;
	struct window is = window_of(calls->attributes, &calls->in[0].is.shape, small);

	return number_by_pack(calls->in[0].is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;

		return window_launch<N>(to, small, window_average<T, N>, is, launch_in<T>(calls, 0),
					launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_average_pool = {window_average_pool, nullptr, nullptr};

static int window_average_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct tensor_shape *large = &calls->out[0].is.shape;
	struct window is = window_of(calls->attributes, large, &calls->in[0].is.shape);

	return number_by_pack(calls->in[0].is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		const window_share<N> of = {1.0F / (float)(is.tall * is.wide)};

		return window_launch<N>(to, large, window_gather<T, N, window_share<N>>, is, of,
					launch_in<T>(calls, 0), launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_average_pool_back = {window_average_back, nullptr, nullptr};

/* --- upsampling: each pixel `factor` times in both directions --- */

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	window_up(int height, int width, int channels, int factor, const T *__restrict__ x,
		  T *__restrict__ y)
{
	window_place at = window_here<N>(height * factor, width * factor, channels);

	if (!at.works)
		return;
	int64_t line = at.line / (height * factor) * height + at.image_line / factor;
	int64_t from = (line * width + at.pixel / factor) * channels + at.channel;
	int64_t to = (at.line * width * factor + at.pixel) * channels + at.channel;

	*reinterpret_cast<number_pack<T, N> *>(y + to) =
		*reinterpret_cast<const number_pack<T, N> *>(x + from);
}

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	window_up_back(int height, int width, int channels, int factor, const T *__restrict__ dy,
		       T *__restrict__ dx)
{
	window_place at = window_here<N>(height, width, channels);
	number_row<N> sum = {};

	if (!at.works)
		return;
	for (int r = 0; r < factor; r++)
		for (int s = 0; s < factor; s++) {
			int64_t line = at.line * factor + r;
			int64_t from = (line * width * factor + at.pixel * factor + s) * channels;
			number_row<N> cell = number_read<N>(dy + from + at.channel);

#pragma unroll
			for (int i = 0; i < N; i++)
				sum.at[i] += cell.at[i];
		}
	number_write<N>(dx + (at.line * width + at.pixel) * channels + at.channel, sum);
}

template <bool BACK>
static int window_upsample(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct ops_tensor *small = BACK ? &calls->out[0] : &calls->in[0];
	int height = (int)small->is.shape.size[1];
	int width = (int)small->is.shape.size[2];
	int channels = (int)small->is.shape.size[3];

	return number_by_pack(small->is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;

		return window_launch<N>(to, &calls->out[0].is.shape,
					BACK ? window_up_back<T, N> : window_up<T, N>, height,
					width, channels, calls->attributes->factor,
					launch_in<T>(calls, 0), launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_upsample = {window_upsample<false>, nullptr, nullptr};
extern "C" const struct cuda_op cuda_upsample_back = {window_upsample<true>, nullptr, nullptr};
