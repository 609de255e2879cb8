/* Archives: a volume packed with zstd, with the digests of what went in and of what lies there; and
 * back. Both are begun anew after a kill: half of one is never taken for a whole. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/storage/volume_file_private.h"

/* What zstd unpacks without being told to, and what it packs with at our levels. */
#define WINDOW_LOG_LIMIT 27

struct copy {
	int in, out;
	uint8_t *from, *to; /* VOLUME_CHUNK each */
	crypto_generichash_state *raw, *stored;
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	int64_t raw_bytes, stored_bytes;
	int64_t limit; /* of raw_bytes, when unpacking */
	bool fresh;    /* what is unpacked to holds zeros so far */
	struct volume_progress *progress;
};

static void copy_done(struct copy *copy)
{
	closep(&copy->in);
	closep(&copy->out);
	free(copy->from);
	free(copy->to);
	free(copy->raw);
	free(copy->stored);
	(void)ZSTD_freeCCtx(copy->pack);
	(void)ZSTD_freeDCtx(copy->unpack);
}

static int copy_init(struct copy *copy, struct volume_progress *progress)
{
	*copy = (struct copy){.in = -1, .out = -1, .progress = progress};
	copy->from = malloc(VOLUME_CHUNK);
	copy->to = malloc(VOLUME_CHUNK);
	copy->raw = aligned_alloc(64, crypto_generichash_statebytes());
	copy->stored = aligned_alloc(64, crypto_generichash_statebytes());
	if (!copy->from || !copy->to || !copy->raw || !copy->stored)
		return -ENOMEM;
	(void)crypto_generichash_init(copy->raw, NULL, 0, DIGEST_SIZE);
	(void)crypto_generichash_init(copy->stored, NULL, 0, DIGEST_SIZE);
	return 0;
}

static void digest_end(crypto_generichash_state *state, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	(void)crypto_generichash_final(state, digest, sizeof(digest));
	hex_encode(digest, sizeof(digest), ret);
}

static int read_chunk(int fd, uint8_t *room, size_t *ret)
{
	ssize_t got;

	do
		got = read(fd, room, VOLUME_CHUNK);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*ret = (size_t)got;
	return 0;
}

static int write_all(int fd, const uint8_t *data, size_t size, int64_t offset)
{
	while (size > 0) {
		ssize_t wrote = pwrite(fd, data, size, offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		data += wrote;
		size -= (size_t)wrote;
		offset += wrote;
	}
	return 0;
}

/* --- packing --- */

static int write_stored(struct copy *copy, size_t size)
{
	int rc = write_all(copy->out, copy->to, size, copy->stored_bytes);

	(void)crypto_generichash_update(copy->stored, copy->to, size);
	copy->stored_bytes += (int64_t)size;
	return rc;
}

static int pack_chunk(struct copy *copy, size_t size)
{
	ZSTD_inBuffer in = {copy->from, size, 0};
	ZSTD_EndDirective end = size == 0 ? ZSTD_e_end : ZSTD_e_continue;
	size_t left;
	int rc = 0;

	do {
		ZSTD_outBuffer out = {copy->to, VOLUME_CHUNK, 0};

		left = ZSTD_compressStream2(copy->pack, &out, &in, end);
		if (ZSTD_isError(left))
			return -EIO;
		rc = write_stored(copy, out.pos);
	} while (rc == 0 && (in.pos < in.size || (end == ZSTD_e_end && left > 0)));
	return rc;
}

static int pack(struct copy *copy, int level)
{
	size_t size = 0;
	int rc = 0;

	copy->pack = ZSTD_createCCtx();
	if (!copy->pack)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(copy->pack, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(copy->pack, ZSTD_c_checksumFlag, 1)))
		return -EINVAL;
	do {
		rc = read_chunk(copy->in, copy->from, &size);
		if (rc)
			return rc;
		(void)crypto_generichash_update(copy->raw, copy->from, size);
		rc = pack_chunk(copy, size);
		copy->raw_bytes += (int64_t)size;
		atomic_store(&copy->progress->done, copy->raw_bytes);
		if (atomic_load(&copy->progress->stop))
			return -ECANCELED;
	} while (rc == 0 && size > 0);
	return rc;
}

/* What a kill left is written over in place, so that no block of it is given back with data in it:
 * half of an archive, or a whole one whose row was not written. */
static int open_again(const char *path, const char *part)
{
	if (chmod(path, 0600) == 0)
		(void)rename(path, part);
	return open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int volume_archive(const char *dir, const struct archive_order *order,
		   struct volume_progress *progress, struct archive_digest *ret,
		   struct problem *problem)
{
	char from[PATH_MAX];
	char path[PATH_MAX - 8];
	char part[PATH_MAX];
	CLEANUP(copy_done) struct copy copy;
	int rc = copy_init(&copy, progress);

	if (!volume_path(dir, order->volume, from, sizeof(from)) ||
	    !archive_path(dir, order->archive, path, sizeof(path)))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	(void)text_format(part, sizeof(part), "%s.part", path);
	if (rc == 0) {
		copy.in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (copy.in < 0)
			return volume_file_problem(problem, "the volume cannot be read", from,
						   -errno);
		copy.out = open_again(path, part);
		rc = copy.out < 0 ? -errno : pack(&copy, order->level);
	}
	if (rc == 0 && (ftruncate(copy.out, copy.stored_bytes) != 0 || fchmod(copy.out, 0400) != 0))
		rc = -errno;
	if (rc == 0)
		rc = volume_publish(copy.out, part, path);
	if (rc) {
		struct problem told = {0};

		rc = volume_file_problem(&told, "the archive cannot be made", dir, rc);
		(void)!volume_scrap(part); /* a tenant's data: not only unlinked */
		*problem = told;
		return rc;
	}
	digest_end(copy.raw, ret->digest);
	digest_end(copy.stored, ret->stored_digest);
	ret->stored_bytes = copy.stored_bytes;
	return 0;
}

/* --- unpacking --- */

/* What is zero is there already: its room was reserved a moment ago. */
static bool all_zero(const uint8_t *data, size_t size)
{
	return size > 0 && data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

static int write_raw(struct copy *copy, size_t size)
{
	int rc = 0;

	if ((int64_t)size > copy->limit - copy->raw_bytes)
		return E_DIGEST;
	(void)crypto_generichash_update(copy->raw, copy->to, size);
	if (!copy->fresh || !all_zero(copy->to, size))
		rc = write_all(copy->out, copy->to, size, copy->raw_bytes);
	copy->raw_bytes += (int64_t)size;
	atomic_store(&copy->progress->done, copy->raw_bytes);
	return rc;
}

static int unpack_chunk(struct copy *copy, size_t size, bool *ret_open)
{
	ZSTD_inBuffer in = {copy->from, size, 0};
	ZSTD_outBuffer out;

	do {
		size_t left;
		int rc;

		out = (ZSTD_outBuffer){copy->to, VOLUME_CHUNK, 0};
		left = ZSTD_decompressStream(copy->unpack, &out, &in);
		if (ZSTD_isError(left))
			return E_DIGEST;
		*ret_open = left != 0;
		rc = write_raw(copy, out.pos);
		if (rc)
			return rc;
	} while (in.pos < in.size || (*ret_open && out.pos == out.size));
	return 0;
}

static int unpack(struct copy *copy)
{
	bool open_frame = false;
	size_t size = 0;
	int rc = 0;

	copy->unpack = ZSTD_createDCtx();
	if (!copy->unpack)
		return -ENOMEM;
	if (ZSTD_isError(
		    ZSTD_DCtx_setParameter(copy->unpack, ZSTD_d_windowLogMax, WINDOW_LOG_LIMIT)))
		return -EINVAL;
	do {
		rc = read_chunk(copy->in, copy->from, &size);
		if (rc == 0 && size > 0)
			rc = unpack_chunk(copy, size, &open_frame);
		if (rc == 0 && atomic_load(&copy->progress->stop))
			rc = -ECANCELED;
	} while (rc == 0 && size > 0);
	return rc ? rc : open_frame ? E_DIGEST : 0;
}

static int restored(struct copy *copy, const struct volume_source *source)
{
	char digest[DIGEST_TEXT_SIZE];

	digest_end(copy->raw, digest);
	return copy->raw_bytes == source->size_bytes && strcmp(digest, source->digest) == 0
		       ? 0
		       : E_DIGEST;
}

static int restore_problem(struct problem *problem, const char *from, const char *dir, int rc)
{
	if (rc != E_DIGEST)
		return volume_file_problem(problem, "the volume cannot be restored", dir, rc);
	(void)problem_set(problem, rc, "the archive is not what it was when it was made");
	problem_detail(problem, "%s", from);
	problem_hint(problem, "look at the storage's disk; another archive may be whole");
	return rc;
}

int volume_restore(const char *dir, int64_t id, int64_t size, const struct volume_source *source,
		   struct volume_progress *progress, struct problem *problem)
{
	char from[PATH_MAX];
	char path[PATH_MAX - 8];
	char part[PATH_MAX];
	struct stat st;
	CLEANUP(copy_done) struct copy copy;
	int rc = copy_init(&copy, progress);

	if (!archive_path(dir, source->archive, from, sizeof(from)) ||
	    !volume_path(dir, id, path, sizeof(path)))
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	if (stat(path, &st) == 0 && st.st_size == size)
		return 0; /* whole before a kill: it has this name only when its digest fitted */
	(void)text_format(part, sizeof(part), "%s.part", path);
	copy.limit = source->size_bytes;
	if (rc == 0) {
		copy.in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		copy.out = copy.in < 0
				   ? -1
				   : open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		rc = copy.out < 0 || fstat(copy.out, &st) != 0 ? -errno : 0;
		copy.fresh = rc == 0 && st.st_size == 0;
	}
	if (rc == 0)
		rc = volume_reserve(copy.out, 0, size, progress);
	if (rc && copy.fresh)
		(void)unlink(part); /* it held zeros */
	atomic_store(&progress->done, 0);
	if (rc == 0)
		rc = unpack(&copy);
	if (rc == 0)
		rc = restored(&copy, source);
	if (rc == 0)
		rc = volume_publish(copy.out, part, path);
	if (rc == 0)
		return 0;
	/* What was written stays until it is tried again, or destroyed. */
	return restore_problem(problem, from, dir, rc);
}
