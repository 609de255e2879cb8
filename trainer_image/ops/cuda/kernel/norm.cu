/* Batch normalisation, alone and in one pass with the ADD and the RELU behind it.
 *
 * Forward, training: x is read twice and y written once, 3 s n bytes for n numbers of s bytes; an ADD in
 * the pass reads n more. Without the fusion BN, ADD and RELU move 8 s n: that is what the pass saves.
 * Backward: x and dy are read twice, dx is written once, 5 s n; the RELU in the pass reads y twice.
 *
 * A thread keeps the numbers of its channels in registers and goes down the rows (columns.h). Variances are
 * made of parts' own (Chan, Golub, LeVeque 1983), so a large mean does not eat them up. */
#include "trainer_image/ops/cuda/kernel/columns.h"

/* --- statistics --- */

struct norm_moment {
	float mean, square, count; /* sum of squares around the mean */
};

__device__ static inline norm_moment norm_join(norm_moment a, norm_moment b)
{
	float count = a.count + b.count;
	float off = b.mean - a.mean;

	if (b.count == 0)
		return a;
	return norm_moment{a.mean + off * b.count / count,
			   a.square + b.square + off * off * a.count * b.count / count, count};
}

/* Rows of a slice that the thread of `line` has. */
__device__ static inline float norm_rows_of_line(const columns &is, int slice, int line)
{
	int64_t begin = (int64_t)slice * is.rows_of_slice;
	int64_t end = begin + is.rows_of_slice < is.rows ? begin + is.rows_of_slice : is.rows;
	int64_t rows = end - begin - line;

	return rows > 0 ? (float)((rows + is.lines - 1) / is.lines) : 0;
}

__device__ static inline float norm_rows_of_slice(const columns &is, int slice)
{
	int64_t left = is.rows - (int64_t)slice * is.rows_of_slice;

	return (float)(left < is.rows_of_slice ? left : is.rows_of_slice);
}

/* A slice's mean and squares of each channel. A thread subtracts its first number, so one pass is enough. */
template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	norm_moments(columns is, const T *__restrict__ x, float2 *part)
{
	columns_place<N> place(is);
	number_row<N> pivot = {};
	number_row<N> sum = {};
	number_row<N> square = {};
	float2 *shared = reinterpret_cast<float2 *>(launch_shared());
	int width = is.lanes * N;
	float count = norm_rows_of_line(is, (int)blockIdx.y, place.line);

	if (place.works && place.row < place.end)
		pivot = number_read<N>(x + place.row * is.channels + place.channel);
	for (int64_t row = place.row; place.works && row < place.end; row += is.lines) {
		number_row<N> at = number_read<N>(x + row * is.channels + place.channel);

#pragma unroll
		for (int i = 0; i < N; i++) {
			float off = at.at[i] - pivot.at[i];

			sum.at[i] += off;
			square.at[i] += off * off;
		}
	}
#pragma unroll
	for (int i = 0; i < N; i++) {
		float mean = count > 0 ? sum.at[i] / count : 0;

		shared[place.line * width + place.lane * N + i] =
			float2{pivot.at[i] + mean, fmaxf(square.at[i] - sum.at[i] * mean, 0)};
	}
	__syncthreads();
	int64_t channel = (int64_t)blockIdx.x * width + threadIdx.x;

	if ((int)threadIdx.x >= width || channel >= is.channels)
		return;
	norm_moment all = {0, 0, 0};

	for (int line = 0; line < is.lines; line++) {
		float2 more = shared[line * width + (int)threadIdx.x];

		all = norm_join(all, norm_moment{more.x, more.y,
						 norm_rows_of_line(is, (int)blockIdx.y, line)});
	}
	part[channel * is.slices + blockIdx.y] = float2{all.mean, all.square};
}

/* Numbers of the channels. */
struct norm_channels {
	const float *scale, *shift;
	float *run_mean, *run_var; /* of BATCH_NORM: read, and moved when `moves` */
	float *mean, *inv_std;     /* what BATCH_NORM gives */
	float *factor;             /* [2][channels]: y = x * factor + offset */
	float epsilon, momentum;
	bool training, moves;
};

/* A warp a channel: joins the slices in the order of a tree. */
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	norm_factors(columns is, norm_channels to, const float2 *part)
{
	int64_t channel = launch_thread() / LAUNCH_WARP;
	int lane = (int)threadIdx.x % LAUNCH_WARP;
	norm_moment all = {0, 0, 0};

	if (channel >= is.channels)
		return;
	for (int slice = lane; to.training && slice < is.slices; slice += LAUNCH_WARP) {
		float2 more = part[channel * is.slices + slice];

		all = norm_join(all, norm_moment{more.x, more.y, norm_rows_of_slice(is, slice)});
	}
	for (int by = LAUNCH_WARP / 2; by > 0; by /= 2) {
		norm_moment more = {__shfl_down_sync(LAUNCH_ALL, all.mean, (unsigned)by),
				    __shfl_down_sync(LAUNCH_ALL, all.square, (unsigned)by),
				    __shfl_down_sync(LAUNCH_ALL, all.count, (unsigned)by)};

		if (lane < by)
			all = norm_join(all, more);
	}
	if (lane > 0)
		return;
	float mean = to.run_mean[channel];
	float variance = to.run_var[channel];

	if (to.training) {
		float rows = (float)is.rows;

		if (to.moves) {
			to.run_mean[channel] += to.momentum * (all.mean - mean);
			to.run_var[channel] +=
				to.momentum * (all.square / (rows > 1 ? rows - 1 : 1) - variance);
		}
		mean = all.mean;
		variance = all.square / rows;
	}
	float inv_std = 1.0F / sqrtf(variance + to.epsilon);
	float factor = to.scale[channel] * inv_std;

	to.mean[channel] = mean;
	to.inv_std[channel] = inv_std;
	to.factor[channel] = factor;
	to.factor[is.channels + channel] = to.shift[channel] - mean * factor;
}

/* y = x * factor + offset (+ other) (not below 0). y may lie where x or `other` lies. */
template <typename T, int N, bool ADD, bool RELU>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	norm_apply(columns is, const float *__restrict__ factor, const T *x, const T *other, T *y)
{
	columns_place<N> place(is);

	if (!place.works)
		return;
	number_row<N> times = number_read<N>(factor + place.channel);
	number_row<N> plus;

#pragma unroll
	for (int i = 0; i < N; i++)
		plus.at[i] = factor[is.channels + place.channel + i];
	for (int64_t row = place.row; row < place.end; row += is.lines) {
		int64_t at = row * is.channels + place.channel;
		number_row<N> value = number_read<N>(x + at);
		number_row<N> more = {};

		if (ADD)
			more = number_read<N>(other + at);
#pragma unroll
		for (int i = 0; i < N; i++) {
			value.at[i] = value.at[i] * times.at[i] + plus.at[i] + more.at[i];
			if (RELU && value.at[i] < 0)
				value.at[i] = 0;
		}
		number_write<N>(y + at, value);
	}
}

/* BATCH_NORM, then what is fused behind it: `other` is added, `y` is the last output. */
template <bool ADD, bool RELU>
static int norm_forward(const struct cuda_launch *to, const struct ops_call *call,
			const struct ops_tensor *other, const struct ops_tensor *y)
{
	const struct op_attributes *is = call->attributes;
	int64_t rows = launch_rows(&call->in[0]);
	int64_t channels = launch_channels(&call->in[0]);

	return number_by_pack(call->in[0].is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		struct columns cut = columns_of(rows, channels, N);
		struct norm_channels of = {launch_in<float>(call, 1),
					   launch_in<float>(call, 2),
					   static_cast<float *>(call->in[3].data),
					   static_cast<float *>(call->in[4].data),
					   launch_out<float>(call, 1),
					   launch_out<float>(call, 2),
					   columns_sums(call, &cut),
					   (float)is->epsilon,
					   (float)is->momentum,
					   is->training,
					   !call->recompute};
		int rc = 0;

		if (is->training)
			rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS,
					   columns_shared(N), norm_moments<T, N>, cut,
					   launch_in<T>(call, 0), columns_part(call));
		if (rc == 0)
			rc = launch_kernel(to, columns_join_blocks(channels), LAUNCH_THREADS, 0,
					   norm_factors, cut, of, columns_part(call));
		if (rc == 0)
			rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS, 0,
					   norm_apply<T, N, ADD, RELU>, cut, of.factor,
					   launch_in<T>(call, 0),
					   other ? static_cast<const T *>(other->data) : nullptr,
					   static_cast<T *>(y->data));
		return rc;
	});
}

static size_t norm_workspace(const struct ops_call *call)
{
	return columns_workspace(&call->in[0]);
}

static int norm_batch(const struct cuda_launch *to, const struct ops_call calls[])
{
	return norm_forward<false, false>(to, calls, nullptr, &calls[0].out[0]);
}

extern "C" const struct cuda_op cuda_batch_norm = {norm_batch, norm_workspace, nullptr};

static int norm_batch_relu(const struct cuda_launch *to, const struct ops_call calls[])
{
	return norm_forward<false, true>(to, calls, nullptr, &calls[1].out[0]);
}

extern "C" const struct cuda_op cuda_batch_norm_relu = {norm_batch_relu, norm_workspace, nullptr};

static int norm_batch_add_relu(const struct cuda_launch *to, const struct ops_call calls[])
{
	bool is_first = calls[1].in[0].data == calls[0].out[0].data;

	return norm_forward<true, true>(to, calls, &calls[1].in[is_first ? 1 : 0],
					&calls[2].out[0]);
}

extern "C" const struct cuda_op cuda_batch_norm_add_relu = {norm_batch_add_relu, norm_workspace,
							    nullptr};

/* --- backward: in x, dy, scale, mean, inv_std; out dx, dscale, dshift --- */

/* Sums of dy times the normalised x, and of dy. With RELU, dy counts where its output y is above 0. */
template <typename T, int N, bool RELU> struct norm_slopes {
	const T *x, *dy, *y;
	const float *mean_of, *inv_std_of;
	int64_t stride;
	float mean[N], inv_std[N];

	__device__ void channels(int64_t channel)
	{
#pragma unroll
		for (int i = 0; i < N; i++) {
			mean[i] = mean_of[channel + i];
			inv_std[i] = inv_std_of[channel + i];
		}
	}
	__device__ number_row<N> slope(int64_t at) const
	{
		number_row<N> row = number_read<N>(dy + at);

		if (RELU) {
			number_row<N> open = number_read<N>(y + at);

#pragma unroll
			for (int i = 0; i < N; i++)
				row.at[i] = open.at[i] > 0 ? row.at[i] : 0;
		}
		return row;
	}
	__device__ void row(int64_t row, int64_t channel, number_row<N> &scale,
			    number_row<N> &shift) const
	{
		int64_t at = row * stride + channel;
		number_row<N> value = number_read<N>(x + at);
		number_row<N> slopes = slope(at);

#pragma unroll
		for (int i = 0; i < N; i++) {
			scale.at[i] += slopes.at[i] * (value.at[i] - mean[i]) * inv_std[i];
			shift.at[i] += slopes.at[i];
		}
	}
};

/* dx = scale inv_std (dy - part (sum(dy) + unit sum(dy unit))); `part` is 1 / rows, 0 with running statistics. */
template <typename T, int N, bool RELU>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	norm_back(columns is, norm_slopes<T, N, RELU> of, const float *__restrict__ scale,
		  const float *__restrict__ sums, float part, T *dx)
{
	columns_place<N> place(is);
	float factor[N], of_scale[N], of_shift[N];

	if (!place.works)
		return;
	of.channels(place.channel);
#pragma unroll
	for (int i = 0; i < N; i++) {
		factor[i] = scale[place.channel + i] * of.inv_std[i];
		of_scale[i] = part * sums[place.channel + i];
		of_shift[i] = part * sums[is.channels + place.channel + i];
	}
	for (int64_t row = place.row; row < place.end; row += is.lines) {
		int64_t at = row * is.channels + place.channel;
		number_row<N> value = number_read<N>(of.x + at);
		number_row<N> slopes = of.slope(at);

#pragma unroll
		for (int i = 0; i < N; i++) {
			float unit = (value.at[i] - of.mean[i]) * of.inv_std[i];

			slopes.at[i] =
				factor[i] * (slopes.at[i] - (of_shift[i] + unit * of_scale[i]));
		}
		number_write<N>(dx + at, slopes);
	}
}

template <bool RELU>
static int norm_backward(const struct cuda_launch *to, const struct ops_call *call, const void *dy,
			 const void *y)
{
	int64_t rows = launch_rows(&call->in[0]);
	int64_t channels = launch_channels(&call->in[0]);
	float part = call->attributes->training ? 1.0F / (float)rows : 0;

	return number_by_pack(call->in[0].is.type, channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		struct columns cut = columns_of(rows, channels, N);
		norm_slopes<T, N, RELU> of = {launch_in<T>(call, 0),
					      static_cast<const T *>(dy),
					      static_cast<const T *>(y),
					      launch_in<float>(call, 3),
					      launch_in<float>(call, 4),
					      channels,
					      {},
					      {}};
		float *sums = columns_sums(call, &cut);
		int rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS, columns_shared(N),
				       columns_add<N, norm_slopes<T, N, RELU>>, cut, of,
				       columns_part(call));

		if (rc == 0)
			rc = launch_kernel(to, columns_join_blocks(channels), LAUNCH_THREADS, 0,
					   columns_join<float>, channels, cut.slices,
					   columns_part(call), sums, launch_out<float>(call, 1),
					   launch_out<float>(call, 2), call->accumulate);
		if (rc == 0)
			rc = launch_kernel(to, columns_blocks(&cut), LAUNCH_THREADS, 0,
					   norm_back<T, N, RELU>, cut, of,
					   launch_in<float>(call, 2), sums, part,
					   launch_out<T>(call, 0));
		return rc;
	});
}

static int norm_batch_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	return norm_backward<false>(to, calls, calls->in[1].data, nullptr);
}

extern "C" const struct cuda_op cuda_batch_norm_back = {norm_batch_back, norm_workspace, nullptr};

/* ACTIVATION_BACK of RELU has y and dy. */
static int norm_relu_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	return norm_backward<true>(to, &calls[1], calls[0].in[1].data, calls[0].in[0].data);
}

extern "C" const struct cuda_op cuda_relu_back_batch_norm_back = {norm_relu_back, norm_workspace,
								  nullptr};
