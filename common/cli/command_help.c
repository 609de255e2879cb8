#include "common/cli/command_help.h"

#include <string.h>

/* Rows of one noun stand together in the table. */
static bool first_of_noun(const struct command_set *set, size_t at)
{
	return at == 0 || strcmp(set->commands[at - 1].noun, set->commands[at].noun) != 0;
}

static void write_options(FILE *out, const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char left[64];

		if (rows[i].letter)
			snprintf(left, sizeof(left), "-%c, %s %s", rows[i].letter, rows[i].name,
				 rows[i].placeholder ? rows[i].placeholder : "");
		else
			snprintf(left, sizeof(left), "%s %s", rows[i].name,
				 rows[i].placeholder ? rows[i].placeholder : "");
		fprintf(out, "  %-26s %s\n", left, rows[i].help);
	}
}

void command_help_all(const struct command_set *set, FILE *out)
{
	fprintf(out, "%s - %s\n\nusage: %s NOUN VERB [WORD...] [OPTION...]\n", set->program,
		set->summary, set->program);
	for (size_t i = 0; i < set->command_count; i++) {
		if (first_of_noun(set, i))
			fprintf(out, "\n%s\n", set->commands[i].noun);
		fprintf(out, "  %-14s %s\n", set->commands[i].verb, set->commands[i].help);
	}
	fprintf(out, "\noptions of every command\n");
	write_options(out, set->globals, set->global_count);
	fprintf(out,
		"\n%s NOUN --help, %s NOUN VERB --help say more; nouns and verbs may be "
		"abbreviated.\n%s completion bash|zsh|fish writes completions.\n",
		set->program, set->program, set->program);
}

void command_help_noun(const struct command_set *set, const char *noun)
{
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (strncmp(command->noun, noun, strlen(noun)) == 0)
			printf("%s %s %s %s\n    %s\n", set->program, command->noun, command->verb,
			       command->arguments, command->help);
	}
}

void command_help_one(const struct command_set *set, const struct command *command)
{
	printf("usage: %s %s %s %s%s\n\n%s\n", set->program, command->noun, command->verb,
	       command->arguments, command->option_count ? " [OPTION...]" : "", command->help);
	if (command->option_count) {
		printf("\noptions\n");
		write_options(stdout, command->options, command->option_count);
	}
	printf("\noptions of every command\n");
	write_options(stdout, set->globals, set->global_count);
}

/* --- completion: nouns, verbs and options by position; the words after them are the server's ---
 */

static void write_nouns(const struct command_set *set)
{
	for (size_t i = 0; i < set->command_count; i++) {
		if (first_of_noun(set, i))
			printf("%s ", set->commands[i].noun);
	}
	printf("help completion");
}

static void write_verbs(const struct command_set *set, const char *noun)
{
	for (size_t i = 0; i < set->command_count; i++) {
		if (strcmp(set->commands[i].noun, noun) == 0)
			printf("%s ", set->commands[i].verb);
	}
}

static void write_names(const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s ", rows[i].name);
}

static void write_bash(const struct command_set *set)
{
	printf("_%s() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} noun=${COMP_WORDS[1]} "
	       "verb=${COMP_WORDS[2]} words=\n",
	       set->program);
	printf("\tif [ $COMP_CWORD = 1 ]; then words='");
	write_nouns(set);
	printf("'\n\telif [ $COMP_CWORD = 2 ]; then case $noun in\n");
	for (size_t i = 0; i < set->command_count; i++) {
		if (!first_of_noun(set, i))
			continue;
		printf("\t\t%s) words='", set->commands[i].noun);
		write_verbs(set, set->commands[i].noun);
		printf("' ;;\n");
	}
	printf("\t\tesac\n\telse case $noun.$verb in\n");
	for (size_t i = 0; i < set->command_count; i++) {
		printf("\t\t%s.%s) words='", set->commands[i].noun, set->commands[i].verb);
		write_names(set->commands[i].options, set->commands[i].option_count);
		write_names(set->globals, set->global_count);
		printf("' ;;\n");
	}
	printf("\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n\t[ ${#COMPREPLY[@]} "
	       "-gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\ncomplete -F _%s %s\n",
	       set->program, set->program);
}

static void write_zsh(const struct command_set *set)
{
	printf("#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", set->program);
	write_bash(set);
}

/* fish reads help texts as descriptions; single quotes inside them are escaped. */
static void write_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void write_fish(const struct command_set *set)
{
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (first_of_noun(set, i))
			printf("complete -c %s -n __fish_use_subcommand -f -a %s\n", set->program,
			       command->noun);
		printf("complete -c %s -n '__fish_seen_subcommand_from %s' -f -a %s -d ",
		       set->program, command->noun, command->verb);
		write_quoted(command->help);
		putchar('\n');
		for (size_t j = 0; j < command->option_count; j++) {
			printf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s -d ",
			       set->program, command->verb, command->options[j].name + 2);
			write_quoted(command->options[j].help);
			putchar('\n');
		}
	}
}

int command_completion(const struct command_set *set, const char *shell)
{
	static const struct {
		const char *name;
		void (*write)(const struct command_set *set);
	} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].write(set);
			return EXIT_OK;
		}
	}
	fprintf(stderr, "%s: completion for which shell? bash, zsh or fish\n", set->program);
	return EXIT_USAGE;
}

/* --- the manual page --- */

static void write_manual_options(const struct option_row rows[], size_t count)
{
	if (count == 0)
		return;
	printf(".Bl -tag -width Ds -compact\n");
	for (size_t i = 0; i < count; i++) {
		printf(".It Fl Fl %s", rows[i].name + 2);
		if (rows[i].letter)
			printf(" , Fl %c", rows[i].letter);
		if (rows[i].placeholder)
			printf(" Ar %s", rows[i].placeholder);
		printf("\n%s\n", rows[i].help);
	}
	printf(".El\n");
}

void command_manual(const struct command_set *set)
{
	printf(".Sh OPTIONS OF EVERY COMMAND\n");
	write_manual_options(set->globals, set->global_count);
	printf(".Sh COMMANDS\n");
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (first_of_noun(set, i))
			printf(".Ss %s\n.Bl -tag -width Ds\n", command->noun);
		printf(".It Ic %s %s", command->noun, command->verb);
		if (command->arguments[0])
			printf(" Ar %s", command->arguments);
		printf("\n%s\n", command->help);
		write_manual_options(command->options, command->option_count);
		if (i + 1 == set->command_count || first_of_noun(set, i + 1))
			printf(".El\n");
	}
}
