#include "trainer_image/ops/cuda/cudnn_source.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/ops/cuda/cudnn_shapes.h"

struct cudnn_source {
	struct plan_engine_source face;
	struct cudnn_library library;
	struct cudnn_target target;
	struct cudnn_shapes
		shapes; /* a model has at most some hundred, half of its products twice or more */
	char text[CUDNN_SHAPE_TEXT];
};

enum { CUDNN_SOURCE_BF16_LEAST = 80 }; /* compute capability, times 10 */

static int cudnn_source_shape_of(const struct graph *graph, int op, struct cudnn_shape *ret,
				 struct problem *problem)
{
	const struct graph_op *row = &graph->ops[op];
	struct op_tensor in[OP_IN_MAX];
	struct op_inputs inputs = {row->kind, &row->attributes, in, (size_t)row->in_count};

	for (int i = 0; i < row->in_count; i++)
		in[i] = graph->tensors[row->in[i]].is;
	return cudnn_shape_of(&inputs, &graph->tensors[row->out[0]].is, false, ret, problem);
}

static int cudnn_source_find(void *context, const struct graph *graph, int op, int64_t limit,
			     struct plan_engine *ret, struct problem *problem)
{
	struct cudnn_source *source = context;
	struct cudnn_shapes_row *row = NULL;
	struct cudnn_shape shape;

	if (!cudnn_shape_is_for(graph->ops[op].kind)) {
		*ret = (struct plan_engine){.shape = -1};
		return 0;
	}
	int rc = cudnn_source_shape_of(graph, op, &shape, problem);

	if (rc == 0)
		rc = cudnn_shapes_find(&source->shapes, &shape, &row, problem);
	if (rc < 0)
		return rc;
	assert(row);
	const struct cudnn_engine *engine =
		&row->engines.rows[cudnn_shapes_choose(row, (size_t)limit)];

	*ret = (struct plan_engine){.shape = row->number,
				    .id = engine->id,
				    .workspace = engine->workspace,
				    .tensor_cores = engine->tensor_cores};
	memcpy(ret->name, engine->name, sizeof(ret->name));
	return 0;
}

static const char *cudnn_source_text(void *context, int shape)
{
	struct cudnn_source *source = context;
	const struct cudnn_shapes_row *row = cudnn_shapes_at(&source->shapes, shape);

	return row ? cudnn_shape_text(&row->shape, source->text) : "";
}

static int cudnn_source_open(struct cudnn_source *source, const struct cudnn_device_row *row,
			     struct problem *problem)
{
	int rc = cudnn_library_open(&source->library, problem);

	if (rc < 0)
		return rc;
	source->shapes =
		(struct cudnn_shapes){.target = &source->target, .limit = PLAN_ENGINE_LIMIT};
	source->face.context = source;
	source->face.find = cudnn_source_find;
	source->face.shape_text = cudnn_source_text;
	(void)cudnn_library_name(&source->library, source->face.library);
	return cudnn_target_describe(&source->target, &source->library, row, problem);
}

int cudnn_source_new(const struct gpu_row *gpu, enum tensor_type type, struct cudnn_source **ret,
		     const struct plan_engine_source **ret_source, struct problem *problem)
{
	CLEANUP(cudnn_source_freep) struct cudnn_source *source = NULL;
	const struct cudnn_device_row *row = NULL;
	int rc = cudnn_device_find(gpu->name, gpu->capability, &row, problem);

	if (rc < 0)
		return rc;
	if (type == TENSOR_BF16 && row->capability < CUDNN_SOURCE_BF16_LEAST) {
		(void)problem_set(problem, E_INVALID, "%s (sm_%d) has no bf16", gpu->name,
				  row->capability);
		problem_hint(problem, "say --type fp16");
		return E_INVALID;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	rc = cudnn_source_open(source, row, problem);
	if (rc < 0)
		return rc;
	*ret_source = &source->face;
	*ret = TAKE(source);
	return 0;
}

void cudnn_source_free(struct cudnn_source *source)
{
	if (!source)
		return;
	cudnn_shapes_done(&source->shapes);
	cudnn_target_done(&source->target);
	free(source);
}

void cudnn_source_freep(struct cudnn_source **source)
{
	cudnn_source_free(*source);
}
