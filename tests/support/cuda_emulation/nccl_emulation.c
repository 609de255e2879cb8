/* An emulation of the part of NCCL that the trainer calls, as a library of NCCL's name: ranks are processes of one machine, and
 * device memory is that of the emulation of CUDA (cuda_runtime.h). No GPU and no NCCL is behind it.
 *
 * A group is work of a stream, as NCCL's is, and begins as early as the stream lets it. It waits for the other ranks without an end, as NCCL's does: only ncclCommAbort ends
 * it. Bytes from one rank to another go through a pipe in shared memory, in the order of the calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cuda_emulation/cuda_runtime.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/cuda_emulation/emulation_memory.h"
#include "trainer_image/ops/cuda/nccl_library.h"

enum { RANKS_MAX = 8, PIPE = 1 << 20, MOVES_MAX = 2, ERROR_INVALID = 4 };

/* Positions only grow; a place is its position modulo the pipe. */
struct pipe {
	atomic_size_t written, read;
	uint8_t bytes[PIPE]; /* pages that nobody touches cost nothing */
};

struct ground {
	atomic_int joined;
	struct pipe pipes[RANKS_MAX][RANKS_MAX]; /* from, to */
};

struct comm {
	struct ground *ground;
	int rank, ranks;
	atomic_bool aborted;
};

/* One side of an exchange. */
struct move {
	struct pipe *pipe;
	const uint8_t *out; /* NULL: it receives */
	uint8_t *in;
	size_t left;
};

struct group {
	struct comm *comm;
	void *stream;
	struct move moves[MOVES_MAX];
	int count;
};

/* Of the calling thread, between ncclGroupStart and ncclGroupEnd. */
static _Thread_local struct {
	bool open;
	struct group is;
} calls;

int ncclGetVersion(int *ret);
int ncclGetUniqueId(struct nccl_id *ret);
int ncclCommInitRankConfig(void **ret, int ranks, struct nccl_id id, int rank,
			   struct nccl_config *config);
int ncclCommGetAsyncError(void *comm, int *ret);
int ncclCommAbort(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclSend(const void *from, size_t count, int type, int to, void *comm, void *stream);
int ncclRecv(void *to, size_t count, int type, int from, void *comm, void *stream);
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

/* --- groups --- */

static void move_out(struct move *move)
{
	size_t written = atomic_load(&move->pipe->written);
	size_t room = PIPE - (written - atomic_load(&move->pipe->read));

	for (; room > 0 && move->left > 0; room--, move->left--)
		move->pipe->bytes[written++ % PIPE] = *move->out++;
	atomic_store(&move->pipe->written, written);
}

static void move_in(struct move *move)
{
	size_t read = atomic_load(&move->pipe->read);
	size_t there = atomic_load(&move->pipe->written) - read;

	for (; there > 0 && move->left > 0; there--, move->left--)
		*move->in++ = move->pipe->bytes[read++ % PIPE];
	atomic_store(&move->pipe->read, read);
}

static bool group_poll(const void *body)
{
	struct group *group = *(struct group *const *)body;
	bool done = true;

	for (int i = 0; i < group->count && !atomic_load(&group->comm->aborted); i++) {
		struct move *move = &group->moves[i];

		(move->out ? move_out : move_in)(move);
		done = done && move->left == 0;
	}
	if (done)
		free(group);
	return done;
}

int ncclGroupStart(void)
{
	if (calls.open)
		return ERROR_INVALID;
	calls.open = true;
	calls.is = (struct group){0};
	return NCCL_SUCCESS;
}

int ncclGroupEnd(void)
{
	struct group *group = malloc(sizeof(*group));

	if (!group || !calls.open || calls.is.count == 0) {
		free(group);
		return ERROR_INVALID;
	}
	*group = calls.is;
	calls.open = false;
	if (emulation_enqueue_poll(group->stream, group_poll, &group, sizeof(group)) != 0)
		return ERROR_INVALID;
	(void)cudaStreamQuery(calls.is.stream);
	return NCCL_SUCCESS;
}

static int group_add(struct comm *comm, void *stream, const struct move *move)
{
	struct group *group = &calls.is;

	if (!calls.open || group->count == MOVES_MAX ||
	    !emulation_is_device(move->out ? move->out : move->in) ||
	    (group->count > 0 && (group->comm != comm || group->stream != stream)))
		return ERROR_INVALID;
	group->comm = comm;
	group->stream = stream;
	group->moves[group->count++] = *move;
	return NCCL_SUCCESS;
}

static bool is_other(const struct comm *comm, int rank)
{
	return rank >= 0 && rank < comm->ranks && rank != comm->rank;
}

int ncclSend(const void *from, size_t count, int type, int to, void *is, void *stream)
{
	struct comm *comm = is;

	if (type != NCCL_BYTE || !is_other(comm, to))
		return ERROR_INVALID;
	return group_add(comm, stream,
			 &(struct move){.pipe = &comm->ground->pipes[comm->rank][to],
					.out = from,
					.left = count});
}

int ncclRecv(void *to, size_t count, int type, int from, void *is, void *stream)
{
	struct comm *comm = is;

	if (type != NCCL_BYTE || !is_other(comm, from))
		return ERROR_INVALID;
	return group_add(comm, stream,
			 &(struct move){.pipe = &comm->ground->pipes[from][comm->rank],
					.in = to,
					.left = count});
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
