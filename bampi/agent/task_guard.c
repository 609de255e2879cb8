#include "bampi/agent/task_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/net/mac.h"

#include "bampi/agent/sysfs.h"
#include "bampi/agent/task.h"

#define TASK_GUARD_NICS  64
#define TASK_GUARD_STATE "/run/haas"

/* --- what outlives a restart of the program, in the ramdisk's memory --- */

static void task_guard_remember(struct task_guard *guard)
{
	CLEANUP(freep) char *content = NULL;
	size_t size = 0;

	if (file_read(guard->memory, 32, &content, &size) != 0)
		return;
	guard->newest = strtoll(content, NULL, 10);
	guard->ended = true;
}

int task_guard_init(const struct agent_env *env, struct task_guard *ret, struct problem *problem)
{
	struct task_guard guard = {0};
	int rc = public_keys_load(env, PUBLIC_KEYS_OF_TASKS, &guard.keys, problem);

	if (rc)
		return rc;
	digest_text(env->token, strlen(env->token), guard.boot);
	if (text_format(guard.memory, sizeof(guard.memory), "%s" TASK_GUARD_STATE "/task",
			env->root))
		task_guard_remember(&guard);
	else
		guard.memory[0] = '\0';
	*ret = guard;
	return 0;
}

void task_guard_end(struct task_guard *guard)
{
	char number[24];
	int rc;

	guard->ended = true;
	if (!guard->memory[0])
		return;
	(void)text_format(number, sizeof(number), "%" PRId64 "\n", guard->newest);
	rc = file_write_atomic(guard->memory, number, strlen(number), 0600);
	if (rc)
		log_warn("agent", "%s cannot be written: %s", guard->memory, error_text(rc));
}

/* --- the check --- */

static bool task_guard_has_nic(const struct agent_env *env, const char *wanted)
{
	char names[TASK_GUARD_NICS][64];
	size_t count = sysfs_names(env, "/sys/class/net", names, COUNT_OF(names));
	char line[MAC_TEXT_SIZE];

	for (size_t i = 0; i < count; i++)
		if (strcmp(sysfs_line(env, line, sizeof(line), "/sys/class/net/%s/address",
				      names[i]),
			   wanted) == 0)
			return true;
	return false;
}

static int task_guard_verify(const struct task_guard *guard, const struct task_message *message,
			     struct task_statement *ret, struct problem *problem)
{
	static const char hint[] =
		"build the ramdisk with bampid's present task key; with the right key in it, "
		"somebody between node and controller sends tasks";
	uint8_t signature[PUBLIC_SIGNATURE_SIZE];

	if (!message->statement || !message->signature || !message->params ||
	    hex_decode(message->signature, signature, sizeof(signature)) != 0) {
		(void)problem_set(problem, E_DENIED, "the task is not signed");
		problem_hint(problem, "%s", hint);
		return problem->code;
	}
	if (guard->keys.count == 0) {
		(void)problem_set(problem, E_DENIED,
				  "the agent holds no key to prove the task's signature with");
		problem_hint(problem, "build the ramdisk with --task-key");
		return problem->code;
	}
	if (!public_keys_verify(&guard->keys, message->statement, strlen(message->statement),
				signature)) {
		(void)problem_set(problem, E_DENIED, "the task's signature is not valid");
		problem_detail(problem, "tried %zu keys of the ramdisk", guard->keys.count);
		problem_hint(problem, "%s", hint);
		return E_DENIED;
	}
	if (task_statement_decode(message->statement, ret) == 0)
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED, "the task's statement cannot be read");
	problem_hint(problem, "the ramdisk is older than the controller; build it again");
	return E_UNSUPPORTED;
}

static int task_guard_refuse(struct problem *problem, const char *message, const char *detail)
{
	(void)problem_set(problem, E_DENIED, "%s", message);
	problem_detail(problem, "%s", detail);
	problem_hint(problem,
		     "somebody between node and controller sends tasks: look at that network");
	return E_DENIED;
}

static int task_guard_is_for_us(const struct task_guard *guard, const struct agent_env *env,
				const struct task_message *message,
				const struct task_statement *task, struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];
	char detail[128];

	digest_text(message->params, message->params_size, digest);
	(void)text_format(detail, sizeof(detail), "task %" PRId64 " (%s) of node %s", task->task,
			  task->kind, task->node);
	if (strcmp(digest, task->params) != 0)
		return task_guard_refuse(problem, "the task's parameters are not those signed",
					 detail);
	if (!task_guard_has_nic(env, task->mac))
		return task_guard_refuse(problem, "the task is for another node", detail);
	if (strcmp(task->boot, guard->boot) != 0)
		return task_guard_refuse(problem, "the task is for another boot of this node",
					 detail);
	if (strcmp(task->agent, guard->agent) != 0)
		return task_guard_refuse(problem, "the task is for another agent of this boot",
					 detail);
	if (task->task < guard->newest || (task->task == guard->newest && guard->ended))
		return task_guard_refuse(problem, "the task was given before", detail);
	return 0;
}

/* The time by what tasks told; never later than it is. */
static int64_t task_guard_time_ms(const struct task_guard *guard, int64_t now_ms)
{
	return guard->told_ms ? guard->told_ms + (now_ms - guard->told_at_ms) : 0;
}

int task_guard_check(struct task_guard *guard, const struct agent_env *env,
		     const struct task_message *message, int64_t now_ms, struct task_statement *ret,
		     struct problem *problem)
{
	struct task_statement task;
	int64_t time_ms = task_guard_time_ms(guard, now_ms);
	int rc = task_guard_verify(guard, message, &task, problem);

	if (!rc)
		rc = task_guard_is_for_us(guard, env, message, &task, problem);
	if (rc)
		return rc;
	if (task.issued_ms > time_ms)
		time_ms = task.issued_ms;
	if (time_ms >= task.expires_ms) {
		(void)problem_set(problem, E_TIMEOUT, "the task has expired");
		problem_detail(problem, "task %" PRId64 " (%s) came %" PRId64 " s after its end",
			       task.task, task.kind, (time_ms - task.expires_ms) / 1000);
		problem_hint(problem, "bampi-bootd or its database was away for long; retry");
		return problem->code;
	}
	guard->told_ms = time_ms;
	guard->told_at_ms = now_ms;
	guard->newest = task.task;
	guard->ended = false;
	*ret = task;
	return 0;
}
