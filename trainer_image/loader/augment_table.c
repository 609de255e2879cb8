#include "trainer_image/loader/augment_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static const char *const augment_type_words[] = {"uint8", "fp32", "bf16", "fp16", NULL};

#define AUGMENT_SIZES                                                                         \
	{.name = "width", .least = 1, .most = AUGMENT_SIZE_MAX, .usual = 224, .whole = true}, \
	{                                                                                     \
		.name = "height", .least = 1, .most = AUGMENT_SIZE_MAX, .usual = 224,         \
		.whole = true                                                                 \
	}

const struct augment_row augment_table[AUGMENT_KINDS] = {
	[AUGMENT_RANDOM_CROP] =
		{.name = "random_crop",
		 .stage = AUGMENT_PIXELS,
		 .parameters =
			 {AUGMENT_SIZES,
			  {.name = "area_least", .least = 0.0001, .most = 1, .usual = 0.08},
			  {.name = "area_most", .least = 0.0001, .most = 1, .usual = 1},
			  {.name = "aspect_least", .least = 0.1, .most = 10, .usual = 0.75},
			  {.name = "aspect_most", .least = 0.1, .most = 10, .usual = 4.0 / 3}}},
	[AUGMENT_CENTRE_CROP] =
		{.name = "centre_crop",
		 .stage = AUGMENT_PIXELS,
		 .parameters = {AUGMENT_SIZES,
				{.name = "share", .least = 0.01, .most = 1, .usual = 0.875}}},
	[AUGMENT_FLIP] = {.name = "flip",
			  .stage = AUGMENT_PIXELS,
			  .parameters = {{.name = "chance", .least = 0, .most = 1, .usual = 0.5}}},
	[AUGMENT_COLOUR] = {.name = "colour",
			    .stage = AUGMENT_PIXELS,
			    .parameters = {{.name = "brightness", .least = 0, .most = 1},
					   {.name = "contrast", .least = 0, .most = 1},
					   {.name = "saturation", .least = 0, .most = 1}}},
	[AUGMENT_NORMALISE] =
		{.name = "normalise",
		 .stage = AUGMENT_NUMBERS,
		 .parameters =
			 {{.name = "mean_red", .least = -10, .most = 10, .usual = 0.485},
			  {.name = "mean_green", .least = -10, .most = 10, .usual = 0.456},
			  {.name = "mean_blue", .least = -10, .most = 10, .usual = 0.406},
			  {.name = "deviation_red", .least = 0.001, .most = 1000, .usual = 0.229},
			  {.name = "deviation_green", .least = 0.001, .most = 1000, .usual = 0.224},
			  {.name = "deviation_blue",
			   .least = 0.001,
			   .most = 1000,
			   .usual = 0.225}}},
	[AUGMENT_PACK] = {.name = "pack",
			  .stage = AUGMENT_NUMBERS,
			  .parameters = {{.name = "type",
					  .least = 0,
					  .most = AUGMENT_TYPES - 1,
					  .usual = AUGMENT_FP32,
					  .whole = true,
					  .words = augment_type_words},
					 {.name = "channels",
					  .least = 1,
					  .most = 3,
					  .usual = 3,
					  .whole = true}}},
};

/* One word of the text: a name, or name=value. */
struct augment_word {
	char name[32];
	char value[32];
	bool has_value;
};

/* Takes the next word off *at; false at ';' or the end. A word too long for any name keeps its first
 * bytes, which are no name. */
static bool augment_word(const char **at, struct augment_word *ret)
{
	char text[sizeof(ret->name)];
	size_t size = 0;
	char *equals;

	while (isspace((unsigned char)**at))
		(*at)++;
	if (**at == '\0' || **at == ';')
		return false;
	for (; **at != '\0' && **at != ';' && !isspace((unsigned char)**at); (*at)++) {
		if (size + 1 < sizeof(text))
			text[size++] = **at;
	}
	text[size] = '\0';
	*ret = (struct augment_word){0};
	equals = strchr(text, '=');
	if (equals) {
		*equals = '\0';
		ret->has_value = true;
		(void)text_copy(ret->value, sizeof(ret->value), equals + 1);
	}
	(void)text_copy(ret->name, sizeof(ret->name), text);
	text_blank_controls(ret->name, strlen(ret->name));
	text_blank_controls(ret->value, strlen(ret->value));
	return true;
}

static int augment_number(const struct augment_parameter *parameter, const char *text, double *ret)
{
	char *end;
	double value;

	for (size_t i = 0; parameter->words && parameter->words[i]; i++) {
		if (strcmp(parameter->words[i], text) == 0) {
			*ret = (double)i;
			return 0;
		}
	}
	if (parameter->words)
		return E_INVALID;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || !(value >= parameter->least) ||
	    !(value <= parameter->most) || (parameter->whole && value != floor(value)))
		return E_INVALID;
	*ret = value;
	return 0;
}

static int augment_set(struct augment *augment, enum augment_kind kind,
		       const struct augment_word *word, struct problem *problem)
{
	const struct augment_row *row = &augment_table[kind];

	for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX && row->parameters[i].name; i++) {
		const struct augment_parameter *parameter = &row->parameters[i];

		if (strcmp(parameter->name, word->name) != 0)
			continue;
		if (word->has_value &&
		    augment_number(parameter, word->value, &augment->value[kind][i]) == 0)
			return 0;
		(void)problem_set(problem, E_INVALID, "%s: %s=%s is not possible", row->name,
				  word->name, word->value);
		if (parameter->words)
			problem_hint(problem, "%s is uint8, fp32, bf16 or fp16", parameter->name);
		else
			problem_hint(problem, "%s is %s from %g to %g", parameter->name,
				     parameter->whole ? "an integer" : "a number", parameter->least,
				     parameter->most);
		return E_INVALID;
	}
	(void)problem_set(problem, E_INVALID, "%s has no parameter '%s'", row->name, word->name);
	{
		struct text names = {0};

		for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX && row->parameters[i].name; i++)
			text_addf(&names, "%s%s", i > 0 ? ", " : "", row->parameters[i].name);
		problem_hint(problem, "its parameters: %s", text_get(&names));
		text_done(&names);
	}
	return E_INVALID;
}

static int augment_begin(struct augment *augment, const struct augment_word *word,
			 enum augment_kind *ret, struct problem *problem)
{
	for (enum augment_kind kind = 0; kind < AUGMENT_KINDS; kind++) {
		if (strcmp(augment_table[kind].name, word->name) != 0 || word->has_value)
			continue;
		if (augment->used[kind])
			return problem_set(problem, E_INVALID, "%s is there twice", word->name);
		augment->used[kind] = true;
		*ret = kind;
		return 0;
	}
	(void)problem_set(problem, E_INVALID, "there is no op '%s'", word->name);
	problem_hint(
		problem,
		"ops: random_crop, centre_crop, flip, colour, normalise, pack; ';' between them");
	return E_INVALID;
}

static int augment_check(const struct augment *augment, struct problem *problem)
{
	const double *crop = augment->value[AUGMENT_RANDOM_CROP];

	if (augment->used[AUGMENT_RANDOM_CROP] == augment->used[AUGMENT_CENTRE_CROP])
		return problem_set(
			problem, E_INVALID,
			"one of random_crop and centre_crop says the size of the output");
	if (crop[AUGMENT_AREA_LEAST] > crop[AUGMENT_AREA_MOST] ||
	    crop[AUGMENT_ASPECT_LEAST] > crop[AUGMENT_ASPECT_MOST])
		return problem_set(problem, E_INVALID, "random_crop: a least is above its most");
	if (augment->value[AUGMENT_PACK][AUGMENT_CHANNELS] == 2.0)
		return problem_set(problem, E_INVALID, "pack: channels is 1 or 3");
	if (augment->used[AUGMENT_NORMALISE] && augment_type(augment) == AUGMENT_UINT8)
		return problem_set(problem, E_INVALID, "normalise: uint8 cannot hold its results");
	return 0;
}

int augment_parse(const char *text, struct augment *ret, struct problem *problem)
{
	struct augment augment = {0};
	struct augment_word word;
	const char *at = text;
	int rc;

	if (strnlen(text, AUGMENT_TEXT_MAX + 1) > AUGMENT_TEXT_MAX)
		return problem_set(problem, E_LIMIT, "more than %d bytes of ops", AUGMENT_TEXT_MAX);
	for (size_t kind = 0; kind < AUGMENT_KINDS; kind++) {
		for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX; i++)
			augment.value[kind][i] = augment_table[kind].parameters[i].usual;
	}
	for (; *at != '\0'; at += *at == ';') {
		enum augment_kind kind = AUGMENT_KINDS;

		if (!augment_word(&at, &word))
			continue;
		rc = augment_begin(&augment, &word, &kind, problem);
		while (rc == 0 && augment_word(&at, &word))
			rc = augment_set(&augment, kind, &word, problem);
		if (rc != 0)
			return rc;
	}
	rc = augment_check(&augment, problem);
	if (rc == 0)
		*ret = augment;
	return rc;
}

void augment_print(const struct augment *augment, struct text *text)
{
	const char *between = "";

	for (size_t kind = 0; kind < AUGMENT_KINDS; kind++) {
		const struct augment_parameter *parameter = augment_table[kind].parameters;

		/* The type is said also where nobody said it. */
		if (!augment->used[kind] && kind != AUGMENT_PACK)
			continue;
		text_addf(text, "%s%s", between, augment_table[kind].name);
		for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX && parameter[i].name; i++) {
			double value = augment->value[kind][i];

			if (parameter[i].words)
				text_addf(text, " %s=%s", parameter[i].name,
					  parameter[i].words[(size_t)value]);
			else
				text_addf(text, " %s=%.17g", parameter[i].name, value);
		}
		between = "; ";
	}
}

static const double *augment_crop(const struct augment *augment)
{
	return augment->value[augment->used[AUGMENT_RANDOM_CROP] ? AUGMENT_RANDOM_CROP
								 : AUGMENT_CENTRE_CROP];
}

uint32_t augment_width(const struct augment *augment)
{
	return (uint32_t)augment_crop(augment)[AUGMENT_WIDTH];
}

uint32_t augment_height(const struct augment *augment)
{
	return (uint32_t)augment_crop(augment)[AUGMENT_HEIGHT];
}

uint32_t augment_channels(const struct augment *augment)
{
	return (uint32_t)augment->value[AUGMENT_PACK][AUGMENT_CHANNELS];
}

enum augment_type augment_type(const struct augment *augment)
{
	static const enum augment_type types[] = {AUGMENT_UINT8, AUGMENT_FP32, AUGMENT_BF16,
						  AUGMENT_FP16};

	return types[(size_t)augment->value[AUGMENT_PACK][AUGMENT_TYPE]];
}

size_t augment_type_size(enum augment_type type)
{
	static const size_t sizes[AUGMENT_TYPES] = {1, 4, 2, 2};

	return sizes[type];
}

size_t augment_elements(const struct augment *augment)
{
	return (size_t)augment_width(augment) * augment_height(augment) * augment_channels(augment);
}
