/* Pools and upsampling: an item is an image. */
#include <float.h>
#include <string.h>

#include "trainer_image/ops/cpu/kernel/real.h"

struct window {
	int64_t height, width, channels; /* of the larger side */
	int64_t down, across;            /* of the smaller one */
	const struct op_attributes *is;
};

static struct window window_of(const struct ops_call *call, const struct tensor_shape *large,
			       const struct tensor_shape *small)
{
	return (struct window){large->size[1], large->size[2], large->size[3],
			       small->size[1], small->size[2], call->attributes};
}

static int64_t window_images(const struct ops_call *call)
{
	return real_in_shape(call, 0)->size[0];
}

/* Where the cell `nth` of the window at (p, q) lies in the large image, in pixels; -1: in the padding. */
static inline int64_t window_pixel(const struct window *window, int64_t p, int64_t q, int nth)
{
	int64_t h = p * window->is->stride[0] - window->is->pad[0] + nth / window->is->window[1];
	int64_t w = q * window->is->stride[1] - window->is->pad[1] + nth % window->is->window[1];

	if (h < 0 || h >= window->height || w < 0 || w >= window->width)
		return -1;
	return h * window->width + w;
}

static void window_max_place(const struct window *window, const real *x, int64_t p, int64_t q,
			     real *y, uint8_t *place)
{
	for (int64_t c = 0; c < window->channels; c++)
		y[c] = REAL_LEAST;
	memset(place, 0, (size_t)window->channels);
	for (int nth = 0; nth < window->is->window[0] * window->is->window[1]; nth++) {
		int64_t pixel = window_pixel(window, p, q, nth);

		if (pixel < 0)
			continue;
		for (int64_t c = 0; c < window->channels; c++) {
			real value = x[pixel * window->channels + c];

			/* Not a number wins: a broken run must show it. */
			if (value > y[c] || value != value) {
				y[c] = value;
				place[c] = (uint8_t)nth;
			}
		}
	}
}

static void window_max(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	struct window window = window_of(call, real_in_shape(call, 0), real_out_shape(call, 0));
	int64_t places = window.down * window.across;
	uint8_t *place = call->out[1].data;

	(void)thread;
	for (int64_t image = first; image < last; image++)
		for (int64_t i = 0; i < places; i++) {
			int64_t at = (image * places + i) * window.channels;

			window_max_place(&window,
					 real_in(call, 0) + image * window.height * window.width *
								    window.channels,
					 i / window.across, i % window.across,
					 real_out(call, 0) + at, place + at);
		}
}

const struct cpu_op REAL_NAME(cpu_max_pool) = {.loops = {{window_images, window_max}}};

static void window_max_back(const struct cpu_work *work, unsigned thread, int64_t first,
			    int64_t last)
{
	const struct ops_call *call = work->call;
	struct window window = window_of(call, real_out_shape(call, 0), real_in_shape(call, 0));
	int64_t places = window.down * window.across;
	int64_t numbers = window.height * window.width * window.channels;
	const uint8_t *place = call->in[1].data;

	(void)thread;
	for (int64_t image = first; image < last; image++) {
		real *dx = real_out(call, 0) + image * numbers;

		memset(dx, 0, (size_t)numbers * sizeof(real));
		for (int64_t i = 0; i < places * window.channels; i++) {
			int64_t at = image * places * window.channels + i;
			int64_t p = i / window.channels;
			int64_t pixel = window_pixel(&window, p / window.across, p % window.across,
						     place[at]);

			if (pixel >= 0)
				dx[pixel * window.channels + i % window.channels] +=
					real_in(call, 0)[at];
		}
	}
}

const struct cpu_op REAL_NAME(cpu_max_pool_back) = {.loops = {{window_images, window_max_back}}};

/* Adds rows of pixels under the window at place `i` to `small` or the other way round. */
static void window_average_place(const struct window *window, int64_t i, real *large, real *small,
				 bool back)
{
	int cells = window->is->window[0] * window->is->window[1];
	real part = (real)1 / (real)cells;

	for (int nth = 0; nth < cells; nth++) {
		int64_t pixel = window_pixel(window, i / window->across, i % window->across, nth);
		real *cell = large + (pixel < 0 ? 0 : pixel) * window->channels;

		for (int64_t c = 0; pixel >= 0 && c < window->channels; c++) {
			if (back)
				cell[c] += small[c] * part;
			else
				small[c] += cell[c] * part;
		}
	}
}

static void window_average_run(const struct ops_call *call, int64_t image, bool back)
{
	const struct ops_tensor *big = back ? &call->out[0] : &call->in[0];
	const struct ops_tensor *little = back ? &call->in[0] : &call->out[0];
	struct window window = window_of(call, &big->is.shape, &little->is.shape);
	int64_t places = window.down * window.across;
	int64_t numbers = window.height * window.width * window.channels;
	real *from = (real *)big->data + image * numbers;
	real *to = (real *)little->data + image * places * window.channels;

	if (back)
		memset(from, 0, (size_t)numbers * sizeof(real));
	else
		memset(to, 0, (size_t)(places * window.channels) * sizeof(real));
	for (int64_t i = 0; i < places; i++)
		window_average_place(&window, i, from, to + i * window.channels, back);
}

static void window_average(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	(void)thread;
	for (int64_t image = first; image < last; image++)
		window_average_run(work->call, image, false);
}

static void window_average_back(const struct cpu_work *work, unsigned thread, int64_t first,
				int64_t last)
{
	(void)thread;
	for (int64_t image = first; image < last; image++)
		window_average_run(work->call, image, true);
}

const struct cpu_op REAL_NAME(cpu_average_pool) = {.loops = {{window_images, window_average}}};
const struct cpu_op REAL_NAME(cpu_average_pool_back) = {
	.loops = {{window_images, window_average_back}}};

/* --- upsampling: each pixel `factor` times in both directions --- */

static void window_up(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last)
{
	const struct ops_call *call = work->call;
	const struct tensor_shape *small = real_in_shape(call, 0);
	int64_t factor = call->attributes->factor;
	int64_t across = small->size[2] * factor;
	int64_t pixels = small->size[1] * factor * across;
	int64_t channels = small->size[3];

	(void)thread;
	for (int64_t i = first * pixels; i < last * pixels; i++) {
		int64_t line = i % pixels / across / factor;
		int64_t from =
			(i / pixels * small->size[1] + line) * small->size[2] + i % across / factor;

		memcpy(real_out(call, 0) + i * channels, real_in(call, 0) + from * channels,
		       (size_t)channels * sizeof(real));
	}
}

const struct cpu_op REAL_NAME(cpu_upsample) = {.loops = {{window_images, window_up}}};

static void window_up_back(const struct cpu_work *work, unsigned thread, int64_t first,
			   int64_t last)
{
	const struct ops_call *call = work->call;
	const struct tensor_shape *small = real_out_shape(call, 0);
	int64_t factor = call->attributes->factor;
	int64_t across = small->size[2] * factor;
	int64_t pixels = small->size[1] * factor * across;
	int64_t channels = small->size[3];
	int64_t numbers = small->size[1] * small->size[2] * channels;

	(void)thread;
	memset(real_out(call, 0) + first * numbers, 0,
	       (size_t)((last - first) * numbers) * sizeof(real));
	for (int64_t i = first * pixels; i < last * pixels; i++) {
		int64_t line = i % pixels / across / factor;
		int64_t to =
			(i / pixels * small->size[1] + line) * small->size[2] + i % across / factor;

		for (int64_t c = 0; c < channels; c++)
			real_out(call, 0)[to * channels + c] += real_in(call, 0)[i * channels + c];
	}
}

const struct cpu_op REAL_NAME(cpu_upsample_back) = {.loops = {{window_images, window_up_back}}};
