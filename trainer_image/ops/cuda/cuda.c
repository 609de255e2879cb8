/* A GPU as a back end: ops by the rows of cuda_table.h, and passes that become CUDA graphs.
 *
 * Calls only start kernels. Labels and words are looked at by the kernels that read them: a wrong one sets
 * state->invalid, touches no memory, and is told by the next wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/ops/cuda/cuda_conv.h"
#include "trainer_image/ops/cuda/cuda_device.h"
#include "trainer_image/ops/cuda/cuda_intake.h"
#include "trainer_image/ops/cuda/cuda_sum.h"
#include "trainer_image/ops/cuda/cuda_table.h"
#include "trainer_image/plan/plan_engine.h"

/* The calls of one key. */
struct cuda_graph {
	uint64_t key, runs;
	cudaGraphExec_t graph; /* NULL before the second run */
};

struct cuda {
	struct ops ops;
	struct cuda_device device;
	struct cuda_conv *conv;
	struct cuda_sum *sum; /* over ranks; NULL = none */
	struct cuda_launch launch;
	struct ops_pass pass; /* what is in launch.state */
	struct cuda_graph *graphs;
	size_t graph_count;
	struct cuda_graph *captured; /* the pass that becomes a graph now, or NULL */
};

/* --- one op --- */

static struct cuda *cuda_of(struct ops *ops)
{
	struct cuda *cuda = CONTAINER_OF(ops, struct cuda, ops);

	cuda_device_use(&cuda->device);
	return cuda;
}

static bool cuda_has_type(const struct ops_tensor tensors[], size_t count, enum tensor_type type)
{
	for (size_t i = 0; i < count; i++)
		if (tensors[i].is.type == type)
			return true;
	return false;
}

static int cuda_workspace(struct ops *ops, const struct ops_call *call, size_t *ret_size,
			  struct problem *problem)
{
	struct cuda *cuda = cuda_of(ops);
	const struct cuda_op *op = cuda_ops[call->kind];
	const char *lacks = op && op->lacks ? op->lacks(call) : NULL;

	if (cuda_has_type(call->in, call->in_count, TENSOR_FP64))
		lacks = "it computes in fp32 at most, not in fp64";
	if (lacks) {
		(void)problem_set(problem, E_UNSUPPORTED, "the GPU cannot run %s",
				  op_text(call->kind));
		problem_detail(problem, "%s", lacks);
		return E_UNSUPPORTED;
	}
	if (!op)
		return cuda_conv_workspace(cuda->conv, call, ret_size, problem);
	*ret_size = op->workspace ? op->workspace(call) : 0;
	return 0;
}

/* The numbers that kernels read where they run; a graph that is made holds no copy of them. */
static int cuda_set_pass(struct cuda *cuda, const struct ops_pass *pass)
{
	int rc;

	if (!pass || (pass->seed == cuda->pass.seed && pass->step == cuda->pass.step &&
		      !(pass->scale < cuda->pass.scale || pass->scale > cuda->pass.scale)))
		return 0;
	if (cuda->captured)
		return E_CONFLICT;
	rc = cuda_device_told(&cuda->device, cuda_state_set(&cuda->launch, pass));
	if (rc == 0)
		cuda->pass = *pass;
	return rc;
}

static int cuda_run_product(struct cuda *cuda, const struct ops_call *call)
{
	struct problem problem = {0};
	int rc = cuda_conv_run(cuda->conv, call, &problem);

	return rc == 0 ? 0 : cuda_device_fault(&cuda->device, &problem);
}

static int cuda_run_op(struct cuda *cuda, const struct cuda_op *op, const struct ops_call calls[])
{
	int rc = cuda_set_pass(cuda, calls->pass);

	cuda->device.last = op_text(calls->kind);
	if (rc == 0 && op)
		rc = cuda_device_told(&cuda->device, op->run(&cuda->launch, calls));
	else if (rc == 0)
		rc = cuda_run_product(cuda, calls);
	return rc;
}

static int cuda_run(struct ops *ops, const struct ops_call *call)
{
	return cuda_run_op(cuda_of(ops), cuda_ops[call->kind], call);
}

static size_t cuda_together(struct ops *ops, const struct ops_call calls[], size_t count)
{
	(void)ops;
	return cuda_table_together(calls, count);
}

static int cuda_run_together(struct ops *ops, const struct ops_call calls[], size_t count)
{
	const struct cuda_op *op = cuda_table_fused(calls, count);
	int rc = 0;

	if (op)
		return cuda_run_op(cuda_of(ops), op, calls);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = cuda_run(ops, &calls[i]);
	return rc;
}

/* --- passes --- */

static struct cuda_graph *cuda_graph_of(struct cuda *cuda, uint64_t key)
{
	struct cuda_graph *more;

	for (size_t i = 0; i < cuda->graph_count; i++)
		if (cuda->graphs[i].key == key)
			return &cuda->graphs[i];
	more = realloc(cuda->graphs, (cuda->graph_count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	cuda->graphs = more;
	more += cuda->graph_count++;
	*more = (struct cuda_graph){.key = key};
	return more;
}

static int cuda_begin(struct ops *ops, const struct ops_pass *pass, uint64_t key, bool *ret_done)
{
	struct cuda *cuda = cuda_of(ops);
	struct cuda_graph *graph = NULL;
	int rc = cuda_set_pass(cuda, pass);

	*ret_done = false;
	if (rc != 0 || key == 0)
		return rc;
	graph = cuda_graph_of(cuda, key);
	if (!graph)
		return -ENOMEM;
	if (graph->graph) {
		cuda->device.last = "a pass that runs as a graph";
		rc = cuda_device_told(&cuda->device,
				      (int)cudaGraphLaunch(graph->graph, cuda->device.stream));
		*ret_done = rc == 0;
		return rc;
	}
	if (++graph->runs < 2)
		return 0;
	rc = cuda_device_told(
		&cuda->device,
		(int)cudaStreamBeginCapture(cuda->device.stream, cudaStreamCaptureModeThreadLocal));
	if (rc == 0)
		cuda->captured = graph;
	return rc;
}

/* Ends a capture, and runs what it holds: none of its calls has run. */
static int cuda_end(struct ops *ops, int rc)
{
	struct cuda *cuda = cuda_of(ops);
	struct cuda_graph *graph = cuda->captured;
	cudaGraph_t captured = NULL;

	if (!graph)
		return 0;
	cuda->captured = NULL;
	graph->runs = 0; /* until it is made */
	int ended = cuda_device_told(&cuda->device,
				     (int)cudaStreamEndCapture(cuda->device.stream, &captured));

	rc = rc == 0 ? ended : rc;
	if (rc == 0)
		rc = cuda_device_told(&cuda->device,
				      (int)cudaGraphInstantiate(&graph->graph, captured, 0));
	if (captured)
		(void)cudaGraphDestroy(captured);
	if (rc == 0)
		rc = cuda_device_told(&cuda->device,
				      (int)cudaGraphLaunch(graph->graph, cuda->device.stream));
	return rc;
}

/* --- memory, and waiting --- */

static void *cuda_take(struct ops *ops, size_t bytes)
{
	return cuda_device_take(&cuda_of(ops)->device, bytes);
}

static void cuda_give(struct ops *ops, void *memory, size_t bytes)
{
	(void)bytes;
	cuda_device_give(&cuda_of(ops)->device, memory);
}

/* Before the host waits for the device: a rank that is gone must not make it wait for ever. */
static int cuda_sums_done(struct cuda *cuda)
{
	return cuda->sum ? cuda_sum_wait(cuda->sum, cuda->device.stream) : 0;
}

/* What the kernels found wrong, which ends with this answer. */
static int cuda_settle(struct cuda *cuda, struct cuda_state *ret)
{
	int rc = cuda_sums_done(cuda);

	*ret = (struct cuda_state){0};
	if (rc == 0)
		rc = cuda_device_out(&cuda->device, ret, cuda->launch.state, sizeof(*ret));

	if (rc == 0 && (ret->invalid || ret->infinite))
		rc = cuda_device_told(&cuda->device,
				      (int)cudaMemsetAsync(&cuda->launch.state->invalid, 0,
							   2 * sizeof(uint32_t),
							   cuda->device.stream));
	return rc == 0 && ret->invalid ? E_INVALID : rc;
}

static int cuda_wait(struct ops *ops)
{
	struct cuda_state state;
	struct cuda *cuda = cuda_of(ops);

	return cuda->captured ? E_CONFLICT : cuda_settle(cuda, &state);
}

static int cuda_copy(struct ops *ops, void *to, const void *from, size_t bytes, enum ops_way way)
{
	struct cuda *cuda = cuda_of(ops);
	struct cuda_state state;
	int rc = 0;

	if (way == OPS_WITHIN)
		return cuda_device_within(&cuda->device, to, from, bytes);
	if (cuda->captured) /* a graph would copy from where nothing is any more */
		return E_CONFLICT;
	if (way == OPS_IN)
		return cuda_device_in(&cuda->device, to, from, bytes);
	rc = cuda_sums_done(cuda);
	if (rc == 0)
		rc = cuda_device_out(&cuda->device, to, from, bytes);
	return rc == 0 ? cuda_settle(cuda, &state) : rc;
}

static int cuda_all_finite(struct ops *ops, const float *numbers, size_t count, bool *ret)
{
	struct cuda *cuda = cuda_of(ops);
	struct cuda_state state;
	int rc = cuda->captured ? E_CONFLICT
				: cuda_device_told(&cuda->device,
						   cuda_finite(&cuda->launch, numbers, count));

	if (rc == 0)
		rc = cuda_settle(cuda, &state);
	if (rc == 0)
		*ret = state.infinite == 0;
	return rc;
}

static int cuda_run_update(struct ops *ops, const struct ops_update *update)
{
	struct cuda *cuda = cuda_of(ops);

	if (update->copy && update->copy_type != TENSOR_FP32 && update->copy_type != TENSOR_BF16 &&
	    update->copy_type != TENSOR_FP16)
		return E_UNSUPPORTED;
	cuda->device.last = "an update of weights";
	return cuda_device_told(&cuda->device, cuda_update(&cuda->launch, update));
}

static int cuda_run_convert(struct ops *ops, const struct ops_convert *convert)
{
	struct cuda *cuda = cuda_of(ops);

	return cuda_device_told(&cuda->device, cuda_convert(&cuda->launch, convert));
}

static int cuda_mark(struct ops *ops, size_t nth)
{
	struct cuda *cuda = cuda_of(ops);

	return cuda->captured ? E_CONFLICT : cuda_device_mark(&cuda->device, nth);
}

static int cuda_marks(struct ops *ops, size_t count, double *ret_ms)
{
	return cuda_device_marks(&cuda_of(ops)->device, count, ret_ms);
}

/* --- sums over ranks --- */

static int cuda_rank_id(struct ops *ops, uint8_t ret[OPS_ID_SIZE], struct problem *problem)
{
	(void)cuda_of(ops);
	return cuda_sum_id(ret, problem);
}

static void cuda_rank_leave(struct ops *ops)
{
	struct cuda *cuda = cuda_of(ops);

	cuda_sum_free(cuda->sum);
	cuda->sum = NULL;
}

static int cuda_rank_join(struct ops *ops, const struct ops_ranks *ranks, struct problem *problem)
{
	struct cuda *cuda = cuda_of(ops);

	cuda_rank_leave(ops);
	return cuda_sum_new(&cuda->device, &cuda->launch, ranks, &cuda->sum, problem);
}

static int cuda_rank_exchange(struct ops *ops, const struct ops_exchange *exchange)
{
	return cuda_sum_exchange(cuda_of(ops)->sum, exchange);
}

static int cuda_rank_together(struct ops *ops, bool begins)
{
	return cuda_sum_together(cuda_of(ops)->sum, begins);
}

static void cuda_rank_why(struct ops *ops, struct problem *problem)
{
	if (cuda_of(ops)->sum)
		cuda_sum_why(cuda_of(ops)->sum, problem);
}

static const struct cuda_launch *cuda_rank_launch(struct cuda *cuda)
{
	return cuda->sum ? cuda_sum_launch(cuda->sum) : &cuda->launch;
}

static int cuda_rank_code(struct ops *ops, const struct ops_code *code)
{
	struct cuda *cuda = cuda_of(ops);

	return cuda_device_told(&cuda->device, cuda_code(cuda_rank_launch(cuda), code));
}

static int cuda_rank_clear(struct ops *ops, float *numbers, size_t count)
{
	struct cuda *cuda = cuda_of(ops);

	return cuda_device_told(&cuda->device,
				(int)cudaMemsetAsync(numbers, 0, count * sizeof(*numbers),
						     cuda_rank_launch(cuda)->stream));
}

static int cuda_rank_ready(struct ops *ops)
{
	return cuda_sum_ready(cuda_of(ops)->sum);
}

static int cuda_rank_end(struct ops *ops)
{
	return cuda_sum_end(cuda_of(ops)->sum);
}

/* --- batches of pictures --- */

static void *cuda_host_take(struct ops *ops, size_t bytes)
{
	(void)cuda_of(ops);
	return cuda_intake_host_take(bytes);
}

static void cuda_host_give(struct ops *ops, void *memory)
{
	(void)cuda_of(ops);
	cuda_intake_host_give(memory);
}

static int cuda_open_intake(struct ops *ops, const struct ops_intake_kind *kind,
			    struct ops_intake **ret)
{
	struct cuda *cuda = cuda_of(ops);

	return cuda_intake_open(&cuda->device, &cuda->launch, kind, ret);
}

static const struct ops_intake_face cuda_intake_face = {
	.host_take = cuda_host_take,
	.host_give = cuda_host_give,
	.open = cuda_open_intake,
	.close = cuda_intake_close,
	.upload = cuda_intake_upload,
	.is_read = cuda_intake_is_read,
	.put = cuda_intake_put,
};

/* --- face --- */

static int cuda_about(struct ops *ops, struct ops_about *ret)
{
	struct cuda *cuda = cuda_of(ops);
	int rc = cuda_device_about(&cuda->device, ret);
	size_t used = strlen(ret->library);

	if (rc == 0)
		(void)text_format(ret->library + used, sizeof(ret->library) - used, ", %s",
				  cuda_conv_library(cuda->conv));
	return rc;
}

static const struct problem *cuda_fault(struct ops *ops)
{
	return &CONTAINER_OF(ops, struct cuda, ops)->device.fault;
}

static void cuda_free(struct ops *ops)
{
	struct cuda *cuda = cuda_of(ops);

	if (cuda->captured)
		(void)cuda_end(ops, -ECANCELED);
	cuda_sum_free(cuda->sum);
	if (cuda->device.stream)
		(void)cudaStreamSynchronize(cuda->device.stream);
	for (size_t i = 0; i < cuda->graph_count; i++)
		if (cuda->graphs[i].graph)
			(void)cudaGraphExecDestroy(cuda->graphs[i].graph);
	if (cuda->conv)
		cuda_conv_free(cuda->conv);
	(void)cudaFree(cuda->launch.state);
	(void)cudaFree(cuda->launch.sums);
	cuda_device_done(&cuda->device);
	free(cuda->graphs);
	free(cuda);
}

static int cuda_open(struct cuda *cuda, int device, struct problem *problem)
{
	int rc = cuda_device_open(device, &cuda->device, problem);

	if (rc != 0)
		return rc;
	cuda->launch.stream = cuda->device.stream;
	cuda->launch.state = cuda_device_take(&cuda->device, sizeof(*cuda->launch.state));
	cuda->launch.sums = cuda_device_take(&cuda->device, CUDA_SUMS * sizeof(double));
	if (!cuda->launch.state || !cuda->launch.sums)
		return problem_set(problem, -ENOMEM, "no memory is left on GPU %d", device);
	return cuda_conv_new(cuda->device.stream, PLAN_ENGINE_LIMIT, &cuda->conv, problem);
}

int ops_cuda_new(int device, struct ops **ret, struct problem *problem)
{
	static const struct ops_sums sums = {
		.id = cuda_rank_id,
		.join = cuda_rank_join,
		.leave = cuda_rank_leave,
		.exchange = cuda_rank_exchange,
		.together = cuda_rank_together,
		.why = cuda_rank_why,
		.code = cuda_rank_code,
		.clear = cuda_rank_clear,
		.ready = cuda_rank_ready,
		.end = cuda_rank_end,
	};
	static const struct ops_backend backend = {
		.name = "cuda",
		.take = cuda_take,
		.give = cuda_give,
		.copy = cuda_copy,
		.workspace = cuda_workspace,
		.run = cuda_run,
		.update = cuda_run_update,
		.convert = cuda_run_convert,
		.finite = cuda_all_finite,
		.wait = cuda_wait,
		.together = cuda_together,
		.run_together = cuda_run_together,
		.begin = cuda_begin,
		.end = cuda_end,
		.mark = cuda_mark,
		.marks = cuda_marks,
		.sums = &sums,
		.intake = &cuda_intake_face,
		.about = cuda_about,
		.fault = cuda_fault,
		.free = cuda_free,
	};
	struct cuda *cuda = calloc(1, sizeof(*cuda));
	int rc;

	if (!cuda)
		return problem_set(problem, -ENOMEM, "no memory for a GPU");
	cuda->ops.backend = &backend;
	rc = cuda_open(cuda, device, problem);
	if (rc != 0) {
		cuda_free(&cuda->ops);
		return rc;
	}
	*ret = &cuda->ops;
	return 0;
}
