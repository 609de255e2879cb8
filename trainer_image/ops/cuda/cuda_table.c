#include "trainer_image/ops/cuda/cuda_table.h"

const struct cuda_op *const cuda_ops[OP_KINDS] = {
	[OP_BIAS_BACK] = &cuda_bias_back,
	[OP_BATCH_NORM] = &cuda_batch_norm,
	[OP_BATCH_NORM_BACK] = &cuda_batch_norm_back,
	[OP_LAYER_NORM] = &cuda_layer_norm,
	[OP_LAYER_NORM_BACK] = &cuda_layer_norm_back,
	[OP_MAX_POOL] = &cuda_max_pool,
	[OP_MAX_POOL_BACK] = &cuda_max_pool_back,
	[OP_AVERAGE_POOL] = &cuda_average_pool,
	[OP_AVERAGE_POOL_BACK] = &cuda_average_pool_back,
	[OP_UPSAMPLE] = &cuda_upsample,
	[OP_UPSAMPLE_BACK] = &cuda_upsample_back,
	[OP_ADD] = &cuda_add,
	[OP_CONCAT] = &cuda_concat,
	[OP_SLICE] = &cuda_slice,
	[OP_ACTIVATION] = &cuda_activation,
	[OP_ACTIVATION_BACK] = &cuda_activation_back,
	[OP_DROPOUT] = &cuda_dropout,
	[OP_DROPOUT_BACK] = &cuda_dropout,
	[OP_EMBEDDING] = &cuda_embedding,
	[OP_EMBEDDING_BACK] = &cuda_embedding_back,
	[OP_ATTENTION] = &cuda_attention,
	[OP_ATTENTION_BACK] = &cuda_attention_back,
	[OP_CROSS_ENTROPY] = &cuda_cross_entropy,
	[OP_CROSS_ENTROPY_BACK] = &cuda_cross_entropy_back,
};

enum { CUDA_TABLE_FUSED_MAX = 3 };

/* Calls that one pass over memory runs. Each hands its first output to the input of the next in `hands`; ADD
 * takes it on either side. */
struct cuda_table_fusion {
	size_t count;
	enum op_kind kinds[CUDA_TABLE_FUSED_MAX];
	size_t hands[CUDA_TABLE_FUSED_MAX]; /* of the call behind */
	const struct cuda_op *op;
};

/* The longest first. */
static const struct cuda_table_fusion cuda_table_fusions[] = {
	{3, {OP_BATCH_NORM, OP_ADD, OP_ACTIVATION}, {0, 0, 0}, &cuda_batch_norm_add_relu},
	{2, {OP_BATCH_NORM, OP_ACTIVATION}, {0, 0}, &cuda_batch_norm_relu},
	{2, {OP_ADD, OP_ACTIVATION}, {0, 0}, &cuda_add_relu},
	{2, {OP_ACTIVATION_BACK, OP_BATCH_NORM_BACK}, {1, 0}, &cuda_relu_back_batch_norm_back},
};

static bool cuda_table_fusion_fits(const struct cuda_table_fusion *fusion,
				   const struct ops_call calls[], size_t count)
{
	if (count < fusion->count)
		return false;
	for (size_t i = 0; i < fusion->count; i++) {
		enum op_kind kind = calls[i].kind;

		if (kind != fusion->kinds[i] ||
		    ((kind == OP_ACTIVATION || kind == OP_ACTIVATION_BACK) &&
		     calls[i].attributes->function != OP_RELU))
			return false;
	}
	return true;
}

static const struct cuda_table_fusion *cuda_table_fusion_of(const struct ops_call calls[],
							    size_t count)
{
	for (size_t i = 0; i < COUNT_OF(cuda_table_fusions); i++)
		if (cuda_table_fusion_fits(&cuda_table_fusions[i], calls, count))
			return &cuda_table_fusions[i];
	return NULL;
}

size_t cuda_table_together(const struct ops_call calls[], size_t count)
{
	const struct cuda_table_fusion *fusion = cuda_table_fusion_of(calls, count);

	return fusion ? fusion->count : 1;
}

struct cuda_table_span {
	const char *at;
	size_t bytes;
};

static struct cuda_table_span cuda_table_span_of(const struct ops_tensor *tensor)
{
	return (struct cuda_table_span){tensor->data,
					(size_t)tensor_shape_count(&tensor->is.shape) *
						tensor_type_size(tensor->is.type)};
}

static bool cuda_table_meet(struct cuda_table_span a, struct cuda_table_span b)
{
	return a.bytes > 0 && b.bytes > 0 && a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

static struct cuda_table_span cuda_table_span_of_work(const struct ops_call *call)
{
	const struct cuda_op *op = cuda_ops[call->kind];

	return (struct cuda_table_span){call->workspace,
					op && op->workspace ? op->workspace(call) : 0};
}

/* Does the span meet memory that the call reads? Its own place alone, number for number, is no harm. */
static bool cuda_table_meets_inputs(struct cuda_table_span span, const struct ops_call *call,
				    bool own_place)
{
	for (size_t i = 0; i < call->in_count; i++) {
		struct cuda_table_span in = cuda_table_span_of(&call->in[i]);

		if (cuda_table_meet(span, in) &&
		    !(own_place && span.at == in.at && span.bytes == in.bytes))
			return true;
	}
	return false;
}

/* May the two run side by side, as far as memory goes that `call` writes? */
static bool cuda_table_leaves_alone(const struct ops_call *call, bool hands_on,
				    const struct ops_call *other)
{
	struct cuda_table_span work = cuda_table_span_of_work(call);

	if (call != other && cuda_table_meets_inputs(work, other, false))
		return false;
	for (size_t i = hands_on ? 1 : 0; i < call->out_count; i++) {
		struct cuda_table_span out = cuda_table_span_of(&call->out[i]);

		if (cuda_table_meets_inputs(out, other, i == 0) ||
		    cuda_table_meet(out, cuda_table_span_of_work(other)))
			return false;
	}
	return true;
}

/* A plan gives the memory of a call to the next ones when it is over. As one, they run side by side: what
 * one writes must not lie where another still reads. Outputs that are handed on are not written. */
static bool cuda_table_apart(const struct ops_call calls[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (!cuda_table_leaves_alone(&calls[i], i + 1 < count, &calls[k]))
				return false;
	return true;
}

/* Is each handed on as the fused kernel takes it? ADD with the same on both sides is not. */
static bool cuda_table_hands_on(const struct cuda_table_fusion *fusion,
				const struct ops_call calls[])
{
	for (size_t i = 0; i + 1 < fusion->count; i++) {
		const void *handed = calls[i].out[0].data;
		const struct ops_call *next = &calls[i + 1];
		bool is_first = next->in[0].data == handed;

		if (next->kind == OP_ADD ? is_first == (next->in[1].data == handed)
					 : next->in[fusion->hands[i]].data != handed)
			return false;
	}
	return true;
}

const struct cuda_op *cuda_table_fused(const struct ops_call calls[], size_t count)
{
	const struct cuda_table_fusion *fusion = cuda_table_fusion_of(calls, count);

	return fusion && fusion->count == count && cuda_table_hands_on(fusion, calls) &&
			       cuda_table_apart(calls, count)
		       ? fusion->op
		       : NULL;
}
