#include "common/cli/command_unknown.h"

#include <stdio.h>
#include <string.h>

static void command_unknown_nearest(const struct command_set *set, const struct choices *choices,
				    const char *word, struct text *hint)
{
	const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;

	choices_add_nearest(hint, choices, word, equals ? (size_t)(equals - word) : strlen(word),
			    set->synonyms, set->synonym_count);
}

/* The verbs of `noun`, or the nouns; of both those that begin with `begin`. */
static void command_unknown_choices(const struct command_set *set, const char *noun,
				    const char *begin, struct choices *ret)
{
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];
		const char *word = noun ? command->verb : command->noun;

		if ((!noun || strcmp(command->noun, noun) == 0) &&
		    strncmp(word, begin, strlen(begin)) == 0)
			choices_add(ret, word, strlen(word));
	}
}

/* The command `noun verb`; "nodes" is node. */
static const struct command *command_unknown_find(const struct command_set *set, const char *noun,
						  const char *verb)
{
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];
		size_t length = strlen(command->noun);

		if (strncmp(noun, command->noun, length) == 0 &&
		    (noun[length] == '\0' || strcmp(noun + length, "s") == 0) &&
		    strcmp(command->verb, verb) == 0)
			return command;
	}
	return NULL;
}

/* What "get nodes" means: node list. */
static const struct command *command_unknown_swapped(const struct command_set *set,
						     const char *first, const char *second)
{
	const struct command *found = command_unknown_find(set, second, first);

	for (size_t i = 0; !found && i < set->synonym_count; i++) {
		if (strcmp(set->synonyms[i].said, first) == 0)
			found = command_unknown_find(set, second, set->synonyms[i].meant);
	}
	return found;
}

int command_unknown_noun(const struct command_set *set, const char *noun, const char *after)
{
	const struct command *swapped = after ? command_unknown_swapped(set, noun, after) : NULL;
	CLEANUP(text_done) struct text hint = {0};
	struct choices nouns = {0};

	fprintf(stderr, "%s: unknown noun %s\n", set->program, noun);
	command_unknown_choices(set, NULL, "", &nouns);
	if (swapped)
		text_addf(&hint, "did you mean %s %s? ", swapped->noun, swapped->verb);
	else
		command_unknown_nearest(set, &nouns, noun, &hint);
	text_add(&hint, "there are");
	choices_add_all(&hint, &nouns);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}

int command_unknown_verb(const struct command_set *set, const char *noun, const char *verb)
{
	CLEANUP(text_done) struct text hint = {0};
	struct choices words = {0};

	fprintf(stderr, "%s: unknown verb %s\n", set->program, verb);
	command_unknown_choices(set, noun, "", &words);
	if (noun)
		command_unknown_nearest(set, &words, verb, &hint);
	text_addf(&hint, "%s %s", noun ? noun : "there", noun ? "has" : "are");
	choices_add_all(&hint, &words);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}

int command_several(const struct command_set *set, const char *noun, const char *said,
		    const char *verb)
{
	CLEANUP(text_done) struct text hint = {0};
	struct choices words = {0};

	fprintf(stderr, "%s: several commands begin with %s %s\n", set->program, said, verb);
	command_unknown_choices(set, noun, noun ? verb : said, &words);
	text_addf(&hint, "%s %s", noun ? noun : "there", noun ? "has" : "are");
	choices_add_all(&hint, &words);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}

int command_unknown_option(const struct command_set *set, const struct command *command,
			   const struct choices *options, const char *word)
{
	CLEANUP(text_done) struct text hint = {0};

	fprintf(stderr, "%s: unknown option %s\n", set->program, word);
	command_unknown_nearest(set, options, word, &hint);
	text_addf(&hint, "%s %s%s%s --help", set->program, command->noun,
		  command->verb[0] ? " " : "", command->verb);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}

int command_unknown_choice(const struct command_set *set, const char *name, const char *word,
			   const char *choices, size_t length)
{
	CLEANUP(text_done) struct text hint = {0};
	struct choices words = {0};

	fprintf(stderr, "%s: %s cannot be %s\n", set->program, name, *word ? word : "empty");
	choices_add_words(&words, choices, length);
	command_unknown_nearest(set, &words, word, &hint);
	text_add(&hint, "choose from");
	choices_add_all(&hint, &words);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}
