#include "trainer_image/ops/cuda/cuda_sum.h"

#include <cuda_runtime.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/ops/cuda/nccl_library.h"

enum {
	CUDA_SUM_SPINS = 50, /* looks before the first pause */
	CUDA_SUM_PAUSE_US = 20,
	CUDA_SUM_STOPPED_MS = 1000,
	CUDA_SUM_MARKS = 64,
	/* Calls that the stream may be behind. CUDA blocks a thread that is some 1000 launches ahead, and what blocks cannot
	 * be stopped. */
	CUDA_SUM_AHEAD = 400,
	CUDA_SUM_LEAST_BYTES_PER_MS = 10000, /* a slower link stands still */
};

/* Behind an exchange; the stream has reached it: something has moved. */
struct cuda_sum_mark {
	cudaEvent_t reached;
	uint64_t calls; /* before it */
	size_t bytes;   /* of the exchange */
};

struct cuda_sum {
	struct cuda_device *device;
	struct nccl_library nccl;
	void *comm;
	bool (*is_stopped)(void *context);
	void *context;
	int64_t still_ms;
	struct cuda_launch compute, launch; /* of gradients; of sums */
	cudaEvent_t made, summed;
	struct cuda_sum_mark marks[CUDA_SUM_MARKS];
	uint64_t marked, reached; /* marks made; of these, reached by the stream */
	uint64_t calls;           /* that the stream was told */
	int group;                /* its first error, while one is open */
	size_t group_bytes;
	bool is_open;
	int rc;      /* of the first call that failed: no call of NCCL follows */
	bool aborts; /* in a thread */
	pthread_t thread;
	struct problem why; /* the same in words; code 0: none */
};

/* One wait, of which something may move. */
struct cuda_sum_wait {
	unsigned looks;
	int64_t moved_ms, looked_ms;
};

/* Since it began or moved. A second or more between two looks means that this process was stopped: it does not count. */
static int64_t cuda_sum_still_ms(struct cuda_sum_wait *wait)
{
	int64_t now_ms = clock_monotonic_ms();

	if (wait->looked_ms == 0)
		wait->moved_ms = now_ms;
	else if (now_ms - wait->looked_ms > CUDA_SUM_STOPPED_MS)
		wait->moved_ms += now_ms - wait->looked_ms;
	wait->looked_ms = now_ms;
	return now_ms - wait->moved_ms;
}

static void cuda_sum_pause(struct cuda_sum_wait *wait)
{
	const struct timespec pause = {.tv_nsec = CUDA_SUM_PAUSE_US * 1000L};

	if (wait->looks++ < CUDA_SUM_SPINS)
		(void)sched_yield();
	else
		(void)nanosleep(&pause, NULL);
}

/* --- failures --- */

static void *cuda_sum_abort_thread(void *context)
{
	struct cuda_sum *sum = context;

	(void)sum->nccl.abort(sum->comm);
	return NULL;
}

/* Kernels of NCCL that wait for a rank that is gone end by ncclCommAbort() alone. It returns when all ranks of the machine have
 * called it: so it has a thread, and this one goes on to tell the others. The first cause stays. */
static int cuda_sum_over(struct cuda_sum *sum, int rc)
{
	if (sum->rc != 0)
		return sum->rc;
	sum->rc = rc;
	sum->aborts =
		sum->comm && pthread_create(&sum->thread, NULL, cuda_sum_abort_thread, sum) == 0;
	return rc;
}

/* What has helped others with an error of the kind. */
static const char *cuda_sum_hint(int result)
{
	switch (result) {
	case NCCL_CUDA_ERROR:
		return "look whether the GPU's memory is full (NCCL takes some hundred MB); "
		       "NCCL_DEBUG=WARN NCCL_DEBUG_FILE=nccl.%p says more; ranks.sum = \"host\" "
		       "does without NCCL";
	case NCCL_SYSTEM_ERROR:
		return "enlarge /dev/shm (docker run --shm-size=1g); NCCL_DEBUG=WARN "
		       "NCCL_DEBUG_FILE=nccl.%p says more; ranks.sum = \"host\" does without NCCL";
	default:
		return "NCCL_DEBUG=WARN NCCL_DEBUG_FILE=nccl.%p says more; ranks.sum = \"host\" "
		       "does without NCCL";
	}
}

static void cuda_sum_words(const struct nccl_library *nccl, int result, const char *doing,
			   struct problem *problem)
{
	(void)problem_set(problem, -ECONNRESET, "NCCL: %s failed: %s", doing, nccl->error(result));
	problem_detail(problem, "%s", nccl->last_error(NULL));
	problem_hint(problem, "%s", cuda_sum_hint(result));
}

/* NCCL's words are read first: they are gone behind the abort. */
static int cuda_sum_failed(struct cuda_sum *sum, int result, const char *doing)
{
	if (sum->why.code == 0 && sum->rc == 0)
		cuda_sum_words(&sum->nccl, result, doing, &sum->why);
	return cuda_sum_over(sum, -ECONNRESET);
}

static int cuda_sum_still(struct cuda_sum *sum, const char *doing, int64_t still_ms)
{
	if (sum->why.code == 0 && sum->rc == 0) {
		(void)problem_set(&sum->why, -ETIMEDOUT, "NCCL: %s: nothing moves since %.1f s",
				  doing, (double)still_ms / 1e3);
		problem_hint(&sum->why,
			     "NCCL_SOCKET_IFNAME names the interface between machines; "
			     "NCCL_P2P_DISABLE=1 is for GPUs that cannot reach each other; "
			     "ranks.sum = \"host\" does without NCCL");
	}
	return cuda_sum_over(sum, -ETIMEDOUT);
}

static bool cuda_sum_goes_on(int result)
{
	return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS;
}

/* Until NCCL has taken what it was told, which `result` says it may be at. */
static int cuda_sum_until(struct cuda_sum *sum, int result, const char *doing, int64_t most_ms)
{
	struct cuda_sum_wait wait = {0};

	while (result == NCCL_IN_PROGRESS) {
		int64_t took_ms = cuda_sum_still_ms(&wait);
		int asked;

		if (sum->is_stopped(sum->context))
			return cuda_sum_over(sum, -ECANCELED);
		if (took_ms > most_ms)
			return cuda_sum_still(sum, doing, took_ms);
		cuda_sum_pause(&wait);
		asked = sum->nccl.state(sum->comm, &result);
		if (asked != NCCL_SUCCESS)
			result = asked;
	}
	return result == NCCL_SUCCESS ? 0 : cuda_sum_failed(sum, result, doing);
}

/* --- begin --- */

int cuda_sum_id(uint8_t ret[OPS_ID_SIZE], struct problem *problem)
{
	struct nccl_library nccl;
	struct nccl_id id;
	int rc = nccl_library_open(&nccl, problem);

	if (rc != 0)
		return rc;
	int result = nccl.make_id(&id);

	if (result != NCCL_SUCCESS) {
		cuda_sum_words(&nccl, result, "to begin a job", problem);
		return problem->code;
	}
	memcpy(ret, id.bytes, OPS_ID_SIZE);
	return 0;
}

static int cuda_sum_join(struct cuda_sum *sum, const struct ops_ranks *ranks)
{
	static const char doing[] = "to join the ranks";
	struct nccl_config config = NCCL_CONFIG_NONBLOCKING;
	struct nccl_id id;

	memcpy(id.bytes, ranks->id, OPS_ID_SIZE);
	return cuda_sum_until(sum,
			      sum->nccl.join(&sum->comm, ranks->count, id, ranks->rank, &config),
			      doing, ranks->join_ms);
}

/* Sums go before what computes: a pass has time until its end, and a sum has others that wait for it. */
static int cuda_sum_stream(struct cuda_sum *sum)
{
	cudaStream_t stream = NULL;
	int least = 0;
	int first = 0;

	if (cudaDeviceGetStreamPriorityRange(&least, &first) != cudaSuccess ||
	    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first) != cudaSuccess)
		return -EIO;
	sum->launch.stream = stream;
	for (size_t i = 0; i < CUDA_SUM_MARKS; i++)
		if (cudaEventCreateWithFlags(&sum->marks[i].reached, cudaEventDisableTiming) !=
		    cudaSuccess)
			return -EIO;
	return cudaEventCreateWithFlags(&sum->made, cudaEventDisableTiming) == cudaSuccess &&
			       cudaEventCreateWithFlags(&sum->summed, cudaEventDisableTiming) ==
				       cudaSuccess
		       ? 0
		       : -EIO;
}

int cuda_sum_new(struct cuda_device *device, const struct cuda_launch *launch,
		 const struct ops_ranks *ranks, struct cuda_sum **ret, struct problem *problem)
{
	struct cuda_sum *sum = calloc(1, sizeof(*sum));
	int rc;

	if (!sum)
		return problem_set(problem, -ENOMEM, "no memory for sums");
	sum->device = device;
	sum->is_stopped = ranks->is_stopped;
	sum->context = ranks->context;
	sum->still_ms = ranks->still_ms;
	sum->compute = sum->launch = *launch;
	rc = nccl_library_open(&sum->nccl, problem);
	if (rc == 0) {
		rc = cuda_sum_stream(sum);
		if (rc != 0)
			(void)problem_set(problem, rc, "cuda: no stream for sums: %s",
					  cudaGetErrorString(cudaGetLastError()));
	}
	if (rc == 0) {
		rc = cuda_sum_join(sum, ranks);
		if (rc != 0)
			(void)problem_set(problem, rc,
					  "rank %d was stopped while it joined the others",
					  ranks->rank);
		cuda_sum_why(sum, problem);
	}
	sum->rc = rc;
	*ret = sum;
	return rc;
}

void cuda_sum_why(const struct cuda_sum *sum, struct problem *problem)
{
	if (sum->why.code != 0)
		*problem = sum->why;
}

static void cuda_sum_event_free(cudaEvent_t event)
{
	if (event)
		(void)cudaEventDestroy(event);
}

void cuda_sum_free(struct cuda_sum *sum)
{
	if (!sum)
		return;
	if (sum->aborts)
		(void)pthread_join(sum->thread, NULL);
	else if (sum->comm)
		(void)sum->nccl.abort(sum->comm);
	/* Codecs that stood behind it still use memory of the caller, and what computes may wait for the events. */
	if (sum->launch.stream != sum->compute.stream)
		(void)cudaStreamSynchronize(sum->launch.stream);
	(void)cudaStreamSynchronize(sum->compute.stream);
	cuda_sum_event_free(sum->made);
	cuda_sum_event_free(sum->summed);
	for (size_t i = 0; i < CUDA_SUM_MARKS; i++)
		cuda_sum_event_free(sum->marks[i].reached);
	if (sum->launch.stream != sum->compute.stream)
		(void)cudaStreamDestroy(sum->launch.stream);
	free(sum);
}

/* --- how far the stream is --- */

static int cuda_sum_cuda(const struct cuda_sum *sum, cudaError_t error)
{
	return cuda_device_told(sum->device, (int)error);
}

static struct cuda_sum_mark *cuda_sum_mark_at(struct cuda_sum *sum, uint64_t nth)
{
	return &sum->marks[nth % CUDA_SUM_MARKS];
}

/* True: something has moved, or there is nothing that other ranks could move. */
static bool cuda_sum_moves(struct cuda_sum *sum)
{
	uint64_t before = sum->reached;

	while (sum->reached < sum->marked &&
	       cudaEventQuery(cuda_sum_mark_at(sum, sum->reached)->reached) == cudaSuccess)
		sum->reached++;
	return sum->reached > before || sum->reached == sum->marked ||
	       cudaEventQuery(sum->made) == cudaErrorNotReady;
}

/* In a wait for the stream. */
static int cuda_sum_look(struct cuda_sum *sum, struct cuda_sum_wait *wait)
{
	int64_t still_ms = cuda_sum_still_ms(wait);
	int result = NCCL_SUCCESS;

	if (sum->is_stopped(sum->context))
		return cuda_sum_over(sum, -ECANCELED);
	int asked = sum->nccl.state(sum->comm, &result);

	if (asked != NCCL_SUCCESS)
		result = asked;
	if (!cuda_sum_goes_on(result))
		return cuda_sum_failed(sum, result, "to sum gradients");
	if (cuda_sum_moves(sum)) {
		wait->moved_ms = wait->looked_ms;
	} else {
		size_t bytes = cuda_sum_mark_at(sum, sum->reached)->bytes;

		if (still_ms > sum->still_ms + (int64_t)(bytes / CUDA_SUM_LEAST_BYTES_PER_MS))
			return cuda_sum_still(sum, "to sum gradients", still_ms);
	}
	cuda_sum_pause(wait);
	return 0;
}

int cuda_sum_wait(struct cuda_sum *sum, void *stream)
{
	struct cuda_sum_wait wait = {0};
	cudaError_t error;

	if (sum->rc != 0)
		return sum->rc;
	while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
		int rc = cuda_sum_look(sum, &wait);

		if (rc != 0)
			return rc;
	}
	return cuda_sum_cuda(sum, error);
}

static bool cuda_sum_is_full(struct cuda_sum *sum)
{
	(void)cuda_sum_moves(sum);
	if (sum->reached == sum->marked)
		return false;
	return sum->marked - sum->reached == CUDA_SUM_MARKS ||
	       sum->calls - cuda_sum_mark_at(sum, sum->reached)->calls > CUDA_SUM_AHEAD;
}

/* Until the stream has room: a call that waits for it by itself could not be stopped. */
static int cuda_sum_room(struct cuda_sum *sum)
{
	struct cuda_sum_wait wait = {0};
	cudaError_t error = cudaSuccess;
	int rc = 0;

	while (rc == 0 && cuda_sum_is_full(sum)) {
		error = cudaStreamQuery(sum->launch.stream);
		rc = error == cudaSuccess || error == cudaErrorNotReady ? cuda_sum_look(sum, &wait)
									: cuda_sum_cuda(sum, error);
	}
	return rc;
}

/* --- exchanges --- */

static int cuda_sum_open(struct cuda_sum *sum)
{
	int rc = sum->rc != 0 ? sum->rc : cuda_sum_room(sum);

	if (rc != 0)
		return rc;
	if (sum->is_stopped(sum->context))
		return cuda_sum_over(sum, -ECANCELED);
	sum->group = sum->nccl.group_start();
	sum->group_bytes = 0;
	sum->is_open = sum->group == NCCL_SUCCESS;
	return sum->is_open ? 0 : cuda_sum_failed(sum, sum->group, "to sum gradients");
}

static void cuda_sum_add(struct cuda_sum *sum, const struct ops_exchange *is)
{
	const struct nccl_library *nccl = &sum->nccl;

	if (is->out_size > 0 && cuda_sum_goes_on(sum->group))
		sum->group = nccl->send(is->out, is->out_size, NCCL_BYTE, is->to, sum->comm,
					sum->launch.stream);
	if (is->in_size > 0 && cuda_sum_goes_on(sum->group))
		sum->group = nccl->receive(is->in, is->in_size, NCCL_BYTE, is->from, sum->comm,
					   sum->launch.stream);
	sum->group_bytes += is->out_size + is->in_size;
}

/* A group without bytes is none: NCCL takes it, and has nothing to do. */
static int cuda_sum_close(struct cuda_sum *sum)
{
	struct cuda_sum_mark *mark = cuda_sum_mark_at(sum, sum->marked);
	int ended;
	int rc;

	if (!sum->is_open)
		return sum->rc;
	sum->is_open = false;
	ended = sum->nccl.group_end();
	rc = cuda_sum_until(sum, cuda_sum_goes_on(sum->group) ? ended : sum->group,
			    "to sum gradients", sum->still_ms);
	if (rc != 0 || sum->group_bytes == 0)
		return rc;
	rc = cuda_sum_cuda(sum, cudaEventRecord(mark->reached, sum->launch.stream));
	mark->calls = ++sum->calls;
	mark->bytes = sum->group_bytes;
	sum->marked++;
	return rc;
}

int cuda_sum_together(struct cuda_sum *sum, bool begins)
{
	return begins ? cuda_sum_open(sum) : cuda_sum_close(sum);
}

/* Both sides in a group: a rank that sends first and receives then would wait for one that does the same. */
int cuda_sum_exchange(struct cuda_sum *sum, const struct ops_exchange *exchange)
{
	bool alone = !sum->is_open;
	int rc = 0;

	if (exchange->out_size == 0 && exchange->in_size == 0)
		return 0;
	if (alone)
		rc = cuda_sum_open(sum);
	if (rc != 0)
		return rc;
	cuda_sum_add(sum, exchange);
	return alone ? cuda_sum_close(sum) : 0;
}

const struct cuda_launch *cuda_sum_launch(struct cuda_sum *sum)
{
	sum->calls++;
	return &sum->launch;
}

static int cuda_sum_order(const struct cuda_sum *sum, cudaEvent_t event, void *before, void *behind)
{
	cudaError_t error = cudaEventRecord(event, before);

	if (error == cudaSuccess)
		error = cudaStreamWaitEvent(behind, event, 0);
	return cuda_sum_cuda(sum, error);
}

int cuda_sum_ready(struct cuda_sum *sum)
{
	return cuda_sum_order(sum, sum->made, sum->compute.stream, sum->launch.stream);
}

int cuda_sum_end(struct cuda_sum *sum)
{
	return cuda_sum_order(sum, sum->summed, sum->launch.stream, sum->compute.stream);
}
