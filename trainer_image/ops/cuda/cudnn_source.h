/* cuDNN's engines for the planner: those of a GPU type that need not be here. */
#pragma once

#include "trainer_image/plan/gpu_table.h"
#include "trainer_image/plan/plan_engine.h"

struct cudnn_source;

/* Loads cuDNN. -ENOENT and E_UNSUPPORTED as in cudnn_library.h; E_UNSUPPORTED too when CUDA 13 does not serve this
 * GPU. E_INVALID: the GPU does not know `type`. `ret_source` lives as long as `ret`, which the caller frees. */
MUST_USE int cudnn_source_new(const struct gpu_row *gpu, enum tensor_type type,
			      struct cudnn_source **ret,
			      const struct plan_engine_source **ret_source,
			      struct problem *problem);
void cudnn_source_free(struct cudnn_source *source);
void cudnn_source_freep(struct cudnn_source **source);
