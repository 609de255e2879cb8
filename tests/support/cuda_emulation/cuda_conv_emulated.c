/* What cuDNN does, by the CPU back end, for the emulation of CUDA: the calls run in the order of the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda_emulation/cuda_runtime.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "trainer_image/ops/cuda/cuda_conv.h"

struct cuda_conv {
	struct ops *cpu;
	struct emulation_stream *stream;
	size_t more, limit;
};

static size_t cuda_conv_more; /* of the next one */

void emulation_set_engine(size_t more)
{
	cuda_conv_more = more;
}

struct cuda_conv_body {
	struct ops *cpu;
	size_t overwritten; /* bytes of workspace */
	struct ops_call call;
	struct op_attributes attributes; /* the caller's may be gone when the stream runs */
};

int cuda_conv_new(void *stream, size_t workspace_limit, struct cuda_conv **ret,
		  struct problem *problem)
{
	struct cuda_conv *conv = calloc(1, sizeof(*conv));
	int rc;

	if (!conv)
		return problem_set(problem, -ENOMEM, "no memory for convolutions");
	conv->stream = stream;
	conv->more = cuda_conv_more;
	conv->limit = workspace_limit;
	rc = ops_cpu_new(1, &conv->cpu, problem);
	if (rc != 0) {
		free(conv);
		return rc;
	}
	*ret = conv;
	return 0;
}

void cuda_conv_free(struct cuda_conv *conv)
{
	ops_free(conv->cpu);
	free(conv);
}

const char *cuda_conv_library(const struct cuda_conv *conv)
{
	(void)conv;
	return "emulated cuDNN";
}

int cuda_conv_workspace(struct cuda_conv *conv, const struct ops_call *call, size_t *ret_size,
			struct problem *problem)
{
	size_t least = 0;
	int rc = ops_workspace(conv->cpu, call, &least, problem);
	size_t first = least + conv->more;

	*ret_size = first <= call->workspace_size && first <= conv->limit ? first : least;
	return rc;
}

static void cuda_conv_run_body(const void *body)
{
	struct cuda_conv_body is = *(const struct cuda_conv_body *)body;

	is.call.attributes = &is.attributes;
	if (is.overwritten > 0)
		memset(is.call.workspace, 0x7f, is.overwritten);
	if (ops_run(is.cpu, &is.call) != 0)
		abort();
}

int cuda_conv_run(struct cuda_conv *conv, const struct ops_call *call, struct problem *problem)
{
	struct cuda_conv_body body = {
		.cpu = conv->cpu, .call = *call, .attributes = *call->attributes};

	if (conv->more > 0 && cuda_conv_workspace(conv, call, &body.overwritten, problem) != 0)
		return problem->code;
	return emulation_enqueue(conv->stream, cuda_conv_run_body, &body, sizeof(body)) == 0
		       ? 0
		       : problem_set(problem, -ENOMEM, "no memory for a product");
}
