/* Turns harvests into traffic over time: the last seconds in a ring, and buckets of a minute, five
 * minutes and an hour, handed out at their end. All tables have a fixed size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/attribution_policy.h"
#include "peregrine/flowd/flow/traffic_names.h"
#include "peregrine/flowd/flow/traffic_ring.h"
#include "peregrine/flowd/flow/traffic_set.h"
#include "peregrine/flowd/sample/harvest.h"

enum traffic_step { STEP_MINUTE, STEP_FIVE_MINUTES, STEP_HOUR, TRAFFIC_STEP_COUNT };
extern const int32_t traffic_step_seconds[TRAFFIC_STEP_COUNT];

/* A second has ended and all its harvests are there; the live set has its sums (traffic_set.h).
 * `seconds`: the time that its harvests cover, which is not exactly 1. The set is borrowed for the
 * call. */
typedef void (*second_fn)(void *context, int64_t at_s, double seconds,
			  const struct traffic_set *set);

struct rollup_options {
	unsigned harvests;          /* of a second: as many as there are receivers */
	unsigned samplers;          /* of these the ones of samples, which cover a second's time */
	second_fn on_second;        /* may be NULL; the context is bucket_fn's */
	unsigned ring_seconds;      /* 360 */
	size_t ring_bytes;          /* of all of them */
	struct traffic_limits kept; /* of a second in the ring */
	struct traffic_limits bucket; /* of a minute; longer ones keep pairs, but no flows */
	unsigned route_bits;          /* flows whose way is remembered: the receivers' tables */
};

/* A bucket has ended. It begins at `at_s` and is `step` long; `partial` = we did not run all the
 * time. The set is borrowed for the call; some of its rows may be silent (traffic_is_silent). */
typedef void (*bucket_fn)(void *context, enum traffic_step step, int64_t at_s, bool partial,
			  const struct traffic_set *set);

/* Since the start. Bytes are those of all samples, wherever a frame was sampled on its way. */
struct rollup_counts {
	uint64_t bytes_by[ATTRIBUTION_BY_COUNT];
	uint64_t bytes_for[ATTRIBUTION_REASON_COUNT]; /* index REASON_NONE: attributed */
	uint64_t egress_ignored;  /* samples of an egress that is sampled at its ingress too */
	uint64_t records_ignored; /* flow records of agents whose samples are counted already */
	uint64_t late;            /* harvests of a second that was closed already */
	uint64_t clock_jumps;
	uint64_t lost_bytes; /* of places that did not fit */
	uint64_t prunes;
	uint64_t no_memory; /* seconds or buckets that lost detail by lack of memory */
};

struct rollup;

MUST_USE int rollup_new(const struct rollup_options *options, int64_t now_s, bucket_fn fn,
			void *context, struct rollup **ret);
void rollup_free(struct rollup *rollup);

/* Sets the index for attribution; borrowed until the next call. While it is NULL, at the start,
 * harvests are dropped: they cannot be attributed. -ENOMEM: the old one stays. */
MUST_USE int rollup_use(struct rollup *rollup, const struct attribution_index *index);
/* The place of a port of the index in use. */
uint32_t rollup_place(const struct rollup *rollup, uint32_t port);
/* Takes one harvest; it belongs to the second in which it ended. */
void rollup_take(struct rollup *rollup, const struct harvest *harvest);
/* Closes seconds and buckets that have ended. Pass a `now_s` one second behind the clock, so all
 * receivers can hand over their harvests first. */
void rollup_tick(struct rollup *rollup, int64_t now_s);
/* Hands out the open buckets as partial, before the daemon ends. */
void rollup_flush(struct rollup *rollup);

/* The begin of the current minute. */
int64_t rollup_minute_s(const struct rollup *rollup);
const struct traffic_ring *rollup_ring(const struct rollup *rollup);
const struct traffic_names *rollup_names(const struct rollup *rollup);
struct rollup_counts rollup_counts(const struct rollup *rollup);
