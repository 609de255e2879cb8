/* Archives: a volume packed with zstd, with the digests of what went in and of what lies there; and
 * back. Both go on after a kill where they were safely on disk (copy_checkpoint): half of one is
 * never taken for a whole. */
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
#include "common/io/transfer.h"

#include "bampi/storage/copy_checkpoint.h"
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
	struct copy_checkpoint checkpoint;
	int64_t every;    /* bytes of data between two checkpoints */
	int64_t kept_raw; /* where the last one is */
};

static void copy_done(struct copy *copy)
{
	copy_checkpoint_done(&copy->checkpoint);
	closep(&copy->in);
	closep(&copy->out);
	free(copy->from);
	free(copy->to);
	free(copy->raw);
	free(copy->stored);
	(void)ZSTD_freeCCtx(copy->pack);
	(void)ZSTD_freeDCtx(copy->unpack);
}

static void digests_begin(struct copy *copy)
{
	(void)crypto_generichash_init(copy->raw, NULL, 0, DIGEST_SIZE);
	(void)crypto_generichash_init(copy->stored, NULL, 0, DIGEST_SIZE);
}

static int copy_init(struct copy *copy, struct volume_progress *progress)
{
	*copy = (struct copy){.in = -1, .out = -1, .progress = progress, .checkpoint.fd = -1};
	copy->from = malloc(VOLUME_CHUNK);
	copy->to = malloc(VOLUME_CHUNK);
	copy->raw = aligned_alloc(64, crypto_generichash_statebytes());
	copy->stored = aligned_alloc(64, crypto_generichash_statebytes());
	if (!copy->from || !copy->to || !copy->raw || !copy->stored)
		return -ENOMEM;
	digests_begin(copy);
	return 0;
}

static void digest_end(crypto_generichash_state *state, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_SIZE];

	(void)crypto_generichash_final(state, digest, sizeof(digest));
	hex_encode(digest, sizeof(digest), ret);
}

/* --- checkpoints --- */

/* Opens the checkpoint and goes back to what it says. `part_bytes`: what there is of the file that
 * is written; `packed`: it holds what is stored, else what is raw. */
static int volume_copy_resume(struct copy *copy, const char *part,
			      const struct copy_identity *identity, int64_t part_bytes, bool packed)
{
	struct copy_point point = {0};
	int rc = copy_checkpoint_init(&copy->checkpoint, part, identity);

	atomic_store(&copy->progress->resumed, 0);
	if (rc)
		return rc;
	if (!copy_checkpoint_load(&copy->checkpoint, &point, copy->raw, copy->stored))
		return copy_checkpoint_forget(&copy->checkpoint);
	if ((packed ? point.stored_bytes : point.raw_bytes) > part_bytes) {
		digests_begin(copy);
		return copy_checkpoint_forget(&copy->checkpoint);
	}
	copy->raw_bytes = point.raw_bytes;
	copy->stored_bytes = point.stored_bytes;
	copy->kept_raw = point.raw_bytes;
	atomic_store(&copy->progress->resumed, point.raw_bytes);
	atomic_store(&copy->progress->done, point.raw_bytes);
	return 0;
}

static int volume_copy_keep(struct copy *copy)
{
	if (fdatasync(copy->out) != 0)
		return -errno;
	copy->kept_raw = copy->raw_bytes;
	return copy_checkpoint_save(
		&copy->checkpoint,
		&(struct copy_point){copy->raw_bytes, copy->stored_bytes, copy->raw, copy->stored});
}

/* --- packing --- */

static int write_stored(struct copy *copy, size_t size)
{
	int rc = write_whole_at(copy->out, copy->to, size, (uint64_t)copy->stored_bytes);

	(void)crypto_generichash_update(copy->stored, copy->to, size);
	copy->stored_bytes += (int64_t)size;
	return rc;
}

/* `end`: also ends the frame. */
static int pack_chunk(struct copy *copy, size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {copy->from, size, 0};
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

/* One frame, and a checkpoint behind it; *ret_end: there was nothing left for it. */
static int pack_frame(struct copy *copy, bool *ret_end)
{
	int64_t frame_end = copy->raw_bytes + copy->every;
	size_t size = 0;
	int rc = 0;

	while (rc == 0 && copy->raw_bytes < frame_end) {
		int64_t left = frame_end - copy->raw_bytes;

		rc = read_piece(copy->in, copy->from,
				left < (int64_t)VOLUME_CHUNK ? (size_t)left : VOLUME_CHUNK, &size);
		if (rc || size == 0)
			break;
		(void)crypto_generichash_update(copy->raw, copy->from, size);
		rc = pack_chunk(copy, size, ZSTD_e_continue);
		copy->raw_bytes += (int64_t)size;
		atomic_store(&copy->progress->done, copy->raw_bytes);
		if (rc == 0 && atomic_load(&copy->progress->stop))
			rc = -ECANCELED;
	}
	*ret_end = rc == 0 && copy->raw_bytes < frame_end;
	if (rc || copy->raw_bytes == copy->kept_raw)
		return rc;
	rc = pack_chunk(copy, 0, ZSTD_e_end);
	return rc ? rc : volume_copy_keep(copy);
}

static int volume_copy_pack(struct copy *copy, int level)
{
	bool end = false;
	int rc = 0;

	copy->pack = ZSTD_createCCtx();
	if (!copy->pack)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(copy->pack, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(copy->pack, ZSTD_c_checksumFlag, 1)))
		return -EINVAL;
	if (lseek(copy->in, copy->raw_bytes, SEEK_SET) < 0)
		return -errno;
	while (rc == 0 && !end)
		rc = pack_frame(copy, &end);
	return rc;
}

/* What a kill left behind the last checkpoint is written over in place, so that no block of it is
 * given back with data in it: half of an archive, or a whole one whose row was not written. */
static int volume_copy_open_again(const char *path, const char *part)
{
	if (chmod(path, 0600) == 0)
		(void)rename(path, part);
	return open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Stopped, it stays, to go on with; whoever does not want it any more destroys it. */
static int archive_failed(struct copy *copy, const char *dir, const char *part, int rc,
			  struct problem *problem)
{
	struct problem told = {0};

	rc = volume_file_problem(&told, "the archive cannot be made", dir, rc);
	if (rc != -ECANCELED) {
		copy_checkpoint_done(&copy->checkpoint);
		(void)!copy_checkpoint_drop(part);
		(void)!volume_scrap(part); /* a tenant's data: not only unlinked */
	}
	*problem = told;
	return rc;
}

static int open_archive(struct copy *copy, const struct archive_order *order, const char *path,
			const char *part)
{
	struct copy_identity identity = {.from = order->volume, .to = order->archive};
	struct stat volume;
	struct stat archive;

	copy->out = volume_copy_open_again(path, part);
	if (copy->out < 0 || fstat(copy->in, &volume) != 0 || fstat(copy->out, &archive) != 0)
		return -errno;
	/* Whatever wrote to the volume since made what is archived of it worthless. */
	identity.size_bytes = volume.st_size;
	identity.changed_ns = (int64_t)volume.st_mtim.tv_sec * 1000000000 + volume.st_mtim.tv_nsec;
	return volume_copy_resume(copy, part, &identity, archive.st_size, true);
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
	copy.every = order->checkpoint_bytes;
	if (rc == 0) {
		copy.in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (copy.in < 0)
			return volume_file_problem(problem, "the volume cannot be read", from,
						   -errno);
		rc = open_archive(&copy, order, path, part);
	}
	if (rc == 0)
		rc = volume_copy_pack(&copy, order->level);
	if (rc == 0 && (ftruncate(copy.out, copy.stored_bytes) != 0 || fchmod(copy.out, 0400) != 0))
		rc = -errno;
	if (rc == 0)
		rc = volume_publish(copy.out, part, path);
	if (rc)
		return archive_failed(&copy, dir, part, rc, problem);
	copy_checkpoint_done(&copy.checkpoint);
	(void)!copy_checkpoint_drop(part); /* else it goes with the archive */
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
		rc = write_whole_at(copy->out, copy->to, size, (uint64_t)copy->raw_bytes);
	copy->raw_bytes += (int64_t)size;
	atomic_store(&copy->progress->done, copy->raw_bytes);
	return rc;
}

static int unpack_chunk(struct copy *copy, size_t size, bool *ret_open)
{
	ZSTD_inBuffer in = {copy->from, size, 0};
	int64_t before = copy->stored_bytes;
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
		copy->stored_bytes = before + (int64_t)in.pos;
		if (rc == 0 && left == 0 && copy->raw_bytes - copy->kept_raw >= copy->every)
			rc = volume_copy_keep(copy);
		if (rc)
			return rc;
	} while (in.pos < in.size || (*ret_open && out.pos == out.size));
	return 0;
}

static int volume_copy_unpack(struct copy *copy)
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
	if (copy->stored_bytes > 0 && lseek(copy->in, copy->stored_bytes, SEEK_SET) < 0)
		return -errno;
	do {
		rc = read_piece(copy->in, copy->from, VOLUME_CHUNK, &size);
		if (rc == 0 && size > 0)
			rc = unpack_chunk(copy, size, &open_frame);
		if (rc == 0 && atomic_load(&copy->progress->stop))
			rc = -ECANCELED;
	} while (rc == 0 && size > 0);
	return rc ? rc : open_frame ? E_DIGEST : 0;
}

static int volume_copy_restored(struct copy *copy, const struct volume_source *source)
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
	(void)problem_set(problem, rc, "the archive has changed since it was made");
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
	copy.every = source->checkpoint_bytes;
	if (rc == 0) {
		copy.in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		copy.out = copy.in < 0
				   ? -1
				   : open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		rc = copy.out < 0 || fstat(copy.out, &st) != 0 ? -errno : 0;
		copy.fresh = rc == 0 && st.st_size == 0;
	}
	if (rc == 0)
		rc = volume_copy_resume(
			&copy, part,
			&(struct copy_identity){source->archive, id, source->size_bytes, 0},
			st.st_size == size ? size : 0, false);
	if (rc == 0 && copy.raw_bytes == 0) {
		rc = volume_reserve(copy.out, 0, size, progress);
		atomic_store(&progress->done, 0);
	}
	if (rc && copy.fresh)
		(void)unlink(part); /* it held zeros */
	if (rc == 0)
		rc = volume_copy_unpack(&copy);
	if (rc == 0)
		rc = volume_copy_restored(&copy, source);
	if (rc == 0)
		rc = volume_publish(copy.out, part, path);
	copy_checkpoint_done(&copy.checkpoint);
	/* What an archive that is not what it was led to is no place to go on from. */
	if (rc == 0 || rc == E_DIGEST)
		(void)!copy_checkpoint_drop(part);
	if (rc == 0)
		return 0;
	/* What was written stays until it is tried again, or destroyed. */
	return restore_problem(problem, from, dir, rc);
}
