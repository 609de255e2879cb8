// links: common_base common_http
/* The JSON writer: commas, escapes, broken UTF-8, numbers; what it writes is read back by jansson.
 */
/* cmocka.h wants the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/http/json_reader.h"

static void test_nesting(void **state)
{
	struct text text = {0};

	(void)state;
	json_begin_object(&text, NULL);
	json_string(&text, "name", "n1");
	json_begin_array(&text, "ports");
	json_int(&text, NULL, 1);
	json_int(&text, NULL, -2);
	json_begin_object(&text, NULL);
	json_end_object(&text);
	json_begin_array(&text, NULL);
	json_end_array(&text);
	json_end_array(&text);
	json_bool(&text, "up", true);
	json_null(&text, "none");
	json_string(&text, "absent", NULL);
	json_raw(&text, "raw", "{\"a\": [1, 2]} \n");
	json_raw(&text, "empty", "");
	json_double(&text, "half", 0.5);
	json_end_object(&text);
	assert_string_equal(
		text_get(&text),
		"{\"name\":\"n1\",\"ports\":[1,-2,{},[]],\"up\":true,\"none\":null,\"absent\":null,"
		"\"raw\":{\"a\": [1, 2]},\"empty\":null,\"half\":0.5}");
	/* JSON lines: the next root needs no comma. */
	text_add(&text, "\n");
	text.failed = false;
	json_begin_array(&text, NULL);
	json_end_array(&text);
	assert_non_null(strstr(text_get(&text), "}\n[]"));
	text_clear(&text);
	text_add(&text, "data: ");
	json_begin_object(&text, NULL);
	json_end_object(&text);
	assert_string_equal(text_get(&text), "data: {}");
	text_done(&text);
}

static void test_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"", "\"\""},
		{"a\"b\\c/", "\"a\\\"b\\\\c/\""},
		{"\b\t\n\f\r\x01\x1f\x7f", "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\""},
		{"\xc3\xa9\xe2\x82\xac", "\"\xc3\xa9\xe2\x82\xac\""}, /* two and three bytes */
		{"\xf0\x9f\x90\x8c.", "\"\xf0\x9f\x90\x8c.\""},
		{"a\xff"
		 "b",
		 "\"a\xef\xbf\xbd"
		 "b\""},
		{"\xc3", "\"\xef\xbf\xbd\""}, /* cut off */
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
		{"\xf4\x90\x80\x80",
		 "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* above U+10FFFF */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {0};

		json_string(&text, NULL, rows[i].in);
		assert_string_equal(text_get(&text), rows[i].out);
		text_done(&text);
	}
}

static void test_numbers(void **state)
{
	static const struct {
		double in;
		const char *out;
	} rows[] = {
		{0, "0"},
		{1.5, "1.5"},
		{0.1, "0.1"},
		{1e300, "1e+300"},
		{-1.0 / 3, "-0.33333333333333331"},
	};
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		json_double(&text, NULL, rows[i].in);
		assert_string_equal(text_get(&text), rows[i].out);
		text_clear(&text);
	}
	json_double(&text, NULL, (double)NAN);
	json_double(&text, NULL, (double)INFINITY);
	json_int(&text, NULL, INT64_MIN);
	assert_string_equal(text_get(&text), "null,null,-9223372036854775808");
	text_done(&text);
}

/* Every byte value, as member name and value, is read back. */
static void test_read_back(void **state)
{
	struct text text = {0};
	struct problem problem = {0};
	json_t *json = NULL;

	(void)state;
	json_begin_object(&text, NULL);
	for (unsigned c = 1; c < 256; c++) {
		const char value[] = {'v', (char)c, '\0'};
		char name[8];

		(void)text_format(name, sizeof(name), "%u", c);
		json_string(&text, name, value);
	}
	json_end_object(&text);
	assert_int_equal(json_read(text_get(&text), text.size, JSON_LIMIT_DEFAULT, &json, &problem),
			 0);
	assert_int_equal(json_object_size(json), 255);
	assert_string_equal(json_string_value(json_object_get(json, "9")), "v\t");
	assert_string_equal(json_string_value(json_object_get(json, "200")), "v\xef\xbf\xbd");
	json_decref(json);
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
