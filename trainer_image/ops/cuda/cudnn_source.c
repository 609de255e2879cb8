#include "trainer_image/ops/cuda/cudnn_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/ops/cuda/cudnn_engine.h"

/* What cuDNN said about a shape. A model has at most some hundred, half of its products twice or more. */
struct cudnn_source_shape {
	struct cudnn_shape shape;
	struct cudnn_engines engines; /* none: `problem` says why */
	struct problem problem;
	char text[CUDNN_SHAPE_TEXT];
};

struct cudnn_source {
	struct plan_engine_source face;
	struct cudnn_library library;
	struct cudnn_target target;
	struct cudnn_source_shape *shapes;
	int count, room;
};

enum { CUDNN_SOURCE_BF16_LEAST = 80 }; /* compute capability, times 10 */

static struct cudnn_source_shape *cudnn_source_add(struct cudnn_source *source)
{
	if (source->count == source->room) {
		int room = source->room > 0 ? source->room * 2 : 64;
		struct cudnn_source_shape *more =
			realloc(source->shapes, (size_t)room * sizeof(more[0]));

		if (!more)
			return NULL;
		source->shapes = more;
		source->room = room;
	}
	return &source->shapes[source->count];
}

/* The number of the shape in `ret`. Asks cuDNN when the shape is new. A shape without an engine is remembered, too. */
static int cudnn_source_ask(struct cudnn_source *source, const struct cudnn_shape *shape, int *ret,
			    struct problem *problem)
{
	for (int i = 0; i < source->count; i++)
		if (memcmp(&source->shapes[i].shape, shape, sizeof(*shape)) == 0) {
			*ret = i;
			return 0;
		}
	struct cudnn_source_shape *row = cudnn_source_add(source);

	if (!row)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	memset(row, 0, sizeof(*row));
	row->shape = *shape;
	(void)cudnn_shape_text(shape, row->text);
	int rc = cudnn_engines_find(&source->target, shape, INT64_MAX, CUDNN_ENGINES_MAX,
				    &row->engines, &row->problem);

	if (rc < 0 && rc != E_UNSUPPORTED) {
		*problem = row->problem;
		return rc;
	}
	*ret = source->count++;
	return 0;
}

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
	struct cudnn_shape shape;
	int number = -1;

	if (!cudnn_shape_is_for(graph->ops[op].kind)) {
		*ret = (struct plan_engine){.shape = -1};
		return 0;
	}
	int rc = cudnn_source_shape_of(graph, op, &shape, problem);

	if (rc == 0)
		rc = cudnn_source_ask(source, &shape, &number, problem);
	if (rc < 0)
		return rc;
	const struct cudnn_source_shape *row = &source->shapes[number];
	const struct cudnn_engine *engine = cudnn_engines_choose(&row->engines, limit);

	if (!engine && row->engines.count == 0) {
		*problem = row->problem;
		return E_UNSUPPORTED;
	}
	if (!engine)
		return problem_set(problem, E_UNSUPPORTED, "no engine for %s within %lld bytes",
				   row->text, (long long)limit);
	*ret = (struct plan_engine){number, engine->id, engine->workspace, ""};
	memcpy(ret->name, engine->name, sizeof(ret->name));
	return 0;
}

static const char *cudnn_source_text(void *context, int shape)
{
	const struct cudnn_source *source = context;

	return source->shapes[shape].text;
}

static int cudnn_source_open(struct cudnn_source *source, const struct cudnn_device_row *row,
			     struct problem *problem)
{
	int rc = cudnn_library_open(&source->library, problem);

	if (rc < 0)
		return rc;
	size_t version = source->library.version();

	source->face.context = source;
	source->face.find = cudnn_source_find;
	source->face.shape_text = cudnn_source_text;
	(void)snprintf(source->face.library, sizeof(source->face.library), "cuDNN %zu.%zu.%zu",
		       version / 10000, version / 100 % 100, version % 100);
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
	cudnn_target_done(&source->target);
	free(source->shapes);
	free(source);
}

void cudnn_source_freep(struct cudnn_source **source)
{
	cudnn_source_free(*source);
}
