#include "common/cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli/command_help.h"

#define WORD_LIMIT   1100
#define REPEAT_LIMIT 63

/* What is parsed so far: option rows of the globals, then of the command once it is known. */
struct parse {
	const struct command_set *set;
	const struct command *command;
	struct option_row rows[64];
	size_t row_count;
	const char *values[64];
	const char *repeats[64][REPEAT_LIMIT + 1];
	const char *words[WORD_LIMIT];
	size_t word_count;
	bool help;
};

static int usage_error(const struct parse *parse, const char *what, const char *word)
{
	fprintf(stderr, "%s: %s%s%s\n", parse->set->program, what, word ? " " : "",
		word ? word : "");
	if (parse->command)
		fprintf(stderr, "  hint: %s %s %s --help\n", parse->set->program,
			parse->command->noun, parse->command->verb);
	else
		fprintf(stderr, "  hint: %s --help\n", parse->set->program);
	return EXIT_USAGE;
}

static void add_rows(struct parse *parse, const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count && parse->row_count < COUNT_OF(parse->rows); i++)
		parse->rows[parse->row_count++] = rows[i];
}

/* Exact name, or the letter; options are not abbreviated, so that scripts stay right when rows are
 * added. */
static size_t find_option(const struct parse *parse, const char *name, size_t length)
{
	size_t at = 0;

	for (; at < parse->row_count; at++) {
		const struct option_row *row = &parse->rows[at];

		if (strncmp(row->name, name, length) == 0 && row->name[length] == '\0')
			break;
		if (length == 2 && name[0] == '-' && row->letter && name[1] == row->letter)
			break;
	}
	return at;
}

static int set_value(struct parse *parse, size_t row, const char *value)
{
	size_t count = 0;

	parse->values[row] = value;
	if (parse->rows[row].kind != OPTION_REPEAT)
		return EXIT_OK;
	while (parse->repeats[row][count])
		count++;
	if (count == REPEAT_LIMIT)
		return usage_error(parse, "too many times", parse->rows[row].name);
	parse->repeats[row][count] = value;
	return EXIT_OK;
}

/* One "--name", "--name=value", "-x value" at argv[*at]. */
static int take_option(struct parse *parse, int argc, char **argv, int *at)
{
	const char *word = argv[*at];
	const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
	size_t row = find_option(parse, word, equals ? (size_t)(equals - word) : strlen(word));

	if (row == parse->row_count)
		return usage_error(parse, "unknown option", word);
	if (parse->rows[row].kind == OPTION_FLAG)
		return equals ? usage_error(parse, "takes no value:", parse->rows[row].name)
			      : set_value(parse, row, "1");
	if (equals)
		return set_value(parse, row, equals + 1);
	if (*at + 1 >= argc)
		return usage_error(parse, "needs a value:", parse->rows[row].name);
	*at += 1;
	return set_value(parse, row, argv[*at]);
}

static bool matches(const char *full, const char *word)
{
	return strncmp(full, word, strlen(word)) == 0;
}

/* Whether the table has `noun` in full; then longer nouns that begin with it do not count. */
static bool has_noun(const struct command_set *set, const char *noun)
{
	for (size_t i = 0; i < set->command_count; i++) {
		if (strcmp(set->commands[i].noun, noun) == 0)
			return true;
	}
	return false;
}

/* Noun and verb by unique prefix; an exact word wins over longer ones. */
static int find_command(struct parse *parse, const char *noun, const char *verb)
{
	const struct command_set *set = parse->set;
	const struct command *exact = NULL;
	const struct command *begun = NULL;
	size_t exact_count = 0;
	size_t begun_count = 0;
	bool noun_exact = has_noun(set, noun);
	bool noun_known = false;

	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (noun_exact ? strcmp(command->noun, noun) != 0 : !matches(command->noun, noun))
			continue;
		noun_known = true;
		if (!verb || !matches(command->verb, verb))
			continue;
		if (strcmp(command->verb, verb) == 0) {
			exact = command;
			exact_count++;
		} else {
			begun = command;
			begun_count++;
		}
	}
	if (!noun_known)
		return usage_error(parse, "unknown noun", noun);
	if (!verb) {
		command_help_noun(set, noun);
		return parse->help ? EXIT_OK : EXIT_USAGE;
	}
	if (exact_count + begun_count == 0)
		return usage_error(parse, "unknown verb", verb);
	if (exact_count > 1 || (exact_count == 0 && begun_count > 1))
		return usage_error(parse, "several commands begin with", verb);
	parse->command = exact ? exact : begun;
	return EXIT_OK;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Whether the next word belongs to this option. The command is not known yet, so its options are
 * looked for in all. */
static bool takes_next(const struct parse *parse, const char *word)
{
	size_t row = find_option(parse, word, strlen(word));

	if (row < parse->row_count)
		return parse->rows[row].kind != OPTION_FLAG;
	for (size_t i = 0; i < parse->set->command_count; i++) {
		const struct command *command = &parse->set->commands[i];

		for (size_t j = 0; j < command->option_count; j++) {
			const struct option_row *option = &command->options[j];

			if (strcmp(option->name, word) == 0 ||
			    (word[1] == option->letter && word[1] && word[2] == '\0'))
				return option->kind != OPTION_FLAG;
		}
	}
	return false;
}

/* Finds the first two words that are neither options nor their values. */
static void peek(const struct parse *parse, int argc, char **argv, const char *ret_words[2])
{
	size_t found = 0;

	for (int i = 1; i < argc && found < 2; i++) {
		if (strcmp(argv[i], "--") == 0)
			break;
		if (!is_option(argv[i]))
			ret_words[found++] = argv[i];
		else if (takes_next(parse, argv[i]))
			i++;
	}
}

static int take_all(struct parse *parse, int argc, char **argv)
{
	bool options = true;

	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && is_option(argv[i])) {
			int status = take_option(parse, argc, argv, &i);

			if (status != EXIT_OK)
				return status;
		} else if (parse->word_count < COUNT_OF(parse->words)) {
			parse->words[parse->word_count++] = argv[i];
		} else {
			return usage_error(parse, "too many words, from", argv[i]);
		}
	}
	return EXIT_OK;
}

/* --help, --version and the built-in words; -1 = go on. */
static int built_in(struct parse *parse, const char *const words[2])
{
	const struct command_set *set = parse->set;

	if (command_option(&(struct command_input){.options = parse->rows,
						   .option_count = parse->row_count,
						   .values = parse->values},
			   "--version")) {
		printf("%s %s\n", set->program, HAAS_VERSION);
		return EXIT_OK;
	}
	if (!words[0] || strcmp(words[0], "help") == 0) {
		if (words[0] && words[1])
			command_help_noun(set, words[1]);
		else
			command_help_all(set, parse->help || words[0] ? stdout : stderr);
		return parse->help || words[0] ? EXIT_OK : EXIT_USAGE;
	}
	if (strcmp(words[0], "completion") == 0)
		return command_completion(set, words[1] ? words[1] : "");
	if (strcmp(words[0], "manual") == 0) {
		command_manual(set);
		return EXIT_OK;
	}
	return -1;
}

static const struct option_row own_rows[] = {
	{"--help", 'h', OPTION_FLAG, NULL, "this text"},
	{"--version", 0, OPTION_FLAG, NULL, "the version"},
};

static int run(struct parse *parse, int argc, char **argv)
{
	const char *words[2] = {NULL, NULL};

	add_rows(parse, own_rows, COUNT_OF(own_rows));
	add_rows(parse, parse->set->globals, parse->set->global_count);
	peek(parse, argc, argv, words);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		parse->help =
			parse->help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
		if (strcmp(argv[i], "--version") == 0)
			parse->values[1] = "1";
	}
	int status = built_in(parse, words);
	if (status >= 0)
		return status;
	status = find_command(parse, words[0], words[1]);
	if (status != EXIT_OK || !parse->command)
		return status;
	if (parse->help) {
		command_help_one(parse->set, parse->command);
		return EXIT_OK;
	}
	add_rows(parse, parse->command->options, parse->command->option_count);
	status = take_all(parse, argc, argv);
	if (status != EXIT_OK)
		return status;
	struct command_input input = {
		.options = parse->rows,
		.option_count = parse->row_count,
		.values = parse->values,
		.repeats = &parse->repeats[0],
		.words = parse->words + 2,
		.word_count = parse->word_count - 2,
	};
	if (input.word_count < parse->command->min_words)
		return usage_error(parse, "something is missing:", parse->command->arguments);
	if (input.word_count > parse->command->max_words)
		return usage_error(parse, "too many words, from",
				   input.words[parse->command->max_words]);
	return parse->command->run(parse->set->context, &input);
}

int command_main(const struct command_set *set, int argc, char **argv)
{
	struct parse *parse = calloc(1, sizeof(*parse));

	if (!parse) {
		fprintf(stderr, "%s: out of memory\n", set->program);
		return EXIT_FAILED;
	}
	parse->set = set;
	int status = run(parse, argc, argv);
	free(parse);
	return status;
}

static size_t row_of(const struct command_input *input, const char *name)
{
	size_t at = 0;

	while (at < input->option_count && strcmp(input->options[at].name, name) != 0)
		at++;
	return at;
}

const char *command_option(const struct command_input *input, const char *name)
{
	size_t row = row_of(input, name);

	return row < input->option_count ? input->values[row] : NULL;
}

const char *const *command_options(const struct command_input *input, const char *name)
{
	size_t row = row_of(input, name);

	return row < input->option_count ? input->repeats[row] : NULL;
}
