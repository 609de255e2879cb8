/* Streams, graphs and memory of the emulation of CUDA: work is a list of pieces, each a copy of its
 * arguments. emulation_block.c runs the threads of a kernel. */
#include "tests/support/cuda_emulation/emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/support/cuda_emulation/cuda_runtime.h"
#include "tests/support/cuda_emulation/emulation_block.h"

#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATION_POISON 1
#endif
#endif
#ifdef EMULATION_POISON
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(at, size)   ((void)(at), (void)(size))
#define __asan_unpoison_memory_region(at, size) ((void)(at), (void)(size))
#endif

enum { EMULATION_ALIGNMENT = 256, EMULATION_SHARED_MOST = 48 << 10, EMULATION_PAUSE_US = 20 };
#define EMULATION_ARENA ((size_t)1 << 32)

struct emulation_piece {
	struct emulation_piece *next;
	struct emulation_grid grid; /* of a kernel: threads of a block are not 0 */
	void (*run)(const void *body);
	bool (*poll)(const void *body); /* in place of `run`: true when it is done */
	_Alignas(16) unsigned char body[];
};

struct emulation_list {
	struct emulation_piece *first, **end;
};

struct emulation_stream {
	struct emulation_list work;
	struct emulation_graph *capture;
};

struct emulation_graph {
	struct emulation_list work;
	unsigned holders; /* the graph, and what was made of it */
};

struct emulation_event {
	struct emulation_stream *stream;
	uint64_t recorded, reached; /* how often */
};

/* Device memory is one mapping: places are not given again before all of them are free. */
static struct {
	uint8_t *arena;
	size_t used, last, taken; /* `last`: the place of the last piece */
	int open;                 /* how many work on it now */
	int devices;
	int64_t memory;
	bool broken;
	uint64_t kernels;
} emulation = {.devices = 1, .memory = -1};

/* --- memory --- */

static void emulation_protect(int protection)
{
	if (emulation.arena && emulation.used > 0 &&
	    mprotect(emulation.arena, emulation.used, protection) != 0)
		abort();
}

static void emulation_open(void)
{
	if (emulation.open++ == 0)
		emulation_protect(PROT_READ | PROT_WRITE);
}

static void emulation_close(void)
{
	if (--emulation.open == 0)
		emulation_protect(PROT_NONE);
}

static size_t emulation_pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

/* In front of each piece of memory. The last pieces that are free are cut off. */
struct emulation_head {
	size_t room, bytes, before; /* of the piece before: its place */
	bool is_free;
};

static void emulation_arena_open(void)
{
	if (emulation.arena)
		return;
	emulation.arena = mmap(NULL, EMULATION_ARENA, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (emulation.arena == MAP_FAILED)
		abort();
}

static struct emulation_head *emulation_head_at(size_t place)
{
	return (struct emulation_head *)(void *)(emulation.arena + place);
}

cudaError_t cudaMalloc(void **ret, size_t bytes)
{
	size_t room = emulation_pages(EMULATION_ALIGNMENT + bytes + 1);
	struct emulation_head *head;

	if (emulation.memory == 0 || bytes > EMULATION_ARENA ||
	    room > EMULATION_ARENA - emulation.used)
		return cudaErrorMemoryAllocation;
	emulation.memory -= emulation.memory > 0 ? 1 : 0;
	emulation_arena_open();
	head = emulation_head_at(emulation.used);
	emulation.used += room;
	emulation.taken += bytes;
	emulation_open();
	__asan_unpoison_memory_region(head, room);
	*head = (struct emulation_head){room, bytes, emulation.last, false};
	emulation.last = emulation.used - room;
	*ret = (uint8_t *)head + EMULATION_ALIGNMENT;
	memset(*ret, 0xa5, bytes);
	__asan_poison_memory_region((uint8_t *)head + sizeof(*head),
				    EMULATION_ALIGNMENT - sizeof(*head));
	__asan_poison_memory_region((uint8_t *)*ret + bytes, room - EMULATION_ALIGNMENT - bytes);
	emulation_close();
	return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
	struct emulation_head *head;

	if (!memory)
		return cudaSuccess;
	head = (void *)((uint8_t *)memory - EMULATION_ALIGNMENT);
	emulation_open();
	head->is_free = true;
	emulation.taken -= head->bytes;
	__asan_poison_memory_region(memory, head->bytes);
	size_t used = emulation.used;

	while (used > 0 && emulation_head_at(emulation.last)->is_free) {
		used = emulation.last;
		emulation.last = emulation_head_at(used)->before;
	}
	emulation_close();
	emulation.used = used;
	return cudaSuccess;
}

cudaError_t cudaMallocHost(void **ret, size_t bytes)
{
	*ret = malloc(bytes ? bytes : 1);
	return *ret ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory)
{
	free(memory);
	return cudaSuccess;
}

/* --- work --- */

static void emulation_pause(void)
{
	const struct timespec pause = {.tv_nsec = EMULATION_PAUSE_US * 1000L};

	(void)nanosleep(&pause, NULL);
}

static void emulation_list_init(struct emulation_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

static void emulation_list_done(struct emulation_list *list)
{
	while (list->first) {
		struct emulation_piece *next = list->first->next;

		free(list->first);
		list->first = next;
	}
	emulation_list_init(list);
}

static cudaError_t emulation_add(struct emulation_stream *stream, const struct emulation_grid *grid,
				 void (*run)(const void *body), const void *body, size_t size)
{
	struct emulation_list *list = stream->capture ? &stream->capture->work : &stream->work;
	struct emulation_piece *piece = malloc(sizeof(*piece) + size);

	if (!piece)
		return cudaErrorMemoryAllocation;
	*piece = (struct emulation_piece){.grid = *grid, .run = run};
	memcpy(piece->body, body, size);
	*list->end = piece;
	list->end = &piece->next;
	return cudaSuccess;
}

/* False: it has to wait. */
static bool emulation_run_piece(const struct emulation_piece *piece)
{
	if (piece->poll)
		return piece->poll(piece->body);
	if (piece->grid.block[0] == 0) {
		piece->run(piece->body);
		return true;
	}
	emulation.kernels++;
	emulation_grid_run(&piece->grid, piece->run, piece->body);
	return true;
}

/* Of a graph, which stays. Nothing in one waits. */
static void emulation_run_graph(const struct emulation_list *list)
{
	for (const struct emulation_piece *at = list->first; at; at = at->next)
		(void)emulation_run_piece(at);
}

/* Until the stream is at its end or has to wait, or `event` is there (NULL: no event). A piece that is run leaves the
 * stream first: waiting for another stream may come back to this one. */
static bool emulation_run_stream(struct emulation_stream *stream,
				 const struct emulation_event *event, uint64_t until)
{
	struct emulation_list *list = &stream->work;
	bool runs = true;

	emulation_open();
	while (runs && list->first && !(event && event->reached >= until)) {
		struct emulation_piece *piece = list->first;

		list->first = piece->next;
		if (!list->first)
			list->end = &list->first;
		runs = emulation_run_piece(piece);
		if (runs) {
			free(piece);
			continue;
		}
		piece->next = list->first;
		list->first = piece;
		if (!piece->next)
			list->end = &piece->next;
	}
	emulation_close();
	return runs;
}

int emulation_enqueue_poll(struct emulation_stream *stream, bool (*poll)(const void *body),
			   const void *body, size_t size)
{
	struct emulation_piece **end = stream->work.end;

	if (stream->capture)
		return (int)cudaErrorStreamCaptureUnsupported;
	cudaError_t error = emulation_add(stream, &(struct emulation_grid){0}, NULL, body, size);

	if (error == cudaSuccess)
		(*end)->poll = poll;
	return (int)error;
}

int emulation_enqueue(struct emulation_stream *stream, void (*run)(const void *body),
		      const void *body, size_t size)
{
	return (int)emulation_add(stream, &(struct emulation_grid){0}, run, body, size);
}

cudaError_t emulation_launch(const unsigned grid[3], const unsigned block[3], size_t shared,
			     cudaStream_t stream, void (*run)(const void *body), const void *body,
			     size_t size);
cudaError_t emulation_launch(const unsigned grid[3], const unsigned block[3], size_t shared,
			     cudaStream_t stream, void (*run)(const void *body), const void *body,
			     size_t size)
{
	const struct emulation_grid is = {
		{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared};
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	if (threads == 0 || threads > EMULATION_THREADS_MAX || grid[0] == 0 ||
	    grid[0] > INT32_MAX || grid[1] == 0 || grid[1] > 65535 || grid[2] == 0 ||
	    grid[2] > 65535 || shared > EMULATION_SHARED_MOST)
		return cudaErrorInvalidConfiguration;
	return emulation_add(stream, &is, run, body, size);
}

struct emulation_copy {
	void *to;
	const void *from;
	int value; /* where `from` is NULL */
	size_t bytes;
};

static void emulation_copy_run(const void *body)
{
	const struct emulation_copy *copy = body;

	if (copy->from)
		memmove(copy->to, copy->from, copy->bytes);
	else
		memset(copy->to, copy->value, copy->bytes);
}

static bool emulation_is_device(const void *memory)
{
	return emulation.arena && (const uint8_t *)memory >= emulation.arena &&
	       (const uint8_t *)memory < emulation.arena + emulation.used;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	const struct emulation_copy copy = {to, from, 0, bytes};

	if (emulation_is_device(to) !=
		    (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
	    emulation_is_device(from) !=
		    (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice))
		return cudaErrorInvalidValue;
	return (cudaError_t)emulation_enqueue(stream, emulation_copy_run, &copy, sizeof(copy));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	const struct emulation_copy copy = {to, NULL, value, bytes};

	if (!emulation_is_device(to))
		return cudaErrorInvalidValue;
	return (cudaError_t)emulation_enqueue(stream, emulation_copy_run, &copy, sizeof(copy));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
	struct emulation_stream *stream = calloc(1, sizeof(*stream));

	(void)flags;
	if (!stream)
		return cudaErrorMemoryAllocation;
	emulation_list_init(&stream->work);
	*ret = stream;
	return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	if (stream->capture)
		return cudaErrorStreamCaptureUnsupported;
	if (emulation.broken) {
		emulation.broken = false;
		emulation_list_done(&stream->work);
		return cudaErrorInvalidValue;
	}
	while (!emulation_run_stream(stream, NULL, 0))
		emulation_pause();
	return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	if (stream->capture)
		return cudaErrorStreamCaptureUnsupported;
	if (emulation.broken)
		return cudaStreamSynchronize(stream);
	return emulation_run_stream(stream, NULL, 0) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	(void)cudaStreamSynchronize(stream);
	free(stream);
	return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)mode;
	if (stream->capture)
		return cudaErrorStreamCaptureUnsupported;
	stream->capture = calloc(1, sizeof(*stream->capture));
	if (!stream->capture)
		return cudaErrorMemoryAllocation;
	stream->capture->holders = 1;
	emulation_list_init(&stream->capture->work);
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret)
{
	if (!stream->capture)
		return cudaErrorStreamCaptureInvalidated;
	*ret = stream->capture;
	stream->capture = NULL;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph, unsigned long long flags)
{
	(void)flags;
	graph->holders++;
	*ret = graph;
	return cudaSuccess;
}

static void emulation_graph_run(const void *body)
{
	emulation_run_graph(&(*(struct emulation_graph *const *)body)->work);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
	return (cudaError_t)emulation_enqueue(stream, emulation_graph_run, &graph, sizeof(graph));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	if (--graph->holders == 0) {
		emulation_list_done(&graph->work);
		free(graph);
	}
	return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
	return cudaGraphDestroy(graph);
}

/* --- events: whoever waits for one waits for all of its stream --- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
	(void)flags;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? cudaSuccess : cudaErrorMemoryAllocation;
}

struct emulation_order_of {
	struct emulation_event *event;
	uint64_t until;
};

static void emulation_event_reach(const void *body)
{
	(*(struct emulation_event *const *)body)->reached++;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	event->stream = stream;
	event->recorded++;
	return (cudaError_t)emulation_enqueue(stream, emulation_event_reach, &event, sizeof(event));
}

/* The other stream runs up to the event. */
static bool emulation_event_wait(const void *body)
{
	const struct emulation_order_of *is = body;

	if (is->event->reached < is->until)
		(void)emulation_run_stream(is->event->stream, is->event, is->until);
	return is->event->reached >= is->until;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	const struct emulation_order_of order = {event, event->recorded};

	(void)flags;
	if (event->recorded == 0)
		return cudaSuccess;
	return (cudaError_t)emulation_enqueue_poll(stream, emulation_event_wait, &order,
						   sizeof(order));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return event->stream ? cudaStreamSynchronize(event->stream) : cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

/* --- devices, and what tests ask --- */

cudaError_t cudaGetDeviceCount(int *count)
{
	if (emulation.devices < 0)
		return (cudaError_t)-emulation.devices;
	*count = emulation.devices;
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	return device < emulation.devices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error)
{
	return error == cudaSuccess ? "cudaSuccess" : "cudaErrorEmulated";
}

const char *cudaGetErrorString(cudaError_t error)
{
	return error == cudaSuccess ? "no error" : "an error of the emulation";
}

void emulation_set_devices(int count)
{
	emulation.devices = count;
}

void emulation_set_memory(int64_t count)
{
	emulation.memory = count;
}

void emulation_break(void)
{
	emulation.broken = true;
}

uint64_t emulation_kernels(void)
{
	return emulation.kernels;
}

size_t emulation_taken(void)
{
	return emulation.taken;
}
