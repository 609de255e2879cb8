/* The memory of a training step that is no arena: it lasts from step to step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer_image/graph/graph.h"

enum plan_optimizer { PLAN_SGD, PLAN_ADAMW, PLAN_LARS };

/* Bytes. */
struct plan_lasting {
	int64_t parameters, statistics;
	int64_t gradients; /* those of a pass, and the vector in FP32 that passes and ranks are summed in */
	int64_t optimizer; /* its moments; beside 16-bit parameters the copy in FP32 that it changes */
	int64_t input; /* and label; of a GPU also batches on their way (ops_intake), and losses, of training and evaluation */
	int64_t sums; /* over ranks, where GPUs make them: plan_lasting() says 0, and exchange_memory() is added */
};

struct plan_lasting plan_lasting(const struct graph *graph, enum plan_optimizer optimizer,
				 bool on_gpu);
/* Numbers of a vector that has one for each parameter: parts begin at whole blocks of each codec. */
int64_t plan_lasting_numbers(const struct graph *graph);
int64_t plan_lasting_sum(const struct plan_lasting *lasting);
