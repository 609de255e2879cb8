/* A growing string. Zero bytes are a valid empty text. After a failed allocation the text stays as
 * it was and `failed` is set: a builder writes straight down and checks once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"

struct text {
	char *data; /* NUL-terminated once anything was added, else NULL */
	size_t size;
	size_t room;
	bool failed;
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t size);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
/* Adds a field of a CSV record (RFC 4180): quoted when it holds a comma, a quote or a line end. */
void text_add_csv(struct text *text, const char *field);
/* Adds a path segment or query value of a URI: all but letters, digits and "-._~" percent-encoded (RFC 3986). */
void text_add_percent(struct text *text, const char *word);
/* Empties, keeps the memory. */
void text_clear(struct text *text);
void text_done(struct text *text);
/* The string so far, never NULL. Borrowed until the next change. */
const char *text_get(const struct text *text);
/* Moves the string out (caller frees); NULL after a failed allocation. */
char *text_take(struct text *text);

/* Copies with truncation, always terminates. Returns false when it did not fit. */
bool text_copy(char *ret, size_t room, const char *string);
/* Blanks for what could start a line of its own or drive the reader's terminal: the control
 * characters of ASCII, DEL and, as UTF-8 has them, U+0080 to U+009F ("CSI" is one of those). */
void text_blank_controls(char *bytes, size_t size);
/* NULL for an empty string. */
static inline const char *text_or_null(const char *string)
{
	return string[0] != '\0' ? string : NULL;
}
/* snprintf into a fixed array; returns false when it did not fit. */
bool text_format(char *ret, size_t room, const char *format, ...) PRINTF_LIKE(3, 4);
