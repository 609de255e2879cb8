#include "tests/sim/command_line/switch_cli_shell.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_shell_wire.h"

/* --- files --- */

/* Its place; their number when it is not there. */
static size_t switch_cli_shell_place_of(const struct cli_store *store, const char *path)
{
	size_t i = 0;

	while (i < COUNT_OF(store->files) &&
	       (!store->files[i].text || strcmp(store->files[i].path, path) != 0))
		i++;
	return i;
}

const char *cli_file_get(const struct cli_store *store, const char *path)
{
	size_t place = switch_cli_shell_place_of(store, path);

	return place < COUNT_OF(store->files) ? store->files[place].text : NULL;
}

bool cli_file_put(struct cli_store *store, const char *path, const char *text, bool append)
{
	size_t place = switch_cli_shell_place_of(store, path);
	struct cli_file *file;
	struct text whole = {0};

	if (place == COUNT_OF(store->files)) {
		for (place = 0; place < COUNT_OF(store->files) && store->files[place].text;)
			place++;
	}
	file = place < COUNT_OF(store->files) ? &store->files[place] : NULL;
	if (!file || !text_copy(file->path, sizeof(file->path), path))
		return false;
	text_add(&whole, append && file->text ? file->text : "");
	text_add(&whole, text);
	free(file->text);
	file->text = text_take(&whole);
	return file->text != NULL;
}

bool cli_file_remove(struct cli_store *store, const char *path)
{
	size_t place = switch_cli_shell_place_of(store, path);

	if (place == COUNT_OF(store->files))
		return false;
	free(store->files[place].text);
	store->files[place] = (struct cli_file){0};
	return true;
}

/* --- programs that every Linux has --- */

static int run_echo(struct shell_call *call)
{
	bool is_bare = call->argc > 1 && strcmp(call->argv[1], "-n") == 0;

	for (int i = is_bare ? 2 : 1; i < call->argc; i++)
		text_addf(call->out, "%s%s", call->argv[i], i + 1 < call->argc ? " " : "");
	text_add(call->out, is_bare ? "" : "\n");
	return 0;
}

/* %s and the usual escapes; again and again while there are arguments. */
static int run_printf(struct shell_call *call)
{
	int next = 2;
	bool took;

	if (call->argc < 2) {
		text_add(call->err, "bash: printf: usage: printf [-v var] format [arguments]\n");
		return 2;
	}
	do {
		took = false;
		for (const char *at = call->argv[1]; *at; at++) {
			if (at[0] == '%' && at[1] == 's') {
				text_add(call->out, next < call->argc ? call->argv[next] : "");
				next++;
				at++;
				took = true;
			} else if (at[0] == '\\' && at[1] == 'n') {
				text_add(call->out, "\n");
				at++;
			} else {
				text_add_bytes(call->out, at, 1);
				at += at[0] == '%' && at[1] == '%';
			}
		}
	} while (took && next < call->argc);
	return 0;
}

static int run_cat(struct shell_call *call)
{
	int status = 0;

	if (call->argc == 1 && call->in)
		text_add(call->out, text_get(call->in));
	for (int i = 1; i < call->argc; i++) {
		const char *file = cli_file_get(call->session->device->store, call->argv[i]);
		bool is_in = call->in && (strcmp(call->argv[i], "-") == 0 ||
					  strcmp(call->argv[i], "/dev/stdin") == 0);

		if (is_in) {
			text_add(call->out, text_get(call->in));
		} else if (file) {
			text_add(call->out, file);
		} else {
			text_addf(call->err, "cat: %s: No such file or directory\n", call->argv[i]);
			status = 1;
		}
	}
	return status;
}

static int run_tee(struct shell_call *call)
{
	const char *in = call->in ? text_get(call->in) : "";

	text_add(call->out, in);
	for (int i = 1; i < call->argc; i++)
		(void)cli_file_put(call->session->device->store, call->argv[i], in, false);
	return 0;
}

static int run_rm(struct shell_call *call)
{
	bool is_forced = call->argc > 1 && strcmp(call->argv[1], "-f") == 0;
	int status = 0;

	for (int i = is_forced ? 2 : 1; i < call->argc; i++) {
		if (cli_file_remove(call->session->device->store, call->argv[i]) || is_forced)
			continue;
		text_addf(call->err, "rm: cannot remove '%s': No such file or directory\n",
			  call->argv[i]);
		status = 1;
	}
	return status;
}

static int run_true(struct shell_call *call)
{
	(void)call;
	return 0;
}

static int run_false(struct shell_call *call)
{
	(void)call;
	return 1;
}

static int run_exit(struct shell_call *call)
{
	struct cli_session *session = call->session;

	if (session->mode == CLI_ENABLE && !session->is_raw)
		session->mode = CLI_EXEC; /* out of root's shell */
	else
		session->is_over = true;
	text_add(call->out, session->is_over ? "logout\n" : "exit\n");
	return 0;
}

static int run_root(struct shell_call *call)
{
	if (!call->is_root) {
		text_add(call->err, "Password: su: Authentication failure\n");
		return 1;
	}
	call->session->mode = CLI_ENABLE;
	return 0;
}

static int run_whoami(struct shell_call *call)
{
	text_add(call->out, call->is_root ? "root\n" : "admin\n");
	return 0;
}

static int run_hostname(struct shell_call *call)
{
	text_addf(call->out, "%s\n", call->session->device->hostname);
	return 0;
}

static const struct shell_program switch_cli_shell_builtins[] = {
	{"echo", run_echo},     {"printf", run_printf},
	{"cat", run_cat},       {"tee", run_tee},
	{"rm", run_rm},         {"true", run_true},
	{":", run_true},        {"false", run_false},
	{"exit", run_exit},     {"logout", run_exit},
	{"su", run_root},       {"bash", run_root},
	{"whoami", run_whoami}, {"hostname", run_hostname},
	{"stty", run_true},     {"export", run_true},
	{"unset", run_true},    {"set", run_true},
	{"alias", run_true},
};

static const struct shell_program *switch_cli_shell_find(const struct shell_program *programs,
							 size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	}
	return NULL;
}

static int switch_cli_shell_run_program(struct shell_call *call)
{
	const struct cli_family *family = call->session->device->family;
	const struct shell_program *program;
	bool is_sudo = false;

	while (call->argc > 0 && strcmp(call->argv[0], "sudo") == 0) {
		is_sudo = call->is_root = true;
		call->argv++;
		call->argc--;
		while (call->argc > 0 && call->argv[0][0] == '-') {
			bool is_shell = strcmp(call->argv[0], "-i") == 0 ||
					strcmp(call->argv[0], "-s") == 0;

			call->argv++;
			call->argc--;
			if (is_shell && call->argc == 0)
				return run_root(call);
		}
	}
	if (call->argc == 0)
		return is_sudo ? 1 : 0;
	program = switch_cli_shell_find(switch_cli_shell_builtins,
					COUNT_OF(switch_cli_shell_builtins), call->argv[0]);
	if (!program)
		program = switch_cli_shell_find(family->programs, family->program_count,
						call->argv[0]);
	if (program)
		return program->run(call);
	text_addf(call->err,
		  is_sudo ? "sudo: %s: command not found\n" : "-bash: %s: command not found\n",
		  call->argv[0]);
	return is_sudo ? 1 : 127;
}

/* --- a line --- */

/* One program of a pipe: its words and where its output goes. */
struct simple {
	char *words[SHELL_WORDS_MAX + 1];
	int count;
	const char *to, *document;
	bool is_append, is_quiet;
};

static bool is_end(const struct shell_token *token)
{
	return token->kind == SHELL_PIPE || token->kind == SHELL_THEN || token->kind == SHELL_AND ||
	       token->kind == SHELL_OR;
}

/* From `at` to an operator; false for what is no command. */
static bool read_simple(const struct shell_tokens *tokens, size_t *at, struct cli_store *store,
			struct simple *ret)
{
	for (; *at < tokens->count && !is_end(&tokens->tokens[*at]); (*at)++) {
		enum shell_token_kind kind = tokens->tokens[*at].kind;
		char *word = tokens->tokens[*at].word;

		if (kind == SHELL_HERE) {
			ret->document = word;
			continue;
		}
		if (kind == SHELL_WORD) {
			if (ret->count == SHELL_WORDS_MAX)
				return false;
			ret->words[ret->count++] = word;
			continue;
		}
		if (++*at == tokens->count || tokens->tokens[*at].kind != SHELL_WORD)
			return false;
		word = tokens->tokens[*at].word;
		if (kind == SHELL_ERR) {
			ret->is_quiet = true;
		} else if (kind == SHELL_FROM) {
			ret->document = cli_file_get(store, word);
		} else {
			ret->to = word;
			ret->is_append = kind == SHELL_APPEND;
		}
	}
	return true;
}

/* `$?` is what it is when the program starts. */
static void put_status(char *word, int status)
{
	for (char *at = strstr(word, SHELL_STATUS); at; at = strstr(at, SHELL_STATUS)) {
		char number[4];

		(void)text_format(number, sizeof(number), "%d", status & 255);
		memcpy(at, number, strlen(number));
		memmove(at + strlen(number), at + 3, strlen(at + 3) + 1);
	}
}

static int run_simple(struct cli_session *session, struct simple *simple, bool is_piped,
		      const struct text *in, struct text *out, struct text *err)
{
	struct text document = {0};
	struct text unheard = {0};
	struct shell_call call = {
		.session = session,
		.argc = simple->count,
		.argv = simple->words,
		.in = in,
		.is_root = session->mode == CLI_ENABLE,
		.is_piped = is_piped || simple->to,
		.out = out,
		.err = simple->is_quiet ? &unheard : err,
	};
	int status;

	for (int i = 0; i < simple->count; i++)
		put_status(simple->words[i], session->status);
	if (simple->document) {
		text_add(&document, simple->document);
		call.in = &document;
	}
	status = switch_cli_shell_run_program(&call);
	if (simple->to && strcmp(simple->to, "/dev/null") != 0 &&
	    !cli_file_put(session->device->store, simple->to, text_get(out), simple->is_append)) {
		text_addf(err, "-bash: %s: No space left on device\n", simple->to);
		status = 1;
	}
	if (simple->to)
		text_clear(out);
	text_done(&document);
	text_done(&unheard);
	return status;
}

/* A pipe, from `at` to its end; the last program's status. -1 for what is none. */
static int run_pipe(struct cli_session *session, const struct shell_tokens *tokens, size_t *at,
		    bool is_skipped, struct text *out)
{
	struct text carried = {0};
	struct text err = {0};
	bool is_first = true, goes_on = true;
	int status = session->status;

	while (goes_on) {
		struct simple simple = {0};
		struct text produced = {0};

		if (!read_simple(tokens, at, session->device->store, &simple)) {
			status = -1;
			break;
		}
		goes_on = *at < tokens->count && tokens->tokens[*at].kind == SHELL_PIPE;
		*at += goes_on;
		if (!is_skipped && (simple.count > 0 || simple.to))
			status = run_simple(session, &simple, goes_on, is_first ? NULL : &carried,
					    &produced, &err);
		text_clear(&carried);
		text_add(&carried, text_get(&produced));
		text_done(&produced);
		is_first = false;
	}
	text_add(out, text_get(&carried));
	text_add(out, text_get(&err));
	text_done(&carried);
	text_done(&err);
	return status;
}

static void run_tokens(struct cli_session *session, const struct shell_tokens *tokens,
		       struct text *out)
{
	bool is_skipped = false;

	for (size_t at = 0; at < tokens->count && !session->is_over; at++) {
		int status = run_pipe(session, tokens, &at, is_skipped, out);

		if (status < 0) {
			text_add(out, "-bash: syntax error near unexpected token `newline'\n");
			session->status = 2;
			return;
		}
		session->status = status;
		if (at < tokens->count && tokens->tokens[at].kind != SHELL_THEN)
			is_skipped = (tokens->tokens[at].kind == SHELL_AND) != (status == 0);
		else
			is_skipped = false;
	}
}

void shell_line(struct cli_session *session, const char *line, struct text *out)
{
	struct shell_tokens *tokens = calloc(1, sizeof(*tokens));
	enum shell_lexed lexed = SHELL_WRONG;

	if (session->unfinished.size + strlen(line) < SHELL_LINE_MAX) {
		text_add(&session->unfinished, session->unfinished.size ? "\n" : "");
		text_add(&session->unfinished, line);
		if (tokens)
			lexed = shell_lex(text_get(&session->unfinished), tokens);
	}
	if (lexed == SHELL_MORE && !session->is_raw) {
		cli_ask(session, out, "> ", shell_line);
	} else {
		if (lexed == SHELL_LEXED)
			run_tokens(session, tokens, out);
		else
			text_add(out, "-bash: syntax error: unexpected end of file\n");
		session->status = lexed == SHELL_LEXED ? session->status : 2;
		text_clear(&session->unfinished);
	}
	if (tokens)
		shell_tokens_done(tokens);
	free(tokens);
}
