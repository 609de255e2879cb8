/* A level of stored traffic as JSON: rows of PostgreSQL to estimates with their bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/db/db.h"
#include "common/model/drill_path.h"

struct drill_window {
	char from[32], to[32]; /* RFC 3339 */
	int64_t step;          /* seconds of a bucket */
	bool kept;             /* nothing of it is too old for this step */
	int64_t buckets, present;
	double seconds;               /* collected: what rates are over */
	int64_t bytes, nobodys, lost; /* for operators */
	bool is_operator;
};

struct drill {
	struct drill_path path;
	struct drill_window window;
};

/* `rows` as store_drill_levels has them. */
void drill_answer(const struct drill *drill, const PGresult *rows, struct text *body);
