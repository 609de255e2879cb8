/* A failure told to a person: message (short fact, lower case, no full stop), detail (what was
 * seen), hint (what to do next). A value: copy it freely. A zeroed problem means none. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"

struct problem {
	int code; /* error number, 0 = no problem */
	char message[160];
	char detail[512];
	char hint[200];
};

/* Sets code and message; detail and hint are cleared. Returns `code`, so `return problem_set(&p,
 * E_X, "...")` reads well. */
int problem_set(struct problem *problem, int code, const char *format, ...) PRINTF_LIKE(3, 4);
void problem_detail(struct problem *problem, const char *format, ...) PRINTF_LIKE(2, 3);
void problem_hint(struct problem *problem, const char *format, ...) PRINTF_LIKE(2, 3);
bool problem_is_set(const struct problem *problem);
