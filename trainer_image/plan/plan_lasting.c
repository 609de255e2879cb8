#include "trainer_image/plan/plan_lasting.h"

enum {
	LASTING_ALIGN = 256, /* numbers: parts of a vector begin at whole blocks of each codec */
	LASTING_PLACES = 2,  /* batches on their way to a GPU */
	LASTING_PIXEL =
		3 * 4, /* bytes of them, where pictures go as they were decoded (loader_side) */
	LASTING_DESCRIBED = 512, /* bytes of a picture beside its pixels, at most */
};

int64_t plan_lasting_numbers(const struct graph *graph)
{
	int64_t sum = 0;

	for (int i = 0; i < graph->tensor_count; i++) {
		const struct graph_tensor *tensor = &graph->tensors[i];
		int64_t numbers = tensor_shape_count(&tensor->is.shape);

		if (tensor->role == GRAPH_PARAMETER)
			sum += (numbers + LASTING_ALIGN - 1) / LASTING_ALIGN * LASTING_ALIGN;
	}
	return sum;
}

/* Vectors of FP32. */
static int64_t lasting_vectors(const struct graph *graph, int count)
{
	return plan_lasting_numbers(graph) * 4 * count;
}

/* A batch on its way is as large as the host may leave it: numbers, or pictures of three times the input's size. */
static int64_t lasting_batch(const struct graph *graph)
{
	const struct tensor_shape *shape = &graph->tensors[graph->input].is.shape;
	int64_t numbers = graph_bytes(graph, GRAPH_INPUT);
	int64_t pictures = 0;

	if (shape->rank == 4) /* batch, height, width, channels */
		pictures = shape->size[0] *
			   (shape->size[1] * shape->size[2] * LASTING_PIXEL + LASTING_DESCRIBED);
	return pictures > numbers ? pictures : numbers;
}

/* A batch of evaluation goes as bytes. */
static int64_t lasting_bytes(const struct graph *graph)
{
	const struct tensor_shape *shape = &graph->tensors[graph->input].is.shape;

	return shape->rank == 4 ? tensor_shape_count(shape) : 0;
}

struct plan_lasting plan_lasting(const struct graph *graph, enum plan_optimizer optimizer,
				 bool on_gpu)
{
	static const int moments[] = {[PLAN_SGD] = 1, [PLAN_ADAMW] = 2, [PLAN_LARS] = 1};
	const int copies = graph->type == TENSOR_FP32 ? 0 : 1;
	struct plan_lasting lasting = {
		.parameters = graph_bytes(graph, GRAPH_PARAMETER),
		.statistics = graph_bytes(graph, GRAPH_STATISTIC),
		.gradients = graph_bytes(graph, GRAPH_GRADIENT) + lasting_vectors(graph, 1),
		.optimizer = lasting_vectors(graph, moments[optimizer] + copies),
		.input = graph_bytes(graph, GRAPH_INPUT) + graph_bytes(graph, GRAPH_LABEL),
	};

	if (on_gpu)
		lasting.input += LASTING_PLACES * (lasting_batch(graph) + lasting_bytes(graph)) +
				 2 * graph_tensor_bytes(graph, graph->loss);
	return lasting;
}

int64_t plan_lasting_sum(const struct plan_lasting *lasting)
{
	return lasting->parameters + lasting->statistics + lasting->gradients + lasting->optimizer +
	       lasting->input + lasting->sums;
}
