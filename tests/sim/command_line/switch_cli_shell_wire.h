/* A command line of a shell, cut into words and operators. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

enum { SHELL_TOKENS_MAX = 128 };

enum shell_token_kind {
	SHELL_WORD,
	SHELL_PIPE,
	SHELL_THEN, /* ; or a new line */
	SHELL_AND,
	SHELL_OR,
	SHELL_TO,     /* > */
	SHELL_APPEND, /* >> */
	SHELL_FROM,   /* < */
	SHELL_HERE,   /* <<: its word is the text */
	SHELL_ERR,    /* 2> */
};

struct shell_token {
	enum shell_token_kind kind;
	char *word; /* owned; of SHELL_WORD and SHELL_HERE */
};

struct shell_tokens {
	struct shell_token tokens[SHELL_TOKENS_MAX];
	size_t count;
};

enum shell_lexed {
	SHELL_LEXED,
	SHELL_MORE, /* a quote or a here-document is open: another line is wanted */
	SHELL_WRONG,
};

/* In words SHELL_STATUS stands for `$?`, with room for the number. In any case shell_tokens_done.
 */
#define SHELL_STATUS "\001\001\001"
enum shell_lexed shell_lex(const char *line, struct shell_tokens *ret);
void shell_tokens_done(struct shell_tokens *tokens);
