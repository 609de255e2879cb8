#include "trainer_image/loader/augment_number.h"

#include "common/base/half.h"

static void augment_number_put(void *table, size_t at, enum augment_type type, double value)
{
	float real = (float)value;

	switch (type) {
	case AUGMENT_UINT8: ((uint8_t *)table)[at] = (uint8_t)value; break;
	case AUGMENT_FP32: ((float *)table)[at] = real; break;
	case AUGMENT_BF16: half_to_bf16(&real, (uint16_t *)table + at, 1); break;
	case AUGMENT_FP16: half_to_fp16(&real, (uint16_t *)table + at, 1); break;
	case AUGMENT_TYPES: break;
	}
}

void augment_number_table(const struct augment *augment, void *ret)
{
	const double *value = augment->value[AUGMENT_NORMALISE];
	bool normalise = augment->used[AUGMENT_NORMALISE];

	for (size_t c = 0; c < 3; c++) {
		for (size_t byte = 0; byte < AUGMENT_BYTES; byte++) {
			double number = (double)byte;

			if (normalise)
				number = (number / 255 - value[AUGMENT_MEAN + c]) /
					 value[AUGMENT_DEVIATION + c];
			augment_number_put(ret, c * AUGMENT_BYTES + byte, augment_type(augment),
					   number);
		}
	}
}
