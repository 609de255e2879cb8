// links: portal_cli
/* The table of haasctl's commands (user 17, 29, 30): every example is a right command line of its own
 * command, every noun stands once in the overview, every `done` names what there is. */
#include <ctype.h>
#include <string.h>

#include "portal/cli/haasctl_table.h"
#include "tests/support/cmocka.h"

/* As a shell does: blanks between words, single quotes around one. */
static int words_of(char *line, char *ret[], int room)
{
	int count = 0;

	while (*line) {
		char end = *line == '\'' ? '\'' : ' ';

		line += *line == '\'';
		assert_true(count < room);
		ret[count++] = line;
		line += strcspn(line, end == '\'' ? "'" : " ");
		if (*line)
			*line++ = '\0';
		while (*line == ' ')
			line++;
	}
	return count;
}

static void test_examples(void **state)
{
	struct command_set set;
	CLEANUP(freep) struct command *commands = haasctl_table_new(&set);

	(void)state;
	assert_non_null(commands);
	assert_true(set.command_count > 150);
	for (size_t i = 0; i < set.command_count; i++) {
		const struct command *command = &set.commands[i];
		const struct command *meant;
		char *argv[40] = {(char[]){"haasctl"}};
		char line[160];
		int argc;

		if (!command->example)
			fail_msg("%s %s has no example", command->noun, command->verb);
		assert_true(text_copy(line, sizeof(line), command->example));
		/* "  haasctl EXAMPLE" is a line of help; the manual takes no double quotes. */
		if (strlen(line) + strlen("  haasctl ") > 80 || strchr(line, '"'))
			fail_msg("%s", command->example);
		argc = words_of(line, argv + 1, 38) + 1;
		meant = command_check(&set, argc, argv);
		if (meant != command)
			fail_msg("example of %s %s: %s", command->noun, command->verb,
				 command->example);
		/* Names are in full: an example is read, not typed. */
		assert_string_equal(argv[1], command->noun);
		if (command->verb[0])
			assert_string_equal(argv[2], command->verb);
	}
}

static void test_nouns(void **state)
{
	struct command_set set;
	CLEANUP(freep) struct command *commands = haasctl_table_new(&set);

	(void)state;
	assert_non_null(commands);
	for (size_t i = 0; i < set.command_count; i++) {
		size_t found = 0;

		for (size_t j = 0; j < set.noun_count; j++)
			found += strcmp(set.nouns[j].noun, set.commands[i].noun) == 0;
		if (found != 1)
			fail_msg("noun %s stands %zu times", set.commands[i].noun, found);
	}
	for (size_t j = 0; j < set.noun_count; j++) {
		bool used = false;

		for (size_t i = 0; i < set.command_count; i++)
			used = used || strcmp(set.nouns[j].noun, set.commands[i].noun) == 0;
		if (!used)
			fail_msg("no command has the noun %s", set.nouns[j].noun);
	}
}

/* "{1}" is a word that the command takes, "{*}" needs one; other names are the answer's. */
static void test_done(void **state)
{
	struct command_set set;
	CLEANUP(freep) struct command *commands = haasctl_table_new(&set);
	size_t told = 0;

	(void)state;
	assert_non_null(commands);
	for (size_t i = 0; i < set.command_count; i++) {
		const struct command *command = &set.commands[i];

		for (const char *at = command->done; at && (at = strchr(at, '{')); at++) {
			const char *end = strchr(at, '}');

			if (!end || end == at + 1 ||
			    (isdigit((unsigned char)at[1]) &&
			     (size_t)(at[1] - '0') > command->max_words) ||
			    (at[1] == '*' && command->max_words == 0))
				fail_msg("%s %s: %s", command->noun, command->verb, command->done);
		}
		told += command->done != NULL;
	}
	assert_true(told > 50);
}

static void test_near(void **state)
{
	struct command_set set;
	CLEANUP(freep) struct command *commands = haasctl_table_new(&set);

	(void)state;
	assert_non_null(commands);
	/* A synonym that is a noun or a verb itself could never be told. */
	for (size_t i = 0; i < set.synonym_count; i++) {
		bool meant = set.synonyms[i].meant[0] == '-' ||
			     strcmp(set.synonyms[i].meant, "json") == 0;

		for (size_t j = 0; j < set.command_count; j++)
			meant = meant || strcmp(set.commands[j].noun, set.synonyms[i].meant) == 0 ||
				strcmp(set.commands[j].verb, set.synonyms[i].meant) == 0;
		if (!meant)
			fail_msg("nothing is called %s", set.synonyms[i].meant);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_nouns),
		cmocka_unit_test(test_done),
		cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
