/* Bytes from GPU to GPU by NCCL, for sums of gradients, on a stream of their own beside the one that computes.
 *
 * NCCL is never waited for without an end: when `ranks->is_stopped` says true its work is given up, so a rank that is gone
 * ends the job in time (comm/watch.h tells it). */
#pragma once

#include "trainer_image/ops/cuda/cuda_kernel.h"

struct cuda_sum;

/* Rank 0 alone: what all ranks need to find each other. -ENOENT: no NCCL; E_UNSUPPORTED; -EIO. */
MUST_USE int cuda_sum_id(uint8_t ret[OPS_ID_SIZE], struct problem *problem);
/* All ranks together, each on its own GPU. `launch`: where the gradients are computed; it outlives the sums. E_UNAVAILABLE: the
 * job was stopped meanwhile. */
MUST_USE int cuda_sum_new(const struct cuda_launch *launch, const struct ops_ranks *ranks,
			  struct cuda_sum **ret, struct problem *problem);
/* Gives up what is under way. NULL is nothing. */
void cuda_sum_free(struct cuda_sum *sum);
/* Where the codecs of sums run. */
const struct cuda_launch *cuda_sum_launch(const struct cuda_sum *sum);
/* As ops_sum_exchange(), ops_sum_ready(), ops_sum_end(). */
MUST_USE int cuda_sum_exchange(struct cuda_sum *sum, const struct ops_exchange *exchange);
MUST_USE int cuda_sum_ready(struct cuda_sum *sum);
MUST_USE int cuda_sum_end(struct cuda_sum *sum);
/* Until `stream` is at its end. E_UNAVAILABLE: the job was stopped; -ECONNRESET: a rank is gone; -EIO: the device or
 * NCCL failed. */
MUST_USE int cuda_sum_wait(struct cuda_sum *sum, void *stream);
