#include "common/io/key_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"

void key_file_draw(uint8_t ret[], size_t size)
{
	size_t drawn = 0;

	while (drawn < size) {
		ssize_t done = getrandom(ret + drawn, size - drawn, 0);

		if (done < 0 && errno != EINTR)
			abort();
		drawn += done < 0 ? 0 : (size_t)done;
	}
}

/* Who owns a file may read it, and write another key into it. */
static int key_file_check_private(const struct stat *status, const struct key_file *file,
				  struct problem *problem)
{
	bool shared = status->st_mode & (S_IRWXG | S_IRWXO);

	if (!S_ISREG(status->st_mode))
		return problem_set(problem, E_MALFORMED, "%s is not a file", file->path);
	if (!shared && (status->st_uid == geteuid() || status->st_uid == 0))
		return 0;
	(void)problem_set(problem, E_DENIED, "the %s %s may be read by others", file->what,
			  file->path);
	problem_detail(problem, "its owner is user %u, its mode is %04o", (unsigned)status->st_uid,
		       (unsigned)status->st_mode & 07777U);
	problem_hint(problem, "%s", file->exposed_hint);
	return E_DENIED;
}

int key_file_private(const char *path, const char *what, const char *exposed_hint,
		     struct problem *problem)
{
	const struct key_file file = {.path = path, .what = what, .exposed_hint = exposed_hint};
	struct stat status;

	return stat(path, &status) < 0 ? -errno : key_file_check_private(&status, &file, problem);
}

static int key_file_check(int fd, const struct key_file *file, struct problem *problem)
{
	struct stat status;
	int rc;

	if (fstat(fd, &status) < 0)
		return -errno;
	rc = key_file_check_private(&status, file, problem);
	if (rc)
		return rc;
	if (status.st_size != (off_t)file->size)
		return problem_set(problem, E_MALFORMED, "the %s %s has not %zu bytes", file->what,
				   file->path, file->size);
	return 0;
}

static int key_file_read_key(const struct key_file *file, uint8_t ret[], struct problem *problem)
{
	CLEANUP(closep) int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got;
	int rc;

	if (fd < 0)
		return -errno;
	rc = key_file_check(fd, file, problem);
	if (rc)
		return rc;
	got = read(fd, ret, file->size);
	if (got < 0)
		return -errno;
	return got == (ssize_t)file->size ? 0 : -EIO;
}

static int key_file_make_key(const struct key_file *file)
{
	uint8_t key[KEY_FILE_SIZE_MAX];
	int rc;

	assert(file->size <= sizeof(key));
	file->make(key);
	rc = file_write_new(file->path, key, file->size, S_IRUSR | S_IWUSR);
	explicit_bzero(key, sizeof(key));
	return rc == -EEXIST ? 0 : rc; /* another was first, and that key counts */
}

int key_file_load(const struct key_file *file, uint8_t ret[], struct problem *problem)
{
	int rc;

	*problem = (struct problem){0};
	rc = key_file_read_key(file, ret, problem);
	if (rc == -ENOENT) {
		rc = key_file_make_key(file);
		if (rc == 0)
			rc = key_file_read_key(file, ret, problem);
	}
	if (rc)
		explicit_bzero(ret, file->size);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "the %s %s cannot be used: %s", file->what,
				  file->path, error_text(rc));
	return rc;
}
