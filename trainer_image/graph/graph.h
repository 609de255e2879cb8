/* A training step as flat arrays: tensors, and ops in an order that works. The forward pass comes
 * first, the backward pass behind it. Indexes join the arrays; the batch size is fixed.
 *
 * The same model, batch and type give the same graph in every run and on every rank. */
#pragma once

#include "trainer_image/graph/model.h"

enum graph_role {
	GRAPH_INPUT,
	GRAPH_LABEL,
	GRAPH_PARAMETER,
	GRAPH_STATISTIC,  /* running mean or variance of BATCH_NORM */
	GRAPH_GRADIENT,   /* of a parameter */
	GRAPH_ACTIVATION, /* what a forward op gives */
	GRAPH_SAVED,   /* what a forward op gives for its gradient: place, mean, inv_std, log_sum */
	GRAPH_SCRATCH, /* gradients of activations */
};

struct graph_tensor {
	struct op_tensor is;
	enum graph_role role;
	int alias; /* the tensor whose memory it is in another shape (FLATTEN); itself = its own */
	int op;    /* that gives it, -1 = none */
	int gradient; /* GRAPH_PARAMETER: its gradient; GRAPH_GRADIENT: its parameter; else -1 */
	int name;     /* GRAPH_PARAMETER, GRAPH_STATISTIC: offset in `names`, else -1 */
	enum model_start start; /* GRAPH_PARAMETER, GRAPH_STATISTIC */
	int64_t fan_in;
};

struct graph_op {
	enum op_kind kind;
	struct op_attributes attributes;
	int in[OP_IN_MAX], out[OP_OUT_MAX]; /* tensors */
	int in_count, out_count;
	bool backward;
	int source; /* of the model: the op that it belongs to */
	double flops;
};

struct graph {
	int64_t batch;
	enum tensor_type type;
	struct graph_tensor *tensors;
	struct graph_op *ops;
	int tensor_count, tensor_room, op_count, op_room;
	int forward_count; /* ops of the forward pass */
	int input, label, logit, loss, log_sum;
	struct text names; /* "stage1.conv_1.weight", each with NUL */
	bool failed;       /* no memory */
};

/* The forward pass, and with `training` the backward pass too. E_INVALID, E_LIMIT, -ENOMEM. The caller
 * frees `ret`. */
MUST_USE int graph_build(const struct model *model, int64_t batch, enum tensor_type type,
			 bool training, struct graph **ret, struct problem *problem);
void graph_free(struct graph *graph);
void graph_freep(struct graph **graph);

/* Bytes of a tensor. */
int64_t graph_tensor_bytes(const struct graph *graph, int tensor);
/* The name of a parameter or running statistic; "" of others. Borrowed. */
const char *graph_tensor_name(const struct graph *graph, int tensor);
/* Does it keep its memory from step to step, and between passes? Not a part of a plan's arena. */
bool graph_tensor_is_lasting(const struct graph *graph, int tensor);
/* Elements of all tensors of a role. */
int64_t graph_elements(const struct graph *graph, enum graph_role role);
/* Bytes of all tensors of a role. */
int64_t graph_bytes(const struct graph *graph, enum graph_role role);
/* The same for graphs that compute the same in the same order: ops, their attributes, shapes, memory. */
uint64_t graph_digest(const struct graph *graph);
/* Floating point operations of one pass. */
double graph_flops(const struct graph *graph, bool backward);
/* Multiplications with addition of the matrix products of the forward pass, per sample. */
double graph_forward_macs(const struct graph *graph);
