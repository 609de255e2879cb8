#include "trainer_image/graph/backward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_image/graph/graph_build.h"

struct backward {
	struct graph *graph;
	int *gradients; /* per tensor: its gradient so far, -1 = none */
	bool *needs;    /* per tensor: does a parameter stand before it? */
	int source;     /* of the ops that are added */
	struct problem *problem;
};

/* dX of the shape of X from dY of another shape of the same memory. */
static int backward_view(struct backward *pass, int gradient, int tensor)
{
	struct graph *graph = pass->graph;

	if (tensor_shape_equal(&graph->tensors[gradient].is.shape,
			       &graph->tensors[tensor].is.shape))
		return gradient;
	int view = graph_add_tensor(graph, &graph->tensors[tensor].is, GRAPH_SCRATCH);

	graph->tensors[view].alias = graph->tensors[gradient].alias;
	graph->tensors[view].op = graph->tensors[gradient].op;
	return view;
}

static int backward_op(struct backward *pass, const struct graph_op *op, enum graph_role role,
		       enum graph_role more, int *ret_op)
{
	struct graph_op added = *op;

	added.backward = true;
	added.source = pass->source;
	return graph_add_op(pass->graph, &added, role, more, ret_op, pass->problem);
}

/* A gradient of `tensor` is there. */
static int backward_give(struct backward *pass, int tensor, int gradient)
{
	struct graph *graph = pass->graph;
	int root = graph->tensors[tensor].alias;
	int added = 0;

	if (!pass->needs[root])
		return 0;
	gradient = backward_view(pass, gradient, root);
	if (graph->failed)
		return problem_set(pass->problem, -ENOMEM, "no memory for the graph");
	if (pass->gradients[root] < 0) {
		pass->gradients[root] = gradient;
		return 0;
	}
	struct graph_op sum = {
		.kind = OP_ADD, .in = {pass->gradients[root], gradient}, .in_count = 2};
	int rc = backward_op(pass, &sum, GRAPH_SCRATCH, GRAPH_SCRATCH, &added);

	if (rc == 0)
		pass->gradients[root] = graph->ops[added].out[0];
	return rc;
}

static void backward_parameter(struct backward *pass, int parameter, int gradient)
{
	pass->graph->tensors[parameter].gradient = gradient;
	pass->graph->tensors[gradient].gradient = parameter;
}

/* One op with gradients of parameters behind its first output, when `first` is one of data. */
static int backward_parameters(struct backward *pass, const struct graph_op *op,
			       enum graph_role first, const int parameters[], int *ret_data)
{
	int added = 0;
	int rc = backward_op(pass, op, first, GRAPH_GRADIENT, &added);

	if (rc < 0)
		return rc;
	const struct graph_op *done = &pass->graph->ops[added];
	int data = first == GRAPH_SCRATCH ? 1 : 0;

	for (int i = data; i < done->out_count; i++)
		backward_parameter(pass, parameters[i - data], done->out[i]);
	*ret_data = done->out[0];
	return 0;
}

/* CONV and LINEAR: weight, bias, data. */
static int backward_product(struct backward *pass, const struct graph_op *op, int dy)
{
	bool conv = op->kind == OP_CONV;
	const struct graph_tensor *tensors = pass->graph->tensors;
	struct graph_op back = {.attributes = op->attributes, .in_count = 2};
	int added = 0;

	back.kind = conv ? OP_CONV_WEIGHT : OP_LINEAR_WEIGHT;
	back.in[0] = op->in[0];
	back.in[1] = dy;
	memcpy(back.attributes.in, tensors[op->in[1]].is.shape.size, sizeof(back.attributes.in));
	int rc = backward_parameters(pass, &back, GRAPH_GRADIENT, &op->in[1], &added);

	if (rc == 0 && op->in_count > 2) {
		struct graph_op bias = {.kind = OP_BIAS_BACK, .in = {dy}, .in_count = 1};

		rc = backward_parameters(pass, &bias, GRAPH_GRADIENT, &op->in[2], &added);
	}
	if (rc < 0 || !pass->needs[pass->graph->tensors[op->in[0]].alias])
		return rc;
	tensors = pass->graph->tensors;
	back.kind = conv ? OP_CONV_DATA : OP_LINEAR_DATA;
	back.in[0] = dy;
	back.in[1] = op->in[1];
	memcpy(back.attributes.in, tensors[op->in[0]].is.shape.size, sizeof(back.attributes.in));
	rc = backward_op(pass, &back, GRAPH_SCRATCH, GRAPH_SCRATCH, &added);
	return rc < 0 ? rc : backward_give(pass, op->in[0], pass->graph->ops[added].out[0]);
}

static int backward_norm(struct backward *pass, const struct graph_op *op, int dy)
{
	struct graph_op back = {.kind = op->kind == OP_BATCH_NORM ? OP_BATCH_NORM_BACK
								  : OP_LAYER_NORM_BACK,
				.attributes = op->attributes,
				.in = {op->in[0], dy, op->in[1], op->out[1], op->out[2]},
				.in_count = 5};
	int x = op->in[0];
	int dx = 0;
	int rc = backward_parameters(pass, &back, GRAPH_SCRATCH, &op->in[1], &dx);

	return rc < 0 ? rc : backward_give(pass, x, dx);
}

static int backward_embedding(struct backward *pass, const struct graph_op *op, int dy)
{
	struct graph_op back = {.kind = OP_EMBEDDING_BACK, .in = {op->in[0], dy}, .in_count = 2};
	int added = 0;

	back.attributes.in[0] = pass->graph->tensors[op->in[1]].is.shape.size[0];
	return backward_parameters(pass, &back, GRAPH_GRADIENT, &op->in[1], &added);
}

static int backward_concat(struct backward *pass, const struct graph_op *op, int dy)
{
	int64_t offset = 0;
	int rc = 0;

	for (int i = 0; i < op->in_count && rc == 0; i++) {
		int x = op->in[i];
		struct graph_op back = {.kind = OP_SLICE, .in = {dy}, .in_count = 1};
		int added = 0;

		back.attributes.offset = offset;
		back.attributes.in[0] = tensor_shape_channels(&pass->graph->tensors[x].is.shape);
		offset += back.attributes.in[0];
		if (!pass->needs[pass->graph->tensors[x].alias])
			continue;
		rc = backward_op(pass, &back, GRAPH_SCRATCH, GRAPH_SCRATCH, &added);
		if (rc == 0)
			rc = backward_give(pass, x, pass->graph->ops[added].out[0]);
	}
	return rc;
}

enum { BACK_DY = -1, BACK_X = 0, BACK_Y = 100, BACK_SAVED = 101, BACK_NONE = -2 };

/* Ops with one input that has a gradient, and none of parameters: what their gradient reads. */
static const struct {
	enum op_kind back;
	int in[4]; /* BACK_DY, an input, BACK_Y + an output, BACK_NONE */
} backward_rows[OP_KINDS] = {
	[OP_MAX_POOL] = {OP_MAX_POOL_BACK, {BACK_DY, BACK_SAVED, BACK_NONE}},
	[OP_AVERAGE_POOL] = {OP_AVERAGE_POOL_BACK, {BACK_DY, BACK_NONE}},
	[OP_UPSAMPLE] = {OP_UPSAMPLE_BACK, {BACK_DY, BACK_NONE}},
	[OP_ACTIVATION] = {OP_ACTIVATION_BACK, {BACK_Y, BACK_DY, BACK_NONE}},
	[OP_DROPOUT] = {OP_DROPOUT_BACK, {BACK_DY, BACK_NONE}},
	[OP_ATTENTION] = {OP_ATTENTION_BACK, {BACK_X, BACK_Y, BACK_DY, BACK_SAVED}},
	[OP_CROSS_ENTROPY] = {OP_CROSS_ENTROPY_BACK, {BACK_X, BACK_X + 1, BACK_SAVED, BACK_NONE}},
};

static int backward_single(struct backward *pass, const struct graph_op *op, int dy)
{
	struct graph_op back = {.kind = backward_rows[op->kind].back, .attributes = op->attributes};
	int x = op->in[0];
	int added = 0;

	memcpy(back.attributes.in, pass->graph->tensors[x].is.shape.size,
	       sizeof(back.attributes.in));
	for (int i = 0; i < 4 && backward_rows[op->kind].in[i] != BACK_NONE; i++) {
		int from = backward_rows[op->kind].in[i];

		if (op->kind == OP_ACTIVATION && op->attributes.function == OP_GELU &&
		    from == BACK_Y)
			from = BACK_X;
		back.in[back.in_count++] = from == BACK_DY  ? dy
					   : from >= BACK_Y ? op->out[from - BACK_Y]
							    : op->in[from];
	}
	int rc = backward_op(pass, &back, GRAPH_SCRATCH, GRAPH_SCRATCH, &added);

	return rc < 0 ? rc : backward_give(pass, x, pass->graph->ops[added].out[0]);
}

static int backward_add(struct backward *pass, const struct graph_op *op, int dy)
{
	int rc = backward_give(pass, op->in[0], dy);

	return rc < 0 ? rc : backward_give(pass, op->in[1], dy);
}

static int backward_one(struct backward *pass, int at)
{
	const struct graph_op op = pass->graph->ops[at];
	int dy = op.kind == OP_CROSS_ENTROPY ? -1 : pass->gradients[op.out[0]];

	pass->source = op.source;
	if (!pass->needs[op.out[0]] || (dy < 0 && op.kind != OP_CROSS_ENTROPY))
		return 0;
	if (op.kind == OP_CONV || op.kind == OP_LINEAR)
		return backward_product(pass, &op, dy);
	if (op.kind == OP_BATCH_NORM || op.kind == OP_LAYER_NORM)
		return backward_norm(pass, &op, dy);
	if (op.kind == OP_ADD)
		return backward_add(pass, &op, dy);
	if (op.kind == OP_CONCAT)
		return backward_concat(pass, &op, dy);
	if (op.kind == OP_EMBEDDING)
		return backward_embedding(pass, &op, dy);
	return backward_single(pass, &op, dy);
}

int backward_build(struct graph *graph, struct problem *problem)
{
	size_t tensors = (size_t)graph->tensor_count;
	CLEANUP(freep) int *gradients = malloc(tensors * sizeof(gradients[0]));
	CLEANUP(freep) bool *needs = calloc(tensors, sizeof(needs[0]));
	struct backward pass = {graph, gradients, needs, 0, problem};
	int rc = 0;

	if (!gradients || !needs)
		return problem_set(problem, -ENOMEM, "no memory for the graph");
	for (size_t i = 0; i < tensors; i++)
		gradients[i] = -1;
	for (int i = 0; i < graph->forward_count; i++) {
		const struct graph_op *op = &graph->ops[i];
		bool need = false;

		for (int k = 0; k < op->in_count; k++)
			need = need || graph->tensors[op->in[k]].role == GRAPH_PARAMETER ||
			       needs[graph->tensors[op->in[k]].alias];
		needs[op->out[0]] = need;
	}
	for (int i = graph->forward_count - 1; i >= 0 && rc == 0; i--)
		rc = backward_one(&pass, i);
	return rc;
}
