/* Builds a PostgreSQL array literal of any element type: {"a","b",NULL}. For multi-row statements
 * by unnest. */
#pragma once

#include <stdint.h>

#include "common/base/text.h"

/* array_begin(&t); array_add(&t, "x"); array_add_int(&t, 3); array_end(&t);  then pass
 * text_get(&t). */
void array_begin(struct text *text);
void array_add(struct text *text, const char *value); /* NULL -> NULL */
void array_add_int(struct text *text, int64_t value);
void array_end(struct text *text);
