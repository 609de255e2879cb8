// links: sim_switch_cli
/* Any line is cut into words and operators in bounds; words that are put back between quotes are
 * cut into the same words again. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_shell_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quote(const struct shell_tokens *tokens, struct text *line)
{
	for (size_t i = 0; i < tokens->count; i++) {
		if (tokens->tokens[i].kind != SHELL_WORD)
			continue;
		text_add(line, " '");
		for (const char *at = tokens->tokens[i].word; *at; at++)
			text_add_bytes(line, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
		text_add(line, "'");
	}
}

static void check(const struct shell_tokens *tokens)
{
	static struct shell_tokens again;
	struct text line = {0};
	size_t next = 0;

	quote(tokens, &line);
	if (shell_lex(text_get(&line), &again) != SHELL_LEXED)
		abort();
	for (size_t i = 0; i < tokens->count; i++) {
		if (tokens->tokens[i].kind != SHELL_WORD)
			continue;
		if (next >= again.count ||
		    strcmp(again.tokens[next++].word, tokens->tokens[i].word) != 0)
			abort();
	}
	if (next != again.count)
		abort();
	shell_tokens_done(&again);
	text_done(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct shell_tokens tokens;
	char *line = fuzz_text(data, size);
	enum shell_lexed lexed = shell_lex(line, &tokens);

	if (tokens.count > SHELL_TOKENS_MAX)
		abort();
	for (size_t i = 0; i < tokens.count; i++) {
		bool has_word =
			tokens.tokens[i].kind == SHELL_WORD || tokens.tokens[i].kind == SHELL_HERE;

		if (has_word != (tokens.tokens[i].word != NULL))
			abort();
	}
	if (lexed == SHELL_LEXED)
		check(&tokens);
	shell_tokens_done(&tokens);
	free(line);
	return 0;
}
