// links: common_io
/* Sockets of the service manager: which name is which descriptor, and whose they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/handed_socket.h"

#include "tests/support/cmocka.h"

/* Descriptor 3 on: a Unix socket that listens, one that does not, a TCP port. */
static void handed_child_open(void)
{
	static const struct sockaddr any_name = {.sa_family =
							 AF_UNIX}; /* the kernel gives it one */

	for (int i = 0; i < 3; i++) {
		int fd = socket(i == 2 ? AF_INET : AF_UNIX, SOCK_STREAM, 0);

		if ((i == 0 && bind(fd, &any_name, sizeof(any_name.sa_family)) != 0) ||
		    (i != 1 && listen(fd, 1) != 0))
			_exit(99);
		if (fd != 3 + i && (dup2(fd, 3 + i) != 3 + i || close(fd) != 0))
			_exit(98);
	}
}

static void handed_child_set(const char *pid, const char *count, const char *names)
{
	char own[24];

	(void)text_format(own, sizeof(own), "%d", (int)getpid());
	if (setenv("LISTEN_PID", pid ? pid : own, 1) != 0 || setenv("LISTEN_FDS", count, 1) != 0 ||
	    setenv("LISTEN_FDNAMES", names, 1) != 0)
		_exit(97);
}

struct handed_case {
	const char *pid, *count, *names, *asked;
	enum handed_kind kind;
	int rc; /* 0: `fd` */
	int fd;
	const char *unknown;
};

/* A child, for its descriptors are chosen. 0: as it should be. */
static int handed_child(const struct handed_case *row)
{
	static const char *const known[] = {"local", "tls", NULL};
	struct problem problem = {0};
	char name[16];
	const char *unknown;
	int fd = -1;
	int rc;

	handed_child_open();
	handed_child_set(row->pid, row->count, row->names);
	rc = handed_socket_take(row->asked, row->kind, &fd, &problem);
	if (rc != row->rc)
		return 1;
	if (rc == 0 && (fd != row->fd || fcntl(fd, F_GETFD) != FD_CLOEXEC))
		return 2;
	if (handed_socket_is_there(row->asked) != (rc != -ENOENT))
		return 3;
	unknown = handed_socket_unknown(known, name, sizeof(name));
	if ((unknown != NULL) != (row->unknown != NULL))
		return 4;
	return unknown && strcmp(unknown, row->unknown) != 0 ? 5 : 0;
}

static void test_names(void **state)
{
	static const struct handed_case rows[] = {
		{NULL, "3", "edge:x:tls", "tls", HANDED_TCP, 0, 5, "edge"},
		{NULL, "3", "x:local:tls", "tls", HANDED_TCP, 0, 5, "x"},
		{NULL, "3", "local:x:tls", "local", HANDED_UNIX, 0, 3, "x"},
		{NULL, "3", "local:x:tls", "local", HANDED_TCP, E_CONFLICT, 0, "x"},
		{NULL, "3", "local:x:tls", "tls", HANDED_UNIX, E_CONFLICT, 0, "x"},
		{NULL, "3", "tls:local:tls2", "tls2", HANDED_UNIX, E_CONFLICT, 0, "tls2"},
		{NULL, "3", "local:x:tls", "x", HANDED_UNIX, E_CONFLICT, 0, "x"},
		{NULL, "2", "local:x:tls", "tls", HANDED_TCP, -ENOENT, 0, "x"},
		{NULL, "3", "local:tls", "", HANDED_TCP, 0, 5, ""},
		{NULL, "0", "tls", "tls", HANDED_TCP, -ENOENT, 0, NULL},
		{NULL, "-1", "tls", "tls", HANDED_TCP, -ENOENT, 0, NULL},
		{NULL, "9999", "tls", "tls", HANDED_TCP, -ENOENT, 0, NULL},
		{NULL, "3", "tl:tlss:tls", "tls", HANDED_TCP, 0, 5, "tl"},
		{"1", "3", "x:x:tls", "tls", HANDED_TCP, -ENOENT, 0, NULL},
		{"", "3", "x:x:tls", "tls", HANDED_TCP, -ENOENT, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int status = 0;
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0)
			_exit(handed_child(&rows[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("row %zu: %d", i, WEXITSTATUS(status));
	}
}

static void test_nothing(void **state)
{
	struct problem problem = {0};
	int fd = -1;

	(void)state;
	assert_int_equal(unsetenv("LISTEN_PID"), 0);
	assert_int_equal(handed_socket_take("local", HANDED_UNIX, &fd, &problem), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
