/* The task erase: every drive of the node at once, each under a watchdog, a verdict for each. The
 * task succeeds when every drive has a verdict; whether the verdicts are good enough is the
 * controller's decision. */
#pragma once

#include "bampi/agent/task.h"

MUST_USE int erase_run(struct task *task, struct text *data, struct problem *problem);
