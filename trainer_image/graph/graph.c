#include "trainer_image/graph/graph.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"

#include "trainer_image/graph/backward.h"
#include "trainer_image/graph/graph_build.h"

LEAKS_LEFT_TO_SANITIZER

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->tensors);
	free(graph->ops);
	text_done(&graph->names);
	free(graph);
}

void graph_freep(struct graph **graph)
{
	graph_free(*graph);
}

int64_t graph_tensor_bytes(const struct graph *graph, int tensor)
{
	const struct op_tensor *is = &graph->tensors[tensor].is;

	return tensor_shape_count(&is->shape) * (int64_t)tensor_type_size(is->type);
}

const char *graph_tensor_name(const struct graph *graph, int tensor)
{
	int name = graph->tensors[tensor].name;

	return name >= 0 ? graph->names.data + name : "";
}

bool graph_tensor_is_lasting(const struct graph *graph, int tensor)
{
	return graph->tensors[tensor].role <= GRAPH_GRADIENT;
}

int64_t graph_elements(const struct graph *graph, enum graph_role role)
{
	int64_t sum = 0;

	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == role && graph->tensors[i].alias == i)
			sum += tensor_shape_count(&graph->tensors[i].is.shape);
	return sum;
}

int64_t graph_bytes(const struct graph *graph, enum graph_role role)
{
	int64_t sum = 0;

	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == role && graph->tensors[i].alias == i)
			sum += graph_tensor_bytes(graph, i);
	return sum;
}

double graph_flops(const struct graph *graph, bool backward)
{
	double sum = 0;

	for (int i = 0; i < graph->op_count; i++)
		sum += graph->ops[i].backward == backward ? graph->ops[i].flops : 0;
	return sum;
}

double graph_forward_macs(const struct graph *graph)
{
	double sum = 0;

	for (int i = 0; i < graph->forward_count; i++) {
		const struct graph_op *op = &graph->ops[i];

		if (op->kind != OP_CONV && op->kind != OP_LINEAR)
			continue;
		sum += op->flops / 2;
		if (op->in_count > 2) /* the bias is no product */
			sum -= (double)tensor_shape_count(&graph->tensors[op->out[0]].is.shape) / 2;
	}
	return sum / (double)graph->batch;
}

int graph_add_tensor(struct graph *graph, const struct op_tensor *is, enum graph_role role)
{
	if (graph->tensor_count == graph->tensor_room) {
		int room = graph->tensor_room > 0 ? graph->tensor_room * 2 : 256;
		struct graph_tensor *more = realloc(graph->tensors, (size_t)room * sizeof(more[0]));

		if (!more) {
			graph->failed = true;
			return 0;
		}
		graph->tensors = more;
		graph->tensor_room = room;
	}
	graph->tensors[graph->tensor_count] = (struct graph_tensor){.is = *is,
								    .role = role,
								    .alias = graph->tensor_count,
								    .op = -1,
								    .gradient = -1,
								    .name = -1};
	return graph->tensor_count++;
}

int graph_add_op(struct graph *graph, const struct graph_op *op, enum graph_role role,
		 enum graph_role more, int *ret_op, struct problem *problem)
{
	struct op_tensor in[OP_IN_MAX];
	struct op_tensor out[OP_OUT_MAX];
	size_t count = 0;

	for (int i = 0; i < op->in_count; i++)
		in[i] = graph->tensors[op->in[i]].is;
	int rc = op_infer(&(struct op_inputs){op->kind, &op->attributes, in, (size_t)op->in_count},
			  out, &count, problem);

	if (rc < 0)
		return rc;
	if (graph->op_count == graph->op_room) {
		int room = graph->op_room > 0 ? graph->op_room * 2 : 256;
		struct graph_op *ops = realloc(graph->ops, (size_t)room * sizeof(ops[0]));

		if (!ops)
			return problem_set(problem, -ENOMEM, "no memory for the graph");
		graph->ops = ops;
		graph->op_room = room;
	}
	struct graph_op *added = &graph->ops[graph->op_count];

	*added = *op;
	added->out_count = (int)count;
	added->flops = op_flops(op->kind, &op->attributes, in, (size_t)op->in_count, out, count);
	for (size_t i = 0; i < count; i++) {
		added->out[i] = graph_add_tensor(graph, &out[i], i == 0 ? role : more);
		if (graph->failed)
			return problem_set(problem, -ENOMEM, "no memory for the graph");
		graph->tensors[added->out[i]].op = graph->op_count;
	}
	*ret_op = graph->op_count++;
	return 0;
}

static void graph_add_parameters(struct graph *graph, const struct model_op *source,
				 struct graph_op *op)
{
	struct model_parameter rows[MODEL_PARAMETERS_MAX];
	struct op_tensor x = graph->tensors[op->in[0]].is;
	size_t count = model_parameters(source, &x, rows);

	for (size_t i = 0; i < count; i++) {
		/* An embedding's input has no type of its own. */
		if (source->kind == OP_EMBEDDING)
			rows[i].is.type = graph->type;
		int tensor = graph_add_tensor(
			graph, &rows[i].is, rows[i].statistic ? GRAPH_STATISTIC : GRAPH_PARAMETER);

		graph->tensors[tensor].name = (int)graph->names.size;
		graph->tensors[tensor].start = rows[i].start;
		graph->tensors[tensor].fan_in = rows[i].fan_in;
		text_addf(&graph->names, "%s.%s", source->name, rows[i].word);
		text_add_bytes(&graph->names, "", 1);
		op->in[op->in_count++] = tensor;
	}
	graph->failed = graph->failed || graph->names.failed;
}

static int graph_add_flatten(struct graph *graph, const struct model *model, int at, int x)
{
	struct op_tensor is = graph->tensors[x].is;

	is.shape = model_shape(model, MODEL_FIRST + at, graph->batch);
	int tensor = graph_add_tensor(graph, &is, graph->tensors[x].role);

	graph->tensors[tensor].alias = graph->tensors[x].alias;
	graph->tensors[tensor].op = graph->tensors[x].op;
	return tensor;
}

static int graph_add_source(struct graph *graph, const struct model *model, int at, int results[],
			    struct problem *problem)
{
	const struct model_op *source = &model->ops[at];
	struct graph_op op = {.kind = (enum op_kind)source->kind,
			      .attributes = source->attributes,
			      .in_count = source->in_count,
			      .source = at};
	int added = 0;

	for (int i = 0; i < source->in_count; i++)
		op.in[i] = results[source->in[i]];
	if (source->kind == MODEL_FLATTEN) {
		results[MODEL_FIRST + at] = graph_add_flatten(graph, model, at, op.in[0]);
		return 0;
	}
	op.attributes.training = true;
	op.attributes.stream = (uint64_t)at;
	graph_add_parameters(graph, source, &op);
	if (graph->failed)
		return problem_set(problem, -ENOMEM, "no memory for the graph");
	int rc = graph_add_op(graph, &op, GRAPH_ACTIVATION, GRAPH_SAVED, &added, problem);

	if (rc < 0)
		return rc;
	assert(graph->ops);
	results[MODEL_FIRST + at] = graph->ops[added].out[0];
	if (source->kind == OP_CROSS_ENTROPY) {
		graph->logit = op.in[0];
		graph->loss = graph->ops[added].out[0];
		graph->log_sum = graph->ops[added].out[1];
	}
	return 0;
}

static void graph_set_training(struct graph *graph, bool training)
{
	for (int i = 0; i < graph->op_count; i++)
		graph->ops[i].attributes.training = training;
}

int graph_build(const struct model *model, int64_t batch, enum tensor_type type, bool training,
		struct graph **ret, struct problem *problem)
{
	CLEANUP(graph_freep) struct graph *graph = calloc(1, sizeof(*graph));
	CLEANUP(freep) int *results = calloc(model->count + MODEL_FIRST, sizeof(results[0]));
	int rc = 0;

	if (!graph || !results)
		return problem_set(problem, -ENOMEM, "no memory for the graph");
	if (batch < 1 || batch > 1 << 24)
		return problem_set(problem, E_INVALID, "the batch is not from 1 to 16777216");
	graph->batch = batch;
	graph->type = type;
	results[MODEL_INPUT] = graph->input =
		graph_add_tensor(graph,
				 &(struct op_tensor){model->words > 0 ? TENSOR_INT32 : type,
						     model_shape(model, MODEL_INPUT, batch)},
				 GRAPH_INPUT);
	results[MODEL_LABEL] = graph->label = graph_add_tensor(
		graph, &(struct op_tensor){TENSOR_INT32, model_shape(model, MODEL_LABEL, batch)},
		GRAPH_LABEL);
	if (graph->failed)
		return problem_set(problem, -ENOMEM, "no memory for the graph");
	for (size_t i = 0; i < model->count && rc == 0; i++)
		rc = graph_add_source(graph, model, (int)i, results, problem);
	graph->forward_count = graph->op_count;
	if (rc == 0 && training)
		rc = backward_build(graph, problem);
	else
		graph_set_training(graph, training);
	if (rc < 0)
		return rc;
	*ret = TAKE(graph);
	return 0;
}

/* --- digest --- */

static uint64_t graph_digest_real(uint64_t hash, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return hash_number(hash, bits);
}

static uint64_t graph_digest_attributes(uint64_t hash, const struct op_attributes *is)
{
	for (int i = 0; i < 2; i++) {
		hash = hash_number(hash, (uint64_t)is->window[i]);
		hash = hash_number(hash, (uint64_t)is->stride[i]);
		hash = hash_number(hash, (uint64_t)is->pad[i]);
	}
	for (int i = 0; i < TENSOR_RANK_MAX; i++)
		hash = hash_number(hash, (uint64_t)is->in[i]);
	hash = hash_number(hash, (uint64_t)is->offset);
	hash = hash_number(hash, (uint64_t)is->function);
	hash = hash_number(hash, (uint64_t)is->factor);
	hash = hash_number(hash, (uint64_t)is->heads);
	hash = hash_number(hash, (is->causal ? 1U : 0U) | (is->training ? 2U : 0U));
	hash = graph_digest_real(hash, is->epsilon);
	hash = graph_digest_real(hash, is->momentum);
	hash = graph_digest_real(hash, is->rate);
	hash = hash_number(hash, is->stream);
	return graph_digest_real(hash, is->smooth);
}

static uint64_t graph_digest_tensor(uint64_t hash, const struct graph_tensor *tensor)
{
	hash = hash_number(hash, (uint64_t)tensor->is.type);
	hash = hash_number(hash, (uint64_t)tensor->is.shape.rank);
	for (int i = 0; i < tensor->is.shape.rank; i++)
		hash = hash_number(hash, (uint64_t)tensor->is.shape.size[i]);
	hash = hash_number(hash, (uint64_t)tensor->role);
	hash = hash_number(hash, (uint64_t)tensor->alias);
	hash = hash_number(hash, (uint64_t)tensor->start);
	return hash_number(hash, (uint64_t)tensor->fan_in);
}

uint64_t graph_digest(const struct graph *graph)
{
	uint64_t hash = hash_number(HASH_START, (uint64_t)graph->batch);

	for (int i = 0; i < graph->tensor_count; i++)
		hash = graph_digest_tensor(hash, &graph->tensors[i]);
	for (int i = 0; i < graph->op_count; i++) {
		const struct graph_op *op = &graph->ops[i];

		hash = hash_number(hash, (uint64_t)op->kind);
		hash = graph_digest_attributes(hash, &op->attributes);
		for (int k = 0; k < op->in_count; k++)
			hash = hash_number(hash, (uint64_t)op->in[k]);
		for (int k = 0; k < op->out_count; k++)
			hash = hash_number(hash, (uint64_t)op->out[k]);
	}
	hash = hash_number(hash, (uint64_t)graph->logit);
	return hash_number(hash, (uint64_t)graph->loss);
}
