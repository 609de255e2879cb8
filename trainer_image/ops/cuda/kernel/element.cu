/* Ops on single numbers: ADD, ADD with RELU, ACTIVATION, DROPOUT and their backward passes.
 *
 * A thread has one pack of 16 bytes; neighbours have neighbouring packs, so a warp reads 512 bytes in a
 * row. Numbers behind the last full pack are those of the last thread. Each input is read once and
 * the output written once: 3 s n bytes with two inputs, 2 s n with one, for n numbers of s bytes.
 * The output may lie where an input lies: a thread reads its numbers before it writes them. */
#include "trainer_image/ops/cuda/kernel/launch.h"
#include "trainer_image/ops/ops_random.h"

/* of(a, b, place) -> y; b is 0 where there is no second input. */
template <typename T, bool TWO, typename Of>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	element_map(Of of, const T *a, const T *b, T *y, int64_t count)
{
	constexpr int N = number_wide<T>::count;
	int64_t begin = launch_thread() * N;

	of.begin();
	if (begin + N <= count) {
		number_row<N> first = number_read<N>(a + begin);
		number_row<N> second = {};

		if (TWO)
			second = number_read<N>(b + begin);
#pragma unroll
		for (int i = 0; i < N; i++)
			first.at[i] = of.get(first.at[i], second.at[i], begin + i);
		number_write<N>(y + begin, first);
		return;
	}
	for (int64_t i = begin; i < count; i++)
		number_set(y + i, of.get(number_full(a[i]), TWO ? number_full(b[i]) : 0, i));
}

template <bool TWO, typename Of>
static int element_launch(const struct cuda_launch *launch_to, const struct ops_call *call, Of of)
{
	int64_t count = launch_count(&call->out[0]);

	return number_by_type(call->out[0].is.type, [&](auto zero) {
		using T = decltype(zero);
		int64_t threads = launch_parts(count, number_wide<T>::count);

		return launch_kernel(
			launch_to, dim3((unsigned)launch_parts(threads, LAUNCH_THREADS)),
			LAUNCH_THREADS, 0, element_map<T, TWO, Of>, of, launch_in<T>(call, 0),
			TWO ? launch_in<T>(call, 1) : nullptr, launch_out<T>(call, 0), count);
	});
}

struct element_plain {
	__device__ void begin()
	{
	}
};

/* --- add --- */

template <bool RELU> struct element_sum : element_plain {
	__device__ float get(float a, float b, int64_t) const
	{
		float sum = a + b;

		return RELU && sum < 0 ? 0 : sum;
	}
};

static int element_add(const struct cuda_launch *launch_to, const struct ops_call calls[])
{
	return element_launch<true>(launch_to, calls, element_sum<false>());
}

extern "C" const struct cuda_op cuda_add = {element_add, nullptr, nullptr};

/* The sum by itself is not written. */
static int element_add_relu(const struct cuda_launch *launch_to, const struct ops_call calls[])
{
	struct ops_call call = calls[0];

	call.out[0] = calls[1].out[0];
	return element_launch<true>(launch_to, &call, element_sum<true>());
}

extern "C" const struct cuda_op cuda_add_relu = {element_add_relu, nullptr, nullptr};

/* --- activations --- */

struct element_relu : element_plain {
	__device__ float get(float x, float, int64_t) const
	{
		return x < 0 ? 0 : x; /* not a number stays that */
	}
};

#define ELEMENT_SQRT_HALF   0.70710678118654752440F
#define ELEMENT_SQRT_2PI_IN 0.39894228040143267794F /* 1 / sqrt(2 pi) */

struct element_gelu : element_plain {
	__device__ float get(float x, float, int64_t) const
	{
		return 0.5F * x * (1.0F + erff(x * ELEMENT_SQRT_HALF));
	}
};

struct element_sigmoid : element_plain {
	__device__ float get(float x, float, int64_t) const
	{
		return 1.0F / (1.0F + expf(-x));
	}
};

struct element_tanh : element_plain {
	__device__ float get(float x, float, int64_t) const
	{
		return tanhf(x);
	}
};

static int element_activate(const struct cuda_launch *launch_to, const struct ops_call calls[])
{
	switch (calls->attributes->function) {
	case OP_RELU: return element_launch<false>(launch_to, calls, element_relu());
	case OP_GELU: return element_launch<false>(launch_to, calls, element_gelu());
	case OP_SIGMOID: return element_launch<false>(launch_to, calls, element_sigmoid());
	case OP_TANH: return element_launch<false>(launch_to, calls, element_tanh());
	}
	return (int)cudaErrorInvalidValue;
}

extern "C" const struct cuda_op cuda_activation = {element_activate, nullptr, nullptr};

/* The first input is y, of GELU x; the second is dy. */
struct element_relu_back : element_plain {
	__device__ float get(float y, float dy, int64_t) const
	{
		return y > 0 ? dy : 0;
	}
};

struct element_gelu_back : element_plain {
	__device__ float get(float x, float dy, int64_t) const
	{
		return dy * (0.5F * (1.0F + erff(x * ELEMENT_SQRT_HALF)) +
			     x * ELEMENT_SQRT_2PI_IN * expf(-0.5F * x * x));
	}
};

struct element_sigmoid_back : element_plain {
	__device__ float get(float y, float dy, int64_t) const
	{
		return dy * y * (1.0F - y);
	}
};

struct element_tanh_back : element_plain {
	__device__ float get(float y, float dy, int64_t) const
	{
		return dy * (1.0F - y * y);
	}
};

static int element_activate_back(const struct cuda_launch *launch_to, const struct ops_call calls[])
{
	switch (calls->attributes->function) {
	case OP_RELU: return element_launch<true>(launch_to, calls, element_relu_back());
	case OP_GELU: return element_launch<true>(launch_to, calls, element_gelu_back());
	case OP_SIGMOID: return element_launch<true>(launch_to, calls, element_sigmoid_back());
	case OP_TANH: return element_launch<true>(launch_to, calls, element_tanh_back());
	}
	return (int)cudaErrorInvalidValue;
}

extern "C" const struct cuda_op cuda_activation_back = {element_activate_back, nullptr, nullptr};

/* --- dropout: both passes are the same, and draw the numbers of the CPU (ops_random.h) --- */

struct element_drop {
	const struct cuda_state *state;
	uint64_t stream;
	uint64_t start;
	uint32_t dropped;
	float factor;

	__device__ void begin()
	{
		start = ops_random_start(state->seed, state->step, stream);
	}
	__device__ float get(float x, float, int64_t place) const
	{
		return ops_random_24(start, (uint64_t)place) < dropped ? 0 : x * factor;
	}
};

static int element_dropout(const struct cuda_launch *launch_to, const struct ops_call calls[])
{
	const struct op_attributes *is = calls->attributes;
	const struct element_drop of = {launch_to->state, is->stream, 0,
					ops_random_dropped(is->rate),
					(float)(1.0 / (1.0 - is->rate))};

	return element_launch<false>(launch_to, calls, of);
}

extern "C" const struct cuda_op cuda_dropout = {element_dropout, nullptr, nullptr};
