/* The mailbox: asks for a task, has it done, tells how it goes, delivers the result. Survives every
 * restart of bampi-bootd: it never gives up asking, and a result is kept until the server took it
 * or says that nobody wants it. */
#pragma once

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "bampi/agent/task.h"

struct agent;

/* Borrows loop and env for its life. Makes env->key, which the caller frees, when it first asks for
 * a task. */
MUST_USE int agent_new(struct loop *loop, struct agent_env *env, struct agent **ret);
/* Waits for a task at work; it is told to stop. */
void agent_free(struct agent *agent);
void agent_start(struct agent *agent);
