// links: trainer_loader
/* Ops that parse have values within the ranges of their table; printed, they parse to the same. A part
 * chosen for any picture lies in it. What is refused has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/problem.h"

#include "tests/support/fuzz_text.h"
#include "trainer_image/loader/augment_policy.h"
#include "trainer_image/loader/augment_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const struct augment *augment)
{
	for (size_t kind = 0; kind < AUGMENT_KINDS; kind++) {
		const struct augment_parameter *parameter = augment_table[kind].parameters;

		for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX && parameter[i].name; i++) {
			double value = augment->value[kind][i];

			if (!(value >= parameter[i].least && value <= parameter[i].most))
				abort();
		}
	}
}

static void check_again(const struct augment *augment)
{
	struct augment again;
	struct problem problem = {0};
	struct text text = {0};

	augment_print(augment, &text);
	if (augment_parse(text_get(&text), &again, &problem) != 0)
		abort();
	for (size_t kind = 0; kind < AUGMENT_KINDS; kind++) {
		for (size_t i = 0; i < AUGMENT_PARAMETERS_MAX; i++) {
			if (augment->value[kind][i] != again.value[kind][i])
				abort();
		}
	}
	text_done(&text);
}

static void check_choice(const struct augment *augment, uint32_t width, uint32_t height)
{
	struct augment_choice choice;
	const struct picture_region *region = &choice.region;

	augment_choose(augment, &(struct augment_sample){.sample = width}, width, height, &choice);
	if (region->width < 1 || region->height < 1 || region->width > width - region->x ||
	    region->height > height - region->y || region->x >= width || region->y >= height)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct augment augment;
	struct problem problem = {0};
	int rc = augment_parse(text, &augment, &problem);

	if (rc != 0 && (problem.code != rc || problem.message[0] == '\0'))
		abort();
	if (rc == 0) {
		check_values(&augment);
		check_again(&augment);
		check_choice(&augment, 1, 1);
		check_choice(&augment, 500, 375);
		check_choice(&augment, 3, 65000);
	}
	free(text);
	return 0;
}
