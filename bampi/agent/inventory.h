/* The task inventory: what this node is made of. Everything that cannot be read is left out or
 * null, never guessed. */
#pragma once

#include "bampi/agent/task.h"

/* params: {"lldp_wait_s":n} how long after the program's start neighbours are waited for (0..60,
 * default 4). Switches usually speak every 30 s, and at once when a link comes up. */
MUST_USE int inventory_run(struct task *task, struct text *data, struct problem *problem);
