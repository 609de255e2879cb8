/* The backward pass of a graph: gradients by the chain rule, in the reverse order of the forward ops.
 *
 * Example: y = relu(conv(x, w)) gets ACTIVATION_BACK(y, dy), then CONV_WEIGHT(x, .) and, when x needs
 * a gradient, CONV_DATA(., w). Gradients of weights come before those of data, so that x can go. The
 * gradient of a result with several readers is summed as soon as the second one is there. Gradients of
 * FLATTEN and ADD are the same memory: no op. */
#pragma once

#include "trainer_image/graph/graph.h"

/* Adds it behind the forward pass. E_LIMIT, -ENOMEM. */
MUST_USE int backward_build(struct graph *graph, struct problem *problem);
