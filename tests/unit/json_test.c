// links: common_base common_http
/* The JSON writer and reader, and metrics: commas, escapes, broken UTF-8, numbers; what it writes
 * is read back by jansson.
 */
#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"
#include "common/http/metrics.h"

#include "tests/support/cmocka.h"

static void test_nesting(void **state)
{
	struct text text = {0};

	(void)state;
	json_begin_object(&text, NULL);
	json_put_string(&text, "name", "n1");
	json_begin_array(&text, "ports");
	json_put_int(&text, NULL, 1);
	json_put_int(&text, NULL, -2);
	json_begin_object(&text, NULL);
	json_end_object(&text);
	json_begin_array(&text, NULL);
	json_end_array(&text);
	json_end_array(&text);
	json_put_bool(&text, "up", true);
	json_put_null(&text, "none");
	json_put_string(&text, "absent", NULL);
	json_put_raw(&text, "raw", "{\"a\": [1, 2]} \n");
	json_put_raw(&text, "empty", "");
	json_put_double(&text, "half", 0.5);
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

		json_put_string(&text, NULL, rows[i].in);
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
		json_put_double(&text, NULL, rows[i].in);
		assert_string_equal(text_get(&text), rows[i].out);
		text_clear(&text);
	}
	json_put_double(&text, NULL, (double)NAN);
	json_put_double(&text, NULL, (double)INFINITY);
	json_put_int(&text, NULL, INT64_MIN);
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
		json_put_string(&text, name, value);
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

static void test_reader(void **state)
{
	static const char *const known[] = {"name", "count", "on", "none", NULL};
	const char *data = "{\"name\":\"n1\",\"count\":7,\"on\":true,\"none\":null}";
	struct problem problem = {0};
	struct json_reader reader;
	json_t *json = NULL;

	(void)state;
	assert_int_equal(json_read(data, strlen(data), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	reader = json_reader(json);
	assert_string_equal(json_get_string(&reader, "name", true), "n1");
	assert_int_equal(json_get_int(&reader, "count", 1, 10, 3, true), 7);
	assert_int_equal(json_get_int(&reader, "none", 1, 10, 3, false), 3);
	assert_true(json_get_bool(&reader, "on", false));
	assert_null(json_get_string(&reader, "absent", false));
	json_only(&reader, known);
	assert_false(problem_is_set(&reader.problem));
	(void)json_get_int(&reader, "count", 8, 10, 3, true);
	(void)json_get_string(&reader, "absent", true); /* the first failure stays */
	assert_string_equal(reader.problem.message, "member count is not within 8..10");
	reader = json_reader(json);
	json_only(&reader, known + 1);
	assert_string_equal(reader.problem.message, "member name is not known here");
	json_decref(json);

	assert_int_equal(json_read("{\"a\":1,\"a\":2}", 13, 100, &json, &problem), E_MALFORMED);
	assert_int_equal(json_read("{\"a\":1} x", 9, 100, &json, &problem), E_MALFORMED);
	assert_non_null(strstr(problem.message, "line 1, column"));
	assert_int_equal(json_read(data, strlen(data), 10, &json, &problem), E_LIMIT);
	reader = json_reader(NULL);
	assert_null(json_get_string(&reader, "name", true));
	assert_string_equal(reader.problem.message, "not a JSON object");
}

static void test_metrics(void **state)
{
	static const struct metric_row rows[] = {
		{"haas_packets_total", METRIC_COUNTER, "type=\"a\"", 0, "Packets."},
		{"haas_packets_total", METRIC_COUNTER, "type=\"b\"", sizeof(uint64_t), "Packets."},
		{"haas_open", METRIC_GAUGE, NULL, sizeof(uint64_t), "Open."},
	};
	const uint64_t values[] = {3, 18446744073709551615U};
	struct text text = {0};

	(void)state;
	metrics_write(&text, rows, COUNT_OF(rows), values);
	assert_string_equal(text_get(&text),
			    "# HELP haas_packets Packets.\n# TYPE haas_packets counter\n"
			    "haas_packets_total{type=\"a\"} 3\n"
			    "haas_packets_total{type=\"b\"} 18446744073709551615\n"
			    "# HELP haas_open Open.\n# TYPE haas_open gauge\n"
			    "haas_open 18446744073709551615\n# EOF\n");
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting), cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_reader),  cmocka_unit_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
