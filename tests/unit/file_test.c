// links: common_io
/* Bounded reads, atomic writes, folders; privileges and the service manager's socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/process.h"
#include "common/io/transfer.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

static int start(void **state)
{
	static char folder[SCRATCH_SIZE];

	scratch_make(folder, "file");
	*state = folder;
	return 0;
}

static int stop(void **state)
{
	scratch_remove(*state);
	return 0;
}

static const char *in(void **state, const char *name)
{
	static char path[256];

	(void)text_format(path, sizeof(path), "%s/%s", (const char *)*state, name);
	return path;
}

static void test_write_read(void **state)
{
	struct stat status;
	char *data = NULL;
	size_t size = 0;

	assert_int_equal(file_write_atomic(in(state, "f"), "a\0b", 3, 0640), 0);
	assert_int_equal(stat(in(state, "f"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(file_read(in(state, "f"), 3, &data, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(data, "a\0b\0", 4);
	free(data);
	data = NULL;
	assert_int_equal(file_read(in(state, "f"), 2, &data, &size), E_LIMIT);
	assert_null(data);
	assert_int_equal(file_read(in(state, "none"), 2, &data, &size), -ENOENT);
	assert_int_equal(file_read(in(state, ""), 2, &data, &size), -EISDIR);
	assert_int_equal(file_write_atomic(in(state, "f"), "", 0, 0600), 0);
	assert_int_equal(file_read(in(state, "f"), 0, &data, NULL), 0);
	assert_string_equal(data, "");
	free(data);
	/* fstat says 0 here. */
	assert_int_equal(file_read("/proc/self/status", 65536, &data, &size), 0);
	assert_true(size > 100);
	free(data);
}

static void test_write_new(void **state)
{
	char *data = NULL;

	assert_int_equal(file_write_new(in(state, "new"), "first", 5, 0600), 0);
	assert_int_equal(file_write_new(in(state, "new"), "second", 6, 0600), -EEXIST);
	assert_int_equal(file_read(in(state, "new"), 10, &data, NULL), 0);
	assert_string_equal(data, "first");
	free(data);
	assert_int_equal(unlink(in(state, "new")), 0);
}

/* What fails leaves the old file whole and no crumbs. */
static void test_write_failure(void **state)
{
	assert_int_equal(file_write_atomic(in(state, "no/f"), "x", 1, 0600), -ENOENT);
	assert_int_equal(mkdir(in(state, "folder"), 0755), 0);
	assert_int_equal(file_write_atomic(in(state, "folder"), "x", 1, 0600), -EISDIR);
	assert_int_equal(shell("test $(ls %s | wc -l) = 1", (const char *)*state), 0);
}

static void test_folders(void **state)
{
	struct stat status;

	assert_int_equal(file_make_folder(in(state, "a/b/c/"), 0750), 0);
	assert_int_equal(stat(in(state, "a/b/c"), &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	assert_int_equal(file_make_folder(in(state, "a/b/c"), 0750), 0);
	assert_int_equal(file_write_atomic(in(state, "a/f"), "", 0, 0600), 0);
	assert_int_equal(file_make_folder(in(state, "a/f/g"), 0750), -ENOTDIR);
	assert_int_equal(file_make_folder(in(state, "a/f"), 0750), -ENOTDIR);
}

/* In a child: it does not come back. */
static int drop_in_child(void)
{
	struct problem problem = {0};
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		if (process_drop_privileges("nobody", &problem) != 0)
			_exit(2);
		if (geteuid() == 0 || setuid(0) == 0 || getgroups(0, NULL) > 1)
			_exit(3);
		if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
			_exit(4);
		_exit(process_drop_privileges("nobody", &problem) == 0 ? 0 : 5);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* S25: as a service manager starts us, the user already, with a capability for the ports. */
static int keep_in_child(void)
{
	struct problem problem = {0};
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		const struct passwd *nobody = getpwnam("nobody");
		struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct sets[2] = {{0}};

		sets[0].effective = sets[0].permitted = sets[0].inheritable = 1U << CAP_NET_RAW;
		if (!nobody || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
		    setresgid(nobody->pw_gid, nobody->pw_gid, nobody->pw_gid) != 0 ||
		    setresuid(nobody->pw_uid, nobody->pw_uid, nobody->pw_uid) != 0 ||
		    syscall(SYS_capset, &header, sets) != 0 ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) != 0)
			_exit(2);
		if (process_drop_privileges("nobody", &problem) != 0)
			_exit(3);
		memset(sets, 0xff, sizeof(sets));
		if (syscall(SYS_capget, &header, sets) != 0 || sets[0].effective != 0 ||
		    sets[0].permitted != 0 || sets[0].inheritable != 0)
			_exit(4);
		_exit(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_RAW, 0, 0) == 0 ? 0 : 5);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_privileges(void **state)
{
	const struct passwd *self = getpwuid(getuid());
	struct problem problem = {0};

	(void)state;
	assert_int_equal(process_drop_privileges(NULL, &problem), 0);
	assert_int_equal(process_drop_privileges("", &problem), 0);
	assert_int_equal(process_drop_privileges("no-such-user", &problem), E_NOT_FOUND);
	assert_string_equal(problem.message, "user no-such-user does not exist");
	if (self)
		assert_int_equal(process_drop_privileges(self->pw_name, &problem), 0);
	if (getuid() == 0)
		assert_int_equal(drop_in_child(), 0);
	if (getuid() == 0)
		assert_int_equal(keep_in_child(), 0);
	if (getuid() != 0)
		assert_int_equal(process_drop_privileges("root", &problem), -EPERM);
}

static void test_notify(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char got[64] = "";

	assert_true(text_copy(name.sun_path, sizeof(name.sun_path), in(state, "notify")));
	assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	process_notify("READY=1");
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
	assert_int_equal(setenv("NOTIFY_SOCKET", name.sun_path, 1), 0);
	process_notify("READY=1");
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), 7);
	assert_string_equal(got, "READY=1");
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	close(fd);
}

/* A pipe takes and gives 64 KiB at most: more than one transfer each. */
static void test_transfer(void **state)
{
	enum { SIZE = 300000 };
	char *sent = calloc(1, SIZE);
	char *got = calloc(1, SIZE);
	char letter = 0;
	size_t size;
	int ends[2];
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	pid_t child;

	(void)state;
	assert_non_null(sent);
	assert_non_null(got);
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (char)(i * 7 % 251);
	child = fork();
	if (child == 0)
		_exit(write_whole(ends[1], sent, SIZE) != 0);
	(void)close(ends[1]);
	assert_int_equal(read_whole(ends[0], got, SIZE), 0);
	assert_memory_equal(sent, got, SIZE);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(read_whole(ends[0], got, 1), -EIO);
	assert_int_equal(read_piece(ends[0], got, 1, &size), 0);
	assert_int_equal(size, 0);
	(void)close(ends[0]);
	assert_int_equal(write_whole(fd, sent, SIZE), -ENOSPC);
	(void)close(fd);
	fd = open(in(state, "placed"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write_whole_at(fd, "abc", 3, 5), 0);
	assert_int_equal(read_whole_at(fd, &letter, 1, 6), 0);
	assert_int_equal(letter, 'b');
	assert_int_equal(read_whole_at(fd, got, 2, 7), -EIO);
	assert_int_equal(read_piece_at(fd, got, 9, 6, &size), 0);
	assert_int_equal(size, 2);
	(void)close(fd);
	free(sent);
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_write_read, start, stop),
		cmocka_unit_test_setup_teardown(test_transfer, start, stop),
		cmocka_unit_test_setup_teardown(test_write_new, start, stop),
		cmocka_unit_test_setup_teardown(test_write_failure, start, stop),
		cmocka_unit_test_setup_teardown(test_folders, start, stop),
		cmocka_unit_test(test_privileges),
		cmocka_unit_test_setup_teardown(test_notify, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
