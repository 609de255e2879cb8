/* Whether a task is believed (docs/decision/signed-tasks.md). bampid signs each for one node, one
 * boot, one agent and one time. A node's clock is not trusted: the time is what signed tasks told,
 * plus what passed since. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/task_wire.h"

#include "bampi/agent/public_keys.h"

struct agent_env;

/* What an agent knows of itself, and of the tasks of its boot. */
struct task_guard {
	struct public_keys keys;
	char boot[DIGEST_TEXT_SIZE];  /* of its token */
	char agent[DIGEST_TEXT_SIZE]; /* its public key, hex; "" = it has none yet */
	char memory[300];             /* file of the last task that ended; "" = it is not kept */
	int64_t newest;               /* the newest task that was believed; 0 = none */
	bool ended;                   /* and its result was taken: it is not done again */
	int64_t told_ms, told_at_ms;  /* the latest time of a task, and our clock then */
};

/* As it came; texts are borrowed. NULL where a member is missing. */
struct task_message {
	const char *statement, *signature, *params;
	size_t params_size;
};

/* Reads the ramdisk's keys and what an earlier life of the program in this boot has ended. */
MUST_USE int task_guard_init(const struct agent_env *env, struct task_guard *ret,
			     struct problem *problem);
/* now_ms: any clock that only goes forward. E_DENIED: not signed, not for us, given before.
 * E_TIMEOUT: expired. A task that is believed is the newest from now on. */
MUST_USE int task_guard_check(struct task_guard *guard, const struct agent_env *env,
			      const struct task_message *message, int64_t now_ms,
			      struct task_statement *ret, struct problem *problem);
/* The result of the newest task was taken. */
void task_guard_end(struct task_guard *guard);
