#include "bampi/agent/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/agent/sysfs.h"
#include "bampi/agent/task.h"

static const char *const disk_kind_words[] = {
	[DISK_NVME] = "nvme",
	[DISK_ATA] = "ata",
	[DISK_SCSI] = "scsi",
	[DISK_VIRTIO] = "virtio",
};

/* What else lives in /sys/block (loop, ram, dm-, md, sr, nbd, zram) is not a drive, or not one of
 * this node. */
static const struct {
	const char *prefix;
	enum disk_kind kind;
} disk_prefixes[] = {
	{"nvme", DISK_NVME},
	{"sd", DISK_SCSI},
	{"vd", DISK_VIRTIO},
};

const char *disk_kind_text(enum disk_kind kind)
{
	return enum_text(disk_kind_words, COUNT_OF(disk_kind_words), (int)kind);
}

/* SPC-5 7.7.8: the unit serial number page is a four-byte head and text. */
static void read_scsi_serial(const struct agent_env *env, const char *name, char ret[64])
{
	char path[SYSFS_PATH_SIZE];
	char page[4 + 63 + 1] = "";
	char *at = page + 4;
	ssize_t size = -1;

	if (sysfs_path(env, path, "/sys/block/%s/device/vpd_pg80", name)) {
		CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

		size = fd < 0 ? -1 : read(fd, page, sizeof(page) - 1);
	}
	if (size <= 4)
		return;
	page[size] = '\0';
	while (*at == ' ')
		at++;
	for (size_t i = strlen(at); i > 0 && (unsigned char)at[i - 1] <= ' '; i--)
		at[i - 1] = '\0';
	(void)text_copy(ret, 64, at);
}

static void read_scsi(const struct agent_env *env, struct disk *disk)
{
	char vendor[32];

	(void)sysfs_line(env, vendor, sizeof(vendor), "/sys/block/%s/device/vendor", disk->name);
	/* libata names itself as the vendor of every ATA drive (SAT-4 9.1.2). */
	if (strcmp(vendor, "ATA") == 0)
		disk->kind = DISK_ATA;
	read_scsi_serial(env, disk->name, disk->serial);
}

static bool is_usb(const struct agent_env *env, const char *name)
{
	char path[SYSFS_PATH_SIZE];
	CLEANUP(freep) char *real = NULL;

	if (!sysfs_path(env, path, "/sys/block/%s/device", name))
		return false;
	real = realpath(path, NULL);
	return real && strstr(real, "/usb") != NULL;
}

static bool read_disk(const struct agent_env *env, const char *name, struct disk *ret)
{
	struct disk disk = {0};
	size_t row = 0;
	int64_t sectors;

	while (row < COUNT_OF(disk_prefixes) &&
	       strncmp(name, disk_prefixes[row].prefix, strlen(disk_prefixes[row].prefix)) != 0)
		row++;
	if (row == COUNT_OF(disk_prefixes))
		return false;
	/* The paths below a multipath NVMe namespace (nvme0c0n1) are hidden: the namespace itself
	 * is listed. */
	if (sysfs_int(env, 0, "/sys/block/%s/hidden", name) != 0)
		return false;
	(void)text_copy(disk.name, sizeof(disk.name), name);
	disk.kind = disk_prefixes[row].kind;
	sectors = sysfs_int(env, 0, "/sys/block/%s/size", name);
	if (sectors <= 0 || sectors > INT64_MAX / 512)
		return false; /* a card reader without a card */
	disk.size_bytes = (uint64_t)sectors * 512;
	disk.sector_bytes =
		(uint32_t)sysfs_int(env, 512, "/sys/block/%s/queue/logical_block_size", name);
	disk.removable = sysfs_int(env, 0, "/sys/block/%s/removable", name) != 0;
	disk.read_only = sysfs_int(env, 0, "/sys/block/%s/ro", name) != 0;
	disk.usb = is_usb(env, name);
	disk.rotational = sysfs_int(env, 0, "/sys/block/%s/queue/rotational", name) != 0;
	(void)sysfs_line(env, disk.model, sizeof(disk.model), "/sys/block/%s/device/model", name);
	(void)sysfs_line(env, disk.serial, sizeof(disk.serial), "/sys/block/%s/device/serial",
			 name);
	if (disk.kind == DISK_VIRTIO)
		(void)sysfs_line(env, disk.serial, sizeof(disk.serial), "/sys/block/%s/serial",
				 name);
	if (disk.kind == DISK_SCSI)
		read_scsi(env, &disk);

	*ret = disk;
	return true;
}

int disk_list(const struct agent_env *env, struct disk **ret, size_t *ret_count)
{
	CLEANUP(freep) char(*names)[64] = calloc(DISK_LIMIT, sizeof(*names));
	CLEANUP(freep) struct disk *disks = calloc(DISK_LIMIT, sizeof(*disks));
	size_t count = 0;
	size_t found;

	if (!names || !disks)
		return -ENOMEM;
	found = sysfs_names(env, "/sys/block", names, DISK_LIMIT);
	for (size_t i = 0; i < found; i++)
		if (read_disk(env, names[i], &disks[count]))
			count++;

	*ret = TAKE(disks);
	*ret_count = count;
	return 0;
}

int disk_open(const struct agent_env *env, const struct disk *disk, int flags, int *ret_fd,
	      bool *ret_block, struct problem *problem)
{
	char path[SYSFS_PATH_SIZE];
	struct stat st;
	int fd;

	if (!sysfs_path(env, path, "/dev/%s", disk->name))
		return problem_set(problem, E_LIMIT, "the path of %s is too long", disk->name);
	if (stat(path, &st) < 0)
		return problem_set(problem, -errno, "%s: %s", path, error_text(-errno));
	if (!S_ISBLK(st.st_mode) && !(env->sandbox && S_ISREG(st.st_mode)))
		return problem_set(problem, E_CONFLICT, "%s is not a block device", path);
	/* Without O_CREAT, O_EXCL on a block device means: nobody has it mounted or stacked
	 * (open(2)). */
	fd = open(path, O_RDWR | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_EXCL : 0) | flags);
	if (fd < 0 && errno == EINVAL && (flags & O_DIRECT))
		fd = open(path, O_RDWR | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_EXCL : 0) |
					(flags & ~O_DIRECT));
	if (fd < 0 && errno == EBUSY) {
		(void)problem_set(problem, E_CONFLICT, "disk %s is in use", disk->name);
		problem_hint(
			problem,
			"a file system or RAID on the node uses it; reboot the node into the agent");
		return problem->code;
	}
	if (fd < 0)
		return problem_set(problem, -errno, "disk %s cannot be opened: %s", disk->name,
				   error_text(-errno));

	*ret_fd = fd;
	*ret_block = S_ISBLK(st.st_mode);
	return 0;
}

int disk_size(int fd, bool block, uint64_t *ret_bytes)
{
	struct stat st;

	if (block)
		return ioctl(fd, BLKGETSIZE64, ret_bytes) < 0 ? -errno : 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

void disk_rescan(const struct agent_env *env, const struct disk *disk)
{
	char path[SYSFS_PATH_SIZE];

	if (sysfs_path(env, path, "/sys/block/%s/device/rescan", disk->name)) {
		CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, "1", 1) < 0)
			return; /* the size tells whether it helped */
	}
}
