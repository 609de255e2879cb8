#include "trainer_image/train/weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/half.h"
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

/* FP32 of `count` numbers of a tensor. */
static void weights_read(enum tensor_type type, const void *from, float *to, size_t count)
{
	switch (type) {
	case TENSOR_BF16: half_from_bf16(from, to, count); break;
	case TENSOR_FP16: half_from_fp16(from, to, count); break;
	case TENSOR_FP32: memcpy(to, from, count * sizeof(*to)); break;
	case TENSOR_FP64:
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
}

static void weights_write(enum tensor_type type, const float *from, void *to, size_t count)
{
	switch (type) {
	case TENSOR_BF16: half_to_bf16(from, to, count); break;
	case TENSOR_FP16: half_to_fp16(from, to, count); break;
	case TENSOR_FP32: memmove(to, from, count * sizeof(*from)); break;
	case TENSOR_FP64:
	case TENSOR_INT32:
	case TENSOR_UINT8: break;
	}
}

/* Scales and shifts of norms are FP32 in every model. */
static enum tensor_type weights_type(const struct weights *weights, size_t nth)
{
	return weights->graph->tensors[weights->parts[nth].tensor].is.type;
}

static int weights_masters(struct weights *weights)
{
	bool full = weights->graph->type == TENSOR_FP32;

	if (!full)
		weights->masters = pages_new(weights->numbers * sizeof(float) + 1);
	if (!full && !weights->masters)
		return -ENOMEM;
	for (size_t i = 0; i < weights->count; i++) {
		struct weights_part *part = &weights->parts[i];
		void *tensor = executor_tensor(weights->executor, part->tensor);

		part->master = full ? tensor : weights->masters + part->first;
		if (!full)
			weights_read(weights_type(weights, i), tensor, part->master, part->count);
	}
	return 0;
}

int weights_init(struct weights *weights, const struct graph *graph, struct executor *executor,
		 enum ops_update_kind kind)
{
	*weights = (struct weights){.graph = graph, .executor = executor};
	int rc = weights_parts(weights);

	if (rc != 0)
		return rc;
	size_t bytes = weights->numbers * sizeof(float) + 1;

	weights->gradient = pages_new(bytes);
	weights->velocity = pages_new(bytes);
	weights->square = kind == OPS_ADAMW ? pages_new(bytes) : NULL;
	if (!weights->gradient || !weights->velocity || (kind == OPS_ADAMW && !weights->square))
		return -ENOMEM;
	return weights_masters(weights);
}

void weights_done(struct weights *weights)
{
	size_t bytes = weights->numbers * sizeof(float) + 1;

	pages_free(weights->gradient, bytes);
	pages_free(weights->velocity, bytes);
	pages_free(weights->square, bytes);
	pages_free(weights->masters, bytes);
	free(weights->parts);
	*weights = (struct weights){0};
}

void weights_take(struct weights *weights, size_t nth, bool adds)
{
	enum { PIECE = 1024 };
	const struct weights_part *part = &weights->parts[nth];
	enum tensor_type type = weights->graph->tensors[part->gradient].is.type;
	const uint8_t *from = executor_tensor(weights->executor, part->gradient);
	float *to = weights->gradient + part->first;
	float piece[PIECE];

	if (!adds) {
		weights_read(type, from, to, part->count);
		return;
	}
	for (size_t at = 0; at < part->count; at += PIECE) {
		size_t count = part->count - at < PIECE ? part->count - at : PIECE;

		weights_read(type, from + at * tensor_type_size(type), piece, count);
		for (size_t i = 0; i < count; i++)
			to[at + i] += piece[i];
	}
}

/* 0 times infinity or NaN is NaN. */
static bool weights_is_finite(const float *numbers, size_t count)
{
	float sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += numbers[i] * 0.0F;
	return sum == 0.0F;
}

int weights_broken(const struct weights *weights)
{
	for (size_t i = 0; i < weights->count; i++)
		if (!weights_is_finite(weights->gradient + weights->parts[i].first,
				       weights->parts[i].count))
			return (int)i;
	return -1;
}

int weights_broken_master(const struct weights *weights)
{
	for (size_t i = 0; i < weights->count; i++)
		if (!weights_is_finite(weights->parts[i].master, weights->parts[i].count))
			return (int)i;
	return -1;
}

int weights_update(struct weights *weights, struct ops *ops, const struct weights_rule *rule)
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

		rc = ops_update(ops, &update);
	}
	return rc;
}

void weights_copy(struct weights *weights)
{
	for (size_t i = 0; weights->masters && i < weights->count; i++)
		weights_write(weights_type(weights, i), weights->parts[i].master,
			      executor_tensor(weights->executor, weights->parts[i].tensor),
			      weights->parts[i].count);
}

/* Parameters and statistics come in the same order in each graph of a model. */
static int weights_next(const struct graph *graph, int from)
{
	while (from < graph->tensor_count && graph->tensors[from].role != GRAPH_PARAMETER &&
	       graph->tensors[from].role != GRAPH_STATISTIC)
		from++;
	return from < graph->tensor_count ? from : -1;
}

void weights_show(const struct weights *weights, const struct graph *graph,
		  struct executor *executor)
{
	int to = weights_next(graph, 0);

	for (int from = weights_next(weights->graph, 0); from >= 0 && to >= 0;
	     from = weights_next(weights->graph, from + 1)) {
		memcpy(executor_tensor(executor, to), executor_tensor(weights->executor, from),
		       (size_t)graph_tensor_bytes(graph, to));
		to = weights_next(graph, to + 1);
	}
}

uint64_t weights_digest(const struct weights *weights)
{
	const struct graph *graph = weights->graph;
	uint64_t digest = HASH_START;

	for (size_t i = 0; i < weights->count; i++)
		digest = hash_bytes(digest, weights->parts[i].master,
				    weights->parts[i].count * sizeof(float));
	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == GRAPH_STATISTIC)
			digest = hash_bytes(digest, executor_tensor(weights->executor, i),
					    (size_t)graph_tensor_bytes(graph, i));
	return digest;
}
