#include "trainer_image/plan/gpu_table.h"

#include <string.h>

#include "common/base/macros.h"

/* H100, A100, L40S, L4, T4: modal-labs/modal-client#2797, which lists them; H100 also vllm-project/vllm#55169.
 * RTX 4090: vllm-project/vllm#7553. RTX 5090: noonghunna/club-3090#1229. RTX 3090: noonghunna/club-3090#390.
 * B200: the driver's total in pytorch/ao#4002 (178.35 GiB for programs), nvidia-smi in several public logs. H200,
 * V100, GTX 1080 Ti: nvidia-smi in ten public logs each, all the same. Drivers before 510 took their own part off
 * first: a V100 then had 32510. Compute capabilities: CUDA C++ Programming Guide. */
static const struct gpu_row gpu_table_rows[] = {
	{"b200", "NVIDIA B200", 183359, 100, 0, 0},
	{"h200", "NVIDIA H200", 143771, 90, 4300, 788},
	{"h100", "NVIDIA H100 80GB", 81559, 90, 0, 0},
	{"a100", "NVIDIA A100 80GB", 81920, 80, 0, 0},
	{"a100-40", "NVIDIA A100 40GB", 40960, 80, 0, 0},
	{"l40s", "NVIDIA L40S", 46068, 89, 0, 0},
	{"l4", "NVIDIA L4", 23034, 89, 0, 0},
	{"rtx5090", "GeForce RTX 5090", 32607, 120, 0, 0},
	{"rtx4090", "GeForce RTX 4090", 24564, 89, 0, 0},
	{"rtx3090", "GeForce RTX 3090", 24576, 86, 0, 0},
	{"v100", "Tesla V100 32GB", 32768, 70, 0, 0},
	{"t4", "Tesla T4", 15360, 75, 0, 0},
	{"gtx1080ti", "GeForce GTX 1080 Ti", 11178, 61, 0, 0},
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
