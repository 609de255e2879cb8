#include "common/io/process.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define PASSWD_SIZE      16384
#define DESCRIPTOR_LIMIT 65536

static int find_user(const char *user, uid_t *ret_uid, gid_t *ret_gid, struct problem *problem)
{
	CLEANUP(freep) char *buffer = malloc(PASSWD_SIZE);
	struct passwd row;
	struct passwd *found = NULL;
	int rc = buffer ? getpwnam_r(user, &row, buffer, PASSWD_SIZE, &found) : ENOMEM;

	if (rc != 0)
		return problem_set(problem, -rc, "cannot look up user %s: %s", user,
				   error_text(-rc));
	if (!found) {
		(void)problem_set(problem, E_NOT_FOUND, "user %s does not exist", user);
		problem_hint(problem, "create it (useradd --system %s) or set another in `user`",
			     user);
		return E_NOT_FOUND;
	}
	*ret_uid = row.pw_uid;
	*ret_gid = row.pw_gid;
	return 0;
}

/* All capabilities, also those that a service manager gave for the start. */
static int give_up_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (syscall(SYS_capset, &header, none) != 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return 0;
}

/* The order of credentials(7): groups while still root, the user last; each change is read back. */
static int process_become(const char *user, uid_t uid, gid_t gid)
{
	uid_t real = 0;
	uid_t effective = 0;
	uid_t saved = 0;

	if (initgroups(user, gid) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0 || getresuid(&real, &effective, &saved) != 0)
		return -errno;
	if (real != uid || effective != uid || saved != uid || getegid() != gid)
		return -EPERM;
	if (uid == 0)
		return 0;
	if (give_up_rights() != 0)
		return -errno;
	return setuid(0) == 0 ? -EPERM : 0; /* a capability was left that lets us back */
}

int process_drop_privileges(const char *user, struct problem *problem)
{
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int rc;

	if (!user || user[0] == '\0')
		return 0;
	rc = find_user(user, &uid, &gid, problem);
	if (rc != 0)
		return rc;
	if (geteuid() != uid || getuid() != uid)
		rc = process_become(user, uid, gid);
	else if (uid != 0)
		rc = give_up_rights();
	if (rc != 0) {
		(void)problem_set(problem, rc, "cannot become user %s: %s", user, error_text(rc));
		problem_hint(problem, "start as root, or as %s with the ports' capability", user);
	}
	return rc;
}

void process_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	CLEANUP(closep) int fd = -1;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (address.sun_path[0] == '@') /* abstract */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

int64_t process_watchdog_ms(void)
{
	const char *time = getenv("WATCHDOG_USEC"); // NOLINT(concurrency-mt-unsafe): nobody sets it
	const char *pid = getenv("WATCHDOG_PID");   // NOLINT(concurrency-mt-unsafe): nobody sets it

	if (!time || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoll(time, NULL, 10) / 1000;
}

void process_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTOR_LIMIT ? limit.rlim_max : DESCRIPTOR_LIMIT;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* what it was is enough to start with */
}

void process_host_name(char *ret, size_t room)
{
	ret[0] = '\0';
	(void)gethostname(ret, room - 1);
	ret[room - 1] = '\0';
}

void process_claim_name(const char *name, char *ret, size_t room)
{
	char host[64];

	process_host_name(host, sizeof(host));
	if (name[0])
		(void)text_copy(ret, room, name);
	else
		(void)text_format(ret, room, "%s:%d", host, (int)getpid());
}
