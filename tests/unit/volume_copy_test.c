// links: bampi_storage
/* Archives and restores that are killed: the next goes on behind the last checkpoint, writes
 * nothing of what is before it again, and what comes out is the same to the byte. The kills are the
 * kernel's, at a byte or while it waits for one, so that no clock decides where they hit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "bampi/storage/copy_checkpoint.h"
#include "bampi/storage/volume_file.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define MIB     ((size_t)1 << 20)
#define SIZE    (5 * MIB + 4096) /* no whole number of checkpoints */
#define VOLUME  7
#define ARCHIVE 9
#define COPY    8

static const struct archive_order order = {VOLUME, ARCHIVE, 1, (int64_t)MIB};

struct fixture {
	char dir[SCRATCH_SIZE];
	char volume[128], archive[128], part[160], copy[128], copy_part[160];
	uint8_t *data;
	char digest[DIGEST_TEXT_SIZE];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct problem problem = {0};
	FILE *file;

	assert_true(sodium_init() >= 0);
	assert_non_null(f);
	scratch_make(f->dir, "volume-copy");
	assert_int_equal(volume_files_prepare(f->dir, &problem), 0);
	assert_true(volume_path(f->dir, VOLUME, f->volume, sizeof(f->volume)));
	assert_true(volume_path(f->dir, COPY, f->copy, sizeof(f->copy)));
	assert_true(archive_path(f->dir, ARCHIVE, f->archive, sizeof(f->archive)));
	assert_true(text_format(f->part, sizeof(f->part), "%s.part", f->archive));
	assert_true(text_format(f->copy_part, sizeof(f->copy_part), "%s.part", f->copy));
	f->data = malloc(SIZE);
	assert_non_null(f->data);
	randombytes_buf(f->data, SIZE); /* nothing for zstd to save: frames are as long as data */
	memset(f->data + 3 * MIB, 0, MIB / 2);
	digest_text(f->data, SIZE, f->digest);
	file = fopen(f->volume, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(f->data, 1, SIZE, file), SIZE);
	assert_int_equal(fclose(file), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->dir);
	free(f->data);
	free(f);
	return 0;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static bool has_checkpoint(const char *part)
{
	char path[192];

	assert_true(text_format(path, sizeof(path), "%s.checkpoint", part));
	return exists(path);
}

static void assert_data(const struct fixture *f, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	size_t size;

	assert_int_equal(file_read(path, 2 * SIZE, &data, &size), 0);
	assert_int_equal(size, SIZE);
	assert_memory_equal(data, f->data, SIZE);
}

/* zstd itself makes of the archive what the volume holds, and the digests are those of the files.
 */
static void assert_archive(const struct fixture *f, const struct archive_digest *digest)
{
	CLEANUP(freep) char *stored = NULL;
	char unpacked[160];
	char text[DIGEST_TEXT_SIZE];
	size_t size;

	assert_int_equal(file_read(f->archive, 2 * SIZE, &stored, &size), 0);
	digest_text(stored, size, text);
	assert_string_equal(digest->stored_digest, text);
	assert_int_equal(digest->stored_bytes, size);
	assert_string_equal(digest->digest, f->digest);
	assert_true(text_format(unpacked, sizeof(unpacked), "%s/unpacked", f->dir));
	assert_int_equal(shell("zstd -q -d -f %s -o %s", f->archive, unpacked), 0);
	assert_data(f, unpacked);
	assert_false(exists(f->part));
	assert_false(has_checkpoint(f->part));
}

/* In a process that the kernel ends when the archive grows beyond `bytes`. */
static void archive_killed_at(const struct fixture *f, size_t bytes)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {bytes, bytes};
		struct rlimit core = {0, 0};
		struct volume_progress progress = {0};
		struct archive_digest digest;
		struct problem problem = {0};

		(void)setrlimit(RLIMIT_CORE, &core);
		(void)signal(SIGXFSZ, SIG_DFL);
		if (setrlimit(RLIMIT_FSIZE, &limit) == 0)
			(void)!volume_archive(f->dir, &order, &progress, &digest, &problem);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

static int archive(const struct fixture *f, struct volume_progress *progress,
		   struct archive_digest *ret)
{
	struct problem problem = {0};
	int rc = volume_archive(f->dir, &order, progress, ret, &problem);

	assert_int_equal(rc != 0, problem_is_set(&problem));
	return rc;
}

static void archive_in_one_go(void **state)
{
	const struct fixture *f = *state;
	struct volume_progress progress = {0};
	struct archive_digest digest;

	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_archive(f, &digest);
	assert_int_equal(progress.resumed, 0);
	assert_int_equal(progress.done, SIZE);
}

static void archive_goes_on_after_a_kill(void **state)
{
	const struct fixture *f = *state;
	static const size_t kills[] = {MIB / 2, 2 * MIB + MIB / 2, 4 * MIB + MIB / 2};
	static const size_t resumed[] = {0, 2, 4};
	struct archive_digest digest;

	for (size_t i = 0; i < COUNT_OF(kills); i++) {
		archive_killed_at(f, kills[i]);
		assert_true(exists(f->part));
		assert_false(exists(f->archive));
	}
	for (size_t i = 0; i < COUNT_OF(kills); i++) {
		struct volume_progress progress = {0};

		assert_int_equal(shell("rm -f %s/archives/*", f->dir), 0);
		archive_killed_at(f, kills[i]);
		assert_int_equal(archive(f, &progress, &digest), 0);
		assert_int_equal(progress.resumed, resumed[i] * MIB);
		assert_int_equal(progress.done, SIZE);
		assert_archive(f, &digest);
	}
}

/* A mark left in the first frame is still there at the end, and the last frame is as it must be. */
static void what_was_archived_is_not_written_again(void **state)
{
	const struct fixture *f = *state;
	struct volume_progress progress = {0};
	struct archive_digest digest;
	uint8_t before[4];
	uint8_t after[4];
	int fd;

	archive_killed_at(f, 3 * MIB + MIB / 2);
	fd = open(f->part, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, before, sizeof(before), 4096), sizeof(before));
	for (size_t i = 0; i < sizeof(before); i++)
		before[i] = (uint8_t)~before[i];
	assert_int_equal(pwrite(fd, before, sizeof(before), 4096), sizeof(before));
	close(fd);
	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_true(progress.resumed >= (int64_t)(2 * MIB));
	assert_string_equal(digest.digest, f->digest);
	fd = open(f->archive, O_RDONLY);
	assert_int_equal(pread(fd, after, sizeof(after), 4096), sizeof(after));
	close(fd);
	assert_memory_equal(before, after, sizeof(after));
}

/* Another content, another file, a torn slot: what the checkpoint says does not count. */
static void a_checkpoint_that_does_not_fit_is_forgotten(void **state)
{
	struct fixture *f = *state;
	struct volume_progress progress = {0};
	struct archive_digest digest;
	int fd;

	archive_killed_at(f, 2 * MIB + MIB / 2);
	fd = open(f->volume, O_RDWR);
	f->data[0] ^= 1;
	assert_int_equal(pwrite(fd, f->data, 1, 0), 1);
	close(fd);
	/* whatever the granularity of its clock: another time */
	assert_int_equal(shell("touch -d '2001-01-01 00:00:01' %s", f->volume), 0);
	digest_text(f->data, SIZE, f->digest);
	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_int_equal(progress.resumed, 0);
	assert_archive(f, &digest);

	assert_int_equal(shell("rm -f %s", f->archive), 0);
	archive_killed_at(f, 2 * MIB + MIB / 2);
	assert_int_equal(shell("rm %s", f->part), 0); /* only the checkpoint is left */
	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_int_equal(progress.resumed, 0);
	assert_archive(f, &digest);

	assert_int_equal(shell("rm -f %s", f->archive), 0);
	archive_killed_at(f, 2 * MIB + MIB / 2);
	/* the newer slot is torn: the one before it holds */
	assert_int_equal(
		shell("printf x | dd of=%s.checkpoint bs=1 seek=4 conv=notrunc status=none",
		      f->part),
		0);
	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_int_equal(progress.resumed, MIB);
	assert_archive(f, &digest);
}

static void stopped_it_stays_and_given_up_it_is_erased(void **state)
{
	const struct fixture *f = *state;
	struct volume_progress progress = {.stop = true};
	struct archive_digest digest;
	struct problem problem = {0};
	int64_t bytes = 0;

	assert_int_equal(archive(f, &progress, &digest), -ECANCELED);
	assert_true(exists(f->part));
	archive_killed_at(f, 2 * MIB + MIB / 2);
	assert_true(has_checkpoint(f->part));
	atomic_store(&progress.stop, false);
	assert_int_equal(volume_destroy(f->archive, false, &progress, &bytes, &problem), 0);
	assert_false(exists(f->part));
	assert_false(has_checkpoint(f->part));
	assert_int_equal(archive(f, &progress, &digest), 0);
	assert_int_equal(progress.resumed, 0);
}

/* --- restoring --- */

static int restore(const struct fixture *f, struct volume_progress *progress)
{
	const struct volume_source source = {ARCHIVE, SIZE, f->digest, (int64_t)MIB};
	struct problem problem = {0};
	int rc = volume_restore(f->dir, COPY, SIZE, &source, progress, &problem);

	assert_int_equal(rc != 0, problem_is_set(&problem));
	return rc;
}

/* What the checkpoint of the copy says, in MiB. */
static int64_t kept(const struct fixture *f)
{
	CLEANUP(freep)
	crypto_generichash_state *raw = aligned_alloc(64, crypto_generichash_statebytes());
	CLEANUP(freep)
	crypto_generichash_state *stored = aligned_alloc(64, crypto_generichash_statebytes());
	const struct copy_identity identity = {ARCHIVE, COPY, SIZE, 0};
	struct copy_checkpoint checkpoint;
	struct copy_point point = {0};

	if (!has_checkpoint(f->copy_part))
		return 0;
	assert_int_equal(copy_checkpoint_init(&checkpoint, f->copy_part, &identity), 0);
	(void)copy_checkpoint_load(&checkpoint, &point, raw, stored);
	copy_checkpoint_done(&checkpoint);
	return point.raw_bytes / (int64_t)MIB;
}

/* The archive is a pipe that gives `bytes` of it and then nothing; killed -9 while it waits. */
static void restore_killed_after(const struct fixture *f, size_t bytes, int64_t wanted)
{
	CLEANUP(freep) char *stored = NULL;
	char aside[160];
	size_t size;
	int status;
	int fd;
	pid_t pid;

	assert_int_equal(file_read(f->archive, 2 * SIZE, &stored, &size), 0);
	assert_true(text_format(aside, sizeof(aside), "%s.aside", f->archive));
	assert_int_equal(rename(f->archive, aside), 0);
	assert_int_equal(mkfifo(f->archive, 0600), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct volume_progress progress = {0};

		(void)!restore(f, &progress);
		_exit(0);
	}
	fd = open(f->archive, O_WRONLY);
	assert_true(fd >= 0);
	for (size_t at = 0; at < bytes;) {
		ssize_t wrote = write(fd, stored + at, bytes - at);

		assert_true(wrote > 0);
		at += (size_t)wrote;
	}
	for (int i = 0; i < 6000 && kept(f) < wanted; i++)
		usleep(10000);
	assert_int_equal(kept(f), wanted);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(fd);
	assert_int_equal(unlink(f->archive), 0);
	assert_int_equal(rename(aside, f->archive), 0);
}

static void restore_goes_on_after_a_kill(void **state)
{
	const struct fixture *f = *state;
	struct volume_progress progress = {0};
	struct archive_digest digest;
	uint8_t mark = (uint8_t)~f->data[4096];
	int fd;

	assert_int_equal(archive(f, &progress, &digest), 0);
	restore_killed_after(f, 2 * MIB + MIB / 2, 2);
	assert_false(exists(f->copy));
	assert_int_equal(restore(f, &progress), 0);
	assert_int_equal(progress.resumed, 2 * MIB);
	assert_int_equal(progress.done, SIZE);
	assert_data(f, f->copy);
	assert_false(has_checkpoint(f->copy_part));

	/* not written again: a mark in the first part stays */
	assert_int_equal(unlink(f->copy), 0);
	restore_killed_after(f, 2 * MIB + MIB / 2, 2);
	fd = open(f->copy_part, O_RDWR);
	assert_int_equal(pwrite(fd, &mark, 1, 4096), 1);
	close(fd);
	assert_int_equal(restore(f, &progress), 0);
	fd = open(f->copy, O_RDWR);
	mark = 0;
	assert_int_equal(pread(fd, &mark, 1, 4096), 1);
	close(fd);
	assert_int_equal(mark, (uint8_t)~f->data[4096]);
}

/* What turns out to be damaged behind a checkpoint is not gone on with for ever. */
static void a_damaged_archive_is_begun_anew(void **state)
{
	const struct fixture *f = *state;
	struct volume_progress progress = {0};
	struct archive_digest digest;
	uint8_t byte;
	int fd;

	assert_int_equal(archive(f, &progress, &digest), 0);
	restore_killed_after(f, 2 * MIB + MIB / 2, 2);
	assert_int_equal(chmod(f->archive, 0600), 0);
	fd = open(f->archive, O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, 4 * MIB), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 4 * MIB), 1);
	assert_int_equal(restore(f, &progress), E_DIGEST);
	assert_false(exists(f->copy));
	assert_false(has_checkpoint(f->copy_part));
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 4 * MIB), 1);
	close(fd);
	assert_int_equal(restore(f, &progress), 0);
	assert_int_equal(progress.resumed, 0);
	assert_data(f, f->copy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(archive_in_one_go),
		TEST(archive_goes_on_after_a_kill),
		TEST(what_was_archived_is_not_written_again),
		TEST(a_checkpoint_that_does_not_fit_is_forgotten),
		TEST(stopped_it_stays_and_given_up_it_is_erased),
		TEST(restore_goes_on_after_a_kill),
		TEST(a_damaged_archive_is_begun_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
