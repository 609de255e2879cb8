/* Layer normalisation and the gradient of a bias.
 *
 * A warp has a row. It goes over the row two or three times, but reads it from memory once: what
 * follows finds it in the cache, since a row of a transformer has a few thousand bytes. Forward
 * 2 s n bytes for n numbers of s bytes. Backward: dx 3 s n, then columns.h sums x and dy, 2 s n.
 * BIAS_BACK reads dy once. */
#include "trainer_image/ops/cuda/kernel/columns.h"

enum { LAYER_ROWS = LAUNCH_THREADS / LAUNCH_WARP };

/* The row of the calling warp, and the packs of a lane in it. */
#define LAYER_EACH(c, N, channels)                                               \
	for (int64_t c = (int64_t)(threadIdx.x % LAUNCH_WARP) * N; c < channels; \
	     c += LAUNCH_WARP * N)

__device__ static inline int64_t layer_row()
{
	return (int64_t)blockIdx.x * LAYER_ROWS + threadIdx.x / LAUNCH_WARP;
}

struct layer_channels {
	const float *scale, *shift;
	float *mean, *inv_std;
	float epsilon;
};

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	layer_norm(int64_t rows, int64_t channels, const T *__restrict__ x, T *__restrict__ y,
		   layer_channels of)
{
	int64_t row = layer_row();
	float mean = 0;
	float square = 0;

	if (row >= rows)
		return;
	x += row * channels;
	y += row * channels;
	LAYER_EACH(c, N, channels)
	{
		number_row<N> at = number_read<N>(x + c);

#pragma unroll
		for (int i = 0; i < N; i++)
			mean += at.at[i];
	}
	mean = launch_warp_sum(mean) / (float)channels;
	LAYER_EACH(c, N, channels)
	{
		number_row<N> at = number_read<N>(x + c);

#pragma unroll
		for (int i = 0; i < N; i++)
			square += (at.at[i] - mean) * (at.at[i] - mean);
	}
	float inv_std = 1.0F / sqrtf(launch_warp_sum(square) / (float)channels + of.epsilon);

	LAYER_EACH(c, N, channels)
	{
		number_row<N> at = number_read<N>(x + c);

#pragma unroll
		for (int i = 0; i < N; i++)
			at.at[i] = (at.at[i] - mean) * inv_std * of.scale[c + i] + of.shift[c + i];
		number_write<N>(y + c, at);
	}
	if (threadIdx.x % LAUNCH_WARP == 0) {
		of.mean[row] = mean;
		of.inv_std[row] = inv_std;
	}
}

static int layer_forward(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct ops_call *call = calls;
	int64_t rows = launch_rows(&call->in[0]);
	int64_t channels = launch_channels(&call->in[0]);
	const struct layer_channels of = {launch_in<float>(call, 1), launch_in<float>(call, 2),
					  launch_out<float>(call, 1), launch_out<float>(call, 2),
					  (float)call->attributes->epsilon};

	return number_by_pack(call->in[0].is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;

		return launch_kernel(to, dim3((unsigned)launch_parts(rows, LAYER_ROWS)),
				     LAUNCH_THREADS, 0, layer_norm<T, N>, rows, channels,
				     launch_in<T>(call, 0), launch_out<T>(call, 0), of);
	});
}

extern "C" const struct cuda_op cuda_layer_norm = {layer_forward, nullptr, nullptr};

/* --- backward: in x, dy, scale, mean, inv_std; out dx, dscale, dshift --- */

/* Sums of dy times the normalised x, and of dy, down the rows. */
template <typename T, int N> struct layer_slopes {
	const T *x, *dy;
	const float *mean, *inv_std; /* of rows */
	int64_t stride;

	__device__ void channels(int64_t)
	{
	}
	__device__ void row(int64_t row, int64_t channel, number_row<N> &scale,
			    number_row<N> &shift) const
	{
		int64_t at = row * stride + channel;
		number_row<N> value = number_read<N>(x + at);
		number_row<N> slopes = number_read<N>(dy + at);

#pragma unroll
		for (int i = 0; i < N; i++) {
			scale.at[i] += slopes.at[i] * (value.at[i] - mean[row]) * inv_std[row];
			shift.at[i] += slopes.at[i];
		}
	}
};

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	layer_back(int64_t rows, layer_slopes<T, N> of, const float *__restrict__ scale,
		   T *__restrict__ dx)
{
	int64_t row = layer_row();
	int64_t channels = of.stride;
	float sum = 0;
	float product = 0;

	if (row >= rows)
		return;
	const T *x = of.x + row * channels;
	const T *dy = of.dy + row * channels;
	float mean = of.mean[row];
	float inv_std = of.inv_std[row];

	LAYER_EACH(c, N, channels)
	{
		number_row<N> value = number_read<N>(x + c);
		number_row<N> slopes = number_read<N>(dy + c);

#pragma unroll
		for (int i = 0; i < N; i++) {
			float slope = slopes.at[i] * scale[c + i];

			sum += slope;
			product += slope * (value.at[i] - mean) * inv_std;
		}
	}
	sum = launch_warp_sum(sum) / (float)channels;
	product = launch_warp_sum(product) / (float)channels;
	LAYER_EACH(c, N, channels)
	{
		number_row<N> value = number_read<N>(x + c);
		number_row<N> slopes = number_read<N>(dy + c);

#pragma unroll
		for (int i = 0; i < N; i++)
			slopes.at[i] = inv_std * (slopes.at[i] * scale[c + i] - sum -
						  (value.at[i] - mean) * inv_std * product);
		number_write<N>(dx + row * channels + c, slopes);
	}
}

static size_t layer_workspace(const struct ops_call *call)
{
	return columns_workspace(&call->in[0]);
}

static int layer_backward(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct ops_call *call = calls;
	int64_t rows = launch_rows(&call->in[0]);
	int64_t channels = launch_channels(&call->in[0]);

	return number_by_pack(call->in[0].is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		struct columns cut = columns_of(rows, channels, N);
		const layer_slopes<T, N> of = {launch_in<T>(call, 0), launch_in<T>(call, 1),
					       launch_in<float>(call, 3), launch_in<float>(call, 4),
					       channels};
		int rc = launch_kernel(to, dim3((unsigned)launch_parts(rows, LAYER_ROWS)),
				       LAUNCH_THREADS, 0, layer_back<T, N>, rows, of,
				       launch_in<float>(call, 2), launch_out<T>(call, 0));

		if (rc == 0)
			rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS,
					   columns_shared(N), columns_add<N, layer_slopes<T, N>>,
					   cut, of, columns_part(call));
		if (rc == 0)
			rc = launch_kernel(to, columns_join_blocks(channels), LAUNCH_THREADS, 0,
					   columns_join<float>, channels, cut.slices,
					   columns_part(call), nullptr, launch_out<float>(call, 1),
					   launch_out<float>(call, 2), call->accumulate);
		return rc;
	});
}

extern "C" const struct cuda_op cuda_layer_norm_back = {layer_backward, layer_workspace, nullptr};

/* --- bias --- */

template <typename T, int N> struct layer_bias {
	const T *dy;
	int64_t stride;

	__device__ void channels(int64_t)
	{
	}
	__device__ void row(int64_t row, int64_t channel, number_row<N> &sum, number_row<N> &) const
	{
		number_row<N> slopes = number_read<N>(dy + row * stride + channel);

#pragma unroll
		for (int i = 0; i < N; i++)
			sum.at[i] += slopes.at[i];
	}
};

static int layer_bias_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct ops_call *call = calls;
	int64_t rows = launch_rows(&call->in[0]);
	int64_t channels = launch_channels(&call->in[0]);

	return number_by_pack(call->in[0].is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		struct columns cut = columns_of(rows, channels, N);
		const layer_bias<T, N> of = {launch_in<T>(call, 0), channels};
		int rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS, columns_shared(N),
				       columns_add<N, layer_bias<T, N>>, cut, of,
				       columns_part(call));

		if (rc == 0)
			rc = launch_kernel(to, columns_join_blocks(channels), LAUNCH_THREADS, 0,
					   columns_join<T>, channels, cut.slices,
					   columns_part(call), nullptr, launch_out<T>(call, 0),
					   nullptr, call->accumulate);
		return rc;
	});
}

extern "C" const struct cuda_op cuda_bias_back = {layer_bias_back, layer_workspace, nullptr};

/* y = bias: the product is added to it, and a 16-bit y is rounded once. Writes s n bytes. */
template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	layer_bias_fill(columns is, const T *__restrict__ bias, T *y)
{
	columns_place<N> place(is);

	if (!place.works)
		return;
	number_row<N> value = number_read<N>(bias + place.channel);

	for (int64_t row = place.row; row < place.end; row += is.lines)
		number_write<N>(y + row * is.channels + place.channel, value);
}

extern "C" int cuda_kernel_bias_fill(const struct cuda_launch *to, enum tensor_type type, void *y,
				     const void *bias, int64_t rows, int64_t channels)
{
	return number_by_pack(type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		struct columns cut = columns_of(rows, channels, N);

		return launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS, 0,
				     layer_bias_fill<T, N>, cut, static_cast<const T *>(bias),
				     static_cast<T *>(y));
	});
}
