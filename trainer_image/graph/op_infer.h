/* Shapes of ops for readers of model files. */
#pragma once

#include "trainer_image/graph/op.h"

/* As op_infer(), but the shapes in `problem` are those of one sample: "56x56x64". */
MUST_USE int op_infer_sample(const struct op_inputs *op, struct op_tensor ret[OP_OUT_MAX],
			     size_t *ret_count, struct problem *problem);
