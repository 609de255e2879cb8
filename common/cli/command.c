#include "common/cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli/command_help.h"
#include "common/cli/command_unknown.h"

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
	bool help, version;
};

static int usage_error(const struct parse *parse, const char *what, const char *word)
{
	fprintf(stderr, "%s: %s%s%s\n", parse->set->program, what, word ? " " : "",
		word ? word : "");
	if (parse->command)
		fprintf(stderr, "  hint: %s %s%s%s --help\n", parse->set->program,
			parse->command->noun, parse->command->verb[0] ? " " : "",
			parse->command->verb);
	else
		fprintf(stderr, "  hint: %s --help\n", parse->set->program);
	return EXIT_USAGE;
}

/* A placeholder of several words is the list of what may be said: "on|off|cycle". */
static bool may_be(const char *placeholder, size_t length, const char *word)
{
	const char *at = placeholder;

	if (!memchr(placeholder, '|', length))
		return true;
	while (at < placeholder + length) {
		size_t part = strcspn(at, "| ");

		if (strlen(word) == part && strncmp(at, word, part) == 0)
			return true;
		at += part + 1;
	}
	return false;
}

static void command_add_rows(struct parse *parse, const struct option_row rows[], size_t count)
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
	const struct option_row *option = &parse->rows[row];
	size_t count = 0;

	if (option->placeholder && !may_be(option->placeholder, strlen(option->placeholder), value))
		return command_unknown_choice(parse->set, option->name, value, option->placeholder,
					      strlen(option->placeholder));
	parse->values[row] = value;
	if (option->kind != OPTION_REPEAT)
		return EXIT_OK;
	while (parse->repeats[row][count])
		count++;
	if (count == REPEAT_LIMIT)
		return usage_error(parse, "too many times", option->name);
	parse->repeats[row][count] = value;
	return EXIT_OK;
}

static int unknown_option(const struct parse *parse, const char *word)
{
	struct choices names = {0};

	for (size_t i = 0; i < parse->row_count; i++)
		choices_add(&names, parse->rows[i].name, strlen(parse->rows[i].name));
	return command_unknown_option(parse->set, parse->command, &names, word);
}

/* One "--name", "--name=value", "-x value" at argv[*at]. */
static int command_take_option(struct parse *parse, int argc, char **argv, int *at)
{
	const char *word = argv[*at];
	const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
	size_t row = find_option(parse, word, equals ? (size_t)(equals - word) : strlen(word));

	if (row == parse->row_count)
		return unknown_option(parse, word);
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

static bool command_matches(const char *full, const char *word)
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

/* What a noun and a verb may mean: exact words win over longer ones. */
struct found {
	const struct command *exact, *begun;
	size_t exact_count, begun_count;
	const char *noun; /* as the table writes it; the first of several */
	bool several_nouns;
};

static struct found command_look_up(const struct command_set *set, const char *noun,
				    const char *verb)
{
	struct found found = {0};
	bool noun_exact = has_noun(set, noun);

	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (noun_exact ? strcmp(command->noun, noun) != 0
			       : !command_matches(command->noun, noun))
			continue;
		found.several_nouns = found.several_nouns ||
				      (found.noun && strcmp(found.noun, command->noun) != 0);
		found.noun = found.noun ? found.noun : command->noun;
		if (!verb || !command_matches(command->verb, verb))
			continue;
		if (strcmp(command->verb, verb) == 0) {
			found.exact = command;
			found.exact_count++;
		} else {
			found.begun = command;
			found.begun_count++;
		}
	}
	return found;
}

/* The command of a noun that has no verbs. */
static const struct command *command_alone(const struct command_set *set, const char *noun)
{
	for (size_t i = 0; i < set->command_count; i++) {
		if (strcmp(set->commands[i].noun, noun) == 0 && !set->commands[i].verb[0])
			return &set->commands[i];
	}
	return NULL;
}

/* Noun and verb by unique prefix. */
static int find_command(struct parse *parse, const char *noun, const char *verb)
{
	const struct command_set *set = parse->set;
	struct found found = command_look_up(set, noun, verb);

	if (!found.noun)
		return command_unknown_noun(set, noun, verb);
	parse->command = found.several_nouns ? NULL : command_alone(set, found.noun);
	if (parse->command)
		return EXIT_OK;
	if (!verb) {
		command_help_noun(set, noun, parse->help ? stdout : stderr);
		return parse->help ? EXIT_OK : EXIT_USAGE;
	}
	if (found.exact_count + found.begun_count == 0)
		return command_unknown_verb(set, found.several_nouns ? NULL : found.noun, verb);
	if (found.exact_count > 1 || (found.exact_count == 0 && found.begun_count > 1))
		return command_several(set, found.several_nouns ? NULL : found.noun, noun, verb);
	parse->command = found.exact ? found.exact : found.begun;
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

#define PEEK_COUNT 3 /* "help NOUN VERB" */

/* Finds the first words that are neither options nor their values. */
static void command_peek(const struct parse *parse, int argc, char **argv,
			 const char *ret_words[PEEK_COUNT])
{
	size_t found = 0;

	for (int i = 1; i < argc && found < PEEK_COUNT; i++) {
		if (strcmp(argv[i], "--") == 0)
			break;
		if (!is_option(argv[i]))
			ret_words[found++] = argv[i];
		else if (takes_next(parse, argv[i]))
			i++;
	}
}

static int command_take_all(struct parse *parse, int argc, char **argv)
{
	bool options = true;

	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && is_option(argv[i])) {
			int status = command_take_option(parse, argc, argv, &i);

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

static int command_help(struct parse *parse, const char *noun, const char *verb)
{
	parse->help = true;
	if (!noun) {
		command_help_all(parse->set, stdout);
		return EXIT_OK;
	}
	int status = find_command(parse, noun, verb);
	if (status == EXIT_OK && parse->command)
		command_help_one(parse->set, parse->command);
	return status;
}

/* --version and the built-in words; -1 = go on. */
static int built_in(struct parse *parse, const char *const words[PEEK_COUNT])
{
	const struct command_set *set = parse->set;

	if (parse->version) {
		printf("%s %s\n", set->program, HAAS_VERSION);
		return EXIT_OK;
	}
	if (!words[0]) {
		command_help_all(set, parse->help ? stdout : stderr);
		return parse->help ? EXIT_OK : EXIT_USAGE;
	}
	if (strcmp(words[0], "help") == 0)
		return command_help(parse, words[1], words[1] ? words[2] : NULL);
	if (strcmp(words[0], "completion") == 0)
		return command_completion(set, words[1] ? words[1] : "");
	if (strcmp(words[0], "manual") == 0) {
		command_manual(set);
		return EXIT_OK;
	}
	return -1;
}

/* Words by their place, as the command's arguments say: those with a list of choices are held to
 * it. */
static int command_check_words(const struct parse *parse, const struct command_input *input)
{
	const struct command *command = parse->command;
	const char *at = command->arguments;

	if (input->word_count < command->min_words)
		return usage_error(parse, "something is missing:", command->arguments);
	if (input->word_count > command->max_words)
		return usage_error(parse, "too many words, from", input->words[command->max_words]);
	for (size_t i = 0; i < input->word_count && *at; i++) {
		size_t length = strcspn(at, " ");

		if (!may_be(at, length, input->words[i]))
			return command_unknown_choice(parse->set, command->verb, input->words[i],
						      at, length);
		at += length + (at[length] == ' ');
	}
	return EXIT_OK;
}

static const struct option_row own_rows[] = {
	{"--help", 'h', OPTION_FLAG, NULL, "this text"},
	{"--version", 0, OPTION_FLAG, NULL, "the version"},
};

/* --help and --version count wherever they stand. */
static void find_own(struct parse *parse, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		parse->help =
			parse->help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
		parse->version = parse->version || strcmp(argv[i], "--version") == 0;
	}
}

/* A whole command line. An exit status, after telling; *ret is written when a command is to be run.
 */
static int command_parse(struct parse *parse, int argc, char **argv, struct command_input *ret)
{
	const char *words[PEEK_COUNT] = {NULL};

	command_add_rows(parse, own_rows, COUNT_OF(own_rows));
	command_add_rows(parse, parse->set->globals, parse->set->global_count);
	command_peek(parse, argc, argv, words);
	find_own(parse, argc, argv);
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
	command_add_rows(parse, parse->command->options, parse->command->option_count);
	status = command_take_all(parse, argc, argv);
	if (status != EXIT_OK)
		return status;
	size_t named = parse->command->verb[0] ? 2 : 1;
	struct command_input input = {
		.command = parse->command,
		.options = parse->rows,
		.option_count = parse->row_count,
		.values = parse->values,
		.repeats = &parse->repeats[0],
		.words = parse->words + named,
		.word_count = parse->word_count - named,
	};
	status = command_check_words(parse, &input);
	if (status == EXIT_OK)
		*ret = input;
	return status;
}

static struct parse *command_parse_new(const struct command_set *set)
{
	struct parse *parse = calloc(1, sizeof(*parse));

	if (!parse)
		fprintf(stderr, "%s: out of memory\n", set->program);
	else
		parse->set = set;
	return parse;
}

int command_main(const struct command_set *set, int argc, char **argv)
{
	CLEANUP(freep) struct parse *parse = command_parse_new(set);
	struct command_input input = {0};
	int status = parse ? command_parse(parse, argc, argv, &input) : EXIT_FAILED;

	return input.command ? input.command->run(set->context, &input) : status;
}

const struct command *command_check(const struct command_set *set, int argc, char **argv)
{
	CLEANUP(freep) struct parse *parse = command_parse_new(set);
	struct command_input input = {0};

	if (parse)
		(void)command_parse(parse, argc, argv, &input);
	return input.command;
}

static size_t command_row_of(const struct command_input *input, const char *name)
{
	size_t at = 0;

	while (at < input->option_count && strcmp(input->options[at].name, name) != 0)
		at++;
	return at;
}

const char *command_option(const struct command_input *input, const char *name)
{
	size_t row = command_row_of(input, name);

	return row < input->option_count ? input->values[row] : NULL;
}

const char *const *command_options(const struct command_input *input, const char *name)
{
	size_t row = command_row_of(input, name);

	return row < input->option_count ? input->repeats[row] : NULL;
}
