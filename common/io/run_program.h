/* Runs another program to its end: argv without a shell, as another user if asked, its output kept
 * for the error text. Blocks: a daemon calls it on a worker (worker.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
