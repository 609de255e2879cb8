#include "bampi/agent/task.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"

#include "bampi/agent/task_guard.h"
#include "bampi/agent/task_table.h"

/* User data and a list of keys are the largest that a task carries; in a text they are quoted. */
#define TASK_LIMIT ((size_t)4 << 20)

/* It becomes part of a request line. */
static int task_read_id(const json_t *id, char ret[TASK_ID_SIZE])
{
	if (!json_is_integer(id) || json_integer_value(id) <= 0)
		return E_MALFORMED;
	(void)text_format(ret, TASK_ID_SIZE, "%lld", (long long)json_integer_value(id));
	return 0;
}

static struct task_message task_message_of(const json_t *json)
{
	const json_t *params = json_object_get(json, "params");

	return (struct task_message){
		.statement = json_string_value(json_object_get(json, "statement")),
		.signature = json_string_value(json_object_get(json, "signature")),
		.params = json_string_value(params),
		.params_size = json_string_length(params),
	};
}

static int task_read_params(const struct task_message *message, json_t **ret,
			    struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *params = NULL;
	int rc = json_read(message->params, message->params_size, TASK_LIMIT, &params, problem);

	if (!rc && !json_is_object(params))
		rc = problem_set(problem, E_MALFORMED, "the task's params are not an object");
	if (!rc)
		*ret = TAKE(params);
	return rc;
}

/* What is wrong with a task that came is the task's problem: it is reported. */
static void task_believe(struct task *task, const struct task_message *message,
			 struct task_guard *guard)
{
	struct task_statement statement;

	task->rc = task_guard_check(guard, task->env, message, clock_monotonic_ms(), &statement,
				    &task->problem);
	task->refused = task->rc != 0;
	if (task->rc)
		return;
	/* The number that was signed counts, not the one beside it. */
	(void)text_format(task->id, sizeof(task->id), "%lld", (long long)statement.task);
	task->rc = task_read_params(message, &task->params, &task->problem);
	if (task->rc)
		return;
	task->row = task_table_find(statement.kind);
	if (task->row)
		return;
	task->rc = problem_set(&task->problem, E_UNSUPPORTED, "this agent knows no task '%s'",
			       statement.kind);
	problem_hint(&task->problem, "the ramdisk is older than the controller; build it again");
}

int task_new(const char *body, size_t size, const struct agent_env *env, struct task_guard *guard,
	     struct task **ret, struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	CLEANUP(task_freep) struct task *task = NULL;
	struct task_message message;
	int rc;

	rc = json_read(body, size, TASK_LIMIT, &json, problem);
	if (rc)
		return rc;
	if (!json_is_object(json))
		return problem_set(problem, E_MALFORMED, "the task is not a JSON object");
	message = task_message_of(json);
	task = calloc(1, sizeof(*task));
	if (!task)
		return -ENOMEM;
	if (pthread_mutex_init(&task->lock, NULL) != 0) {
		free(TAKE(task));
		return -ENOMEM;
	}
	if (task_read_id(json_object_get(json, "id"), task->id))
		return problem_set(problem, E_MALFORMED, "the task has no usable id");
	task->env = env;
	task_believe(task, &message, guard);
	if (!task->params)
		task->params = json_object();
	if (!task->params)
		return -ENOMEM;

	*ret = TAKE(task);
	return 0;
}

void task_free(struct task *task)
{
	if (!task)
		return;
	json_decref(task->params);
	text_done(&task->data);
	(void)pthread_mutex_destroy(&task->lock);
	free(task);
}

void task_freep(struct task **task)
{
	task_free(*task);
}

void task_run(struct task *task)
{
	if (!task->row)
		return;
	task->rc = task->row->run(task, &task->data, &task->problem);
	if (!task->rc && task->data.failed)
		task->rc = -ENOMEM;
	if (task->rc && !problem_is_set(&task->problem))
		(void)problem_set(&task->problem, task->rc, "%s failed: %s", task->row->kind,
				  error_text(task->rc));
}

void task_say(struct task *task, int64_t done_bytes, int64_t total_bytes, const char *format, ...)
{
	struct task_progress progress = {.done_bytes = done_bytes, .total_bytes = total_bytes};
	va_list arguments;

	if (total_bytes > 0 && done_bytes > 0)
		progress.percent =
			done_bytes >= total_bytes
				? 100
				: (int)((double)done_bytes * 100.0 / (double)total_bytes);
	va_start(arguments, format);
	(void)vsnprintf(progress.text, sizeof(progress.text), format, arguments);
	va_end(arguments);

	(void)pthread_mutex_lock(&task->lock);
	task->progress = progress;
	(void)pthread_mutex_unlock(&task->lock);
}

struct task_progress task_progress(struct task *task)
{
	struct task_progress progress;

	(void)pthread_mutex_lock(&task->lock);
	progress = task->progress;
	(void)pthread_mutex_unlock(&task->lock);
	return progress;
}

bool task_wanted(const struct task *task)
{
	return !atomic_load(&task->unwanted);
}

void task_progress_json(const struct task_progress *progress, struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_int(ret, "percent", progress->percent);
	json_put_int(ret, "done_bytes", progress->done_bytes);
	json_put_int(ret, "total_bytes", progress->total_bytes);
	json_put_string(ret, "text", progress->text);
	json_end_object(ret);
}

void task_result_json(const struct task *task, struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_bool(ret, "ok", task->rc == 0);
	if (task->refused)
		json_put_bool(ret, "refused", true);
	if (task->rc == 0) {
		json_put_raw(ret, "data", task->data.size ? text_get(&task->data) : "{}");
	} else {
		json_begin_object(ret, "problem");
		json_put_string(ret, "message", task->problem.message);
		json_put_string(ret, "detail", task->problem.detail);
		json_put_string(ret, "hint", task->problem.hint);
		json_end_object(ret);
	}
	json_end_object(ret);
}
