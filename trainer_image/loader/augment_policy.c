#include "trainer_image/loader/augment_policy.h"

#include <math.h>

static uint64_t augment_mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ULL;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

double augment_random(uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t draw)
{
	uint64_t value = augment_mix(seed);

	value = augment_mix(value ^ epoch);
	value = augment_mix(value ^ sample);
	value = augment_mix(value ^ draw);
	return (double)(value >> 11) * 0x1p-53;
}

static double augment_even(const struct augment_sample *sample, uint32_t draw, double least,
			   double most)
{
	return least +
	       (most - least) * augment_random(sample->seed, sample->epoch, sample->sample, draw);
}

/* The largest part in the middle whose width is `aspect` times its height, its sides times `share`.
 */
static struct picture_region augment_middle(double aspect, double share, uint32_t width,
					    uint32_t height)
{
	double wide = (double)width;
	double high = (double)height;
	struct picture_region region;

	if (wide > high * aspect)
		wide = high * aspect;
	else
		high = wide / aspect;
	region.width = (uint32_t)lround(wide * share);
	region.height = (uint32_t)lround(high * share);
	region.width = region.width < 1 ? 1 : region.width > width ? width : region.width;
	region.height = region.height < 1 ? 1 : region.height > height ? height : region.height;
	region.x = (width - region.width) / 2;
	region.y = (height - region.height) / 2;
	return region;
}

static struct picture_region augment_random_part(const double *value,
						 const struct augment_sample *sample,
						 uint32_t width, uint32_t height)
{
	double low = log(value[AUGMENT_ASPECT_LEAST]);
	double high = log(value[AUGMENT_ASPECT_MOST]);
	double aspect = (double)width / height;

	for (uint32_t turn = 0; turn < 10; turn++) {
		uint32_t draw = AUGMENT_DRAW_CROP + 4 * turn;
		double area = augment_even(sample, draw, value[AUGMENT_AREA_LEAST],
					   value[AUGMENT_AREA_MOST]) *
			      width * height;
		double shape = exp(augment_even(sample, draw + 1, low, high));
		long wide = lround(sqrt(area * shape));
		long tall = lround(sqrt(area / shape));
		struct picture_region region;

		if (wide < 1 || tall < 1 || wide > (long)width || tall > (long)height)
			continue;
		region.width = (uint32_t)wide;
		region.height = (uint32_t)tall;
		region.x = (uint32_t)augment_even(sample, draw + 2, 0, width - region.width + 1.0);
		region.y =
			(uint32_t)augment_even(sample, draw + 3, 0, height - region.height + 1.0);
		return region;
	}
	aspect = fmin(fmax(aspect, value[AUGMENT_ASPECT_LEAST]), value[AUGMENT_ASPECT_MOST]);
	return augment_middle(aspect, 1, width, height);
}

static double augment_factor(const struct augment_sample *sample, uint32_t draw, double strength)
{
	return augment_even(sample, draw, 1 - strength, 1 + strength);
}

/* saturation (contrast (brightness RGB)), as one matrix. */
static void augment_mix_colour(const double *value, const struct augment_sample *sample,
			       float ret[3][4])
{
	static const double grey[3] = {0.299, 0.587, 0.114};
	double b = augment_factor(sample, AUGMENT_DRAW_BRIGHTNESS, value[AUGMENT_BRIGHTNESS]);
	double c = augment_factor(sample, AUGMENT_DRAW_CONTRAST, value[AUGMENT_CONTRAST]);
	double s = augment_factor(sample, AUGMENT_DRAW_SATURATION, value[AUGMENT_SATURATION]);

	for (size_t to = 0; to < 3; to++) {
		for (size_t from = 0; from < 3; from++)
			ret[to][from] =
				(float)(b * c * ((1 - s) * grey[from] + (to == from ? s : 0)));
		ret[to][3] = (float)(128 * (1 - c));
	}
}

void augment_choose(const struct augment *augment, const struct augment_sample *sample,
		    uint32_t width, uint32_t height, struct augment_choice *ret)
{
	struct augment_choice choice = {0};

	if (augment->used[AUGMENT_RANDOM_CROP])
		choice.region = augment_random_part(augment->value[AUGMENT_RANDOM_CROP], sample,
						    width, height);
	else
		choice.region = augment_middle(
			(double)augment_width(augment) / augment_height(augment),
			augment->value[AUGMENT_CENTRE_CROP][AUGMENT_SHARE], width, height);
	if (augment->used[AUGMENT_FLIP])
		choice.flip = augment_even(sample, AUGMENT_DRAW_FLIP, 0, 1) <
			      augment->value[AUGMENT_FLIP][AUGMENT_CHANCE];
	if (augment->used[AUGMENT_COLOUR]) {
		choice.coloured = true;
		augment_mix_colour(augment->value[AUGMENT_COLOUR], sample, choice.colour);
	}
	*ret = choice;
}
