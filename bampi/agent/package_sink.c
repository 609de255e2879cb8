/* A package's stored bytes into its file: a .deb as it is, a bundle without its zstd (an image need
 * not have that program). */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/base/error.h"

#include "bampi/agent/put_packages.h"
#include "bampi/agent/rooted.h"

#define PACKAGE_SINK_WINDOW_LOG_LIMIT 27 /* as of images */
#define PACKAGE_SINK_BLOCK_SIZE       ((size_t)1 << 18)

struct package_sink {
	const struct package_file *package;
	int root_fd;
	char path[sizeof(PACKAGE_DIR) + PACKAGE_FILE_SIZE];
	int fd; /* -1: finished */
	crypto_generichash_state *digest;
	ZSTD_DCtx *zstd; /* NULL: as it is */
	uint8_t *block;
	bool frame_open;
	uint64_t stored_bytes, bytes, room;
};

void package_sink_free(struct package_sink *sink)
{
	if (!sink)
		return;
	if (sink->fd >= 0) {
		(void)close(sink->fd);
		rooted_discard(sink->root_fd, sink->path);
	}
	free(sink->digest);
	(void)ZSTD_freeDCtx(sink->zstd);
	free(sink->block);
	free(sink);
}

void package_sink_freep(struct package_sink **sink)
{
	package_sink_free(*sink);
}

static int begin_zstd(struct package_sink *sink)
{
	sink->zstd = ZSTD_createDCtx();
	sink->block = malloc(PACKAGE_SINK_BLOCK_SIZE);
	if (!sink->zstd || !sink->block)
		return -ENOMEM;
	sink->frame_open = true; /* nothing came yet */
	return ZSTD_isError(ZSTD_DCtx_setParameter(sink->zstd, ZSTD_d_windowLogMax,
						   PACKAGE_SINK_WINDOW_LOG_LIMIT))
		       ? -EINVAL
		       : 0;
}

int package_sink_new(int root_fd, const struct package_file *package, uint64_t room,
		     struct package_sink **ret, struct problem *problem)
{
	CLEANUP(package_sink_freep) struct package_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return -ENOMEM;
	sink->package = package;
	sink->root_fd = root_fd;
	sink->fd = -1;
	sink->room = room;
	sink->digest = aligned_alloc(64, crypto_generichash_statebytes());
	if (!sink->digest)
		return -ENOMEM;
	(void)crypto_generichash_init(sink->digest, NULL, 0, DIGEST_SIZE);
	if (package->kind == PACKAGE_BUNDLE) {
		rc = begin_zstd(sink);
		if (rc)
			return rc;
	}
	(void)text_format(sink->path, sizeof(sink->path), "%s/%s", PACKAGE_DIR, package->file);
	rc = rooted_create(root_fd, sink->path, &sink->fd);
	if (rc)
		return problem_set(problem, rc, "%s in the image cannot be written: %s", sink->path,
				   error_text(rc));
	*ret = TAKE(sink);
	return 0;
}

static int package_sink_put(struct package_sink *sink, const void *data, size_t size,
			    struct problem *problem)
{
	int rc = size > sink->room - sink->bytes ? -ENOSPC : rooted_append(sink->fd, data, size);

	sink->bytes += size;
	if (rc) {
		(void)problem_set(problem, rc, "package %s %s does not fit: %s",
				  sink->package->name, sink->package->version, error_text(rc));
		problem_detail(problem, "there is room for %llu bytes on the root partition",
			       (unsigned long long)sink->room);
		problem_hint(problem, "choose an image with a larger root partition");
	}
	return rc;
}

static int package_sink_unpack(struct package_sink *sink, const void *data, size_t size,
			       struct problem *problem)
{
	ZSTD_inBuffer in = {data, size, 0};
	ZSTD_outBuffer out;

	do {
		size_t left;
		int rc;

		out = (ZSTD_outBuffer){sink->block, PACKAGE_SINK_BLOCK_SIZE, 0};
		left = ZSTD_decompressStream(sink->zstd, &out, &in);
		if (ZSTD_isError(left)) {
			(void)problem_set(problem, E_DIGEST, "package %s %s is not a zstd file",
					  sink->package->name, sink->package->version);
			problem_detail(problem, "zstd: %s near byte %llu", ZSTD_getErrorName(left),
				       (unsigned long long)sink->stored_bytes);
			problem_hint(problem, "a bundle is a .tar.zst; a Debian package is put "
					      "with --kind deb");
			return problem->code;
		}
		sink->frame_open = left != 0;
		rc = package_sink_put(sink, sink->block, out.pos, problem);
		if (rc)
			return rc;
	} while (in.pos < in.size || (sink->frame_open && out.pos == out.size));
	return 0;
}

int package_sink_feed(struct package_sink *sink, const void *data, size_t size,
		      struct problem *problem)
{
	if (size > sink->package->size_bytes - sink->stored_bytes)
		return problem_set(problem, E_DIGEST, "package %s %s is larger than announced",
				   sink->package->name, sink->package->version);
	(void)crypto_generichash_update(sink->digest, data, size);
	sink->stored_bytes += size;
	return sink->zstd ? package_sink_unpack(sink, data, size, problem)
			  : package_sink_put(sink, data, size, problem);
}

int package_sink_finish(struct package_sink *sink, uint64_t *ret_bytes, struct problem *problem)
{
	uint8_t digest[DIGEST_SIZE];
	int rc;

	(void)crypto_generichash_final(sink->digest, digest, sizeof(digest));
	if (sink->stored_bytes != sink->package->size_bytes || sink->frame_open ||
	    memcmp(digest, sink->package->digest, sizeof(digest)) != 0) {
		(void)problem_set(problem, E_DIGEST,
				  "the digest of package %s %s differs from the announced one",
				  sink->package->name, sink->package->version);
		problem_hint(problem, "upload the package again");
		return problem->code;
	}
	rc = rooted_publish(sink->root_fd, sink->path, sink->fd, 0600);
	if (rc)
		return problem_set(problem, rc, "%s in the image cannot be written: %s", sink->path,
				   error_text(rc));
	(void)close(sink->fd);
	sink->fd = -1;
	*ret_bytes = sink->bytes;
	return 0;
}
