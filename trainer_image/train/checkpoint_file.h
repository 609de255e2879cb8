/* One checkpoint file, to read or to write. Where files lie and which are kept: checkpoint.h. */
#pragma once

#include "common/base/problem.h"

#include "trainer_image/train/checkpoint_wire.h"

struct checkpoint_file {
	int fd;
	const char *path; /* borrowed */
	struct checkpoint_header header;
	size_t header_size;
};

/* Reads the header, and compares the file's size with it. E_MALFORMED, E_DIGEST, E_UNSUPPORTED, -errno.
 * `path` outlives `ret`. */
MUST_USE int checkpoint_file_open(const char *path, struct checkpoint_file *ret,
				  struct problem *problem);
void checkpoint_file_close(struct checkpoint_file *file);
/* Reads all regions and holds them to their checksums; to `to`, checkpoint_bytes() of them, or to nowhere
 * (NULL). E_DIGEST names the region; -errno, -ENOMEM. */
MUST_USE int checkpoint_file_read(const struct checkpoint_file *file, void *to,
				  struct problem *problem);

/* Writes FOLDER/NAME: as FOLDER/NAME.part first, which is made durable and then renamed. `data` has
 * checkpoint_bytes() bytes; checksums and digest of `header` are set here, and `scratch` holds
 * checkpoint_wire_length() bytes, `scratch_size`. -ENOSPC names the file, the bytes that it needs and those
 * that are free; -errno. Nothing but the part is changed by a failure, and that is removed. */
struct checkpoint_file_write {
	const char *folder;
	int folder_fd;
	const char *name;
	struct checkpoint_header *header;
	const void *data;
	void *scratch;
	size_t scratch_size;
};

MUST_USE int checkpoint_file_write(const struct checkpoint_file_write *is, struct problem *problem);
