// links: trainer_loader common_base
/* Augmentation: its text, what is drawn, and the pixels beside a plain reference in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/loader/augment_cpu.h"

static struct augment parsed(const char *text)
{
	struct augment augment;
	struct problem problem = {0};

	assert_int_equal(augment_parse(text, &augment, &problem), 0);
	return augment;
}

static void texts_come_back(void **state)
{
	static const char *const texts[] = {
		"random_crop",
		"centre_crop width=28 height=28 share=1; pack type=uint8 channels=1",
		(" random_crop width=160 height=128 area_least=0.25; flip chance=0.25 ;colour "
		 "brightness=0.4 contrast=0.4 saturation=0.1; normalise mean_red=0.5; pack type=fp16;"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct augment first = parsed(texts[i]);
		struct augment second;
		struct text text = {0};

		augment_print(&first, &text);
		second = parsed(text_get(&text));
		second.used[AUGMENT_PACK] = first.used[AUGMENT_PACK];
		assert_memory_equal(&first.used, &second.used, sizeof(first.used));
		assert_memory_equal(&first.value, &second.value, sizeof(first.value));
		text_done(&text);
	}
}

static void wrong_texts_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "one of random_crop and centre_crop"},
		{"random_crop; centre_crop", "one of random_crop"},
		{"random_crop; random_crop", "twice"},
		{"rotate angle=5; random_crop", "no op 'rotate'"},
		{"random_crop size=5", "no parameter 'size'"},
		{"random_crop width=0", "width=0"},
		{"random_crop width=2.5", "width=2.5"},
		{"random_crop width=nan", "width=nan"},
		{"random_crop width", "width="},
		{"random_crop width=4097", "width=4097"},
		{"random_crop area_least=0.9 area_most=0.1", "above its most"},
		{"random_crop; pack channels=2", "channels is 1 or 3"},
		{"random_crop; pack type=int8", "type=int8"},
		{"random_crop; normalise; pack type=uint8", "uint8 cannot"},
		{"random_crop; flip chance=1.5", "chance=1.5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct augment augment;
		struct problem problem = {0};

		assert_int_equal(augment_parse(rows[i].text, &augment, &problem), E_INVALID);
		assert_non_null(strstr(problem.message, rows[i].message));
	}
}

/* What is drawn is within its limits, fills them, and is the same again. */
static void draws_fill_their_ranges(void **state)
{
	struct augment augment =
		parsed("random_crop area_least=0.25; flip; colour brightness=0.5 contrast=0.2");
	unsigned flips = 0;
	double least = 1;
	double most = 0;
	double aspect_least = 10;
	double aspect_most = 0;

	(void)state;
	for (uint64_t i = 0; i < 4000; i++) {
		struct augment_choice a;
		struct augment_choice b;
		struct augment_sample sample = {.seed = 3, .epoch = i % 7, .sample = i};
		double area;
		double aspect;

		augment_choose(&augment, &sample, 500, 375, &a);
		augment_choose(&augment, &sample, 500, 375, &b);
		assert_memory_equal(&a, &b, sizeof(a));
		assert_true(a.region.width >= 1 && a.region.x + a.region.width <= 500);
		assert_true(a.region.height >= 1 && a.region.y + a.region.height <= 375);
		area = (double)a.region.width * a.region.height / (500 * 375);
		aspect = (double)a.region.width / a.region.height;
		least = fmin(least, area);
		most = fmax(most, area);
		aspect_least = fmin(aspect_least, aspect);
		aspect_most = fmax(aspect_most, aspect);
		flips += a.flip;
	}
	assert_true(least > 0.245 && least < 0.27 && most > 0.95);
	assert_true(aspect_least > 0.74 && aspect_least < 0.77 && aspect_most < 1.35 &&
		    aspect_most > 1.3);
	assert_in_range(flips, 1850, 2150);
}

/* Any size of picture has a part, also one of a single pixel. */
static void small_pictures_have_parts(void **state)
{
	struct augment random = parsed("random_crop");
	struct augment centre = parsed("centre_crop share=0.5");

	(void)state;
	for (uint32_t width = 1; width < 40; width += 3) {
		for (uint32_t height = 1; height < 40; height += 5) {
			struct augment_sample sample = {.sample = width * 40 + height};
			struct augment_choice choice;

			augment_choose(&random, &sample, width, height, &choice);
			assert_in_range(choice.region.width, 1, width - choice.region.x);
			assert_in_range(choice.region.height, 1, height - choice.region.y);
			augment_choose(&centre, &sample, width, height, &choice);
			assert_in_range(choice.region.width, 1, width - choice.region.x);
			assert_in_range(choice.region.height, 1, height - choice.region.y);
		}
	}
}

static void fill_picture(struct picture *picture, uint32_t width, uint32_t height)
{
	unsigned random = width * 31 + height;

	assert_int_equal(picture_reserve(picture, width, height), 0);
	for (size_t i = 0; i < picture->stride * height; i++) {
		random = random * 1103515245U + 12345U;
		picture->data[i] = (uint8_t)(((random >> 16) & 127) + (i % 128));
	}
}

/* The definition in augment_table.h, as plainly as it can be written: channel `c` of one output
 * pixel, before rounding. */
static double triangle(double centre, double support, double at)
{
	return fmax(0, 1 - fabs(at + 0.5 - centre) / support);
}

static double plain_pixel(const struct picture *picture, double u, double v, double scale_x,
			  double scale_y, size_t c)
{
	double support_x = fmax(scale_x, 1);
	double support_y = fmax(scale_y, 1);
	double sum = 0;
	double weights = 0;

	for (uint32_t y = (uint32_t)picture->top; y < picture->top + picture->region_height; y++) {
		double wy = triangle(v, support_y, y);

		for (uint32_t x = (uint32_t)picture->left;
		     wy > 0 && x < picture->left + picture->region_width; x++) {
			double weight = wy * triangle(u, support_x, x);

			weights += weight;
			sum += weight * picture->data[y * picture->stride + 4 * (size_t)x + c];
		}
	}
	return sum / weights;
}

static void plain_rgb(const struct augment *augment, const struct augment_choice *choice,
		      const struct picture *picture, uint32_t x, uint32_t y, double ret[3])
{
	double scale_x = picture->region_width / augment_width(augment);
	double scale_y = picture->region_height / augment_height(augment);
	uint32_t from = choice->flip ? augment_width(augment) - 1 - x : x;
	double in[3];

	for (size_t c = 0; c < 3; c++)
		in[c] = plain_pixel(picture, picture->left + (from + 0.5) * scale_x,
				    picture->top + (y + 0.5) * scale_y, scale_x, scale_y, c);
	for (size_t c = 0; c < 3; c++) {
		double m[4];

		for (size_t i = 0; i < 4; i++)
			m[i] = (double)choice->colour[c][i];
		ret[c] = choice->coloured ? m[0] * in[0] + m[1] * in[1] + m[2] * in[2] + m[3]
					  : in[c];
		ret[c] = fmin(fmax(ret[c], 0), 255);
	}
}

static const struct {
	uint32_t width, height; /* of the picture */
	double left, top, region_width, region_height;
	const char *ops;
} cases[] = {
	{50, 40, 0, 0, 50, 40, "random_crop width=32 height=24"},
	{50, 40, 5, 7, 20, 30, "random_crop width=32 height=24; flip chance=1"},
	{200, 150, 3.5, 0.25, 190.5, 149.5, "random_crop width=16 height=21"},
	{9, 9, 4, 4, 1, 1, "random_crop width=8 height=8"},
	{64, 64, 0.5, 0.5, 0.25, 0.125, "random_crop width=3 height=5"},
	{31, 77, 1, 2, 29, 70,
	 "random_crop width=40 height=33; flip; colour brightness=0.4 contrast=0.4 saturation=0.4"},
	{28, 28, 0, 0, 28, 28, "centre_crop width=28 height=28 share=1; pack channels=1"},
	{300, 200, 10, 10, 280, 180, "random_crop width=1 height=1; colour saturation=1"},
};

static void pixels_match_the_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct augment augment = parsed(cases[i].ops);
		struct augment_sample sample = {.seed = i};
		struct augment_cpu *cpu;
		struct augment_choice choice;
		struct picture picture = {0};
		uint32_t width = augment_width(&augment);
		uint32_t channels = augment_channels(&augment);
		uint8_t *bytes = malloc(augment_elements(&augment));

		fill_picture(&picture, cases[i].width, cases[i].height);
		picture.left = cases[i].left;
		picture.top = cases[i].top;
		picture.region_width = cases[i].region_width;
		picture.region_height = cases[i].region_height;
		augment_choose(&augment, &sample, cases[i].width, cases[i].height, &choice);
		assert_int_equal(augment_cpu_new(&augment, &cpu), 0);
		assert_int_equal(augment_cpu_pixels(cpu, &choice, &picture, bytes), 0);
		for (uint32_t y = 0; y < augment_height(&augment); y++) {
			for (uint32_t x = 0; x < width; x++) {
				double want[3];
				const uint8_t *got = bytes + ((size_t)y * width + x) * channels;

				plain_rgb(&augment, &choice, &picture, x, y, want);
				if (channels == 1)
					want[0] =
						0.299 * want[0] + 0.587 * want[1] + 0.114 * want[2];
				for (size_t c = 0; c < channels; c++)
					assert_true(fabs(want[c] - got[c]) <= 1);
			}
		}
		augment_cpu_free(cpu);
		picture_done(&picture);
		free(bytes);
	}
}

static double half_value(uint16_t bits)
{
	int exponent = (bits >> 10) & 31;
	int step = bits & 1023;
	double value = exponent == 0 ? ldexp(step, -24) : ldexp(1024 + step, exponent - 25);

	return bits & 0x8000 ? -value : value;
}

static double element_value(const void *data, enum augment_type type, size_t at)
{
	const uint16_t *words = data;

	if (type == AUGMENT_UINT8)
		return ((const uint8_t *)data)[at];
	if (type == AUGMENT_FP32)
		return (double)((const float *)data)[at];
	if (type == AUGMENT_BF16) {
		uint32_t bits = (uint32_t)words[at] << 16;
		float value;

		memcpy(&value, &bits, sizeof(value));
		return (double)value;
	}
	return half_value(words[at]);
}

/* Both sides of the transfer index give the same bits; and these are the nearest of the type. */
static void numbers_are_exact_on_either_side(void **state)
{
	static const struct {
		const char *ops;
		double step; /* half of the last place, relative */
	} types[] = {
		{"random_crop width=30 height=20; pack type=uint8", 0},
		{"random_crop width=30 height=20; flip; normalise; pack type=fp32", 0x1p-24},
		{"random_crop width=30 height=20; flip; normalise; pack type=bf16", 0x1p-8},
		{"random_crop width=30 height=20; normalise deviation_red=500; pack type=fp16",
		 0x1p-11},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct augment augment = parsed(types[i].ops);
		size_t count = augment_elements(&augment);
		size_t size = augment_type_size(augment_type(&augment));
		struct augment_cpu *cpu;
		struct augment_choice choice;
		struct picture picture = {0};
		uint8_t *bytes = malloc(count);
		uint8_t *all = malloc(count * size);
		uint8_t *later = malloc(count * size);

		fill_picture(&picture, 60, 50);
		augment_choose(&augment, &(struct augment_sample){.seed = i}, 60, 50, &choice);
		assert_int_equal(augment_cpu_new(&augment, &cpu), 0);
		assert_int_equal(augment_cpu_pixels(cpu, &choice, &picture, bytes), 0);
		augment_cpu_numbers(cpu, bytes, later);
		assert_int_equal(augment_cpu_all(cpu, &choice, &picture, all), 0);
		assert_memory_equal(all, later, count * size);
		for (size_t at = 0; at < count; at++) {
			const double *value = augment.value[AUGMENT_NORMALISE];
			double want = bytes[at];
			double got = element_value(all, augment_type(&augment), at);

			if (augment.used[AUGMENT_NORMALISE])
				want = (want / 255 - value[at % 3]) / value[3 + at % 3];
			assert_true(fabs(got - want) <=
				    fmax(fabs(want) * types[i].step * 1.001, 0x1p-25));
		}
		augment_cpu_free(cpu);
		picture_done(&picture);
		free(bytes);
		free(all);
		free(later);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_back),
		cmocka_unit_test(wrong_texts_are_refused),
		cmocka_unit_test(draws_fill_their_ranges),
		cmocka_unit_test(small_pictures_have_parts),
		cmocka_unit_test(pixels_match_the_reference),
		cmocka_unit_test(numbers_are_exact_on_either_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
