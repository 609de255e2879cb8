/* Powering off: the handler only says yes, so that the reply is out before the power is. */
#pragma once

#include "bampi/agent/task.h"

MUST_USE int power_off_run(struct task *task, struct text *data, struct problem *problem);
/* Syncs and powers the node off. Returns only when the kernel refuses (-errno). */
MUST_USE int power_off_now(void);
