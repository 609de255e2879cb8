/* What PostgreSQL's own refusals mean to a person. Its words, and the rows that its DETAIL shows, never leave
 * portald. */
#pragma once

#include <stdbool.h>

#include "common/base/problem.h"

/* Are these words PostgreSQL's own (DB_STRANGE of common/db/db.h)? */
bool conflict_is_strange(const struct problem *problem);
/* Rewrites a problem that names a constraint with a sentence of its own. Returns the HTTP status, 0: it has
 * none. */
int conflict_explain(struct problem *problem);
/* Rewrites any strange problem: the object and the field of its constraint, or only what kind of failure it is.
 * Returns the HTTP status, 0: that of its code. */
int conflict_generic(struct problem *problem);
