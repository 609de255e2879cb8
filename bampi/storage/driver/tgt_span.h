/* Pieces of a text that tgtd wrote, without copies: the text has foreign words in it and may be
 * megabytes long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const char *at;
	size_t size;
};

/* Takes the next line off, without its newline; false: there is none. */
bool span_line(struct span *rest, struct span *ret);
/* Takes the next word between blanks off; false: there is none. */
bool span_word(struct span *rest, struct span *ret);
bool span_is(const struct span *span, const char *text);
/* What stands behind `text` at the front of the span; false: it does not begin so. */
bool span_behind(const struct span *span, const char *text, struct span *ret);
/* With a NUL; false: it does not fit, or holds a NUL. */
bool span_copy(const struct span *span, char *ret, size_t room);
/* A number as printf writes it, and nothing behind it. */
bool span_number(const struct span *span, uint64_t most, uint64_t *ret);
