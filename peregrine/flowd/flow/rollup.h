/* Harvests in, traffic by time out: the last seconds in a ring, and buckets of a minute, five
 * minutes and an hour that are handed out when their time is over. Everything is of fixed size. */
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

/* A second is over: what a live set has of it (traffic_set.h). `seconds`: how much time its
 * harvests cover, which is not quite one. As soon as all of them are there; the set is borrowed for
 * the call. */
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

/* A bucket is over: begins at `at_s`, is `step` long; `partial` = we were not there all the time.
 * The set is borrowed for the call; rows of it may be silent (traffic_is_silent). */
typedef void (*bucket_fn)(void *context, enum traffic_step step, int64_t at_s, bool partial,
			  const struct traffic_set *set);

/* Since the start. Bytes are those of all samples, wherever a frame was sampled on its way. */
struct rollup_counts {
	uint64_t bytes_by[ATTRIBUTION_BY_COUNT];
	uint64_t bytes_for[ATTRIBUTION_REASON_COUNT]; /* index REASON_NONE: attributed */
	uint64_t egress_ignored;  /* samples of an egress that is sampled at its ingress too */
	uint64_t records_ignored; /* records of agents that are sampled, too */
	uint64_t late;            /* harvests of a second that was closed already */
	uint64_t clock_jumps;
	uint64_t lost_bytes; /* of places that did not fit */
	uint64_t prunes;
	uint64_t no_memory; /* seconds or buckets that are larger or shorter for it */
};

struct rollup;

MUST_USE int rollup_new(const struct rollup_options *options, int64_t now_s, bucket_fn fn,
			void *context, struct rollup **ret);
void rollup_free(struct rollup *rollup);

/* The index to ask from now on; borrowed until the next one is given, may be NULL at first (then
 * harvests are dropped: nobody knows whose they are). -ENOMEM: the old one stays. */
MUST_USE int rollup_use(struct rollup *rollup, const struct attribution_index *index);
/* The place of a port of the index in use. */
uint32_t rollup_place(const struct rollup *rollup, uint32_t port);
/* One harvest; belongs to the second in which it ended. */
void rollup_take(struct rollup *rollup, const struct harvest *harvest);
/* Closes seconds and buckets that are over. `now_s` a second behind the clock lets all receivers
 * tell theirs first. */
void rollup_tick(struct rollup *rollup, int64_t now_s);
/* Hands out the buckets under way, partial: before the end. */
void rollup_flush(struct rollup *rollup);

/* The begin of the minute under way. */
int64_t rollup_minute_s(const struct rollup *rollup);
const struct traffic_ring *rollup_ring(const struct rollup *rollup);
const struct traffic_names *rollup_names(const struct rollup *rollup);
struct rollup_counts rollup_counts(const struct rollup *rollup);
