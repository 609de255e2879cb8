#include <stdarg.h>
#include <stdio.h>

#include "common/base/error.h"

#include "trainer_image/ops/ops.h"

int ops_fault_tell(struct ops *ops, int rc, struct problem *problem, const char *format, ...)
{
	const struct problem *fault = ops->backend->fault ? ops->backend->fault(ops) : NULL;
	char doing[80];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(doing, sizeof(doing), format, arguments);
	va_end(arguments);
	if (!fault || !problem_is_set(fault))
		return problem_set(problem, rc, "%s: %s: %s", doing, ops->backend->name,
				   error_text(rc));
	(void)problem_set(problem, rc, "%s: %s", doing, fault->message);
	problem_detail(problem, "%s", fault->detail);
	problem_hint(problem, "%s", fault->hint);
	return rc;
}
