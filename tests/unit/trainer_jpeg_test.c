// links: trainer_record lib::jpeg common_base
/* JPEG: regions, colours, and files that nobody should decode. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/jpeg_make.h"
#include "trainer_image/record/jpeg.h"

static struct jpeg_decoder *decoder;

static int decoder_begin(void **state)
{
	(void)state;
	return jpeg_decoder_new(&jpeg_limits_default, &decoder);
}

static int decoder_end(void **state)
{
	(void)state;
	jpeg_decoder_free(decoder);
	return 0;
}

static int read_region(const void *data, size_t size, const struct picture_region *region,
		       uint32_t least, struct picture *ret, struct problem *problem)
{
	struct jpeg_header header;
	struct picture_region all;
	int rc = jpeg_decoder_open(decoder, data, size, &header, problem);

	if (rc != 0)
		return rc;
	all = (struct picture_region){0, 0, header.width, header.height};
	return jpeg_decoder_read(decoder, region ? region : &all, least, least, ret, problem);
}

static const struct jpeg_make kinds[] = {
	{501, 375, 3, 90, 2, 0, 1}, {500, 375, 3, 75, 1, 0, 2}, {333, 222, 1, 90, 1, 0, 3},
	{257, 129, 4, 90, 1, 0, 4}, {300, 200, 3, 85, 2, 1, 5}, {17, 9, 3, 90, 2, 0, 6},
	{1, 1, 3, 90, 2, 0, 7},
};

/* Each pixel of a region is the pixel of the whole picture, at each scale. */
static void compare_region(const void *data, size_t size, const struct picture_region *region,
			   uint32_t least)
{
	struct picture part = {0};
	struct picture whole = {0};
	struct problem problem = {0};
	uint32_t x0;
	uint32_t y0;
	uint32_t x1;
	uint32_t y1;
	uint32_t shrink;

	assert_int_equal(read_region(data, size, region, least, &part, &problem), 0);
	shrink = (uint32_t)((double)region->width / part.region_width + 0.5);
	assert_true(shrink == 1 || region->width / shrink >= least);
	{
		struct jpeg_header header;
		struct picture_region all = {0};

		assert_int_equal(jpeg_decoder_open(decoder, data, size, &header, &problem), 0);
		all.width = header.width;
		all.height = header.height;
		assert_int_equal(jpeg_decoder_read(decoder, &all, header.width / shrink,
						   header.height / shrink, &whole, &problem),
				 0);
	}
	x0 = region->x / shrink;
	y0 = region->y / shrink;
	x1 = (region->x + region->width + shrink - 1) / shrink;
	y1 = (region->y + region->height + shrink - 1) / shrink;
	for (uint32_t y = y0; y < y1; y++) {
		uint32_t from = y - (uint32_t)((double)region->y / shrink - part.top + 0.5);
		uint32_t left = (uint32_t)((double)region->x / shrink - part.left + 0.5);

		for (uint32_t x = x0; x < x1; x++)
			assert_memory_equal(part.data + from * part.stride + 4 * (size_t)(x - left),
					    whole.data + y * whole.stride + 4 * (size_t)x, 3);
	}
	picture_done(&part);
	picture_done(&whole);
}

static void regions_are_parts_of_the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		unsigned char *data;
		size_t size;
		unsigned random = 7 + (unsigned)i;

		jpeg_make(&kinds[i], &data, &size);
		for (int turn = 0; turn < 12; turn++) {
			struct picture_region region;

			random = random * 1103515245U + 12345U;
			region.x = (random >> 8) % kinds[i].width;
			region.y = (random >> 16) % kinds[i].height;
			random = random * 1103515245U + 12345U;
			region.width = 1 + (random >> 8) % (kinds[i].width - region.x);
			region.height = 1 + (random >> 16) % (kinds[i].height - region.y);
			compare_region(data, size, &region, turn % 3 == 0 ? 500 : 20);
		}
		free(data);
	}
}

/* Pixels are near those that were put in: the order of channels is right, also of CMYK. */
static void colours_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		unsigned char *data;
		size_t size;
		struct picture picture = {0};
		struct problem problem = {0};
		double error = 0;

		jpeg_make(&kinds[i], &data, &size);
		assert_int_equal(read_region(data, size, NULL, 10000, &picture, &problem), 0);
		for (uint32_t y = 0; y < picture.height; y++) {
			for (uint32_t x = 0; x < picture.width; x++) {
				for (unsigned c = 0; c < 3; c++) {
					int want = jpeg_make_sample(
						&kinds[i], x, y, kinds[i].components == 1 ? 0 : c);
					int got = picture.data[y * picture.stride + 4 * (size_t)x +
							       c];

					if (kinds[i].components == 4)
						want = want * jpeg_make_sample(&kinds[i], x, y, 3) /
						       255;
					error += abs(got - want);
				}
			}
		}
		assert_true(error / (3.0 * picture.width * picture.height) < 12);
		picture_done(&picture);
		free(data);
	}
}

/* Of a file cut anywhere: a clear error or the whole picture, and the decoder works after it. */
static void cut_files_are_refused(void **state)
{
	unsigned char *data;
	size_t size;
	size_t refused = 0;
	struct picture picture = {0};
	struct problem problem = {0};

	(void)state;
	jpeg_make(&(struct jpeg_make){64, 48, 3, 80, 2, 0, 1}, &data, &size);
	for (size_t cut = 0; cut < size; cut++) {
		problem = (struct problem){0};
		if (read_region(data, cut, NULL, 100, &picture, &problem) != 0) {
			refused++;
			assert_int_equal(problem.code, E_MALFORMED);
			assert_true(strncmp(problem.message, "JPEG: ", 6) == 0);
		}
	}
	assert_true(refused >= size - 4); /* without its end marker it is whole */
	assert_int_equal(read_region(data, size, NULL, 100, &picture, &problem), 0);
	assert_true(jpeg_decoder_warnings(decoder) > 0);
	picture_done(&picture);
	free(data);
}

static void set_size(unsigned char *data, size_t size, unsigned width, unsigned height)
{
	for (size_t i = 0; i + 9 < size; i++) {
		if (data[i] == 0xff && (data[i + 1] == 0xc0 || data[i + 1] == 0xc2)) {
			data[i + 5] = (unsigned char)(height >> 8);
			data[i + 6] = (unsigned char)height;
			data[i + 7] = (unsigned char)(width >> 8);
			data[i + 8] = (unsigned char)width;
			return;
		}
	}
	fail();
}

static void bombs_are_refused(void **state)
{
	unsigned char *data;
	size_t size;
	struct picture picture = {0};
	struct problem problem = {0};

	(void)state;
	jpeg_make(&(struct jpeg_make){64, 48, 3, 80, 2, 0, 1}, &data, &size);
	set_size(data, size, 65500, 65500);
	assert_int_equal(read_region(data, size, NULL, 100, &picture, &problem), E_LIMIT);
	assert_non_null(strstr(problem.message, "65500x65500"));
	free(data);

	/* Within the limit of pixels, yet its coefficients are not within that of memory. */
	jpeg_make(&(struct jpeg_make){64, 48, 3, 80, 1, 1, 1}, &data, &size);
	set_size(data, size, 8190, 8190);
	{
		struct jpeg_decoder *standard = decoder;
		struct jpeg_limits small = {.pixels = 1ULL << 30, .memory = 16UL << 20};

		assert_int_equal(jpeg_decoder_new(&small, &decoder), 0);
		assert_int_equal(read_region(data, size, NULL, 100, &picture, &problem), E_LIMIT);
		jpeg_decoder_free(decoder);
		decoder = standard;
	}
	assert_null(picture.data);
	free(data);
}

static void garbage_is_refused(void **state)
{
	struct picture picture = {0};
	struct problem problem = {0};
	unsigned char *data;
	size_t size;

	(void)state;
	assert_int_equal(read_region("", 0, NULL, 1, &picture, &problem), E_MALFORMED);
	assert_int_equal(read_region("GIF89a", 6, NULL, 1, &picture, &problem), E_MALFORMED);
	jpeg_make(&kinds[0], &data, &size);
	memset(data + size / 2, 0xff, 64); /* markers amid the pixels */
	assert_int_equal(read_region(data, size, NULL, 1000, &picture, &problem), E_MALFORMED);
	free(data);
	picture_done(&picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(regions_are_parts_of_the_whole, decoder_begin,
						decoder_end),
		cmocka_unit_test_setup_teardown(colours_come_back, decoder_begin, decoder_end),
		cmocka_unit_test_setup_teardown(cut_files_are_refused, decoder_begin, decoder_end),
		cmocka_unit_test_setup_teardown(bombs_are_refused, decoder_begin, decoder_end),
		cmocka_unit_test_setup_teardown(garbage_is_refused, decoder_begin, decoder_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
