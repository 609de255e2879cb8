/* Optimizers, conversions, the search for infinities, and the numbers of a pass.
 *
 * A thread has four FP32 in packs of 16 bytes. Of n parameters SGD moves 20 n bytes (weight and velocity
 * read and written, the gradient read), LARS 8 n more for its norms, ADAMW 28 n; the copy for the model adds
 * 2 n or 4 n. Norms are sums of blocks in FP64, then of those in order. */
#include "trainer_image/ops/cuda/kernel/launch.h"

enum { UPDATE_WIDE = 4, UPDATE_BLOCKS_MAX = 1024 };
static_assert(2 * UPDATE_BLOCKS_MAX + 2 == CUDA_SUMS, "two norms and their results");

/* --- state of a pass --- */

__global__ static void update_state(cuda_state *state, uint64_t seed, uint64_t step, double scale)
{
	state->seed = seed;
	state->step = step;
	state->scale = scale;
}

extern "C" int cuda_state_set(const struct cuda_launch *to, const struct ops_pass *pass)
{
	return launch_kernel(to, dim3(1), 1, 0, update_state, to->state, pass->seed, pass->step,
			     pass->scale);
}

/* --- optimizers (ops.h, struct ops_update) --- */

struct update_factors {
	float unscale, decay, rate, momentum, epsilon;
	float fresh, fresh2, first, second; /* ADAMW */
	bool nesterov;
	const double *norms; /* LARS: of weights and gradients; NULL = the rate stands */
	double trust, rate_full, decay_full, unscale_full;
};

struct update_numbers {
	number_row<UPDATE_WIDE> weight, velocity, square;
};

/* What LARS multiplies the rate by. */
__device__ static inline float update_rate(const update_factors &is)
{
	if (!is.norms)
		return is.rate;
	double weight = sqrt(is.norms[0]);
	double slope = sqrt(is.norms[1]) * fabs(is.unscale_full);
	double trust = weight > 0 && slope > 0
			       ? is.trust * weight / (slope + is.decay_full * weight)
			       : 1.0;

	return (float)(is.rate_full * trust);
}

template <enum ops_update_kind KIND>
__device__ static inline void update_one(const update_factors &is, float rate, float gradient,
					 float &weight, float &velocity, float &square)
{
	float slope = gradient * is.unscale;

	if (KIND == OPS_ADAMW) {
		velocity += is.fresh * (slope - velocity);
		square += is.fresh2 * (slope * slope - square);
		weight -= rate * (is.decay * weight +
				  velocity * is.first / (sqrtf(square * is.second) + is.epsilon));
		return;
	}
	slope += is.decay * weight;
	if (KIND == OPS_LARS) { /* its velocity has the rate, so that it may change */
		velocity = is.momentum * velocity + rate * slope;
		weight -= velocity;
		return;
	}
	velocity = is.momentum * velocity + slope;
	weight -= rate * (is.nesterov ? slope + is.momentum * velocity : velocity);
}

struct update_memory {
	float *weight, *velocity, *square;
	const float *gradient;
	void *copy;
	int64_t count;
};

template <typename T, enum ops_update_kind KIND>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	update_all(update_memory is, update_factors of)
{
	constexpr int N = UPDATE_WIDE;
	int64_t begin = launch_thread() * N;
	T *copy = static_cast<T *>(is.copy);
	float rate = update_rate(of);

	if (begin + N > is.count) {
		for (int64_t i = begin; i < is.count; i++) {
			float square = KIND == OPS_ADAMW ? is.square[i] : 0;

			update_one<KIND>(of, rate, is.gradient[i], is.weight[i], is.velocity[i],
					 square);
			if (KIND == OPS_ADAMW)
				is.square[i] = square;
			if (copy)
				number_set(copy + i, is.weight[i]);
		}
		return;
	}
	number_row<N> weight = number_read<N>(is.weight + begin);
	number_row<N> velocity = number_read<N>(is.velocity + begin);
	number_row<N> gradient = number_read<N>(is.gradient + begin);
	number_row<N> square = {};

	if (KIND == OPS_ADAMW)
		square = number_read<N>(is.square + begin);
#pragma unroll
	for (int i = 0; i < N; i++)
		update_one<KIND>(of, rate, gradient.at[i], weight.at[i], velocity.at[i],
				 square.at[i]);
	number_write<N>(is.weight + begin, weight);
	number_write<N>(is.velocity + begin, velocity);
	if (KIND == OPS_ADAMW)
		number_write<N>(is.square + begin, square);
	if (copy)
		number_write<N>(copy + begin, weight);
}

/* Sums of squares of blocks: thread t of a block takes packs t, t + threads of the grid, .. */
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	update_squares(const float *__restrict__ numbers, int64_t count, double *sums)
{
	double *shared = reinterpret_cast<double *>(launch_shared());
	double sum = 0;

	for (int64_t i = launch_thread(); i < count; i += (int64_t)gridDim.x * blockDim.x)
		sum += (double)numbers[i] * (double)numbers[i];
	shared[threadIdx.x] = sum;
	__syncthreads();
	for (unsigned half = LAUNCH_THREADS / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = shared[0];
}

/* Two norms: thread 0 and 1 add the sums of their blocks. */
__global__ static void update_join(double *sums, int blocks)
{
	double sum = 0;

	for (int i = 0; i < blocks; i++)
		sum += sums[(int)threadIdx.x * UPDATE_BLOCKS_MAX + i];
	sums[2 * UPDATE_BLOCKS_MAX + threadIdx.x] = sum;
}

static int update_norms(const struct cuda_launch *to, const struct ops_update *update)
{
	int64_t count = (int64_t)update->count;
	int64_t wanted = launch_parts(count, (int64_t)LAUNCH_THREADS * 4);
	int blocks = wanted < UPDATE_BLOCKS_MAX ? (int)wanted : (int)UPDATE_BLOCKS_MAX;
	const size_t shared = LAUNCH_THREADS * sizeof(double);
	int rc = launch_kernel(to, dim3((unsigned)blocks), LAUNCH_THREADS, shared, update_squares,
			       update->weight, count, to->sums);

	if (rc == 0)
		rc = launch_kernel(to, dim3((unsigned)blocks), LAUNCH_THREADS, shared,
				   update_squares, update->gradient, count,
				   to->sums + UPDATE_BLOCKS_MAX);
	if (rc == 0)
		rc = launch_kernel(to, dim3(1), 2, 0, update_join, to->sums, blocks);
	return rc;
}

template <enum ops_update_kind KIND>
static int update_launch(const struct cuda_launch *to, const struct ops_update *update,
			 const struct update_factors &of)
{
	const struct update_memory is = {update->weight, update->velocity,
					 update->square, update->gradient,
					 update->copy,   (int64_t)update->count};
	int64_t threads = launch_parts(is.count, UPDATE_WIDE);

	return number_by_type(update->copy ? update->copy_type : TENSOR_FP32, [&](auto zero) {
		return launch_kernel(to, dim3((unsigned)launch_parts(threads, LAUNCH_THREADS)),
				     LAUNCH_THREADS, 0, update_all<decltype(zero), KIND>, is, of);
	});
}

extern "C" int cuda_update(const struct cuda_launch *to, const struct ops_update *update)
{
	struct update_factors of = {};
	int rc = 0;

	if (update->count == 0)
		return 0;
	of.unscale = (float)update->unscale;
	of.decay = (float)update->decay;
	of.rate = (float)update->rate;
	of.momentum = (float)update->momentum;
	of.epsilon = (float)update->epsilon;
	of.fresh = (float)(1 - update->momentum); /* in FP32 the difference loses 8 bits */
	of.fresh2 = (float)(1 - update->momentum2);
	of.first = (float)(1 / (1 - pow(update->momentum, (double)update->step)));
	of.second = (float)(1 / (1 - pow(update->momentum2, (double)update->step)));
	of.nesterov = update->nesterov;
	of.trust = update->trust;
	of.rate_full = update->rate;
	of.decay_full = update->decay;
	of.unscale_full = update->unscale;
	switch (update->kind) {
	case OPS_SGD: return update_launch<OPS_SGD>(to, update, of);
	case OPS_ADAMW: return update_launch<OPS_ADAMW>(to, update, of);
	case OPS_LARS:
		of.norms = to->sums + 2 * UPDATE_BLOCKS_MAX;
		rc = update_norms(to, update);
		return rc != 0 ? rc : update_launch<OPS_LARS>(to, update, of);
	}
	return (int)cudaErrorInvalidValue;
}

/* --- conversions --- */

/* The wider type decides the pack: four numbers. `to` begins where an element of its type may. */
template <typename To, typename From>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	update_convert(To *to, const From *from, int64_t count, bool adds)
{
	int64_t i = launch_thread();

	if (i < count)
		number_set(to + i,
			   adds ? number_full(to[i]) + number_full(from[i]) : number_full(from[i]));
}

extern "C" int cuda_convert(const struct cuda_launch *to, const struct ops_convert *convert)
{
	int64_t count = (int64_t)convert->count;

	return number_by_type(convert->to_type, [&](auto zero) {
		using To = decltype(zero);

		return number_by_type(convert->from_type, [&](auto other) {
			using From = decltype(other);

			return launch_kernel(
				to, dim3((unsigned)launch_parts(count, LAUNCH_THREADS)),
				LAUNCH_THREADS, 0, update_convert<To, From>,
				static_cast<To *>(convert->to),
				static_cast<const From *>(convert->from), count, convert->adds);
		});
	});
}

/* --- infinities --- */

__global__ static void __launch_bounds__(LAUNCH_THREADS)
	update_find(const float *__restrict__ numbers, int64_t count, cuda_state *state)
{
	bool found = false;

	for (int64_t i = launch_thread(); i < count; i += (int64_t)gridDim.x * blockDim.x)
		found = found || !isfinite(numbers[i]);
	if (found)
		atomicOr(&state->infinite, 1U);
}

extern "C" int cuda_finite(const struct cuda_launch *to, const float *numbers, size_t count)
{
	int64_t wanted = launch_parts((int64_t)count, (int64_t)LAUNCH_THREADS * 4);
	int blocks = wanted < UPDATE_BLOCKS_MAX ? (int)wanted : (int)UPDATE_BLOCKS_MAX;

	return launch_kernel(to, dim3((unsigned)blocks), LAUNCH_THREADS, 0, update_find, numbers,
			     (int64_t)count, to->state);
}
