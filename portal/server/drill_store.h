/* Stored traffic (db/schema/traffic.sql), level by level. */
#pragma once

#include "common/db/db.h"
#include "common/model/drill_path.h"

/* Columns of store_drill_window, one row. */
enum drill_window_column {
	WINDOW_FROM, /* RFC 3339, whole buckets */
	WINDOW_TO,
	WINDOW_STEP,     /* seconds: the finest that is kept since its first bucket, at most 400 of
			    them from there on */
	WINDOW_KEPT,     /* t: it begins no earlier than that is kept */
	WINDOW_BUCKETS,  /* how many there may be */
	WINDOW_PRESENT,  /* of them collected at least in part */
	WINDOW_SECONDS,  /* collected */
	WINDOW_BYTES,    /* entered; null for a tenant, as the next two */
	WINDOW_NOBODYS,  /* of them nobody's */
	WINDOW_LOST,     /* did not fit into memory of the collector */
	WINDOW_SWITCH,   /* its id; null when there is none */
	WINDOW_TENANTS,  /* the ids that had the name, as an array; null when nobody had */
	WINDOW_OPERATOR, /* t or f */
	WINDOW_AT,       /* the end asked for, seconds since 1970; null = now */
	WINDOW_RECENT,   /* t: it may reach into what a collector has in memory */
	WINDOW_SCOPE,    /* the tenant who asks; null = an operator */
	WINDOW_TURNED,   /* t: $6 comes behind $7 in the database's order */
	WINDOW_THINNED,  /* the worst of its buckets: one of so many samples was used */
	WINDOW_PENDING,  /* of those that there may be: the last ones, not summed up yet */
	WINDOW_UNTIL,    /* where these begin */
};
/* $1 = end, RFC 3339, HH:MM or HH:MM:SS, null = the last bucket that is over; $2 = seconds; $3 =
 * switch, null = none; $4 = tenant, null = none; $5 = t when only the finest step will do; $6 $7 =
 * ends of the path, null = none. */
extern const struct db_query store_drill_window;

/* A row, or none. $1 step, $2 from, $3 to, $4 switch id. */
extern const struct db_query store_drill_present;

/* The part of a path that is not and was not, or no row: kind, name, what lists what there is. $1
 * switch id, $2 port, $3 ids of tenants, $4 VLAN, $5 $6 ends; null = not in the path. */
extern const struct db_query store_drill_unknown;

/* Columns of store_drill_scale, one row: what the counters of a link say of its samples. */
enum drill_scale_column {
	SCALE_EXACT,   /* bytes that it counted, null for a tenant and where nothing is known */
	SCALE_SECONDS, /* in so many */
	SCALE_FACTOR,  /* counted / sampled; null: known of too little time */
	SCALE_COVERED, /* of the time, the part of which it is known */
	SCALE_BYTES,   /* sampled at the link, of what the asking one may see; null: nothing */
	SCALE_SQUARE,
};
/* $1 step, $2 from, $3 to, $4 switch id, $5 port, $6 what a collector has in memory. */
extern const struct db_query store_drill_scale;

/* Columns of store_drill_joined, one row. */
enum drill_joined_column {
	JOINED_PRESENT,
	JOINED_SECONDS,
	JOINED_MEMORY, /* of them those from memory */
	JOINED_BYTES,
	JOINED_NOBODYS,
	JOINED_LOST,
	JOINED_THINNED,
};
/* $1 = from, $2 = to, whole minutes; $3 = a collector's answer. */
extern const struct db_query store_drill_joined;

/* Columns of the levels: a row per child, and the parent in each; without children one row whose
 * DRILL_BYTES is null. */
enum drill_column {
	DRILL_KEY_FIRST, /* DRILL_KEYS_MAX texts: common/model/drill_path.h */
	DRILL_NETWORK = DRILL_KEY_FIRST + DRILL_KEYS_MAX,
	DRILL_EXACT, /* two: what the interface counted, null when it said nothing; in so many
			seconds */
	DRILL_BYTES = DRILL_EXACT + 2, /* five as drill_sums_of reads them */
	DRILL_TOTAL = DRILL_BYTES + 5,
};

#define DRILL_PARAMS 19
/* By the level of the path. Each takes as many of these as it counts: $1 step, $2 from, $3 to, $4
 * rows at most, $5 what a collector has in memory (null: nothing), $6 switch id, $7 port (null:
 * edge ports), $8 ids of tenants, $9 reason, $10 VLAN, $11 $12 ends, $13.. source, its port,
 * target, its port, protocol, EtherType, forward. */
extern const struct db_query store_drill_levels[DRILL_LEVEL_COUNT];
