#include "trainer_image/ops/cuda/cuda_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

int cuda_device_told(struct cuda_device *device, int error)
{
	struct problem problem;

	if (error == 0)
		return 0;
	(void)problem_set(&problem, -EIO, "%s: %s", cudaGetErrorName((cudaError_t)error),
			  cudaGetErrorString((cudaError_t)error));
	problem_detail(&problem, "seen behind %s; a GPU runs late, so it may be of a call before",
		       device->last ? device->last : "the begin");
	problem_hint(&problem, "dmesg has the driver's Xid, nvidia-smi -q errors of memory; with "
			       "CUDA_LAUNCH_BLOCKING=1 the call is the right one");
	return cuda_device_fault(device, &problem);
}

int cuda_device_fault(struct cuda_device *device, const struct problem *of)
{
	struct problem *fault = &device->fault;

	if (problem_is_set(fault))
		return of->code;
	(void)problem_set(fault, of->code, "GPU %d%s%s%s: %s", device->number,
			  device->name[0] ? " (" : "", device->name, device->name[0] ? ")" : "",
			  of->message);
	problem_detail(fault, "%s", of->detail);
	problem_hint(fault, "%s", of->hint);
	return of->code;
}

void cuda_device_use(const struct cuda_device *device)
{
	(void)cudaSetDevice(device->number);
}

/* --- the begin and the end --- */

static int cuda_device_find(int number, struct problem *problem)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error != cudaSuccess || count == 0) {
		(void)problem_set(problem, E_UNAVAILABLE, "no GPU can be used on this machine");
		problem_detail(problem, "cudaGetDeviceCount: %s: %s", cudaGetErrorName(error),
			       error == cudaSuccess ? "no device" : cudaGetErrorString(error));
		problem_hint(problem,
			     "look at nvidia-smi: it shows the driver, which must be as new as "
			     "CUDA 13 wants (580), and the GPUs; or compute with device = cpu");
		return E_UNAVAILABLE;
	}
	if (number < 0 || number >= count) {
		(void)problem_set(problem, E_NOT_FOUND, "there is no GPU %d on this machine",
				  number);
		problem_detail(problem, "it has %d, and the first is 0", count);
		return E_NOT_FOUND;
	}
	return 0;
}

static int cuda_device_make(struct cuda_device *device)
{
	struct cudaDeviceProp is;
	int rc = cuda_device_told(device, (int)cudaGetDeviceProperties(&is, device->number));

	if (rc == 0)
		(void)text_format(device->name, sizeof(device->name), "%s", is.name);
	if (rc == 0)
		rc = cuda_device_told(device, (int)cudaSetDevice(device->number));
	if (rc == 0)
		rc = cuda_device_told(device, (int)cudaStreamCreateWithFlags(
						      &device->stream, cudaStreamNonBlocking));
	for (size_t i = 0; rc == 0 && i < CUDA_DEVICE_STAGES; i++) {
		rc = cuda_device_told(
			device, (int)cudaMallocHost(&device->stages[i].memory, CUDA_DEVICE_STAGE));
		if (rc == 0)
			rc = cuda_device_told(
				device, (int)cudaEventCreateWithFlags(&device->stages[i].used,
								      cudaEventDisableTiming));
	}
	return rc;
}

int cuda_device_open(int number, struct cuda_device *ret, struct problem *problem)
{
	int rc = cuda_device_find(number, problem);

	*ret = (struct cuda_device){.number = number};
	if (rc != 0)
		return rc;
	rc = cuda_device_make(ret);
	if (rc != 0) {
		(void)problem_set(problem, rc, "GPU %d cannot be used", number);
		problem_detail(problem, "%s", ret->fault.message);
		problem_hint(problem, "nvidia-smi shows whether another program has all of it");
		cuda_device_done(ret);
	}
	return rc;
}

void cuda_device_done(struct cuda_device *device)
{
	if (!device->stream)
		return;
	cuda_device_use(device);
	(void)cudaStreamSynchronize(device->stream);
	for (size_t i = 0; i < CUDA_DEVICE_STAGES; i++) {
		if (device->stages[i].used)
			(void)cudaEventDestroy(device->stages[i].used);
		if (device->stages[i].memory)
			(void)cudaFreeHost(device->stages[i].memory);
	}
	for (size_t i = 0; i < device->mark_count; i++)
		if (device->marks[i])
			(void)cudaEventDestroy(device->marks[i]);
	free(device->marks);
	(void)cudaStreamDestroy(device->stream);
	*device = (struct cuda_device){0};
}

/* --- memory --- */

void *cuda_device_take(struct cuda_device *device, size_t bytes)
{
	void *memory = NULL;
	cudaError_t error = cudaMalloc(&memory, bytes > 0 ? bytes : 1);

	if (error == cudaErrorMemoryAllocation) {
		(void)cudaGetLastError(); /* a lack of memory is no fault of the device */
		return NULL;
	}
	if (error == cudaSuccess)
		error = cudaMemsetAsync(memory, 0, bytes > 0 ? bytes : 1, device->stream);
	if (cuda_device_told(device, (int)error) != 0) {
		(void)cudaFree(memory);
		return NULL;
	}
	return memory;
}

void cuda_device_give(struct cuda_device *device, void *memory)
{
	(void)cudaStreamSynchronize(device->stream);
	(void)cudaFree(memory);
}

/* --- copies: pieces of a stage's size, in both stages by turns --- */

static size_t cuda_device_piece(size_t left)
{
	return left < CUDA_DEVICE_STAGE ? left : CUDA_DEVICE_STAGE;
}

int cuda_device_in(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += CUDA_DEVICE_STAGE) {
		unsigned stage = device->next++ % CUDA_DEVICE_STAGES;
		void *memory = device->stages[stage].memory;
		size_t size = cuda_device_piece(bytes - at);
		int error = (int)cudaEventSynchronize(device->stages[stage].used);

		if (error == 0) {
			memcpy(memory, (const char *)from + at, size);
			error = (int)cudaMemcpyAsync((char *)to + at, memory, size,
						     cudaMemcpyHostToDevice, device->stream);
		}
		if (error == 0)
			error = (int)cudaEventRecord(device->stages[stage].used, device->stream);
		if (error != 0)
			return cuda_device_told(device, error);
	}
	return 0;
}

/* While a piece comes, the one before it is copied on. */
int cuda_device_out(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
	size_t pieces = (bytes + CUDA_DEVICE_STAGE - 1) / CUDA_DEVICE_STAGE;

	for (size_t i = 0; i <= pieces; i++) {
		size_t at = i * CUDA_DEVICE_STAGE;
		int error = 0;

		if (i < pieces)
			error = (int)cudaMemcpyAsync(device->stages[i % CUDA_DEVICE_STAGES].memory,
						     (const char *)from + at,
						     cuda_device_piece(bytes - at),
						     cudaMemcpyDeviceToHost, device->stream);
		if (error == 0 && i < pieces)
			error = (int)cudaEventRecord(device->stages[i % CUDA_DEVICE_STAGES].used,
						     device->stream);
		if (error == 0 && i > 0) {
			unsigned stage = (unsigned)(i - 1) % CUDA_DEVICE_STAGES;

			error = (int)cudaEventSynchronize(device->stages[stage].used);
			if (error == 0)
				memcpy((char *)to + at - CUDA_DEVICE_STAGE,
				       device->stages[stage].memory,
				       cuda_device_piece(bytes - (at - CUDA_DEVICE_STAGE)));
		}
		if (error != 0)
			return cuda_device_told(device, error);
	}
	return 0;
}

int cuda_device_within(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
	return cuda_device_told(
		device,
		(int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, device->stream));
}

/* --- marks --- */

int cuda_device_mark(struct cuda_device *device, size_t nth)
{
	int rc = 0;

	if (nth >= device->mark_count) {
		cudaEvent_t *more = realloc(device->marks, (nth + 1) * sizeof(cudaEvent_t));

		if (!more)
			return -ENOMEM;
		memset(more + device->mark_count, 0,
		       (nth + 1 - device->mark_count) * sizeof(cudaEvent_t));
		device->marks = more;
		device->mark_count = nth + 1;
	}
	if (!device->marks[nth])
		rc = cuda_device_told(device, (int)cudaEventCreateWithFlags(&device->marks[nth],
									    cudaEventDefault));
	return rc == 0 ? cuda_device_told(device,
					  (int)cudaEventRecord(device->marks[nth], device->stream))
		       : rc;
}

int cuda_device_marks(struct cuda_device *device, size_t count, double *ret_ms)
{
	int error = (int)cudaEventSynchronize(device->marks[count]);

	for (size_t i = 0; error == 0 && i < count; i++) {
		float ms = 0;

		error = (int)cudaEventElapsedTime(&ms, device->marks[0], device->marks[i + 1]);
		ret_ms[i] = (double)ms;
	}
	return cuda_device_told(device, error);
}

/* --- what it is --- */

int cuda_device_about(struct cuda_device *device, struct ops_about *ret)
{
	size_t free = 0;
	size_t total = 0;
	int runtime = 0;
	int driver = 0;
	int rc = cuda_device_told(device, (int)cudaMemGetInfo(&free, &total));

	if (rc == 0)
		rc = cuda_device_told(device, (int)cudaRuntimeGetVersion(&runtime));
	if (rc == 0)
		rc = cuda_device_told(device, (int)cudaDriverGetVersion(&driver));
	if (rc != 0)
		return rc;
	ret->free = (int64_t)free;
	ret->total = (int64_t)total;
	(void)text_format(ret->device, sizeof(ret->device), "%s", device->name);
	(void)text_format(ret->library, sizeof(ret->library), "CUDA %d.%d, driver for %d.%d",
			  runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
	return 0;
}
