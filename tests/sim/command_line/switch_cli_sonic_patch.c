/* RFC 6902 on RFC 6901 pointers; what goes wrong is told in the words of python-jsonpatch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_sonic.h"

enum { TOKEN_MAX = 256 };

/* The next token of a pointer, ~1 and ~0 undone; NULL at its end or when it is too long. */
static const char *next_token(const char *at, char token[TOKEN_MAX])
{
	size_t size = 0;

	if (*at++ != '/')
		return NULL;
	for (; *at != '\0' && *at != '/'; at++) {
		if (size + 1 == TOKEN_MAX)
			return NULL;
		token[size] = *at;
		if (at[0] == '~' && (at[1] == '0' || at[1] == '1'))
			token[size] = *++at == '1' ? '/' : '~';
		size++;
	}
	token[size] = '\0';
	return at;
}

static bool switch_cli_sonic_patch_index_of(const json_t *array, const char *token, bool may_append,
					    size_t *ret)
{
	size_t count = json_array_size(array);
	char *end;

	if (strcmp(token, "-") == 0 && may_append) {
		*ret = count;
		return true;
	}
	errno = 0;
	*ret = strtoul(token, &end, 10);
	return *token >= '0' && *token <= '9' && *end == '\0' && errno == 0 &&
	       (*ret < count || (may_append && *ret == count));
}

static json_t *switch_cli_sonic_patch_child(const json_t *parent, const char *token)
{
	size_t index;

	if (json_is_object(parent))
		return json_object_get(parent, token);
	if (json_is_array(parent) && switch_cli_sonic_patch_index_of(parent, token, false, &index))
		return json_array_get(parent, index);
	return NULL;
}

/* What holds the last token of `path`, which is left in `last`. */
static json_t *switch_cli_sonic_patch_holder(json_t *document, const char *path,
					     char last[TOKEN_MAX], struct text *why)
{
	json_t *at = document;
	const char *rest = next_token(path, last);

	while (rest && *rest != '\0') {
		json_t *inner = switch_cli_sonic_patch_child(at, last);

		if (!inner) {
			text_addf(why, "member '%s' not found in %s", last,
				  json_is_array(at) ? "a list" : "the document");
			return NULL;
		}
		at = inner;
		rest = next_token(rest, last);
	}
	if (!rest)
		text_addf(why, "Location must start with /");
	return rest ? at : NULL;
}

static bool switch_cli_sonic_patch_add(json_t *document, const char *path, json_t *value,
				       struct text *why)
{
	char last[TOKEN_MAX];
	json_t *in = switch_cli_sonic_patch_holder(document, path, last, why);
	size_t index;

	if (json_is_object(in) && json_object_set(in, last, value) == 0)
		return true;
	if (json_is_array(in) && switch_cli_sonic_patch_index_of(in, last, true, &index) &&
	    json_array_insert(in, index, value) == 0)
		return true;
	if (in)
		text_add(why, "can't insert outside of list");
	return false;
}

/* A reference to what was there, or NULL. */
static json_t *switch_cli_sonic_patch_take(json_t *document, const char *path, const char *verb,
					   struct text *why)
{
	char last[TOKEN_MAX];
	json_t *in = switch_cli_sonic_patch_holder(document, path, last, why);
	json_t *old = in ? json_incref(switch_cli_sonic_patch_child(in, last)) : NULL;
	size_t index;

	if (!in)
		return NULL;
	if (!old)
		text_addf(why, "can't %s a non-existent object '%s'", verb, last);
	else if (json_is_object(in))
		(void)json_object_del(in, last);
	else if (switch_cli_sonic_patch_index_of(in, last, false, &index))
		(void)json_array_remove(in, index);
	return old;
}

static bool switch_cli_sonic_patch_one(json_t *document, const json_t *step, struct text *why)
{
	const char *op = json_string_value(json_object_get(step, "op"));
	const char *path = json_string_value(json_object_get(step, "path"));
	const char *from = json_string_value(json_object_get(step, "from"));
	json_t *value = json_object_get(step, "value");
	json_t *old = NULL;
	bool good = false;

	if (!op || !path) {
		text_add(why, "Operation does not contain 'op' member");
		return false;
	}
	if (strcmp(op, "remove") == 0 || strcmp(op, "replace") == 0)
		old = switch_cli_sonic_patch_take(document, path, op, why);
	if (strcmp(op, "remove") == 0) {
		good = old != NULL;
	} else if ((strcmp(op, "move") == 0 || strcmp(op, "copy") == 0) && from) {
		json_t *moved = switch_cli_sonic_patch_take(document, from, op, why);

		good = moved &&
		       (op[0] == 'm' || switch_cli_sonic_patch_add(document, from, moved, why));
		value = good && op[0] == 'c' ? json_deep_copy(moved) : json_incref(moved);
		good = good && value && switch_cli_sonic_patch_add(document, path, value, why);
		json_decref(value);
		json_decref(moved);
	} else if (!value) {
		text_add(why, "The operation does not contain a 'value' member");
	} else if (strcmp(op, "test") == 0) {
		char last[TOKEN_MAX];
		json_t *in = switch_cli_sonic_patch_holder(document, path, last, why);

		good = in && json_equal(switch_cli_sonic_patch_child(in, last), value);
		if (in && !good)
			text_add(why, "tested value is not equal to expected value");
	} else if (strcmp(op, "add") == 0 || (strcmp(op, "replace") == 0 && old)) {
		json_t *copy = json_deep_copy(value);

		good = copy && switch_cli_sonic_patch_add(document, path, copy, why);
		json_decref(copy);
	} else if (strcmp(op, "replace") != 0) {
		text_addf(why, "Unknown operation '%s'", op);
	}
	json_decref(old);
	return good;
}

bool sonic_patch(json_t *document, const json_t *patch, struct text *why)
{
	for (size_t i = 0; i < json_array_size(patch); i++) {
		if (!switch_cli_sonic_patch_one(document, json_array_get(patch, i), why))
			return false;
	}
	return true;
}
