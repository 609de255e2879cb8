/* What to compute again in a model that is a chain of blocks.
 *
 * A cut is a place between two forward ops that one result alone crosses. Between two cuts there is a
 * segment; its options are: keep all; compute the cheap ops again; the cheap ones and the 1, 2, ..
 * products that free the most bytes per operation. What leaves a segment is never dropped. The choice is
 * exact among these options, as each was measured alone; the caller checks the true peak. */
#pragma once

#include "trainer_image/plan/liveness.h"

struct chain_option {
	int from, to; /* cuts */
	int level;    /* -1 = keep all, else so many products beside the cheap ops */
	int64_t kept; /* bytes from forward to backward */
	int64_t work; /* the most bytes while the segment runs, without those of segments before */
	double flops;
};

struct chain {
	struct liveness *life;
	int *cuts; /* forward ops that begin a segment; the last is the number of ops */
	int cut_count;
	struct chain_option *options; /* in the order of `to` */
	size_t option_count, option_room;
	bool *read_later; /* per tensor: does a backward op read it? */
	bool *needed;     /* per tensor, within chain_apply() */
	bool *dropped;    /* per forward op, for measuring */
};

/* -ENOMEM. Call chain_done() in any case. */
MUST_USE int chain_init(struct chain *chain, struct liveness *life);
void chain_done(struct chain *chain);

/* The fewest extra operations within `budget` bytes. E_LIMIT when none is; -ENOMEM. */
MUST_USE int chain_choose(struct chain *chain, int64_t budget, bool dropped[]);
/* The smallest peak. -ENOMEM. */
MUST_USE int chain_smallest(struct chain *chain, bool dropped[]);
