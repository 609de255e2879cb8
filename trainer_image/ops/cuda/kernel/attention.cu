/* Attention of heads (Vaswani et al. 2017, 3.2) without a matrix of scores in memory (Dao et al. 2022).
 *
 * A row, of queries or of keys, has 1, 2 or 4 threads with up to 32 numbers of its head each; a block has
 * 128 threads. Tiles of 32 rows of the other side pass through shared memory in FP32, and all rows
 * of the block use them. A number of a tile is read once from shared memory for four products.
 *
 * Forward: q is read once, k and v once for each block of queries, y written once. Backward has two kernels:
 * dq by rows of queries, dk and dv by rows of keys. Each sum is of one thread, in the order of the rows,
 * so there is no atomic addition. It computes scores twice, 7 products where 5 would do.
 *
 * The products run on FP32 units, not on tensor cores: right for short sequences. It is the first thing to
 * change for long ones. */
#include <float.h>

#include "trainer_image/ops/cuda/kernel/launch.h"

enum { ATTENTION_THREADS = 128, ATTENTION_TILE = 32, ATTENTION_OWN = 32, ATTENTION_SIZE_MAX = 128 };

struct attention {
	int length, channels, heads, size;
	float factor;
	bool causal;
};

static struct attention attention_of(const struct ops_call *call)
{
	const struct tensor_shape *qkv = &call->in[0].is.shape;
	int channels = (int)(qkv->size[2] / 3);
	int heads = call->attributes->heads;
	int size = channels / heads;

	return attention{(int)qkv->size[1],       channels, heads, size, 1.0F / sqrtf((float)size),
			 call->attributes->causal};
}

/* Where a head of a sequence lies. Rows of qkv have three parts. */
struct attention_head {
	int64_t qkv, y, statistic; /* its first row */

	__device__ explicit attention_head(const attention &is)
	{
		int64_t sequence = blockIdx.x / (unsigned)is.heads;
		int64_t head = blockIdx.x % (unsigned)is.heads;

		qkv = sequence * is.length * 3 * is.channels + head * is.size;
		y = sequence * is.length * is.channels + head * is.size;
		statistic = (int64_t)blockIdx.x * is.length;
	}
};

/* The numbers of a row that one of its G threads has: packs of four, G packs apart. */
template <int G> struct attention_row {
	float at[ATTENTION_OWN];

	__device__ static int dimension(int i)
	{
		return i / 4 * 4 * G + (int)threadIdx.x % G * 4 + i % 4;
	}
	__device__ void clear()
	{
#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			at[i] = 0;
	}
	template <typename T> __device__ void load(const T *from, int size)
	{
#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			at[i] = from && dimension(i) < size ? number_full(from[dimension(i)]) : 0;
	}
	template <typename T> __device__ void store(T *to, int size, float factor) const
	{
#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			if (dimension(i) < size)
				number_set(to + dimension(i), at[i] * factor);
	}
	__device__ void scale(float factor)
	{
#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			at[i] *= factor;
	}
	__device__ void add(float factor, const float *tile_row)
	{
#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			at[i] += factor * tile_row[dimension(i)];
	}
	/* All threads of the row get the sum; all of the warp must call it. */
	__device__ float product(const float *tile_row) const
	{
		float sum = 0;

#pragma unroll
		for (int i = 0; i < ATTENTION_OWN; i++)
			sum += at[i] * tile_row[dimension(i)];
		return attention_row::all(sum);
	}
	__device__ static float all(float sum)
	{
#pragma unroll
		for (int with = G / 2; with > 0; with /= 2)
			sum += __shfl_xor_sync(LAUNCH_ALL, sum, with);
		return sum;
	}
};

template <int G> struct attention_block {
	static constexpr int rows = ATTENTION_THREADS / G;
	static constexpr int width = ATTENTION_OWN * G;
	static constexpr int tile = ATTENTION_TILE * width;

	__device__ static int row()
	{
		return (int)blockIdx.y * rows + (int)threadIdx.x / G;
	}
	/* Rows first .. first + 31 to shared memory; what a tile lacks is 0. */
	template <typename T>
	__device__ static void load(float *to, const T *from, int first, const attention &is,
				    int stride)
	{
		if (is.size % number_wide<T>::count == 0)
			load_packs<number_wide<T>::count>(to, from, first, is, stride);
		else
			load_packs<1>(to, from, first, is, stride);
	}
	template <int N, typename T>
	__device__ static void load_packs(float *to, const T *from, int first, const attention &is,
					  int stride)
	{
		constexpr int packs = width / N;

		for (int i = (int)threadIdx.x; i < ATTENTION_TILE * packs; i += ATTENTION_THREADS) {
			int row = first + i / packs;
			int at = i % packs * N;
			number_row<N> pack = {};

			if (row < is.length && at < is.size)
				pack = number_read<N>(from + (int64_t)row * stride + at);
#pragma unroll
			for (int k = 0; k < N; k++)
				to[i / packs * width + at + k] = pack.at[k];
		}
	}
};

/* Rows of the other side that the block needs: causal queries see no later keys, keys no earlier queries. */
template <int G> __device__ static inline int attention_keys_end(const attention &is)
{
	int end = ((int)blockIdx.y + 1) * attention_block<G>::rows;

	return is.causal && end < is.length ? end : is.length;
}

template <int G> __device__ static inline int attention_queries_begin(const attention &is)
{
	int begin = (int)blockIdx.y * attention_block<G>::rows;

	return is.causal ? begin / ATTENTION_TILE * ATTENTION_TILE : 0;
}

template <typename T, int G>
__global__ static void __launch_bounds__(ATTENTION_THREADS)
	attention_forward(attention is, const T *__restrict__ qkv, T *__restrict__ y,
			  float *__restrict__ log_sum)
{
	using block = attention_block<G>;
	attention_head head(is);
	float *keys = launch_shared();
	float *values = keys + block::tile;
	int stride = 3 * is.channels;
	int row = block::row();
	bool works = row < is.length;
	int end = attention_keys_end<G>(is);
	float most = -FLT_MAX;
	float sum = 0;
	attention_row<G> query, result;

	query.load(works ? qkv + head.qkv + (int64_t)row * stride : nullptr, is.size);
	result.clear();
	for (int first = 0; first < end; first += ATTENTION_TILE) {
		block::load(keys, qkv + head.qkv + is.channels, first, is, stride);
		block::load(values, qkv + head.qkv + 2 * is.channels, first, is, stride);
		__syncthreads();
		for (int i = 0; i < ATTENTION_TILE && first + i < end; i++) {
			float score = query.product(keys + i * block::width) * is.factor;

			if (is.causal && first + i > row)
				continue;
			if (score > most) {
				result.scale(expf(most - score));
				sum *= expf(most - score);
				most = score;
			}
			float share = expf(score - most);

			sum += share;
			result.add(share, values + i * block::width);
		}
		__syncthreads();
	}
	if (!works)
		return;
	result.store(y + head.y + (int64_t)row * is.channels, is.size, 1.0F / sum);
	if (threadIdx.x % G == 0)
		log_sum[head.statistic + row] = most + logf(sum);
}

/* What the backward kernels read. */
template <typename T> struct attention_slopes {
	const T *qkv, *y, *dy;
	const float *log_sum;
	float *delta; /* of each query the sum of y dy: the first kernel makes it for the second */
	T *dqkv;
};

template <typename T, int G>
__global__ static void __launch_bounds__(ATTENTION_THREADS)
	attention_back_queries(attention is, attention_slopes<T> of)
{
	using block = attention_block<G>;
	attention_head head(is);
	float *keys = launch_shared();
	float *values = keys + block::tile;
	int stride = 3 * is.channels;
	int row = block::row();
	bool works = row < is.length;
	int end = attention_keys_end<G>(is);
	int64_t at = head.y + (int64_t)row * is.channels;
	attention_row<G> query, slope, result;
	float delta = 0;
	float log_sum = works ? of.log_sum[head.statistic + row] : 0;

	query.load(works ? of.qkv + head.qkv + (int64_t)row * stride : nullptr, is.size);
	slope.load(works ? of.dy + at : nullptr, is.size);
	result.load(works ? of.y + at : nullptr, is.size);
#pragma unroll
	for (int i = 0; i < ATTENTION_OWN; i++)
		delta += result.at[i] * slope.at[i];
	delta = attention_row<G>::all(delta);
	if (works && threadIdx.x % G == 0)
		of.delta[head.statistic + row] = delta;
	result.clear();
	for (int first = 0; first < end; first += ATTENTION_TILE) {
		block::load(keys, of.qkv + head.qkv + is.channels, first, is, stride);
		block::load(values, of.qkv + head.qkv + 2 * is.channels, first, is, stride);
		__syncthreads();
		for (int i = 0; i < ATTENTION_TILE && first + i < end; i++) {
			float score = query.product(keys + i * block::width) * is.factor;
			float of_share = slope.product(values + i * block::width);
			float share = expf(score - log_sum);

			if (!is.causal || first + i <= row)
				result.add(share * (of_share - delta) * is.factor,
					   keys + i * block::width);
		}
		__syncthreads();
	}
	if (works)
		result.store(of.dqkv + head.qkv + (int64_t)row * stride, is.size, 1);
}

template <typename T, int G>
__global__ static void __launch_bounds__(ATTENTION_THREADS)
	attention_back_keys(attention is, attention_slopes<T> of)
{
	using block = attention_block<G>;
	attention_head head(is);
	float *queries = launch_shared();
	float *slopes = queries + block::tile;
	int stride = 3 * is.channels;
	int row = block::row();
	bool works = row < is.length;
	int64_t at = head.qkv + (int64_t)row * stride;
	attention_row<G> key, value, of_key, of_value;

	key.load(works ? of.qkv + at + is.channels : nullptr, is.size);
	value.load(works ? of.qkv + at + 2 * is.channels : nullptr, is.size);
	of_key.clear();
	of_value.clear();
	for (int first = attention_queries_begin<G>(is); first < is.length;
	     first += ATTENTION_TILE) {
		block::load(queries, of.qkv + head.qkv, first, is, stride);
		block::load(slopes, of.dy + head.y, first, is, is.channels);
		__syncthreads();
		for (int i = 0; i < ATTENTION_TILE && first + i < is.length; i++) {
			const float *query = queries + i * block::width;
			const float *slope = slopes + i * block::width;
			int64_t statistic = head.statistic + first + i;
			float score = key.product(query) * is.factor;
			float of_share = value.product(slope);

			if (is.causal && first + i < row)
				continue;
			float share = expf(score - of.log_sum[statistic]);

			of_value.add(share, slope);
			of_key.add(share * (of_share - of.delta[statistic]) * is.factor, query);
		}
		__syncthreads();
	}
	if (!works)
		return;
	of_key.store(of.dqkv + at + is.channels, is.size, 1);
	of_value.store(of.dqkv + at + 2 * is.channels, is.size, 1);
}

/* Calls run(T(), threads of a row). */
template <typename Run>
static int attention_by_size(const struct ops_call *call, const struct attention *is, Run run)
{
	return number_by_type(call->in[0].is.type, [&](auto zero) {
		if (is->size <= ATTENTION_OWN)
			return run(zero, number_count<1>());
		if (is->size <= 2 * ATTENTION_OWN)
			return run(zero, number_count<2>());
		return run(zero, number_count<4>());
	});
}

/* A head of a sequence across, its rows down. */
template <int G>
static dim3 attention_blocks(const struct ops_call *call, const struct attention *is)
{
	return dim3((unsigned)(call->in[0].is.shape.size[0] * is->heads),
		    (unsigned)launch_parts(is->length, attention_block<G>::rows));
}

static const char *attention_lacks(const struct ops_call *call)
{
	return attention_of(call).size > ATTENTION_SIZE_MAX ? "a head has more than 128 channels"
							    : nullptr;
}

static int attention_run(const struct cuda_launch *to, const struct ops_call calls[])
{
	struct attention is = attention_of(calls);

	return attention_by_size(calls, &is, [&](auto zero, auto threads) {
		using T = decltype(zero);
		constexpr int G = decltype(threads)::value;

		return launch_kernel(to, attention_blocks<G>(calls, &is), ATTENTION_THREADS,
				     2 * attention_block<G>::tile * sizeof(float),
				     attention_forward<T, G>, is, launch_in<T>(calls, 0),
				     launch_out<T>(calls, 0), launch_out<float>(calls, 1));
	});
}

extern "C" const struct cuda_op cuda_attention = {attention_run, nullptr, attention_lacks};

static size_t attention_workspace(const struct ops_call *call)
{
	return (size_t)launch_count(&call->in[3]) * sizeof(float);
}

static int attention_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	struct attention is = attention_of(calls);

	return attention_by_size(calls, &is, [&](auto zero, auto threads) {
		using T = decltype(zero);
		constexpr int G = decltype(threads)::value;
		const attention_slopes<T> of = {launch_in<T>(calls, 0),
						launch_in<T>(calls, 1),
						launch_in<T>(calls, 2),
						launch_in<float>(calls, 3),
						static_cast<float *>(calls->workspace),
						launch_out<T>(calls, 0)};
		size_t shared = 2 * attention_block<G>::tile * sizeof(float);
		int rc = launch_kernel(to, attention_blocks<G>(calls, &is), ATTENTION_THREADS,
				       shared, attention_back_queries<T, G>, is, of);

		if (rc == 0)
			rc = launch_kernel(to, attention_blocks<G>(calls, &is), ATTENTION_THREADS,
					   shared, attention_back_keys<T, G>, is, of);
		return rc;
	});
}

extern "C" const struct cuda_op cuda_attention_back = {attention_back, attention_workspace,
						       attention_lacks};
