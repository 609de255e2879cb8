/* The stored route of each flow to the rows that hold its sums. So its owner and its rows need not
 * be looked up every second. Slots use the hash of the receivers' tables: reading such a table from
 * its first slot to its last reads this one in the same order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/flow_key.h"

#include "peregrine/flowd/flow/traffic_set.h"

struct flow_route {
	_Alignas(64) struct flow_key key;
	struct traffic_spot out, in; /* share UINT32_MAX = not counted there */
	uint32_t hash;
	uint32_t age;     /* equal to flow_routes.age, else the route is invalid */
	uint32_t until_s; /* when it is looked up again, seconds since 1970 */
	uint8_t by, reason;
	bool counts_out, counts_in;
	int8_t out_more; /* struct attribution's */
};

_Static_assert(sizeof(struct flow_route) == 128, "two cache lines");

struct flow_routes {
	struct flow_route *slots;
	uint32_t mask, age;
};

MUST_USE int flow_routes_init(struct flow_routes *routes, unsigned bits);
void flow_routes_done(struct flow_routes *routes);
/* Makes all routes invalid. */
void flow_routes_forget(struct flow_routes *routes);
/* The flow's route, or the slot to write it to: then its `age` differs from routes->age. A flow
 * without a free slot displaces another. */
struct flow_route *flow_routes_slot(const struct flow_routes *routes, const struct flow_key *key,
				    uint32_t hash);

static inline void flow_routes_prefetch(const struct flow_routes *routes, uint32_t hash)
{
	const char *slot = (const char *)&routes->slots[hash & routes->mask];

	__builtin_prefetch(slot);
	__builtin_prefetch(slot + 64);
}
