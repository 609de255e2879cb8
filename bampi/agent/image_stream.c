#include "bampi/agent/image_stream.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/error.h"

/* 2^27: zstd's own limit for what needs no --long=N to be unpacked, and what a small node's memory
 * still holds. */
#define IMAGE_STREAM_WINDOW_LOG_LIMIT 27

#define HINT "the disk was not made bootable; upload the image again"

struct image_stream {
	struct image_manifest manifest;
	image_block_fn fn;
	void *context;
	crypto_generichash_state *stored; /* 64-byte aligned */
	crypto_generichash_state *raw;
	ZSTD_DCtx *zstd;
	uint8_t *block;
	size_t filled;
	uint64_t stored_bytes;
	uint64_t raw_bytes; /* handed out */
	bool frame_open;
};

int image_stream_new(const struct image_manifest *manifest, image_block_fn fn, void *context,
		     struct image_stream **ret)
{
	CLEANUP(image_stream_freep) struct image_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->manifest = *manifest;
	stream->fn = fn;
	stream->context = context;
	stream->stored = aligned_alloc(64, crypto_generichash_statebytes());
	stream->raw = aligned_alloc(64, crypto_generichash_statebytes());
	stream->zstd = ZSTD_createDCtx();
	stream->block = aligned_alloc(4096, IMAGE_BLOCK_SIZE);
	if (!stream->stored || !stream->raw || !stream->zstd || !stream->block)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax,
						IMAGE_STREAM_WINDOW_LOG_LIMIT)))
		return -EINVAL;
	(void)crypto_generichash_init(stream->stored, NULL, 0, DIGEST_SIZE);
	(void)crypto_generichash_init(stream->raw, NULL, 0, DIGEST_SIZE);

	*ret = TAKE(stream);
	return 0;
}

void image_stream_free(struct image_stream *stream)
{
	if (!stream)
		return;
	free(stream->stored);
	free(stream->raw);
	(void)ZSTD_freeDCtx(stream->zstd);
	free(stream->block);
	free(stream);
}

void image_stream_freep(struct image_stream **stream)
{
	image_stream_free(*stream);
}

static int image_stream_hand_out(struct image_stream *stream, struct problem *problem)
{
	size_t size = stream->filled;
	int rc;

	if (size > stream->manifest.size_bytes - stream->raw_bytes) {
		(void)problem_set(problem, E_DIGEST, "the image is larger than its manifest says");
		problem_detail(problem, "manifest: %llu bytes",
			       (unsigned long long)stream->manifest.size_bytes);
		return problem->code;
	}
	(void)crypto_generichash_update(stream->raw, stream->block, size);
	rc = stream->fn(stream->context, stream->raw_bytes, stream->block, size, problem);
	if (rc)
		return rc;
	stream->raw_bytes += size;
	stream->filled = 0;
	return 0;
}

/* What cannot be unpacked is not what the stored digest was made of. */
static int image_stream_damaged(const struct image_stream *stream, size_t ahead, const char *why,
				struct problem *problem)
{
	char digest[DIGEST_TEXT_SIZE];

	hex_encode(stream->manifest.stored_digest, DIGEST_SIZE, digest);
	(void)problem_set(
		problem, E_DIGEST,
		"the stored image cannot be unpacked: it does not have the digest %.16s...",
		digest);
	problem_detail(problem, "zstd: %s at stored byte %llu", why,
		       (unsigned long long)(stream->stored_bytes - ahead));
	problem_hint(problem, HINT);
	return problem->code;
}

int image_stream_feed(struct image_stream *stream, const void *data, size_t size,
		      struct problem *problem)
{
	ZSTD_inBuffer in = {data, size, 0};
	bool more = true;

	if (size > stream->manifest.stored_bytes - stream->stored_bytes)
		return problem_set(problem, E_DIGEST,
				   "the stored image is larger than its manifest says");
	(void)crypto_generichash_update(stream->stored, data, size);
	stream->stored_bytes += size;
	/* `more`: with all input taken zstd may still hold output back that did not fit the block.
	 */
	while (in.pos < in.size || more) {
		ZSTD_outBuffer out = {stream->block, IMAGE_BLOCK_SIZE, stream->filled};
		size_t left = ZSTD_decompressStream(stream->zstd, &out, &in);

		if (ZSTD_isError(left)) {
			return image_stream_damaged(stream, in.size - in.pos,
						    ZSTD_getErrorName(left), problem);
		}
		stream->frame_open = left != 0;
		stream->filled = out.pos;
		more = out.pos == out.size;
		if (more) {
			int rc = image_stream_hand_out(stream, problem);

			if (rc)
				return rc;
			/* A frame that ended exactly here must not be taken for the begin of
			 * another. */
			more = stream->frame_open;
		}
	}
	return 0;
}

static int image_stream_compare(crypto_generichash_state *state, const uint8_t wanted[DIGEST_SIZE],
				const char *what, struct problem *problem)
{
	uint8_t digest[DIGEST_SIZE];
	char is[DIGEST_TEXT_SIZE];
	char should[DIGEST_TEXT_SIZE];

	(void)crypto_generichash_final(state, digest, sizeof(digest));
	if (memcmp(digest, wanted, sizeof(digest)) == 0)
		return 0;
	hex_encode(digest, sizeof(digest), is);
	hex_encode(wanted, sizeof(digest), should);
	(void)problem_set(problem, E_DIGEST,
			  "the digest of the %s image differs from its manifest's", what);
	problem_detail(problem, "BLAKE2b is %s, the manifest says %s", is, should);
	problem_hint(problem, HINT);
	return problem->code;
}

int image_stream_finish(struct image_stream *stream, struct problem *problem)
{
	int rc;

	if (stream->filled > 0) {
		rc = image_stream_hand_out(stream, problem);
		if (rc)
			return rc;
	}
	/* The stored digest first: it tells transport from making. */
	rc = image_stream_compare(stream->stored, stream->manifest.stored_digest, "stored",
				  problem);
	if (rc)
		return rc;
	if (stream->frame_open || stream->raw_bytes != stream->manifest.size_bytes) {
		(void)problem_set(problem, E_DIGEST, "the image is shorter than its manifest says");
		problem_detail(problem, "%llu of %llu bytes", (unsigned long long)stream->raw_bytes,
			       (unsigned long long)stream->manifest.size_bytes);
		return problem->code;
	}
	return image_stream_compare(stream->raw, stream->manifest.digest, "raw", problem);
}

uint64_t image_stream_raw_bytes(const struct image_stream *stream)
{
	return stream->raw_bytes;
}
