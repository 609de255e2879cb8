/* A level of stored traffic as JSON: rows of PostgreSQL to estimates with their bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/db/db.h"
#include "common/model/drill_path.h"
#include "common/model/scale_policy.h"

struct drill_window {
	char from[32], to[32]; /* RFC 3339 */
	int64_t step;          /* seconds: of a bucket, 1 when all is from memory */
	int64_t length, asked; /* of a bucket, of the window: seconds */
	bool kept;             /* nothing of it is too old for this step */
	int64_t buckets, present;
	int64_t pending;              /* the last of the buckets: not summed up yet */
	char until[32];               /* where these begin */
	double seconds;               /* collected: what rates are over */
	int64_t bytes, nobodys, lost; /* for operators */
	bool is_operator;
	double thinned;     /* the worst: one of so many samples was used; 1 = all */
	int64_t memory;     /* of the seconds those that came from a collector's memory */
	bool recent;        /* it reaches where only a collector's memory does */
	bool early;         /* more is to come of it: the end asked for is not collected yet */
	const char *absent; /* why it was not asked then; NULL = it was */
};

/* Stored minutes, and what of the window a collector answers (peregrine/flowd/flowd_drill.c). */
struct drill {
	struct drill_path path;
	struct drill_window window;
	int64_t at_s; /* the end asked for; 0 = now */
	char stored_from[32], stored_to[32];
	char step[24], switch_id[24];
	/* Of a link: what its counters say of its samples, and said. */
	struct link_scale scale;
	int64_t exact_bytes; /* -1 = nothing */
	double exact_seconds;
	char *tenants;  /* PostgreSQL's array; owned */
	char *live;     /* the collector's answer; NULL = none; owned */
	bool in_memory; /* it has traffic there */
	bool series;    /* asked for bucket by bucket, not for its parts */
	char absent[120];
	struct text body; /* of the answer, while it is written into a case */
};

/* Is there anything at the place? */
bool drill_has_traffic(const PGresult *rows);
/* `rows` as the levels of drill_store.sql has them. */
void drill_answer(const struct drill *drill, const PGresult *rows, struct text *body);
/* `rows` as the series of drill_store.sql have them. */
void drill_answer_series(const struct drill *drill, const PGresult *rows, struct text *body);
bool drill_series_has_traffic(const PGresult *rows);
