/* What a test may ask of the emulation of CUDA (cuda_runtime.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order in which blocks, and the threads of a block, run. */
enum emulation_order { EMULATION_FORWARDS, EMULATION_BACKWARDS, EMULATION_MIXED, EMULATION_ORDERS };
void emulation_set_order(enum emulation_order order);

/* How many GPUs cudaGetDeviceCount() finds; below 0: the error that it returns instead. */
void emulation_set_devices(int count);
/* The next `count` calls of cudaMalloc work, then none does; below 0: all do. */
void emulation_set_memory(int64_t count);
/* Pinned memory comes in `count` pieces more (below 0: in any number), each of so many bytes at most. */
void emulation_set_host_memory(size_t most, int64_t count);
/* The wait for a stream behind `waits` more ends with an error of the device, and its work is lost. Below 0: none does. */
void emulation_break(int waits);

/* Products of a GPU that is opened from now on have two engines: one with so many bytes of workspace more, then the one that
 * there is else. 0 = one engine. Both give the same numbers; the first overwrites its whole workspace before. */
void emulation_set_engine(size_t more);

/* Kernels that ran; bytes of device memory that are taken, and the most since this was asked last. */
uint64_t emulation_kernels(void);
size_t emulation_taken(void);
size_t emulation_taken_most(void);

/* Host code for a stream, in the order of its kernels: for emulated libraries. It may touch device
 * memory. `body` of `size` bytes is copied. */
struct emulation_stream;
int emulation_enqueue(struct emulation_stream *stream, void (*run)(const void *body),
		      const void *body, size_t size);
/* The same for code that may have to wait: it is called again until it returns true. */
int emulation_enqueue_poll(struct emulation_stream *stream, bool (*poll)(const void *body),
			   const void *body, size_t size);
