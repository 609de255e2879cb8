/* Times steps of a model with made-up data: what the machine can do when no loader is in the way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/ops.h"

struct step_bench_request {
	const char *model; /* path */
	int64_t batch;
	enum tensor_type type;
	int64_t memory;   /* bytes for all of it; 0 = any number */
	bool cuda;        /* the first GPU, in place of the processor */
	unsigned threads; /* of the processor */
	unsigned steps;   /* at least 1; one before them is not measured */
};

/* Times are medians of a step, in milliseconds. */
struct step_bench_result {
	double forward_ms, backward_ms; /* of the CPU: a GPU is told both at once */
	double update_ms, step_ms;
	double samples_s;
	double flops_s; /* of forward and backward pass, without what is computed again */
	int64_t arena, peak, parameters;
	int64_t length; /* words of a sample; 0: samples are pictures */
	/* Bytes of the GPU's memory: planned, and those that were free before and are no more. 0 on the processor. CUDA's own
	 * kernels and graphs are in the second alone. */
	int64_t planned, taken;
	struct ops_about about; /* when all steps were done */
};

/* E_LIMIT: the memory is too little, and `problem` names what works; E_INVALID, E_UNSUPPORTED, -ENOMEM. */
MUST_USE int step_bench_run(const struct step_bench_request *request, struct step_bench_result *ret,
			    struct problem *problem);
