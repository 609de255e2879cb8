// links: common_io
/* Single settings of a configuration are changed; what people wrote around them stays. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/io/conf_edit.h"

#include "tests/support/cmocka.h"

static void sets(void **state)
{
	static const struct {
		const char *before, *key, *value, *after; /* after NULL: refused */
	} rows[] = {
		{"# of nodes\ninterfaces = [];\nport = 1;\n", "interfaces", "[\"eth1\"]",
		 "# of nodes\ninterfaces = [\"eth1\"];\nport = 1;\n"},
		{"interfaces = [\n  \"a\", # first\n  \"b\"\n]; # mine\n", "interfaces", "[\"c\"]",
		 "interfaces = [\"c\"]; # mine\n"},
		{"# port = 1;\nports = 2;\nport = 3\nx = \"port = 4;\";\n", "port", "5",
		 "# port = 1;\nports = 2;\nport = 5\nx = \"port = 4;\";\n"},
		{"a = 1; /* b = 2; */ b = 3; c = 4;", "b", "9",
		 "a = 1; /* b = 2; */ b = 9; c = 4;"},
		{"http: {\n\tport = 80; # usual\n};\nport = 1;\n", "http.port", "81",
		 "http: {\n\tport = 81; # usual\n};\nport = 1;\n"},
		{"port = 1;\nhttp: { port = 80; };\n", "port", "2",
		 "port = 2;\nhttp: { port = 80; };\n"},
		{"x = 1;", "y", "\"a\"", "x = 1;\ny = \"a\";\n"},
		{"http: { a = 1; };\n", "http.port", "81", "http: {\n\tport = 81; a = 1; };\n"},
		{"", "http.port", "81", "http: {\n\tport = 81;\n};\n"},
		{"x = [", "x", "1", NULL},
		{"@include \"other\"\nx = 1;", "x", "2", NULL},
		{"x = 1;", "x", "2; y = 3", NULL},
		{"x: { y = 1; };", "x", "2", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text text = {0};
		struct problem problem = {0};
		int rc = conf_edit_set(rows[i].before, rows[i].key, rows[i].value, &text, &problem);

		if (rows[i].after) {
			assert_int_equal(rc, 0);
			assert_string_equal(text_get(&text), rows[i].after);
		} else {
			assert_true(rc < 0 && problem.message[0] && text.size == 0);
		}
	}
}

static void gets(void **state)
{
	static const char text[] =
		"a = \"x\\\"y\"; b = [ \"p\",\"q\" ]; c = 0x10; d = true; e: { f = 1L; };";
	static const char *const rows[][2] = {{"a", "\"x\\\"y\""},
					      {"b", "[\"p\", \"q\"]"},
					      {"c", "16"},
					      {"d", "true"},
					      {"e.f", "1"},
					      {"e", ""},
					      {"g", ""}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text got = {0};
		struct problem problem = {0};

		assert_int_equal(conf_edit_get(text, rows[i][0], &got, &problem), 0);
		assert_string_equal(text_get(&got), rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sets), cmocka_unit_test(gets)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
