/* The kinds of tasks and who handles them (docs/architecture.md, "Agent tasks"). */
#pragma once

#include "bampi/agent/task.h"

/* NULL when there is no such kind. */
const struct task_row *task_table_find(const char *kind);
