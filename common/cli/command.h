/* Noun-verb commands as rows: they parse, print their own usage, and make the completions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/cli/choices.h"

enum option_kind { OPTION_FLAG, OPTION_VALUE, OPTION_REPEAT };

struct option_row {
	const char *name; /* "--image" */
	char letter;      /* 'o' or 0 */
	enum option_kind kind;
	const char *placeholder; /* "NAME"; "on|off" holds the value to these words */
	const char *help;
};

struct command;

struct command_input {
	const struct command *command;
	const struct option_row *options;
	size_t option_count;
	const char **values; /* one per option row: last value, "1" for a flag, NULL when absent */
	const char *(*repeats)[64]; /* OPTION_REPEAT values per row, NULL-ended */
	const char *const *words;   /* positional */
	size_t word_count;
};

struct command {
	const char *noun, *verb;          /* verb "": the noun has but this */
	const char *arguments;            /* "FILE", "on|off NODE..." */
	const char *help;                 /* one line */
	const struct option_row *options; /* of its own; globals come from command_set */
	size_t option_count;
	size_t min_words, max_words;
	int (*run)(void *context, const struct command_input *input); /* returns an exit status */
	const char *example; /* as typed behind the program's name: "node power on n1" */
	const char *done; /* what it says when it has changed something: "alert {*} acknowledged";
				the caller knows what stands in braces */
};

/* A noun in the overview of help: rows of one group stand together. */
struct noun_row {
	const char *group, *noun;
	const char *help; /* a few words */
};

/* Knows the words for a placeholder. It is a command of the set that writes them as CSV. Or it is
 * given the begin of the word, and writes the words that it may become, a line each. */
struct completion_row {
	const char *placeholder; /* "NODE" */
	const char *command;     /* "node list -c name", "drill --complete" */
	bool takes_word;
};

/* What a command reads besides words and options: its help and manual list it behind the options,
 * "columns of the sheet" of "node import". Rows are read as those of options are. */
struct command_list {
	const char *noun, *verb;
	const char *title;
	const struct option_row *rows;
	size_t count;
};

struct command_set {
	const char *program, *summary;
	const struct option_row *globals;
	size_t global_count;
	const struct command *commands;
	size_t command_count;
	const struct completion_row *completions;
	size_t completion_count;
	const struct command_list *lists;
	size_t list_count;
	const struct noun_row *nouns; /* each noun of the commands once */
	size_t noun_count;
	const struct synonym_row *synonyms; /* of nouns, verbs and options */
	size_t synonym_count;
	void *context;
};

/* Exit statuses of every tool of ours (docs: haasctl(1)). */
enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_FOUND = 3,
	EXIT_DENIED = 4,
	EXIT_CONFLICT = 5,
	EXIT_PARTIAL = 6,
	EXIT_TIMEOUT = 7,
	EXIT_UNREACHABLE = 8,
	EXIT_INTERRUPTED = 130
};

/* Finds the command (unique prefixes are enough), parses, runs. `help`, `--help`, `NOUN --help`,
 * `--version`, `completion SHELL` built in. */
int command_main(const struct command_set *set, int argc, char **argv);
/* The command that a command line names, when all of the line is right; nothing is run. NULL, after
 * telling what is wrong. */
const struct command *command_check(const struct command_set *set, int argc, char **argv);
/* Value of an option in the input, by name; NULL when absent. Globals included. */
const char *command_option(const struct command_input *input, const char *name);
/* NULL-ended list of a repeatable option. */
const char *const *command_options(const struct command_input *input, const char *name);
