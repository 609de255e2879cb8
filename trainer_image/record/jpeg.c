#include "trainer_image/record/jpeg.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "trainer_image/record/jpeg_errors.h"

const struct jpeg_limits jpeg_limits_default = {.pixels = 64ULL << 20, .memory = 384UL << 20};

struct jpeg_decoder {
	struct jpeg_decompress_struct library; /* its client_data are `errors` */
	struct jpeg_errors errors;
	struct jpeg_progress_mgr progress;
	struct jpeg_limits limits;
	bool open;
};

/* A file of a few kilobytes can hold thousands of scans over the whole picture. */
static void jpeg_count_scans(j_common_ptr library)
{
	const struct jpeg_decompress_struct *decoder = (const void *)library;
	struct jpeg_errors *errors = library->client_data;

	if (decoder->input_scan_number > JPEG_SCANS_MAX) {
		(void)problem_set(errors->problem, E_LIMIT, "JPEG: more than %d scans",
				  JPEG_SCANS_MAX);
		longjmp(errors->jump, 1);
	}
}

/* libjpeg takes and frees some hundred kilobytes a picture. glibc gives such memory back to the kernel
 * each time, and page faults took a third of the time, until it has once seen a larger piece freed. */
static void jpeg_keep_memory(void)
{
	enum { LARGER = 4 << 20 };
	void *volatile piece =
		malloc(LARGER); /* volatile: else the compiler leaves both calls out */

	free(piece);
}

int jpeg_decoder_new(const struct jpeg_limits *limits, struct jpeg_decoder **ret)
{
	struct jpeg_decoder *decoder = calloc(1, sizeof(*decoder));
	struct problem problem = {0};

	if (!decoder)
		return -ENOMEM;
	jpeg_keep_memory();
	decoder->limits = *limits;
	decoder->library.err = jpeg_errors_init(&decoder->errors);
	decoder->library.client_data = &decoder->errors;
	decoder->errors.whole = limits->whole;
	decoder->errors.problem = &problem;
	if (setjmp(decoder->errors.jump) != 0) {
		free(decoder);
		return -ENOMEM;
	}
	jpeg_create_decompress(&decoder->library);
	decoder->progress.progress_monitor = jpeg_count_scans;
	decoder->library.progress = &decoder->progress;
	decoder->library.mem->max_memory_to_use = (long)limits->memory;
	decoder->errors.problem = NULL;
	*ret = decoder;
	return 0;
}

void jpeg_decoder_free(struct jpeg_decoder *decoder)
{
	if (!decoder)
		return;
	jpeg_destroy_decompress(&decoder->library);
	free(decoder);
}

void jpeg_decoder_freep(struct jpeg_decoder **decoder)
{
	jpeg_decoder_free(*decoder);
}

uint64_t jpeg_decoder_warnings(const struct jpeg_decoder *decoder)
{
	return decoder->errors.warnings;
}

static void jpeg_close(struct jpeg_decoder *decoder)
{
	jpeg_abort_decompress(&decoder->library);
	decoder->open = false;
	decoder->errors.problem = NULL;
}

static int jpeg_check(const struct jpeg_decoder *decoder, struct problem *problem)
{
	const struct jpeg_decompress_struct *library = &decoder->library;
	uint64_t pixels = (uint64_t)library->image_width * library->image_height;

	if (pixels > decoder->limits.pixels)
		return problem_set(problem, E_LIMIT,
				   "JPEG: %ux%u is too large, the limit is %llu pixels",
				   library->image_width, library->image_height,
				   (unsigned long long)decoder->limits.pixels);
	if (library->num_components != 1 && library->num_components != 3 &&
	    library->num_components != 4)
		return problem_set(problem, E_UNSUPPORTED, "JPEG: %d components",
				   library->num_components);
	return 0;
}

int jpeg_decoder_open(struct jpeg_decoder *decoder, const void *data, size_t size,
		      struct jpeg_header *ret, struct problem *problem)
{
	struct jpeg_decompress_struct *library = &decoder->library;
	int rc;

	if (size == 0)
		return problem_set(problem, E_MALFORMED, "JPEG: no bytes");
	if (decoder->open)
		jpeg_close(decoder);
	decoder->errors.problem = problem;
	decoder->open = true;
	if (setjmp(decoder->errors.jump) != 0) {
		jpeg_close(decoder);
		return problem->code;
	}
	jpeg_mem_src(library, data, (unsigned long)size);
	(void)jpeg_read_header(library, TRUE);
	rc = jpeg_check(decoder, problem);
	if (rc != 0) {
		jpeg_close(decoder);
		return rc;
	}
	*ret = (struct jpeg_header){.width = library->image_width,
				    .height = library->image_height,
				    .components = library->num_components,
				    .progressive = library->progressive_mode != FALSE};
	return 0;
}

/* Two chroma samples beside a pixel are read for it (h2v2, "fancy"): with one pixel more around the
 * region none of the region differs from the whole picture's. */
static void jpeg_widen(uint32_t at, uint32_t length, uint32_t shrink, uint32_t limit,
		       uint32_t *ret_at, uint32_t *ret_length)
{
	enum { MARGIN = 2 };
	uint32_t begin = at / shrink;
	uint32_t end = (at + length + shrink - 1) / shrink + MARGIN;

	begin = begin > MARGIN ? begin - MARGIN : 0;
	if (end > limit)
		end = limit;
	*ret_at = begin;
	*ret_length = end - begin;
}

static uint32_t jpeg_shrink_of(const struct picture_region *region, uint32_t least_width,
			       uint32_t least_height)
{
	uint32_t shrink = 8;

	while (shrink > 1 &&
	       (region->width / shrink < least_width || region->height / shrink < least_height))
		shrink /= 2;
	return shrink;
}

/* CMYK to RGBX in place. Adobe's programs write the complement. */
static void jpeg_cmyk_row(uint8_t *row, uint32_t width, bool inverted)
{
	unsigned flip = inverted ? 0 : 255;

	for (size_t x = 0; x < width; x++) {
		uint8_t *p = row + 4 * x;
		unsigned black = p[3] ^ flip;

		for (size_t c = 0; c < 3; c++)
			p[c] = (uint8_t)(((p[c] ^ flip) * black + 127) / 255);
	}
}

static void jpeg_read_rows(struct jpeg_decoder *decoder, struct picture *ret)
{
	struct jpeg_decompress_struct *library = &decoder->library;
	bool cmyk = library->out_color_space == JCS_CMYK;
	bool inverted = library->saw_Adobe_marker != FALSE;

	for (uint32_t y = 0; y < ret->height;) {
		JSAMPROW rows[8];
		uint32_t count = 0;
		uint32_t got;

		for (; count < COUNT_OF(rows) && y + count < ret->height; count++)
			rows[count] = ret->data + (y + count) * ret->stride;
		got = jpeg_read_scanlines(library, rows, count);
		for (uint32_t i = 0; cmyk && i < got; i++)
			jpeg_cmyk_row(rows[i], ret->width, inverted);
		y += got;
	}
}

/* Everything that may end in jpeg_fail. */
static int jpeg_read_region(struct jpeg_decoder *decoder, const struct picture_region *region,
			    uint32_t shrink, struct picture *ret)
{
	struct jpeg_decompress_struct *library = &decoder->library;
	uint32_t x;
	uint32_t y;
	uint32_t width;
	uint32_t height;
	int rc;

	library->scale_num = 1;
	library->scale_denom = shrink;
	library->out_color_space = library->num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
	(void)jpeg_start_decompress(library);
	jpeg_widen(region->x, region->width, shrink, library->output_width, &x, &width);
	jpeg_widen(region->y, region->height, shrink, library->output_height, &y, &height);
	if (width < library->output_width)
		jpeg_crop_scanline(library, &x, &width); /* moves x down to a block, width grows */
	rc = picture_reserve(ret, library->output_width, height);
	if (rc != 0)
		return problem_set(decoder->errors.problem, rc, "JPEG: no memory for %ux%u pixels",
				   library->output_width, height);
	if (y > 0)
		(void)jpeg_skip_scanlines(library, y);
	jpeg_read_rows(decoder, ret);
	ret->left = (double)region->x / shrink - x;
	ret->top = (double)region->y / shrink - y;
	ret->region_width = (double)region->width / shrink;
	ret->region_height = (double)region->height / shrink;
	return 0;
}

int jpeg_decoder_read(struct jpeg_decoder *decoder, const struct picture_region *region,
		      uint32_t least_width, uint32_t least_height, struct picture *ret,
		      struct problem *problem)
{
	int rc;

	assert(decoder->open && region->width > 0 && region->height > 0);
	assert(region->x + region->width <= decoder->library.image_width);
	assert(region->y + region->height <= decoder->library.image_height);
	decoder->errors.problem = problem;
	if (setjmp(decoder->errors.jump) != 0) {
		jpeg_close(decoder);
		return problem->code;
	}
	rc = jpeg_read_region(decoder, region, jpeg_shrink_of(region, least_width, least_height),
			      ret);
	jpeg_close(decoder);
	return rc;
}
