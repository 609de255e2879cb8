/* Ops on the last dimension: products with a matrix, tables of words, attention, the loss. */
#include "trainer_image/graph/op_infer_call.h"

int op_infer_linear(struct op_infer_call *call)
{
	const struct op_tensor *w = &call->in[1];
	int rc = op_infer_rank(call, 1, 2, "a matrix");

	if (rc == 0 && call->in[0].shape.rank == 0)
		rc = op_infer_one(call, &call->in[0], "is a single number");
	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc == 0 && call->in_count > 2)
		rc = op_infer_row(call, 2, w->shape.size[0], call->in[0].type);
	if (rc < 0)
		return rc;
	if (w->shape.size[1] != tensor_shape_channels(&call->in[0].shape))
		return op_infer_differ(call, &call->in[0], w, "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = w->shape.size[0];
	return 0;
}

int op_infer_linear_data(struct op_infer_call *call)
{
	const struct op_tensor *w = &call->in[1];
	int rc = op_infer_rank(call, 1, 2, "a matrix");

	rc = rc < 0 ? rc : op_infer_type(call, 1, call->in[0].type);
	if (rc < 0)
		return rc;
	if (call->in[0].shape.rank == 0 ||
	    w->shape.size[0] != tensor_shape_channels(&call->in[0].shape))
		return op_infer_differ(call, &call->in[0], w, "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	call->out[0].shape.size[call->out[0].shape.rank - 1] = w->shape.size[1];
	return 0;
}

int op_infer_linear_weight(struct op_infer_call *call)
{
	int rc = op_infer_type(call, 1, call->in[0].type);

	if (rc < 0)
		return rc;
	if (!op_infer_outer_equal(&call->in[0], &call->in[1]))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	op_infer_give(call, 0, call->in[0].type, 2,
		      (const int64_t[]){tensor_shape_channels(&call->in[1].shape),
					tensor_shape_channels(&call->in[0].shape)});
	return 0;
}

int op_infer_bias_back(struct op_infer_call *call)
{
	if (call->in[0].shape.rank == 0)
		return op_infer_one(call, &call->in[0], "is a single number");
	op_infer_give(call, 0, call->in[0].type, 1,
		      (const int64_t[]){tensor_shape_channels(&call->in[0].shape)});
	return 0;
}

int op_infer_embedding(struct op_infer_call *call)
{
	const struct tensor_shape *token = &call->in[0].shape;
	const struct tensor_shape *table = &call->in[1].shape;
	const struct tensor_shape *place = &call->in[2].shape;
	int rc = op_infer_rank(call, 0, 2, "a sequence of tokens");

	rc = rc < 0 ? rc : op_infer_type(call, 0, TENSOR_INT32);
	rc = rc < 0 ? rc : op_infer_rank(call, 1, 2, "a table");
	rc = rc < 0 ? rc : op_infer_rank(call, 2, 2, "a table of places");
	rc = rc < 0 ? rc : op_infer_type(call, 2, call->in[1].type);
	if (rc < 0)
		return rc;
	if (place->size[0] != token->size[1] || place->size[1] != table->size[1])
		return op_infer_differ(call, &call->in[1], &call->in[2], "do not go together");
	op_infer_give(call, 0, call->in[1].type, 3,
		      (const int64_t[]){token->size[0], token->size[1], table->size[1]});
	return 0;
}

int op_infer_embedding_back(struct op_infer_call *call)
{
	const struct tensor_shape *dy = &call->in[1].shape;
	int rc = op_infer_rank(call, 1, 3, "a sequence");

	rc = rc < 0 ? rc : op_infer_type(call, 0, TENSOR_INT32);
	if (rc < 0)
		return rc;
	if (!op_infer_outer_equal(
		    &call->in[1],
		    &(struct op_tensor){
			    call->in[0].type,
			    {3, {call->in[0].shape.size[0], call->in[0].shape.size[1], 1}}}) ||
	    call->in[0].shape.rank != 2)
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	if (call->attributes->in[0] < 1)
		return op_infer_bad(call, "the number of words is missing");
	op_infer_give(call, 0, call->in[1].type, 2,
		      (const int64_t[]){call->attributes->in[0], dy->size[2]});
	op_infer_give(call, 1, call->in[1].type, 2, (const int64_t[]){dy->size[1], dy->size[2]});
	return 0;
}

int op_infer_attention(struct op_infer_call *call)
{
	const struct op_tensor *x = &call->in[0];
	int heads = call->attributes->heads;
	int rc = op_infer_rank(call, 0, 3, "a sequence");

	if (rc < 0)
		return rc;
	if (heads < 1 || x->shape.size[2] % (3 * (int64_t)heads) != 0)
		return op_infer_one(call, x, "are not queries, keys and values of whole heads");
	op_infer_give(call, 0, x->type, 3,
		      (const int64_t[]){x->shape.size[0], x->shape.size[1], x->shape.size[2] / 3});
	op_infer_give(call, 1, op_infer_statistic(x->type), 3,
		      (const int64_t[]){x->shape.size[0], heads, x->shape.size[1]});
	return 0;
}

int op_infer_attention_back(struct op_infer_call *call)
{
	int rc = op_infer_attention(call);

	rc = rc < 0 ? rc : op_infer_same(call, 1, 2);
	if (rc < 0)
		return rc;
	if (!tensor_shape_equal(&call->out[0].shape, &call->in[1].shape) ||
	    !tensor_shape_equal(&call->out[1].shape, &call->in[3].shape))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	op_infer_like(call, 0, &call->in[0]);
	return 0;
}

int op_infer_cross_entropy(struct op_infer_call *call)
{
	int rc = op_infer_type(call, 1, TENSOR_INT32);

	if (rc < 0)
		return rc;
	if (call->in[0].shape.rank == 0)
		return op_infer_one(call, &call->in[0], "is a single number");
	op_infer_give_outer(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->out[0]);
	if (!tensor_shape_equal(&call->out[0].shape, &call->in[1].shape))
		return op_infer_differ(call, &call->in[0], &call->in[1], "do not go together");
	return 0;
}

int op_infer_cross_entropy_back(struct op_infer_call *call)
{
	int rc = op_infer_cross_entropy(call);

	rc = rc < 0 ? rc : op_infer_type(call, 2, op_infer_statistic(call->in[0].type));
	if (rc == 0 && !tensor_shape_equal(&call->in[1].shape, &call->in[2].shape))
		rc = op_infer_differ(call, &call->in[1], &call->in[2], "differ");
	op_infer_like(call, 0, &call->in[0]);
	return rc;
}
