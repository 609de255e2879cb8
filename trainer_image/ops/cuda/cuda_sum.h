/* Bytes from GPU to GPU by NCCL, for sums of gradients, on a stream of their own beside the one that computes.
 *
 * NCCL is never waited for without an end. When `ranks->is_stopped` says true its work is given up, so a rank that is gone
 * ends the job in time (comm/watch.h tells it). The same happens when nothing moves for `ranks->still_ms`; an
 * exchange has a second more for each 10 MB. The first failure stays the answer of all calls behind it. */
#pragma once

#include "trainer_image/ops/cuda/cuda_device.h"
#include "trainer_image/ops/cuda/cuda_kernel.h"

struct cuda_sum;

/* Rank 0 alone: what all ranks need to find each other. -ENOENT: no NCCL; E_UNSUPPORTED; -ECONNRESET. */
MUST_USE int cuda_sum_id(uint8_t ret[OPS_ID_SIZE], struct problem *problem);
/* All ranks together, each on its own GPU. `launch`: where `device` computes the gradients; both outlive the sums. Errors of
 * ops_sum.h; `problem` has NCCL's own words. `ret` is set then too, but for -ENOMEM: its end may wait for the other ranks. */
MUST_USE int cuda_sum_new(struct cuda_device *device, const struct cuda_launch *launch,
			  const struct ops_ranks *ranks, struct cuda_sum **ret,
			  struct problem *problem);
/* Gives up what is under way. NULL is nothing. */
void cuda_sum_free(struct cuda_sum *sum);
/* Where the codec's next call runs; asked once for each. */
const struct cuda_launch *cuda_sum_launch(struct cuda_sum *sum);
/* As ops_sum_exchange(), ops_sum_together(), ops_sum_why(), ops_sum_ready(), ops_sum_end(). */
MUST_USE int cuda_sum_exchange(struct cuda_sum *sum, const struct ops_exchange *exchange);
MUST_USE int cuda_sum_together(struct cuda_sum *sum, bool begins);
void cuda_sum_why(const struct cuda_sum *sum, struct problem *problem);
MUST_USE int cuda_sum_ready(struct cuda_sum *sum);
MUST_USE int cuda_sum_end(struct cuda_sum *sum);
/* Until `stream` is at its end. Errors of ops_sum.h. */
MUST_USE int cuda_sum_wait(struct cuda_sum *sum, void *stream);
