/* The ranks of a job, as the one sees them that trains. Alone, all of it does nothing. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/comm/collective.h"
#include "trainer_image/comm/transport.h"
#include "trainer_image/comm/watch.h"

struct team {
	int rank, ranks;
	struct transport *transport; /* NULL with one rank */
	struct watch *watch;         /* NULL with one rank */
	bool heard;                  /* the job is over, and the cause is another rank's */
};

/* What each rank tells all others behind a step. */
struct team_word {
	double loss; /* the sum of its losses */
	uint64_t counted, right, samples, skipped;
	uint32_t stop;
};

/* The sum of all ranks' words, added in the order of ranks: the same on all. E_UNAVAILABLE: a rank is gone,
 * `problem` says which and why. */
MUST_USE int team_tell(struct team *team, struct team_word *word, struct problem *problem);
/* Numbers to their sum, and to their mean, over ranks. */
MUST_USE int team_sum(struct team *team, float *numbers, size_t count, struct problem *problem);
MUST_USE int team_mean(struct team *team, float *numbers, size_t count, struct problem *problem);
/* Numbers to their sum over some of the ranks, which all call it. */
MUST_USE int team_sum_of(struct team *team, const struct collective_group *group, float *numbers,
			 size_t count, struct problem *problem);
/* The smallest of all ranks' numbers. */
MUST_USE int team_least(struct team *team, uint64_t *number, struct problem *problem);
/* Each number to the largest that a rank has in its place. Where ranks have other keys, their numbers are of other
 * things: nothing is changed. */
MUST_USE int team_most(struct team *team, uint64_t key, int64_t *numbers, size_t count,
		       struct problem *problem);
/* Why a call over the transport ended with `rc`: waits shortly for what the watch hears. E_UNAVAILABLE. */
int team_blame(struct team *team, int rc, struct problem *problem);
/* Whose failure `rc` is, as soon as it is known and before anything slow. An error that follows from another rank's end
 * becomes E_UNAVAILABLE with what the watch heard. Else it is this rank's own, and as it was. NULL: alone. */
int team_settle(struct team *team, int rc, struct problem *problem);
/* Tells the others this rank's own failure, once. Nothing where the cause was heard. */
void team_fail(struct team *team, const struct problem *problem);
