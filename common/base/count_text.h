/* A count with its noun, as people write it: "1 rack", "2 racks", "3 leaf switches". */
#pragma once

#include <stdint.h>

#define COUNT_TEXT_SIZE 80

/* Fills and returns `ret`. `noun` is one of them: its plural has "s", behind a hissing end "es", and
 * "ies" in the place of a "y" behind a consonant. */
const char *count_text(char ret[COUNT_TEXT_SIZE], int64_t count, const char *noun);
