/* Convolutions and linear layers on a GPU: CONV, CONV_DATA, CONV_WEIGHT, LINEAR, LINEAR_DATA, LINEAR_WEIGHT,
 * with their bias and with `accumulate`. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/ops.h"

struct cuda_conv;

/* `stream`: a cudaStream_t. No call takes more workspace than `workspace_limit` bytes. */
MUST_USE int cuda_conv_new(void *stream, size_t workspace_limit, struct cuda_conv **ret,
			   struct problem *problem);
void cuda_conv_free(struct cuda_conv *conv);
/* "cuDNN 9.19.0". Borrowed. */
const char *cuda_conv_library(const struct cuda_conv *conv);
/* Finds and keeps the engine of this shape and of at most call->workspace_size bytes. */
MUST_USE int cuda_conv_workspace(struct cuda_conv *conv, const struct ops_call *call,
				 size_t *ret_size, struct problem *problem);
/* Allocates nothing; may be captured into a CUDA graph. Each error is told. */
MUST_USE int cuda_conv_run(struct cuda_conv *conv, const struct ops_call *call,
			   struct problem *problem);
