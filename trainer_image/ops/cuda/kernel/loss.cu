/* Cross entropy of softmax with label smoothing (Szegedy et al. 2015, 7).
 *
 * A row of up to 1024 classes has a warp, a longer one a block. Forward goes over the logits once, s n
 * bytes for n logits of s bytes: each thread keeps the largest so far, and the sum of exponentials
 * below it. Backward reads them once and writes dlogit, 2 s n. Rows need not be full of packs, so
 * threads take single numbers side by side; a warp reads 64 or 128 bytes in a row. */
#include <float.h>

#include "trainer_image/ops/cuda/kernel/launch.h"

enum { LOSS_WARP_CLASSES = 1024, LOSS_WARPS = LAUNCH_THREADS / LAUNCH_WARP };

struct loss_rows {
	int64_t rows, classes;
	float smooth;
	struct cuda_state *state;
};

struct loss_sum {
	float most, sum, all; /* sum: of exp(logit - most) */
};

__device__ static inline loss_sum loss_join(loss_sum a, loss_sum b)
{
	float most = fmaxf(a.most, b.most);

	/* A half without numbers has -FLT_MAX: exp() makes 0 of it. */
	return loss_sum{most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most),
			a.all + b.all};
}

__device__ static inline loss_sum loss_warp_join(loss_sum is)
{
	for (int with = LAUNCH_WARP / 2; with > 0; with /= 2)
		is = loss_join(is, loss_sum{__shfl_xor_sync(LAUNCH_ALL, is.most, with),
					    __shfl_xor_sync(LAUNCH_ALL, is.sum, with),
					    __shfl_xor_sync(LAUNCH_ALL, is.all, with)});
	return is;
}

/* All threads of the row get the same. WARPS: those of a row. */
template <int WARPS> __device__ static inline loss_sum loss_row_join(loss_sum is)
{
	loss_sum *shared = reinterpret_cast<loss_sum *>(launch_shared());

	is = loss_warp_join(is);
	if (WARPS == 1)
		return is;
	if (threadIdx.x % LAUNCH_WARP == 0)
		shared[threadIdx.x / LAUNCH_WARP] = is;
	__syncthreads();
	is = shared[0];
	for (int warp = 1; warp < WARPS; warp++)
		is = loss_join(is, shared[warp]);
	return is;
}

/* A label that the logits do not have is told by ops_wait(), and counts for nothing. */
__device__ static inline bool loss_counts(const loss_rows &is, int32_t label)
{
	if (label >= is.classes)
		atomicOr(&is.state->invalid, 1U);
	return label >= 0 && label < is.classes;
}

template <int WARPS> __device__ static inline int64_t loss_row()
{
	return launch_thread() / (LAUNCH_WARP * WARPS);
}

template <typename T, int WARPS>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	loss_forward(loss_rows is, const T *__restrict__ logit, const int32_t *__restrict__ label,
		     float *__restrict__ loss, float *__restrict__ log_sum)
{
	int64_t row = loss_row<WARPS>();
	int64_t first = threadIdx.x % (LAUNCH_WARP * WARPS);
	loss_sum sum = {-FLT_MAX, 0, 0};

	if (row >= is.rows)
		return;
	logit += row * is.classes;
	for (int64_t i = first; i < is.classes; i += LAUNCH_WARP * WARPS) {
		float at = number_full(logit[i]);

		if (at > sum.most) {
			sum.sum *= expf(sum.most - at);
			sum.most = at;
		}
		sum.sum += expf(at - sum.most);
		sum.all += at;
	}
	sum = loss_row_join<WARPS>(sum);
	if (first > 0)
		return;
	float log = sum.most + logf(sum.sum);

	log_sum[row] = log;
	loss[row] = loss_counts(is, label[row])
			    ? log - (1.0F - is.smooth) * number_full(logit[label[row]]) -
				      is.smooth * sum.all / (float)is.classes
			    : 0;
}

template <typename T, int WARPS>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	loss_back(loss_rows is, const T *__restrict__ logit, const int32_t *__restrict__ label,
		  const float *__restrict__ log_sum, T *__restrict__ slope)
{
	int64_t row = loss_row<WARPS>();
	int64_t first = threadIdx.x % (LAUNCH_WARP * WARPS);

	if (row >= is.rows)
		return;
	bool counts = loss_counts(is, label[row]);
	float scale = (float)is.state->scale;
	float even = is.smooth / (float)is.classes;

	logit += row * is.classes;
	slope += row * is.classes;
	for (int64_t i = first; i < is.classes; i += LAUNCH_WARP * WARPS) {
		float at = scale * (expf(number_full(logit[i]) - log_sum[row]) - even);

		if (i == label[row])
			at -= scale * (1.0F - is.smooth);
		number_set(slope + i, counts ? at : 0);
	}
}

/* Calls run(T(), warps of a row). */
template <typename Run>
static int loss_launch(const struct cuda_launch *to, const struct ops_call *call, Run run)
{
	const struct loss_rows is = {launch_rows(&call->in[0]), launch_channels(&call->in[0]),
				     (float)call->attributes->smooth, to->state};

	return number_by_type(call->in[0].is.type, [&](auto zero) {
		if (is.classes <= LOSS_WARP_CLASSES)
			return run(is, zero, number_count<1>(),
				   dim3((unsigned)launch_parts(is.rows, LOSS_WARPS)));
		return run(is, zero, number_count<LOSS_WARPS>(), dim3((unsigned)is.rows));
	});
}

static int loss_cross_entropy(const struct cuda_launch *to, const struct ops_call calls[])
{
	return loss_launch(to, calls, [&](loss_rows is, auto zero, auto warps, dim3 blocks) {
		using T = decltype(zero);
		constexpr int W = decltype(warps)::value;

		return launch_kernel(to, blocks, LAUNCH_THREADS, W * sizeof(loss_sum),
				     loss_forward<T, W>, is, launch_in<T>(calls, 0),
				     launch_in<int32_t>(calls, 1), launch_out<float>(calls, 0),
				     launch_out<float>(calls, 1));
	});
}

extern "C" const struct cuda_op cuda_cross_entropy = {loss_cross_entropy, nullptr, nullptr};

static int loss_cross_entropy_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	return loss_launch(to, calls, [&](loss_rows is, auto zero, auto warps, dim3 blocks) {
		using T = decltype(zero);
		constexpr int W = decltype(warps)::value;

		return launch_kernel(to, blocks, LAUNCH_THREADS, 0, loss_back<T, W>, is,
				     launch_in<T>(calls, 0), launch_in<int32_t>(calls, 1),
				     launch_in<float>(calls, 2), launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_cross_entropy_back = {loss_cross_entropy_back, nullptr,
							   nullptr};
