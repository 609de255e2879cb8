/* PostgreSQL 15 manual, 8.15.2 and 8.15.6: every element quoted, so that no element is mistaken for
 * NULL or for syntax. */
#include "common/db/array.h"

#include <inttypes.h>
#include <string.h>

static void array_separate(struct text *text)
{
	if (text->size > 0 && text->data[text->size - 1] != '{')
		text_add(text, ",");
}

void array_begin(struct text *text)
{
	text_add(text, "{");
}

void array_add(struct text *text, const char *value)
{
	array_separate(text);
	if (!value) {
		text_add(text, "NULL");
		return;
	}
	text_add(text, "\"");
	while (*value) {
		size_t plain = strcspn(value, "\"\\");

		text_add_bytes(text, value, plain);
		value += plain;
		if (*value) {
			const char escaped[2] = {'\\', *value++};

			text_add_bytes(text, escaped, sizeof(escaped));
		}
	}
	text_add(text, "\"");
}

void array_add_int(struct text *text, int64_t value)
{
	array_separate(text);
	text_addf(text, "%" PRId64, value);
}

void array_end(struct text *text)
{
	text_add(text, "}");
}
