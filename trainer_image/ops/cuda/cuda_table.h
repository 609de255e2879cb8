/* Which kernels run an op, and which run several calls as one pass over memory. */
#pragma once

#include "trainer_image/ops/cuda/cuda_kernel.h"

/* The row of an op; those without one are cuDNN's (cuda_conv.h). */
extern const struct cuda_op *const cuda_ops[OP_KINDS];

/* As ops_together(): by kinds alone, memory is not looked at. */
size_t cuda_table_together(const struct ops_call calls[], size_t count);
/* The row of all of them as one. NULL: their memory does not allow it, so they run one by one. */
const struct cuda_op *cuda_table_fused(const struct ops_call calls[], size_t count);
