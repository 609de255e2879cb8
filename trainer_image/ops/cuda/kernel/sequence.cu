/* Channels that move (CONCAT, SLICE), and words (EMBEDDING).
 *
 * CONCAT and SLICE copy: 2 s n bytes, in units of up to 16 bytes that all widths and offsets divide by.
 *
 * EMBEDDING: a thread has a pack of a token's channels: table, place and y, 3 s n bytes.
 * EMBEDDING_BACK has no atomic addition. A warp has a token and 32 packs of channels. The warp of the first
 * token of a word adds the slopes of all tokens of this word, in their order; the others see an equal
 * token before theirs, and end. It reads the tokens once a warp (from the cache: 4 bytes a token), and
 * each slope once. */
#include "trainer_image/ops/cuda/kernel/launch.h"

/* --- channels --- */

/* Units of `columns`, from rows of `from_stride` to rows of `to_stride`. */
template <typename Unit>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	sequence_copy(int64_t rows, int columns, const Unit *__restrict__ from, int64_t from_stride,
		      Unit *__restrict__ to, int64_t to_stride)
{
	int64_t at = launch_thread();
	int64_t row = at / columns;
	int64_t column = at % columns;

	if (row < rows)
		to[row * to_stride + column] = from[row * from_stride + column];
}

/* All of them in bytes. */
struct sequence_rows {
	int64_t rows, width;
	const char *from;
	int64_t from_stride, from_offset;
	char *to;
	int64_t to_stride, to_offset;
};

template <typename Unit>
static int sequence_copy_units(const struct cuda_launch *to, const struct sequence_rows *is)
{
	constexpr int64_t size = (int64_t)sizeof(Unit);
	int64_t count = is->rows * (is->width / size);

	return launch_kernel(
		to, dim3((unsigned)launch_parts(count, LAUNCH_THREADS)), LAUNCH_THREADS, 0,
		sequence_copy<Unit>, is->rows, (int)(is->width / size),
		reinterpret_cast<const Unit *>(is->from + is->from_offset), is->from_stride / size,
		reinterpret_cast<Unit *>(is->to + is->to_offset), is->to_stride / size);
}

static int sequence_copy_rows(const struct cuda_launch *to, const struct sequence_rows *is)
{
	int64_t all = is->width | is->from_stride | is->from_offset | is->to_stride | is->to_offset;

	if (all % 16 == 0)
		return sequence_copy_units<number_pack<uint32_t, 4>>(to, is);
	if (all % 8 == 0)
		return sequence_copy_units<number_pack<uint32_t, 2>>(to, is);
	if (all % 4 == 0)
		return sequence_copy_units<uint32_t>(to, is);
	if (all % 2 == 0)
		return sequence_copy_units<uint16_t>(to, is);
	return sequence_copy_units<uint8_t>(to, is);
}

static int sequence_concat(const struct cuda_launch *to, const struct ops_call calls[])
{
	int64_t size = (int64_t)tensor_type_size(calls->out[0].is.type);
	int64_t stride = launch_channels(&calls->out[0]) * size;
	int64_t offset = 0;
	int rc = 0;

	for (size_t nth = 0; rc == 0 && nth < calls->in_count; nth++) {
		int64_t width = launch_channels(&calls->in[nth]) * size;
		const struct sequence_rows is = {launch_rows(&calls->out[0]),
						 width,
						 launch_in<char>(calls, nth),
						 width,
						 0,
						 launch_out<char>(calls, 0),
						 stride,
						 offset};

		rc = sequence_copy_rows(to, &is);
		offset += width;
	}
	return rc;
}

extern "C" const struct cuda_op cuda_concat = {sequence_concat, nullptr, nullptr};

static int sequence_slice(const struct cuda_launch *to, const struct ops_call calls[])
{
	int64_t size = (int64_t)tensor_type_size(calls->out[0].is.type);
	int64_t width = launch_channels(&calls->out[0]) * size;
	const struct sequence_rows is = {launch_rows(&calls->out[0]),
					 width,
					 launch_in<char>(calls, 0),
					 launch_channels(&calls->in[0]) * size,
					 calls->attributes->offset * size,
					 launch_out<char>(calls, 0),
					 width,
					 0};

	return sequence_copy_rows(to, &is);
}

extern "C" const struct cuda_op cuda_slice = {sequence_slice, nullptr, nullptr};

/* --- embedding --- */

struct sequence_shape {
	int64_t tokens, length, words, channels;
	struct cuda_state *state;
};

/* A word that the table does not have is told by ops_wait(), and touches no memory. */
__device__ static inline bool sequence_is_word(const sequence_shape &is, int32_t token)
{
	if (token >= 0 && token < is.words)
		return true;
	atomicOr(&is.state->invalid, 1U);
	return false;
}

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	sequence_embed(sequence_shape is, const int32_t *__restrict__ token,
		       const T *__restrict__ table, const T *__restrict__ place, T *__restrict__ y)
{
	int64_t packs = is.channels / N;
	int64_t at = launch_thread();
	int64_t nth = at / packs;
	int64_t channel = at % packs * N;
	number_row<N> sum = {};

	if (nth >= is.tokens)
		return;
	if (sequence_is_word(is, token[nth])) {
		number_row<N> word = number_read<N>(table + token[nth] * is.channels + channel);
		number_row<N> of_place =
			number_read<N>(place + nth % is.length * is.channels + channel);

#pragma unroll
		for (int i = 0; i < N; i++)
			sum.at[i] = word.at[i] + of_place.at[i];
	}
	number_write<N>(y + nth * is.channels + channel, sum);
}

static int sequence_embedding(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct sequence_shape is = {
		launch_count(&calls->in[0]), calls->in[0].is.shape.size[1],
		calls->in[1].is.shape.size[0], launch_channels(&calls->out[0]), to->state};

	return number_by_pack(calls->out[0].is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		int64_t threads = is.tokens * (is.channels / N);

		return launch_kernel(to, dim3((unsigned)launch_parts(threads, LAUNCH_THREADS)),
				     LAUNCH_THREADS, 0, sequence_embed<T, N>, is,
				     launch_in<int32_t>(calls, 0), launch_in<T>(calls, 1),
				     launch_in<T>(calls, 2), launch_out<T>(calls, 0));
	});
}

extern "C" const struct cuda_op cuda_embedding = {sequence_embedding, nullptr, nullptr};

/* Is the warp's token the first of its word? All lanes get the answer. */
__device__ static inline bool sequence_is_first(const int32_t *token, int64_t nth, int lane)
{
	for (int64_t from = 0; from < nth; from += LAUNCH_WARP) {
		bool equal = from + lane < nth && token[from + lane] == token[nth];

		if (__ballot_sync(LAUNCH_ALL, equal))
			return false;
	}
	return true;
}

template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	sequence_table_back(sequence_shape is, const int32_t *__restrict__ token,
			    const T *__restrict__ dy, T *__restrict__ dtable, bool adds)
{
	int64_t nth = launch_thread() / LAUNCH_WARP;
	int lane = (int)threadIdx.x % LAUNCH_WARP;
	int64_t channel = ((int64_t)blockIdx.y * LAUNCH_WARP + lane) * N;
	bool works = channel < is.channels;
	number_row<N> sum = {};

	if (nth >= is.tokens || !sequence_is_word(is, token[nth]) ||
	    !sequence_is_first(token, nth, lane)) /* a whole warp */
		return;
	T *to = dtable + token[nth] * is.channels + channel;

	if (works && adds)
		sum = number_read<N>(to);
	for (int64_t from = nth; from < is.tokens; from += LAUNCH_WARP) {
		bool equal = from + lane < is.tokens && token[from + lane] == token[nth];
		unsigned left = __ballot_sync(LAUNCH_ALL, equal);

		for (; left; left &= left - 1) {
			int64_t of = from + __ffs((int)left) - 1;

			if (!works)
				continue;
			number_row<N> more = number_read<N>(dy + of * is.channels + channel);

#pragma unroll
			for (int i = 0; i < N; i++)
				sum.at[i] += more.at[i];
		}
	}
	if (works)
		number_write<N>(to, sum);
}

/* The same place of all sequences. */
template <typename T, int N>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	sequence_place_back(sequence_shape is, const T *__restrict__ dy, T *__restrict__ dplace,
			    bool adds)
{
	int64_t packs = is.channels / N;
	int64_t at = launch_thread();
	int64_t place = at / packs;
	int64_t channel = at % packs * N;
	number_row<N> sum = {};

	if (place >= is.length)
		return;
	T *to = dplace + place * is.channels + channel;

	if (adds)
		sum = number_read<N>(to);
	for (int64_t nth = place; nth < is.tokens; nth += is.length) {
		number_row<N> more = number_read<N>(dy + nth * is.channels + channel);

#pragma unroll
		for (int i = 0; i < N; i++)
			sum.at[i] += more.at[i];
	}
	number_write<N>(to, sum);
}

static int sequence_embedding_back(const struct cuda_launch *to, const struct ops_call calls[])
{
	const struct ops_tensor *table = &calls->out[0];
	const struct sequence_shape is = {launch_count(&calls->in[0]),
					  calls->out[1].is.shape.size[0], table->is.shape.size[0],
					  launch_channels(table), to->state};
	size_t bytes = (size_t)launch_count(table) * tensor_type_size(table->is.type);

	if (!calls->accumulate) {
		cudaError_t error = cudaMemsetAsync(table->data, 0, bytes,
						    static_cast<cudaStream_t>(to->stream));
		if (error != cudaSuccess)
			return (int)error;
	}
	return number_by_pack(table->is.type, is.channels, [&](auto zero, auto count) {
		using T = decltype(zero);
		constexpr int N = decltype(count)::value;
		dim3 blocks((unsigned)launch_parts(is.tokens, LAUNCH_THREADS / LAUNCH_WARP),
			    (unsigned)launch_parts(is.channels, LAUNCH_WARP * N));
		int64_t places = is.length * (is.channels / N);
		int rc = launch_kernel(to, blocks, LAUNCH_THREADS, 0, sequence_table_back<T, N>, is,
				       launch_in<int32_t>(calls, 0), launch_in<T>(calls, 1),
				       launch_out<T>(calls, 0), calls->accumulate);

		if (rc == 0)
			rc = launch_kernel(to, dim3((unsigned)launch_parts(places, LAUNCH_THREADS)),
					   LAUNCH_THREADS, 0, sequence_place_back<T, N>, is,
					   launch_in<T>(calls, 1), launch_out<T>(calls, 1),
					   calls->accumulate);
		return rc;
	});
}

extern "C" const struct cuda_op cuda_embedding_back = {sequence_embedding_back, nullptr, nullptr};
