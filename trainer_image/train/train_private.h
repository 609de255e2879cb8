/* What the parts of the loop share: train.c (begin and end), train_step.c, train_evaluate.c, train_save.c,
 * train_metrics.c. */
#pragma once

#include "trainer_image/graph/model_text.h"
#include "trainer_image/plan/plan_lasting.h"
#include "trainer_image/train/exchange.h"
#include "trainer_image/train/feed.h"
#include "trainer_image/train/loss_scale_policy.h"
#include "trainer_image/train/train.h"
#include "trainer_image/train/weights.h"

/* A graph with all that runs it. */
struct train_engine {
	struct graph *graph;
	struct plan *plan;
	struct executor *executor;
};

/* Where training is; fixed width, as a checkpoint holds it. */
struct train_state {
	uint64_t step;     /* done */
	uint64_t updates;  /* of these, those that changed weights */
	uint64_t epoch;    /* done */
	uint64_t batches;  /* of the epoch, done by each rank */
	uint64_t position; /* of this rank in its share of the epoch */
	double scale;      /* of the loss */
	uint64_t good;     /* steps since it was changed */
	uint64_t codec;    /* exchange_codec(); 0 with one rank */
};

/* Memory of a back end that is not on the host, and its copy there. */
struct train_mirror {
	void *memory, *copy;
	size_t bytes;
};

struct train {
	const struct train_options *options;
	const struct job *job;
	struct team *team;
	int rank, ranks;
	struct model *model;
	struct ops *ops;
	struct train_engine engine, evaluation;
	struct plan_lasting lasting;
	struct weights weights;
	struct feed *feed;
	struct exchange *exchange; /* NULL with one rank */
	struct schedule schedule;
	struct train_state state;
	struct loss_scale scale;
	uint64_t batches_of_epoch, steps_of_epoch;
	float *statistics; /* all of them in a row, for their mean over ranks; NULL = none */
	size_t statistic_count;
	uint64_t evaluation_samples, evaluation_digest;
	struct checkpoints *checkpoints; /* NULL = none */
	struct train_mirror *mirrors;    /* of what they save of a device */
	size_t mirror_count;
	uint64_t saved;          /* step of the last save */
	struct metrics *metrics; /* NULL = none */
	struct train_step last;  /* for them */
	bool stopped;
	struct train_result result;
};

/* --- train.c --- */

/* Bytes for all of it; 0 = any number. */
int64_t train_budget(const struct train *train);
/* Of training first: evaluation uses its arena. */
MUST_USE int train_engine_new(struct train *train, bool training, struct train_engine *ret,
			      struct problem *problem);
/* The training set from where the state is. */
MUST_USE int train_feed_new(struct train *train, struct problem *problem);
void train_note(struct train *train, const char *format, ...) PRINTF_LIKE(2, 3);
/* Words of a sample; 0: samples are pictures. */
uint64_t train_length(const struct train *train);

/* --- train_step.c --- */

/* One step of the epoch. */
MUST_USE int train_step_run(struct train *train, struct problem *problem);

/* --- train_evaluate.c --- */

/* Over the whole set, each sample once. */
MUST_USE int train_evaluate(struct train *train, struct problem *problem);

/* --- train_save.c --- */

/* The job of all ranks is the same. E_CONFLICT names rank and term. */
MUST_USE int train_agree(struct train *train, struct problem *problem);
/* Opens the folder, and goes on from its newest checkpoint that all ranks have. */
MUST_USE int train_resume(struct train *train, bool *ret_resumed, struct problem *problem);
/* Begins a save of the state as it is; what cannot be written is told, and training goes on. */
MUST_USE int train_save(struct train *train, struct problem *problem);
/* Until it is on the disk. */
MUST_USE int train_save_end(struct train *train, struct problem *problem);
void train_save_close(struct train *train);

/* --- train_metrics.c --- */

MUST_USE int train_metrics_open(struct train *train, struct problem *problem);
/* The last step; `evaluated`: the model was, behind it. */
void train_metrics_add(struct train *train, bool evaluated);
/* To the disk, before a checkpoint says that they are there. */
void train_metrics_sync(struct train *train);
void train_metrics_close(struct train *train);
