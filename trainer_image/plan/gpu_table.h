/* GPU types that a plan can be made for. The memory is what nvidia-smi reports on nodes of others;
 * of none it is measured by us yet. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gpu_row {
	const char *name; /* "h200" */
	const char *title;
	int64_t memory_mib;
	int capability; /* compute capability times 10: 90 = sm_90 */
};

/* All rows, `ret_count` of them. Static. */
const struct gpu_row *gpu_rows(size_t *ret_count);
/* NULL when there is none. Static. */
const struct gpu_row *gpu_row(const char *name);
