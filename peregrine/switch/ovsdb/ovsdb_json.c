#include "peregrine/switch/ovsdb/ovsdb_json.h"

#include <string.h>

#include "common/base/error.h"

int ovsdb_json_next(struct ovsdb_stream *stream, json_t **ret, struct problem *problem)
{
	static const struct json_bounds bounds = {OVSDB_MESSAGE_SIZE, OVSDB_MESSAGE_DEPTH,
						  OVSDB_MESSAGE_VALUES};
	size_t size;
	const char *message = ovsdb_stream_message(stream, &size);
	int rc;

	*ret = NULL;
	if (!message)
		return 0;
	rc = json_read_bounded(message, size, &bounds, ret, problem);
	if (rc)
		return rc;
	rc = ovsdb_stream_drop(stream);
	if (rc) {
		json_decref(*ret);
		*ret = NULL;
		(void)problem_set(problem, rc, "the bytes after a message are not JSON");
	}
	return rc;
}

/* --- messages --- */

struct ovsdb_message ovsdb_message_read(const json_t *message)
{
	struct ovsdb_message ret = {
		.kind = OVSDB_NONSENSE,
		.method = json_string_value(json_object_get(message, "method")),
		.id = json_object_get(message, "id"),
		.params = json_object_get(message, "params"),
		.result = json_object_get(message, "result"),
		.error = json_object_get(message, "error"),
	};

	if (json_is_null(ret.error))
		ret.error = NULL;
	if (ret.method && ret.params)
		ret.kind = ret.id && !json_is_null(ret.id) ? OVSDB_REQUEST : OVSDB_NOTICE;
	else if (!ret.method && json_is_integer(ret.id) && (ret.result || ret.error))
		ret.kind = OVSDB_ANSWER;
	return ret;
}

/* --- values --- */

/* The list of ["set", [...]] or ["map", [...]]; NULL for anything else. */
static const json_t *ovsdb_json_list_of(const json_t *value, const char *word)
{
	const char *first = json_string_value(json_array_get(value, 0));

	return first && strcmp(first, word) == 0 ? json_array_get(value, 1) : NULL;
}

const json_t *ovsdb_element(const json_t *value, size_t i)
{
	const json_t *list = ovsdb_json_list_of(value, "set");

	if (list)
		return json_array_get(list, i);
	return i == 0 ? value : NULL;
}

json_int_t ovsdb_integer(const json_t *row, const char *column, json_int_t none)
{
	const json_t *value = ovsdb_element(json_object_get(row, column), 0);

	return json_is_integer(value) ? json_integer_value(value) : none;
}

const char *ovsdb_string(const json_t *row, const char *column)
{
	const char *value = json_string_value(ovsdb_element(json_object_get(row, column), 0));

	return value ? value : "";
}

bool ovsdb_boolean(const json_t *row, const char *column)
{
	return json_is_true(ovsdb_element(json_object_get(row, column), 0));
}

bool ovsdb_map_pair(const json_t *row, const char *column, size_t i, const char **ret_key,
		    const char **ret_value)
{
	const json_t *list = ovsdb_json_list_of(json_object_get(row, column), "map");
	const json_t *pair = json_array_get(list, i);
	const char *key = json_string_value(json_array_get(pair, 0));
	const char *value = json_string_value(json_array_get(pair, 1));

	*ret_key = key && value ? key : "";
	*ret_value = key && value ? value : "";
	return pair != NULL;
}

const char *ovsdb_map_value(const json_t *row, const char *column, const char *key)
{
	const char *name;
	const char *value;

	for (size_t i = 0; ovsdb_map_pair(row, column, i, &name, &value); i++) {
		if (strcmp(name, key) == 0)
			return value;
	}
	return "";
}

const char *ovsdb_uuid(const json_t *value)
{
	const char *word = json_string_value(json_array_get(value, 0));
	const char *uuid = json_string_value(json_array_get(value, 1));

	return word && uuid && strcmp(word, "uuid") == 0 ? uuid : "";
}
