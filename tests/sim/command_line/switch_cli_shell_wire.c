#include "tests/sim/command_line/switch_cli_shell_wire.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void shell_tokens_done(struct shell_tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++)
		free(tokens->tokens[i].word);
	tokens->count = 0;
}

static bool switch_cli_shell_wire_push(struct shell_tokens *tokens, enum shell_token_kind kind,
				       char *word)
{
	if (tokens->count == SHELL_TOKENS_MAX) {
		free(word);
		return false;
	}
	tokens->tokens[tokens->count++] = (struct shell_token){kind, word};
	return true;
}

/* The inside of a quote, from behind its mark to its end; NULL when it stays open. */
static const char *switch_cli_shell_wire_quoted(const char *at, char mark, struct text *word)
{
	for (; *at != mark; at++) {
		if (*at == '\0')
			return NULL;
		if (mark == '"' && at[0] == '\\' && at[1] != '\0' && strchr("\\\"$`", at[1])) {
			at++;
		} else if (mark == '"' && at[0] == '$' && at[1] == '?') {
			text_add(word, SHELL_STATUS);
			at++;
			continue;
		}
		text_add_bytes(word, at, 1);
	}
	return at + 1;
}

/* One word, quotes taken off; NULL when a quote stays open. */
static const char *switch_cli_shell_wire_word_of(const char *at, struct text *word)
{
	while (*at != '\0' && !isspace((unsigned char)*at) && !strchr("|&;<>", *at)) {
		if (*at == '\'' || *at == '"') {
			at = switch_cli_shell_wire_quoted(at + 1, *at, word);
			if (!at)
				return NULL;
		} else if (at[0] == '$' && at[1] == '?') {
			text_add(word, SHELL_STATUS);
			at += 2;
		} else {
			if (*at == '\\' && at[1] != '\0')
				at++;
			text_add_bytes(word, at++, 1);
		}
	}
	return at;
}

static const struct {
	const char *text;
	enum shell_token_kind kind;
} switch_cli_shell_wire_operators[] = {
	{"2>&1", SHELL_WORD}, /* both go to the terminal anyway: dropped */
	{"2>", SHELL_ERR},    {"&&", SHELL_AND}, {"||", SHELL_OR},  {">>", SHELL_APPEND},
	{"<<", SHELL_HERE},   {"|", SHELL_PIPE}, {";", SHELL_THEN}, {"\n", SHELL_THEN},
	{">", SHELL_TO},      {"<", SHELL_FROM},
};

static size_t operator_at(const char *at, enum shell_token_kind *ret)
{
	for (size_t i = 0; i < sizeof(switch_cli_shell_wire_operators) /
				       sizeof(switch_cli_shell_wire_operators[0]);
	     i++) {
		size_t size = strlen(switch_cli_shell_wire_operators[i].text);

		if (strncmp(at, switch_cli_shell_wire_operators[i].text, size) == 0) {
			*ret = switch_cli_shell_wire_operators[i].kind;
			return size;
		}
	}
	return 0;
}

/* The lines after the current one, to the one that is `end`; what is left is moved behind it. */
static char *here_document(const char **rest, const char *end)
{
	struct text text = {0};
	const char *at = *rest;

	while (*at) {
		size_t size = strcspn(at, "\n");
		const char *next = at + size + (at[size] == '\n');

		if (size == strlen(end) && strncmp(at, end, size) == 0) {
			*rest = next;
			text_add(&text, "");
			return text_take(&text);
		}
		text_add_bytes(&text, at, size);
		text_add(&text, "\n");
		at = next;
	}
	text_done(&text);
	return NULL;
}

struct lexer {
	const char *at, *documents; /* the rest of the line; of what comes after it */
	struct shell_tokens *ret;
};

static enum shell_lexed switch_cli_shell_wire_here(struct lexer *lexer)
{
	struct text end = {0};
	char *document;

	lexer->at += strspn(lexer->at, " \t");
	lexer->at = switch_cli_shell_wire_word_of(lexer->at, &end);
	if (!lexer->documents && lexer->at) {
		const char *line = strchr(lexer->at, '\n');

		lexer->documents = line ? line + 1 : "";
	}
	document = lexer->at ? here_document(&lexer->documents, text_get(&end)) : NULL;
	text_done(&end);
	if (!document)
		return SHELL_MORE;
	return switch_cli_shell_wire_push(lexer->ret, SHELL_HERE, document) ? SHELL_LEXED
									    : SHELL_WRONG;
}

static enum shell_lexed one_word(struct lexer *lexer)
{
	struct text word = {0};
	char *taken;

	text_add(&word, "");
	lexer->at = switch_cli_shell_wire_word_of(lexer->at, &word);
	taken = text_take(&word);
	if (!lexer->at) {
		free(taken);
		return SHELL_MORE;
	}
	return switch_cli_shell_wire_push(lexer->ret, SHELL_WORD, taken) ? SHELL_LEXED
									 : SHELL_WRONG;
}

enum shell_lexed shell_lex(const char *line, struct shell_tokens *ret)
{
	struct lexer lexer = {.at = line, .ret = ret};
	enum shell_lexed done = SHELL_LEXED;

	ret->count = 0;
	while (done == SHELL_LEXED) {
		enum shell_token_kind kind = SHELL_WORD;
		size_t size;

		lexer.at += strspn(lexer.at, " \t\r");
		if (*lexer.at == '\0' || *lexer.at == '#')
			return SHELL_LEXED;
		size = operator_at(lexer.at, &kind);
		if (size == 0 && *lexer.at == '&')
			return SHELL_WRONG; /* nothing runs beside */
		lexer.at += size;
		if (size == 0) {
			done = one_word(&lexer);
		} else if (kind == SHELL_HERE) {
			done = switch_cli_shell_wire_here(&lexer);
		} else if (kind == SHELL_THEN && lexer.at[-1] == '\n' && lexer.documents) {
			lexer.at = lexer.documents;
			lexer.documents = NULL;
			done = switch_cli_shell_wire_push(ret, kind, NULL) ? SHELL_LEXED
									   : SHELL_WRONG;
		} else if (kind != SHELL_WORD && !switch_cli_shell_wire_push(ret, kind, NULL)) {
			done = SHELL_WRONG;
		}
	}
	return done;
}
