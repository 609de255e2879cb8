/* GPU types that a plan can be made for. The memory is the total that nvidia-smi reports, looked up in what
 * others published; the H200 of our checks has not been asked yet. The driver keeps a part of it: of a B200's
 * 183359 MiB a program gets 182642. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gpu_row {
	const char *name; /* "h200" */
	const char *title;
	int64_t memory_mib;
	int capability; /* compute capability times 10: 90 = sm_90 */
	/* Measured on a lent H200 with PyTorch, in October and November 2026: a copy within the GPU, bytes read and written; a
	 * bf16 product of 8192 x 8192 x 8192, random numbers. 0 = not measured here. */
	double copy_gb_s, product_tflop_s;
};

/* All rows, `ret_count` of them. Static. */
const struct gpu_row *gpu_rows(size_t *ret_count);
/* NULL when there is none. Static. */
const struct gpu_row *gpu_row(const char *name);
