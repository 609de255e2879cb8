/* One level of the drill path, summed up from the ring minute by minute: what peregrine-flowd tells
 * portald of the seconds that are not in PostgreSQL yet, or that a window cuts out of a minute. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/model/drill_path.h"
#include "common/model/traffic_sums.h"

#include "peregrine/flowd/flow/port_counters.h"
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

/* What it is answered from; borrowed until it is freed. */
struct live_source {
	const struct traffic_names *names;
	const struct traffic_ring *ring;
	const struct port_counters *counters;
};

/* -ENOMEM. */
MUST_USE int live_drill_new(const struct live_question *question, const struct live_source *source,
			    struct live_drill **ret);
void live_drill_free(struct live_drill *drill);

/* A minute begins; its seconds are added one by one, each returning how many rows it has (what it
 * takes); then it is put: as the members "thinned" (the worst of its seconds), "floor" (what a row
 * that is not told may have had), "total" and "rows": the largest ones, with the keys k1.. and sums
 * of store_drill_levels; "missed" of a row is less its minute's floor, as it is added for all.
 * "link": of the link of the path, what the asking one may see. -ENOMEM. */
void live_drill_begin(struct live_drill *drill);
size_t live_drill_add(struct live_drill *drill, int64_t at_s);
/* What the seconds of this minute add up to so far. */
const struct traffic_sums *live_drill_total(const struct live_drill *drill);
MUST_USE int live_drill_put(struct live_drill *drill, struct text *out);

/* Names the ports whose counters each minute tells; after all minutes, once. They are the link of
 * the path. Without one they are the links that a row of any minute tells, also for minutes in
 * which nothing was sampled there. Else a link would be scaled by less than where it is looked at
 * itself.
 *
 * No more links than one minute has rows. Where minutes tell more of them together, those with the
 * most bytes are taken. Where they tell fewer, other links that count fill up, for stored minutes
 * may tell of these. -ENOMEM. */
MUST_USE int live_drill_choose_ports(struct live_drill *drill, size_t *ret_count);
/* An element about port `index` of these, unless nothing is known, for from_s to to_s: the part of
 * a minute that is in the window.
 *
 *   counted, seconds       the port's counters, and in how many seconds
 *   sampled                samples of the same time
 *   head                   so many seconds of it lie before from_s
 *   begin_low, begin_high  samples of the second before from_s and of the one after: less, more
 *   end_low, end_high      samples of the last two seconds before to_s
 *
 * Nothing of that changes later (struct port_time). So a part of a window is scaled as its whole
 * is, whenever either is asked for. */
void live_drill_put_port(struct live_drill *drill, size_t index, int64_t from_s, int64_t to_s,
			 struct text *out);
