#include "trainer_image/ops/cuda/cudnn_shapes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

struct cudnn_shapes_row *cudnn_shapes_look(const struct cudnn_shapes *shapes,
					   const struct cudnn_shape *shape)
{
	struct cudnn_shapes_row *row = shapes->rows;

	while (row && memcmp(&row->shape, shape, sizeof(*shape)) != 0)
		row = row->next;
	return row;
}

const struct cudnn_shapes_row *cudnn_shapes_at(const struct cudnn_shapes *shapes, int number)
{
	const struct cudnn_shapes_row *row = shapes->rows;

	while (row && row->number != number)
		row = row->next;
	return row;
}

static int cudnn_shapes_ask(struct cudnn_shapes *shapes, const struct cudnn_shape *shape,
			    struct cudnn_shapes_row **ret, struct problem *problem)
{
	CLEANUP(freep) struct cudnn_shapes_row *row = calloc(1, sizeof(*row));

	if (!row)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	row->shape = *shape;
	int rc = cudnn_engines_find(shapes->target, shape, shapes->limit, CUDNN_ENGINES_MAX,
				    &row->engines, &row->problem);

	if (rc < 0 && rc != E_UNSUPPORTED) {
		*problem = row->problem;
		return rc;
	}
	row->number = shapes->count++;
	row->next = shapes->rows;
	shapes->rows = row;
	*ret = TAKE(row);
	return 0;
}

int cudnn_shapes_find(struct cudnn_shapes *shapes, const struct cudnn_shape *shape,
		      struct cudnn_shapes_row **ret, struct problem *problem)
{
	struct cudnn_shapes_row *row = cudnn_shapes_look(shapes, shape);
	int rc = row ? 0 : cudnn_shapes_ask(shapes, shape, &row, problem);

	if (rc < 0)
		return rc;
	assert(row);
	if (row->engines.count == 0) {
		*problem = row->problem;
		return E_UNSUPPORTED;
	}
	*ret = row;
	return 0;
}

size_t cudnn_shapes_choose(const struct cudnn_shapes_row *row, size_t limit)
{
	const struct cudnn_engine *engine =
		cudnn_engines_choose(&row->engines, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);

	return engine ? (size_t)(engine - row->engines.rows) : row->engines.count - 1;
}

int cudnn_shapes_plan(struct cudnn_shapes *shapes, struct cudnn_shapes_row *row, size_t engine,
		      struct problem *problem)
{
	if (row->plans[engine])
		return 0;
	struct cudnn_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return problem_set(problem, -ENOMEM, "no memory for the engines");
	/* Engines before it need more workspace: it is the first within its own. */
	int rc = cudnn_plan_init(plan, shapes->target, &row->shape,
				 row->engines.rows[engine].workspace, problem);

	if (rc < 0) {
		cudnn_plan_done(plan);
		free(plan);
		return rc;
	}
	row->plans[engine] = plan;
	return 0;
}

static void cudnn_shapes_free(struct cudnn_shapes_row *row)
{
	for (size_t i = 0; i < CUDNN_ENGINES_MAX; i++)
		if (row->plans[i]) {
			cudnn_plan_done(row->plans[i]);
			free(row->plans[i]);
		}
	free(row);
}

void cudnn_shapes_done(struct cudnn_shapes *shapes)
{
	while (shapes->rows) {
		struct cudnn_shapes_row *row = shapes->rows;

		shapes->rows = row->next;
		cudnn_shapes_free(row);
	}
	shapes->count = 0;
}
