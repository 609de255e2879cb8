/* Ops on single numbers, and those that move channels. An item is a share of all numbers, or a row. */
#include <math.h>
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"
#include "trainer_image/ops/ops_random.h"

enum { ELEMENT_SHARE = 16 << 10 };

static int64_t element_numbers(const struct ops_call *call)
{
	return tensor_shape_count(real_out_shape(call, 0));
}

static int64_t element_shares(const struct ops_call *call)
{
	return (element_numbers(call) + ELEMENT_SHARE - 1) / ELEMENT_SHARE;
}

static int64_t element_end(const struct ops_call *call, int64_t share)
{
	return real_least(share * ELEMENT_SHARE, element_numbers(call));
}

static void element_add(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const real *a = real_in(work->call, 0);
	const real *b = real_in(work->call, 1);
	real *y = real_out(work->call, 0);

	(void)thread;
	for (int64_t i = first * ELEMENT_SHARE; i < element_end(work->call, last); i++)
		y[i] = a[i] + b[i];
}

const struct cpu_op REAL_NAME(cpu_add) = {.loops = {{element_shares, element_add}}};

/* --- channels --- */

static int64_t element_rows(const struct ops_call *call)
{
	return real_rows(real_out_shape(call, 0));
}

static void element_concat(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t to = real_channels(real_out_shape(call, 0));
	int64_t offset = 0;

	(void)thread;
	for (size_t nth = 0; nth < call->in_count; nth++) {
		int64_t from = real_channels(real_in_shape(call, nth));

		for (int64_t row = first; row < last; row++)
			memcpy(real_out(call, 0) + row * to + offset,
			       real_in(call, nth) + row * from, (size_t)from * sizeof(real));
		offset += from;
	}
}

const struct cpu_op REAL_NAME(cpu_concat) = {.loops = {{element_rows, element_concat}}};

static void element_slice(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t to = real_channels(real_out_shape(call, 0));
	int64_t from = real_channels(real_in_shape(call, 0));

	(void)thread;
	for (int64_t row = first; row < last; row++)
		memcpy(real_out(call, 0) + row * to,
		       real_in(call, 0) + row * from + call->attributes->offset,
		       (size_t)to * sizeof(real));
}

const struct cpu_op REAL_NAME(cpu_slice) = {.loops = {{element_rows, element_slice}}};

/* --- activations --- */

#define ELEMENT_SQRT_HALF   ((real)0.70710678118654752440)
#define ELEMENT_SQRT_2PI_IN ((real)0.39894228040143267794) /* 1 / sqrt(2 pi) */

static void element_activate(const struct cpu_work *work, unsigned thread, int64_t first,
			     int64_t last)
{
	const real *x = real_in(work->call, 0);
	real *y = real_out(work->call, 0);
	int64_t end = element_end(work->call, last);

	(void)thread;
	switch (work->call->attributes->function) {
	case OP_RELU: /* not a number stays that */
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			y[i] = x[i] < 0 ? (real)0 : x[i];
		break;
	case OP_GELU: /* x times the normal distribution (Hendrycks, Gimpel 2016) */
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			y[i] = (real)0.5 * x[i] * ((real)1 + REAL_ERF(x[i] * ELEMENT_SQRT_HALF));
		break;
	case OP_SIGMOID:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			y[i] = (real)1 / ((real)1 + REAL_EXP(-x[i]));
		break;
	case OP_TANH:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			y[i] = REAL_TANH(x[i]);
		break;
	}
}

const struct cpu_op REAL_NAME(cpu_activation) = {.loops = {{element_shares, element_activate}}};

static inline real element_gelu_slope(real x)
{
	return (real)0.5 * ((real)1 + REAL_ERF(x * ELEMENT_SQRT_HALF)) +
	       x * ELEMENT_SQRT_2PI_IN * REAL_EXP((real)-0.5 * x * x);
}

/* `of` is y, of GELU x. */
static void element_activate_back(const struct cpu_work *work, unsigned thread, int64_t first,
				  int64_t last)
{
	const real *of = real_in(work->call, 0);
	const real *dy = real_in(work->call, 1);
	real *dx = real_out(work->call, 0);
	int64_t end = element_end(work->call, last);

	(void)thread;
	switch (work->call->attributes->function) {
	case OP_RELU:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			dx[i] = of[i] > 0 ? dy[i] : (real)0;
		break;
	case OP_GELU:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			dx[i] = dy[i] * element_gelu_slope(of[i]);
		break;
	case OP_SIGMOID:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			dx[i] = dy[i] * of[i] * ((real)1 - of[i]);
		break;
	case OP_TANH:
		for (int64_t i = first * ELEMENT_SHARE; i < end; i++)
			dx[i] = dy[i] * ((real)1 - of[i] * of[i]);
		break;
	}
}

const struct cpu_op REAL_NAME(cpu_activation_back) = {
	.loops = {{element_shares, element_activate_back}}};

/* Both passes are the same: what was dropped has no gradient. */
static void element_drop(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	uint64_t start =
		ops_random_start(call->pass->seed, call->pass->step, call->attributes->stream);
	uint32_t dropped = ops_random_dropped(call->attributes->rate);
	real factor = (real)(1.0 / (1.0 - call->attributes->rate));
	const real *x = real_in(call, 0);
	real *y = real_out(call, 0);

	(void)thread;
	for (int64_t i = first * ELEMENT_SHARE; i < element_end(call, last); i++)
		y[i] = ops_random_24(start, (uint64_t)i) < dropped ? (real)0 : x[i] * factor;
}

const struct cpu_op REAL_NAME(cpu_dropout) = {.loops = {{element_shares, element_drop}}};
