/* Suspects of an alert, ranked by suspect_policy. They are from the port's traffic of the last
 * seconds and of the minute before it began, and from the database's rows about the place. */
#pragma once

#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/model/drill_path.h"

#include "peregrine/flowd/alert/alert_watch.h"
#include "peregrine/flowd/alert/suspect_policy.h"
#include "peregrine/flowd/flow/rollup.h"

enum { CAUSE_ROWS = 13, CAUSE_NAME = 2 * DRILL_NAME_SIZE + 32 };

/* Of memory: copies, they outlive the seconds they were taken from. */
struct cause {
	enum alert_kind kind;
	size_t count;
	struct cause_row {
		enum suspect_fact fact;
		char name[CAUSE_NAME], drill[DRILL_PATH_SIZE];
		double share, before, percent;
	} rows[CAUSE_ROWS];
	struct text nodes; /* '{n1,n2}': whose traffic it is */
};

/* The traffic that leaves by the entry's port, which was too much from `begin_s` on; none where it
 * is about no port. -ENOMEM. */
MUST_USE int cause_take(const struct rollup *rollup, const struct alert_entry *entry,
			uint64_t speed_bps, int64_t begin_s, struct cause *ret);
void cause_done(struct cause *cause);
/* With facts as alert_candidates (alert.sql) answers them, NULL = none: a JSON array of
 * {"kind", "name", "score", "reasons", "drill"}. */
void cause_write(const struct cause *cause, const char *facts, struct text *json);
