#include "peregrine/flowd/flow/flow_routes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* So many places behind the first are looked at. */
enum { NEIGHBOURS = 8 };

static size_t size_of(const struct flow_routes *routes)
{
	return ((size_t)routes->mask + 1) * sizeof(*routes->slots);
}

int flow_routes_init(struct flow_routes *routes, unsigned bits)
{
	void *memory;

	*routes = (struct flow_routes){.mask = (1U << bits) - 1, .age = 1};
	memory = mmap(NULL, size_of(routes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(memory, size_of(routes), MADV_HUGEPAGE);
	routes->slots = memory;
	return 0;
}

void flow_routes_done(struct flow_routes *routes)
{
	if (routes->slots)
		(void)munmap(routes->slots, size_of(routes));
	*routes = (struct flow_routes){0};
}

void flow_routes_forget(struct flow_routes *routes)
{
	if (++routes->age)
		return;
	memset(routes->slots, 0, size_of(routes)); /* ages come round after 2^32 times */
	routes->age = 1;
}

struct flow_route *flow_routes_slot(const struct flow_routes *routes, const struct flow_key *key,
				    uint32_t hash)
{
	struct flow_route *free = NULL;

	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		struct flow_route *slot = &routes->slots[(hash + i) & routes->mask];

		if (slot->age != routes->age) {
			free = free ? free : slot;
			break;
		}
		if (slot->hash == hash && !memcmp(&slot->key, key, sizeof(*key)))
			return slot;
	}
	if (!free)
		free = &routes->slots[hash & routes->mask];
	free->age = 0;
	return free;
}
