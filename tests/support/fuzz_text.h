/* For fuzz targets of code that reads strings. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NUL-terminated, in a buffer of exactly its size so that every byte read past it is seen; free it.
 */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
