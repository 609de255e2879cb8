/* An emulation of the part of NCCL that the trainer calls, as a library of NCCL's name: ranks are processes of one machine, and
 * device memory is that of the emulation of CUDA (cuda_runtime.h). No GPU and no NCCL is behind it.
 *
 * A sum is work of a stream, as NCCL's is. It waits for all ranks without an end, as NCCL's does: only ncclCommAbort ends it.
 * Numbers are added in the order of ranks, in FP32, and rounded once. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/half.h"

#include "tests/support/cuda_emulation/emulation.h"
#include "trainer_image/ops/cuda/nccl_library.h"

enum { RANKS_MAX = 8, SLOT = 64 << 20, ERROR_INVALID = 4 };

struct ground {
	atomic_int joined, arrived[2];
	uint8_t slots[RANKS_MAX][SLOT]; /* pages that nobody touches cost nothing */
};

struct comm {
	struct ground *ground;
	int rank, ranks;
	atomic_bool aborted;
	int barriers;
};

struct sum {
	struct comm *comm;
	void *numbers;
	size_t count;
	int type;
	int met;           /* places where all ranks met */
	atomic_int *place; /* the next one, and how many make it full */
	int all;
};

int ncclGetVersion(int *ret);
int ncclGetUniqueId(struct nccl_id *ret);
int ncclCommInitRankConfig(void **ret, int ranks, struct nccl_id id, int rank,
			   struct nccl_config *config);
int ncclCommGetAsyncError(void *comm, int *ret);
int ncclCommAbort(void *comm);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm,
		  void *stream);
const char *ncclGetErrorString(int result);
const char *ncclGetLastError(void *comm);

int ncclGetVersion(int *ret)
{
	*ret = 21400;
	return NCCL_SUCCESS;
}

/* The name of a file that the ranks share. */
int ncclGetUniqueId(struct nccl_id *ret)
{
	int file;

	*ret = (struct nccl_id){0};
	(void)snprintf(ret->bytes, sizeof(ret->bytes), "/dev/shm/nccl-emulation.XXXXXX");
	file = mkstemp(ret->bytes);
	if (file < 0)
		return ERROR_INVALID;
	int rc = ftruncate(file, sizeof(struct ground));

	(void)close(file);
	return rc == 0 ? NCCL_SUCCESS : ERROR_INVALID;
}

/* The last rank that joins takes the name away. */
int ncclCommInitRankConfig(void **ret, int ranks, struct nccl_id id, int rank,
			   struct nccl_config *config)
{
	struct comm *comm;
	int file;

	if (ranks < 1 || ranks > RANKS_MAX || rank < 0 || rank >= ranks || config->blocking != 0 ||
	    config->magic != 0xcafebeefU)
		return ERROR_INVALID;
	file = open(id.bytes, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return ERROR_INVALID;
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return ERROR_INVALID;
	comm->rank = rank;
	comm->ranks = ranks;
	comm->ground =
		mmap(NULL, sizeof(*comm->ground), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	(void)close(file);
	if (comm->ground == MAP_FAILED)
		return ERROR_INVALID;
	if (atomic_fetch_add(&comm->ground->joined, 1) + 1 == ranks)
		(void)unlink(id.bytes);
	*ret = comm;
	return NCCL_IN_PROGRESS;
}

int ncclCommGetAsyncError(void *is, int *ret)
{
	struct comm *comm = is;

	*ret = atomic_load(&comm->ground->joined) == comm->ranks ? NCCL_SUCCESS : NCCL_IN_PROGRESS;
	return NCCL_SUCCESS;
}

/* Work of a stream may still name it: it stays. */
int ncclCommAbort(void *is)
{
	struct comm *comm = is;

	atomic_store(&comm->aborted, true);
	return NCCL_SUCCESS;
}

/* Counts this rank at a place where all meet. What all of them have to be there. */
static int arrive(struct comm *comm)
{
	atomic_int *arrived = &comm->ground->arrived[comm->barriers % 2];
	int all = (comm->barriers / 2 + 1) * comm->ranks;

	comm->barriers++;
	(void)atomic_fetch_add(arrived, 1);
	return all;
}

static float number(const void *numbers, size_t nth, int type)
{
	float full = 0;

	if (type == NCCL_FP32)
		return ((const float *)numbers)[nth];
	if (type == NCCL_FP16)
		half_from_fp16((const uint16_t *)numbers + nth, &full, 1);
	else
		half_from_bf16((const uint16_t *)numbers + nth, &full, 1);
	return full;
}

static void number_set(void *numbers, size_t nth, int type, float full)
{
	if (type == NCCL_FP32)
		((float *)numbers)[nth] = full;
	else if (type == NCCL_FP16)
		half_to_fp16(&full, (uint16_t *)numbers + nth, 1);
	else
		half_to_bf16(&full, (uint16_t *)numbers + nth, 1);
}

static size_t number_size(int type)
{
	return type == NCCL_FP32 ? sizeof(float) : sizeof(uint16_t);
}

static void sum_add(const struct sum *sum)
{
	for (size_t i = 0; i < sum->count; i++) {
		float all = 0;

		for (int rank = 0; rank < sum->comm->ranks; rank++)
			all += number(sum->comm->ground->slots[rank], i, sum->type);
		number_set(sum->numbers, i, sum->type, all);
	}
}

/* All ranks meet twice: when their numbers are there, and when all have read them. */
static bool sum_poll(const void *body)
{
	struct sum *sum = *(struct sum *const *)body;
	struct comm *comm = sum->comm;
	bool aborted = atomic_load(&comm->aborted);

	if (sum->met == 0) {
		memcpy(comm->ground->slots[comm->rank], sum->numbers,
		       sum->count * number_size(sum->type));
		sum->place = &comm->ground->arrived[comm->barriers % 2];
		sum->all = arrive(comm);
		sum->met = 1;
	}
	if (sum->met == 1 && !aborted && atomic_load(sum->place) >= sum->all) {
		sum_add(sum);
		sum->place = &comm->ground->arrived[comm->barriers % 2];
		sum->all = arrive(comm);
		sum->met = 2;
	}
	if (!aborted && (sum->met < 2 || atomic_load(sum->place) < sum->all))
		return false;
	free(sum);
	return true;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm,
		  void *stream)
{
	struct sum *sum;

	if (from != to || operation != NCCL_SUM || count * number_size(type) > SLOT)
		return ERROR_INVALID;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return ERROR_INVALID;
	*sum = (struct sum){.comm = comm, .numbers = to, .count = count, .type = type};
	return emulation_enqueue_poll(stream, sum_poll, &sum, sizeof(sum)) == 0 ? NCCL_SUCCESS
										: ERROR_INVALID;
}

const char *ncclGetErrorString(int result)
{
	return result == NCCL_SUCCESS ? "no error" : "an error of the emulation";
}

const char *ncclGetLastError(void *comm)
{
	(void)comm;
	return "the emulation says no more";
}
