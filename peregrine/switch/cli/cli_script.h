/* Walks a switch through its configuration mode: enters it, sends lines one at a time, leaves it.
 * A family without such a mode (config_enter NULL) gets the lines alone. */
#pragma once

#include <stdbool.h>

#include "common/base/problem.h"

struct cli_switch;

enum cli_script_stage { CLI_SCRIPT_ENTERING, CLI_SCRIPT_SENDING, CLI_SCRIPT_LEAVING };

/* How a walk ended. */
struct cli_script_end {
	int rc;                      /* 0: each line was taken, or forgiven */
	struct problem problem;      /* why not */
	enum cli_script_stage stage; /* in which it stopped */
	/* The session broke. Only a look tells whether the last line was taken. */
	int lost;
	bool sent; /* lost: that line went out, perhaps half */
};

/* Who plans the lines, and hears how they fare. */
struct cli_script_row {
	/* The next line, in memory that lasts until the next call; NULL: no line is left. */
	const char *(*next)(struct cli_switch *one);
	/* The switch answered the line: 0, or the rc and problem of its refusal (cli_switch_verdict);
	 * E_PROTOCOL: the configuration mode had ended before. False: no more lines. */
	bool (*answered)(struct cli_switch *one, int rc, const struct problem *problem);
	void (*ended)(struct cli_switch *one, const struct cli_script_end *end);
};

/* The walk under way; part of struct cli_switch. */
struct cli_script {
	const struct cli_script_row *row;
	const char *line;
	struct cli_script_end end;
};

void cli_script_start(struct cli_switch *one, const struct cli_script_row *row);
