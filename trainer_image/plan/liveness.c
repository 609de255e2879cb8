#include "trainer_image/plan/liveness.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_image/graph/op_table.h"
#include "trainer_image/plan/arena_policy.h"

static int64_t liveness_round(int64_t bytes)
{
	return (bytes + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

/* Backward ops belong to the forward op of the same line of the model; sums to the op whose gradient
 * they sum. */
static int liveness_find_forward(struct liveness *life)
{
	const struct graph *graph = life->graph;
	int sources = 0;

	for (int i = 0; i < graph->op_count; i++)
		sources = graph->ops[i].source >= sources ? graph->ops[i].source + 1 : sources;
	CLEANUP(freep) int *of = calloc((size_t)sources + 1, sizeof(of[0]));

	if (!of)
		return -ENOMEM;
	for (int i = 0; i < graph->forward_count; i++)
		of[graph->ops[i].source] = i;
	for (int i = 0; i < graph->op_count; i++)
		life->forward_of[i] = of[graph->ops[i].source];
	return 0;
}

int liveness_init(struct liveness *life, const struct graph *graph,
		  const struct plan_options *options)
{
	size_t ops = (size_t)graph->op_count;
	size_t steps = ops + (size_t)graph->forward_count;

	*life = (struct liveness){.graph = graph};
	life->workspace = calloc(ops + 1, sizeof(life->workspace[0]));
	life->forward_of = calloc(ops + 1, sizeof(life->forward_of[0]));
	life->steps = calloc(steps + 1, sizeof(life->steps[0]));
	life->values = calloc(steps * (OP_OUT_MAX + 1) + 1, sizeof(life->values[0]));
	life->current = calloc((size_t)graph->tensor_count + 1, sizeof(life->current[0]));
	life->stack = calloc(ops + 1, sizeof(life->stack[0]));
	life->live = calloc(steps + 2, sizeof(life->live[0]));
	if (!life->workspace || !life->forward_of || !life->steps || !life->values ||
	    !life->current || !life->stack || !life->live)
		return -ENOMEM;
	for (int i = 0; options->workspace && i < graph->op_count; i++)
		life->workspace[i] = options->workspace(options->context, graph, i);
	return liveness_find_forward(life);
}

void liveness_done(struct liveness *life)
{
	free(life->workspace);
	free(life->forward_of);
	free(life->steps);
	free(life->values);
	free(life->current);
	free(life->stack);
	free(life->live);
}

static int liveness_root(const struct liveness *life, int tensor)
{
	return life->graph->tensors[tensor].alias;
}

static int liveness_value(struct liveness *life, int tensor, int64_t bytes)
{
	int value = life->value_count++;
	int step = life->step_count;

	life->values[value] = (struct plan_value){
		.tensor = tensor, .first = step, .last = step, .place = value, .bytes = bytes};
	return value;
}

static void liveness_emit(struct liveness *life, int at, bool recompute)
{
	const struct graph *graph = life->graph;
	const struct graph_op *op = &graph->ops[at];
	struct plan_step *step = &life->steps[life->step_count];

	*step = (struct plan_step){.op = at, .recompute = recompute, .workspace = -1};
	for (int i = 0; i < op->in_count; i++) {
		int root = liveness_root(life, op->in[i]);

		step->in[i] = graph_tensor_is_lasting(graph, root) ? -1 : life->current[root];
		if (step->in[i] >= 0)
			life->values[step->in[i]].last = life->step_count;
	}
	for (int i = 0; i < op->out_count; i++) {
		int tensor = op->out[i];

		step->out[i] = -1;
		if (graph_tensor_is_lasting(graph, tensor))
			continue;
		step->out[i] = liveness_value(life, tensor,
					      liveness_round(graph_tensor_bytes(graph, tensor)));
		life->current[tensor] = step->out[i];
	}
	if (life->workspace[at] > 0)
		step->workspace = liveness_value(life, -1, liveness_round(life->workspace[at]));
	life->extra_flops += recompute ? op->flops : 0;
	life->step_count++;
}

/* The forward op that must run before `at` can, -1 = none. */
static int liveness_missing(const struct liveness *life, int at)
{
	const struct graph_op *op = &life->graph->ops[at];

	for (int i = 0; i < op->in_count; i++) {
		int root = liveness_root(life, op->in[i]);

		if (!graph_tensor_is_lasting(life->graph, root) && life->current[root] < 0)
			return life->graph->tensors[root].op;
	}
	return -1;
}

static void liveness_backward(struct liveness *life, int at)
{
	int depth = 0;

	life->stack[depth++] = at;
	while (depth > 0) {
		int op = life->stack[depth - 1];
		int missing = liveness_missing(life, op);

		if (missing >= 0) {
			assert(missing < life->graph->forward_count);
			life->stack[depth++] = missing;
			continue;
		}
		liveness_emit(life, op, op < life->graph->forward_count);
		depth--;
	}
}

/* An output takes over the bytes of an input that nothing reads any more (ops.h). */
static void liveness_place(struct liveness *life, int at)
{
	const struct plan_step *step = &life->steps[at];
	const struct graph_op *op = &life->graph->ops[step->op];

	if (!op_row(op->kind)->in_place || step->out[0] < 0)
		return;
	struct plan_value *y = &life->values[step->out[0]];

	for (int i = 0; i < op->in_count; i++) {
		int x = step->in[i];

		if (x >= 0 && life->values[x].last == at &&
		    graph_tensor_bytes(life->graph, life->values[x].tensor) ==
			    graph_tensor_bytes(life->graph, y->tensor)) {
			y->place = life->values[x].place;
			return;
		}
	}
}

static void liveness_sum(struct liveness *life)
{
	int64_t live = 0;

	memset(life->live, 0, ((size_t)life->step_count + 1) * sizeof(life->live[0]));
	for (int i = 0; i < life->value_count; i++) {
		const struct plan_value *value = &life->values[i];
		int from = value->first + (value->place != i ? 1 : 0);

		life->live[from] += value->bytes;
		life->live[value->last + 1] -= value->bytes;
	}
	life->peak = 0;
	for (int i = 0; i < life->step_count; i++) {
		live += life->live[i];
		life->live[i] = live;
		life->peak = live > life->peak ? live : life->peak;
	}
}

void liveness_run(struct liveness *life, const bool dropped[])
{
	const struct graph *graph = life->graph;

	life->step_count = life->value_count = 0;
	life->extra_flops = 0;
	for (int i = 0; i < graph->tensor_count; i++)
		life->current[i] = -1;
	for (int i = 0; i < graph->forward_count; i++)
		liveness_emit(life, i, false);
	int loss = life->current[graph->loss];

	for (int i = 0; i < graph->forward_count; i++)
		for (int k = 0; dropped[i] && k < graph->ops[i].out_count; k++)
			life->current[graph->ops[i].out[k]] = -1;
	life->turn = life->step_count;
	for (int i = graph->forward_count; i < graph->op_count; i++)
		liveness_backward(life, i);
	if (loss >= 0) /* the caller reads it behind the last step */
		life->values[loss].last = life->step_count - 1;
	for (int i = 0; i < life->step_count; i++)
		liveness_place(life, i);
	liveness_sum(life);
}

int liveness_pack(struct liveness *life, int64_t *ret_arena)
{
	size_t count = (size_t)life->value_count;
	CLEANUP(freep) struct arena_block *blocks = calloc(count + 1, sizeof(blocks[0]));
	CLEANUP(freep) int *block_of = calloc(count + 1, sizeof(block_of[0]));
	size_t used = 0;

	if (!blocks || !block_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct plan_value *value = &life->values[i];

		if ((size_t)value->place == i) {
			block_of[i] = (int)used;
			blocks[used++] =
				(struct arena_block){value->first, value->last, value->bytes, 0};
			continue;
		}
		block_of[i] = block_of[value->place];
		if (value->last > blocks[block_of[i]].last)
			blocks[block_of[i]].last = value->last;
	}
	int rc = arena_place(blocks, used, ret_arena);

	for (size_t i = 0; i < count && rc == 0; i++)
		life->values[i].offset = blocks[block_of[i]].offset;
	return rc;
}
