/* Trains as a job says: the loop over steps and epochs of one rank.
 *
 * A step is `accumulate` batches on each rank: forward, backward, the sum over ranks, one update. All that a
 * step does follows from the job's seed and the step's number. So two runs of a job give the same bits,
 * and so does a run that was killed and went on from a checkpoint. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/loader/loader.h"
#include "trainer_image/train/job.h"
#include "trainer_image/train/team.h"

/* Where it begins. */
struct train_begun {
	uint64_t step, steps; /* done, in all */
	uint64_t steps_of_epoch;
	int64_t epochs;
	uint64_t samples;          /* of an epoch, all ranks */
	uint64_t length;           /* words of a sample; 0: samples are pictures */
	bool masks;                /* labels are of pixels */
	int64_t arena, parameters; /* bytes, numbers */
	int ranks, machines;
	bool resumed;
};

/* One step, over all ranks. Times are this rank's, in microseconds. */
struct train_step {
	uint64_t step;  /* from 1 */
	uint64_t epoch; /* from 1 */
	double loss, rate, scale;
	bool left_out; /* fp16: its gradients were infinite */
	uint64_t samples, skipped;
	int64_t data_us, forward_us, backward_us, sync_us, update_us, all_us;
	struct loader_counts counts; /* of the loader, since it began */
};

struct train_evaluation {
	uint64_t step, epoch;
	double loss, accuracy;
	uint64_t samples, counted; /* counted: labels, one a picture, a pixel or a word */
};

/* Called from the thread that trains; each may be NULL. */
struct train_hooks {
	void *context;
	void (*begun)(void *context, const struct train_begun *is);
	void (*step)(void *context, const struct train_step *is);
	void (*evaluated)(void *context, const struct train_evaluation *is);
	void (*saved)(void *context, uint64_t step);
	/* A line for people: a sample that was left out, a checkpoint that could not be written. */
	void (*note)(void *context, const char *line);
};

struct train_options {
	const struct job *job;
	struct team *team; /* NULL: alone */
	const struct train_hooks *hooks;
	const atomic_bool *stop; /* true: save after this step and end */
};

struct train_result {
	uint64_t step;
	uint64_t digest; /* of weights and statistics: the same on all ranks */
	bool nothing;    /* the job was complete before */
	bool stopped;    /* `stop` was seen on a rank */
	bool saved;      /* a checkpoint has all of it */
	bool evaluated;
	struct train_evaluation last;
};

/* E_INVALID, E_LIMIT, E_CONFLICT, E_NOT_FOUND: the job cannot be run, and why. E_MALFORMED: a loss that is no
 * number; `problem` names step and layer. Errors of ranks are those of struct team. */
MUST_USE int train_run(const struct train_options *options, struct train_result *ret,
		       struct problem *problem);
