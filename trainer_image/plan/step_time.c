#include "trainer_image/plan/step_time.h"

static double step_time_moved(const struct graph *graph, const struct graph_op *op)
{
	int64_t bytes = 0;

	for (int i = 0; i < op->in_count; i++)
		bytes += graph_tensor_bytes(graph, op->in[i]);
	for (int i = 0; i < op->out_count; i++)
		bytes += graph_tensor_bytes(graph, op->out[i]);
	return (double)bytes;
}

struct step_time step_time(const struct graph *graph, const struct plan *plan,
			   const struct gpu_row *gpu)
{
	bool known = gpu && gpu->copy_gb_s > 0 && tensor_type_size(graph->type) == 2;
	struct step_time time = {0};

	for (int i = 0; i < plan->step_count; i++) {
		const struct graph_op *op = &graph->ops[plan->steps[i].op];
		double bytes = step_time_moved(graph, op);

		time.bytes += bytes;
		if (!known)
			continue;
		double copy_ms = bytes / gpu->copy_gb_s / 1e6;
		double product_ms = op->flops / gpu->product_tflop_s / 1e9;

		time.ms += copy_ms > product_ms ? copy_ms : product_ms;
	}
	return time;
}
