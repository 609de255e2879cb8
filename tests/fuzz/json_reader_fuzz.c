// links: common_http
/* Invariants: what is accepted has no duplicate member and, written again by our writer, is
 * accepted and the same; a refusal sets a problem; the typed look-ups never return what they
 * promise not to. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One level by our writer, what is inside by jansson. */
static void write_again(json_t *json)
{
	struct text text = {0};
	struct problem problem = {0};
	json_t *again = NULL;
	const char *key;
	json_t *value;

	json_begin_object(&text, NULL);
	json_object_foreach(json, key, value)
	{
		char *dump;

		if (strlen(key) != json_object_iter_key_len(json_object_key_to_iter(key))) {
			text_done(&text); /* our writer has no NUL in names */
			return;
		}
		if (json_is_string(value) &&
		    strlen(json_string_value(value)) == json_string_length(value)) {
			json_put_string(&text, key, json_string_value(value));
			continue;
		}
		dump = json_dumps(value, JSON_ENCODE_ANY);
		assert(dump);
		json_put_raw(&text, key, dump);
		free(dump);
	}
	json_end_object(&text);
	assert(!text.failed);
	assert(json_read(text_get(&text), text.size, SIZE_MAX, &again, &problem) == 0);
	assert(json_equal(json, again));
	json_decref(again);
	text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"name", "count", NULL};
	struct problem problem = {0};
	struct json_reader reader;
	json_t *json = NULL;
	const char *name;
	int64_t count;
	int rc = json_read((const char *)data, size, 4096, &json, &problem);

	assert((rc == 0) == (json != NULL));
	assert((rc == 0) != problem_is_set(&problem));
	assert(size <= 4096 || rc == E_LIMIT);
	if (rc != 0)
		return 0;
	reader = json_reader(json);
	name = json_get_string(&reader, "name", true);
	assert(name || problem_is_set(&reader.problem));
	count = json_get_int(&reader, "count", -5, 5, 3, false);
	assert(count >= -5 && count <= 5);
	(void)json_get_bool(&reader, "on", true);
	json_only(&reader, keys);
	if (json_is_object(json))
		write_again(json);
	json_decref(json);
	return 0;
}
