#include "bampi/storage/volume_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/transfer.h"

#include "bampi/storage/copy_checkpoint.h"
#include "bampi/storage/volume_file_private.h"

#define RESERVE_SIZE ((int64_t)256 << 20) /* at once, so that a cancel is heard */
#define VERIFY_ALIGN 4096

bool volume_path(const char *dir, int64_t id, char *ret, size_t room)
{
	return text_format(ret, room, "%s/volumes/%lld", dir, (long long)id);
}

bool archive_path(const char *dir, int64_t id, char *ret, size_t room)
{
	return text_format(ret, room, "%s/archives/%lld.zst", dir, (long long)id);
}

/* A target that is open keeps its descriptor. */
static void volume_file_withdraw_all(const char *dir)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *folder;

	(void)text_format(path, sizeof(path), "%s/volumes", dir);
	folder = opendir(path);
	if (!folder)
		return;
	// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] != '.')
			(void)!fchmodat(dirfd(folder), entry->d_name, 0600, 0);
	}
	(void)closedir(folder);
}

int volume_files_prepare(const char *dir, struct problem *problem)
{
	static const char *const names[] = {"volumes", "archives"};
	static const mode_t modes[] = {0710, 0700}; /* the target software opens by name */
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		int rc = text_format(path, sizeof(path), "%s/%s", dir, names[i])
				 ? file_make_folder(path, modes[i])
				 : -ENAMETOOLONG;

		if (rc)
			return problem_set(problem, rc, "cannot make %s/%s: %s", dir, names[i],
					   error_text(rc));
	}
	volume_file_withdraw_all(dir);
	return 0;
}

int volume_file_problem(struct problem *problem, const char *what, const char *path, int rc)
{
	struct statvfs disk;

	(void)problem_set(problem, rc, "%s: %s", what, error_text(rc));
	problem_detail(problem, "%s", path);
	if (rc == -ENOSPC || rc == -EDQUOT) {
		(void)problem_set(problem, rc, "%s: there is no room on the storage's disk", what);
		if (statvfs(path, &disk) == 0)
			problem_detail(problem, "%llu bytes are free",
				       (unsigned long long)disk.f_bavail * disk.f_frsize);
		problem_hint(problem, "delete volumes or archives, or give the storage more room");
	}
	return rc;
}

int volume_lend(const char *dir, int64_t id, struct problem *problem)
{
	char path[PATH_MAX];

	if (!volume_path(dir, id, path, sizeof(path)))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	if (chmod(path, 0660) != 0)
		return volume_file_problem(problem, "the volume cannot be served", path, -errno);
	return 0;
}

void volume_withdraw(const char *dir, int64_t id)
{
	char path[PATH_MAX];

	if (volume_path(dir, id, path, sizeof(path)))
		(void)!chmod(path, 0600);
}

int volume_sync_folder(const char *path)
{
	char folder[PATH_MAX];
	char *slash;
	CLEANUP(closep) int fd = -1;

	if (!text_copy(folder, sizeof(folder), path))
		return -ENAMETOOLONG;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) != 0 ? -errno : 0;
}

int volume_publish(int fd, const char *part, const char *path)
{
	if (fsync(fd) != 0 || rename(part, path) != 0)
		return -errno;
	return volume_sync_folder(path);
}

int volume_reserve(int fd, int64_t from, int64_t size, struct volume_progress *progress)
{
	while (from < size) {
		int64_t more = size - from < RESERVE_SIZE ? size - from : RESERVE_SIZE;
		int rc = -posix_fallocate(fd, from, more);

		if (rc == -EINTR)
			continue;
		if (rc)
			return rc;
		if (atomic_load(&progress->stop))
			return -ECANCELED;
		from += more;
		atomic_store(&progress->done, from);
	}
	return 0;
}

int volume_make(const char *dir, int64_t id, int64_t size, struct volume_progress *progress,
		struct problem *problem)
{
	char path[PATH_MAX - 8];
	char part[PATH_MAX];
	struct stat st;
	CLEANUP(closep) int fd = -1;
	int rc = 0;

	if (!volume_path(dir, id, path, sizeof(path)))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	if (stat(path, &st) == 0 && st.st_size == size)
		return 0; /* made before a kill */
	(void)text_format(part, sizeof(part), "%s.part", path);
	fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return volume_file_problem(problem, "the volume cannot be made", dir, -errno);
	rc = volume_reserve(fd, 0, size, progress);
	if (rc == 0)
		rc = volume_publish(fd, part, path);
	if (rc == 0)
		return 0;
	(void)unlink(part); /* gives its room back; it held zeros */
	return volume_file_problem(problem, "the volume cannot be made", dir, rc);
}

int volume_grow(const char *dir, int64_t id, int64_t size, struct volume_progress *progress,
		struct problem *problem)
{
	char path[PATH_MAX];
	struct stat st;
	CLEANUP(closep) int fd = -1;
	int rc = 0;

	if (!volume_path(dir, id, path, sizeof(path)))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) != 0)
		return volume_file_problem(problem, "the volume cannot grow", path, -errno);
	rc = volume_reserve(fd, st.st_size, size, progress);
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	if (rc == 0)
		return 0;
	/* as it was: the room that was had so far goes back */
	(void)!ftruncate(fd, st.st_size);
	return volume_file_problem(problem, "the volume cannot grow", dir, rc);
}

/* --- destroying --- */

static int volume_file_overwrite(int fd, int64_t size, void *zeros,
				 struct volume_progress *progress)
{
	for (int64_t at = 0; at < size;) {
		int64_t left = size - at;
		size_t piece = left < (int64_t)VOLUME_CHUNK ? (size_t)left : VOLUME_CHUNK;
		int rc = write_whole_at(fd, zeros, piece, (uint64_t)at);

		if (rc)
			return rc;
		if (atomic_load(&progress->stop))
			return -ECANCELED;
		at += (int64_t)piece;
		atomic_store(&progress->done, at);
	}
	return fsync(fd) != 0 ? -errno : 0;
}

/* O_DIRECT where the file system knows it, so that the disk is asked and not our own cache. */
static int open_past_cache(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECT);

	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

static int volume_file_read_back(const char *path, int64_t size, const void *zeros, void *room,
				 struct volume_progress *progress)
{
	CLEANUP(closep) int fd = open_past_cache(path);

	if (fd < 0)
		return -errno;
	for (int64_t at = 0; at < size;) {
		size_t got = 0;
		int rc = read_piece_at(fd, room, VOLUME_CHUNK, (uint64_t)at, &got);

		if (rc || got == 0)
			return rc ? rc : -EIO;
		if (memcmp(room, zeros, got) != 0)
			return E_DIGEST;
		if (atomic_load(&progress->stop))
			return -ECANCELED;
		at += (int64_t)got;
	}
	return 0;
}

static int erase_file(const char *path, struct volume_progress *progress, int64_t *ret_bytes)
{
	CLEANUP(freep) void *zeros = aligned_alloc(VERIFY_ALIGN, VOLUME_CHUNK);
	CLEANUP(freep) void *room = aligned_alloc(VERIFY_ALIGN, VOLUME_CHUNK);
	CLEANUP(closep) int fd = -1;
	struct stat st;
	int rc;

	if (!zeros || !room)
		return -ENOMEM;
	memset(zeros, 0, VOLUME_CHUNK);
	if (chmod(path, 0600) != 0)
		return -errno; /* an archive is read only */
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) != 0)
		return -errno;
	rc = volume_file_overwrite(fd, st.st_size, zeros, progress);
	if (rc == 0)
		rc = volume_file_read_back(path, st.st_size, zeros, room, progress);
	*ret_bytes = st.st_size;
	return rc;
}

int volume_scrap(const char *path)
{
	struct volume_progress progress = {0};
	int64_t ignored;
	int rc = erase_file(path, &progress, &ignored);

	if (rc == 0 && unlink(path) != 0)
		rc = -errno;
	return rc == -ENOENT ? 0 : rc;
}

static int destroy_problem(struct problem *problem, const char *path, int rc)
{
	if (rc == -ENOENT) {
		(void)problem_set(problem, rc, "its file is not there: nothing could be erased");
		problem_detail(problem, "%s", path);
		problem_hint(problem, "is the storage's disk mounted?");
		return rc;
	}
	if (rc == E_DIGEST) {
		(void)problem_set(problem, rc,
				  "after the overwrite some bytes read back are not zero");
		problem_detail(problem, "%s", path);
		problem_hint(problem,
			     "the disk may be broken: replace it; bampi-stored tries again");
		return rc;
	}
	return volume_file_problem(problem, "the data cannot be destroyed", path, rc);
}

int volume_destroy(const char *path, bool existed, struct volume_progress *progress,
		   int64_t *ret_bytes, struct problem *problem)
{
	char part[PATH_MAX];
	char erased[PATH_MAX];
	struct stat st;
	int rc;

	if (!text_format(part, sizeof(part), "%s.part", path) ||
	    !text_format(erased, sizeof(erased), "%s.erased", path))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	*ret_bytes = 0;
	rc = copy_checkpoint_drop(part);
	if (rc == 0)
		rc = volume_scrap(part);
	if (rc)
		return destroy_problem(problem, part, rc);
	if (stat(path, &st) != 0 && stat(erased, &st) == 0) {
		*ret_bytes = st.st_size; /* done before a kill */
		return 0;
	}
	if (access(path, F_OK) != 0)
		return existed ? destroy_problem(problem, path, -errno) : 0;
	rc = erase_file(path, progress, ret_bytes);
	if (rc == 0 && rename(path, erased) != 0)
		rc = -errno;
	if (rc == 0)
		rc = volume_sync_folder(path);
	return rc ? destroy_problem(problem, path, rc) : 0;
}

void volume_sweep(const char *dir, bool (*keep)(void *context, bool archive, int64_t id),
		  void *context)
{
	static const char *const folders[] = {"volumes", "archives"};
	static const char *const endings[] = {".erased", ".zst.erased"};
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		const struct dirent *entry;
		DIR *folder;

		if (!text_format(path, sizeof(path), "%s/%s", dir, folders[i]))
			return;
		folder = opendir(path);
		if (!folder)
			continue;
		// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
		while ((entry = readdir(folder))) {
			char *end;
			long long id = strtoll(entry->d_name, &end, 10);

			if (id > 0 && strcmp(end, endings[i]) == 0 && !keep(context, i == 1, id))
				(void)unlinkat(dirfd(folder), entry->d_name, 0);
		}
		(void)closedir(folder);
	}
}
