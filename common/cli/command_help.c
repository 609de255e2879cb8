#include "common/cli/command_help.h"

#include <string.h>

#include "common/base/text.h"
#include "common/cli/wrap.h"

/* Rows of one noun stand together in the table. */
static bool first_of_noun(const struct command_set *set, size_t at)
{
	return at == 0 || strcmp(set->commands[at - 1].noun, set->commands[at].noun) != 0;
}

/* Left column of help texts; a longer left side has its help behind it, or below. */
#define LEFT_WIDTH 24
#define HELP_WIDTH 80

static void write_options(FILE *out, const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char left[128];
		char letter[8] = "";

		if (rows[i].letter)
			(void)text_format(letter, sizeof(letter), "-%c, ", rows[i].letter);
		(void)text_format(left, sizeof(left), "%s%s %s", letter, rows[i].name,
				  rows[i].placeholder ? rows[i].placeholder : "");
		if (strlen(left) <= LEFT_WIDTH)
			fprintf(out, "  %-*s %s\n", LEFT_WIDTH, left, rows[i].help);
		else if (2 + strlen(left) + 2 + strlen(rows[i].help) <= HELP_WIDTH)
			fprintf(out, "  %s  %s\n", left, rows[i].help);
		else
			fprintf(out, "  %s\n  %-*s %s\n", left, LEFT_WIDTH, "", rows[i].help);
	}
}

/* Column of the overview where the words behind a noun begin. */
#define NOUN_WIDTH 15

/* "  node         physical servers: list show ...", in as many lines as it needs. */
static void write_noun(const struct command_set *set, const char *noun, const char *help, FILE *out)
{
	CLEANUP(text_done) struct text words = {0};
	const char *between = *help ? ": " : "";
	char left[64];

	text_add(&words, help);
	for (size_t i = 0; i < set->command_count; i++) {
		if (strcmp(set->commands[i].noun, noun) != 0 || !set->commands[i].verb[0])
			continue;
		text_addf(&words, "%s%s", between, set->commands[i].verb);
		between = " ";
	}
	(void)text_format(left, sizeof(left), "  %-*s", NOUN_WIDTH - 2, noun);
	wrap_print(out, left, NOUN_WIDTH, text_get(&words));
}

/* A program of which no noun has verbs has commands of one word. */
static bool command_help_has_verbs(const struct command_set *set)
{
	for (size_t i = 0; i < set->command_count; i++)
		if (set->commands[i].verb[0])
			return true;
	return false;
}

void command_help_all(const struct command_set *set, FILE *out)
{
	const char *group = "";

	const char *words = command_help_has_verbs(set) ? "NOUN VERB" : "COMMAND";

	fprintf(out, "%s - %s\nusage: %s %s [WORD...] [OPTION...]\n", set->program, set->summary,
		set->program, words);
	for (size_t i = 0; i < set->noun_count; i++) {
		if (strcmp(set->nouns[i].group, group) != 0)
			fprintf(out, "%s\n", set->nouns[i].group);
		group = set->nouns[i].group;
		write_noun(set, set->nouns[i].noun, set->nouns[i].help, out);
	}
	fprintf(out, "options of every command\n");
	write_options(out, set->globals, set->global_count);
	fprintf(out, "%s help %s says more. completion bash|zsh|fish is for a shell.\n",
		set->program, command_help_has_verbs(set) ? "NOUN [VERB]" : "COMMAND");
}

static bool is_noun(const struct command_set *set, const char *noun)
{
	for (size_t i = 0; i < set->command_count; i++) {
		if (strcmp(set->commands[i].noun, noun) == 0)
			return true;
	}
	return false;
}

void command_help_noun(const struct command_set *set, const char *noun, FILE *out)
{
	size_t length = strlen(noun) + is_noun(set, noun); /* with the NUL: the whole word */

	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		if (strncmp(command->noun, noun, length) == 0)
			fprintf(out, "%s %s%s%s%s%s%s\n    %s\n", set->program, command->noun,
				command->verb[0] ? " " : "", command->verb,
				command->arguments[0] ? " " : "", command->arguments,
				command->option_count ? " [OPTION...]" : "", command->help);
	}
}

/* The next list of a command from `at` on, NULL behind the last. */
static const struct command_list *command_help_list(const struct command_set *set,
						    const struct command *command, size_t *at)
{
	while (*at < set->list_count) {
		const struct command_list *list = &set->lists[(*at)++];

		if (strcmp(list->noun, command->noun) == 0 &&
		    strcmp(list->verb, command->verb) == 0)
			return list;
	}
	return NULL;
}

void command_help_one(const struct command_set *set, const struct command *command)
{
	const struct command_list *list;
	size_t at = 0;

	printf("usage: %s %s%s%s%s%s%s\n\n%s\n", set->program, command->noun,
	       command->verb[0] ? " " : "", command->verb, command->arguments[0] ? " " : "",
	       command->arguments, command->option_count ? " [OPTION...]" : "", command->help);
	printf("\nexample\n  %s %s\n", set->program, command->example);
	if (command->option_count) {
		printf("\noptions\n");
		write_options(stdout, command->options, command->option_count);
	}
	while ((list = command_help_list(set, command, &at)) != NULL) {
		printf("\n%s\n", list->title);
		write_options(stdout, list->rows, list->count);
	}
	printf("\noptions of every command\n");
	write_options(stdout, set->globals, set->global_count);
}

/* --- completion: nouns, verbs, options, words with a list of choices, and those that the server knows, which are asked for with a limit of time --- */

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

/* The second word as the shell's patterns have it: anything where there are no verbs. */
static const char *verb_pattern(const struct command *command)
{
	return command->verb[0] ? command->verb : "*";
}

/* "words='a b'" for "a|b", "words=$(...)" for what the server knows, nothing for free text. */
static bool write_choices(const struct command_set *set, const char *before,
			  const char *placeholder, size_t length)
{
	if (memchr(placeholder, '|', length)) {
		printf("%swords='", before);
		for (size_t i = 0; i < length; i++)
			putchar(placeholder[i] == '|' ? ' ' : placeholder[i]);
		printf("' ;;\n");
		return true;
	}
	for (size_t i = 0; i < set->completion_count; i++) {
		if (strlen(set->completions[i].placeholder) != length ||
		    strncmp(set->completions[i].placeholder, placeholder, length) != 0)
			continue;
		if (set->completions[i].takes_word)
			/* the blank: where it knows nothing, files are no answer */
			printf("%swords=\" $(_%s_try %s \"$word\")\" ;;\n", before, set->program,
			       set->completions[i].command);
		else
			printf("%swords=$(_%s_ask %s) ;;\n", before, set->program,
			       set->completions[i].command);
		return true;
	}
	return false;
}

static void write_option_values(const struct command_set *set, const char *command,
				const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char before[160];

		if (!rows[i].placeholder)
			continue;
		(void)text_format(before, sizeof(before), "\t%s.%s) ", command, rows[i].name);
		(void)write_choices(set, before, rows[i].placeholder, strlen(rows[i].placeholder));
	}
}

/* One row per place: "node.power.2) on off", "node.power.*) the nodes". */
static void write_places(const struct command_set *set, const struct command *command)
{
	size_t place = command->verb[0] ? 2 : 1;

	for (const char *at = command->arguments; *at;) {
		size_t length = strcspn(at, " ");
		size_t name = strspn(at, "[");
		size_t name_length = strcspn(at + name, ".] ");
		bool more = at[name + name_length] == '.';
		char before[160];

		(void)text_format(before, sizeof(before),
				  more ? "\t\t%s.%s.*) " : "\t\t%s.%s.%zu) ", command->noun,
				  verb_pattern(command), place);
		(void)write_choices(set, before, at + name, name_length);
		at += length + (at[length] == ' ');
		place++;
	}
}

/* Whether a row before [command][option] has the same name. */
static bool named_before(const struct command_set *set, size_t command, size_t option)
{
	const char *name = set->commands[command].options[option].name;

	for (size_t i = 0; i <= command; i++) {
		size_t count = i < command ? set->commands[i].option_count : option;

		for (size_t j = 0; j < count; j++) {
			if (strcmp(set->commands[i].options[j].name, name) == 0)
				return true;
		}
	}
	return false;
}

/* "--name|-n|" of every option that takes a value, so that the value is not taken for a word. */
static void write_value_options(const struct command_set *set)
{
	for (size_t i = 0; i < set->global_count; i++) {
		if (set->globals[i].kind == OPTION_FLAG)
			continue;
		printf("%s|", set->globals[i].name);
		if (set->globals[i].letter)
			printf("-%c|", set->globals[i].letter);
	}
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];

		for (size_t j = 0; j < command->option_count; j++) {
			if (command->options[j].kind != OPTION_FLAG && !named_before(set, i, j))
				printf("%s|", command->options[j].name);
		}
	}
	printf("--)");
}

/* The words before the cursor: noun, verb, how many. bash splits "switch:port" at the ":" and
 * "--name=value" at the "=". */
static const char bash_head[] =
	"\tlocal noun= verb= words= count=0 i n=0 each\n"
	"\tlocal -a all=()\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\teach=${COMP_WORDS[i]}\n"
	"\t\tif [ $n -gt 0 ] && [[ $each == :* || ( -n $each && ${all[n-1]} == *: ) ]]; then\n"
	"\t\t\tall[n-1]=${all[n-1]}$each\n"
	"\t\telse all[n]=$each; n=$((n + 1)); fi\n"
	"\tdone\n"
	"\tlocal word=${all[n-1]} before=${all[n-2]}\n"
	"\tif [ \"$word\" = = ]; then word=\n"
	"\telif [ \"$before\" = = ]; then before=${all[n-3]}; fi\n"
	"\tfor ((i = 1; i < n - 1; i++)); do\n"
	"\t\tcase ${all[i]} in\n"
	"\t\t";
static const char bash_words[] =
	" [ \"${all[i+1]}\" != = ] || i=$((i + 1)); i=$((i + 1)) ;;\n"
	"\t\t-*|=) ;;\n"
	"\t\t*) case $count in 0) noun=${all[i]} ;; 1) verb=${all[i]} ;; esac\n"
	"\t\t\tcount=$((count + 1)) ;;\n"
	"\t\tesac\n"
	"\tdone\n";
/* Not by compgen -W: that would run what a name of somebody else's says in "$(...)"; and such a
 * name comes quoted. Of a word with a ":" the shell replaces what is behind the last one. */
static const char bash_tail[] =
	"\tesac\n"
	"\tlocal behind=\n"
	"\tcase $COMP_WORDBREAKS in *:*) behind=${word%\"${word##*:}\"} ;; esac\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r each; do\n"
	"\t\tcase $each in '') ;; \"$word\"*)\n"
	"\t\t\tprintf -v each %q \"${each#\"$behind\"}\"\n"
	"\t\t\tCOMPREPLY+=(\"$each\") ;;\n"
	"\t\tesac\n"
	"\tdone <<<\"${words// /$'\\n'}\"\n"
	"\t[ -n \"$words\" ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
	"}\n";

static void write_bash_options(const struct command_set *set)
{
	printf("\tcase $noun.$verb.$before in\n");
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];
		char name[80];

		(void)text_format(name, sizeof(name), "%s.%s", command->noun,
				  verb_pattern(command));
		write_option_values(set, name, command->options, command->option_count);
	}
	write_option_values(set, "*", set->globals, set->global_count);
	for (size_t i = 0; i < set->global_count; i++) {
		char before[32];

		if (!set->globals[i].letter || !set->globals[i].placeholder)
			continue;
		(void)text_format(before, sizeof(before), "\t*.-%c) ", set->globals[i].letter);
		(void)write_choices(set, before, set->globals[i].placeholder,
				    strlen(set->globals[i].placeholder));
	}
	printf("\t*) case $noun.$verb.$count.$word in\n");
	for (size_t i = 0; i < set->command_count; i++) {
		printf("\t\t%s.%s.*.-*) words='", set->commands[i].noun,
		       verb_pattern(&set->commands[i]));
		write_names(set->commands[i].options, set->commands[i].option_count);
		write_names(set->globals, set->global_count);
		printf("' ;;\n");
	}
	printf("\t\t*.-*) words='");
	write_names(set->globals, set->global_count);
	printf("' ;;\n\t\t*) case $noun.$verb.$count in\n\t\t..0) words='");
	write_nouns(set);
	printf("' ;;\n");
}

static void write_bash(const struct command_set *set)
{
	printf("_%s_ask() { timeout 0.3 %s \"$@\" -o csv 2>/dev/null | tail -n +2 | tr -d '\\r'; }\n"
	       "_%s_try() { timeout 0.3 %s \"$@\" 2>/dev/null; }\n"
	       "_%s() {\n%s",
	       set->program, set->program, set->program, set->program, set->program, bash_head);
	write_value_options(set);
	fputs(bash_words, stdout);
	write_bash_options(set);
	for (size_t i = 0; i < set->command_count; i++) {
		if (!first_of_noun(set, i) || !set->commands[i].verb[0])
			continue;
		printf("\t\t%s..1) words='", set->commands[i].noun);
		write_verbs(set, set->commands[i].noun);
		printf("' ;;\n");
	}
	for (size_t i = 0; i < set->command_count; i++)
		write_places(set, &set->commands[i]);
	printf("\t\tesac ;;\n\tesac ;;\n%scomplete -F _%s %s\n", bash_tail, set->program,
	       set->program);
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

static void write_fish_options(const struct command_set *set, const char *when,
			       const struct option_row rows[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		printf("complete -c %s%s -l %s%s -d ", set->program, when, rows[i].name + 2,
		       rows[i].kind == OPTION_FLAG ? "" : " -r");
		write_quoted(rows[i].help);
		if (rows[i].placeholder && strchr(rows[i].placeholder, '|')) {
			printf(" -f -a '");
			for (const char *at = rows[i].placeholder; *at; at++)
				putchar(*at == '|' ? ' ' : *at);
			putchar('\'');
		}
		putchar('\n');
	}
}

static void write_fish(const struct command_set *set)
{
	for (size_t i = 0; i < set->command_count; i++) {
		const struct command *command = &set->commands[i];
		char when[160];

		if (first_of_noun(set, i))
			printf("complete -c %s -n __fish_use_subcommand -f -a %s\n", set->program,
			       command->noun);
		if (!command->verb[0]) {
			(void)text_format(when, sizeof(when),
					  " -n '__fish_seen_subcommand_from %s'", command->noun);
			write_fish_options(set, when, command->options, command->option_count);
			continue;
		}
		printf("complete -c %s -n '__fish_seen_subcommand_from %s' -f -a %s -d ",
		       set->program, command->noun, command->verb);
		write_quoted(command->help);
		putchar('\n');
		(void)text_format(
			when, sizeof(when),
			" -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s'",
			command->noun, command->verb);
		write_fish_options(set, when, command->options, command->option_count);
	}
	write_fish_options(set, "", set->globals, set->global_count);
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

static void write_manual_lists(const struct command_set *set, const struct command *command)
{
	const struct command_list *list;
	size_t at = 0;

	while ((list = command_help_list(set, command, &at)) != NULL) {
		printf(".Pp\n%s:\n.Bl -tag -width Ds -compact\n", list->title);
		for (size_t i = 0; i < list->count; i++)
			printf(".It Li %s Ar %s\n%s\n", list->rows[i].name,
			       list->rows[i].placeholder, list->rows[i].help);
		printf(".El\n");
	}
}

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
		printf(".It Ic %s%s%s", command->noun, command->verb[0] ? " " : "", command->verb);
		if (command->arguments[0])
			printf(" Ar %s", command->arguments);
		printf("\n%s\n.Dl %s %s\n", command->help, set->program, command->example);
		write_manual_options(command->options, command->option_count);
		write_manual_lists(set, command);
		if (i + 1 == set->command_count || first_of_noun(set, i + 1))
			printf(".El\n");
	}
}
