// links: common_cli
/* "did you mean" (user 30, Help): what is near a word, and what is not. */
#include <stdint.h>
#include <string.h>

#include "common/cli/choices.h"

#include "tests/support/cmocka.h"

static void test_distance(void **state)
{
	static const struct {
		const char *a, *b;
		size_t edits;
	} rows[] = {
		{"", "", 0},         {"", "abc", 3},           {"list", "list", 0},
		{"lst", "list", 1},  {"listt", "list", 1},     {"lisp", "list", 1},
		{"pdci", "pdic", 1}, {"ca", "abc", 3},         {"kitten", "sitting", 3},
		{"ab", "ba", 1},     {"abcd", "badc", 2},      {"nodes", "node", 1},
		{"abc", "", 3},      {"tenant", "tennant", 1},
	};
	char longest[65];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *a = rows[i].a;
		const char *b = rows[i].b;

		if (choices_distance(a, strlen(a), b, strlen(b)) != rows[i].edits ||
		    choices_distance(b, strlen(b), a, strlen(a)) != rows[i].edits)
			fail_msg("%s %s", a, b);
	}
	memset(longest, 'a', sizeof(longest));
	assert_true(choices_distance(longest, 63, longest, 63) == 0);
	assert_true(choices_distance(longest, 64, "a", 1) == SIZE_MAX);
}

static void test_nearest(void **state)
{
	static const struct synonym_row synonyms[] = {
		{"rm", "delete"}, {"rm", "remove"}, {"ls", "list"}, {"x", "nowhere"}};
	static const struct {
		const char *word, *hint;
	} rows[] = {
		{"lst", "did you mean list? "},
		{"ls", "did you mean list? "},
		{"rm", "did you mean delete or remove? "},
		{"LIST", ""},
		{"x", ""}, /* its synonym is no choice here */
		{"sow", "did you mean show? "},
		{"sit", ""},                      /* 2 edits of 3 letters */
		{"shoot", "did you mean show? "}, /* 2 of 5 */
		{"delet", "did you mean delete? "},
		{"fly", ""},
		{"", ""},
		{"cat", "did you mean bat or car or cut? "}, /* no more than three */
	};
	struct choices choices = {0};

	(void)state;
	choices_add_words(&choices, "list|show|delete|remove|list|bat|car|cut|cap", 44);
	assert_int_equal(choices.count, 8);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text hint = {0};

		choices_add_nearest(&hint, &choices, rows[i].word, strlen(rows[i].word), synonyms,
				    COUNT_OF(synonyms));
		if (strcmp(text_get(&hint), rows[i].hint) != 0)
			fail_msg("%s: %s", rows[i].word, text_get(&hint));
	}
}

/* No line of a hint is longer than 80, whatever there is to choose from. */
static void test_hint(void **state)
{
	CLEANUP(text_done) struct text hint = {0};
	struct choices choices = {0};
	char out[4096];
	FILE *file = tmpfile();
	size_t lines = 0;

	(void)state;
	assert_non_null(file);
	choices_add_words(&choices, "requested|infeasible|building|ready|failed|releasing|released",
			  61);
	text_add(&hint, "did you mean ready? choose from");
	choices_add_all(&hint, &choices);
	text_add(&hint,
		 " and-one-that-is-longer-than-a-line-of-a-terminal-so-that-it-stands-alone-there");
	choices_print_hint(file, &hint);
	rewind(file);
	while (fgets(out, sizeof(out), file)) {
		assert_true(strlen(out) <= 81 || strstr(out, "so-that-it-stands-alone"));
		assert_true(strncmp(out, lines == 0 ? "  hint: " : "        ", 8) == 0);
		lines++;
	}
	assert_true(lines == 3);
	(void)fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
