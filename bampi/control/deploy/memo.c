#include "bampi/control/deploy/memo.h"

#include <string.h>

#include "common/base/text.h"
#include "common/http/json_reader.h"

#define MEMO_LIMIT 4096

struct memo memo_next_attempt(const struct memo *memo)
{
	return (struct memo){
		.tries = memo->tries, .furthest = memo->furthest, .trouble = memo->trouble};
}

static int memo_set(json_t *object, const char *key, bool present, json_t *value)
{
	if (present)
		return json_object_set_new(object, key, value);
	json_decref(value);
	return 0;
}

json_t *memo_json(const struct memo *memo)
{
	json_t *object = json_object();

	if (memo_set(object, "tries", memo->tries != 0, json_integer(memo->tries)) < 0 ||
	    memo_set(object, "furthest", memo->furthest != 0, json_integer(memo->furthest)) < 0 ||
	    memo_set(object, "trouble", memo->trouble, json_true()) < 0 ||
	    memo_set(object, "token", memo->token[0] != '\0', json_string(memo->token)) < 0 ||
	    memo_set(object, "powered_ms", memo->powered_ms != 0, json_integer(memo->powered_ms)) <
		    0 ||
	    memo_set(object, "asked_ms", memo->asked_ms != 0, json_integer(memo->asked_ms)) < 0 ||
	    memo_set(object, "cycles", memo->cycles != 0, json_integer(memo->cycles)) < 0 ||
	    memo_set(object, "unverified", memo->unverified, json_true()) < 0 ||
	    memo_set(object, "fired", memo->fired, json_true()) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

struct memo memo_read(const char *json)
{
	struct problem ignored = {0};
	struct memo memo = {0};
	CLEANUP(json_decrefp) json_t *object = NULL;
	const char *token;

	if (!json || json_read(json, strlen(json), MEMO_LIMIT, &object, &ignored) != 0)
		return memo;
	memo.tries = (int)json_integer_value(json_object_get(object, "tries"));
	memo.furthest = (int)json_integer_value(json_object_get(object, "furthest"));
	memo.trouble = json_is_true(json_object_get(object, "trouble"));
	memo.powered_ms = json_integer_value(json_object_get(object, "powered_ms"));
	memo.asked_ms = json_integer_value(json_object_get(object, "asked_ms"));
	memo.cycles = (int)json_integer_value(json_object_get(object, "cycles"));
	memo.unverified = json_is_true(json_object_get(object, "unverified"));
	memo.fired = json_is_true(json_object_get(object, "fired"));
	token = json_string_value(json_object_get(object, "token"));
	if (token)
		(void)text_copy(memo.token, sizeof(memo.token), token);
	return memo;
}
