/* Runs another program to its end: argv without a shell, as another user if asked, its output kept
 * for the error text. Blocks: a daemon calls it on a worker (worker.h). */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

struct run_program {
	const char *const *argv;        /* argv[0] is the path; NULL-ended */
	const char *const *environment; /* "NAME=value" added to ours; NULL-ended; may be NULL.
					   Secrets go here, never into argv */
	const char *user;               /* OS user to become when we are root; NULL = stay */
	const char *folder;             /* working folder; NULL = stay */
	const char *input;              /* what it reads on stdin; NULL = nothing */
	size_t input_size;
	uint32_t deadline_ms; /* it is killed then; 0 = none */
	struct text *output; /* stdout is collected here, at most 1 MiB; NULL = with stderr, for the
				problem only */
};

/* 0, or -errno / E_UNAVAILABLE / E_TIMEOUT with the end of what it printed in the problem's detail. */
MUST_USE int run_program(const struct run_program *program, struct problem *problem);

/* One program of a pipeline. */
struct run_program_child {
	char path[PATH_MAX];
	pid_t pid; /* 0 = none */
	int words; /* what it says on stderr, a file in memory */
};

/* Starts it with `in` and `out` as its stdin and stdout; both stay the caller's. Of `program` count
 * argv, environment, user and folder. On success run_program_end() it. */
MUST_USE int run_program_start(const struct run_program *program, int in, int out,
			       struct run_program_child *ret, struct problem *problem);
/* Waits for its end; errors as run_program. */
MUST_USE int run_program_end(struct run_program_child *child, struct problem *problem);
