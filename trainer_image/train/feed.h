/* Batches of a record file, put into the input and the label of an executor.
 *
 * A model that reads words gets them from word_feed.h, by the same functions. One whose label has a place for each
 * pixel gets masks (record/mask.h): MASK_VOID becomes -1.
 *
 * The last batch of an epoch may be short. Its free places hold copies of its first pictures, with the
 * label -1, which counts for nothing. So statistics of batch norm see pictures alone.
 *
 * A back end may take batches in (ops_intake of ops.h). It gets them as the loader's transfer index leaves them. The next
 * one goes to it while a pass runs: feed_ahead(). */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/graph/model.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/train/executor.h"

struct feed;

struct feed_options {
	const char *path;
	const char *
		augment; /* ops of augment_table.h; crop, normalise and pack are added where they lack */
	uint32_t threads; /* that decode and augment, each; 0 = tuned */
	struct ops *ops;  /* the executor's; NULL: the host makes all numbers */
	int transfer;     /* of `ops`: the transfer index; -1 = tuned, or 1 with `threads` */
	uint32_t rank, ranks;
	struct loader_state state;
	/* As of struct loader_config. */
	void (*fault)(void *context, uint64_t sample, const struct problem *problem);
	void *context;
};

/* `graph` outlives it. E_INVALID: a set or ops that do not fit the model. */
MUST_USE int feed_new(const struct feed_options *options, const struct model *model,
		      const struct graph *graph, struct feed **ret, struct problem *problem);
void feed_free(struct feed *feed);

/* Puts the next batch into the executor. Samples of it, 0 at the end of the epoch: again and again until
 * feed_turn(). E_INVALID: a label that the model has not, by its sample. */
MUST_USE int feed_next(struct feed *feed, struct executor *executor, uint32_t *ret,
		       struct problem *problem);
/* Behind the calls of a pass, before it is waited for: the next batch goes to the device, if one is ready. What
 * goes wrong is told by the next feed_next(). */
void feed_ahead(struct feed *feed);
/* To the next epoch, from the end of one. */
MUST_USE int feed_turn(struct feed *feed, struct problem *problem);

/* Where it is: from there another feed goes on. */
struct loader_state feed_state(const struct feed *feed);
struct loader_counts feed_counts(struct feed *feed);
/* Samples of the whole file, and its digest: of what all of its bytes are. */
uint64_t feed_samples(const struct feed *feed);
uint64_t feed_digest(const struct feed *feed);
/* The ops as they are run, all of them written out; borrowed. */
const char *feed_augment(const struct feed *feed);
