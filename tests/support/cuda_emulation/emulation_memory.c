/* Device memory of the emulation of CUDA: closed to the host, and poisoned beyond each piece. */
#include "tests/support/cuda_emulation/emulation_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/cuda_emulation/cuda_runtime.h"
#include "tests/support/cuda_emulation/emulation.h"

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

enum { EMULATION_ALIGNMENT = 256 };
#define EMULATION_ARENA ((size_t)1 << 32)

/* One mapping: places are not given again before all behind them are free. */
static struct {
	uint8_t *arena;
	size_t used, last; /* `last`: the place of the last piece */
	size_t taken, most;
	int open;           /* how many work on it now */
	int64_t calls;      /* of cudaMalloc that work; below 0: all */
	size_t host_most;   /* bytes of one piece of pinned memory */
	int64_t host_calls; /* of cudaMallocHost that work; below 0: all */
} emulation_memory = {.calls = -1, .host_most = SIZE_MAX, .host_calls = -1};

static void emulation_protect(int protection)
{
	if (emulation_memory.arena && emulation_memory.used > 0 &&
	    mprotect(emulation_memory.arena, emulation_memory.used, protection) != 0)
		abort();
}

void emulation_open(void)
{
	if (emulation_memory.open++ == 0)
		emulation_protect(PROT_READ | PROT_WRITE);
}

void emulation_close(void)
{
	if (--emulation_memory.open == 0)
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
	if (emulation_memory.arena)
		return;
	emulation_memory.arena = mmap(NULL, EMULATION_ARENA, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (emulation_memory.arena == MAP_FAILED)
		abort();
}

static struct emulation_head *emulation_head_at(size_t place)
{
	return (struct emulation_head *)(void *)(emulation_memory.arena + place);
}

cudaError_t cudaMalloc(void **ret, size_t bytes)
{
	size_t room = emulation_pages(EMULATION_ALIGNMENT + bytes + 1);
	struct emulation_head *head;

	if (emulation_memory.calls == 0 || bytes > EMULATION_ARENA ||
	    room > EMULATION_ARENA - emulation_memory.used)
		return cudaErrorMemoryAllocation;
	emulation_memory.calls -= emulation_memory.calls > 0 ? 1 : 0;
	emulation_arena_open();
	head = emulation_head_at(emulation_memory.used);
	emulation_memory.used += room;
	emulation_memory.taken += bytes;
	if (emulation_memory.taken > emulation_memory.most)
		emulation_memory.most = emulation_memory.taken;
	emulation_open();
	__asan_unpoison_memory_region(head, room);
	*head = (struct emulation_head){room, bytes, emulation_memory.last, false};
	emulation_memory.last = emulation_memory.used - room;
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
	emulation_memory.taken -= head->bytes;
	__asan_poison_memory_region(memory, head->bytes);
	size_t used = emulation_memory.used;

	while (used > 0 && emulation_head_at(emulation_memory.last)->is_free) {
		used = emulation_memory.last;
		emulation_memory.last = emulation_head_at(used)->before;
	}
	emulation_close();
	emulation_memory.used = used;
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	*total = EMULATION_ARENA;
	*free = EMULATION_ARENA - emulation_memory.taken;
	return cudaSuccess;
}

cudaError_t cudaMallocHost(void **ret, size_t bytes)
{
	bool is_there = bytes <= emulation_memory.host_most && emulation_memory.host_calls != 0;

	emulation_memory.host_calls -= emulation_memory.host_calls > 0 ? 1 : 0;
	*ret = is_there ? malloc(bytes ? bytes : 1) : NULL;
	return *ret ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory)
{
	free(memory);
	return cudaSuccess;
}

bool emulation_is_device(const void *memory)
{
	return emulation_memory.arena && (const uint8_t *)memory >= emulation_memory.arena &&
	       (const uint8_t *)memory < emulation_memory.arena + emulation_memory.used;
}

void emulation_set_memory(int64_t count)
{
	emulation_memory.calls = count;
}

void emulation_set_host_memory(size_t most, int64_t count)
{
	emulation_memory.host_calls = count;
	emulation_memory.host_most = most;
}

size_t emulation_taken(void)
{
	return emulation_memory.taken;
}

size_t emulation_taken_most(void)
{
	size_t most = emulation_memory.most;

	emulation_memory.most = emulation_memory.taken;
	return most;
}
