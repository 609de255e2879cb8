/* The folder of a job's checkpoints: which files are there, which go. One process at a time has it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum { CHECKPOINT_FOLDER_NAME_SIZE = 48 };

struct checkpoint_folder {
	const char *path; /* borrowed */
	int fd;           /* -1 = closed */
};

/* Makes the folder where it is not there, and locks it. E_CONFLICT: another process has it; -errno. `path`
 * outlives `ret`. */
MUST_USE int checkpoint_folder_open(const char *path, struct checkpoint_folder *ret,
				    struct problem *problem);
void checkpoint_folder_close(struct checkpoint_folder *folder);
/* "step-000000001200.checkpoint" */
void checkpoint_folder_name(uint64_t step, char ret[CHECKPOINT_FOLDER_NAME_SIZE]);
/* The steps of all files, the latest first; the caller frees. -ENOMEM, -errno. */
MUST_USE int checkpoint_folder_steps(const struct checkpoint_folder *folder, uint64_t **ret,
				     size_t *ret_count);
/* Once `step` is durable: it and the newest before it stay, `keep` in all. Later files are of a run that this one
 * went back behind. -ENOMEM, -errno. */
MUST_USE int checkpoint_folder_prune(const struct checkpoint_folder *folder, uint64_t step,
				     uint32_t keep);
