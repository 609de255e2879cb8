// links: common_cli
/* The same rows in every format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli/output.h"

#include "tests/support/cmocka.h"

static const struct output_column columns[] = {
	{.key = "name"},
	{.key = "count", .number = true},
	{.key = "note", .title = "Remark"},
	{.key = "uuid", .wide = true},
};
static const char *const rows[][4] = {
	{"n1", "7", "a, \"b\"", "u-1"},
	{"n\xc3\xa9\xc3\xa9", "12.5", NULL, "u-2"},
	{"long-name", "x7", "two\nlines", NULL},
};

/* What the rows look like; NULL when the columns are refused. */
static char *render(enum output_format format, const char *only, size_t count,
		    const char **ret_error)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct output *output;

	assert_non_null(out);
	if (output_new(out, format, columns, COUNT_OF(columns), only, &output, ret_error) != 0) {
		(void)fclose(out);
		free(text);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		output_row(output, rows[i]);
	assert_int_equal(output_end(output), 0);
	(void)fclose(out);
	return text;
}

static void test_formats(void **state)
{
	static const struct {
		enum output_format format;
		const char *only;
		size_t count;
		const char *text;
	} cases[] = {
		{OUTPUT_TABLE, NULL, 3,
		 "NAME       COUNT  REMARK\n"
		 "n1             7  a, \"b\"\n"
		 "n\xc3\xa9\xc3\xa9         12.5  -\n"
		 "long-name     x7  two lines\n"},
		{OUTPUT_TABLE, "uuid,name", 1, "UUID  NAME\nu-1   n1\n"},
		{OUTPUT_TABLE, "name", 0, "NAME\n"},
		{OUTPUT_WIDE, NULL, 1, "NAME  COUNT  REMARK  UUID\nn1        7  a, \"b\"  u-1\n"},
		{OUTPUT_TABLE, "note,count", 2, "REMARK  COUNT\na, \"b\"      7\n-        12.5\n"},
		{OUTPUT_JSON, NULL, 3,
		 "[\n {\"name\":\"n1\",\"count\":7,\"note\":\"a, \\\"b\\\"\",\"uuid\":\"u-1\"},\n"
		 " {\"name\":\"n\xc3\xa9\xc3\xa9\",\"count\":12.5,\"note\":null,\"uuid\":\"u-2\"},\n"
		 " {\"name\":\"long-name\",\"count\":\"x7\",\"note\":\"two\\nlines\",\"uuid\":null}\n]\n"},
		{OUTPUT_JSON, NULL, 0, "[]\n"},
		{OUTPUT_JSONL, "count", 2, "{\"count\":7}\n{\"count\":12.5}\n"},
		{OUTPUT_CSV, NULL, 3,
		 "name,count,note,uuid\r\nn1,7,\"a, \"\"b\"\"\",u-1\r\nn\xc3\xa9\xc3\xa9,12.5,,u-2\r\n"
		 "long-name,x7,\"two\nlines\",\r\n"},
		{OUTPUT_KEY_VALUE, "name,count", 2,
		 "0.name=n1\n0.count=7\n1.name=n\xc3\xa9\xc3\xa9\n1.count=12.5\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *error;
		char *text = render(cases[i].format, cases[i].only, cases[i].count, &error);

		assert_non_null(text);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void test_refuse(void **state)
{
	const char *error = NULL;

	(void)state;
	assert_null(render(OUTPUT_TABLE, "name,colour", 0, &error));
	assert_non_null(strstr(error, "no such column"));
	assert_null(render(OUTPUT_CSV, "name,count,name", 0, &error));
	assert_non_null(strstr(error, "named twice"));
	assert_int_equal(output_format_parse("csv"), OUTPUT_CSV);
	assert_int_equal(output_format_parse("xml"), -1);
}

/* A full disk or a closed pipe is told at the end. */
static void test_broken_stream(void **state)
{
	FILE *full = fopen("/dev/full", "we");
	struct output *output;
	const char *error;

	(void)state;
	assert_non_null(full);
	assert_int_equal(
		output_new(full, OUTPUT_CSV, columns, COUNT_OF(columns), NULL, &output, &error), 0);
	output_row(output, rows[0]);
	assert_int_not_equal(output_end(output), 0);
	(void)fclose(full);
}

static const char *red_names(const char *key, const char *cell)
{
	return strcmp(key, "name") == 0 && strcmp(cell, "n1") == 0 ? "31" : NULL;
}

/* A colour takes no place. */
static void test_paint(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct output *output;
	const char *error;

	(void)state;
	assert_non_null(out);
	assert_int_equal(output_new(out, OUTPUT_TABLE, columns, COUNT_OF(columns), "name,count",
				    &output, &error),
			 0);
	output_paint(output, red_names);
	output_row(output, rows[0]);
	output_row(output, rows[2]);
	assert_int_equal(output_end(output), 0);
	(void)fclose(out);
	assert_string_equal(text, "NAME       COUNT\n\033[31mn1\033[0m             7\n"
				  "long-name     x7\n");
	free(text);
}

static void test_colour(void **state)
{
	(void)state;
	assert_true(output_colour(stdout, "always"));
	assert_false(output_colour(stdout, "never"));
	assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
	assert_false(output_colour(stdout, "auto"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),       cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_broken_stream), cmocka_unit_test(test_paint),
		cmocka_unit_test(test_colour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
