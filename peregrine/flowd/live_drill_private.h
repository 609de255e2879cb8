/* Shared by live_drill.c (whose traffic it was, a minute after the other) and live_drill_ports.c
 * (counters of the answer's ports). */
#pragma once

#include "peregrine/flowd/live_drill.h"

enum {
	ENDS_MAX = 8,    /* nodes that had one name */
	ROWS_MAX = 4096, /* told of one minute */
	EDGE_S = 2       /* seconds at the begin of some time, and at its end */
};

#define SECOND_US INT64_C(1000000)

struct ends {
	struct traffic_end at[ENDS_MAX];
	size_t count;
};

/* What a row is, by the level; zero elsewhere, compared as bytes. */
struct live_key {
	uint32_t place, group;
	struct traffic_end a, b;
	uint16_t zero;
	struct conversation_key flow;
};

_Static_assert(sizeof(struct live_key) == 88, "hashed as bytes: no padding");

struct live_row {
	struct live_key key;
	struct traffic_sums sums;
	int64_t missed;
};

struct live_drill {
	struct live_question question;
	const struct traffic_names *names;
	const struct traffic_ring *ring;
	const struct port_counters *counters;
	struct ends a, b;

	/* Of the minute under way. */
	struct live_row *rows;
	uint32_t *slots; /* index plus one */
	uint32_t count, room, mask;
	struct traffic_sums total, at_link;
	int64_t total_missed, floor;
	unsigned thinned;
	bool failed;

	/* Of all of them: by place what was told of it, plus one; then whose counters are. */
	uint64_t *told;
	uint32_t told_count;
	uint32_t *ports;
	size_t port_count;
	/* Of each: the seconds around the begin of edges_from_s to edges_to_s, then those at its
	 * end. */
	struct ring_span *begins, *ends;
	int64_t edges_from_s, edges_to_s;
};

/* Is the place the link that was asked for? */
bool live_drill_is_link(const struct live_drill *drill, uint32_t at);
