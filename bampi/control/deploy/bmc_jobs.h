/* What deployments asked of BMCs and what came of it, in the memory of this process. A job is the
 * short list of operations that one step wished for, done in order, each effect confirmed by the
 * queue. When the process dies the jobs are gone; the next owner of the claim asks again, which is
 * why steps look at the world first.
 *
 * Nothing of a job is sent after the end of its claim (fence.h). A job that is late for that is
 * forgotten, as if the process had died. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/control/deploy/deploy_store.h"
#include "bampi/control/deploy/step.h"

struct bmc_jobs;

/* A job has ended. */
typedef void (*bmc_jobs_wake_fn)(void *context);

MUST_USE int bmc_jobs_new(struct bmc_queue *queue, bmc_jobs_wake_fn fn, void *context,
			  struct bmc_jobs **ret);
/* Cancels what is under way. Before bmc_queue_free. */
void bmc_jobs_free(struct bmc_jobs *jobs);

/* Starts what the outcome wishes, in place of what the deployment had. `end_ms`: of the claim, by
 * fence_end_ms(). */
MUST_USE int bmc_jobs_start(struct bmc_jobs *jobs, const struct facts *facts,
			    const struct advance *advance, int64_t end_ms);
/* The claim was extended. Unknown, or another generation: nothing. */
void bmc_jobs_extend(struct bmc_jobs *jobs, const struct claim_key *key, int64_t end_ms);
/* Cancels and forgets. Unknown is fine. */
void bmc_jobs_forget(struct bmc_jobs *jobs, int64_t deployment_id);
/* The claim was lost; false when a newer one of ours took its place meanwhile. */
bool bmc_jobs_forget_claim(struct bmc_jobs *jobs, const struct claim_key *key);
bool bmc_jobs_busy(const struct bmc_jobs *jobs, int64_t deployment_id);
/* Fills facts->bmc for the attempt that the facts are of, and takes over the claim's new
 * generation. */
void bmc_jobs_look(struct bmc_jobs *jobs, struct facts *facts);

/* Deployments whose job has ended: what came of it is to be saved, then the job forgotten. Returns
 * how many. */
size_t bmc_jobs_ended(const struct bmc_jobs *jobs, int64_t ret[], size_t room);
size_t bmc_jobs_count(const struct bmc_jobs *jobs);
/* All claims that are held for jobs. */
size_t bmc_jobs_claims(const struct bmc_jobs *jobs, struct claim_key ret[], size_t room);
