/* The sum of gradients over the ranks of a job, made bucket by bucket while the backward pass goes on: on the host over the
 * team's transport, or from device to device (device_link.h), with the same bits.
 *
 * All sums go by COLLECTIVE_DIRECT, which adds in the order of ranks, and parts begin at whole blocks of
 * the codec. So the bits of a sum do not depend on the cut, and the cut may follow what was measured: the
 * first steps take buckets of about a MiB, then they are cut from the backward timeline. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/comm/codec.h"
#include "trainer_image/comm/terms.h"
#include "trainer_image/graph/graph.h"
#include "trainer_image/train/job.h"
#include "trainer_image/train/team.h"
#include "trainer_image/train/weights.h"

struct exchange;

/* `team` and `weights` outlive it; all ranks call it together. */
MUST_USE int exchange_new(struct team *team, struct weights *weights, const struct job_ranks *ranks,
			  struct exchange **ret, struct problem *problem);
void exchange_free(struct exchange *exchange);
/* In words of the library that sums, why it failed; `problem` stays where it did not. NULL is allowed. */
void exchange_why(const struct exchange *exchange, struct problem *problem);

/* Bytes of a device that sums on it take at most. NCCL takes more for itself. */
int64_t exchange_memory(const struct job_ranks *ranks, int rank, const struct graph *graph);

/* The cut into buckets, the codec and the way, as ranks compare them before the first step. */
void exchange_terms_add(const struct exchange *exchange, struct terms *terms);
/* The backward pass begins whose gradients are summed. */
MUST_USE int exchange_begin(struct exchange *exchange);
/* The gradient of the next part is in the vector, in the order of parts. Errors of the back end. */
MUST_USE int exchange_ready(struct exchange *exchange);
/* Until the whole vector is the sum. `ret_exposed_us`: it waited so long. E_UNAVAILABLE as team_tell(). */
MUST_USE int exchange_wait(struct exchange *exchange, int64_t *ret_exposed_us,
			   struct problem *problem);

/* What the codec lost so far, for checkpoints: two vectors of weights->numbers, NULL where nothing is kept. */
struct exchange_lost {
	float *mine;  /* of this rank's gradients */
	float *owned; /* of the sums that this rank made; 0 elsewhere */
};

struct exchange_lost exchange_lost(struct exchange *exchange);
/* To the vectors, before they are saved. */
MUST_USE int exchange_lost_save(struct exchange *exchange, struct problem *problem);
/* Goes on with the vectors after they were loaded, by all ranks together, before the first step. `codec`: what
 * exchange_codec() said when they were saved; where the job says `auto`, it stands. E_CONFLICT: ranks have different ones. */
MUST_USE int exchange_resume(struct exchange *exchange, enum codec codec, struct problem *problem);
/* On which sums have two levels (comm/levels.h); 1: one level. */
int exchange_machines(const struct exchange *exchange);
/* How gradients travel in the steps that follow; CODECS: `auto` has not chosen yet. */
enum codec exchange_codec(const struct exchange *exchange);
