/* The task verify_erased: reads back what a scrub left, past every cache. */
#pragma once

#include "bampi/agent/task.h"

/* params: {"drives":[...]}, each a serial or name, or {"serial","method"} (method as the erase
 * reported it: after a crypto erase noise is accepted). Absent = every drive that an erase would
 * not skip. A drive that is not there has the verdict "missing". */
MUST_USE int verify_erased_run(struct task *task, struct text *data, struct problem *problem);
