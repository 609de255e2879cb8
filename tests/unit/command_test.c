// links: common_cli
/* Commands as rows: finding, parsing, refusing, telling about themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/cli/command.h"

#include "tests/support/cmocka.h"

struct seen {
	unsigned runs;
	char line[512]; /* verb, words, options as the command got them */
};

static int run_list(void *context, const struct command_input *input);

static const struct option_row list_options[] = {
	{"--state", 's', OPTION_VALUE, "STATE", "only these"},
	{"--label", 0, OPTION_REPEAT, "LABEL", "with this label"},
	{"--detail", 0, OPTION_FLAG, NULL, "say more"},
	{"--sort", 0, OPTION_VALUE, "name|age", "in this order"},
};
static const struct completion_row completions[] = {{"NODE", "node list -c name", false},
						    {"PLACE", "node try", true}};
static const struct option_row globals[] = {
	{"--output", 'o', OPTION_VALUE, "FORMAT", "table, json, jsonl or csv"},
	{"--quiet", 'q', OPTION_FLAG, NULL, "say less"},
};
static const struct command commands[] = {
	{"node", "import", "FILE", "imports nodes", NULL, 0, 1, 1, run_list, .example = "as typed"},
	{"node", "inspect", "NODE...", "inspects nodes", NULL, 0, 1, 1000, run_list,
	 .example = "as typed"},
	{"node", "list", "", "lists nodes", list_options, COUNT_OF(list_options), 0, 2, run_list,
	 .example = "as typed"},
	{"node", "listen", "", "listens", NULL, 0, 0, 0, run_list, .example = "as typed"},
	{"node", "power", "on|off NODE...", "power", NULL, 0, 2, 1000, run_list,
	 .example = "as typed"},
	{"nodes", "count", "", "counts", NULL, 0, 0, 0, run_list, .example = "as typed"},
	{"db", "status", "", "the database", NULL, 0, 0, 0, run_list, .example = "as typed"},
	{"deployment", "status", "", "a deployment", NULL, 0, 0, 0, run_list,
	 .example = "as typed"},
	{"deployment", "stat", "", "numbers", NULL, 0, 0, 0, run_list, .example = "as typed"},
	{"walk", "", "[PLACE]", "walks", list_options, COUNT_OF(list_options), 0, 1, run_list,
	 .example = "as typed"},
};

static const struct option_row sheet_rows[] = {{"name", 0, OPTION_VALUE, "NODE", "of the node"}};
static const struct command_list lists[] = {
	{"node", "import", "columns of the sheet", sheet_rows, COUNT_OF(sheet_rows)}};
static const struct noun_row nouns[] = {
	{"hardware", "node", "one of them"},
	{"hardware", "nodes", "all of them"},
	{"site", "db", "rows"},
	{"site", "deployment", "plans"},
	{"site", "walk", "on foot"},
};
static const struct synonym_row synonyms[] = {{"ls", "list"}, {"host", "node"}};

static int run_list(void *context, const struct command_input *input)
{
	struct seen *seen = context;
	const char *const *labels = command_options(input, "--label");
	struct text text = {0};

	seen->runs++;
	for (size_t i = 0; i < input->word_count; i++)
		text_addf(&text, "[%s]", input->words[i]);
	for (size_t i = 0; i < input->option_count; i++) {
		if (input->values[i])
			text_addf(&text, "%s=%s ", input->options[i].name, input->values[i]);
	}
	for (size_t i = 0; labels && labels[i]; i++)
		text_addf(&text, "+%s", labels[i]);
	assert_null(command_option(input, "--no-such"));
	assert_ptr_equal(input->command->run, run_list);
	(void)text_copy(seen->line, sizeof(seen->line), text_get(&text));
	text_done(&text);
	return EXIT_PARTIAL;
}

/* Runs "a b c"; what went to stdout and stderr lands in `ret_out`. */
static int run(struct seen *seen, const char *line, char *ret_out, size_t room)
{
	const struct command_set set = {.program = "tool",
					.summary = "does things",
					.globals = globals,
					.global_count = COUNT_OF(globals),
					.commands = commands,
					.command_count = COUNT_OF(commands),
					.completions = completions,
					.completion_count = COUNT_OF(completions),
					.lists = lists,
					.list_count = COUNT_OF(lists),
					.nouns = nouns,
					.noun_count = COUNT_OF(nouns),
					.synonyms = synonyms,
					.synonym_count = COUNT_OF(synonyms),
					.context = seen};
	char words[512];
	char program[] = "tool";
	char *argv[40] = {program};
	char *rest = words;
	int argc = 1;
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);
	int error = dup(STDERR_FILENO);
	size_t size;
	int status;

	assert_true(text_copy(words, sizeof(words), line));
	while ((argv[argc] = strtok_r(rest, " ", &rest)) != NULL)
		argc++;
	assert_non_null(file);
	(void)fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0 &&
		    dup2(fileno(file), STDERR_FILENO) >= 0);
	status = command_main(&set, argc, argv);
	(void)fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0);
	close(out);
	close(error);
	rewind(file);
	size = fread(ret_out, 1, room - 1, file);
	ret_out[size] = '\0';
	(void)fclose(file);
	return status;
}

static void test_parse(void **state)
{
	static const struct {
		const char *line, *seen;
	} rows[] = {
		{"node list", ""},
		{"nod list", NULL}, /* node and nodes, but only one has the verb */
		{"nodes count", ""},
		{"node list --state free a b", "[a][b]--state=free "},
		{"node list a --state=free b", "[a][b]--state=free "},
		{"--state free node -q list", "--quiet=1 --state=free "},
		{"-o json node list --label x --label=y --detail",
		 "--output=json --label=y --detail=1 +x+y"},
		{"node list -s held -s free", "--state=free "},
		{"node list --state= a", "[a]--state= "},
		{"node list -- --state -", "[--state][-]"},
		{"node list -", "[-]"},
		{"node imp f", "[f]"},
		{"de stat", ""},
		{"node list --sort age", "--sort=age "},
		{"node power off on up", "[off][on][up]"}, /* only the first place is a choice */
		{"deployment status", ""},
		{"walk", ""}, /* has no verbs */
		{"wal list --state x -q", "[list]--quiet=1 --state=x "},
	};
	char out[8192];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct seen seen = {0};
		int status = run(&seen, rows[i].line, out, sizeof(out));

		if (status != EXIT_PARTIAL || seen.runs != 1)
			fail_msg("%s: status %d, %s", rows[i].line, status, out);
		if (rows[i].seen)
			assert_string_equal(seen.line, rows[i].seen);
	}
}

static void test_refuse(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{"", "usage"},
		{"rack list", "unknown noun rack"},
		{"node", "node list"},
		{"node fly", "unknown verb fly"},
		{"node i x", "several commands begin with"},
		{"d status", "several commands begin with"}, /* of db and deployment */
		{"node list --colour", "unknown option --colour"},
		{"node list --state", "needs a value: --state"},
		{"node list --detail=yes", "takes no value: --detail"},
		{"node list a b c", "too many words, from c"},
		{"node import", "something is missing: FILE"},
		{"node import --state f x", "unknown option --state"},
		{"walk a b", "too many words, from b"},
		{"walk a --colour", "hint: tool walk --help"},
		/* user 30: the nearest word, or what it is called here */
		{"nodse list",
		 "unknown noun nodse\n  hint: did you mean node or nodes? there are node"},
		{"host list", "hint: did you mean node? there are node nodes db"},
		{"list nodes", "hint: did you mean node list? there are"},
		{"list node", "hint: did you mean node list? there are"},
		{"ls node", "hint: did you mean node list? there are"},
		{"node lsit", "unknown verb lsit\n  hint: did you mean list? node has import"},
		{"node ls", "hint: did you mean list? node has import"},
		{"node list --stat x", "hint: did you mean --state? tool node list --help"},
		{"node list --statt=free", "hint: did you mean --state? tool node list --help"},
		{"node list --sort aeg", "hint: did you mean age? choose from name age"},
		{"node power onn n1",
		 "power cannot be onn\n  hint: did you mean on? choose from on off"},
	};
	char out[8192];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct seen seen = {0};
		int status = run(&seen, rows[i].line, out, sizeof(out));

		if (status != EXIT_USAGE || seen.runs != 0 || !strstr(out, rows[i].message))
			fail_msg("%s: status %d, %s", rows[i].line, status, out);
	}
}

static void test_tell(void **state)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{"--help", "does things"},
		{"help",
		 "\nhardware\n  node         one of them: import inspect list listen power\n"
		 "  nodes        all of them: count\nsite\n"},
		{"help", "  walk         on foot\n"},
		{"node list --help", "lists nodes\n\nexample\n  tool as typed\n"},
		{"help node", "tool node import"},
		{"node --help", "tool node import"},
		{"node list --help", "with this label"},
		{"help node list", "with this label"},
		{"help node import",
		 "columns of the sheet\n  name NODE                of the node\n"},
		{"manual",
		 "columns of the sheet:\n.Bl -tag -width Ds -compact\n.It Li name Ar NODE\nof the node\n"},
		{"help node power", "usage: tool node power on|off NODE..."},
		{"node list -h", "--state STATE"},
		{"--version", "tool " HAAS_VERSION},
		{"completion bash", "complete "},
		{"completion zsh", "compdef"},
		{"completion fish", "complete -c tool"},
	};
	char out[65536];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct seen seen = {0};
		int status = run(&seen, rows[i].line, out, sizeof(out));

		if (status != EXIT_OK || seen.runs != 0 || !strstr(out, rows[i].text))
			fail_msg("%s: status %d, %s", rows[i].line, status, out);
	}
	assert_int_equal(run(&(struct seen){0}, "completion tcsh", out, sizeof(out)), EXIT_USAGE);
}

/* What bash offers for the last word of `line`, by the function that we print. */
static void complete(const char *line, char *ret, size_t room)
{
	static const char ask[] =
		"\n_tool_ask() { echo \"$*\"; }\n" /* instead of a server */
		"_tool_try() { printf '%%s\\n' \"${3}x\" 'a:$(touch>bad)' a:b:c a:bd/e:f; }\n"
		"COMP_WORDBREAKS=' :='\n"
		"set -- tool %s\nCOMP_WORDS=(\"$@\" %s)\n"
		"COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
		"_tool\necho \"${COMPREPLY[*]}\"\n";
	char path[] = "/tmp/haas-completion-XXXXXX";
	char command[64];
	char script[65536];
	int file = mkstemp(path);
	FILE *out = fdopen(file, "w");
	FILE *bash;
	size_t length = strlen(line);

	assert_non_null(out);
	assert_int_equal(run(&(struct seen){0}, "completion bash", script, sizeof(script)),
			 EXIT_OK);
	assert_true(fputs(script, out) >= 0);
	/* a blank at the end: the word is not begun */
	assert_true(fprintf(out, ask, line, line[length - 1] == ' ' ? "''" : "") > 0);
	assert_int_equal(fclose(out), 0);
	assert_true(text_format(command, sizeof(command), "bash %s 2>&1", path));
	bash = popen(command, "r");
	assert_non_null(bash);
	ret[fread(ret, 1, room - 1, bash)] = '\0';
	assert_int_equal(pclose(bash), 0);
	assert_int_equal(unlink(path), 0);
}

static void test_completion(void **state)
{
	static const struct {
		const char *line, *offered;
	} rows[] = {
		{"no", "node nodes\n"},
		{"node li", "list listen\n"},
		{"-o json node imp", "import\n"},
		{"node list --sort ", "name age\n"},
		{"node list --sort = a", "age\n"},
		{"node list --sort age --de", "--detail\n"},
		{"node power ", "on off\n"},
		{"node power on ", "node list -c name\n"},
		{"node inspect n1 n2 ", "node list -c name\n"},
		/* a name is never run; what a shell splits at ":" is one word; it wants what is
		   behind the last */
		{"node inspect n1 : e n2 ", "node list -c name\n"},
		{"node power on sw1 : 7 ", "node list -c name\n"},
		{"walk ", "x a:\\$\\(touch\\>bad\\) a:b:c a:bd/e:f\n"},
		{"walk a", "ax a:\\$\\(touch\\>bad\\) a:b:c a:bd/e:f\n"},
		{"walk a :", "x \\$\\(touch\\>bad\\) b:c bd/e:f\n"},
		{"walk a : b", "bx b:c bd/e:f\n"},
		{"walk a : bd/e : f", "fx f\n"},
		{"walk --sort = name z", "zx\n"},
	};
	char offered[1024];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		complete(rows[i].line, offered, sizeof(offered));
		if (strcmp(offered, rows[i].offered) != 0)
			fail_msg("%s: %s", rows[i].line, offered);
	}
}

/* The shell itself must accept what we print for it. */
static void test_completion_syntax(void **state)
{
	char out[65536];
	FILE *bash;

	(void)state;
	assert_int_equal(run(&(struct seen){0}, "completion bash", out, sizeof(out)), EXIT_OK);
	bash = popen("bash -n", "w");
	assert_non_null(bash);
	assert_true(fputs(out, bash) >= 0);
	assert_int_equal(pclose(bash), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_tell),
		cmocka_unit_test(test_completion),
		cmocka_unit_test(test_completion_syntax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
