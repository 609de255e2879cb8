/* Linear layers: products of matrices, in slices of rows and columns that do not depend on the number
 * of threads. */
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

enum { LINEAR_SLICE = 256 };

static int64_t linear_slices(int64_t size)
{
	return (size + LINEAR_SLICE - 1) / LINEAR_SLICE;
}

/* An item is a slice of rows and a slice of columns of what comes out. */
struct linear_part {
	int64_t row, rows, column, columns;
};

static struct linear_part linear_part_of(int64_t item, int64_t rows, int64_t columns)
{
	int64_t across = linear_slices(columns);
	struct linear_part part = {.row = item / across * LINEAR_SLICE,
				   .column = item % across * LINEAR_SLICE};

	part.rows = real_least(LINEAR_SLICE, rows - part.row);
	part.columns = real_least(LINEAR_SLICE, columns - part.column);
	return part;
}

/* --- forward: y [rows, out] = x [rows, in] times the turned w [out, in] --- */

static int64_t linear_count(const struct ops_call *call)
{
	const struct tensor_shape *to = real_out_shape(call, 0);

	return linear_slices(real_rows(to)) * linear_slices(real_channels(to));
}

static void linear_forward(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t rows = real_rows(real_out_shape(call, 0));
	int64_t out = real_channels(real_out_shape(call, 0));
	int64_t in = real_channels(real_in_shape(call, 0));
	const real *bias = call->in_count > 2 ? real_in(call, 2) : NULL;

	(void)thread;
	for (int64_t item = first; item < last; item++) {
		struct linear_part part = linear_part_of(item, rows, out);
		real *y = real_out(call, 0) + part.row * out + part.column;

		for (int64_t row = 0; bias && row < part.rows; row++)
			memcpy(y + row * out, bias + part.column,
			       (size_t)part.columns * sizeof(real));
		real_multiply(work,
			      (struct real_matrix){real_in(call, 0) + part.row * in, in, false},
			      (struct real_matrix){real_in(call, 1) + part.column * in, in, true},
			      part.rows, part.columns, in, bias ? (real)1 : (real)0, y, out);
	}
}

const struct cpu_op REAL_NAME(cpu_linear) = {.loops = {{linear_count, linear_forward}}};

/* --- gradient of the data: dx [rows, in] = dy [rows, out] times w [out, in] --- */

static void linear_data(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t rows = real_rows(real_out_shape(call, 0));
	int64_t in = real_channels(real_out_shape(call, 0));
	int64_t out = real_channels(real_in_shape(call, 0));

	(void)thread;
	for (int64_t item = first; item < last; item++) {
		struct linear_part part = linear_part_of(item, rows, in);

		real_multiply(work,
			      (struct real_matrix){real_in(call, 0) + part.row * out, out, false},
			      (struct real_matrix){real_in(call, 1) + part.column, in, false},
			      part.rows, part.columns, out, (real)0,
			      real_out(call, 0) + part.row * in + part.column, in);
	}
}

const struct cpu_op REAL_NAME(cpu_linear_data) = {.loops = {{linear_count, linear_data}}};

/* --- gradient of the weights: dw [out, in] = the turned dy [rows, out] times x [rows, in] --- */

static void linear_weight(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	int64_t out = real_out_shape(call, 0)->size[0];
	int64_t in = real_out_shape(call, 0)->size[1];

	(void)thread;
	for (int64_t item = first; item < last; item++) {
		struct linear_part part = linear_part_of(item, out, in);

		real_multiply(work, (struct real_matrix){real_in(call, 1) + part.row, out, true},
			      (struct real_matrix){real_in(call, 0) + part.column, in, false},
			      part.rows, part.columns, real_rows(real_in_shape(call, 0)),
			      call->accumulate ? (real)1 : (real)0,
			      real_out(call, 0) + part.row * in + part.column, in);
	}
}

const struct cpu_op REAL_NAME(cpu_linear_weight) = {.loops = {{linear_count, linear_weight}}};

/* --- gradient of a bias: sums of columns --- */

static int64_t linear_bias_blocks(const struct ops_call *call)
{
	return real_blocks(real_rows(real_in_shape(call, 0)));
}

static size_t linear_bias_shared(const struct ops_call *call)
{
	return (size_t)(linear_bias_blocks(call) * real_channels(real_in_shape(call, 0))) *
	       sizeof(real);
}

static void linear_bias_block(const struct cpu_work *work, unsigned thread, int64_t first,
			      int64_t last)
{
	int64_t rows = real_rows(real_in_shape(work->call, 0));
	int64_t channels = real_channels(real_in_shape(work->call, 0));

	(void)thread;
	for (int64_t block = first; block < last; block++) {
		int64_t row = block * real_block_rows(rows);
		int64_t end = real_least(row + real_block_rows(rows), rows);
		real *sums = (real *)work->shared + block * channels;

		memset(sums, 0, (size_t)channels * sizeof(real));
		for (; row < end; row++) {
			const real *dy = real_in(work->call, 0) + row * channels;

			for (int64_t c = 0; c < channels; c++)
				sums[c] += dy[c];
		}
	}
}

static int64_t linear_bias_channels(const struct ops_call *call)
{
	return real_channels(real_in_shape(call, 0));
}

static void linear_bias_add(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	int64_t channels = linear_bias_channels(work->call);
	const real *sums = work->shared;

	(void)thread;
	for (int64_t c = first; c < last; c++) {
		real sum = 0;

		for (int64_t block = 0; block < linear_bias_blocks(work->call); block++)
			sum += sums[block * channels + c];
		real_store(work->call, real_out(work->call, 0) + c, sum);
	}
}

const struct cpu_op REAL_NAME(cpu_bias_back) = {
	.loops = {{linear_bias_blocks, linear_bias_block}, {linear_bias_channels, linear_bias_add}},
	.shared = linear_bias_shared,
};
