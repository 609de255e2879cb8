#include "trainer_image/plan/gpu_table.h"

#include <string.h>

#include "common/base/macros.h"

static const struct gpu_row gpu_table_rows[] = {
	{"b200", "NVIDIA B200", 183359, 100},
	{"h200", "NVIDIA H200", 143771, 90},
	{"h100", "NVIDIA H100 80GB", 81559, 90},
	{"a100", "NVIDIA A100 80GB", 81920, 80},
	{"a100-40", "NVIDIA A100 40GB", 40960, 80},
	{"l40s", "NVIDIA L40S", 46068, 89},
	{"l4", "NVIDIA L4", 23034, 89},
	{"rtx5090", "GeForce RTX 5090", 32607, 120},
	{"rtx4090", "GeForce RTX 4090", 24564, 89},
	{"rtx3090", "GeForce RTX 3090", 24576, 86},
	{"v100", "Tesla V100 32GB", 32768, 70},
	{"t4", "Tesla T4", 15360, 75},
	{"gtx1080ti", "GeForce GTX 1080 Ti", 11178, 61},
};

const struct gpu_row *gpu_rows(size_t *ret_count)
{
	*ret_count = COUNT_OF(gpu_table_rows);
	return gpu_table_rows;
}

const struct gpu_row *gpu_row(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(gpu_table_rows); i++)
		if (strcmp(gpu_table_rows[i].name, name) == 0)
			return &gpu_table_rows[i];
	return NULL;
}
