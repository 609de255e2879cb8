/* Streams and graphs of the emulation of CUDA: work is a list of pieces, each a copy of its arguments.
 * emulation_block.c runs the threads of a kernel. */
#include "tests/support/cuda_emulation/emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"

#include "tests/support/cuda_emulation/cuda_runtime.h"
#include "tests/support/cuda_emulation/emulation_block.h"
#include "tests/support/cuda_emulation/emulation_memory.h"

enum { EMULATION_SHARED_MOST = 48 << 10, EMULATION_PAUSE_US = 20, EMULATION_VERSION = 13000 };

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
	int64_t reached_us;
	bool timed;
};

static struct {
	int devices;
	int broken; /* waits until one fails; below 0: none does */
	uint64_t kernels;
} emulation = {.devices = 1, .broken = -1};

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

static void emulation_event_reach(const void *body)
{
	struct emulation_event *event = *(struct emulation_event *const *)body;

	event->reached++;
	event->reached_us = clock_monotonic_us();
}

/* Nobody waits for ever for what is lost. */
static void emulation_lose(struct emulation_list *list)
{
	for (const struct emulation_piece *at = list->first; at; at = at->next)
		if (at->run == emulation_event_reach)
			at->run(at->body);
	emulation_list_done(list);
}

/* All streams run by turns. */
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -1;
	return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority)
{
	return priority > 0 || priority < -1 ? cudaErrorInvalidValue
					     : cudaStreamCreateWithFlags(ret, flags);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	if (stream->capture)
		return cudaErrorStreamCaptureUnsupported;
	if (emulation.broken >= 0 && emulation.broken-- == 0) {
		emulation_lose(&stream->work);
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
	if (emulation.broken == 0)
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
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return cudaErrorMemoryAllocation;
	(*ret)->timed = flags == cudaEventDefault;
	return cudaSuccess;
}

struct emulation_order_of {
	struct emulation_event *event;
	uint64_t until;
};

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

/* Runs nothing: so it is known that somebody waited for it. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to)
{
	if (!from->timed || !to->timed || from->recorded == 0 || to->recorded == 0)
		return cudaErrorInvalidValue;
	if (from->reached < from->recorded || to->reached < to->recorded)
		return cudaErrorNotReady;
	*ret_ms = (float)(to->reached_us - from->reached_us) / 1e3F;
	return cudaSuccess;
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

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device)
{
	if (device >= emulation.devices)
		return cudaErrorInvalidDevice;
	*ret = (struct cudaDeviceProp){"emulated GPU"};
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = EMULATION_VERSION;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = EMULATION_VERSION;
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

void emulation_break(int waits)
{
	emulation.broken = waits;
}

uint64_t emulation_kernels(void)
{
	return emulation.kernels;
}
