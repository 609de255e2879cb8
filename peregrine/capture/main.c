/* peregrine-capture: one capture, one process. Started by peregrine-captured, which holds its
 * standard input open as long as the capture is wanted; by hand for a look at an interface. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"

#include "peregrine/capture/capture.h"
#include "peregrine/capture/sandbox.h"

enum { END_S = 30 }; /* to write what is left */

static volatile int capture_stopped;

static void capture_on_signal(int signal)
{
	(void)signal;
	capture_stopped = 1;
}

static void capture_usage(FILE *out)
{
	fputs("usage: peregrine-capture [--user USER]\n"
	      "Reads its order, one line of JSON, from its standard input. Captures until its input\n"
	      "is closed or its time has expired, and reports its progress on its standard output.\n"
	      "Needs CAP_NET_RAW at its start, and gives it up.\n",
	      out);
}

/* Byte by byte: what comes after the line is not ours to swallow. */
static int read_order(struct capture_order *ret, struct problem *problem)
{
	char *line = malloc(CAPTURE_ORDER_MAX);
	size_t size = 0;
	int rc;

	if (!line)
		return problem_set(problem, -ENOMEM, "no memory for an order");
	while (size < CAPTURE_ORDER_MAX) {
		ssize_t got = read(STDIN_FILENO, line + size, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || line[size] == '\n')
			break;
		size++;
	}
	rc = capture_order_read(line, size, ret, problem);
	free(line);
	return rc;
}

int main(int argc, char **argv)
{
	struct capture *capture = NULL;
	struct capture_order order;
	struct problem problem = {0};
	struct sigaction action = {.sa_handler = capture_on_signal};
	const char *user = argc == 3 && strcmp(argv[1], "--user") == 0 ? argv[2] : NULL;
	int rc;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		capture_usage(stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("peregrine-capture " HAAS_VERSION);
		return 0;
	}
	if (argc != 1 && !user) {
		capture_usage(stderr);
		return 2;
	}
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	rc = read_order(&order, &problem);
	if (rc == 0)
		rc = capture_open(&order, &capture, &problem);
	if (rc == 0)
		rc = sandbox_enter(user, order.file_bytes, order.seconds + END_S, &problem);
	if (rc == 0)
		rc = capture_run(capture, STDIN_FILENO, STDOUT_FILENO, &capture_stopped, &problem);
	if (rc)
		capture_tell_failed(STDOUT_FILENO, &problem);
	/* Nothing is freed, and nobody may look for leaks: that takes rights that are gone. */
	_exit(rc ? 1 : 0);
}
