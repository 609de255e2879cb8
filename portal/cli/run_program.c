#include "portal/cli/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#define OUTPUT_LIMIT ((size_t)1 << 20)
#define TALK_LIMIT   ((size_t)16 << 10)

/* In the child: never returns. Only calls that are safe after fork in a single-threaded program. */
__attribute__((noreturn)) static void
run_program_become(const struct run_program *program, const struct passwd *user, int out, int talk)
{
	if (user &&
	    (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0))
		_exit(126);
	if (program->folder && chdir(program->folder) < 0)
		_exit(126);
	for (size_t i = 0; program->environment && program->environment[i]; i++) {
		char *variable = strdup(program->environment[i]);

		if (!variable || putenv(variable) != 0)
			_exit(126);
	}
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(talk, STDERR_FILENO) < 0)
		_exit(126);
	/* execv(3) changes no argument; that its prototype says otherwise is history. */
	char *const *argv;
	memcpy(&argv, &program->argv, sizeof(argv));
	execv(argv[0], argv);
	_exit(127);
}

/* Appends what is there; false at the end. Past the limit the bytes are read and dropped, so the
 * child does not block. */
static bool run_program_drain(int fd, struct text *text, size_t limit)
{
	char buffer[4096];
	ssize_t size = read(fd, buffer, sizeof(buffer));

	if (size <= 0)
		return size < 0 && errno == EINTR;
	if (text->size < limit)
		text_add_bytes(text, buffer,
			       (size_t)size < limit - text->size ? (size_t)size
								 : limit - text->size);
	return true;
}

static void run_program_collect(int out, struct text *output, int talk, struct text *words)
{
	struct pollfd fds[] = {{.fd = out, .events = POLLIN}, {.fd = talk, .events = POLLIN}};

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return;
		if (fds[0].fd >= 0 && fds[0].revents &&
		    !run_program_drain(out, output, OUTPUT_LIMIT))
			fds[0].fd = -1;
		if (fds[1].fd >= 0 && fds[1].revents && !run_program_drain(talk, words, TALK_LIMIT))
			fds[1].fd = -1;
	}
}

static int run_program_tell(const char *path, int status, const struct text *words,
			    struct problem *problem)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *all = text_get(words);
	size_t size = strlen(all);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (code == 0)
		return 0;
	problem_set(problem, E_UNAVAILABLE,
		    code < 0 ? "%s was ended by signal %d" : "%s failed with status %d", name,
		    code < 0 ? WTERMSIG(status) : code);
	problem_detail(problem, "%s", size > 400 ? all + size - 400 : all);
	if (code == 127)
		problem_hint(problem, "is its package installed? (postgresql-15)");
	return problem->code;
}

int run_program(const struct run_program *program, struct problem *problem)
{
	CLEANUP(text_done) struct text words = {0};
	struct text *output = program->output ? program->output : &words;
	CLEANUP(closep) int out_read = -1;
	CLEANUP(closep) int talk_read = -1;
	const struct passwd *user = NULL;
	int out[2];
	int talk[2];
	int status;

	if (program->user && geteuid() == 0) {
		user = getpwnam(program->user);
		if (!user) {
			problem_set(problem, E_NOT_FOUND, "there is no user %s on this machine",
				    program->user);
			problem_hint(problem,
				     "adduser --system --group %s, or choose another with --user",
				     program->user);
			return E_NOT_FOUND;
		}
	}
	if (pipe2(out, O_CLOEXEC) < 0)
		return problem_set(problem, -errno, "cannot make a pipe: %s", error_text(-errno));
	out_read = out[0];
	if (pipe2(talk, O_CLOEXEC) < 0) {
		close(out[1]);
		return problem_set(problem, -errno, "cannot make a pipe: %s", error_text(-errno));
	}
	talk_read = talk[0];
	pid_t child = fork();
	if (child == 0)
		run_program_become(program, user, out[1], talk[1]);
	close(out[1]);
	close(talk[1]);
	if (child < 0)
		return problem_set(problem, -errno, "cannot start %s: %s", program->argv[0],
				   error_text(-errno));
	run_program_collect(out_read, output, talk_read, &words);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return problem_set(problem, -errno, "cannot wait for %s: %s",
					   program->argv[0], error_text(-errno));
	}
	return run_program_tell(program->argv[0], status, &words, problem);
}
