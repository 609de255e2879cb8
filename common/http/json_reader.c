#include "common/http/json_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

int json_read(const char *data, size_t size, size_t limit, json_t **ret, struct problem *problem)
{
	json_error_t error;
	json_t *json;

	if (size > limit) {
		(void)problem_set(problem, E_LIMIT, "the JSON text is too large");
		problem_detail(problem, "%zu bytes", size);
		problem_hint(problem, "at most %zu bytes are read", limit);
		return E_LIMIT;
	}
	/* jansson bounds the nesting itself (2048). */
	json = json_loadb(data, size, JSON_REJECT_DUPLICATES, &error);
	if (!json) {
		(void)problem_set(problem, E_MALFORMED, "not JSON: line %d, column %d", error.line,
				  error.column);
		problem_detail(problem, "%s", error.text);
		return E_MALFORMED;
	}
	*ret = json;
	return 0;
}

/* Counts what jansson would make, without making it. Malformed text may be counted wrongly; it is
 * refused by jansson then. */
static const char *bound_passed(const char *data, size_t size, const struct json_bounds *bounds)
{
	unsigned depth = 0;
	size_t values = 1;
	bool quoted = false;

	for (size_t i = 0; i < size; i++) {
		char byte = data[i];

		if (quoted) {
			i += byte == '\\';
			quoted = byte != '"';
			continue;
		}
		quoted = byte == '"';
		if (byte == '[' || byte == '{') {
			depth++;
			values++;
		} else if ((byte == ']' || byte == '}') && depth > 0) {
			depth--;
		} else if (byte == ',') {
			values++;
		}
		if (depth > bounds->depth)
			return "is nested too deeply";
		if (values > bounds->values)
			return "holds too many values";
	}
	return NULL;
}

int json_read_bounded(const char *data, size_t size, const struct json_bounds *bounds, json_t **ret,
		      struct problem *problem)
{
	const char *passed = size > bounds->size ? NULL : bound_passed(data, size, bounds);

	if (passed) {
		(void)problem_set(problem, E_LIMIT, "the JSON text %s", passed);
		problem_hint(problem, "at most %u levels and %zu values are read", bounds->depth,
			     bounds->values);
		return E_LIMIT;
	}
	return json_read(data, size, bounds->size, ret, problem);
}

struct json_reader json_reader(const json_t *object)
{
	struct json_reader reader = {.object = object};

	if (!json_is_object(object))
		(void)problem_set(&reader.problem, E_MALFORMED, "not a JSON object");
	return reader;
}

/* The first failure is the one that is told. */
PRINTF_LIKE(3, 4)
static void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
{
	char reason[128];
	va_list arguments;

	if (problem_is_set(&reader->problem))
		return;
	va_start(arguments, format);
	(void)vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	(void)problem_set(&reader->problem, E_MALFORMED, "member %s %s", key, reason);
}

const json_t *json_get(struct json_reader *reader, const char *key, bool required)
{
	const json_t *member = json_object_get(reader->object, key);

	if (json_is_null(member)) /* null says as much as absence */
		member = NULL;
	if (!member && required)
		json_reader_fail(reader, key, "is missing");
	return member;
}

const char *json_get_string(struct json_reader *reader, const char *key, bool required)
{
	const json_t *member = json_get(reader, key, required);

	if (!member)
		return NULL;
	if (!json_is_string(member)) {
		json_reader_fail(reader, key, "is not a string");
		return NULL;
	}
	if (strlen(json_string_value(member)) != json_string_length(member)) {
		json_reader_fail(reader, key, "holds a NUL character");
		return NULL;
	}
	return json_string_value(member);
}

int64_t json_get_int(struct json_reader *reader, const char *key, int64_t min, int64_t max,
		     int64_t fallback, bool required)
{
	const json_t *member = json_get(reader, key, required);

	if (!member)
		return fallback;
	if (!json_is_integer(member)) {
		json_reader_fail(reader, key, "is not a whole number");
		return fallback;
	}
	if (json_integer_value(member) < min || json_integer_value(member) > max) {
		json_reader_fail(reader, key, "is not within %" PRId64 "..%" PRId64, min, max);
		return fallback;
	}
	return json_integer_value(member);
}

bool json_get_bool(struct json_reader *reader, const char *key, bool fallback)
{
	const json_t *member = json_get(reader, key, false);

	if (!member)
		return fallback;
	if (!json_is_boolean(member)) {
		json_reader_fail(reader, key, "is not true or false");
		return fallback;
	}
	return json_is_true(member);
}

void json_only(struct json_reader *reader, const char *const keys[])
{
	json_t *object;
	void *at;

	if (!json_is_object(reader->object))
		return;
	/* jansson's iterator wants its object without const. */
	memcpy(&object, &reader->object, sizeof(void *));
	at = json_object_iter(object);
	while (at) {
		const char *name = json_object_iter_key(at);
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], name) != 0)
			i++;
		if (!keys[i])
			json_reader_fail(reader, name, "is not known here");
		at = json_object_iter_next(object, at);
	}
}
