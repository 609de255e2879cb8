// links: portal_server
/* The words of tests/data/filter.json, which the page's reader is held to as well, and the bounds. */
#include <jansson.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/filter_wire.h"
#include "tests/support/cmocka.h"

static const char *const signs[] = {"", ":", "=", "<", "<=", ">", ">="};

static void check_word(const char *text, const struct filter_word *word, json_t *wanted)
{
	json_t *value;
	size_t i;

	assert_int_equal(word->inverted, json_is_true(json_object_get(wanted, "not")));
	assert_string_equal(signs[word->operation],
			    json_string_value(json_object_get(wanted, "operation")));
	assert_string_equal(word->column ? word->column : "",
			    json_string_value(json_object_get(wanted, "column")));
	assert_string_equal(word->whole, json_string_value(json_object_get(wanted, "whole")));
	if (word->count != json_array_size(json_object_get(wanted, "values")))
		fail_msg("%s: %zu values", text, word->count);
	json_array_foreach(json_object_get(wanted, "values"), i, value)
		assert_string_equal(word->values[i], json_string_value(value));
}

static void words(void **state)
{
	json_t *cases = json_load_file(TEST_SOURCE_DIR "/data/filter.json", 0, NULL);
	struct filter filter;
	json_t *one;
	size_t i;

	(void)state;
	assert_true(json_array_size(cases) > 20);
	json_array_foreach(cases, i, one)
	{
		const char *text = json_string_value(json_object_get(one, "text"));
		const json_t *wanted = json_object_get(one, "words");

		assert_int_equal(filter_parse(text, &filter), 0);
		if (filter.count != json_array_size(wanted))
			fail_msg("%s: %zu words", text, filter.count);
		for (size_t w = 0; w < filter.count; w++)
			check_word(text, &filter.words[w], json_array_get(wanted, w));
	}
	json_decref(cases);
}

static void bounds(void **state)
{
	char text[FILTER_SIZE + 2];
	struct filter filter;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(filter_parse(text, &filter), E_LIMIT);
	text[FILTER_SIZE] = '\0';
	assert_int_equal(filter_parse(text, &filter), 0);
	assert_int_equal(filter_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", &filter),
			 E_LIMIT);
	memset(text, ',', FILTER_SIZE);
	memcpy(text, "a=", 2);
	for (size_t i = 2; i < 2 + 2 * (FILTER_VALUES + 1); i += 2)
		text[i] = 'b';
	assert_int_equal(filter_parse(text, &filter), E_LIMIT);
	text[2 + 2 * FILTER_VALUES] = '\0';
	assert_int_equal(filter_parse(text, &filter), 0);
	assert_int_equal(filter.words[0].count, FILTER_VALUES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
