/* Powering off: the handler only says yes, so that the reply is out before the power is. */
#pragma once

#include "bampi/agent/task.h"

MUST_USE int power_off_run(struct task *task, struct text *data, struct problem *problem);
/* Powers the node off. Tasks flushed what they wrote; a sync here would wait for a drive that
 * hangs. Returns only when the kernel refuses (-errno). */
MUST_USE int power_off_now(void);
