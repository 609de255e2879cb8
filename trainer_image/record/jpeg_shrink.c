#include "trainer_image/record/jpeg_shrink.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "trainer_image/record/jpeg.h"
#include "trainer_image/record/jpeg_errors.h"

enum { JPEG_SHRINK_SIDE_MAX = 32768 };

static const struct jpeg_limits jpeg_shrink_limits = {
	.pixels = 64ULL << 20, .memory = 384UL << 20, .whole = true};

/* The average of the rows and columns that a pixel covers, in 1/256 of a pixel: whole numbers alone, so the same bits
 * everywhere. */
static uint8_t jpeg_shrink_average(const struct picture *picture, const uint64_t box[4],
				   unsigned channel)
{
	uint64_t sum = 0;
	uint64_t weight = 0;

	for (uint64_t y = box[0] >> 8; y << 8 < box[1]; y++) {
		uint64_t top = y << 8 > box[0] ? y << 8 : box[0];
		uint64_t bottom = (y + 1) << 8 < box[1] ? (y + 1) << 8 : box[1];

		for (uint64_t x = box[2] >> 8; x << 8 < box[3]; x++) {
			uint64_t left = x << 8 > box[2] ? x << 8 : box[2];
			uint64_t right = (x + 1) << 8 < box[3] ? (x + 1) << 8 : box[3];
			uint64_t part = (bottom - top) * (right - left);

			sum += part * picture->data[y * picture->stride + x * 4 + channel];
			weight += part;
		}
	}
	return (uint8_t)(weight == 0 ? 0 : (sum + weight / 2) / weight);
}

static int jpeg_shrink_resize(const struct picture *picture, struct jpeg_pixels *small)
{
	uint64_t tall = (uint64_t)picture->height << 8;
	uint64_t wide = (uint64_t)picture->width << 8;
	uint8_t *at = malloc((size_t)small->height * small->width * small->channels);

	small->data = at;
	if (!at)
		return -ENOMEM;
	for (uint64_t y = 0; y < small->height; y++)
		for (uint64_t x = 0; x < small->width; x++)
			for (unsigned c = 0; c < small->channels; c++) {
				const uint64_t box[4] = {
					y * tall / small->height, (y + 1) * tall / small->height,
					x * wide / small->width, (x + 1) * wide / small->width};

				*at++ = jpeg_shrink_average(picture, box, c);
			}
	return 0;
}

/* Everything that may end in an error of the library. */
static void jpeg_shrink_write(struct jpeg_compress_struct *library, const struct jpeg_pixels *small,
			      int quality)
{
	library->image_width = small->width;
	library->image_height = small->height;
	library->input_components = (int)small->channels;
	library->in_color_space = small->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(library);
	jpeg_set_quality(library, quality, TRUE);
	library->dct_method = JDCT_ISLOW; /* the same bits on each machine */
	library->optimize_coding = TRUE;
	jpeg_start_compress(library, TRUE);
	while (library->next_scanline < small->height) {
		JSAMPROW at = small->data +
			      (size_t)library->next_scanline * small->width * small->channels;

		(void)jpeg_write_scanlines(library, &at, 1);
	}
	jpeg_finish_compress(library);
}

struct jpeg_encoder {
	struct jpeg_compress_struct library;
	struct jpeg_errors errors;
	unsigned char *data;
	unsigned long size;
};

static int jpeg_shrink_try(struct jpeg_encoder *encoder, const struct jpeg_pixels *small,
			   int quality)
{
	if (setjmp(encoder->errors.jump) != 0)
		return encoder->errors.problem->code;
	jpeg_create_compress(&encoder->library);
	jpeg_mem_dest(&encoder->library, &encoder->data, &encoder->size);
	jpeg_shrink_write(&encoder->library, small, quality);
	return 0;
}

int jpeg_encode(const struct jpeg_pixels *small, int quality, struct jpeg_shrink_made *ret,
		struct problem *problem)
{
	struct jpeg_encoder encoder = {.errors = {.problem = problem}};

	encoder.library.err = jpeg_errors_init(&encoder.errors);
	encoder.library.client_data = &encoder.errors;
	int rc = jpeg_shrink_try(&encoder, small, quality);
	jpeg_destroy_compress(&encoder.library);
	if (rc < 0) {
		free(encoder.data);
		return rc;
	}
	*ret = (struct jpeg_shrink_made){.height = (uint16_t)small->height,
					 .width = (uint16_t)small->width,
					 .channels = (uint8_t)small->channels,
					 .data = encoder.data,
					 .size = encoder.size};
	return 0;
}

static int jpeg_shrink_make(const struct picture *picture, const struct jpeg_shrink_ask *ask,
			    struct jpeg_pixels *small, struct jpeg_shrink_made *ret,
			    struct problem *problem)
{
	int rc = jpeg_shrink_resize(picture, small);

	if (rc < 0)
		return problem_set(problem, rc, "JPEG: no memory for %ux%u pixels", small->width,
				   small->height);
	rc = jpeg_encode(small, ask->quality, ret, problem);
	free(small->data);
	return rc;
}

static int jpeg_shrink_check(const struct jpeg_header *header, struct problem *problem)
{
	if (header->width > JPEG_SHRINK_SIDE_MAX || header->height > JPEG_SHRINK_SIDE_MAX)
		return problem_set(problem, E_LIMIT, "JPEG: %ux%u is too large", header->width,
				   header->height);
	if (header->components != 1 && header->components != 3)
		return problem_set(problem, E_UNSUPPORTED,
				   "JPEG: %d components (CMYK?) are not supported",
				   header->components);
	return 0;
}

static unsigned jpeg_shrink_longer(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static int jpeg_shrink_run(struct jpeg_decoder *decoder, struct picture *picture,
			   const struct jpeg_shrink_ask *ask, struct jpeg_shrink_made *ret,
			   struct problem *problem)
{
	struct jpeg_header header;
	int rc = jpeg_decoder_open(decoder, ask->data, ask->size, &header, problem);

	rc = rc < 0 ? rc : jpeg_shrink_check(&header, problem);
	if (rc < 0)
		return rc;
	unsigned longer = jpeg_shrink_longer(header.height, header.width);
	bool shrinks = ask->side > 0 && longer > ask->side;
	struct jpeg_pixels small = {
		.height = shrinks ? (header.height * ask->side + longer / 2) / longer : 1,
		.width = shrinks ? (header.width * ask->side + longer / 2) / longer : 1,
		.channels = (unsigned)header.components};
	const struct picture_region all = {0, 0, header.width, header.height};

	small.height = jpeg_shrink_longer(small.height, 1);
	small.width = jpeg_shrink_longer(small.width, 1);
	rc = jpeg_decoder_read(decoder, &all, small.width, small.height, picture, problem);
	if (rc < 0)
		return rc;
	*ret = (struct jpeg_shrink_made){.height = (uint16_t)header.height,
					 .width = (uint16_t)header.width,
					 .channels = (uint8_t)header.components};
	if (shrinks)
		rc = jpeg_shrink_make(picture, ask, &small, ret, problem);
	ret->whole_height = (uint16_t)header.height;
	ret->whole_width = (uint16_t)header.width;
	return rc;
}

int jpeg_shrink(const struct jpeg_shrink_ask *ask, struct jpeg_shrink_made *ret,
		struct problem *problem)
{
	CLEANUP(jpeg_decoder_freep) struct jpeg_decoder *decoder = NULL;
	struct picture picture = {0};

	if (ask->size > JPEG_SHRINK_BYTES_MAX)
		return problem_set(problem, E_LIMIT, "JPEG: too many bytes");
	int rc = jpeg_decoder_new(&jpeg_shrink_limits, &decoder);
	if (rc < 0)
		return problem_set(problem, rc, "no memory for a JPEG decoder");
	rc = jpeg_shrink_run(decoder, &picture, ask, ret, problem);
	picture_done(&picture);
	return rc;
}
