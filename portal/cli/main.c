/* haasctl: the operator's and the on-call engineer's hand. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/wipe.h"

#include "portal/cli/haasctl_table.h"

/* What a shell says of a program that SIGPIPE ended. */
#define EXIT_BROKEN_PIPE 141

/* Did all of stdout arrive? A reader that left early (| head) is no error to talk about. */
static int close_output(int status)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	int error = errno;
	if (error == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR)))
		return EXIT_BROKEN_PIPE;
	/* The reason of a failure in the middle is gone by now. */
	fprintf(stderr, "haasctl: cannot write stdout: %s\n",
		error ? error_text(-error) : "it is not complete");
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct haasctl *haasctl = NULL;
	struct command_set set;
	CLEANUP(freep) struct command *commands = haasctl_table_new(&set);

	if (!commands || sodium_init() < 0 || haasctl_new(&haasctl) < 0) {
		fprintf(stderr, "haasctl: cannot start: %s\n", error_text(-ENOMEM));
		return EXIT_FAILED;
	}
	wipe_json_memory(); /* answers and contexts hold secrets */
	set.context = haasctl;
	(void)signal(SIGPIPE, SIG_IGN);
	int status = command_main(&set, argc, argv);
	haasctl_free(haasctl);
	return close_output(status);
}
