#include "peregrine/captured/keep_rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.h"

static const int kept_rights[] = {CAP_NET_RAW, CAP_SETUID, CAP_SETGID, CAP_KILL};

static int keep_rights_become(const char *user, uid_t uid, gid_t gid)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};
	uint32_t mask = 0;

	for (size_t i = 0; i < COUNT_OF(kept_rights); i++)
		mask |= 1U << kept_rights[i];
	sets[0] = (struct __user_cap_data_struct){mask, mask, mask};
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || initgroups(user, gid) != 0 ||
	    setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ||
	    syscall(SYS_capset, &header, sets) != 0)
		return -errno;
	for (size_t i = 0; i < COUNT_OF(kept_rights); i++) {
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept_rights[i], 0, 0) != 0)
			return -errno;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -errno : 0;
}

int keep_rights(const char *user, struct problem *problem)
{
	char room[4096];
	struct passwd row;
	struct passwd *found = NULL;
	int rc;

	if (!user[0] || geteuid() != 0)
		return 0;
	if (getpwnam_r(user, &row, room, sizeof(room), &found) != 0 || !found)
		return problem_set(problem, E_NOT_FOUND, "user %s does not exist", user);
	rc = keep_rights_become(user, row.pw_uid, row.pw_gid);
	if (rc)
		return problem_set(problem, rc, "cannot become user %s: %s", user, error_text(rc));
	return 0;
}
