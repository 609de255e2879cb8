/* The files of a storage: DIR/volumes/ID, DIR/archives/ID.zst. A file under way has ".part" behind
 * its name, and is renamed when it is whole and on disk. A destroyed one that was read back has
 * ".erased", until the row says so too. All calls block: they run in a worker. After a kill at any
 * moment, the next call goes on or begins anew. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

/* Shared with the loop while a call is under way. */
struct volume_progress {
	_Atomic int64_t done; /* bytes */
	_Atomic int64_t
		resumed;  /* of these, not copied again: they were there from before a kill */
	atomic_bool stop; /* set: give up soon, -ECANCELED */
};

struct archive_digest {
	char digest[DIGEST_TEXT_SIZE]; /* of the data */
	char stored_digest[DIGEST_TEXT_SIZE];
	int64_t stored_bytes;
};

/* The folders, all that was lent before a kill withdrawn; -errno. */
MUST_USE int volume_files_prepare(const char *dir, struct problem *problem);
/* "DIR/volumes/ID" and "DIR/archives/ID.zst". False: the folder's name is too long. */
bool volume_path(const char *dir, int64_t id, char *ret, size_t room);
bool archive_path(const char *dir, int64_t id, char *ret, size_t room);

/* The target software may open a volume's file between these two. It has the group of DIR/volumes. */
MUST_USE int volume_lend(const char *dir, int64_t id, struct problem *problem);
void volume_withdraw(const char *dir, int64_t id);

/* A file of `size` zero bytes whose room is the disk's already; longer than before, it keeps what
 * it has. -ENOSPC with a problem that says what is free. */
MUST_USE int volume_make(const char *dir, int64_t id, int64_t size,
			 struct volume_progress *progress, struct problem *problem);
/* -ENOENT with a problem: a volume that was there is not made anew. */
MUST_USE int volume_grow(const char *dir, int64_t id, int64_t size,
			 struct volume_progress *progress, struct problem *problem);
struct archive_order {
	int64_t volume, archive;
	int level;                /* of zstd */
	int64_t checkpoint_bytes; /* of data between two; what an archive's frames hold */
};
/* An archive is a row of zstd frames, each of which can be unpacked alone. Killed or stopped
 * (-ECANCELED), the next call goes on behind the last that is on disk. Any other failure gives up
 * what there is, erased. */
MUST_USE int volume_archive(const char *dir, const struct archive_order *order,
			    struct volume_progress *progress, struct archive_digest *ret,
			    struct problem *problem);
/* Goes on in the same way. E_DIGEST: the archive is not what it was; nothing of it is left as a
 * volume, and the next call begins anew. */
struct volume_source {
	int64_t archive;
	int64_t size_bytes;
	const char *digest;
	int64_t checkpoint_bytes; /* of data between two */
};
MUST_USE int volume_restore(const char *dir, int64_t id, int64_t size,
			    const struct volume_source *source, struct volume_progress *progress,
			    struct problem *problem);
/* Zeros over all of it, on disk, read back past the cache; then only ".erased" is left. *ret_bytes:
 * what was read back. `existed`: there must be a file. E_DIGEST: something else was read. */
MUST_USE int volume_destroy(const char *path, bool existed, struct volume_progress *progress,
			    int64_t *ret_bytes, struct problem *problem);
/* Gives the room of what was erased back, where `keep` does not say that its row is still to be
 * written. */
void volume_sweep(const char *dir, bool (*keep)(void *context, bool archive, int64_t id),
		  void *context);
