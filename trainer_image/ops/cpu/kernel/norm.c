/* Batch and layer normalisation. Variances are made of blocks' own (Chan, Golub, LeVeque 1983), so a
 * large mean does not eat them up. */
#include <math.h>
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

static int64_t norm_channels(const struct ops_call *call)
{
	return real_channels(real_in_shape(call, 0));
}

static int64_t norm_rows(const struct ops_call *call)
{
	return real_rows(real_in_shape(call, 0));
}

static int64_t norm_blocks(const struct ops_call *call)
{
	return real_blocks(norm_rows(call));
}

static int64_t norm_one(const struct ops_call *call)
{
	(void)call;
	return 1;
}

/* Two numbers a channel and block, then two a channel. */
static size_t norm_shared(const struct ops_call *call)
{
	return (size_t)((norm_blocks(call) + 1) * norm_channels(call) * 2) * sizeof(real);
}

/* Rows of a block. */
static void norm_block_rows(const struct ops_call *call, int64_t block, int64_t *row, int64_t *end)
{
	int64_t rows = norm_rows(call);

	*row = block * real_block_rows(rows);
	*end = real_least(*row + real_block_rows(rows), rows);
}

/* --- batch norm, forward --- */

/* A block's means, then its sums of squares around them. Nothing when the running ones count. */
static void norm_batch_sums(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	int64_t channels = norm_channels(work->call);
	const real *x = real_in(work->call, 0);

	(void)thread;
	for (int64_t block = first; work->call->attributes->training && block < last; block++) {
		real *mean = (real *)work->shared + block * channels * 2;
		real *square = mean + channels;
		int64_t row;
		int64_t end;

		norm_block_rows(work->call, block, &row, &end);
		memset(mean, 0, (size_t)channels * 2 * sizeof(real));
		for (int64_t i = row; i < end; i++)
			for (int64_t c = 0; c < channels; c++)
				mean[c] += x[i * channels + c];
		for (int64_t c = 0; c < channels; c++)
			mean[c] /= (real)(end - row);
		for (int64_t i = row; i < end; i++)
			for (int64_t c = 0; c < channels; c++) {
				real off = x[i * channels + c] - mean[c];

				square[c] += off * off;
			}
	}
}

static void norm_batch_join(const struct ops_call *call, const real *shared, int64_t c,
			    real *ret_mean, real *ret_square)
{
	int64_t channels = norm_channels(call);
	real mean = 0;
	real square = 0;
	real count = 0;

	for (int64_t block = 0; block < norm_blocks(call); block++) {
		const real *sums = shared + block * channels * 2;
		int64_t row;
		int64_t end;

		norm_block_rows(call, block, &row, &end);
		real more = (real)(end - row);
		real off = sums[c] - mean;

		mean += off * more / (count + more);
		square += sums[channels + c] + off * off * count * more / (count + more);
		count += more;
	}
	*ret_mean = mean;
	*ret_square = square;
}

/* Moves the running averages towards the batch: the variance there is that of the population. */
static void norm_batch_run(const struct ops_call *call, int64_t c, real mean, real square)
{
	real momentum = (real)call->attributes->momentum;
	int64_t rows = norm_rows(call);
	real *run_mean = call->in[3].data;
	real *run_var = call->in[4].data;

	if (call->recompute)
		return;
	run_mean[c] += momentum * (mean - run_mean[c]);
	run_var[c] += momentum * (square / (real)(rows > 1 ? rows - 1 : 1) - run_var[c]);
}

/* Per channel y = x * factor + offset. */
static void norm_batch_factors(const struct cpu_work *work, unsigned thread, int64_t first,
			       int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t channels = norm_channels(call);
	real *factor = (real *)work->shared + norm_blocks(call) * channels * 2;
	real epsilon = (real)call->attributes->epsilon;

	(void)thread, (void)first, (void)last;
	for (int64_t c = 0; c < channels; c++) {
		real mean = real_in(call, 3)[c];
		real variance = real_in(call, 4)[c];

		if (call->attributes->training) {
			real square;

			norm_batch_join(call, work->shared, c, &mean, &square);
			norm_batch_run(call, c, mean, square);
			variance = square / (real)norm_rows(call);
		}
		real_out(call, 1)[c] = mean;
		real_out(call, 2)[c] = (real)1 / REAL_SQRT(variance + epsilon);
		factor[c] = real_in(call, 1)[c] * real_out(call, 2)[c];
		factor[channels + c] = real_in(call, 2)[c] - mean * factor[c];
	}
}

static void norm_batch_apply(const struct cpu_work *work, unsigned thread, int64_t first,
			     int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t channels = norm_channels(call);
	const real *factor = (const real *)work->shared + norm_blocks(call) * channels * 2;
	const real *restrict x = real_in(call, 0);
	real *restrict y = real_out(call, 0);

	(void)thread;
	for (int64_t block = first; block < last; block++) {
		int64_t row;
		int64_t end;

		for (norm_block_rows(call, block, &row, &end); row < end; row++)
			for (int64_t c = 0; c < channels; c++)
				y[row * channels + c] =
					x[row * channels + c] * factor[c] + factor[channels + c];
	}
}

const struct cpu_op REAL_NAME(cpu_batch_norm) = {
	.loops = {{norm_blocks, norm_batch_sums},
		  {norm_one, norm_batch_factors},
		  {norm_blocks, norm_batch_apply}},
	.shared = norm_shared,
};

/* --- batch norm, backward: in x, dy, scale, mean, inv_std; out dx, dscale, dshift --- */

/* A block's sums of dy times the normalised x, and of dy. */
static void norm_back_sums(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t channels = norm_channels(call);
	const real *x = real_in(call, 0);
	const real *dy = real_in(call, 1);
	const real *mean = real_in(call, 3);
	const real *inv_std = real_in(call, 4);

	(void)thread;
	for (int64_t block = first; block < last; block++) {
		real *scale = (real *)work->shared + block * channels * 2;
		real *shift = scale + channels;
		int64_t row;
		int64_t end;

		memset(scale, 0, (size_t)channels * 2 * sizeof(real));
		for (norm_block_rows(call, block, &row, &end); row < end; row++)
			for (int64_t c = 0; c < channels; c++) {
				int64_t i = row * channels + c;

				scale[c] += dy[i] * (x[i] - mean[c]) * inv_std[c];
				shift[c] += dy[i];
			}
	}
}

static void norm_back_join(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t channels = norm_channels(call);
	real *sums = (real *)work->shared + norm_blocks(call) * channels * 2;

	(void)thread, (void)first, (void)last;
	for (int64_t c = 0; c < channels * 2; c++) {
		sums[c] = 0;
		for (int64_t block = 0; block < norm_blocks(call); block++)
			sums[c] += ((const real *)work->shared)[block * channels * 2 + c];
	}
	for (int64_t c = 0; c < channels; c++) {
		real_store(call, real_out(call, 1) + c, sums[c]);
		real_store(call, real_out(call, 2) + c, sums[channels + c]);
	}
}

/* dx = scale * inv_std * (dy - sum(dy) / M - xhat * sum(dy * xhat) / M). */
static void norm_batch_back(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t channels = norm_channels(call);
	const real *sums = (const real *)work->shared + norm_blocks(call) * channels * 2;
	const real *restrict x = real_in(call, 0);
	const real *restrict dy = real_in(call, 1);
	const real *scale = real_in(call, 2);
	const real *mean = real_in(call, 3);
	const real *inv_std = real_in(call, 4);
	real *restrict dx = real_out(call, 0);
	real part = call->attributes->training ? (real)1 / (real)norm_rows(call) : (real)0;

	(void)thread;
	for (int64_t block = first; block < last; block++) {
		int64_t row;
		int64_t end;

		for (norm_block_rows(call, block, &row, &end); row < end; row++)
			for (int64_t c = 0; c < channels; c++) {
				int64_t i = row * channels + c;
				real unit = (x[i] - mean[c]) * inv_std[c];

				dx[i] = scale[c] * inv_std[c] *
					(dy[i] - part * (sums[channels + c] + unit * sums[c]));
			}
	}
}

const struct cpu_op REAL_NAME(cpu_batch_norm_back) = {
	.loops = {{norm_blocks, norm_back_sums},
		  {norm_one, norm_back_join},
		  {norm_blocks, norm_batch_back}},
	.shared = norm_shared,
};

/* --- layer norm: a row by itself --- */

static void norm_layer_row(const struct ops_call *call, int64_t row)
{
	int64_t channels = norm_channels(call);
	const real *x = real_in(call, 0) + row * channels;
	real *y = real_out(call, 0) + row * channels;
	real mean = 0;
	real square = 0;

	for (int64_t c = 0; c < channels; c++)
		mean += x[c];
	mean /= (real)channels;
	for (int64_t c = 0; c < channels; c++)
		square += (x[c] - mean) * (x[c] - mean);
	real inv_std =
		(real)1 / REAL_SQRT(square / (real)channels + (real)call->attributes->epsilon);

	for (int64_t c = 0; c < channels; c++)
		y[c] = (x[c] - mean) * inv_std * real_in(call, 1)[c] + real_in(call, 2)[c];
	real_out(call, 1)[row] = mean;
	real_out(call, 2)[row] = inv_std;
}

static void norm_layer(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	(void)thread;
	for (int64_t row = first; row < last; row++)
		norm_layer_row(work->call, row);
}

const struct cpu_op REAL_NAME(cpu_layer_norm) = {.loops = {{norm_rows, norm_layer}}};

static void norm_layer_back_row(const struct ops_call *call, int64_t row, real *scale, real *shift)
{
	int64_t channels = norm_channels(call);
	const real *x = real_in(call, 0) + row * channels;
	const real *dy = real_in(call, 1) + row * channels;
	const real *weight = real_in(call, 2);
	real mean = real_in(call, 3)[row];
	real inv_std = real_in(call, 4)[row];
	real *dx = real_out(call, 0) + row * channels;
	real sum = 0;
	real product = 0;

	for (int64_t c = 0; c < channels; c++) {
		real unit = (x[c] - mean) * inv_std;

		sum += dy[c] * weight[c];
		product += dy[c] * weight[c] * unit;
		scale[c] += dy[c] * unit;
		shift[c] += dy[c];
	}
	sum /= (real)channels;
	product /= (real)channels;
	for (int64_t c = 0; c < channels; c++)
		dx[c] = inv_std * (dy[c] * weight[c] - sum - (x[c] - mean) * inv_std * product);
}

static void norm_layer_back(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	int64_t channels = norm_channels(work->call);

	(void)thread;
	for (int64_t block = first; block < last; block++) {
		real *scale = (real *)work->shared + block * channels * 2;
		int64_t row;
		int64_t end;

		memset(scale, 0, (size_t)channels * 2 * sizeof(real));
		for (norm_block_rows(work->call, block, &row, &end); row < end; row++)
			norm_layer_back_row(work->call, row, scale, scale + channels);
	}
}

const struct cpu_op REAL_NAME(cpu_layer_norm_back) = {
	.loops = {{norm_blocks, norm_layer_back}, {norm_one, norm_back_join}},
	.shared = norm_shared,
};
