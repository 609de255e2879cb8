// links: portal_cli
/* user 14: the text of a complaint drove the terminal. Whatever is printed by printf or fprintf goes
 * through say(). */
#include <stdlib.h>
#include <string.h>

#include "portal/cli/haasctl.h"
#include "tests/support/cmocka.h"

/* What arrives of one printed text. */
static char *said(const char *text)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);

	assert_non_null(out);
	assert_int_equal(fprintf(out, "%s|%d\n", text, 7), (int)strlen(text) + 3);
	assert_int_equal(fclose(out), 0);
	return strndup(data, size);
}

static void controls_are_masked(void **state)
{
	static const char *const rows[][2] = {
		{"plain", "plain|7\n"},
		{"two\n\tlines", "two\n\tlines|7\n"},
		{"evil \033]0;pwn\a \033[31mred", "evil  ]0;pwn   [31mred|7\n"},
		{"back\b\b\rover", "back   over|7\n"},
		{"csi \xc2\x9b"
		 "31m",
		 "csi   31m|7\n"},
		{"gr\xc3\xbc\xc3\x9f"
		 "e",
		 "gr\xc3\xbc\xc3\x9f"
		 "e|7\n"},
		{"", "|7\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(freep) char *got = said(rows[i][0]);

		assert_string_equal(got, rows[i][1]);
	}
}

static void own_sequences_pass(void **state)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);

	(void)state;
	assert_non_null(out);
	say_control(out, "\r\033[K");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(data, "\r\033[K");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_are_masked),
		cmocka_unit_test(own_sequences_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
