/* Checks one query parameter and gives the text that the statement gets. No I/O. */
#pragma once

#include "common/base/macros.h"

#include "portal/server/route.h"

/* `value` NULL = absent. *ret is owned by the caller, NULL for SQL NULL. 0, or E_MALFORMED with a
 * problem that names the parameter. */
MUST_USE int query_check(const struct query_row *row, const char *value, char **ret,
			 struct problem *problem);
/* A decimal id of 1..2^63-1. */
bool query_is_id(const char *text);
