#include "trainer_image/train/checkpoint_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

int checkpoint_folder_open(const char *path, struct checkpoint_folder *ret, struct problem *problem)
{
	struct checkpoint_folder folder = {.path = path, .fd = -1};
	int rc = file_make_folder(path, 0777);

	if (rc == 0)
		folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rc == 0 && folder.fd < 0)
		rc = -errno;
	if (rc < 0)
		return problem_set(problem, rc, "cannot keep checkpoints in %s: %s", path,
				   error_text(rc));
	if (flock(folder.fd, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? E_CONFLICT : -errno;
		problem_set(problem, rc, "cannot keep checkpoints in %s: %s", path,
			    rc == E_CONFLICT ? "another process saves to it" : error_text(rc));
		problem_hint(problem, "wait for it, or name another folder");
		checkpoint_folder_close(&folder);
		return rc;
	}
	*ret = folder;
	return 0;
}

void checkpoint_folder_close(struct checkpoint_folder *folder)
{
	closep(&folder->fd);
}

void checkpoint_folder_name(uint64_t step, char ret[CHECKPOINT_FOLDER_NAME_SIZE])
{
	(void)text_format(ret, CHECKPOINT_FOLDER_NAME_SIZE, "step-%012" PRIu64 ".checkpoint", step);
}

static bool checkpoint_folder_name_step(const char *name, uint64_t *ret)
{
	char again[CHECKPOINT_FOLDER_NAME_SIZE];
	char *end = NULL;

	if (strncmp(name, "step-", 5) != 0)
		return false;
	errno = 0;
	*ret = strtoull(name + 5, &end, 10);
	checkpoint_folder_name(*ret, again);
	return errno == 0 && strcmp(name, again) == 0;
}

static int checkpoint_folder_later(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

int checkpoint_folder_steps(const struct checkpoint_folder *folder, uint64_t **ret,
			    size_t *ret_count)
{
	CLEANUP(freep) uint64_t *steps = NULL;
	size_t count = 0;
	size_t room = 0;
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	int rc = 0;

	if (!list) {
		rc = -errno;
		closep(&fd);
		return rc;
	}
	errno = 0;
	/* The stream is ours alone, which makes readdir safe (POSIX.1-2024).
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	for (const struct dirent *entry; rc == 0 && (entry = readdir(list)) != NULL; errno = 0) {
		uint64_t step;

		if (!checkpoint_folder_name_step(entry->d_name, &step))
			continue;
		if (count == room) {
			uint64_t *more = realloc(steps, (room * 2 + 16) * sizeof(*more));

			if (!more) {
				rc = -ENOMEM;
				break;
			}
			steps = more;
			room = room * 2 + 16;
		}
		steps[count++] = step;
	}
	if (rc == 0 && errno != 0)
		rc = -errno;
	(void)closedir(list);
	if (rc < 0)
		return rc;
	if (count > 0)
		qsort(steps, count, sizeof(*steps), checkpoint_folder_later);
	*ret = TAKE(steps);
	*ret_count = count;
	return 0;
}

int checkpoint_folder_prune(const struct checkpoint_folder *folder, uint64_t step, uint32_t keep)
{
	CLEANUP(freep) uint64_t *steps = NULL;
	char name[CHECKPOINT_FOLDER_NAME_SIZE];
	uint32_t kept = 0;
	size_t count = 0;
	int rc = checkpoint_folder_steps(folder, &steps, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (steps[i] <= step && kept++ < keep)
			continue;
		checkpoint_folder_name(steps[i], name);
		if (unlinkat(folder->fd, name, 0) < 0 && errno != ENOENT)
			rc = -errno;
	}
	return rc;
}
