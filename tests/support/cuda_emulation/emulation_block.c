/* Blocks run one after another. In a block, each thread runs until its next barrier.
 *
 * A fiber takes one thread after another while none of them waits: a kernel without barriers needs
 * one fiber. A thread that waits keeps its fiber, and another fiber goes on with the rest. */
#include "tests/support/cuda_emulation/emulation_block.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/cuda_emulation/emulation_switch.h"

#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATION_FIBERS 1
#endif
#endif
#ifdef EMULATION_FIBERS
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(keep, bottom, size) \
	((void)(keep), (void)(bottom), (void)(size))
#define __sanitizer_finish_switch_fiber(keep, bottom, size) \
	((void)(keep), (void)(bottom), (void)(size))
#endif

enum { EMULATION_STACK = 256 << 10 };

enum emulation_state {
	EMULATION_FRESH,
	EMULATION_AT_BLOCK,
	EMULATION_AT_WARP,
	EMULATION_READY,
	EMULATION_OVER
};

struct emulation_fiber {
	struct emulation_context context;
	void *stack, *fake;
	struct emulation_fiber *next; /* of the free ones */
};

struct emulation_thread {
	enum emulation_state state;
	struct emulation_fiber *fiber;
};

/* As the compiler of kernels sees them (cuda_runtime.h). */
struct emulation_place {
	unsigned x, y, z;
};
extern struct emulation_place threadIdx, blockIdx, blockDim, gridDim;
struct emulation_place threadIdx, blockIdx, blockDim, gridDim;
void *emulation_shared(void);
void emulation_block_barrier(void);
uint64_t emulation_exchange(uint64_t value, unsigned lane);
uint32_t emulation_ballot(bool value);

static struct {
	enum emulation_order order;
	const struct emulation_grid *grid;
	void (*run)(const void *body);
	const void *body;
	void *shared;
	unsigned count, began, current;         /* threads of the block */
	unsigned places[EMULATION_THREADS_MAX]; /* their order */
	struct emulation_thread threads[EMULATION_THREADS_MAX];
	/* What threads of a warp give each other: in two places by turns, so that one barrier is enough. */
	uint64_t given[2][EMULATION_THREADS_MAX];
	bool turns[EMULATION_THREADS_MAX];
	struct emulation_fiber *free, *now;
	struct emulation_context home;
	void *home_fake;
	const void *home_bottom;
	size_t home_size;
} emulation_block;

void emulation_set_order(enum emulation_order order)
{
	emulation_block.order = order;
}

/* The place of the nth of `count`. Mixed: a step that has no divisor in common with `count`. */
static uint64_t emulation_place(uint64_t nth, uint64_t count)
{
	static const uint64_t steps[] = {7919, 7907, 7901, 7883};

	if (emulation_block.order == EMULATION_BACKWARDS)
		return count - 1 - nth;
	for (size_t i = 0; emulation_block.order == EMULATION_MIXED && i < 4; i++)
		if (count % steps[i] != 0)
			return (nth * steps[i] + count / 3) % count;
	return nth;
}

static void emulation_enter(unsigned thread)
{
	const unsigned *block = emulation_block.grid->block;

	emulation_block.current = thread;
	threadIdx = (struct emulation_place){thread % block[0], thread / block[0] % block[1],
					     thread / block[0] / block[1]};
}

/* --- fibers --- */

static void emulation_leave(struct emulation_fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->fake, emulation_block.home_bottom,
				       emulation_block.home_size);
	emulation_context_switch(&fiber->context, &emulation_block.home);
	__sanitizer_finish_switch_fiber(fiber->fake, &emulation_block.home_bottom,
					&emulation_block.home_size);
}

static void emulation_fiber_main(void)
{
	__sanitizer_finish_switch_fiber(NULL, &emulation_block.home_bottom,
					&emulation_block.home_size);
	for (;;) {
		struct emulation_fiber *fiber = emulation_block.now;

		while (emulation_block.began < emulation_block.count) {
			unsigned thread = emulation_block.places[emulation_block.began++];

			emulation_block.threads[thread].fiber = fiber;
			emulation_enter(thread);
			emulation_block.run(emulation_block.body);
			emulation_block.threads[emulation_block.current].state = EMULATION_OVER;
		}
		fiber->next = emulation_block.free;
		emulation_block.free = fiber;
		emulation_leave(fiber);
	}
}

static struct emulation_fiber *emulation_fiber_new(void)
{
	struct emulation_fiber *fiber = emulation_block.free;

	if (fiber) {
		emulation_block.free = fiber->next;
		return fiber;
	}
	fiber = calloc(1, sizeof(*fiber));
	if (!fiber)
		abort();
	fiber->stack = mmap(NULL, EMULATION_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED)
		abort();
	emulation_context_make(&fiber->context, fiber->stack, EMULATION_STACK,
			       emulation_fiber_main);
	return fiber;
}

static void emulation_resume(struct emulation_fiber *fiber)
{
	emulation_block.now = fiber;
	__sanitizer_start_switch_fiber(&emulation_block.home_fake, fiber->stack, EMULATION_STACK);
	emulation_context_switch(&emulation_block.home, &fiber->context);
	__sanitizer_finish_switch_fiber(emulation_block.home_fake, NULL, NULL);
}

/* --- barriers --- */

static void emulation_wait(enum emulation_state state)
{
	unsigned thread = emulation_block.current;
	struct emulation_fiber *fiber = emulation_block.threads[thread].fiber;

	emulation_block.threads[thread].state = state;
	emulation_leave(fiber);
	emulation_enter(thread);
}

void emulation_block_barrier(void)
{
	emulation_wait(EMULATION_AT_BLOCK);
}

/* What the threads of the warp have given. */
static const uint64_t *emulation_give(uint64_t value)
{
	unsigned thread = emulation_block.current;
	bool turn = !emulation_block.turns[thread];

	emulation_block.turns[thread] = turn;
	emulation_block.given[turn][thread] = value;
	emulation_wait(EMULATION_AT_WARP);
	return &emulation_block.given[turn][thread / EMULATION_WARP * EMULATION_WARP];
}

uint64_t emulation_exchange(uint64_t value, unsigned lane)
{
	return emulation_give(value)[lane];
}

uint32_t emulation_ballot(bool value)
{
	const uint64_t *given = emulation_give(value ? 1 : 0);
	uint32_t bits = 0;

	for (unsigned i = 0; i < EMULATION_WARP; i++)
		bits |= (uint32_t)given[i] << i;
	return bits;
}

void *emulation_shared(void)
{
	return emulation_block.shared;
}

static bool emulation_all_at(unsigned first, unsigned count, enum emulation_state state)
{
	for (unsigned i = first; i < first + count; i++)
		if (emulation_block.threads[i].state != state)
			return false;
	return true;
}

static void emulation_release(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		emulation_block.threads[i].state = EMULATION_READY;
}

/* Who may go on. Threads that wait for each other for ever end the program. */
static bool emulation_settle(void)
{
	unsigned count = emulation_block.count;
	bool any = false;

	if (emulation_all_at(0, count, EMULATION_OVER))
		return false;
	if (emulation_all_at(0, count, EMULATION_AT_BLOCK)) {
		emulation_release(0, count);
		return true;
	}
	for (unsigned i = 0; i + EMULATION_WARP <= count; i += EMULATION_WARP)
		if (emulation_all_at(i, EMULATION_WARP, EMULATION_AT_WARP)) {
			emulation_release(i, EMULATION_WARP);
			any = true;
		}
	if (!any) {
		fprintf(stderr, "emulation of CUDA: a barrier that some threads do not reach\n");
		abort();
	}
	return true;
}

/* --- blocks --- */

static void emulation_block_run(void)
{
	const struct emulation_grid *grid = emulation_block.grid;

	emulation_block.shared = grid->shared > 0 ? malloc(grid->shared) : NULL;
	if (grid->shared > 0 && !emulation_block.shared)
		abort();
	if (grid->shared > 0)
		memset(emulation_block.shared, 0xff, grid->shared); /* no numbers */
	emulation_block.began = 0;
	for (unsigned i = 0; i < emulation_block.count; i++)
		emulation_block.threads[i] = (struct emulation_thread){EMULATION_FRESH, NULL};
	memset(emulation_block.turns, 0, sizeof(emulation_block.turns));
	while (emulation_block.began < emulation_block.count)
		emulation_resume(emulation_fiber_new());
	while (emulation_settle())
		for (unsigned i = 0; i < emulation_block.count; i++) {
			struct emulation_thread *thread =
				&emulation_block.threads[emulation_block.places[i]];

			if (thread->state == EMULATION_READY)
				emulation_resume(thread->fiber);
		}
	free(emulation_block.shared);
}

void emulation_grid_run(const struct emulation_grid *grid, void (*run)(const void *body),
			const void *body)
{
	uint64_t across = grid->grid[0];
	uint64_t blocks = across * grid->grid[1] * grid->grid[2];

	emulation_block.grid = grid;
	emulation_block.run = run;
	emulation_block.body = body;
	emulation_block.count = grid->block[0] * grid->block[1] * grid->block[2];
	blockDim = (struct emulation_place){grid->block[0], grid->block[1], grid->block[2]};
	gridDim = (struct emulation_place){grid->grid[0], grid->grid[1], grid->grid[2]};
	for (unsigned i = 0; i < emulation_block.count; i++)
		emulation_block.places[i] = (unsigned)emulation_place(i, emulation_block.count);
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t nth = emulation_place(i, blocks);

		blockIdx = (struct emulation_place){(unsigned)(nth % across),
						    (unsigned)(nth / across % grid->grid[1]),
						    (unsigned)(nth / across / grid->grid[1])};
		emulation_block_run();
	}
}
