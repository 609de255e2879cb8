/* Adding to a graph, for the files that build one. After a failed allocation `graph.failed` is set and
 * indexes are 0. */
#pragma once

#include "trainer_image/graph/graph.h"

int graph_add_tensor(struct graph *graph, const struct op_tensor *is, enum graph_role role);
/* Infers the outputs and adds them with these roles: the first with `role`, others as `more`. */
MUST_USE int graph_add_op(struct graph *graph, const struct graph_op *op, enum graph_role role,
			  enum graph_role more, int *ret_op, struct problem *problem);
