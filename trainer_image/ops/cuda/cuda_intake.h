/* Batches from the host to a GPU (ops.h): uploaded by a stream of their own while others compute, then made into
 * numbers by kernels between the calls. */
#pragma once

#include "trainer_image/ops/cuda/cuda_device.h"
#include "trainer_image/ops/cuda/cuda_kernel.h"

/* Pinned: the GPU reads it by itself. NULL when none is to be had. */
void *cuda_intake_host_take(size_t bytes);
void cuda_intake_host_give(void *memory);

/* `device` and `launch` outlive it. E_LIMIT: no memory of the device; -ENOMEM; -EIO. */
MUST_USE int cuda_intake_open(struct cuda_device *device, const struct cuda_launch *launch,
			      const struct ops_intake_kind *kind, struct ops_intake **ret);
/* Waits for what it does. */
void cuda_intake_close(struct ops_intake *intake);
MUST_USE int cuda_intake_upload(struct ops_intake *intake, unsigned place,
				const struct ops_intake_batch *batch);
MUST_USE int cuda_intake_is_read(struct ops_intake *intake, unsigned place, bool waits, bool *ret);
MUST_USE int cuda_intake_put(struct ops_intake *intake, unsigned place, void *to, uint32_t all);
