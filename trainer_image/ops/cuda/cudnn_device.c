#include "trainer_image/ops/cuda/cudnn_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

/* Multiprocessors, clocks and L2 are what NVIDIA's deviceQuery printed on such a GPU (H100, A100: thamada/nvidia-smi
 * nvsim; A100 40 GB: PCIe; L40S: the README of cuda-device-query; L4, T4, RTX 3090, RTX 4090, RTX 5090: public logs).
 * H200, B200: get_device_properties() of PyTorch in public logs, the clocks of nvidia-smi -q; the memory clock of a B200
 * is calculated from 8 TB/s over 8192 bits. No GPU of ours has been asked yet. */
static const struct cudnn_device_row cudnn_device_table[] = {
	{"b200", "NVIDIA B200", 100, 148, 1965, 3906, 129536, 183359},
	{"h200", "NVIDIA H200", 90, 132, 1980, 3201, 60 * 1024, 143771},
	{"h100", "NVIDIA H100 80GB HBM3", 90, 132, 1980, 2619, 50 * 1024, 81559},
	{"a100", "NVIDIA A100-SXM4-80GB", 80, 108, 1410, 1593, 40 * 1024, 81920},
	{"a100-40", "NVIDIA A100-PCIE-40GB", 80, 108, 1410, 1215, 40 * 1024, 40960},
	{"l40s", "NVIDIA L40S", 89, 142, 2520, 9001, 96 * 1024, 46068},
	{"l4", "NVIDIA L4", 89, 58, 2040, 6251, 48 * 1024, 23034},
	{"rtx5090", "NVIDIA GeForce RTX 5090", 120, 170, 2407, 14001, 96 * 1024, 32607},
	{"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 2520, 10501, 72 * 1024, 24564},
	{"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 1695, 9751, 6 * 1024, 24576},
	{"t4", "Tesla T4", 75, 40, 1590, 5001, 4 * 1024, 15360},
};

/* Limits of a compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". From 8.0
 * on each block of threads gives 1 KiB of shared memory to CUDA. */
static const struct cudnn_device_limits {
	int capability;
	int threads, blocks; /* of a multiprocessor */
	int shared_kib;      /* of a block that asks for it */
	int reserved_kib;    /* of each block */
} cudnn_device_limit_rows[] = {
	{75, 1024, 16, 64, 0},  {80, 2048, 32, 163, 1}, {86, 1536, 16, 99, 1},
	{89, 1536, 24, 99, 1},  {90, 2048, 32, 227, 1}, {100, 2048, 32, 227, 1},
	{120, 1536, 24, 99, 1},
};

enum { CUDNN_DEVICE_CAPABILITY_LEAST = 75 }; /* nvcc 13 --list-gpu-arch begins with it */

const struct cudnn_device_row *cudnn_device_rows(size_t *ret_count)
{
	*ret_count = COUNT_OF(cudnn_device_table);
	return cudnn_device_table;
}

int cudnn_device_find(const char *name, int capability, const struct cudnn_device_row **ret,
		      struct problem *problem)
{
	for (size_t i = 0; i < COUNT_OF(cudnn_device_table); i++)
		if (strcmp(cudnn_device_table[i].name, name) == 0) {
			*ret = &cudnn_device_table[i];
			return 0;
		}
	if (capability > 0 && capability < CUDNN_DEVICE_CAPABILITY_LEAST)
		return problem_set(problem, E_UNSUPPORTED,
				   "CUDA 13 cannot serve %s (sm_%d): it needs CUDA 12", name,
				   capability);
	return problem_set(problem, E_NOT_FOUND, "no description of the GPU type %s", name);
}

static const struct cudnn_device_limits *cudnn_device_limit(int capability)
{
	const struct cudnn_device_limits *found = &cudnn_device_limit_rows[0];

	for (size_t i = 0; i < COUNT_OF(cudnn_device_limit_rows); i++)
		if (cudnn_device_limit_rows[i].capability <= capability)
			found = &cudnn_device_limit_rows[i];
	return found;
}

const char *cudnn_device_text(const struct cudnn_device_row *row, char ret[CUDNN_DEVICE_TEXT])
{
	const struct cudnn_device_limits *limits = cudnn_device_limit(row->capability);
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {
		{"deviceVer", row->capability * INT64_C(10)},
		{"driverVer", 13000},
		{"cudaDeviceId", 0},
		{"pciDeviceId", 0},
		{"totalGlobalMem", row->memory_mib * 1048576},
		{"multiProcessorCount", row->multiprocessors},
		{"smClockRateKHz", row->clock_mhz * INT64_C(1000)},
		{"memClockRateKHz", row->memory_clock_mhz * INT64_C(1000)},
		{"l2CacheSize", row->cache_kib * INT64_C(1024)},
		{"warpSize", 32},
		{"regsPerBlock", 65536},
		{"maxRegistersPerSM", 65536},
		{"maxSharedMemoryPerBlock", INT64_C(48) * 1024},
		{"maxSharedMemoryPerBlockOptin", limits->shared_kib * INT64_C(1024)},
		{"reservedSharedMemoryPerBlock", limits->reserved_kib * INT64_C(1024)},
		{"maxCtasPerSM", limits->blocks},
		{"maxThreadsPerSM", limits->threads},
		{"maxThreadsPerBlock", 1024},
		{"isTccDriver", 0},
		{"supportCoopLaunch", 1},
	};
	int at = snprintf(ret, CUDNN_DEVICE_TEXT,
			  "{\"deviceName\":\"%s\",\"maxGridSize\":[2147483647,65535,65535],"
			  "\"maxBlockSize\":[1024,1024,64]",
			  row->title);

	for (size_t i = 0; i < COUNT_OF(rows) && at < CUDNN_DEVICE_TEXT; i++)
		at += snprintf(ret + at, (size_t)(CUDNN_DEVICE_TEXT - at), ",\"%s\":%" PRId64,
			       rows[i].key, rows[i].value);
	if (at < CUDNN_DEVICE_TEXT)
		(void)snprintf(ret + at, (size_t)(CUDNN_DEVICE_TEXT - at), "}");
	return ret;
}

int cudnn_target_describe(struct cudnn_target *target, const struct cudnn_library *library,
			  const struct cudnn_device_row *row, struct problem *problem)
{
	char json[CUDNN_DEVICE_TEXT];
	int64_t size = (int64_t)strlen(cudnn_device_text(row, json)) + 1;

	*target = (struct cudnn_target){.library = library};
	int rc = cudnn_library_check_version(library, CUDNN_VERSION_OF_DESCRIPTIONS,
					     "a GPU that is not here", problem);

	if (rc < 0)
		return rc;
	int status = library->create_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
						&target->description);

	if (status == CUDNN_STATUS_SUCCESS)
		status = library->set_attribute(target->description,
						CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
						CUDNN_TYPE_CHAR, size, json);
	if (status == CUDNN_STATUS_SUCCESS)
		status = library->finalize(target->description);
	return status == CUDNN_STATUS_SUCCESS
		       ? 0
		       : cudnn_library_problem(library, status, "the description of a GPU",
					       problem);
}

void cudnn_target_done(struct cudnn_target *target)
{
	if (target->description)
		(void)target->library->destroy_descriptor(target->description);
	target->description = NULL;
}
