/* cudnn_conv.h behind the face that cuda.c knows, with our kernel for the bias. */
#include "trainer_image/ops/cuda/cuda_conv.h"

#include <cuda_runtime.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "trainer_image/ops/cuda/cuda_kernel.h"
#include "trainer_image/ops/cuda/cudnn_conv.h"

struct cuda_conv {
	struct cuda_launch launch; /* of the bias: its kernel reads no state */
	struct cudnn_conv *conv;
};

static int cuda_conv_fill(void *context, const struct cudnn_conv_filled *is,
			  struct problem *problem)
{
	const struct cuda_conv *conv = context;
	int error = cuda_kernel_bias_fill(&conv->launch, is->type, is->y, is->bias, is->rows,
					  is->channels);

	return error == 0 ? 0
			  : problem_set(problem, -EIO, "the bias of a product: %s",
					cudaGetErrorName((cudaError_t)error));
}

int cuda_conv_new(void *stream, size_t workspace_limit, struct cuda_conv **ret,
		  struct problem *problem)
{
	CLEANUP(freep) struct cuda_conv *conv = calloc(1, sizeof(*conv));

	if (!conv)
		return problem_set(problem, -ENOMEM, "no memory for cuDNN");
	conv->launch.stream = stream;
	const struct cudnn_conv_bias bias = {conv, cuda_conv_fill};
	int rc = cudnn_conv_new(stream, (int64_t)workspace_limit, &bias, &conv->conv, problem);

	if (rc == 0)
		*ret = TAKE(conv);
	return rc;
}

void cuda_conv_free(struct cuda_conv *conv)
{
	if (!conv)
		return;
	cudnn_conv_free(conv->conv);
	free(conv);
}

const char *cuda_conv_library(const struct cuda_conv *conv)
{
	return cudnn_conv_library(conv->conv);
}

int cuda_conv_workspace(struct cuda_conv *conv, const struct ops_call *call, size_t *ret_size,
			struct problem *problem)
{
	struct cudnn_engine engine;
	int rc = cudnn_conv_find(conv->conv, call, &engine, problem);

	if (rc == 0)
		*ret_size = (size_t)engine.workspace;
	return rc;
}

int cuda_conv_run(struct cuda_conv *conv, const struct ops_call *call, struct problem *problem)
{
	return cudnn_conv_run(conv->conv, call, problem);
}
