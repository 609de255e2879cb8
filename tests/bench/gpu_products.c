// links: trainer_cuda trainer_cudnn trainer_train
/* The products of a training step, each alone on the first GPU: convolutions and linear layers, forward and backward, each with the
 * fastest of the engines that the trainer may take. Their sum is a step in which nothing else runs.
 *
 *     gpu_products MODEL BATCH TYPE [RUNS]        TYPE: fp32, bf16, fp16; the median of RUNS = 5 counts
 *
 * TOGETHER calls are one pass: a time holds 1/TOGETHER of what starts a CUDA graph, waits and reads the answer. The same tensors are
 * read by each call, so small ones come from the L2 cache.
 *
 * A line each shape: ms= of one, count=, workspace=, shape=. The last: products=, shapes=, ms=, images_s=. Exit 77: no GPU that can
 * be used, said in one line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hash.h"

#include "trainer_image/graph/model_text.h"
#include "trainer_image/ops/cuda/cudnn_graph.h"
#include "trainer_image/train/executor.h"

enum { SKIPPED = 77, RUNS = 5, TOGETHER = 8, SLOW = 3, ENGINES_MAX = 16, BLOCK = 1 << 20 };

struct products_shape {
	struct cudnn_shape shape;
	struct ops_call call;
	int count;
	double ms; /* of the fastest engine */
	size_t workspace;
};

struct products {
	struct model *model;
	struct graph *graph;
	struct ops *ops;
	struct products_shape *shapes;
	int count, products, runs;
	uint64_t key;
	uint16_t *block; /* numbers between -1 and 1 in each type */
};

static struct ops_call products_call(const struct graph *graph, int nth)
{
	static const struct ops_pass none = {.scale = 1};
	const struct graph_op *op = &graph->ops[nth];
	struct ops_call call = {.kind = op->kind,
				.attributes = &op->attributes,
				.in_count = (size_t)op->in_count,
				.out_count = (size_t)op->out_count,
				.pass = &none};

	for (int i = 0; i < op->in_count; i++)
		call.in[i].is = graph->tensors[op->in[i]].is;
	for (int i = 0; i < op->out_count; i++)
		call.out[i].is = graph->tensors[op->out[i]].is;
	return call;
}

/* Finds the distinct shapes. */
static int products_collect(struct products *products, struct problem *problem)
{
	const struct graph *graph = products->graph;

	products->shapes = calloc((size_t)graph->op_count + 1, sizeof(products->shapes[0]));
	if (!products->shapes)
		return problem_set(problem, -1, "no memory");
	for (int i = 0; i < graph->op_count; i++) {
		struct products_shape row = {.call = products_call(graph, i), .count = 1};
		struct op_tensor in[OP_IN_MAX];
		struct op_inputs inputs = {row.call.kind, row.call.attributes, in,
					   row.call.in_count};
		int at = 0;

		if (!cudnn_shape_is_for(row.call.kind))
			continue;
		for (size_t k = 0; k < row.call.in_count; k++)
			in[k] = row.call.in[k].is;
		int rc = cudnn_shape_of(&inputs, &row.call.out[0].is, false, &row.shape, problem);

		if (rc != 0)
			return rc;
		products->products++;
		while (at < products->count &&
		       memcmp(&products->shapes[at].shape, &row.shape, sizeof(row.shape)) != 0)
			at++;
		if (at < products->count)
			products->shapes[at].count++;
		else
			products->shapes[products->count++] = row;
	}
	return 0;
}

static size_t products_bytes(const struct ops_tensor *tensor)
{
	return (size_t)tensor_shape_count(&tensor->is.shape) * tensor_type_size(tensor->is.type);
}

/* Memory of a tensor, full of numbers that are no zeros: zeros run faster. */
static int products_fill(const struct products *products, struct ops_tensor *tensor)
{
	size_t bytes = products_bytes(tensor);
	size_t at = bytes < BLOCK ? bytes : BLOCK;

	tensor->data = ops_take(products->ops, bytes);
	if (!tensor->data)
		return -1;
	int rc = ops_copy(products->ops, tensor->data, products->block, at, OPS_IN);

	while (rc == 0 && at < bytes) {
		size_t more = at < bytes - at ? at : bytes - at;

		rc = ops_copy(products->ops, (char *)tensor->data + at, tensor->data, more,
			      OPS_WITHIN);
		at += more;
	}
	return rc;
}

static int products_pass(struct products *products, const struct ops_call *call, double *ret_ms)
{
	bool done = false;
	int64_t begin_us = clock_monotonic_us();
	int rc = ops_begin(products->ops, call->pass, products->key, &done);

	for (int i = 0; rc == 0 && !done && i < TOGETHER; i++)
		rc = ops_run(products->ops, call);
	rc = ops_end(products->ops, rc);
	if (rc == 0)
		rc = ops_wait(products->ops);
	*ret_ms = (double)(clock_monotonic_us() - begin_us) / 1e3 / TOGETHER;
	return rc;
}

static int products_order(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* One engine. The first pass loads its kernels, the second becomes a CUDA graph, and those behind it are measured. Not an engine
 * that needs more than SLOW times `best_ms` (0: none was measured) in the second. */
static int products_engine(struct products *products, const struct ops_call *call, double best_ms,
			   double *ret_ms)
{
	double *times = calloc((size_t)products->runs, sizeof(*times));
	double warm = 0;
	int rc = times ? 0 : -ENOMEM;

	products->key++;
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = products_pass(products, call, &warm);
	*ret_ms = warm;
	if (best_ms > 0 && warm > SLOW * best_ms) {
		free(times);
		return rc;
	}
	for (int i = 0; rc == 0 && i < products->runs; i++)
		rc = products_pass(products, call, &times[i]);
	if (rc == 0) {
		qsort(times, (size_t)products->runs, sizeof(*times), products_order);
		*ret_ms = times[products->runs / 2];
	}
	free(times);
	return rc;
}

/* All engines of a shape: each has less workspace than the one before. */
static int products_engines(struct products *products, struct products_shape *row,
			    struct problem *problem)
{
	struct ops_call call = row->call;
	size_t last = SIZE_MAX;

	call.workspace_size = SIZE_MAX;
	for (int i = 0; i < ENGINES_MAX; i++) {
		double ms = 0;
		size_t size = 0;
		int rc = ops_workspace(products->ops, &call, &size, problem);

		if (rc != 0 || size >= last)
			return rc;
		call.workspace = size > 0 ? ops_take(products->ops, size) : NULL;
		call.workspace_size = size;
		rc = size == 0 || call.workspace ? products_engine(products, &call, row->ms, &ms)
						 : -ENOMEM;
		ops_give(products->ops, call.workspace, size);
		if (rc != 0)
			return ops_fault_tell(products->ops, rc, problem, "a product");
		if (i == 0 || ms < row->ms) {
			row->ms = ms;
			row->workspace = size;
		}
		if (size == 0)
			return 0;
		last = size;
		call.workspace_size = size - 1;
	}
	return 0;
}

static int products_measure(struct products *products, struct products_shape *row,
			    struct problem *problem)
{
	struct ops_call *call = &row->call;
	char words[CUDNN_SHAPE_TEXT];
	int rc = 0;

	for (size_t i = 0; i < call->in_count && rc == 0; i++)
		rc = products_fill(products, &call->in[i]);
	if (rc == 0)
		rc = products_fill(products, &call->out[0]);
	if (rc != 0)
		(void)problem_set(problem, rc, "no memory on the GPU");
	if (rc == 0)
		rc = products_engines(products, row, problem);
	for (size_t i = 0; i < call->in_count; i++)
		ops_give(products->ops, call->in[i].data, products_bytes(&call->in[i]));
	ops_give(products->ops, call->out[0].data, products_bytes(&call->out[0]));
	if (rc == 0)
		printf("ms=%.4f count=%d workspace=%zu shape=\"%s\"\n", row->ms, row->count,
		       row->workspace, cudnn_shape_text(&row->shape, words));
	return rc;
}

static int products_run(struct products *products, const char *path, int64_t batch,
			enum tensor_type type, struct problem *problem)
{
	double ms = 0;
	int rc = ops_cuda_new(0, &products->ops, problem);

	if (rc == 0)
		rc = model_load(path, &products->model, problem);
	if (rc == 0)
		rc = graph_build(products->model, batch, type, true, &products->graph, problem);
	if (rc == 0)
		rc = products_collect(products, problem);
	for (int i = 0; i < products->count && rc == 0; i++) {
		rc = products_measure(products, &products->shapes[i], problem);
		ms += products->shapes[i].ms * products->shapes[i].count;
	}
	if (rc == 0)
		printf("products=%d shapes=%d ms=%.3f images_s=%.1f\n", products->products,
		       products->count, ms, (double)batch * 1e3 / (ms > 0 ? ms : 1));
	return rc;
}

/* 16 bits each: as bf16 and fp16 at most 1, and as FP32 too. */
static uint16_t *products_block(void)
{
	uint16_t *block = malloc(BLOCK);

	for (size_t i = 0; block && i < BLOCK / sizeof(*block); i++)
		block[i] = (uint16_t)(hash_spread(i) & 0xbbff);
	return block;
}

static int products_type(const char *word)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (strcmp(tensor_type_text(types[i]), word) == 0)
			return (int)types[i];
	return -1;
}

int main(int argc, char **argv)
{
	int64_t batch = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
	int type = argc > 3 ? products_type(argv[3]) : -1;
	struct products products = {
		.runs = argc > 4 ? (int)strtol(argv[4], NULL, 10) : RUNS,
		.block = products_block(),
	};
	struct problem problem = {0};

	if (batch < 1 || type < 0 || products.runs < 1 || !products.block) {
		fprintf(stderr, "gpu_products MODEL BATCH fp32|bf16|fp16 [RUNS]\n");
		return 2;
	}
	int rc = products_run(&products, argv[1], batch, (enum tensor_type)type, &problem);

	graph_free(products.graph);
	model_free(products.model);
	ops_free(products.ops);
	free(products.shapes);
	free(products.block);
	if (rc == 0)
		return 0;
	printf("%s%s (%s). %s.\n", products.ops ? "" : "skipped: ", problem.message, problem.detail,
	       problem.hint);
	return products.ops ? 1 : SKIPPED;
}
