/* Products on a GPU of this machine: the engines of each shape are found once, plans are kept, and executed on a stream. Calls of
 * one shape may have different workspace, and then different engines. Not for several threads at a time. */
#pragma once

#include "trainer_image/ops/cuda/cudnn_engine.h"
#include "trainer_image/ops/ops.h"

struct cudnn_conv;

struct cudnn_conv_filled {
	enum tensor_type type;
	void *y;
	const void *bias;
	int64_t rows, channels;
};

/* y [rows][channels] = bias [channels] on the stream: a kernel of the caller. 0 or an error that is told. */
struct cudnn_conv_bias {
	void *context;
	int (*fill)(void *context, const struct cudnn_conv_filled *is, struct problem *problem);
};

/* Loads cuDNN and opens the GPU that this thread has chosen. `stream` is a cudaStream_t; no product takes more than `limit`
 * bytes of workspace. -ENOENT and E_UNSUPPORTED as in cudnn_library.h; -EIO: no usable GPU. The caller frees `ret`. */
MUST_USE int cudnn_conv_new(void *stream, int64_t limit, const struct cudnn_conv_bias *bias,
			    struct cudnn_conv **ret, struct problem *problem);
void cudnn_conv_free(struct cudnn_conv *conv);
void cudnn_conv_freep(struct cudnn_conv **conv);
/* Its name and version. Borrowed. */
const char *cudnn_conv_library(const struct cudnn_conv *conv);

/* Finds the call's engine and keeps its plan: the first with at most call->workspace_size bytes, else the one with the least.
 * `data` are not read; `accumulate` belongs to the shape. Errors of cudnn_engines_find(), -ENOMEM. */
MUST_USE int cudnn_conv_find(struct cudnn_conv *conv, const struct ops_call *call,
			     struct cudnn_engine *ret, struct problem *problem);
/* Takes no memory of the GPU and does not wait, so it may be captured into a CUDA graph. E_NOT_FOUND: its shape was never
 * found with this workspace; E_LIMIT: all its engines want more; -EIO: cuDNN failed, E_UNSUPPORTED: it refused. Each is told. */
MUST_USE int cudnn_conv_run(struct cudnn_conv *conv, const struct ops_call *call,
			    struct problem *problem);
