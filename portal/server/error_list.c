#include "portal/server/error_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#define GIVEN_SIZE 81 /* bytes of a value that are repeated, with the NUL */

/* Parts of the names of members whose values never come back. */
static const char *const error_list_secrets[] = {"password",  "secret", "community", "key",
						 "user_data", "enable", "signature"};

/* --- items --- */

/* Names may come from outside; what is not UTF-8 has no place in JSON. */
static json_t *error_list_text(const char *text)
{
	json_t *json = json_string(text);
	char plain[256];

	if (json)
		return json;
	(void)text_copy(plain, sizeof(plain), text);
	for (char *at = plain; *at; at++) {
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	}
	return json_string(plain);
}

/* The begin of a value, cut between characters. */
static void error_list_bound(const char *value, char ret[GIVEN_SIZE])
{
	static const char more[] = "...";
	size_t at = GIVEN_SIZE - sizeof(more);

	if (text_copy(ret, GIVEN_SIZE, value))
		return;
	while (at > 0 && ((unsigned char)ret[at] & 0xc0) == 0x80)
		at--;
	memcpy(ret + at, more, sizeof(more));
}

static void error_list_set(json_t *item, const char *key, const char *text)
{
	if (item && text)
		(void)json_object_set_new(item, key, error_list_text(text));
}

/* A new item, borrowed. NULL: it is counted only. */
static json_t *error_list_begin(struct error_list *errors, const char *place, const char *name)
{
	json_t *item;

	if (errors->count++ >= ERROR_LIST_MAX)
		return NULL;
	if (!errors->items)
		errors->items = json_array();
	item = json_object();
	error_list_set(item, place, name);
	return json_array_append_new(errors->items, item) == 0 ? item : NULL;
}

static void error_list_end(json_t *item, const char *message, const char *allowed)
{
	error_list_set(item, "message", message);
	error_list_set(item, "allowed", allowed);
}

static void error_list_must_be(json_t *item, const char *allowed)
{
	char message[192];

	(void)text_format(message, sizeof(message), "must be %s", allowed);
	error_list_end(item, message, allowed);
}

void error_list_pointer(struct error_list *errors, const char *pointer, const char *message,
			const char *allowed)
{
	error_list_end(error_list_begin(errors, "pointer", pointer), message, allowed);
}

void error_list_value(struct error_list *errors, const char *pointer, const char *allowed)
{
	error_list_must_be(error_list_begin(errors, "pointer", pointer), allowed);
}

void error_list_unknown(struct error_list *errors, const char *pointer)
{
	if (errors->count < ERROR_LIST_MAX)
		errors->withheld[errors->count] = true;
	error_list_pointer(errors, pointer, "is not known", NULL);
}

/* One whose value does not stand in the body. */
static void error_list_given(struct error_list *errors, const char *place, const char *name,
			     const char *given, const char *allowed)
{
	json_t *item = error_list_begin(errors, place, name);
	char room[GIVEN_SIZE];

	if (given) {
		error_list_bound(given, room);
		error_list_set(item, "given", room);
	}
	error_list_must_be(item, allowed);
}

void error_list_name(struct error_list *errors, const char *given, const char *allowed)
{
	error_list_given(errors, "pointer", "", given, allowed);
}

void error_list_parameter(struct error_list *errors, const char *name, const char *given,
			  const char *allowed)
{
	error_list_given(errors, "parameter", name, given, allowed);
}

void error_list_header(struct error_list *errors, const char *name, const char *given,
		       const char *allowed)
{
	error_list_given(errors, "header", name, given, allowed);
}

void error_list_cell(struct error_list *errors, size_t row, const char *column, const char *message,
		     const char *allowed)
{
	json_t *item = error_list_begin(errors, "column", column);

	if (item)
		(void)json_object_set_new(item, "row", json_integer((json_int_t)row));
	error_list_end(item, message, allowed);
}

/* --- values of the body --- */

static bool error_list_is_secret(const char *pointer)
{
	for (size_t i = 0; i < COUNT_OF(error_list_secrets); i++) {
		if (strstr(pointer, error_list_secrets[i]))
			return true;
	}
	return false;
}

/* One reference token of RFC 6901, unescaped. What does not fit names nothing. */
static const char *error_list_token(const char *at, char ret[64])
{
	size_t size = 0;

	for (; *at && *at != '/'; at++) {
		char letter = *at;

		if (letter == '~' && (at[1] == '0' || at[1] == '1'))
			letter = *++at == '0' ? '~' : '/';
		if (size < 63)
			ret[size++] = letter;
	}
	ret[size] = '\0';
	return at;
}

static const json_t *error_list_find(const json_t *body, const char *pointer)
{
	char token[64];

	while (body && *pointer == '/') {
		pointer = error_list_token(pointer + 1, token);
		body = json_is_array(body) ? json_array_get(body, strtoul(token, NULL, 10))
					   : json_object_get(body, token);
	}
	return body;
}

/* A value as a person would write it; an object or a list is none. */
static bool error_list_value_of(const json_t *value, char ret[GIVEN_SIZE])
{
	CLEANUP(freep) char *dump = NULL;

	if (!value || json_is_object(value) || json_is_array(value))
		return false;
	if (json_is_string(value)) {
		error_list_bound(json_string_value(value), ret);
		return true;
	}
	dump = json_dumps(value, JSON_ENCODE_ANY);
	if (dump)
		error_list_bound(dump, ret);
	return dump != NULL;
}

void error_list_write(const struct error_list *errors, const json_t *body, struct text *ret)
{
	CLEANUP(freep) char *dump = NULL;
	char given[GIVEN_SIZE];
	json_t *item;
	size_t i;

	json_array_foreach(errors->items, i, item)
	{
		const char *pointer = json_string_value(json_object_get(item, "pointer"));

		if (pointer && *pointer && !errors->withheld[i] && !error_list_is_secret(pointer) &&
		    error_list_value_of(error_list_find(body, pointer), given))
			error_list_set(item, "given", given);
	}
	dump = errors->items ? json_dumps(errors->items, JSON_COMPACT) : NULL;
	text_add(ret, dump ? dump : "[]");
}

void error_list_done(struct error_list *errors)
{
	json_decref(errors->items);
	*errors = (struct error_list){0};
}
