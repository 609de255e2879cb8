/* Enum <-> word, from one table of rows: static const char *const words[] = {[NODE_FREE] = "free",
 * ...}; */
#pragma once

#include <stddef.h>

/* The word of `value`; "?" when the table has none. */
const char *enum_text(const char *const words[], size_t count, int value);
/* The value whose word is `text`; -1 when none. */
int enum_value(const char *const words[], size_t count, const char *text);
