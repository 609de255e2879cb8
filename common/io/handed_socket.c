#include "common/io/handed_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define HANDED_FIRST 3
#define HANDED_MAX   64

/* The names, separated by ':', of `ret_count` sockets from descriptor 3 on. */
static const char *handed_socket_names(long *ret_count)
{
	const char *pid = getenv("LISTEN_PID");   // NOLINT(concurrency-mt-unsafe): nobody sets it
	const char *count = getenv("LISTEN_FDS"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	const char *names =
		getenv("LISTEN_FDNAMES"); // NOLINT(concurrency-mt-unsafe): nobody sets it

	*ret_count = 0;
	if (!pid || !count || !names || strtol(pid, NULL, 10) != (long)getpid())
		return "";
	*ret_count = strtol(count, NULL, 10);
	if (*ret_count < 0 || *ret_count > HANDED_MAX)
		*ret_count = 0;
	return names;
}

/* -1: none. */
static int handed_socket_find(const char *name)
{
	long count;
	const char *at = handed_socket_names(&count);

	for (int i = 0; i < count; i++) {
		size_t length = strcspn(at, ":");

		if (strlen(name) == length && strncmp(at, name, length) == 0)
			return HANDED_FIRST + i;
		at += length + (at[length] != '\0');
	}
	return -1;
}

bool handed_socket_is_there(const char *name)
{
	return handed_socket_find(name) >= 0;
}

static int handed_socket_option(int fd, int option)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int handed_socket_take(const char *name, enum handed_kind kind, int *ret_fd,
		       struct problem *problem)
{
	static const struct {
		int domain;
		const char *word, *hint;
	} kinds[] = {
		[HANDED_TCP] = {AF_INET, "TCP by IPv4", "ListenStream=0.0.0.0:443"},
		[HANDED_UNIX] = {AF_UNIX, "a Unix socket", "ListenStream=/run/haas/..."},
	};
	int fd = handed_socket_find(name);

	if (fd < 0)
		return -ENOENT;
	if (handed_socket_option(fd, SO_DOMAIN) != kinds[kind].domain ||
	    handed_socket_option(fd, SO_TYPE) != SOCK_STREAM ||
	    handed_socket_option(fd, SO_ACCEPTCONN) != 1) {
		(void)problem_set(problem, E_CONFLICT,
				  "the socket that was handed over as \"%s\" cannot be used", name);
		problem_detail(problem, "it has to be %s, and to listen", kinds[kind].word);
		problem_hint(problem, "see its unit: %s", kinds[kind].hint);
		return E_CONFLICT;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return problem_set(problem, -errno, "socket \"%s\": %s", name, error_text(-errno));
	*ret_fd = fd;
	return 0;
}

const char *handed_socket_unknown(const char *const *known, char *ret, size_t room)
{
	long count;
	const char *at = handed_socket_names(&count);

	for (int i = 0; i < count; i++) {
		size_t length = strcspn(at, ":");
		const char *const *row = known;

		while (*row && (strlen(*row) != length || strncmp(at, *row, length) != 0))
			row++;
		if (!*row) {
			(void)text_format(ret, room, "%.*s", (int)length, at);
			return ret;
		}
		at += length + (at[length] != '\0');
	}
	return NULL;
}
