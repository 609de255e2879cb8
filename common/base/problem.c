#include "common/base/problem.h"

#include <stdarg.h>
#include <stdio.h>

/* A truncated sentence is still worth more than none, so the length of vsnprintf() is not looked
 * at. */
int problem_set(struct problem *problem, int code, const char *format, ...)
{
	va_list arguments;

	*problem = (struct problem){.code = code};
	va_start(arguments, format);
	(void)vsnprintf(problem->message, sizeof(problem->message), format, arguments);
	va_end(arguments);
	return code;
}

void problem_detail(struct problem *problem, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(problem->detail, sizeof(problem->detail), format, arguments);
	va_end(arguments);
}

void problem_hint(struct problem *problem, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(problem->hint, sizeof(problem->hint), format, arguments);
	va_end(arguments);
}

bool problem_is_set(const struct problem *problem)
{
	return problem->code != 0;
}
