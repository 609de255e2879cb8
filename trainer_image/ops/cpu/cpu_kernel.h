/* How an op is done on a processor: up to four loops, one after another. Each loop's items write to
 * memory of their own, so threads may share them; how many items there are depends on the shapes
 * alone. So sums come out the same for any number of threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer_image/ops/ops.h"

/* One call while it runs. Workspace: what all items share, then scratch for each thread. */
struct cpu_work {
	const struct ops_call *call;
	const struct cpu_blas *blas;
	void *shared;
	uint8_t *scratch;
	size_t scratch_size; /* of one thread */
};

struct cpu_loop {
	int64_t (*count)(const struct ops_call *call);
	void (*run)(const struct cpu_work *work, unsigned thread, int64_t first, int64_t last);
};

enum { CPU_LOOPS_MAX = 4 };

struct cpu_op {
	struct cpu_loop loops[CPU_LOOPS_MAX];           /* ended by one without `run` */
	size_t (*shared)(const struct ops_call *call);  /* bytes; NULL = none */
	size_t (*scratch)(const struct ops_call *call); /* bytes of one thread; NULL = none */
};

/* Numbers that are the same for all elements of an update. */
struct cpu_update_factors {
	float unscale, decay, rate;
	float momentum, epsilon;
	float fresh,
		fresh2; /* ADAMW: 1 - momentum, 1 - momentum2; in FP32 the difference loses 8 bits */
	float first, second; /* ADAMW: 1 / (1 - momentum^step), likewise of the second */
};

/* The same kernels, compiled for several processors, and for FP64. */
struct cpu_kernels {
	const char *blas_core; /* which code of OpenBLAS goes with them; NULL = it chooses */
	const struct cpu_op *ops[OP_KINDS];
	/* Elements [first, last). NULL for FP64. */
	void (*update)(const struct ops_update *update, const struct cpu_update_factors *factors,
		       size_t first, size_t last);
	/* Sum of the squares of `count` numbers. */
	double (*squares)(const float *numbers, size_t count);
};

extern const struct cpu_kernels cpu_kernels_base, cpu_kernels_avx2, cpu_kernels_avx512,
	cpu_kernels_fp64;

/* The best for this processor. */
const struct cpu_kernels *cpu_kernels_best(void);
/* As ops_cpu_new, with these. */
MUST_USE int cpu_new(unsigned threads, const struct cpu_kernels *kernels, struct ops **ret,
		     struct problem *problem);
