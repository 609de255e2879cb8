#include "peregrine/captured/capture_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

LEAKS_LEFT_TO_SANITIZER

enum { LINE_LIMIT = 1 << 18, PATIENCE_MS = 10000, CAPTURE_PROCESS_LOOK_MS = 50 };

struct capture_process {
	struct capture_process_options options;
	pid_t pid; /* 0 = it was waited for */
	int in, out;
	struct loop_watch *watch;
	struct loop_timer *timer; /* waits for it, and for its end */
	struct text line;
	bool closed; /* its output has ended */
	int64_t patience_ms;
	bool stopping;
};

/* --- hearing --- */

static void hear_line(struct capture_process *process, const char *text, size_t size)
{
	static const struct json_bounds bounds = {LINE_LIMIT, 8, 20000};
	CLEANUP(json_decrefp) json_t *line = NULL;
	struct problem problem;

	if (json_read_bounded(text, size, &bounds, &line, &problem) == 0 && json_is_object(line))
		process->options.heard(process->options.context, line);
}

/* A line that is too long is passed over, and so is what makes no sense. */
static void capture_process_hear(struct capture_process *process, const char *bytes, size_t size)
{
	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t length = end ? (size_t)(end - bytes) : size;

		if (process->line.size + length <= LINE_LIMIT)
			text_add_bytes(&process->line, bytes, length);
		else
			text_clear(&process->line);
		if (!end)
			return;
		hear_line(process, text_get(&process->line), process->line.size);
		text_clear(&process->line);
		bytes += length + 1;
		size -= length + 1;
	}
}

static void on_output(void *context, int events)
{
	struct capture_process *process = context;
	char bytes[16384];
	ssize_t got = read(process->out, bytes, sizeof(bytes));

	(void)events;
	if (got > 0) {
		capture_process_hear(process, bytes, (size_t)got);
		return;
	}
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	process->closed = true;
	loop_watch_free(process->watch);
	process->watch = NULL;
	loop_timer_arm(process->timer, 0);
}

static void capture_process_on_timer(void *context)
{
	struct capture_process *process = context;

	if (process->pid > 0 && waitpid(process->pid, NULL, WNOHANG) == process->pid)
		process->pid = 0;
	if (process->pid == 0 && process->closed) {
		process->options.over(process->options.context);
		return;
	}
	process->patience_ms -= CAPTURE_PROCESS_LOOK_MS;
	if (process->pid > 0 && process->patience_ms <= 0)
		(void)kill(process->pid, SIGKILL);
	loop_timer_arm(process->timer, CAPTURE_PROCESS_LOOK_MS);
}

/* --- starting --- */

static int capture_process_spawn(struct capture_process *process, int in, int out)
{
	char *argv[] = {NULL, NULL, NULL, NULL};
	CLEANUP(freep) char *program = strdup(process->options.program);
	CLEANUP(freep) char *user = strdup(process->options.user);
	char option[] = "--user";
	posix_spawn_file_actions_t actions;
	int rc;

	if (!program || !user || posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	argv[0] = program;
	if (user[0]) {
		argv[1] = option;
		argv[2] = user;
	}
	rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn(&process->pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		process->pid = 0;
	return -rc;
}

/* The order fits into a pipe: nobody waits for who is not there yet. */
static int send_order(const struct capture_process *process)
{
	static const struct json_bounds bounds = {1 << 16, 4, 512};
	CLEANUP(json_decrefp) json_t *order = NULL;
	CLEANUP(freep) char *text = NULL;
	struct problem problem;
	size_t size;
	int rc = json_read_bounded(process->options.order, strlen(process->options.order), &bounds,
				   &order, &problem);

	if (rc)
		return rc;
	if (json_object_set_new(order, "folder", json_pack("s", process->options.folder)) != 0)
		return -ENOMEM;
	text = json_dumps(order, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	size = strlen(text);
	text[size] = '\n'; /* in place of the end: what is sent has none */
	return write(process->in, text, size + 1) == (ssize_t)(size + 1) ? 0 : E_UNAVAILABLE;
}

static int capture_process_start(struct loop *loop, struct capture_process *process)
{
	int in[2] = {-1, -1};
	int out[2] = {-1, -1};
	int rc = file_make_folder(process->options.folder, 0700);

	if (rc == 0 && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
		rc = -errno;
	if (rc == 0) {
		process->in = in[1];
		process->out = out[0];
		(void)fcntl(process->out, F_SETFL, O_NONBLOCK);
		rc = capture_process_spawn(process, in[0], out[1]);
	}
	closep(&in[0]);
	closep(&out[1]);
	if (rc == 0)
		rc = send_order(process);
	if (rc == 0)
		rc = loop_watch_new(loop, process->out, LOOP_READ, on_output, process,
				    &process->watch);
	return rc;
}

int capture_process_new(struct loop *loop, const struct capture_process_options *options,
			struct capture_process **ret, struct problem *problem)
{
	struct capture_process *process = calloc(1, sizeof(*process));
	int rc;

	if (!process)
		return problem_set(problem, -ENOMEM, "no memory for a capture");
	process->options = *options;
	process->in = process->out = -1;
	process->patience_ms = INT64_MAX;
	rc = loop_timer_new(loop, capture_process_on_timer, process, &process->timer);
	if (rc == 0)
		rc = capture_process_start(loop, process);
	if (rc) {
		(void)problem_set(problem, rc, "%s cannot be started: %s", options->program,
				  error_text(rc));
		capture_process_free(process);
		return rc;
	}
	*ret = process;
	return 0;
}

void capture_process_stop(struct capture_process *process)
{
	if (process->stopping)
		return;
	process->stopping = true;
	closep(&process->in);
	process->in = -1;
	process->patience_ms = PATIENCE_MS;
	loop_timer_arm(process->timer, CAPTURE_PROCESS_LOOK_MS);
}

void capture_process_free(struct capture_process *process)
{
	if (!process)
		return;
	closep(&process->in);
	if (process->pid > 0) {
		(void)kill(process->pid, SIGKILL);
		(void)waitpid(process->pid, NULL, 0);
	}
	loop_watch_free(process->watch);
	loop_timer_free(process->timer);
	closep(&process->out);
	text_done(&process->line);
	free(process);
}
