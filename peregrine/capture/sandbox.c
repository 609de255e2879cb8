#include "peregrine/capture/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/process.h"

#if !defined(__SANITIZE_ADDRESS__)
#define MEMORY_MOST (UINT64_C(1) << 30)
#else
#define MEMORY_MOST RLIM_INFINITY /* its shadow takes terabytes of addresses */
#endif

/* Those that poll() may name at once, all of them in use: there is no number for another one. */
enum { DESCRIPTORS = 3 };

/* What reading a ring of packets, writing to open files and waiting takes; the rest is refused (not
 * killed for: libraries ask for more than they need). */
static const int sandbox_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(ftruncate),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(close),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mprotect),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Also what a user without CAP_SETPCAP may: becoming another user takes them only from root. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    syscall(SYS_capset, &header, none) != 0)
		return -errno;
	return 0;
}

static int set_limits(uint64_t file_bytes)
{
	const struct {
		__rlimit_resource_t what;
		rlim_t most;
	} limits[] = {
		{RLIMIT_CORE, 0},           {RLIMIT_NPROC, 0},        {RLIMIT_NOFILE, DESCRIPTORS},
		{RLIMIT_FSIZE, file_bytes}, {RLIMIT_AS, MEMORY_MOST},
	};

	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		struct rlimit limit = {limits[i].most, limits[i].most};

		if (setrlimit(limits[i].what, &limit) != 0)
			return -errno;
	}
	return 0;
}

static int filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(sandbox_calls); i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, sandbox_calls[i], 0);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

int sandbox_enter(const char *user, uint64_t file_bytes, unsigned most_s, struct problem *problem)
{
	int rc = process_drop_privileges(user, problem);

	if (rc)
		return rc;
	rc = drop_capabilities();
	/* A change of user clears the first: it comes after. */
	if (rc == 0 && (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 ||
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0))
		rc = -errno;
	(void)alarm(most_s);
	if (rc == 0)
		rc = set_limits(file_bytes);
	if (rc == 0)
		rc = filter_calls();
	if (rc)
		return problem_set(problem, rc, "privileges cannot be dropped: %s", error_text(rc));
	return 0;
}
