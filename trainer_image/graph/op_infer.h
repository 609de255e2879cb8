/* Shapes of ops for readers of model files. */
#pragma once

#include "trainer_image/graph/op.h"

/* As op_infer(), but the shapes in `problem` are those of one sample: "56x56x64". */
MUST_USE int op_infer_sample(enum op_kind kind, const struct op_attributes *attributes,
			     const struct op_tensor in[], size_t in_count,
			     struct op_tensor ret[OP_OUT_MAX], size_t *ret_count,
			     struct problem *problem);
