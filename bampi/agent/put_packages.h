/* Task put_packages: fetches packages into the OS that was just written, each checked by its
 * digest, for that OS to install when it starts (package_files.h). */
#pragma once

#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/agent/package_files.h"
#include "bampi/agent/task.h"

int put_packages_run(struct task *task, struct text *data, struct problem *problem);

/* One package, from its stored bytes to the file in the OS. Feed takes the bytes in order; finish
 * compares the digest and only then puts the file in place. Free gives up what is not finished. */
struct package_sink;
/* `room`: bytes that it may take on the disk. */
MUST_USE int package_sink_new(int root_fd, const struct package_file *package, uint64_t room,
			      struct package_sink **ret, struct problem *problem);
void package_sink_free(struct package_sink *sink);
void package_sink_freep(struct package_sink **sink);
MUST_USE int package_sink_feed(struct package_sink *sink, const void *data, size_t size,
			       struct problem *problem);
/* *ret_bytes: what it takes on the disk. E_DIGEST. */
MUST_USE int package_sink_finish(struct package_sink *sink, uint64_t *ret_bytes,
				 struct problem *problem);
/* The folder that sinks write to, and what makes the OS install: last, when all are there. */
MUST_USE int put_packages_folder(int root_fd, struct problem *problem);
MUST_USE int put_packages_files(int root_fd, const struct package_list *list,
				struct problem *problem);
