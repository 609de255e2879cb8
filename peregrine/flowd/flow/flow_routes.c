#include "peregrine/flowd/flow/flow_routes.h"

#include <errno.h>
#include <string.h>

#include "common/base/pages.h"

/* So many places behind the first are looked at. */
enum { NEIGHBOURS = 8 };

static size_t flow_routes_size_of(const struct flow_routes *routes)
{
	return ((size_t)routes->mask + 1) * sizeof(*routes->slots);
}

int flow_routes_init(struct flow_routes *routes, unsigned bits)
{
	*routes = (struct flow_routes){.mask = (1U << bits) - 1, .age = 1};
	routes->slots = pages_new(flow_routes_size_of(routes));
	return routes->slots ? 0 : -ENOMEM;
}

void flow_routes_done(struct flow_routes *routes)
{
	pages_free(routes->slots, flow_routes_size_of(routes));
	*routes = (struct flow_routes){0};
}

void flow_routes_forget(struct flow_routes *routes)
{
	if (++routes->age)
		return;
	memset(routes->slots, 0,
	       flow_routes_size_of(routes)); /* ages come round after 2^32 times */
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
