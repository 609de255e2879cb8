#include "bampi/agent/os_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/agent/disk.h"
#include "bampi/agent/disk_policy.h"

#define PARTITION_TRIES 100 /* of 100 ms: devtmpfs follows BLKRRPART */

/* What the file system says about itself comes back line by line, "e text" (fsopen(2)). */
static void read_complaint(int context_fd, char *ret, size_t room)
{
	ssize_t size = read(context_fd, ret, room - 1);

	ret[size > 0 ? size : 0] = '\0';
}

int os_mount(const char *device, int *ret, struct problem *problem)
{
	CLEANUP(closep) int context_fd = fsopen("ext4", FSOPEN_CLOEXEC);
	char complaint[256];
	int fd;

	if (context_fd < 0)
		return problem_set(problem, -errno, "the agent's kernel has no ext4: %s",
				   error_text(-errno));
	if (fsconfig(context_fd, FSCONFIG_SET_STRING, "source", device, 0) < 0 ||
	    fsconfig(context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
		int rc = -errno;

		read_complaint(context_fd, complaint, sizeof(complaint));
		(void)problem_set(problem, rc,
				  "the image's root partition %s cannot be mounted: %s", device,
				  error_text(rc));
		problem_detail(problem, "%s", complaint);
		problem_hint(
			problem,
			"the root partition must be ext4; see root_partition in the image's manifest");
		return rc;
	}
	fd = fsmount(context_fd, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOATIME);
	if (fd < 0)
		return problem_set(problem, -errno, "mounting %s: %s", device, error_text(-errno));
	*ret = fd;
	return 0;
}

static int os_mount_find_disk(const struct task *task, const char *wanted, struct disk *ret,
			      struct problem *problem)
{
	CLEANUP(freep) struct disk *disks = NULL;
	struct disk_choice choice;
	size_t count = 0;
	int rc = disk_list(task->env, &disks, &count);

	if (!rc)
		rc = disk_choose(disks, count, wanted, 0, &choice, problem);
	if (rc)
		return rc;
	*ret = disks[choice.index];
	return 0;
}

static int find_partition(const struct task *task, const struct disk *disk, uint32_t number,
			  char ret[SYSFS_PATH_SIZE], struct problem *problem)
{
	char last = disk->name[strlen(disk->name) - 1];
	const char *between = last >= '0' && last <= '9' ? "p" : "";
	struct stat st;

	if (!sysfs_path(task->env, ret, "/dev/%s%s%u", disk->name, between, number))
		return problem_set(problem, E_LIMIT, "the path of disk %s is too long", disk->name);
	for (int i = 0; i < PARTITION_TRIES && task_wanted(task); i++) {
		if (stat(ret, &st) == 0 && S_ISBLK(st.st_mode))
			return 0;
		usleep(100 * 1000);
	}
	if (!task_wanted(task))
		return -ECANCELED;
	(void)problem_set(problem, E_NOT_FOUND, "disk %s has no partition %u", disk->name, number);
	problem_hint(problem,
		     "root_partition of the image's manifest does not fit its partition table");
	return problem->code;
}

int os_partition_find(const struct task *task, const char *wanted, uint32_t number,
		      char ret[SYSFS_PATH_SIZE], struct problem *problem)
{
	struct disk disk;
	int rc = os_mount_find_disk(task, wanted, &disk, problem);

	return rc ? rc : find_partition(task, &disk, number, ret, problem);
}
