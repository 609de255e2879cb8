/* As much of a shell as someone who configures a switch by Linux commands uses: quotes, pipes,
 * redirections to files, here-documents, `&&`, `||`, `;`, `$?`. No loops, no globbing, no
 * variables; programs are C functions, files are in memory. */
#pragma once

#include "tests/sim/command_line/switch_cli.h"

enum { SHELL_WORDS_MAX = 32, SHELL_LINE_MAX = 1 << 16 };

struct shell_call {
	struct cli_session *session;
	int argc;
	char **argv;
	const struct text *in;  /* what a pipe or a here-document brings; NULL: the terminal */
	bool is_root, is_piped; /* its output goes to another program or a file */
	struct text *out, *err;
};

struct shell_program {
	const char *name;
	int (*run)(struct shell_call *call); /* the exit status */
};

/* A line was typed. */
void shell_line(struct cli_session *session, const char *line, struct text *out);
/* Files of the device; `/tmp` and the like do not survive a reboot. */
const char *cli_file_get(const struct cli_store *store, const char *path);
/* False when there is no room. */
bool cli_file_put(struct cli_store *store, const char *path, const char *text, bool append);
bool cli_file_remove(struct cli_store *store, const char *path);
