/* An image as it comes: stored bytes in, raw blocks out, both digests on the way. Memory is one
 * block and zstd's window. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/image_manifest.h"

#define IMAGE_BLOCK_SIZE ((size_t)1 << 20)

struct image_stream;

/* Raw bytes [offset, offset + size) of the disk; size is IMAGE_BLOCK_SIZE but for the last. `data`
 * is aligned for O_DIRECT and ours. Non-zero ends the stream with that code. */
typedef int (*image_block_fn)(void *context, uint64_t offset, const void *data, size_t size,
			      struct problem *problem);

MUST_USE int image_stream_new(const struct image_manifest *manifest, image_block_fn fn,
			      void *context, struct image_stream **ret);
void image_stream_free(struct image_stream *stream);
void image_stream_freep(struct image_stream **stream);
/* The next stored bytes. E_DIGEST when it is no zstd or grows beyond the manifest's size. After an
 * error the stream is dead. */
MUST_USE int image_stream_feed(struct image_stream *stream, const void *data, size_t size,
			       struct problem *problem);
/* After the last byte: hands out the last block and compares sizes and both digests. E_DIGEST. */
MUST_USE int image_stream_finish(struct image_stream *stream, struct problem *problem);
uint64_t image_stream_raw_bytes(const struct image_stream *stream);
