#include "trainer_image/record/mask.h"

#include <errno.h>
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

int mask_reserve(struct mask *mask, uint32_t width, uint32_t height)
{
	size_t size = (size_t)width * height;

	if (size > mask->room) {
		uint8_t *data = malloc(size);

		if (!data)
			return -ENOMEM;
		free(mask->data);
		mask->data = data;
		mask->room = size;
	}
	mask->width = width;
	mask->height = height;
	return 0;
}

void mask_done(struct mask *mask)
{
	free(mask->data);
	*mask = (struct mask){0};
}

int mask_field(const struct record_header *header)
{
	for (size_t i = 0; i < header->field_count; i++)
		if (header->field[i].type == RECORD_BYTES &&
		    strcmp(header->field[i].name, MASK_FIELD) == 0)
			return (int)i;
	return -1;
}

int mask_check(const struct mask *mask, uint32_t classes, struct problem *problem)
{
	for (size_t i = 0; i < (size_t)mask->width * mask->height; i++)
		if (mask->data[i] >= classes && mask->data[i] != MASK_VOID)
			return problem_set(
				problem, E_INVALID,
				"the pixel at %zu, %zu has the class %u: the last is %" PRIu32,
				i % mask->width, i / mask->width, mask->data[i], classes - 1);
	return 0;
}

int mask_shrink(const struct mask *mask, uint32_t width, uint32_t height, struct mask *ret)
{
	int rc = mask_reserve(ret, width, height);

	for (uint64_t y = 0; rc == 0 && y < height; y++) {
		const uint8_t *from = mask->data + (2 * y + 1) * mask->height /
							   (2 * (uint64_t)height) * mask->width;

		for (uint64_t x = 0; x < width; x++)
			ret->data[y * width + x] =
				from[(2 * x + 1) * mask->width / (2 * (uint64_t)width)];
	}
	return rc;
}

/* ---- PNG ---- */

/* libpng leaves by longjmp: what has to be freed stands here. */
struct mask_png {
	png_structp png;
	png_infop info;
	jmp_buf jump;            /* where an error goes on */
	struct problem *problem; /* what the error was */
	const uint8_t *from;     /* of reading: bytes that are left */
	size_t left;
	struct text to; /* of writing */
};

static __attribute__((noreturn)) void mask_png_fail(png_structp png, png_const_charp text)
{
	struct mask_png *is = png_get_error_ptr(png);

	(void)problem_set(is->problem, E_MALFORMED, "PNG: %s", text);
	longjmp(is->jump, 1);
}

static void mask_png_warn(png_structp png, png_const_charp text)
{
	(void)png, (void)text;
}

static void mask_png_get(png_structp png, png_bytep to, size_t size)
{
	struct mask_png *is = png_get_io_ptr(png);

	if (size > is->left)
		png_error(png, "it ends too early");
	memcpy(to, is->from, size);
	is->from += size;
	is->left -= size;
}

static void mask_png_put(png_structp png, png_bytep from, size_t size)
{
	struct mask_png *is = png_get_io_ptr(png);

	text_add_bytes(&is->to, from, size);
}

static void mask_png_flush(png_structp png)
{
	(void)png;
}

static const char *mask_png_kind(int colour)
{
	switch (colour) {
	case PNG_COLOR_TYPE_GRAY: return "grey";
	case PNG_COLOR_TYPE_PALETTE: return "a palette";
	case PNG_COLOR_TYPE_RGB: return "colours";
	case PNG_COLOR_TYPE_GRAY_ALPHA: return "grey with transparency";
	default: return "colours with transparency";
	}
}

static int mask_png_check(const struct mask_png *is, uint32_t width, uint32_t height)
{
	uint32_t wide = png_get_image_width(is->png, is->info);
	uint32_t high = png_get_image_height(is->png, is->info);
	int colour = png_get_color_type(is->png, is->info);
	int bits = png_get_bit_depth(is->png, is->info);

	if (wide != width || high != height)
		return problem_set(is->problem, E_MALFORMED,
				   "PNG: it has %" PRIu32 "x%" PRIu32
				   " pixels, and its picture %" PRIu32 "x%" PRIu32,
				   wide, high, width, height);
	if ((colour != PNG_COLOR_TYPE_GRAY && colour != PNG_COLOR_TYPE_PALETTE) || bits > 8)
		return problem_set(
			is->problem, E_UNSUPPORTED,
			"PNG: %d bits of %s: a mask is grey or a palette, of 8 bits at most", bits,
			mask_png_kind(colour));
	return 0;
}

/* Everything that may end in mask_png_fail. Chunks that say nothing of pixels are skipped unread. */
static int mask_png_decode(struct mask_png *is, uint32_t width, uint32_t height, struct mask *ret)
{
	png_set_read_fn(is->png, is, mask_png_get);
	png_set_keep_unknown_chunks(is->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	png_read_info(is->png, is->info);
	int rc = mask_png_check(is, width, height);

	if (rc == 0 && mask_reserve(ret, width, height) != 0)
		rc = problem_set(is->problem, -ENOMEM, "PNG: no memory for its pixels");
	if (rc != 0)
		return rc;
	png_set_packing(is->png);
	int passes = png_set_interlace_handling(is->png);

	png_read_update_info(is->png, is->info);
	for (int pass = 0; pass < passes; pass++)
		for (size_t y = 0; y < height; y++)
			png_read_row(is->png, ret->data + y * width, NULL);
	png_read_end(is->png, NULL);
	return 0;
}

static int mask_png_try(struct mask_png *is, uint32_t width, uint32_t height, struct mask *ret)
{
	if (setjmp(is->jump) != 0)
		return is->problem->code;
	return mask_png_decode(is, width, height, ret);
}

int mask_read(const void *data, size_t size, uint32_t width, uint32_t height, struct mask *ret,
	      struct problem *problem)
{
	struct mask_png is = {.problem = problem, .from = data, .left = size};

	is.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &is, mask_png_fail, mask_png_warn);
	is.info = is.png ? png_create_info_struct(is.png) : NULL;
	int rc = is.info ? mask_png_try(&is, width, height, ret)
			 : problem_set(problem, -ENOMEM, "PNG: no memory");

	png_destroy_read_struct(&is.png, &is.info, NULL);
	return rc;
}

static int mask_png_encode(struct mask_png *is, const struct mask *mask)
{
	if (setjmp(is->jump) != 0)
		return is->problem->code;
	png_set_write_fn(is->png, is, mask_png_put, mask_png_flush);
	png_set_IHDR(is->png, is->info, mask->width, mask->height, 8, PNG_COLOR_TYPE_GRAY,
		     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_set_filter(is->png, 0, PNG_FILTER_NONE); /* neighbours are the same, not alike */
	png_write_info(is->png, is->info);
	for (size_t y = 0; y < mask->height; y++)
		png_write_row(is->png, mask->data + y * mask->width);
	png_write_end(is->png, NULL);
	return 0;
}

int mask_write(const struct mask *mask, uint8_t **ret, size_t *ret_size, struct problem *problem)
{
	struct mask_png is = {.problem = problem};

	is.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &is, mask_png_fail, mask_png_warn);
	is.info = is.png ? png_create_info_struct(is.png) : NULL;
	int rc = is.info ? mask_png_encode(&is, mask) : -ENOMEM;

	png_destroy_write_struct(&is.png, &is.info);
	if (rc == 0 && is.to.failed)
		rc = -ENOMEM;
	if (rc == -ENOMEM)
		(void)problem_set(problem, rc, "PNG: no memory for %" PRIu32 "x%" PRIu32 " pixels",
				  mask->width, mask->height);
	if (rc != 0) {
		text_done(&is.to);
		return rc;
	}
	*ret_size = is.to.size;
	*ret = (uint8_t *)text_take(&is.to);
	return 0;
}
