/* Norms: a row of scales and shifts, statistics of channels or of places. */
#include "trainer_image/graph/op_infer_call.h"

/* Inputs from `from` on are rows of C statistics. */
static int op_infer_norm_rows(struct op_infer_call *call, size_t from)
{
	int64_t channels = tensor_shape_channels(&call->in[0].shape);
	int rc = 0;

	if (call->in[0].shape.rank < 2)
		return op_infer_one(call, &call->in[0], "has no channels");
	for (size_t i = from; i < call->in_count && rc == 0; i++)
		rc = op_infer_row(call, i, channels, op_infer_statistic(call->in[0].type));
	return rc;
}

int op_infer_batch_norm(struct op_infer_call *call)
{
	int rc = op_infer_norm_rows(call, 1);

	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->in[1]);
	op_infer_like(call, 2, &call->in[1]);
	return 0;
}

int op_infer_batch_norm_back(struct op_infer_call *call)
{
	int rc = op_infer_same(call, 0, 1);

	rc = rc < 0 ? rc : op_infer_norm_rows(call, 2);
	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_like(call, 1, &call->in[2]);
	op_infer_like(call, 2, &call->in[2]);
	return 0;
}

int op_infer_layer_norm(struct op_infer_call *call)
{
	int rc = op_infer_norm_rows(call, 1);

	if (rc < 0)
		return rc;
	op_infer_like(call, 0, &call->in[0]);
	op_infer_give_outer(call, 1, &call->in[0]);
	op_infer_give_outer(call, 2, &call->in[0]);
	return 0;
}

int op_infer_layer_norm_back(struct op_infer_call *call)
{
	const struct op_tensor *x = &call->in[0];
	int rc = op_infer_same(call, 0, 1);

	if (rc == 0 && x->shape.rank < 2)
		rc = op_infer_one(call, x, "has no channels");
	rc = rc < 0 ? rc
		    : op_infer_row(call, 2, tensor_shape_channels(&x->shape),
				   op_infer_statistic(x->type));
	if (rc < 0)
		return rc;
	op_infer_give_outer(call, 0, x);
	for (size_t i = 3; i < 5; i++) {
		if (!tensor_shape_equal(&call->in[i].shape, &call->out[0].shape))
			return op_infer_differ(call, x, &call->in[i], "do not go together");
		rc = op_infer_type(call, i, op_infer_statistic(x->type));
		if (rc < 0)
			return rc;
	}
	op_infer_like(call, 0, x);
	op_infer_like(call, 1, &call->in[2]);
	op_infer_like(call, 2, &call->in[2]);
	return 0;
}
