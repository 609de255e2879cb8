/* Convolutions as products of matrices. Windows of the image become rows of a matrix, a tile of output
 * places at a time, so that the tile stays in the cache (im2col; Chellapilla et al. 2006). A window of
 * 1 x 1 with stride 1 is a row already. */
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

enum { CONV_TILE_BYTES = 512 << 10, CONV_TILE_LEAST = 16 };

struct conv {
	int64_t images, height, width, in; /* of x */
	int64_t down, across, out;         /* of y */
	int64_t window_down, window_across, stride_down, stride_across, pad_down, pad_across;
	int64_t row;  /* numbers of one window */
	int64_t tile; /* windows at once */
	bool plain;   /* x is the matrix of its windows */
};

static struct conv conv_of(const struct op_attributes *attributes, const struct tensor_shape *x,
			   const struct tensor_shape *y)
{
	struct conv conv = {
		.images = x->size[0],
		.height = x->size[1],
		.width = x->size[2],
		.in = x->size[3],
		.down = y->size[1],
		.across = y->size[2],
		.out = y->size[3],
		.window_down = attributes->window[0],
		.window_across = attributes->window[1],
		.stride_down = attributes->stride[0],
		.stride_across = attributes->stride[1],
		.pad_down = attributes->pad[0],
		.pad_across = attributes->pad[1],
	};

	conv.row = conv.window_down * conv.window_across * conv.in;
	conv.tile = CONV_TILE_BYTES / (conv.row * (int64_t)sizeof(real));
	if (conv.tile < CONV_TILE_LEAST)
		conv.tile = CONV_TILE_LEAST;
	conv.tile = real_least(conv.tile, conv.down * conv.across);
	conv.plain = conv.row == conv.in && conv.stride_down == 1 && conv.stride_across == 1 &&
		     conv.pad_down == 0 && conv.pad_across == 0;
	return conv;
}

static size_t conv_tile_bytes(const struct conv *conv)
{
	return conv->plain ? 0 : (size_t)(conv->tile * conv->row) * sizeof(real);
}

/* The part of one row of a window that lies in the image: places [first, last) of `window`. */
static inline void conv_inside(int64_t begin, int64_t window, int64_t size, int64_t *first,
			       int64_t *last)
{
	*first = begin < 0 ? -begin : 0;
	*last = begin + window > size ? size - begin : window;
	if (*first > *last)
		*first = *last = 0;
}

/* Windows of the output places [first, last) of one image, a row each. */
static void conv_gather(const struct conv *conv, const real *image, int64_t first, int64_t last,
			real *to)
{
	int64_t line = conv->window_across * conv->in;

	for (int64_t place = first; place < last; place++, to += conv->row) {
		int64_t top = place / conv->across * conv->stride_down - conv->pad_down;
		int64_t left = place % conv->across * conv->stride_across - conv->pad_across;
		int64_t begin;
		int64_t end;

		conv_inside(left, conv->window_across, conv->width, &begin, &end);
		for (int64_t r = 0; r < conv->window_down; r++) {
			real *row = to + r * line;

			if (top + r < 0 || top + r >= conv->height || begin == end) {
				memset(row, 0, (size_t)line * sizeof(real));
				continue;
			}
			memset(row, 0, (size_t)(begin * conv->in) * sizeof(real));
			memcpy(row + begin * conv->in,
			       image + ((top + r) * conv->width + left + begin) * conv->in,
			       (size_t)((end - begin) * conv->in) * sizeof(real));
			memset(row + end * conv->in, 0,
			       (size_t)(line - end * conv->in) * sizeof(real));
		}
	}
}

/* The other way: adds rows to the image. */
static void conv_scatter(const struct conv *conv, const real *from, int64_t first, int64_t last,
			 real *image)
{
	int64_t line = conv->window_across * conv->in;

	for (int64_t place = first; place < last; place++, from += conv->row) {
		int64_t top = place / conv->across * conv->stride_down - conv->pad_down;
		int64_t left = place % conv->across * conv->stride_across - conv->pad_across;
		int64_t begin;
		int64_t end;

		conv_inside(left, conv->window_across, conv->width, &begin, &end);
		for (int64_t r = 0; r < conv->window_down; r++) {
			const real *row = from + r * line + begin * conv->in;
			real *to;

			if (top + r < 0 || top + r >= conv->height || begin == end)
				continue;
			to = image + ((top + r) * conv->width + left + begin) * conv->in;
			for (int64_t i = 0; i < (end - begin) * conv->in; i++)
				to[i] += row[i];
		}
	}
}

/* --- forward: an item is an image --- */

static struct conv conv_forward_of(const struct ops_call *call)
{
	return conv_of(call->attributes, real_in_shape(call, 0), real_out_shape(call, 0));
}

static int64_t conv_forward_count(const struct ops_call *call)
{
	return real_in_shape(call, 0)->size[0];
}

static size_t conv_forward_scratch(const struct ops_call *call)
{
	struct conv conv = conv_forward_of(call);

	return conv_tile_bytes(&conv);
}

/* Places [first, first + tile) of one image. */
static void conv_forward_tile(const struct cpu_work *work, const struct conv *conv, int64_t image,
			      int64_t first, real *windows)
{
	const struct ops_call *call = work->call;
	int64_t places = conv->down * conv->across;
	int64_t last = real_least(first + conv->tile, places);
	const real *x = real_in(call, 0) + image * conv->height * conv->width * conv->in;
	real *y = real_out(call, 0) + (image * places + first) * conv->out;
	const real *bias = call->in_count > 2 ? real_in(call, 2) : NULL;

	if (!conv->plain)
		conv_gather(conv, x, first, last, windows);
	for (int64_t place = first; bias && place < last; place++)
		memcpy(y + (place - first) * conv->out, bias, (size_t)conv->out * sizeof(real));
	real_multiply(work,
		      (struct real_matrix){conv->plain ? x + first * conv->in : windows, conv->row,
					   false},
		      (struct real_matrix){real_in(call, 1), conv->row, true}, last - first,
		      conv->out, conv->row, bias ? (real)1 : (real)0, y, conv->out);
}

static void conv_forward(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	struct conv conv = conv_forward_of(work->call);
	real *windows = (real *)(void *)(work->scratch + thread * work->scratch_size);

	for (int64_t image = first; image < last; image++)
		for (int64_t place = 0; place < conv.down * conv.across; place += conv.tile)
			conv_forward_tile(work, &conv, image, place, windows);
}

const struct cpu_op REAL_NAME(cpu_conv) = {
	.loops = {{conv_forward_count, conv_forward}},
	.scratch = conv_forward_scratch,
};

/* --- gradient of the data: an item is an image --- */

static struct conv conv_data_of(const struct ops_call *call)
{
	return conv_of(call->attributes, real_out_shape(call, 0), real_in_shape(call, 0));
}

static size_t conv_data_scratch(const struct ops_call *call)
{
	struct conv conv = conv_data_of(call);

	return conv_tile_bytes(&conv);
}

static void conv_data_image(const struct cpu_work *work, const struct conv *conv, int64_t image,
			    real *windows)
{
	const struct ops_call *call = work->call;
	const struct real_matrix weight = {real_in(call, 1), conv->row, false};
	int64_t places = conv->down * conv->across;
	int64_t numbers = conv->height * conv->width * conv->in;
	real *dx = real_out(call, 0) + image * numbers;

	if (!conv->plain)
		memset(dx, 0, (size_t)numbers * sizeof(real));
	for (int64_t first = 0; first < places; first += conv->tile) {
		int64_t last = real_least(first + conv->tile, places);
		const real *dy = real_in(call, 0) + (image * places + first) * conv->out;

		real_multiply(work, (struct real_matrix){dy, conv->out, false}, weight,
			      last - first, conv->row, conv->out, (real)0,
			      conv->plain ? dx + first * conv->in : windows, conv->row);
		if (!conv->plain)
			conv_scatter(conv, windows, first, last, dx);
	}
}

static void conv_data(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	struct conv conv = conv_data_of(work->call);
	real *windows = (real *)(void *)(work->scratch + thread * work->scratch_size);

	for (int64_t image = first; image < last; image++)
		conv_data_image(work, &conv, image, windows);
}

const struct cpu_op REAL_NAME(cpu_conv_data) = {
	.loops = {{conv_forward_count, conv_data}},
	.scratch = conv_data_scratch,
};

/* --- gradient of the weights ---
 * An item is a group of images and a slice of the channels out. Groups give sums that are added in
 * order afterwards. Many groups for small weights; for large ones few, which would cost memory. */

enum { CONV_ITEMS = 16, CONV_GROUP_NUMBERS = 4 << 20 };

static int64_t conv_groups(const struct conv *conv)
{
	int64_t groups = CONV_GROUP_NUMBERS / (conv->out * conv->row);

	if (groups > CONV_ITEMS)
		groups = CONV_ITEMS;
	return real_least(groups < 1 ? 1 : groups, conv->images);
}

static int64_t conv_slices(const struct conv *conv)
{
	int64_t slices = CONV_ITEMS / conv_groups(conv);

	return real_least(slices, (conv->out + 15) / 16);
}

static struct conv conv_weight_of(const struct ops_call *call)
{
	return conv_of(call->attributes, real_in_shape(call, 0), real_in_shape(call, 1));
}

static int64_t conv_weight_count(const struct ops_call *call)
{
	struct conv conv = conv_weight_of(call);

	return conv_groups(&conv) * conv_slices(&conv);
}

static size_t conv_weight_shared(const struct ops_call *call)
{
	struct conv conv = conv_weight_of(call);

	return (size_t)(conv_groups(&conv) * conv.out * conv.row) * sizeof(real);
}

static size_t conv_weight_scratch(const struct ops_call *call)
{
	struct conv conv = conv_weight_of(call);

	return conv_tile_bytes(&conv);
}

/* Adds one image to the sums of channels [from, to). */
static void conv_weight_image(const struct cpu_work *work, const struct conv *conv, int64_t image,
			      const int64_t channels[2], real *sums, real *windows)
{
	const struct ops_call *call = work->call;
	int64_t places = conv->down * conv->across;
	const real *x = real_in(call, 0) + image * conv->height * conv->width * conv->in;

	for (int64_t first = 0; first < places; first += conv->tile) {
		int64_t last = real_least(first + conv->tile, places);
		const real *dy =
			real_in(call, 1) + (image * places + first) * conv->out + channels[0];

		if (!conv->plain)
			conv_gather(conv, x, first, last, windows);
		real_multiply(work, (struct real_matrix){dy, conv->out, true},
			      (struct real_matrix){conv->plain ? x + first * conv->in : windows,
						   conv->row, false},
			      channels[1] - channels[0], conv->row, last - first, (real)1, sums,
			      conv->row);
	}
}

static void conv_weight(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	struct conv conv = conv_weight_of(work->call);
	int64_t groups = conv_groups(&conv);
	int64_t slices = conv_slices(&conv);
	real *windows = (real *)(void *)(work->scratch + thread * work->scratch_size);

	for (int64_t item = first; item < last; item++) {
		int64_t group = item / slices;
		int64_t slice = item % slices;
		const int64_t channels[2] = {conv.out * slice / slices,
					     conv.out * (slice + 1) / slices};
		real *sums = (real *)work->shared + (group * conv.out + channels[0]) * conv.row;

		memset(sums, 0, (size_t)((channels[1] - channels[0]) * conv.row) * sizeof(real));
		for (int64_t image = conv.images * group / groups;
		     image < conv.images * (group + 1) / groups; image++)
			conv_weight_image(work, &conv, image, channels, sums, windows);
	}
}

static int64_t conv_weight_add_count(const struct ops_call *call)
{
	return real_out_shape(call, 0)->size[0];
}

static void conv_weight_add(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	struct conv conv = conv_weight_of(work->call);
	int64_t groups = conv_groups(&conv);
	const real *sums = work->shared;
	real *dw = real_out(work->call, 0);

	(void)thread;
	for (int64_t i = first * conv.row; i < last * conv.row; i++) {
		real sum = sums[i];

		for (int64_t group = 1; group < groups; group++)
			sum += sums[group * conv.out * conv.row + i];
		real_store(work->call, dw + i, sum);
	}
}

const struct cpu_op REAL_NAME(cpu_conv_weight) = {
	.loops = {{conv_weight_count, conv_weight}, {conv_weight_add_count, conv_weight_add}},
	.shared = conv_weight_shared,
	.scratch = conv_weight_scratch,
};
