/* RFC 8259. The writer keeps no state of its own: whether a comma is due is seen in the last byte
 * written. */
#include "common/base/json_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Size of the well-formed UTF-8 sequence at `at` (RFC 3629 4), 0 when there is none. The NUL at the
 * end stops every look ahead. */
static size_t utf8_size(const uint8_t *at)
{
	uint8_t low = 0x80;
	uint8_t high = 0xbf;
	size_t size;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		size = 2;
	else if ((at[0] & 0xf0) == 0xe0)
		size = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		size = 4;
	else
		return 0;
	if (at[0] == 0xe0) /* overlong */
		low = 0xa0;
	if (at[0] == 0xed) /* surrogates */
		high = 0x9f;
	if (at[0] == 0xf0) /* overlong */
		low = 0x90;
	if (at[0] == 0xf4) /* above U+10FFFF */
		high = 0x8f;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return size;
}

static void json_text_add_escaped(struct text *text, uint8_t c)
{
	static const char *const shorts[] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",  ['\f'] = "\\f",
		['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\",
	};

	if (c < COUNT_OF(shorts) && shorts[c])
		text_add(text, shorts[c]);
	else
		text_addf(text, "\\u%04x", c);
}

static void add_quoted(struct text *text, const char *value)
{
	const uint8_t *at = (const uint8_t *)value;

	text_add(text, "\"");
	while (*at) {
		const uint8_t *start = at;

		while (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
			at++;
		if (at > start) {
			text_add_bytes(text, start, (size_t)(at - start));
		} else if (*at < 0x80) {
			json_text_add_escaped(text, *at++);
		} else if (utf8_size(at) == 0) {
			text_add(text, REPLACEMENT);
			at++;
		} else {
			text_add_bytes(text, at, utf8_size(at));
			at += utf8_size(start);
		}
	}
	text_add(text, "\"");
}

/* The innermost bracket still open, 0 at the root. Reads all of the text: only asserts pay for it.
 */
static char open_bracket(const struct text *text)
{
	char stack[64];
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text->size; i++) {
		char c = text->data[i];

		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
		} else if (c == '"') {
			quoted = true;
		} else if ((c == '{' || c == '[') && depth < sizeof(stack)) {
			stack[depth++] = c;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return (char)(depth ? stack[depth - 1] : '\0');
}

#define CHECKED_SIZE 16384 /* beyond it the check would make debug builds quadratic */

/* Only asserts call these two, so a build without them must not object. */
__attribute__((unused)) static bool in_object(const struct text *text, bool expected)
{
	if (text->failed || text->size > CHECKED_SIZE)
		return expected;
	return open_bracket(text) == '{';
}

__attribute__((unused)) static bool in_array(const struct text *text)
{
	return text->failed || text->size > CHECKED_SIZE || open_bracket(text) == '[';
}

/* Separator and key in front of a value. */
static void begin_value(struct text *text, const char *key)
{
	char last = (char)(text->size ? text->data[text->size - 1] : '\0');

	assert(in_object(text, key != NULL) == (key != NULL));
	/* After an opening bracket, a prefix that ends in blank ("data: ") or a line of JSON lines
	 * no comma is due. */
	if (last && !strchr("{[:, \n", last))
		text_add(text, ",");
	if (key) {
		add_quoted(text, key);
		text_add(text, ":");
	}
}

void json_begin_object(struct text *text, const char *key)
{
	begin_value(text, key);
	text_add(text, "{");
}

void json_end_object(struct text *text)
{
	assert(in_object(text, true));
	text_add(text, "}");
}

void json_begin_array(struct text *text, const char *key)
{
	begin_value(text, key);
	text_add(text, "[");
}

void json_end_array(struct text *text)
{
	assert(in_array(text));
	text_add(text, "]");
}

void json_put_string(struct text *text, const char *key, const char *value)
{
	begin_value(text, key);
	if (value)
		add_quoted(text, value);
	else
		text_add(text, "null");
}

void json_put_int(struct text *text, const char *key, int64_t value)
{
	begin_value(text, key);
	text_addf(text, "%" PRId64, value);
}

void json_put_double(struct text *text, const char *key, double value)
{
	char digits[32];

	begin_value(text, key);
	if (!isfinite(value)) { /* JSON has neither */
		text_add(text, "null");
		return;
	}
	(void)text_format(digits, sizeof(digits), "%.15g", value);
	if (strtod(digits, NULL) < value || strtod(digits, NULL) > value)
		(void)text_format(digits, sizeof(digits), "%.17g", value);
	text_add(text, digits);
}

void json_put_bool(struct text *text, const char *key, bool value)
{
	begin_value(text, key);
	text_add(text, value ? "true" : "false");
}

void json_put_null(struct text *text, const char *key)
{
	json_put_string(text, key, NULL);
}

void json_put_raw(struct text *text, const char *key, const char *json)
{
	size_t size = json ? strlen(json) : 0;

	while (size > 0 && strchr(" \t\r\n", json[size - 1]))
		size--; /* the next value looks at our last byte */
	begin_value(text, key);
	if (size > 0)
		text_add_bytes(text, json, size);
	else
		text_add(text, "null");
}

void json_put_problem(struct text *text, const char *key, const struct problem *problem)
{
	json_begin_object(text, key);
	json_put_string(text, "code", error_word(problem->code));
	json_put_string(text, "message", problem->message);
	json_put_string(text, "detail", problem->detail);
	json_put_string(text, "hint", problem->hint);
	json_end_object(text);
}
