/* What a step moves through the memory of a GPU, and the least time that this and its operations take: arithmetic, no
 * measurement. Each op reads its inputs and writes its results once, and the GPU is as quick as a bare copy or a large product. */
#pragma once

#include "trainer_image/plan/gpu_table.h"
#include "trainer_image/plan/plan.h"

struct step_time {
	double bytes; /* of all ops, those that run again too; without workspace and the update of weights */
	double ms; /* 0: nobody has measured this GPU with this type */
};

/* `gpu`: NULL = none. */
struct step_time step_time(const struct graph *graph, const struct plan *plan,
			   const struct gpu_row *gpu);
