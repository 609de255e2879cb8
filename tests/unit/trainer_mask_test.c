// links: trainer_record lib::png lib::jpeg
/* Masks: PNGs of each kind, those that are none, shrinking, and a folder of pictures with masks that becomes a set. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/jpeg_make.h"
#include "tests/support/png_make.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/convert.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/record/mask.h"

enum { WIDTH = 13, HEIGHT = 7, PIXELS = WIDTH * HEIGHT };

static const struct png_make grey = {WIDTH, HEIGHT, PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_NONE};

/* Numbers below `below`, four a pixel: enough for each kind. */
static const uint8_t *numbers(unsigned below)
{
	static uint8_t bytes[4 * PIXELS];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 % 251 % below);
	return bytes;
}

static void test_png_read(void **state)
{
	static const struct {
		int colour, bits, interlace;
	} rows[] = {
		{PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_NONE},
		{PNG_COLOR_TYPE_GRAY, 1, PNG_INTERLACE_NONE},
		{PNG_COLOR_TYPE_GRAY, 2, PNG_INTERLACE_ADAM7},
		{PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_NONE},
		{PNG_COLOR_TYPE_PALETTE, 4, PNG_INTERLACE_NONE},
		{PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_ADAM7},
	};
	struct mask mask = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct png_make make = {WIDTH, HEIGHT, rows[i].colour, rows[i].bits,
					      rows[i].interlace};
		const uint8_t *wanted = numbers(1U << rows[i].bits);
		CLEANUP(text_done) struct text png = {0};
		struct problem problem = {0};
		uint8_t *again = NULL;
		size_t size = 0;

		png_make(&make, wanted, &png);
		if (mask_read(png.data, png.size, WIDTH, HEIGHT, &mask, &problem) != 0)
			fail_msg("row %zu: %s", i, problem.message);
		assert_memory_equal(mask.data, wanted, PIXELS);
		assert_int_equal(mask_write(&mask, &again, &size, &problem), 0);
		memset(mask.data, 0, PIXELS);
		assert_int_equal(mask_read(again, size, WIDTH, HEIGHT, &mask, &problem), 0);
		assert_memory_equal(mask.data, wanted, PIXELS);
		free(again);
	}
	mask_done(&mask);
}

static uint32_t png_sum(const uint8_t *data, size_t size)
{
	uint32_t sum = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		sum ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320U : 0);
	}
	return ~sum;
}

/* Another width and height in the header, with the checksum that belongs to it. */
static void png_resize(uint8_t *data, uint32_t side)
{
	for (size_t i = 0; i < 8; i++)
		data[16 + i] = (uint8_t)(side >> 8 * (3 - i % 4));
	uint32_t sum = png_sum(data + 12, 17);
	for (size_t i = 0; i < 4; i++)
		data[29 + i] = (uint8_t)(sum >> 8 * (3 - i));
}

static void test_png_refused(void **state)
{
	static const struct {
		struct png_make make;
		uint32_t side; /* 0: the header stays */
		int code;
		const char *says;
	} rows[] = {
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB, 8, 0}, 0, E_UNSUPPORTED, "8 bits of colours"},
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_RGB_ALPHA, 8, 0},
		 0,
		 E_UNSUPPORTED,
		 "8 bits of colours with transparency"},
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0},
		 0,
		 E_UNSUPPORTED,
		 "8 bits of grey with transparency"},
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_GRAY, 16, 0}, 0, E_UNSUPPORTED, "16 bits of grey"},
		{{HEIGHT, WIDTH, PNG_COLOR_TYPE_GRAY, 8, 0},
		 0,
		 E_MALFORMED,
		 "it has 7x13 pixels, and its picture 13x7"},
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_GRAY, 8, 0},
		 65500,
		 E_MALFORMED,
		 "it has 65500x65500 pixels"},
		{{WIDTH, HEIGHT, PNG_COLOR_TYPE_GRAY, 8, 0}, 0x7fffffff, E_MALFORMED, "PNG: "},
	};
	struct mask mask = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text png = {0};
		struct problem problem = {0};

		png_make(&rows[i].make, numbers(200), &png);
		if (rows[i].side > 0)
			png_resize((uint8_t *)png.data, rows[i].side);
		int rc = mask_read(png.data, png.size, WIDTH, HEIGHT, &mask, &problem);
		if (rc != rows[i].code || !strstr(problem.message, rows[i].says))
			fail_msg("row %zu: %d, %s", i, rc, problem.message);
		assert_null(mask.data); /* before any memory was taken */
	}
}

/* Cut anywhere, or with a byte that was changed: an error with a reason. */
static void test_png_damaged(void **state)
{
	CLEANUP(text_done) struct text png = {0};
	struct problem problem = {0};
	struct mask mask = {0};

	(void)state;
	png_make(&grey, numbers(200), &png);
	for (size_t size = 0; size < png.size; size++) {
		problem = (struct problem){0};
		assert_int_equal(mask_read(png.data, size, WIDTH, HEIGHT, &mask, &problem),
				 E_MALFORMED);
		assert_memory_equal(problem.message, "PNG: ", 5);
	}
	for (size_t i = 0; i < png.size; i++) {
		png.data[i] ^= 0x21;
		problem = (struct problem){0};
		int rc = mask_read(png.data, png.size, WIDTH, HEIGHT, &mask, &problem);

		assert_true(rc == problem.code && rc < 0);
		png.data[i] ^= 0x21;
	}
	assert_int_equal(mask_read(png.data, png.size, WIDTH, HEIGHT, &mask, &problem), 0);
	mask_done(&mask);
}

static void test_check_and_shrink(void **state)
{
	uint8_t pixels[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, MASK_VOID};
	const struct mask mask = {.data = pixels, .width = 4, .height = 3};
	static const uint8_t two[] = {1, 3, 9, MASK_VOID};
	struct problem problem = {0};
	struct mask small = {0};

	(void)state;
	assert_int_equal(mask_check(&mask, 11, &problem), 0);
	assert_int_equal(mask_check(&mask, 10, &problem), E_INVALID);
	assert_string_equal(problem.message, "the pixel at 2, 2 has the class 10: the last is 9");
	assert_int_equal(mask_shrink(&mask, 2, 2, &small), 0);
	assert_memory_equal(small.data, two, sizeof(two));
	assert_int_equal(mask_shrink(&mask, 1, 1, &small), 0);
	assert_int_equal(small.data[0], 6);
	assert_int_equal(mask_shrink(&mask, 4, 3, &small), 0);
	assert_memory_equal(small.data, pixels, sizeof(pixels));
	mask_done(&small);
}

/* ---- A folder ---- */

static char folder[SCRATCH_SIZE];

static int folder_begin(void **state)
{
	(void)state;
	scratch_make(folder, "mask");
	return 0;
}

static int folder_end(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static const char *in_folder(const char *name)
{
	static char path[2][128];
	static int turn;
	char *ret = path[turn++ % 2];

	assert_true(text_format(ret, sizeof(path[0]), "%s/%s", folder, name));
	return ret;
}

static void write_file(const char *name, const void *data, size_t size)
{
	assert_int_equal(file_write_atomic(in_folder(name), data, size, 0600), 0);
}

/* Masks by their pictures, in the order in which they are read. */
static const struct {
	const char *picture, *mask;
	struct png_make make;
	unsigned below; /* numbers of the mask */
	size_t cut;     /* bytes that lack at its end */
	const char *says;
} folder_rows[] = {
	{"pictures/a/1.jpg", "masks/a/1.png", {WIDTH, HEIGHT, 0, 8, 0}, 5, 0, NULL},
	{"pictures/a/2.jpg",
	 NULL,
	 {0},
	 0,
	 0,
	 "a/2.jpg: its mask a/2.png: No such file or directory"},
	{"pictures/a/3.jpeg",
	 "masks/a/3.png",
	 {WIDTH, HEIGHT, 0, 8, 0},
	 6,
	 0,
	 "a/3.jpeg: its mask a/3.png: the pixel at 5, 0 has the class 5: the last is 4"},
	{"pictures/a/deep/4.jpg", "masks/a/deep/4.png", {WIDTH, HEIGHT, 3, 4, 1}, 5, 0, NULL},
	{"pictures/a/deep/5.jpg",
	 "masks/a/deep/5.png",
	 {WIDTH, HEIGHT, 2, 8, 0},
	 5,
	 0,
	 "a/deep/5.jpg: its mask a/deep/5.png: PNG: 8 bits of colours"},
	{"pictures/b/6.jpg",
	 "masks/b/6.png",
	 {WIDTH, HEIGHT + 1, 0, 8, 0},
	 2,
	 0,
	 "b/6.jpg: its mask b/6.png: PNG: it has 13x8 pixels, and its picture 13x7"},
	{"pictures/b/7.jpg",
	 "masks/b/7.png",
	 {WIDTH, HEIGHT, 0, 8, 0},
	 5,
	 14,
	 "b/7.jpg: its mask b/7.png: PNG: it ends too early"},
	{"pictures/c.jpg", "masks/c.png", {WIDTH, HEIGHT, 0, 1, 0}, 2, 0, NULL},
};

enum { FOLDER_GOOD = 3 };

static void folder_make(void)
{
	const struct jpeg_make jpeg = {WIDTH, HEIGHT, 3, 90, 1, 0, 3};
	unsigned char *data;
	size_t size;

	assert_int_equal(
		shell("cd %s && mkdir -p pictures/a/deep pictures/b masks/a/deep masks/b", folder),
		0);
	jpeg_make(&jpeg, &data, &size);
	write_file("pictures/a/none.txt", "x", 1);
	for (size_t i = 0; i < COUNT_OF(folder_rows); i++) {
		CLEANUP(text_done) struct text png = {0};

		write_file(folder_rows[i].picture, data, size);
		if (!folder_rows[i].mask)
			continue;
		png_make(&folder_rows[i].make, numbers(folder_rows[i].below), &png);
		write_file(folder_rows[i].mask, png.data, png.size - folder_rows[i].cut);
	}
	free(data);
}

/* What was left out, a line each. */
static void folder_skipped(void *context, const char *name, const char *why)
{
	text_addf(context, "%s: %s\n", name, why);
}

static int folder_convert(const char *set, const char *masks, uint32_t classes, unsigned side,
			  struct text *skipped, struct convert_result *result)
{
	const struct convert_options options = {.masks = in_folder(masks),
						.classes = classes,
						.side = side,
						.quality = 90,
						.sorted = true,
						.page_size = 4096,
						.skipped = folder_skipped,
						.context = skipped};
	struct problem problem = {0};
	char pictures[128];
	char path[128];

	assert_true(text_format(pictures, sizeof(pictures), "%s/pictures", folder));
	assert_true(text_format(path, sizeof(path), "%s/%s", folder, set));
	return convert_folder(pictures, path, &options, result, &problem);
}

/* Sample `number` of the first page, and its mask of width x height. */
static void folder_sample(const char *set, uint32_t number, uint32_t width, uint32_t height,
			  struct mask *ret)
{
	struct record_value value[RECORD_FIELDS_MAX];
	struct record_reader *reader = NULL;
	struct problem problem = {0};
	struct record_sample sample;
	struct record_page page;

	assert_int_equal(record_reader_open(in_folder(set), NULL, &reader, &problem), 0);
	assert_int_equal(mask_field(record_reader_header(reader)), 1);
	assert_int_equal(record_reader_header(reader)->class_count, 5);
	assert_int_equal(record_reader_samples(reader), FOLDER_GOOD);
	assert_int_equal(record_page_open(reader, 0, &page), 0);
	assert_int_equal(record_page_sample(reader, &page, number, &sample), 0);
	assert_int_equal(sample.label, -1);
	assert_int_equal(sample.width, width);
	assert_int_equal(record_sample_fields(record_reader_header(reader), &sample, value), 0);
	if (mask_read(value[1].data, value[1].size, width, height, ret, &problem) != 0)
		fail_msg("%s", problem.message);
	record_reader_free(reader);
}

static void test_convert(void **state)
{
	CLEANUP(text_done) struct text skipped = {0};
	struct convert_result result = {0};
	struct mask mask = {0};

	(void)state;
	folder_make();
	assert_int_equal(folder_convert("set.rec", "masks", 5, 0, &skipped, &result), 0);
	assert_int_equal(result.samples, FOLDER_GOOD);
	assert_int_equal(result.skipped, COUNT_OF(folder_rows) - FOLDER_GOOD);
	assert_int_equal(result.others, 1);
	for (size_t i = 0; i < COUNT_OF(folder_rows); i++)
		if (folder_rows[i].says && !strstr(text_get(&skipped), folder_rows[i].says))
			fail_msg("no \"%s\" in:\n%s", folder_rows[i].says, text_get(&skipped));
	folder_sample("set.rec", 1, WIDTH, HEIGHT, &mask);
	assert_memory_equal(mask.data, numbers(5), PIXELS);
	/* Smaller: pixels in the middle. */
	assert_int_equal(folder_convert("small.rec", "masks", 5, 7, &skipped, &result), 0);
	folder_sample("small.rec", 0, 7, 4, &mask);
	for (size_t i = 0; i < 28; i++)
		assert_int_equal(mask.data[i], numbers(5)[(2 * (i / 7) + 1) * HEIGHT / 8 * WIDTH +
							  (2 * (i % 7) + 1) * WIDTH / 14]);
	mask_done(&mask);
	/* The set is of these masks and this number of classes. */
	assert_int_equal(folder_convert("set.rec", "masks", 5, 0, &skipped, &result), -EALREADY);
	assert_int_equal(folder_convert("set.rec", "masks", 6, 0, &skipped, &result), E_CONFLICT);
	assert_int_equal(folder_convert("set.rec", "nowhere", 5, 0, &skipped, &result), -ENOENT);
	assert_int_equal(unlink(in_folder("masks/b/7.png")), 0);
	assert_int_equal(folder_convert("set.rec", "masks", 5, 0, &skipped, &result), E_CONFLICT);
}

/* The pictures are those of a set with labels; ink is in the digit's class. */
static void test_digits(void **state)
{
	uint8_t plain[DIGITS_SIDE * DIGITS_SIDE];
	uint8_t pixels[DIGITS_SIDE * DIGITS_SIDE];
	uint8_t mask[DIGITS_SIDE * DIGITS_SIDE];

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		unsigned ink = 0;
		int label = digits_draw(1, i, plain, NULL);

		assert_int_equal(digits_draw(1, i, pixels, mask), label);
		assert_memory_equal(pixels, plain, sizeof(plain));
		for (size_t k = 0; k < sizeof(mask); k++) {
			assert_true(mask[k] == 0 || mask[k] == label + 1);
			ink += mask[k] > 0;
		}
		assert_in_range(ink, 20, 400);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_png_read),    cmocka_unit_test(test_png_refused),
		cmocka_unit_test(test_png_damaged), cmocka_unit_test(test_check_and_shrink),
		cmocka_unit_test(test_convert),     cmocka_unit_test(test_digits),
	};

	return cmocka_run_group_tests_name("trainer_mask", tests, folder_begin, folder_end);
}
