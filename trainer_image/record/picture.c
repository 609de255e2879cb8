#include "trainer_image/record/picture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdio.h> /* jpeglib.h wants its FILE */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */

#include "common/base/error.h"
#include "common/base/text.h"

/* libjpeg leaves by longjmp; all that must be freed then is here. */
struct picture_job {
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf out;
	struct jpeg_decompress_struct in;
	struct jpeg_compress_struct made;
	const uint8_t *data;
	size_t size;
	unsigned side; /* 0: check alone */
	bool given;    /* `small` is what is encoded; nothing is decoded */
	int quality;
	uint8_t *pixels, *small; /* decoded; shrunk */
	unsigned char *made_data;
	unsigned long made_size;
	struct picture picture;
	int rc;
	char *why;
};

static struct picture_job *picture_job_of(j_common_ptr common)
{
	return common->client_data;
}

static void picture_leave(struct picture_job *job, int rc, const char *why)
{
	job->rc = rc;
	(void)text_copy(job->why, PICTURE_WHY, why);
	longjmp(job->out, 1);
}

static void picture_error(j_common_ptr common)
{
	char text[JMSG_LENGTH_MAX];

	common->err->format_message(common, text);
	picture_leave(picture_job_of(common),
		      common->err->msg_code == JERR_OUT_OF_MEMORY ? -ENOMEM : E_MALFORMED, text);
}

/* Warnings: damage ends it; what many cameras and programs do does not. */
static void picture_warning(j_common_ptr common, int level)
{
	char text[JMSG_LENGTH_MAX];

	if (level >= 0 || common->err->msg_code == JWRN_EXTRANEOUS_DATA ||
	    common->err->msg_code == JWRN_ADOBE_XFORM || common->err->msg_code == JWRN_JFIF_MAJOR ||
	    common->err->msg_code == JWRN_TOO_MUCH_DATA)
		return;
	common->err->format_message(common, text);
	picture_leave(picture_job_of(common), E_MALFORMED, text);
}

static void picture_progress(j_common_ptr common)
{
	struct picture_job *job = picture_job_of(common);

	if (common->is_decompressor && job->in.input_scan_number > PICTURE_SCANS_MAX)
		picture_leave(job, E_LIMIT, "it has too many scans");
}

static void picture_silence(j_common_ptr common)
{
	(void)common;
}

/* Header and limits; then decoding begins, `scale` eighths as large. */
static void picture_begin(struct picture_job *job)
{
	char text[PICTURE_WHY];

	jpeg_mem_src(&job->in, job->data, job->size);
	(void)jpeg_read_header(&job->in, TRUE);
	if (job->in.image_width > PICTURE_SIDE_MAX || job->in.image_height > PICTURE_SIDE_MAX ||
	    (uint64_t)job->in.image_width * job->in.image_height > PICTURE_PIXELS_MAX) {
		(void)text_format(text, sizeof(text), "%u x %u pixels are too many",
				  job->in.image_width, job->in.image_height);
		picture_leave(job, E_LIMIT, text);
	}
	if (job->in.num_components != 1 && job->in.num_components != 3) {
		(void)text_format(text, sizeof(text), "%d components (CMYK?) are not supported",
				  job->in.num_components);
		picture_leave(job, E_UNSUPPORTED, text);
	}
	job->picture = (struct picture){.height = (uint16_t)job->in.image_height,
					.width = (uint16_t)job->in.image_width,
					.channels = (uint8_t)job->in.num_components};
	job->in.out_color_space = job->in.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
	job->in.dct_method = JDCT_ISLOW; /* the same bits on each machine */
	job->in.scale_denom = 8;
}

static unsigned picture_longer(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static void picture_decode(struct picture_job *job)
{
	(void)jpeg_start_decompress(&job->in);
	size_t row = (size_t)job->in.output_width * (unsigned)job->in.output_components;

	job->pixels = malloc(row * job->in.output_height);
	if (!job->pixels)
		picture_leave(job, -ENOMEM, "no memory");
	while (job->in.output_scanline < job->in.output_height) {
		JSAMPROW at = job->pixels + row * job->in.output_scanline;

		(void)jpeg_read_scanlines(&job->in, &at, 1);
	}
	(void)jpeg_finish_decompress(&job->in);
}

/* The average of the rows and columns that a pixel covers, in 1/256 of a pixel: whole numbers alone, so the same bits
 * everywhere. */
static uint8_t picture_average(const struct picture_job *job, const uint64_t box[4],
			       unsigned channels, unsigned channel)
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

			sum += part *
			       job->pixels[(y * job->in.output_width + x) * channels + channel];
			weight += part;
		}
	}
	return (uint8_t)(weight == 0 ? 0 : (sum + weight / 2) / weight);
}

static void picture_resize(struct picture_job *job, unsigned height, unsigned width)
{
	unsigned channels = (unsigned)job->in.output_components;
	uint8_t *at = malloc((size_t)height * width * channels);

	job->small = at;
	if (!at)
		picture_leave(job, -ENOMEM, "no memory");
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			for (unsigned c = 0; c < channels; c++) {
				uint64_t tall = (uint64_t)job->in.output_height << 8;
				uint64_t wide = (uint64_t)job->in.output_width << 8;
				uint64_t box[4] = {y * tall / height, (y + 1) * tall / height,
						   x * wide / width, (x + 1) * wide / width};

				*at++ = picture_average(job, box, channels, c);
			}
}

static void picture_encode(struct picture_job *job, unsigned height, unsigned width)
{
	unsigned channels = job->picture.channels;

	jpeg_mem_dest(&job->made, &job->made_data, &job->made_size);
	job->made.image_width = width;
	job->made.image_height = height;
	job->made.input_components = (int)channels;
	job->made.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(&job->made);
	jpeg_set_quality(&job->made, job->quality, TRUE);
	job->made.dct_method = JDCT_ISLOW;
	job->made.optimize_coding = TRUE;
	jpeg_start_compress(&job->made, TRUE);
	while (job->made.next_scanline < height) {
		JSAMPROW at = job->small + (size_t)job->made.next_scanline * width * channels;

		(void)jpeg_write_scanlines(&job->made, &at, 1);
	}
	jpeg_finish_compress(&job->made);
	job->picture.height = (uint16_t)height;
	job->picture.width = (uint16_t)width;
}

static void picture_work(struct picture_job *job)
{
	picture_begin(job);
	unsigned longer = picture_longer(job->picture.height, job->picture.width);
	bool shrink = job->side > 0 && longer > job->side;

	/* Eighths that still leave the wanted size or more. */
	job->in.scale_num = shrink ? (job->side * 8U + longer - 1) / longer : 1;
	picture_decode(job);
	if (!shrink)
		return;
	unsigned height = (job->picture.height * job->side + longer / 2) / longer;
	unsigned width = (job->picture.width * job->side + longer / 2) / longer;
	height = picture_longer(height, 1);
	width = picture_longer(width, 1);
	picture_resize(job, height, width);
	picture_encode(job, height, width);
}

static void picture_run(struct picture_job *job)
{
	job->in.err = job->made.err = jpeg_std_error(&job->errors);
	job->errors.error_exit = picture_error;
	job->errors.emit_message = picture_warning;
	job->errors.output_message = picture_silence;
	job->progress.progress_monitor = picture_progress;
	job->in.client_data = job->made.client_data = job;
	if (setjmp(job->out) == 0) {
		jpeg_create_decompress(&job->in);
		jpeg_create_compress(&job->made);
		job->in.progress = &job->progress;
		if (job->given)
			picture_encode(job, job->picture.height, job->picture.width);
		else
			picture_work(job);
	}
	jpeg_destroy_compress(&job->made);
	jpeg_destroy_decompress(&job->in);
	free(job->pixels);
	free(job->small);
}

int picture_shrink(const struct picture_ask *ask, struct picture_made *ret,
		   char ret_why[PICTURE_WHY])
{
	struct picture_job job = {.data = ask->data,
				  .size = ask->size,
				  .side = ask->side,
				  .quality = ask->quality,
				  .why = ret_why};

	if (ask->size > PICTURE_BYTES_MAX) {
		(void)text_copy(ret_why, PICTURE_WHY, "it has too many bytes");
		return E_LIMIT;
	}
	if (ask->size == 0) {
		(void)text_copy(ret_why, PICTURE_WHY, "it is empty");
		return E_MALFORMED;
	}
	picture_run(&job);
	if (job.rc < 0) {
		free(job.made_data);
		return job.rc;
	}
	*ret = (struct picture_made){job.picture, job.made_data, job.made_size};
	return 0;
}

int picture_check(const uint8_t *data, size_t size, struct picture *ret, char ret_why[PICTURE_WHY])
{
	struct picture_ask ask = {.data = data, .size = size};
	struct picture_made made;
	int rc = picture_shrink(&ask, &made, ret_why);

	if (rc == 0)
		*ret = made.picture;
	return rc;
}

int picture_make(const struct picture *picture, const uint8_t *pixels, int quality,
		 struct picture_made *ret, char ret_why[PICTURE_WHY])
{
	size_t size = (size_t)picture->height * picture->width * picture->channels;
	struct picture_job job = {.given = true,
				  .quality = quality,
				  .picture = *picture,
				  .small = malloc(size + 1),
				  .why = ret_why};

	if (!job.small) {
		(void)text_copy(ret_why, PICTURE_WHY, error_text(-ENOMEM));
		return -ENOMEM;
	}
	memcpy(job.small, pixels, size);
	picture_run(&job);
	if (job.rc < 0) {
		free(job.made_data);
		return job.rc;
	}
	*ret = (struct picture_made){job.picture, job.made_data, job.made_size};
	return 0;
}
