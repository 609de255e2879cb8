#include "trainer_image/ops/cuda/cudnn_conv.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/ops/cuda/cudnn_shapes.h"

struct cudnn_conv {
	struct cudnn_library library;
	char name[CUDNN_LIBRARY_NAME];
	struct cudnn_target target; /* with a handle */
	struct cudnn_conv_bias bias;
	struct cudnn_shapes shapes; /* with plans */
};

int cudnn_conv_new(void *stream, int64_t limit, const struct cudnn_conv_bias *bias,
		   struct cudnn_conv **ret, struct problem *problem)
{
	CLEANUP(cudnn_conv_freep) struct cudnn_conv *conv = calloc(1, sizeof(*conv));

	if (!conv)
		return problem_set(problem, -ENOMEM, "no memory for cuDNN");
	int rc = cudnn_library_open(&conv->library, problem);

	if (rc < 0)
		return rc;
	(void)cudnn_library_name(&conv->library, conv->name);
	conv->target.library = &conv->library;
	conv->bias = *bias;
	conv->shapes = (struct cudnn_shapes){.target = &conv->target, .limit = limit};
	int status = conv->library.create(&conv->target.handle);

	if (status != CUDNN_STATUS_SUCCESS)
		return cudnn_library_problem(&conv->library, status, "opening the GPU", problem);
	status = conv->library.set_stream(conv->target.handle, stream);
	if (status != CUDNN_STATUS_SUCCESS)
		return cudnn_library_problem(&conv->library, status, "choosing a stream", problem);
	*ret = TAKE(conv);
	return 0;
}

void cudnn_conv_free(struct cudnn_conv *conv)
{
	if (!conv)
		return;
	cudnn_shapes_done(&conv->shapes);
	if (conv->target.handle)
		(void)conv->library.destroy(conv->target.handle);
	free(conv);
}

const char *cudnn_conv_library(const struct cudnn_conv *conv)
{
	return conv->name;
}

void cudnn_conv_freep(struct cudnn_conv **conv)
{
	cudnn_conv_free(*conv);
}

static int cudnn_conv_shape(const struct ops_call *call, struct cudnn_shape *ret,
			    struct problem *problem)
{
	struct op_tensor in[OP_IN_MAX];
	struct op_inputs inputs = {call->kind, call->attributes, in, call->in_count};

	for (size_t i = 0; i < call->in_count; i++)
		in[i] = call->in[i].is;
	return cudnn_shape_of(&inputs, &call->out[0].is, call->accumulate, ret, problem);
}

int cudnn_conv_find(struct cudnn_conv *conv, const struct ops_call *call, struct cudnn_engine *ret,
		    struct problem *problem)
{
	struct cudnn_shapes_row *row = NULL;
	struct cudnn_shape shape;
	int rc = cudnn_conv_shape(call, &shape, problem);

	if (rc == 0)
		rc = cudnn_shapes_find(&conv->shapes, &shape, &row, problem);
	if (rc < 0)
		return rc;
	assert(row);
	size_t engine = cudnn_shapes_choose(row, call->workspace_size);

	rc = cudnn_shapes_plan(&conv->shapes, row, engine, problem);
	if (rc == 0)
		*ret = row->engines.rows[engine];
	return rc;
}

/* The memory of x, w and y of a call, in this order. */
static void cudnn_conv_memory(const struct ops_call *call, enum cudnn_product product, void *ret[3])
{
	void *const in[2] = {call->in[0].data, call->in[1].data};
	void *out = call->out[0].data;

	switch (product) {
	case CUDNN_BACKWARD_DATA: /* dy, w: dx */
		ret[0] = out;
		ret[1] = in[1];
		ret[2] = in[0];
		return;
	case CUDNN_BACKWARD_WEIGHT: /* x, dy: dw */
		ret[0] = in[0];
		ret[1] = out;
		ret[2] = in[1];
		return;
	case CUDNN_FORWARD: /* x, w: y */
	case CUDNN_PRODUCTS:
		ret[0] = in[0];
		ret[1] = in[1];
		ret[2] = out;
		return;
	}
}

static int cudnn_conv_failed(const struct cudnn_conv *conv, const struct cudnn_plan *plan,
			     const struct cudnn_shape *shape, int status, struct problem *problem)
{
	char words[CUDNN_SHAPE_TEXT];
	char what[CUDNN_ENGINE_NAME + CUDNN_SHAPE_TEXT];

	(void)text_format(what, sizeof(what), "%s of %s in %s", plan->engine.name,
			  cudnn_shape_text(shape, words), tensor_type_text(shape->type));
	return cudnn_library_problem(&conv->library, status, what, problem);
}

static int cudnn_conv_execute(const struct cudnn_conv *conv, const struct cudnn_plan *plan,
			      const struct cudnn_shape *shape, const struct ops_call *call,
			      struct problem *problem)
{
	static const int64_t ids[3] = {CUDNN_ID_X, CUDNN_ID_W, CUDNN_ID_Y};
	void *memory[3];
	struct cudnn_pool pool;

	cudnn_conv_memory(call, shape->product, memory);
	cudnn_pool_init(&pool, &conv->library);
	void *pack = cudnn_pool_add(&pool, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	cudnn_pool_set(&pool, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
	cudnn_pool_set(&pool, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3,
		       memory);
	cudnn_pool_set(&pool, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
		       &call->workspace);
	cudnn_pool_finalize(&pool, pack);
	int status = pool.status;

	if (status == CUDNN_STATUS_SUCCESS)
		status = conv->library.execute(conv->target.handle, plan->plan, pack);
	int rc = status == CUDNN_STATUS_SUCCESS
			 ? 0
			 : cudnn_conv_failed(conv, plan, shape, status, problem);

	cudnn_pool_done(&pool);
	return rc;
}

int cudnn_conv_run(struct cudnn_conv *conv, const struct ops_call *call, struct problem *problem)
{
	struct cudnn_shape shape;
	int rc = cudnn_conv_shape(call, &shape, problem);

	if (rc < 0)
		return rc;
	const struct cudnn_shapes_row *row = cudnn_shapes_look(&conv->shapes, &shape);
	const struct cudnn_plan *plan =
		row ? row->plans[cudnn_shapes_choose(row, call->workspace_size)] : NULL;

	if (!plan)
		return problem_set(problem, E_NOT_FOUND, "no engine was asked for %s",
				   op_text(call->kind));
	if (plan->engine.workspace > (int64_t)call->workspace_size)
		return problem_set(
			problem, E_LIMIT, "%s wants %" PRId64 " bytes of workspace, and has %zu",
			op_text(call->kind), plan->engine.workspace, call->workspace_size);
	if (shape.product == CUDNN_FORWARD && call->in_count > 2) {
		const struct cudnn_conv_filled filled = {
			.type = shape.type,
			.y = call->out[0].data,
			.bias = call->in[2].data,
			.rows = tensor_shape_count(&call->out[0].is.shape) / shape.out[2],
			.channels = shape.out[2],
		};

		rc = conv->bias.fill(conv->bias.context, &filled, problem);
	}
	return rc == 0 ? cudnn_conv_execute(conv, plan, &shape, call, problem) : rc;
}
