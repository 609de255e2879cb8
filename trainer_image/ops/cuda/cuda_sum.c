#include "trainer_image/ops/cuda/cuda_sum.h"

#include <cuda_runtime.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"

#include "trainer_image/ops/cuda/nccl_library.h"

enum { CUDA_SUM_PAUSE_US = 20 };

struct cuda_sum {
	struct nccl_library nccl;
	void *comm;
	bool (*is_stopped)(void *context);
	void *context;
	struct cuda_launch compute, launch; /* of gradients; of sums */
	cudaEvent_t made, summed;
};

static void cuda_sum_pause(void)
{
	const struct timespec pause = {.tv_nsec = CUDA_SUM_PAUSE_US * 1000L};

	(void)nanosleep(&pause, NULL);
}

static bool cuda_sum_is_stopped(const struct cuda_sum *sum)
{
	return sum->is_stopped(sum->context);
}

/* Kernels of NCCL that wait for a rank that is gone end by this alone. */
static int cuda_sum_abort(struct cuda_sum *sum)
{
	if (sum->comm)
		(void)sum->nccl.abort(sum->comm);
	sum->comm = NULL;
	return E_UNAVAILABLE;
}

static bool cuda_sum_goes_on(int result)
{
	return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS;
}

static int cuda_sum_failed(struct cuda_sum *sum, int result)
{
	(void)cuda_sum_abort(sum);
	return result == NCCL_REMOTE_ERROR || result == NCCL_SYSTEM_ERROR ? -ECONNRESET : -EIO;
}

/* Until NCCL has taken what it was told, which `result` says it may be at. */
static int cuda_sum_until(struct cuda_sum *sum, int result)
{
	while (result == NCCL_IN_PROGRESS) {
		if (cuda_sum_is_stopped(sum))
			return cuda_sum_abort(sum);
		cuda_sum_pause();
		if (sum->nccl.state(sum->comm, &result) != NCCL_SUCCESS)
			return cuda_sum_failed(sum, result);
	}
	return result == NCCL_SUCCESS ? 0 : cuda_sum_failed(sum, result);
}

/* --- begin --- */

static int cuda_sum_problem(const struct nccl_library *nccl, int result, const char *doing,
			    struct problem *problem)
{
	(void)problem_set(problem, -EIO, "NCCL: %s failed: %s", doing, nccl->error(result));
	problem_detail(problem, "%s", nccl->last_error(NULL));
	problem_hint(problem, "NCCL_DEBUG=WARN says more; ranks.sum = \"host\" does without NCCL");
	return -EIO;
}

int cuda_sum_id(uint8_t ret[OPS_ID_SIZE], struct problem *problem)
{
	struct nccl_library nccl;
	struct nccl_id id;
	int rc = nccl_library_open(&nccl, problem);

	if (rc != 0)
		return rc;
	int result = nccl.make_id(&id);

	if (result != NCCL_SUCCESS)
		return cuda_sum_problem(&nccl, result, "to begin a job", problem);
	memcpy(ret, id.bytes, OPS_ID_SIZE);
	return 0;
}

static int cuda_sum_join(struct cuda_sum *sum, const struct ops_ranks *ranks,
			 struct problem *problem)
{
	struct nccl_config config = NCCL_CONFIG_NONBLOCKING;
	struct nccl_id id;
	int result;

	memcpy(id.bytes, ranks->id, OPS_ID_SIZE);
	result = sum->nccl.join(&sum->comm, ranks->count, id, ranks->rank, &config);
	if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS)
		return cuda_sum_problem(&sum->nccl, result, "to join the ranks", problem);
	while (result == NCCL_IN_PROGRESS) {
		if (cuda_sum_is_stopped(sum))
			return problem_set(problem, cuda_sum_abort(sum),
					   "rank %d was stopped while it joined the others",
					   ranks->rank);
		cuda_sum_pause();
		if (sum->nccl.state(sum->comm, &result) != NCCL_SUCCESS)
			result = NCCL_IN_PROGRESS + 1;
	}
	return result == NCCL_SUCCESS
		       ? 0
		       : cuda_sum_problem(&sum->nccl, result, "to join the ranks", problem);
}

static int cuda_sum_stream(struct cuda_sum *sum)
{
	cudaStream_t stream = NULL;

	if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
		return -EIO;
	sum->launch.stream = stream;
	return cudaEventCreateWithFlags(&sum->made, cudaEventDisableTiming) == cudaSuccess &&
			       cudaEventCreateWithFlags(&sum->summed, cudaEventDisableTiming) ==
				       cudaSuccess
		       ? 0
		       : -EIO;
}

int cuda_sum_new(const struct cuda_launch *launch, const struct ops_ranks *ranks,
		 struct cuda_sum **ret, struct problem *problem)
{
	struct cuda_sum *sum = calloc(1, sizeof(*sum));
	int rc;

	if (!sum)
		return problem_set(problem, -ENOMEM, "no memory for sums");
	sum->is_stopped = ranks->is_stopped;
	sum->context = ranks->context;
	sum->compute = sum->launch = *launch;
	rc = nccl_library_open(&sum->nccl, problem);
	if (rc == 0) {
		rc = cuda_sum_stream(sum);
		if (rc != 0)
			(void)problem_set(problem, rc, "cuda: no stream for sums: %s",
					  cudaGetErrorString(cudaGetLastError()));
	}
	if (rc == 0)
		rc = cuda_sum_join(sum, ranks, problem);
	if (rc != 0) {
		cuda_sum_free(sum);
		return rc;
	}
	*ret = sum;
	return 0;
}

void cuda_sum_free(struct cuda_sum *sum)
{
	if (!sum)
		return;
	(void)cuda_sum_abort(sum);
	/* Codecs that stood behind it still use memory of the caller. */
	if (sum->launch.stream != sum->compute.stream)
		(void)cudaStreamSynchronize(sum->launch.stream);
	if (sum->made)
		(void)cudaEventDestroy(sum->made);
	if (sum->summed)
		(void)cudaEventDestroy(sum->summed);
	if (sum->launch.stream != sum->compute.stream)
		(void)cudaStreamDestroy(sum->launch.stream);
	free(sum);
}

/* --- exchanges --- */

static int cuda_sum_cuda(cudaError_t error)
{
	if (error == cudaSuccess)
		return 0;
	return error == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

/* Both in a group: a rank that sends first and receives then would wait for one that does the same. */
static int cuda_sum_group(struct cuda_sum *sum, const struct ops_exchange *is)
{
	const struct nccl_library *nccl = &sum->nccl;
	int result = nccl->group_start();

	if (result != NCCL_SUCCESS)
		return result;
	if (is->out_size > 0)
		result = nccl->send(is->out, is->out_size, NCCL_BYTE, is->to, sum->comm,
				    sum->launch.stream);
	if (is->in_size > 0 && cuda_sum_goes_on(result))
		result = nccl->receive(is->in, is->in_size, NCCL_BYTE, is->from, sum->comm,
				       sum->launch.stream);
	int ended = nccl->group_end();

	return cuda_sum_goes_on(result) ? ended : result;
}

int cuda_sum_exchange(struct cuda_sum *sum, const struct ops_exchange *exchange)
{
	if (exchange->out_size == 0 && exchange->in_size == 0)
		return 0;
	if (cuda_sum_is_stopped(sum) || !sum->comm)
		return cuda_sum_abort(sum);
	return cuda_sum_until(sum, cuda_sum_group(sum, exchange));
}

const struct cuda_launch *cuda_sum_launch(const struct cuda_sum *sum)
{
	return &sum->launch;
}

static int cuda_sum_order(cudaEvent_t event, void *before, void *behind)
{
	cudaError_t error = cudaEventRecord(event, before);

	if (error == cudaSuccess)
		error = cudaStreamWaitEvent(behind, event, 0);
	return cuda_sum_cuda(error);
}

int cuda_sum_ready(struct cuda_sum *sum)
{
	return cuda_sum_order(sum->made, sum->compute.stream, sum->launch.stream);
}

int cuda_sum_end(struct cuda_sum *sum)
{
	return cuda_sum_order(sum->summed, sum->launch.stream, sum->compute.stream);
}

int cuda_sum_wait(struct cuda_sum *sum, void *stream)
{
	cudaError_t error;

	while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
		int result = NCCL_SUCCESS;

		if (cuda_sum_is_stopped(sum))
			return cuda_sum_abort(sum);
		if (sum->comm && sum->nccl.state(sum->comm, &result) == NCCL_SUCCESS &&
		    !cuda_sum_goes_on(result))
			return cuda_sum_failed(sum, result);
		cuda_sum_pause();
	}
	return cuda_sum_cuda(error);
}
