#include "common/io/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#define OUTPUT_LIMIT ((size_t)1 << 20)
#define TALK_LIMIT   ((size_t)16 << 10)
#define USER_ROOM    4096

/* Whom the child becomes; not `other`: it stays as it is. */
struct run_program_user {
	bool other;
	uid_t uid;
	gid_t gid;
};

/* In the child: never returns. Only calls that are safe after fork in a single-threaded program. */
__attribute__((noreturn)) static void run_program_become(const struct run_program *program,
							 const struct run_program_user *user,
							 int in, int out, int talk)
{
	if (user->other &&
	    (setgroups(0, NULL) < 0 || setgid(user->gid) < 0 || setuid(user->uid) < 0))
		_exit(126);
	if (program->folder && chdir(program->folder) < 0)
		_exit(126);
	for (size_t i = 0; program->environment && program->environment[i]; i++) {
		char *variable = strdup(program->environment[i]);

		// NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
		if (!variable || putenv(variable) != 0)
			_exit(126);
	}
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
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

/* A child that does not read its input to the end is no failure: its exit status says more. */
static bool run_program_feed(int fd, const struct run_program *program, size_t *at)
{
	ssize_t size = write(fd, program->input + *at, program->input_size - *at);

	if (size < 0)
		return errno == EINTR || errno == EAGAIN;
	*at += (size_t)size;
	return *at < program->input_size;
}

/* The three ends of the child's pipes: one is closed when nothing more goes through it. */
struct run_program_pipes {
	int in, out, talk;
};

static void run_program_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Feeds and reads until the child has closed its output. E_TIMEOUT: the deadline has passed. */
static int run_program_talk(const struct run_program *program, struct run_program_pipes *pipes,
			    struct text *output, struct text *words)
{
	int64_t end_ms = clock_monotonic_ms() + program->deadline_ms;
	size_t fed = 0;

	while (pipes->out >= 0 || pipes->talk >= 0) {
		struct pollfd fds[] = {{.fd = pipes->in, .events = POLLOUT},
				       {.fd = pipes->out, .events = POLLIN},
				       {.fd = pipes->talk, .events = POLLIN}};
		int64_t left_ms = program->deadline_ms ? end_ms - clock_monotonic_ms() : -1;

		if (program->deadline_ms && left_ms <= 0)
			return E_TIMEOUT;
		if (poll(fds, COUNT_OF(fds), (int)left_ms) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && !run_program_feed(pipes->in, program, &fed))
			run_program_close(&pipes->in);
		if (fds[1].revents && !run_program_drain(pipes->out, output, OUTPUT_LIMIT))
			run_program_close(&pipes->out);
		if (fds[2].revents && !run_program_drain(pipes->talk, words, TALK_LIMIT))
			run_program_close(&pipes->talk);
	}
	return 0;
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
		problem_hint(problem, "is its package installed? (%s)", path);
	return problem->code;
}

static int run_program_find_user(const struct run_program *program, struct run_program_user *ret,
				 struct problem *problem)
{
	char room[USER_ROOM];
	struct passwd row;
	struct passwd *found = NULL;

	*ret = (struct run_program_user){0};
	if (!program->user || geteuid() != 0)
		return 0;
	if (getpwnam_r(program->user, &row, room, sizeof(room), &found) == 0 && found) {
		*ret = (struct run_program_user){
			.other = true, .uid = row.pw_uid, .gid = row.pw_gid};
		return 0;
	}
	problem_set(problem, E_NOT_FOUND, "there is no user %s on this machine", program->user);
	problem_hint(problem, "adduser --system --group %s, or choose another with --user",
		     program->user);
	return E_NOT_FOUND;
}

/* Pipes for the child: `theirs` are its ends. Without input it reads /dev/null. */
static int run_program_pipes_open(const struct run_program *program, struct run_program_pipes *ours,
				  struct run_program_pipes *theirs)
{
	int in[2] = {-1, -1};
	int out[2] = {-1, -1};
	int talk[2] = {-1, -1};
	int rc = 0;

	if (program->input)
		rc = pipe2(in, O_CLOEXEC);
	else
		in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (rc < 0 || in[0] < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(talk, O_CLOEXEC) < 0)
		rc = -errno;
	*ours = (struct run_program_pipes){in[1], out[0], talk[0]};
	*theirs = (struct run_program_pipes){in[0], out[1], talk[1]};
	/* A child that stops reading must not hold us up. */
	if (rc == 0 && in[1] >= 0 && fcntl(in[1], F_SETFL, O_NONBLOCK) < 0)
		rc = -errno;
	return rc;
}

static void run_program_pipes_close(struct run_program_pipes *pipes)
{
	run_program_close(&pipes->in);
	run_program_close(&pipes->out);
	run_program_close(&pipes->talk);
}

static int run_program_reap(const char *path, pid_t child, int *ret_status, struct problem *problem)
{
	while (waitpid(child, ret_status, 0) < 0) {
		if (errno != EINTR)
			return problem_set(problem, -errno, "cannot wait for %s: %s", path,
					   error_text(-errno));
	}
	return 0;
}

static int run_program_wait(const struct run_program *program, pid_t child, int rc,
			    const struct text *words, struct problem *problem)
{
	int status = 0;

	if (rc)
		(void)kill(child, SIGKILL);
	int reaped = run_program_reap(program->argv[0], child, &status, problem);
	if (reaped)
		return reaped;
	if (rc == E_TIMEOUT)
		return problem_set(problem, rc, "%s did not end in %u s and was killed",
				   program->argv[0], (unsigned)(program->deadline_ms / 1000));
	if (rc)
		return problem_set(problem, rc, "cannot hear %s: %s", program->argv[0],
				   error_text(rc));
	return run_program_tell(program->argv[0], status, words, problem);
}

int run_program(const struct run_program *program, struct problem *problem)
{
	CLEANUP(text_done) struct text words = {0};
	struct text *output = program->output ? program->output : &words;
	struct run_program_pipes ours;
	struct run_program_pipes theirs;
	struct run_program_user user;
	pid_t child = -1;
	int rc = run_program_find_user(program, &user, problem);

	if (rc)
		return rc;
	rc = run_program_pipes_open(program, &ours, &theirs);
	if (rc == 0) {
		child = fork();
		if (child == 0)
			run_program_become(program, &user, theirs.in, theirs.out, theirs.talk);
		rc = child < 0 ? -errno : 0;
	}
	run_program_pipes_close(&theirs);
	if (rc)
		rc = problem_set(problem, rc, "cannot start %s: %s", program->argv[0],
				 error_text(rc));
	else
		rc = run_program_wait(program, child,
				      run_program_talk(program, &ours, output, &words), &words,
				      problem);
	run_program_pipes_close(&ours);
	return rc;
}

int run_program_start(const struct run_program *program, int in, int out,
		      struct run_program_child *ret, struct problem *problem)
{
	struct run_program_child child = {.words = memfd_create("words", MFD_CLOEXEC)};
	struct run_program_user user;
	int rc = run_program_find_user(program, &user, problem);

	if (rc == 0 &&
	    (child.words < 0 || !text_copy(child.path, sizeof(child.path), program->argv[0])))
		rc = problem_set(problem, child.words < 0 ? -errno : -ENAMETOOLONG,
				 "cannot start %s", program->argv[0]);
	if (rc == 0) {
		child.pid = fork();
		if (child.pid == 0)
			run_program_become(program, &user, in, out, child.words);
		if (child.pid < 0)
			rc = problem_set(problem, -errno, "cannot start %s: %s", program->argv[0],
					 error_text(-errno));
	}
	if (rc == 0)
		*ret = child;
	else
		run_program_close(&child.words);
	return rc;
}

int run_program_end(struct run_program_child *child, struct problem *problem)
{
	CLEANUP(text_done) struct text words = {0};
	int status = 0;
	int rc = run_program_reap(child->path, child->pid, &status, problem);

	child->pid = 0;
	/* The end of its words says why it failed. */
	off_t size = lseek(child->words, 0, SEEK_END);
	off_t skipped = size > (off_t)TALK_LIMIT ? size - (off_t)TALK_LIMIT : 0;
	if (lseek(child->words, skipped, SEEK_SET) == skipped) {
		while (run_program_drain(child->words, &words, TALK_LIMIT))
			;
	}
	run_program_close(&child->words);
	return rc ? rc : run_program_tell(child->path, status, &words, problem);
}
