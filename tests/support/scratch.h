/* For tests: a folder that is gone afterwards, and the shell. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "tests/support/cmocka.h"

#define SCRATCH_SIZE 64

/* The exit status as system() has it. */
PRINTF_LIKE(1, 2) static inline int shell(const char *format, ...)
{
	char command[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, sizeof(command) - 1);
	return system(command);
}

/* /tmp/haas-NAME.XXXXXX */
static inline void scratch_make(char folder[SCRATCH_SIZE], const char *name)
{
	assert_true(text_format(folder, SCRATCH_SIZE, "/tmp/haas-%s.XXXXXX", name));
	assert_non_null(mkdtemp(folder));
}

static inline void scratch_remove(const char *folder)
{
	assert_int_equal(shell("rm -rf %s", folder), 0);
}
