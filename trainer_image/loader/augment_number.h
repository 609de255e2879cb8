/* `normalise` and `pack` as a table: what each byte becomes. Made by a processor, for every side. */
#pragma once

#include "trainer_image/loader/augment_table.h"

enum { AUGMENT_BYTES = 256 };

static inline size_t augment_number_size(const struct augment *augment)
{
	return 3 * (size_t)AUGMENT_BYTES * augment_type_size(augment_type(augment));
}

/* [3][256] elements of the output's type: red, green, blue. One channel reads the first row alone. */
void augment_number_table(const struct augment *augment, void *ret);
