/* The processor as a back end. bf16 and fp16 are emulated: inputs become FP32, the op runs, outputs
 * are rounded once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/pages.h"

#include "trainer_image/ops/cpu/cpu_blas.h"
#include "trainer_image/ops/cpu/cpu_kernel.h"
#include "trainer_image/ops/cpu/cpu_pool.h"

enum { CPU_ALIGN = 64, CPU_SHARE = 64 << 10 };

struct cpu {
	struct ops ops;
	struct cpu_pool *pool;
	const struct cpu_kernels *kernels; /* of FP32 */
	struct cpu_blas blas;
	int64_t *marks; /* us */
	size_t mark_count;
};

static size_t cpu_align(size_t size)
{
	return (size + CPU_ALIGN - 1) & ~(size_t)(CPU_ALIGN - 1);
}

static bool cpu_is_half(enum tensor_type type)
{
	return type == TENSOR_BF16 || type == TENSOR_FP16;
}

static size_t cpu_tensor_count(const struct ops_tensor *tensor)
{
	return (size_t)tensor_shape_count(&tensor->is.shape);
}

/* --- bf16 and fp16 --- */

static const struct {
	void (*from)(const uint16_t *from, float *to, size_t count);
	void (*to)(const float *from, uint16_t *to, size_t count);
} cpu_half[] = {
	[TENSOR_BF16] = {half_from_bf16, half_to_bf16},
	[TENSOR_FP16] = {half_from_fp16, half_to_fp16},
};

struct cpu_convert {
	const struct ops_tensor *half, *full;
	bool back;
};

static void cpu_convert_share(const void *context, unsigned thread, int64_t first, int64_t last)
{
	const struct cpu_convert *convert = context;
	size_t begin = (size_t)first * CPU_SHARE;
	size_t count = cpu_tensor_count(convert->half) - begin;
	uint16_t *half = convert->half->data;
	float *full = convert->full->data;

	(void)thread;
	if (count > (size_t)(last - first) * CPU_SHARE)
		count = (size_t)(last - first) * CPU_SHARE;
	if (convert->back)
		cpu_half[convert->half->is.type].to(full + begin, half + begin, count);
	else
		cpu_half[convert->half->is.type].from(half + begin, full + begin, count);
}

static void cpu_convert(struct cpu *cpu, const struct ops_tensor *half,
			const struct ops_tensor *full, bool back)
{
	const struct cpu_convert convert = {half, full, back};

	if (cpu_is_half(half->is.type))
		cpu_pool_run(cpu->pool,
			     (int64_t)((cpu_tensor_count(half) + CPU_SHARE - 1) / CPU_SHARE),
			     cpu_convert_share, &convert);
}

/* The same call on FP32 in the workspace. Returns its end there, and what is left of it in `ret`. */
static size_t cpu_full_tensors(struct ops_tensor tensors[], size_t count, uint8_t *workspace,
			       size_t at)
{
	for (size_t i = 0; i < count; i++) {
		if (!cpu_is_half(tensors[i].is.type))
			continue;
		tensors[i].is.type = TENSOR_FP32;
		tensors[i].data = workspace ? workspace + at : NULL;
		at += cpu_align(cpu_tensor_count(&tensors[i]) * sizeof(float));
	}
	return at;
}

static size_t cpu_full(const struct ops_call *call, struct ops_call *ret)
{
	size_t at;

	*ret = *call;
	at = cpu_full_tensors(ret->in, ret->in_count, call->workspace, 0);
	return cpu_full_tensors(ret->out, ret->out_count, call->workspace, at);
}

/* --- one op --- */

static const struct cpu_op *cpu_op_of(const struct cpu *cpu, const struct ops_call *call)
{
	for (size_t i = 0; i < call->in_count; i++)
		if (call->in[i].is.type == TENSOR_FP64)
			return cpu_kernels_fp64.ops[call->kind];
	return cpu->kernels->ops[call->kind];
}

static size_t cpu_shared(const struct cpu_op *op, const struct ops_call *call)
{
	return op->shared ? cpu_align(op->shared(call)) : 0;
}

static size_t cpu_scratch(const struct cpu_op *op, const struct ops_call *call)
{
	return op->scratch ? cpu_align(op->scratch(call)) : 0;
}

static int cpu_workspace(struct ops *ops, const struct ops_call *call, size_t *ret_size,
			 struct problem *problem)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);
	struct ops_call full;
	size_t size = cpu_full(call, &full);
	const struct cpu_op *op = cpu_op_of(cpu, &full);

	if (!op)
		return problem_set(problem, E_UNSUPPORTED, "the processor cannot run %s",
				   op_text(call->kind));
	*ret_size =
		size + cpu_shared(op, &full) + cpu_scratch(op, &full) * cpu_pool_threads(cpu->pool);
	return 0;
}

/* Words and labels come from files of strangers, and choose memory. */
static int cpu_check_indexes(const struct ops_call *call, size_t nth, int64_t least, int64_t limit)
{
	const int32_t *indexes = call->in[nth].data;
	size_t count = cpu_tensor_count(&call->in[nth]);

	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= limit || indexes[i] < least)
			return E_INVALID;
	return 0;
}

static int cpu_check(const struct ops_call *call)
{
	if (call->kind == OP_EMBEDDING)
		return cpu_check_indexes(call, 0, 0, call->in[1].is.shape.size[0]);
	if (call->kind == OP_EMBEDDING_BACK)
		return cpu_check_indexes(call, 0, 0, call->out[0].is.shape.size[0]);
	if (call->kind == OP_CROSS_ENTROPY || call->kind == OP_CROSS_ENTROPY_BACK)
		return cpu_check_indexes(call, 1, INT32_MIN,
					 tensor_shape_channels(&call->in[0].is.shape));
	return 0;
}

struct cpu_item_context {
	struct cpu_work work;
	const struct cpu_loop *loop;
};

static void cpu_items(const void *context, unsigned thread, int64_t first, int64_t last)
{
	const struct cpu_item_context *items = context;

	items->loop->run(&items->work, thread, first, last);
}

static void cpu_run_loops(struct cpu *cpu, const struct cpu_op *op, const struct ops_call *call,
			  uint8_t *workspace)
{
	struct cpu_item_context items = {
		.work = {.call = call, .blas = &cpu->blas, .shared = workspace}};

	items.work.scratch = workspace ? workspace + cpu_shared(op, call) : NULL;
	items.work.scratch_size = cpu_scratch(op, call);
	for (size_t i = 0; i < CPU_LOOPS_MAX && op->loops[i].run; i++) {
		items.loop = &op->loops[i];
		cpu_pool_run(cpu->pool, op->loops[i].count(call), cpu_items, &items);
	}
}

static int cpu_run(struct ops *ops, const struct ops_call *call)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);
	struct ops_call full;
	size_t used = cpu_full(call, &full);
	const struct cpu_op *op = cpu_op_of(cpu, &full);
	uint8_t *workspace = call->workspace;
	int rc = cpu_check(call);

	if (rc != 0 || !op)
		return rc != 0 ? rc : E_UNSUPPORTED;
	for (size_t i = 0; i < call->in_count; i++)
		cpu_convert(cpu, &call->in[i], &full.in[i], false);
	for (size_t i = 0; call->accumulate && i < call->out_count; i++)
		cpu_convert(cpu, &call->out[i], &full.out[i], false);
	cpu_run_loops(cpu, op, &full, workspace ? workspace + used : NULL);
	for (size_t i = 0; i < call->out_count; i++)
		cpu_convert(cpu, &call->out[i], &full.out[i], true);
	return 0;
}

/* --- optimizers --- */

struct cpu_update_context {
	const struct cpu *cpu;
	const struct ops_update *update;
	const struct cpu_update_factors *factors;
	const float *numbers; /* whose squares are summed */
	double *sums;
};

static size_t cpu_update_end(const struct ops_update *update, int64_t share)
{
	size_t end = (size_t)share * CPU_SHARE;

	return end < update->count ? end : update->count;
}

static int64_t cpu_update_shares(const struct ops_update *update)
{
	return (int64_t)((update->count + CPU_SHARE - 1) / CPU_SHARE);
}

static void cpu_update_squares(const void *context, unsigned thread, int64_t first, int64_t last)
{
	const struct cpu_update_context *squares = context;

	(void)thread;
	for (int64_t share = first; share < last; share++) {
		size_t begin = (size_t)share * CPU_SHARE;

		squares->sums[share] = squares->cpu->kernels->squares(
			squares->numbers + begin,
			cpu_update_end(squares->update, share + 1) - begin);
	}
}

/* The shares are written to `sums`. */
static double cpu_update_norm(struct cpu *cpu, const struct ops_update *update,
			      // NOLINTNEXTLINE(readability-non-const-parameter)
			      const float *numbers, double *sums)
{
	const struct cpu_update_context context = {
		.cpu = cpu, .update = update, .numbers = numbers, .sums = sums};
	double sum = 0;

	cpu_pool_run(cpu->pool, cpu_update_shares(update), cpu_update_squares, &context);
	for (int64_t share = 0; share < cpu_update_shares(update); share++)
		sum += sums[share];
	return sqrt(sum);
}

/* What LARS multiplies the rate by. */
static int cpu_update_trust(struct cpu *cpu, const struct ops_update *update, double *ret)
{
	CLEANUP(freep) double *sums = calloc((size_t)cpu_update_shares(update), sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	double weight = cpu_update_norm(cpu, update, update->weight, sums);
	double slope = cpu_update_norm(cpu, update, update->gradient, sums) * fabs(update->unscale);

	*ret = weight > 0 && slope > 0 ? update->trust * weight / (slope + update->decay * weight)
				       : 1.0;
	return 0;
}

static void cpu_update_share(const void *context, unsigned thread, int64_t first, int64_t last)
{
	const struct cpu_update_context *is = context;
	const struct ops_update *update = is->update;
	size_t begin = (size_t)first * CPU_SHARE;
	size_t end = cpu_update_end(update, last);

	(void)thread;
	is->cpu->kernels->update(update, is->factors, begin, end);
	if (update->copy && cpu_is_half(update->copy_type))
		cpu_half[update->copy_type].to(update->weight + begin,
					       (uint16_t *)update->copy + begin, end - begin);
	else if (update->copy)
		memcpy((float *)update->copy + begin, update->weight + begin,
		       (end - begin) * sizeof(float));
}

static int cpu_update(struct ops *ops, const struct ops_update *update)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);
	double trust = 1;
	int rc = 0;

	if (update->copy && update->copy_type != TENSOR_FP32 && !cpu_is_half(update->copy_type))
		return E_UNSUPPORTED;
	if (update->kind == OPS_LARS && update->count > 0)
		rc = cpu_update_trust(cpu, update, &trust);
	if (rc != 0)
		return rc;
	const struct cpu_update_factors factors = {
		.unscale = (float)update->unscale,
		.decay = (float)update->decay,
		.rate = (float)(update->rate * trust),
		.momentum = (float)update->momentum,
		.fresh = (float)(1 - update->momentum),
		.fresh2 = (float)(1 - update->momentum2),
		.epsilon = (float)update->epsilon,
		.first = (float)(1 / (1 - pow(update->momentum, (double)update->step))),
		.second = (float)(1 / (1 - pow(update->momentum2, (double)update->step))),
	};
	const struct cpu_update_context context = {cpu, update, &factors, NULL, NULL};

	cpu_pool_run(cpu->pool, cpu_update_shares(update), cpu_update_share, &context);
	return 0;
}

/* --- memory --- */

static void *cpu_take(struct ops *ops, size_t bytes)
{
	(void)ops;
	return pages_new(bytes + 1);
}

static void cpu_give(struct ops *ops, void *memory, size_t bytes)
{
	(void)ops;
	pages_free(memory, bytes + 1);
}

static int cpu_copy(struct ops *ops, void *to, const void *from, size_t bytes, enum ops_way way)
{
	(void)ops;
	(void)way;
	if (bytes > 0)
		memmove(to, from, bytes);
	return 0;
}

static void cpu_convert_add(const struct ops_convert *convert)
{
	enum { PIECE = 1024 };
	size_t size = tensor_type_size(convert->from_type);
	const uint8_t *from = convert->from;
	float *to = convert->to;
	float piece[PIECE];

	for (size_t at = 0; at < convert->count; at += PIECE) {
		size_t count = convert->count - at < PIECE ? convert->count - at : PIECE;

		if (cpu_is_half(convert->from_type))
			cpu_half[convert->from_type].from((const void *)(from + at * size), piece,
							  count);
		else
			memcpy(piece, from + at * size, count * size);
		for (size_t i = 0; i < count; i++)
			to[at + i] += piece[i];
	}
}

static int cpu_convert_numbers(struct ops *ops, const struct ops_convert *convert)
{
	(void)ops;
	if (convert->adds)
		cpu_convert_add(convert);
	else if (cpu_is_half(convert->from_type))
		cpu_half[convert->from_type].from(convert->from, convert->to, convert->count);
	else if (cpu_is_half(convert->to_type))
		cpu_half[convert->to_type].to(convert->from, convert->to, convert->count);
	else
		memmove(convert->to, convert->from, convert->count * sizeof(float));
	return 0;
}

/* 0 times infinity or NaN is NaN. */
static int cpu_finite(struct ops *ops, const float *numbers, size_t count, bool *ret)
{
	float sum = 0;

	(void)ops;
	for (size_t i = 0; i < count; i++)
		sum += numbers[i] * 0.0F;
	*ret = sum == 0.0F;
	return 0;
}

/* What was called has run. */
static int cpu_mark(struct ops *ops, size_t nth)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);

	if (nth >= cpu->mark_count) {
		int64_t *more = realloc(cpu->marks, (nth + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		cpu->marks = more;
		cpu->mark_count = nth + 1;
	}
	cpu->marks[nth] = clock_monotonic_us();
	return 0;
}

static int cpu_marks(struct ops *ops, size_t count, double *ret_ms)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);

	for (size_t i = 0; i < count; i++)
		ret_ms[i] = (double)(cpu->marks[i + 1] - cpu->marks[0]) / 1e3;
	return 0;
}

static int cpu_wait(struct ops *ops)
{
	(void)ops;
	return 0;
}

/* --- face --- */

static void cpu_free(struct ops *ops)
{
	struct cpu *cpu = CONTAINER_OF(ops, struct cpu, ops);

	cpu_pool_free(cpu->pool);
	free(cpu->marks);
	free(cpu);
}

const struct cpu_kernels *cpu_kernels_best(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &cpu_kernels_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &cpu_kernels_avx2;
#endif
	return &cpu_kernels_base;
}

int cpu_new(unsigned threads, const struct cpu_kernels *kernels, struct ops **ret,
	    struct problem *problem)
{
	static const struct ops_backend backend = {
		.name = "cpu",
		.on_host = true,
		.take = cpu_take,
		.give = cpu_give,
		.copy = cpu_copy,
		.workspace = cpu_workspace,
		.run = cpu_run,
		.update = cpu_update,
		.convert = cpu_convert_numbers,
		.finite = cpu_finite,
		.wait = cpu_wait,
		.mark = cpu_mark,
		.marks = cpu_marks,
		.free = cpu_free,
	};
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	int rc;

	if (!cpu)
		return problem_set(problem, -ENOMEM, "no memory to compute");
	cpu->ops.backend = &backend;
	cpu->kernels = kernels;
	rc = cpu_blas_open(kernels->blas_core, &cpu->blas, problem);
	if (rc == 0) {
		rc = cpu_pool_new(threads, &cpu->pool);
		if (rc != 0)
			(void)problem_set(problem, rc, "%u threads to compute: %s", threads,
					  error_text(rc));
	}
	if (rc != 0) {
		free(cpu);
		return rc;
	}
	*ret = &cpu->ops;
	return 0;
}

int ops_cpu_new(unsigned threads, struct ops **ret, struct problem *problem)
{
	return cpu_new(threads, cpu_kernels_best(), ret, problem);
}
