/* What is the same for all uses of a kind of op, one row a kind. */
#pragma once

#include "trainer_image/graph/op.h"

/* Work of an op that is none of the matrix products, in operations per element of its first output. */
struct op_row {
	const char *text;
	size_t in_least, in_most, out_count;
	double element_flops;
	bool in_place; /* its first output may lie where an input of the same size lies (ops.h) */
};

/* The row of a kind below OP_KINDS. Static. */
const struct op_row *op_row(enum op_kind kind);
