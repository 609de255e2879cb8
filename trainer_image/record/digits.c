#include "trainer_image/record/digits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/transfer.h"

#include "trainer_image/record/jpeg_shrink.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/record/record.h"

enum { DIGITS_POINTS = 20, DIGITS_VERSION = 1, DIGITS_UNIT = 256, DIGITS_INK = 128 };

/* Ends a stroke: the pen is lifted. */
#define PEN_UP         \
	{              \
		-1, -1 \
	}

/* Two hands. x right, y down, in hundredths of the height of a digit. A line of {0, 0} ends it. */
static const struct {
	int8_t point[DIGITS_POINTS][2];
} digits_strokes[10][2] = {
	{{{{50, 5}, {25, 15}, {15, 50}, {25, 85}, {50, 95}, {75, 85}, {85, 50}, {75, 15}, {50, 5}}},
	 {{{60, 8}, {35, 5}, {20, 30}, {18, 65}, {35, 93}, {62, 92}, {80, 65}, {80, 30}, {60, 8}}}},
	{{{{50, 5}, {50, 95}}}, {{{30, 25}, {52, 5}, {52, 95}, PEN_UP, {30, 95}, {74, 95}}}},
	{{{{18, 25}, {35, 6}, {65, 6}, {80, 25}, {72, 48}, {18, 94}, {84, 94}}},
	 {{{20, 18},
	   {50, 5},
	   {78, 22},
	   {70, 50},
	   {30, 82},
	   {16, 92},
	   {30, 84},
	   {55, 95},
	   {84, 86}}}},
	{{{{18, 12},
	   {50, 5},
	   {76, 18},
	   {72, 40},
	   {42, 48},
	   {76, 58},
	   {82, 80},
	   {52, 96},
	   {16, 86}}},
	 {{{18, 6}, {80, 6}, {45, 42}, {74, 52}, {82, 74}, {66, 93}, {38, 96}, {16, 84}}}},
	{{{{70, 95}, {70, 5}, {14, 66}, {90, 66}}},
	 {{{28, 5}, {20, 52}, {84, 50}, PEN_UP, {72, 22}, {66, 95}}}},
	{{{{80, 6}, {26, 6}, {20, 46}, {52, 38}, {80, 54}, {80, 80}, {52, 96}, {16, 86}}},
	 {{{82, 8}, {30, 8}, {26, 44}, {60, 44}, {82, 66}, {70, 90}, {40, 96}, {18, 88}}}},
	{{{{74, 10},
	   {46, 12},
	   {22, 42},
	   {18, 72},
	   {40, 95},
	   {70, 90},
	   {82, 68},
	   {66, 50},
	   {40, 52},
	   {20, 68}}},
	 {{{64, 5},
	   {34, 34},
	   {20, 68},
	   {34, 93},
	   {64, 94},
	   {78, 74},
	   {62, 56},
	   {36, 60},
	   {22, 74}}}},
	{{{{14, 6}, {84, 6}, {42, 95}}},
	 {{{16, 14}, {16, 7}, {82, 7}, {58, 48}, {44, 95}, PEN_UP, {34, 50}, {74, 48}}}},
	{{{{50, 48},
	   {24, 36},
	   {26, 14},
	   {50, 5},
	   {74, 14},
	   {76, 36},
	   {50, 48},
	   {20, 64},
	   {22, 86},
	   {50, 96},
	   {78, 86},
	   {80, 64},
	   {50, 48}}},
	 {{{76, 18},
	   {52, 5},
	   {26, 16},
	   {32, 40},
	   {68, 58},
	   {78, 80},
	   {52, 95},
	   {24, 82},
	   {32, 58},
	   {66, 40},
	   {76, 18}}}},
	{{{{78, 30},
	   {60, 48},
	   {32, 46},
	   {20, 28},
	   {34, 8},
	   {62, 6},
	   {78, 26},
	   {76, 60},
	   {60, 90},
	   {34, 95}}},
	 {{{76, 24}, {58, 5}, {30, 12}, {24, 36}, {46, 50}, {72, 38}, {76, 24}, {74, 95}}}},
};

/* Random numbers of one picture. */
struct digits_dice {
	uint64_t key, count;
};

static int digits_roll(struct digits_dice *dice, int from, int to)
{
	uint64_t number = shuffle_key(dice->key, dice->count++, 28);

	return from + (int)(number % (uint64_t)(to - from + 1));
}

/* What one picture's hand does to all of its points; 1/256 of a pixel, factors in 1/1024. */
struct digits_hand {
	int64_t xx, xy, yx, yy, x, y;
};

static struct digits_hand digits_hand(struct digits_dice *dice)
{
	/* tan of half of the angle, in 1/1024: a turn of up to 14 degrees either way, without sines. */
	int64_t turn = digits_roll(dice, -126, 126);
	int64_t whole = (int64_t)1024 * 1024 + turn * turn;
	int64_t cosine = ((int64_t)1024 * 1024 - turn * turn) * 1024 / whole;
	int64_t sine = 2 * turn * 1024 * 1024 / whole;
	int64_t wide = digits_roll(dice, 500, 800); /* thousandths of `size` */
	int64_t tall = digits_roll(dice, 750, 1000);
	int64_t slant = digits_roll(dice, -250, 250);
	int64_t size = (int64_t)20 * DIGITS_UNIT;

	return (struct digits_hand){
		.xx = cosine * wide / 1024 * size / 1000,
		.xy = (slant * tall / 1000 * cosine / 1024 - sine * tall / 1024) * size / 1000,
		.yx = sine * wide / 1024 * size / 1000,
		.yy = (cosine * tall / 1024 + slant * tall / 1000 * sine / 1024) * size / 1000,
		.x = (int64_t)14 * DIGITS_UNIT + digits_roll(dice, -400, 400),
		.y = (int64_t)14 * DIGITS_UNIT + digits_roll(dice, -400, 400),
	};
}

static void digits_point(const struct digits_hand *hand, const int8_t point[2],
			 struct digits_dice *dice, int64_t ret[2])
{
	int64_t x = point[0] - 50 + digits_roll(dice, -4, 4);
	int64_t y = point[1] - 50 + digits_roll(dice, -4, 4);

	ret[0] = hand->x + (hand->xx * x + hand->xy * y) / 100;
	ret[1] = hand->y + (hand->yx * x + hand->yy * y) / 100;
}

/* Ink of a line at a pixel: by the square of the distance, full within the pen's radius, none one pixel out. */
static int digits_ink(const int64_t from[2], const int64_t to[2], int64_t x, int64_t y,
		      int64_t radius)
{
	int64_t dx = to[0] - from[0];
	int64_t dy = to[1] - from[1];
	int64_t length = dx * dx + dy * dy;
	int64_t along = (x - from[0]) * dx + (y - from[1]) * dy;

	if (along < 0 || length == 0)
		along = 0;
	else if (along > length)
		along = length;
	int64_t px = length == 0 ? from[0] : from[0] + dx * along / length;
	int64_t py = length == 0 ? from[1] : from[1] + dy * along / length;
	int64_t distance = (x - px) * (x - px) + (y - py) * (y - py);
	int64_t inner = radius * radius;
	int64_t outer = (radius + DIGITS_UNIT) * (radius + DIGITS_UNIT);
	if (distance <= inner)
		return 255;
	return distance >= outer ? 0 : (int)(255 * (outer - distance) / (outer - inner));
}

static int digits_bound(int64_t value)
{
	return value < 0 ? 0 : value > DIGITS_SIDE - 1 ? DIGITS_SIDE - 1 : (int)value;
}

static void digits_line(const int64_t from[2], const int64_t to[2], int64_t radius,
			uint8_t ret[DIGITS_SIDE * DIGITS_SIDE])
{
	int64_t reach = radius + DIGITS_UNIT;
	int64_t low[2] = {from[0] < to[0] ? from[0] : to[0], from[1] < to[1] ? from[1] : to[1]};
	int64_t high[2] = {from[0] < to[0] ? to[0] : from[0], from[1] < to[1] ? to[1] : from[1]};

	for (int y = digits_bound((low[1] - reach) / DIGITS_UNIT);
	     y <= digits_bound((high[1] + reach) / DIGITS_UNIT); y++)
		for (int x = digits_bound((low[0] - reach) / DIGITS_UNIT);
		     x <= digits_bound((high[0] + reach) / DIGITS_UNIT); x++) {
			int ink = digits_ink(from, to, (int64_t)x * DIGITS_UNIT + DIGITS_UNIT / 2,
					     (int64_t)y * DIGITS_UNIT + DIGITS_UNIT / 2, radius);

			if (ink > ret[y * DIGITS_SIDE + x])
				ret[y * DIGITS_SIDE + x] = (uint8_t)ink;
		}
}

static void digits_noise(struct digits_dice *dice, uint8_t ret[DIGITS_SIDE * DIGITS_SIDE])
{
	int bright = digits_roll(dice, 150, 255);
	int grain = digits_roll(dice, 4, 40);
	uint64_t bits = 0;

	for (int i = 0; i < DIGITS_SIDE * DIGITS_SIDE; i++) {
		if (i % 4 == 0)
			bits = shuffle_key(dice->key, dice->count++, 29);
		int value = ret[i] * bright / 255 +
			    (int)((bits >> 16 * (i % 4) & 0xffffU) % (unsigned)(2 * grain + 1)) -
			    grain;

		ret[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
	}
}

int digits_draw(uint64_t seed, uint64_t index, uint8_t ret[DIGITS_SIDE * DIGITS_SIDE],
		uint8_t ret_mask[DIGITS_SIDE * DIGITS_SIDE])
{
	struct digits_dice dice = {.key = shuffle_key(seed, index, 27)};
	int label = digits_roll(&dice, 0, 9);
	int variant = digits_roll(&dice, 0, 1);
	struct digits_hand hand = digits_hand(&dice);
	int64_t radius = digits_roll(&dice, 120, 420);
	int64_t last[2] = {0};
	bool down = false;

	memset(ret, 0, (size_t)DIGITS_SIDE * DIGITS_SIDE);
	for (int i = 0; i < DIGITS_POINTS; i++) {
		const int8_t *point = digits_strokes[label][variant].point[i];
		int64_t next[2];

		if (point[0] == 0 && point[1] == 0)
			break;
		if (point[0] < 0) {
			down = false;
			continue;
		}
		digits_point(&hand, point, &dice, next);
		if (down)
			digits_line(last, next, radius, ret);
		memcpy(last, next, sizeof(last));
		down = true;
	}
	for (size_t i = 0; ret_mask && i < (size_t)DIGITS_SIDE * DIGITS_SIDE; i++)
		ret_mask[i] = ret[i] >= DIGITS_INK ? (uint8_t)(label + 1) : 0;
	digits_noise(&dice, ret);
	return label;
}

static void digits_freep(struct record_writer **writer)
{
	record_writer_free(*writer);
}

/* One digit with its label, or its mask as a PNG. */
static int digits_add(struct record_writer *writer, const struct digits_ask *ask, uint64_t index,
		      struct problem *problem)
{
	uint8_t pixels[DIGITS_SIDE * DIGITS_SIDE];
	uint8_t classes[DIGITS_SIDE * DIGITS_SIDE];
	const struct mask mask = {.data = classes, .width = DIGITS_SIDE, .height = DIGITS_SIDE};
	CLEANUP(freep) uint8_t *png = NULL;
	int label = digits_draw(ask->seed, index, pixels, classes);
	struct record_sample sample = {.label = ask->masks ? -1 : label,
				       .format = RECORD_PIXELS,
				       .height = DIGITS_SIDE,
				       .width = DIGITS_SIDE,
				       .channels = 1,
				       .data = pixels,
				       .size = sizeof(pixels)};
	struct record_value value = {0};
	int rc = ask->masks ? mask_write(&mask, &png, &value.size, problem) : 0;

	value.data = png;
	record_writer_mark(writer, index + 1);
	return rc == 0 ? record_writer_add(writer, &sample, &value, problem) : rc;
}

int digits_write(const char *path, const struct digits_ask *ask, struct problem *problem)
{
	/* Masks have a class for the ground, before those of the digits. */
	static char names[DIGITS_MASK_CLASSES][7] = {"ground", "0", "1", "2", "3", "4",
						     "5",      "6", "7", "8", "9"};
	CLEANUP(digits_freep) struct record_writer *writer = NULL;
	char *classes[DIGITS_MASK_CLASSES];

	for (size_t i = 0; i < COUNT_OF(classes); i++)
		classes[i] = names[i];
	struct record_header header = {
		.page_size = ask->page_size,
		.origin = shuffle_key(ask->seed, ask->count, DIGITS_VERSION),
		.field = {{MASK_FIELD, RECORD_BYTES}},
		.field_count = ask->masks ? 1 : 0,
		.class_name = ask->masks ? classes : classes + 1,
		.class_count = ask->masks ? DIGITS_MASK_CLASSES : DIGITS_MASK_CLASSES - 1,
	};
	int rc = record_writer_resume(path, &header, RECORD_SYNC_END, &writer, problem);
	if (rc < 0)
		return rc;
	for (uint64_t i = record_writer_marked(writer); i < ask->count; i++) {
		rc = digits_add(writer, ask, i, problem);
		if (rc < 0)
			return rc;
	}
	return record_writer_end(writer, problem);
}

/* --- a folder of pictures --- */

enum { DIGITS_QUALITY = 95, DIGITS_PATH = 4096 };

static int digits_file(const char *folder, uint64_t index, int label, const char *suffix,
		       const struct jpeg_shrink_made *made)
{
	char path[DIGITS_PATH];

	if (!text_format(path, sizeof(path), "%s/%d/%06" PRIu64 ".%s", folder, label, index,
			 suffix))
		return -ENAMETOOLONG;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int rc = fd < 0 ? -errno : write_whole(fd, made->data, made->size);

	if (fd >= 0 && close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int digits_files(const char *folder, const struct digits_ask *ask, uint64_t index)
{
	uint8_t pixels[DIGITS_SIDE * DIGITS_SIDE];
	uint8_t classes[DIGITS_SIDE * DIGITS_SIDE];
	const struct jpeg_pixels is = {pixels, DIGITS_SIDE, DIGITS_SIDE, 1};
	const struct mask mask = {.data = classes, .width = DIGITS_SIDE, .height = DIGITS_SIDE};
	struct problem problem = {0};
	struct jpeg_shrink_made made = {0};
	int label = digits_draw(ask->seed, index, pixels, classes);
	int rc = jpeg_encode(&is, DIGITS_QUALITY, &made, &problem);

	if (rc == 0)
		rc = digits_file(folder, index, label, "jpg", &made);
	free(made.data);
	if (rc != 0 || !ask->masks)
		return rc;
	rc = mask_write(&mask, &made.data, &made.size, &problem);
	if (rc != 0)
		return rc;
	rc = digits_file(folder, index, label, "png", &made);
	free(made.data);
	return rc;
}

int digits_folder(const char *folder, const struct digits_ask *ask, struct problem *problem)
{
	char path[DIGITS_PATH];
	int rc = 0;

	for (int label = 0; label < 10 && rc == 0; label++)
		rc = text_format(path, sizeof(path), "%s/%d", folder, label)
			     ? file_make_folder(path, 0777)
			     : -ENAMETOOLONG;
	for (uint64_t i = 0; i < ask->count && rc == 0; i++)
		rc = digits_files(folder, ask, i);
	return rc == 0 ? 0
		       : problem_set(problem, rc, "cannot draw digits to %s: %s", folder,
				     error_text(rc));
}
