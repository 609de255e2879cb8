/* The stages of augmentation that a host left (loader/augment_table.h), in one pass over the output.
 *
 * Pictures: crop, resize, flip, colour, normalise, pack. A block makes 32 x 32 pixels of one picture. Its threads
 * first compute what each of the 32 columns and rows is made of, in FP64 as a processor does; then each makes
 * four pixels. A pixel reads (2 s + 1)^2 source pixels, s = shrinking, at least 1: neighbours read nearly the
 * same ones, from the cache. Four bytes a pixel are one load; they are more bytes than three on the bus,
 * which a decoder of JPEG never fills.
 *
 * Bytes: normalise and pack alone, by the table.
 *
 * The bits are those of loader/augment_cpu.c: this file is compiled without fused multiply-add. */
#include "trainer_image/loader/augment_pixel.h"
#include "trainer_image/ops/cuda/kernel/launch.h"

enum { AUGMENT_TILE = 32, AUGMENT_ROWS = LAUNCH_THREADS / AUGMENT_TILE, AUGMENT_BYTE_VALUES = 256 };

/* What one column or row of the tile is made of. */
struct augment_line_taps {
	uint32_t begin, count;
	float weights[AUGMENT_TAPS_MAX];
};

struct augment_tile {
	augment_line_taps columns[AUGMENT_TILE], rows[AUGMENT_TILE];
};

struct augment_rgb {
	float at[3];
};

__device__ static inline augment_rgb augment_source(const uint8_t *pixel)
{
	uint32_t word = *reinterpret_cast<const uint32_t *>(pixel);

	return {{(float)(word & 255), (float)(word >> 8 & 255), (float)(word >> 16 & 255)}};
}

__device__ static inline void augment_fill(augment_line_taps *to, const augment_line &line,
					   uint32_t at)
{
	augment_taps taps = augment_taps_of(&line, at);

	to->begin = taps.begin;
	to->count = taps.count;
	for (uint32_t i = 0; i < taps.count; i++)
		to->weights[i] = augment_taps_weight(&taps, i);
}

/* Threads below 32 do the columns, the next 32 the rows. */
__device__ static inline void augment_prepare(augment_tile *tile, const augment_place &place,
					      uint32_t width, uint32_t height)
{
	uint32_t nth = threadIdx.x % AUGMENT_TILE;

	if (threadIdx.x < AUGMENT_TILE) {
		uint32_t x = blockIdx.x * AUGMENT_TILE + nth;

		if (x < width)
			augment_fill(
				&tile->columns[nth],
				augment_line_of(place.left, place.region_width, place.width, width),
				place.flip ? width - 1 - x : x);
	} else if (threadIdx.x < 2 * AUGMENT_TILE) {
		uint32_t y = blockIdx.y * AUGMENT_TILE + nth;

		if (y < height)
			augment_fill(&tile->rows[nth],
				     augment_line_of(place.top, place.region_height, place.height,
						     height),
				     y);
	}
}

/* One column of the source, its rows blended. */
__device__ static inline augment_rgb augment_blend(const uint8_t *column, size_t stride,
						   const augment_line_taps &rows)
{
	augment_rgb sum = {};

	for (uint32_t j = 0; j < rows.count; j += 2) {
		bool pair = j + 1 < rows.count;
		augment_rgb a = augment_source(column + j * stride);
		augment_rgb b = pair ? augment_source(column + (j + 1) * stride) : a;
		float first = rows.weights[j];
		float second = pair ? rows.weights[j + 1] : 0;

#pragma unroll
		for (int c = 0; c < 3; c++) {
			float two = AUGMENT_PAIR(a.at[c], first, b.at[c], second);

			sum.at[c] = j == 0 ? two : sum.at[c] + two;
		}
	}
	return sum;
}

__device__ static inline augment_rgb augment_mix(const uint8_t *corner, size_t stride,
						 const augment_line_taps &columns,
						 const augment_line_taps &rows)
{
	augment_rgb sum = {};

	for (uint32_t i = 0; i < columns.count; i++) {
		augment_rgb column = augment_blend(corner + 4 * (size_t)i, stride, rows);

#pragma unroll
		for (int c = 0; c < 3; c++) {
			float part = column.at[c] * columns.weights[i];

			sum.at[c] = i == 0 ? part : sum.at[c] + part;
		}
	}
	return sum;
}

__device__ static inline void augment_bytes_of(const augment_rgb &rgb, const augment_place &place,
					       uint32_t ret[3])
{
#pragma unroll
	for (int c = 0; c < 3; c++) {
		float value = rgb.at[c];

		if (place.coloured) {
			value = AUGMENT_RECOLOUR(rgb.at[0], rgb.at[1], rgb.at[2], place.colour[c]);
			value = AUGMENT_CLAMP(value);
		}
		ret[c] = (uint32_t)(value + AUGMENT_HALF);
	}
}

template <typename T, int CHANNELS>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	augment_pictures(const uint8_t *memory, const T *table, uint32_t width, uint32_t height,
			 uint32_t count, T *to)
{
	augment_tile *tile = reinterpret_cast<augment_tile *>(launch_shared());
	const augment_place place =
		reinterpret_cast<const augment_place *>(memory)[blockIdx.z % count];
	const uint8_t *pixels = memory + place.offset;
	size_t stride = 4 * (size_t)place.width;
	uint32_t column = threadIdx.x % AUGMENT_TILE;
	uint32_t x = blockIdx.x * AUGMENT_TILE + column;

	augment_prepare(tile, place, width, height);
	__syncthreads();
	for (uint32_t row = threadIdx.x / AUGMENT_TILE; x < width && row < AUGMENT_TILE;
	     row += AUGMENT_ROWS) {
		uint32_t y = blockIdx.y * AUGMENT_TILE + row;
		const augment_line_taps &columns = tile->columns[column];
		const augment_line_taps &rows = tile->rows[row];
		uint32_t bytes[3];

		if (y >= height)
			return;
		augment_bytes_of(
			augment_mix(pixels + rows.begin * stride + 4 * (size_t)columns.begin,
				    stride, columns, rows),
			place, bytes);
		if (CHANNELS == 1)
			bytes[0] = augment_grey_of(bytes[0], bytes[1], bytes[2]);
		T *pixel = to + (((size_t)blockIdx.z * height + y) * width + x) * CHANNELS;

#pragma unroll
		for (int c = 0; c < CHANNELS; c++)
			pixel[c] = table[c * AUGMENT_BYTE_VALUES + bytes[c]];
	}
}

/* Calls run(zero of the type, count of channels). */
template <typename Run> static int augment_by_type(const struct cuda_augment *augment, Run run)
{
	return number_by_type(augment->type, [&](auto zero) {
		return augment->channels == 1 ? run(zero, number_count<1>())
					      : run(zero, number_count<3>());
	});
}

extern "C" int cuda_augment_pictures(const struct cuda_launch *launch,
				     const struct cuda_augment *augment)
{
	return augment_by_type(augment, [&](auto zero, auto channels) {
		using T = decltype(zero);
		dim3 blocks((unsigned)launch_parts(augment->width, AUGMENT_TILE),
			    (unsigned)launch_parts(augment->height, AUGMENT_TILE), augment->all);

		return launch_kernel(launch, blocks, LAUNCH_THREADS, sizeof(augment_tile),
				     augment_pictures<T, decltype(channels)::value>,
				     static_cast<const uint8_t *>(augment->memory),
				     static_cast<const T *>(augment->table), augment->width,
				     augment->height, augment->count,
				     static_cast<T *>(augment->to));
	});
}

/* --- bytes --- */

/* A thread has one word of four bytes; a rest is the last thread's. Where a short batch comes again behind
 * itself, its numbers may lie between packs. */
template <typename T, int CHANNELS>
__global__ static void __launch_bounds__(LAUNCH_THREADS)
	augment_numbers(const uint8_t *bytes, const T *table, int64_t count, T *to)
{
	constexpr int N = 4;
	int64_t begin = launch_thread() * N;
	int channel = (int)(begin % CHANNELS);
	number_pack<T, N> pack;

	for (int i = 0; i < N && begin + i < count; i++) {
		pack.at[i] = table[channel * AUGMENT_BYTE_VALUES + bytes[begin + i]];
		channel = channel + 1 < CHANNELS ? channel + 1 : 0;
	}
	if (begin + N <= count && reinterpret_cast<uintptr_t>(to) % sizeof(pack) == 0) {
		*reinterpret_cast<number_pack<T, N> *>(to + begin) = pack;
		return;
	}
	for (int i = 0; i < N && begin + i < count; i++)
		to[begin + i] = pack.at[i];
}

extern "C" int cuda_augment_bytes(const struct cuda_launch *launch,
				  const struct cuda_augment *augment)
{
	int64_t picture = (int64_t)augment->width * augment->height * augment->channels;

	return augment_by_type(augment, [&](auto zero, auto channels) {
		using T = decltype(zero);
		int error = 0;

		for (uint32_t at = 0; at < augment->all && error == 0; at += augment->count) {
			uint32_t left = augment->all - at;
			int64_t count = picture * (left < augment->count ? left : augment->count);
			int64_t words = launch_parts(count, 4);

			error = launch_kernel(
				launch, dim3((unsigned)launch_parts(words, LAUNCH_THREADS)),
				LAUNCH_THREADS, 0, augment_numbers<T, decltype(channels)::value>,
				static_cast<const uint8_t *>(augment->memory),
				static_cast<const T *>(augment->table), count,
				static_cast<T *>(augment->to) + picture * at);
		}
		return error;
	});
}
