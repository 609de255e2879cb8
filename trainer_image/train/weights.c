#include "trainer_image/train/weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/pages.h"

#include "trainer_image/comm/codec.h"

/* Numbers: parts begin at whole blocks of each codec. */
enum { WEIGHTS_ALIGN = CODEC_BLOCK };

static size_t weights_count(const struct graph *graph, int tensor)
{
	return (size_t)tensor_shape_count(&graph->tensors[tensor].is.shape);
}

static int weights_parts(struct weights *weights)
{
	const struct graph *graph = weights->graph;

	weights->parts = calloc((size_t)graph->tensor_count + 1, sizeof(*weights->parts));
	if (!weights->parts)
		return -ENOMEM;
	for (int i = 0; i < graph->tensor_count; i++) {
		const struct graph_tensor *tensor = &graph->tensors[i];
		size_t count = weights_count(graph, i);

		if (tensor->role != GRAPH_GRADIENT)
			continue;
		if (tensor->is.type == TENSOR_FP64)
			return E_UNSUPPORTED;
		weights->parts[weights->count++] =
			(struct weights_part){.tensor = tensor->gradient,
					      .gradient = i,
					      .first = weights->numbers,
					      .count = count,
					      .is_matrix = tensor->is.shape.rank > 1};
		weights->numbers += (count + WEIGHTS_ALIGN - 1) / WEIGHTS_ALIGN * WEIGHTS_ALIGN;
	}
	return 0;
}

/* Scales and shifts of norms are FP32 in every model. */
static enum tensor_type weights_type(const struct weights *weights, size_t nth)
{
	return weights->graph->tensors[weights->parts[nth].tensor].is.type;
}

/* From the model's numbers to the masters, or back. */
static int weights_round(const struct weights *weights, size_t nth, bool back)
{
	const struct weights_part *part = &weights->parts[nth];
	void *tensor = executor_tensor(weights->executor, part->tensor);
	enum tensor_type type = weights_type(weights, nth);
	const struct ops_convert convert = {
		.to = back ? tensor : part->master,
		.from = back ? part->master : tensor,
		.to_type = back ? type : TENSOR_FP32,
		.from_type = back ? TENSOR_FP32 : type,
		.count = part->count,
	};

	return ops_convert(weights->ops, &convert);
}

static int weights_masters(struct weights *weights)
{
	bool full = weights->graph->type == TENSOR_FP32;
	int rc = 0;

	if (!full)
		weights->masters = ops_take(weights->ops, weights->numbers * sizeof(float));
	if (!full && !weights->masters)
		return -ENOMEM;
	for (size_t i = 0; i < weights->count && rc == 0; i++) {
		struct weights_part *part = &weights->parts[i];

		part->master = full ? executor_tensor(weights->executor, part->tensor)
				    : weights->masters + part->first;
		if (!full)
			rc = weights_round(weights, i, false);
	}
	return rc;
}

int weights_init(struct weights *weights, const struct graph *graph, struct ops *ops,
		 struct executor *executor, enum ops_update_kind kind)
{
	*weights = (struct weights){.graph = graph, .ops = ops, .executor = executor};
	int rc = weights_parts(weights);

	if (rc != 0)
		return rc;
	size_t bytes = weights->numbers * sizeof(float);

	weights->gradient = ops_take(ops, bytes);
	weights->velocity = ops_take(ops, bytes);
	weights->square = kind == OPS_ADAMW ? ops_take(ops, bytes) : NULL;
	weights->shared = ops->backend->on_host ? weights->gradient : pages_new(bytes + 1);
	if (!weights->gradient || !weights->velocity || !weights->shared ||
	    (kind == OPS_ADAMW && !weights->square))
		return -ENOMEM;
	return weights_masters(weights);
}

void weights_done(struct weights *weights)
{
	size_t bytes = weights->numbers * sizeof(float);

	if (weights->shared != weights->gradient)
		pages_free(weights->shared, bytes + 1);
	ops_give(weights->ops, weights->gradient, bytes);
	ops_give(weights->ops, weights->velocity, bytes);
	ops_give(weights->ops, weights->square, bytes);
	ops_give(weights->ops, weights->masters, bytes);
	free(weights->parts);
	*weights = (struct weights){0};
}

int64_t weights_bytes(const struct weights *weights)
{
	const float *const vectors[] = {weights->gradient, weights->velocity, weights->square,
					weights->masters};
	int64_t bytes = 0;

	for (size_t i = 0; i < COUNT_OF(vectors); i++)
		bytes += vectors[i] ? (int64_t)(weights->numbers * sizeof(float)) : 0;
	return bytes;
}

/* --- gradients --- */

int weights_take(struct weights *weights, size_t nth, bool adds)
{
	const struct weights_part *part = &weights->parts[nth];
	const struct ops_convert convert = {
		.to = weights->gradient + part->first,
		.from = executor_tensor(weights->executor, part->gradient),
		.to_type = TENSOR_FP32,
		.from_type = weights->graph->tensors[part->gradient].is.type,
		.count = part->count,
		.adds = adds,
	};

	return ops_convert(weights->ops, &convert);
}

int weights_clear(struct weights *weights)
{
	memset(weights->shared, 0, weights->numbers * sizeof(float));
	return weights_share_end(weights);
}

int weights_share(struct weights *weights, size_t nth)
{
	const struct weights_part *part = &weights->parts[nth];

	if (weights->shared == weights->gradient)
		return 0;
	return ops_copy(weights->ops, weights->shared + part->first,
			weights->gradient + part->first, part->count * sizeof(float), OPS_OUT);
}

int weights_share_end(struct weights *weights)
{
	if (weights->shared == weights->gradient)
		return 0;
	return ops_copy(weights->ops, weights->gradient, weights->shared,
			weights->numbers * sizeof(float), OPS_IN);
}

int weights_broken(const struct weights *weights, int *ret)
{
	bool finite = true;
	/* The gaps are zeros. */
	int rc = ops_finite(weights->ops, weights->gradient, weights->numbers, &finite);

	*ret = -1;
	for (size_t i = 0; rc == 0 && !finite && *ret < 0 && i < weights->count; i++) {
		const struct weights_part *part = &weights->parts[i];
		bool is = true;

		rc = ops_finite(weights->ops, weights->gradient + part->first, part->count, &is);
		if (!is)
			*ret = (int)i;
	}
	return rc;
}

int weights_broken_master(const struct weights *weights, int *ret)
{
	int rc = 0;

	*ret = -1;
	for (size_t i = 0; rc == 0 && *ret < 0 && i < weights->count; i++) {
		bool finite = true;

		rc = ops_finite(weights->ops, weights->parts[i].master, weights->parts[i].count,
				&finite);
		if (!finite)
			*ret = (int)i;
	}
	return rc;
}

int weights_update(struct weights *weights, const struct weights_rule *rule)
{
	int rc = 0;

	for (size_t i = 0; i < weights->count && rc == 0; i++) {
		const struct weights_part *part = &weights->parts[i];
		bool plain = rule->kind == OPS_LARS && !part->is_matrix;
		const struct ops_update update = {
			.kind = plain ? OPS_SGD : rule->kind,
			.count = part->count,
			.weight = part->master,
			.velocity = weights->velocity + part->first,
			.square = weights->square ? weights->square + part->first : NULL,
			.gradient = weights->gradient + part->first,
			.copy = weights->masters ? executor_tensor(weights->executor, part->tensor)
						 : NULL,
			.copy_type = weights_type(weights, i),
			.rate = rule->rate,
			.decay = part->is_matrix ? rule->decay : 0,
			.unscale = rule->unscale,
			.momentum = rule->momentum,
			.momentum2 = rule->momentum2,
			.epsilon = rule->epsilon,
			.trust = rule->trust,
			.nesterov = rule->nesterov,
			.step = rule->step,
		};

		rc = ops_update(weights->ops, &update);
	}
	return rc;
}

int weights_copy(struct weights *weights)
{
	int rc = 0;

	for (size_t i = 0; weights->masters && i < weights->count && rc == 0; i++)
		rc = weights_round(weights, i, true);
	return rc;
}

static int weights_hash(const struct weights *weights, const void *memory, size_t bytes,
			uint64_t *digest)
{
	CLEANUP(freep) void *copy = NULL;
	int rc = 0;

	if (!weights->ops->backend->on_host) {
		copy = malloc(bytes + 1);
		rc = copy ? ops_copy(weights->ops, copy, memory, bytes, OPS_OUT) : -ENOMEM;
	}
	if (rc == 0)
		*digest = hash_bytes(*digest, copy ? copy : memory, bytes);
	return rc;
}

uint64_t weights_digest(const struct weights *weights)
{
	const struct graph *graph = weights->graph;
	uint64_t digest = HASH_START;
	int rc = 0;

	for (size_t i = 0; i < weights->count && rc == 0; i++)
		rc = weights_hash(weights, weights->parts[i].master,
				  weights->parts[i].count * sizeof(float), &digest);
	for (int i = 0; i < graph->tensor_count && rc == 0; i++)
		if (graph->tensors[i].role == GRAPH_STATISTIC)
			rc = weights_hash(weights, executor_tensor(weights->executor, i),
					  (size_t)graph_tensor_bytes(graph, i), &digest);
	return rc == 0 ? digest : 0;
}
