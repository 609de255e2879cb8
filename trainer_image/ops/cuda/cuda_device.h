/* One GPU: its stream, its memory, and copies through pinned memory. Work runs in the order of the calls.
 *
 * Functions return 0, or -EIO with the device's own words in `fault`. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/ops.h"

enum { CUDA_DEVICE_STAGES = 2, CUDA_DEVICE_STAGE = 4 << 20 };

struct cuda_device {
	int number;
	char name[64]; /* "NVIDIA H200" */
	cudaStream_t stream;
	struct {
		void *memory;     /* pinned, CUDA_DEVICE_STAGE bytes */
		cudaEvent_t used; /* the copy that used it last */
	} stages[CUDA_DEVICE_STAGES];
	unsigned next;
	cudaEvent_t *marks;
	size_t mark_count;
	const char *last;     /* what was called last: a fault may be of something before */
	struct problem fault; /* the first */
};

/* E_UNAVAILABLE: no driver or no GPU; E_NOT_FOUND: not so many GPUs; -ENOMEM; -EIO. Each says what to do. */
MUST_USE int cuda_device_open(int number, struct cuda_device *ret, struct problem *problem);
/* Waits for what runs. A zeroed device is left alone. */
void cuda_device_done(struct cuda_device *device);

/* The device is the calling thread's: each function of a back end begins with it. */
void cuda_device_use(const struct cuda_device *device);
/* What a call of the runtime returned: 0 or -EIO. */
MUST_USE int cuda_device_told(struct cuda_device *device, int error);
/* Keeps what another library says of this GPU, `of` with its name before it. Returns of->code. */
int cuda_device_fault(struct cuda_device *device, const struct problem *of);

/* 256-byte aligned zeros; NULL when none is left. */
void *cuda_device_take(struct cuda_device *device, size_t bytes);
/* Waits for what uses it. */
void cuda_device_give(struct cuda_device *device, void *memory);

/* `from` has been read when it returns. */
MUST_USE int cuda_device_in(struct cuda_device *device, void *to, const void *from, size_t bytes);
/* Waits for all that was called before, and for the copy. */
MUST_USE int cuda_device_out(struct cuda_device *device, void *to, const void *from, size_t bytes);
MUST_USE int cuda_device_within(struct cuda_device *device, void *to, const void *from,
				size_t bytes);

/* As ops_mark(), ops_marks(). */
MUST_USE int cuda_device_mark(struct cuda_device *device, size_t nth);
MUST_USE int cuda_device_marks(struct cuda_device *device, size_t count, double *ret_ms);
/* `library` has CUDA's versions. */
MUST_USE int cuda_device_about(struct cuda_device *device, struct ops_about *ret);
