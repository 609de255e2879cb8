/* The stored bytes of images, as they come in parts: written, on disk and digested by a worker, off
 * the loop. The last part makes the file image_dir/<stored_digest>, or discards it all. The hash
 * state is kept between parts; after a restart it is made again from the file. */
#pragma once

#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/worker.h"

#define UPLOAD_PART_MAX ((size_t)8 << 20)

struct upload_set;

struct upload_part {
	int64_t image; /* its id: one part of an image at a time */
	char digest[DIGEST_TEXT_SIZE];
	int64_t total; /* bytes of the whole */
	int64_t offset;
	const void *data; /* copied */
	size_t size;
};

/* rc 0: `received` bytes are on disk; `whole` when the file is complete and its digest fits.
 * E_DIGEST: complete but wrong, discarded. E_STALE: the bytes before `offset` are not here. -ENOSPC
 * and other system reasons: nothing has changed. */
typedef void (*upload_done_fn)(void *context, int rc, int64_t received, bool whole);

MUST_USE int upload_set_new(struct worker *worker, const char *folder, struct upload_set **ret);
/* After the worker is gone. */
void upload_set_free(struct upload_set *set);
/* E_CONFLICT: a part of this image is under way. -EAGAIN: too many uploads at once. -ENOMEM. On 0
 * `fn` is called exactly once, in the loop. */
MUST_USE int upload_add(struct upload_set *set, const struct upload_part *part, upload_done_fn fn,
			void *context);
