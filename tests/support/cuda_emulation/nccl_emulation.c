/* An emulation of the part of NCCL that the trainer calls, as a library of NCCL's name: ranks are processes of one machine, and
 * device memory is that of the emulation of CUDA (cuda_runtime.h). No GPU and no NCCL is behind it.
 *
 * A group is work of a stream, as NCCL's is, and begins as early as the stream lets it. It waits for the other ranks without an end, as NCCL's does: only ncclCommAbort ends
 * it. That waits until all ranks that live have called it, as NCCL's does within a machine. Bytes from one rank to another go through a pipe in shared memory, in the order of
 * the calls.
 *
 * NCCL_EMULATION_FAULT="RANK GROUP RESULT WORDS": what that rank meets in its group of the number, from 1 on; 0: while it joins. RESULT is an error of NCCL, whose words follow;
 * -1: its groups stand still from then on; -9: it is killed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

enum { RANKS_MAX = 8, PIPE = 1 << 20, MOVES_MAX = 2 * RANKS_MAX, PAUSE_US = 1000 };
enum { ERROR_INVALID = 4, ERROR_REMOTE = 6 };
enum { FAULT_STILL = -1, FAULT_KILLED = -9 };

/* Positions only grow; a place is its position modulo the pipe. */
struct pipe {
	atomic_size_t written, read;
	uint8_t bytes[PIPE]; /* pages that nobody touches cost nothing */
};

struct ground {
	atomic_int joined;
	atomic_int processes[RANKS_MAX]; /* 0: has not joined */
	atomic_bool left[RANKS_MAX];
	struct pipe pipes[RANKS_MAX][RANKS_MAX]; /* from, to */
};

struct comm {
	struct ground *ground;
	int rank, ranks, groups;
	bool is_busy; /* with a group, as it says when it is asked the next time */
	atomic_bool aborted;
};

/* What this process is to meet. */
static struct {
	int rank, group, result;
	char words[200];
	bool met;
} fault;

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

static void fault_read(void)
{
	const char *text = getenv("NCCL_EMULATION_FAULT");

	fault.rank = -1;
	if (text && sscanf(text, "%d %d %d %199[^\n]", &fault.rank, &fault.group, &fault.result,
			   fault.words) < 3)
		fault.rank = -1;
}

static bool fault_meets(const struct comm *comm)
{
	fault.met = fault.met || (comm->rank == fault.rank && comm->groups == fault.group);
	if (fault.met && fault.result == FAULT_KILLED)
		(void)raise(SIGKILL);
	return fault.met;
}

/* Also where nobody has waited for it yet. */
static bool is_gone(int process)
{
	char path[64];
	char state = 'Z';

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", process);
	FILE *file = fopen(path, "re");

	if (file) {
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'Z';
		(void)fclose(file);
	}
	return state == 'Z' || state == 'X';
}

static bool is_left(const struct comm *comm)
{
	bool left = true;

	for (int i = 0; left && i < comm->ranks; i++) {
		int process = atomic_load(&comm->ground->processes[i]);

		left = process == 0 || atomic_load(&comm->ground->left[i]) || is_gone(process);
	}
	return left;
}

static bool is_lost(const struct comm *comm)
{
	bool lost = false;

	for (int i = 0; !lost && i < comm->ranks; i++) {
		int process = atomic_load(&comm->ground->processes[i]);

		lost = process > 0 && is_gone(process);
	}
	return lost;
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
	fault_read();
	atomic_store(&comm->ground->processes[rank], (int)getpid());
	if (!fault_meets(comm) && atomic_fetch_add(&comm->ground->joined, 1) + 1 == ranks)
		(void)unlink(id.bytes);
	*ret = comm;
	return NCCL_IN_PROGRESS;
}

int ncclCommGetAsyncError(void *is, int *ret)
{
	struct comm *comm = is;
	bool joins = atomic_load(&comm->ground->joined) < comm->ranks;

	*ret = joins || comm->is_busy ? NCCL_IN_PROGRESS : NCCL_SUCCESS;
	comm->is_busy = false;
	if (joins && is_lost(comm))
		*ret = ERROR_REMOTE;
	if (fault.met && fault.result > 0)
		*ret = fault.result;
	return NCCL_SUCCESS;
}

/* Work of a stream may still name it: it stays. */
int ncclCommAbort(void *is)
{
	struct comm *comm = is;

	atomic_store(&comm->aborted, true);
	atomic_store(&comm->ground->left[comm->rank], true);
	while (!is_left(comm))
		(void)usleep(PAUSE_US);
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
	bool may_move = !fault.met || fault.result != FAULT_STILL;
	bool done = may_move || atomic_load(&group->comm->aborted);

	for (int i = 0; may_move && i < group->count && !atomic_load(&group->comm->aborted); i++) {
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

/* NCCL that does not block is always still at it. */
int ncclGroupEnd(void)
{
	struct group *group;

	if (!calls.open)
		return ERROR_INVALID;
	calls.open = false;
	if (calls.is.count == 0)
		return NCCL_SUCCESS;
	group = malloc(sizeof(*group));
	if (!group)
		return ERROR_INVALID;
	*group = calls.is;
	group->comm->groups++;
	group->comm->is_busy = true;
	(void)fault_meets(group->comm);
	if (emulation_enqueue_poll(group->stream, group_poll, &group, sizeof(group)) != 0)
		return ERROR_INVALID;
	(void)cudaStreamQuery(calls.is.stream);
	return NCCL_IN_PROGRESS;
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

static bool is_rank(const struct comm *comm, int rank)
{
	return rank >= 0 && rank < comm->ranks;
}

int ncclSend(const void *from, size_t count, int type, int to, void *is, void *stream)
{
	struct comm *comm = is;

	if (type != NCCL_BYTE || !is_rank(comm, to))
		return ERROR_INVALID;
	return group_add(comm, stream,
			 &(struct move){.pipe = &comm->ground->pipes[comm->rank][to],
					.out = from,
					.left = count});
}

int ncclRecv(void *to, size_t count, int type, int from, void *is, void *stream)
{
	struct comm *comm = is;

	if (type != NCCL_BYTE || !is_rank(comm, from))
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
	return fault.met ? fault.words : "the emulation says no more";
}
