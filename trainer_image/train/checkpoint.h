/* Checkpoints of a training job: all that a restart needs, in files of one folder.
 *
 *     FOLDER/step-000000001200.checkpoint      checkpoint_wire.h
 *     FOLDER/step-000000001300.checkpoint.part being written; left by a crash, written over later
 *
 * A save copies the regions to memory that was taken before (a snapshot), and a thread writes that while
 * training goes on. The file is made durable, gets its name, and the folder is made durable. Only then
 * older files are removed: the newest `keep` stay. So a crash at any point, a full disk and a short write
 * leave the checkpoints before as they were.
 *
 *     regions = {{"conv_1", CHECKPOINT_WEIGHT, weight, 640}, {"loader", CHECKPOINT_LOADER, &state, 24}, ..};
 *     checkpoints_open(&options, &checkpoints, &problem);
 *     rc = checkpoints_load(checkpoints, UINT64_MAX, &step, &problem);   E_NOT_FOUND: begin at step 0
 *     each n steps: if (checkpoints_save(checkpoints, step, &problem) < 0) tell, and train on
 *     at the end: checkpoints_wait(checkpoints, &problem); checkpoints_close(checkpoints);
 *
 * One folder a rank: what codecs lost and where a loader is differ between ranks. Ranks agree on the step
 * to go on from by checkpoints_newest(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/train/checkpoint_wire.h"

/* Memory that is saved and loaded: of fixed width, little endian, without padding or pointers. */
struct checkpoint_region {
	const char *name;
	enum checkpoint_kind kind;
	void *data;
	uint64_t bytes;
};

struct checkpoint_options {
	const char *folder;        /* is made when it is not there */
	uint32_t keep;             /* newest files that stay; 0: 2 */
	const struct terms *terms; /* what the job is: files of another one are refused */
	const struct checkpoint_region *regions;
	size_t region_count;
	/* Told of each damaged file that a load passes over; may be NULL. */
	void (*fault)(void *context, const struct problem *problem);
	void *context;
};

struct checkpoint_counts {
	uint64_t saves, failures;
	uint64_t bytes;        /* of one file */
	int64_t waited_us;     /* checkpoints_save() waited for the save before */
	int64_t snapshot_us;   /* it copied */
	int64_t written_us;    /* the thread worked */
	uint64_t durable_step; /* the last one that is on the disk */
};

struct checkpoints;

/* Takes the memory, starts the thread and locks the folder. The memory of the regions outlives it, all else
 * is copied. E_CONFLICT: another process saves to the folder; E_INVALID: a region's name, or terms that are
 * bad; -ENOMEM, -EAGAIN, -errno. */
MUST_USE int checkpoints_open(const struct checkpoint_options *options, struct checkpoints **ret,
			      struct problem *problem);
/* Waits for a save that is under way; its outcome is lost, so checkpoints_wait() comes first. */
void checkpoints_close(struct checkpoints *checkpoints);

/* The newest step of at most `most` whose file is whole and of this job. All bytes are read. Errors as those
 * of checkpoints_load(). */
MUST_USE int checkpoints_newest(struct checkpoints *checkpoints, uint64_t most, uint64_t *ret_step,
				struct problem *problem);
/* Loads the newest file of at most step `most` into the regions. A damaged one is told to `fault`, and the one
 * before is taken. E_NOT_FOUND: there is none; E_DIGEST: all are damaged; E_CONFLICT: the newest whole one is
 * of another job (`problem` names the term or the region). The regions stay as they are on an error. Files of
 * later steps than the loaded one go when the next save is durable. */
MUST_USE int checkpoints_load(struct checkpoints *checkpoints, uint64_t most, uint64_t *ret_step,
			      struct problem *problem);
/* Copies the regions and lets the thread write them; comes after checkpoints_load(). Where the save before is
 * still under way, it waits. A refused save would leave a gap in the checkpoints. A trainer that saves faster
 * than its disk has to wait at some point. Begins this save in any case; a negative result is
 * what the save before met. -EINVAL: nothing was loaded yet. */
MUST_USE int checkpoints_save(struct checkpoints *checkpoints, uint64_t step,
			      struct problem *problem);
/* Until no save is under way; what the last one met, once. */
MUST_USE int checkpoints_wait(struct checkpoints *checkpoints, struct problem *problem);
struct checkpoint_counts checkpoints_counts(struct checkpoints *checkpoints);
