/* Sums down the columns of a matrix [rows][channels]: statistics, and gradients of scales and biases.
 *
 * Two kernels, the same numbers in every run. In the first, a block has `lanes` packs of channels side by
 * side, and one slice of the rows. Its threads go down their column, `lines` rows apart. Then they
 * add up in the order of the lines. A warp reads lanes * 16 bytes in a row, 512 at most. In the
 * second, a warp adds the slices of one channel. How rows are cut depends on the shape alone.
 *
 * Bytes: what `Of` reads, once, and 8 bytes a channel and slice, written and read. */
#pragma once

#include "trainer_image/ops/cuda/kernel/launch.h"

/* Enough blocks to fill a large GPU several times. */
enum { COLUMNS_BLOCKS = 1024, COLUMNS_SLICES_MAX = 1024, COLUMNS_ROWS_LEAST = 8 };

struct columns {
	int64_t rows, channels;
	int lanes, lines; /* packs and rows of a block; both powers of two, 256 together */
	int slices;       /* of the rows */
	int64_t rows_of_slice;
	unsigned across; /* blocks side by side */
};

static inline struct columns columns_of(int64_t rows, int64_t channels, int wide)
{
	struct columns is = {};
	int64_t packs = launch_parts(channels, wide);

	is.rows = rows;
	is.channels = channels;
	is.lanes = 1;
	while (is.lanes < packs && is.lanes < (int)LAUNCH_WARP)
		is.lanes *= 2;
	is.lines = LAUNCH_THREADS / is.lanes;
	is.across = (unsigned)launch_parts(packs, is.lanes);
	int64_t most = launch_parts(COLUMNS_BLOCKS, is.across);
	int64_t wanted = launch_parts(rows, (int64_t)is.lines * COLUMNS_ROWS_LEAST);

	wanted = wanted < most ? wanted : most;
	wanted = wanted < COLUMNS_SLICES_MAX ? wanted : (int64_t)COLUMNS_SLICES_MAX;
	is.rows_of_slice = launch_parts(rows, wanted < 1 ? 1 : wanted);
	is.slices = (int)launch_parts(rows, is.rows_of_slice);
	return is;
}

/* The most slices that any type has: workspace is told before a kernel is chosen. */
static inline int64_t columns_slices(const struct ops_tensor *x)
{
	int64_t most = 1;

	for (int wide = 1; wide <= 8; wide *= 2) {
		struct columns is = columns_of(launch_rows(x), launch_channels(x), wide);

		most = is.slices > most ? is.slices : most;
	}
	return most;
}

static inline dim3 columns_blocks(const struct columns *is)
{
	return dim3(is->across, (unsigned)is->slices);
}

/* Where the calling thread works. */
template <int N> struct columns_place {
	int64_t channel, row, end;
	int lane, line;
	bool works;

	__device__ explicit columns_place(const columns &is)
	{
		lane = (int)threadIdx.x % is.lanes;
		line = (int)threadIdx.x / is.lanes;
		channel = ((int64_t)blockIdx.x * is.lanes + lane) * N;
		row = (int64_t)blockIdx.y * is.rows_of_slice + line;
		end = (int64_t)(blockIdx.y + 1) * is.rows_of_slice;
		end = end < is.rows ? end : is.rows;
		works = channel < is.channels;
	}
};

/* Of::channels(c) is called once a thread, Of::row(row, c, a, b) for each of its rows: it adds to the two
 * sums of each channel. */
template <int N, typename Of>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	columns_add(columns is, Of of, float2 *part /* [channels][slices] */)
{
	columns_place<N> place(is);
	number_row<N> first = {};
	number_row<N> second = {};
	float2 *shared = reinterpret_cast<float2 *>(launch_shared());
	int width = is.lanes * N;

	if (place.works) {
		of.channels(place.channel);
		for (int64_t row = place.row; row < place.end; row += is.lines)
			of.row(row, place.channel, first, second);
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		shared[place.line * width + place.lane * N + i] = float2{first.at[i], second.at[i]};
	__syncthreads();
	int64_t channel = (int64_t)blockIdx.x * width + threadIdx.x;

	if ((int)threadIdx.x >= width || channel >= is.channels)
		return;
	float2 sum = {0, 0};

	for (int line = 0; line < is.lines; line++) {
		float2 more = shared[line * width + (int)threadIdx.x];

		sum.x += more.x;
		sum.y += more.y;
	}
	part[channel * is.slices + blockIdx.y] = sum;
}

static inline size_t columns_shared(int wide)
{
	return (size_t)LAUNCH_THREADS * (size_t)wide * sizeof(float2);
}

/* The slices of a channel to its sums, [2][channels] in `sums`, and to the gradients: they are added to what
 * is there where `adds`. */
template <typename T>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	columns_join(int64_t channels, int slices, const float2 *part, float *sums, T *to_first,
		     T *to_second, bool adds)
{
	int64_t channel = launch_thread() / LAUNCH_WARP;
	int lane = (int)threadIdx.x % LAUNCH_WARP;
	float2 sum = {0, 0};

	if (channel >= channels) /* a whole warp */
		return;
	for (int slice = lane; slice < slices; slice += LAUNCH_WARP) {
		float2 more = part[channel * slices + slice];

		sum.x += more.x;
		sum.y += more.y;
	}
	sum.x = launch_warp_sum(sum.x);
	sum.y = launch_warp_sum(sum.y);
	if (lane > 0)
		return;
	if (sums) {
		sums[channel] = sum.x;
		sums[channels + channel] = sum.y;
	}
	number_set(to_first + channel, adds ? number_full(to_first[channel]) + sum.x : sum.x);
	if (to_second)
		number_set(to_second + channel,
			   adds ? number_full(to_second[channel]) + sum.y : sum.y);
}

/* Blocks of a kernel with a warp a channel. */
static inline dim3 columns_join_blocks(int64_t channels)
{
	return dim3((unsigned)launch_parts(channels, LAUNCH_THREADS / LAUNCH_WARP));
}

/* Workspace of both kernels: parts, then sums. */
static inline size_t columns_workspace(const struct ops_tensor *x)
{
	return (size_t)(columns_slices(x) * launch_channels(x)) * sizeof(float2) +
	       (size_t)launch_channels(x) * 2 * sizeof(float);
}

static inline float2 *columns_part(const struct ops_call *call)
{
	return static_cast<float2 *>(call->workspace);
}

static inline float *columns_sums(const struct ops_call *call, const struct columns *is)
{
	return reinterpret_cast<float *>(columns_part(call) + is->slices * is->channels);
}
