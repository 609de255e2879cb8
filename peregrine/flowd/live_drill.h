/* One level of the drill path, summed up from the ring minute by minute: what peregrine-flowd tells
 * portald of the seconds that are not in PostgreSQL yet, or that a window cuts out of a minute. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/model/drill_path.h"

#include "peregrine/flowd/flow/traffic_names.h"
#include "peregrine/flowd/flow/traffic_ring.h"

#define LIVE_TENANTS_MAX 16

struct live_question {
	struct drill_path path;
	/* Who had the path's tenant name; whose traffic alone may be seen (0 = everybody's). */
	int64_t tenants[LIVE_TENANTS_MAX];
	size_t tenant_count;
	int64_t scope;
	/* The database puts the path's first end before its second: "forward" is by its order. */
	bool in_order;
};

struct live_drill;

/* -ENOMEM. Names and ring are borrowed until it is freed. */
MUST_USE int live_drill_new(const struct live_question *question, const struct traffic_names *names,
			    const struct traffic_ring *ring, struct live_drill **ret);
void live_drill_free(struct live_drill *drill);

/* A minute begins; its seconds are added one by one, each returning how many rows it has (what it
 * takes); then it is put: as the members "thinned" (the worst of its seconds), "floor" (what a row
 * that is not told may have had), "total" and "rows": the largest ones, with the keys k1.. and sums
 * of store_drill_levels; "missed" of a row is less its minute's floor, as it is added for all. */
void live_drill_begin(struct live_drill *drill);
size_t live_drill_add(struct live_drill *drill, int64_t at_s);
MUST_USE int live_drill_put(struct live_drill *drill, struct text *out);
