/* Which GPU engines are asked for: a description of a type that nobody here needs to own, or a GPU of this machine. */
#pragma once

#include "trainer_image/ops/cuda/cudnn_library.h"

enum { CUDNN_DEVICE_TEXT = 1024 };

/* What a type of GPU is for cuDNN. */
struct cudnn_device_row {
	const char *name; /* as in plan/gpu_table.h: "h200" */
	const char *title;
	int capability; /* compute capability times 10: 90 = sm_90 */
	int multiprocessors;
	int clock_mhz, memory_clock_mhz; /* the highest */
	int cache_kib;                   /* L2 */
	int64_t memory_mib;
};

/* All types that CUDA 13 serves. Static. */
const struct cudnn_device_row *cudnn_device_rows(size_t *ret_count);
/* E_UNSUPPORTED: CUDA 13 does not serve this type, whose `capability` is too low; E_NOT_FOUND: no such type. */
MUST_USE int cudnn_device_find(const char *name, int capability,
			       const struct cudnn_device_row **ret, struct problem *problem);
/* The JSON that cuDNN reads, in `ret`, which it returns. */
const char *cudnn_device_text(const struct cudnn_device_row *row, char ret[CUDNN_DEVICE_TEXT]);

/* Where graphs and plans are made: one of both is set. */
struct cudnn_target {
	const struct cudnn_library *library;
	void *description; /* a finalised descriptor */
	void *handle;      /* of a GPU of this machine; borrowed */
};

/* A target from a description. `row` is not kept. Call cudnn_target_done() in any case. */
MUST_USE int cudnn_target_describe(struct cudnn_target *target, const struct cudnn_library *library,
				   const struct cudnn_device_row *row, struct problem *problem);
void cudnn_target_done(struct cudnn_target *target);
