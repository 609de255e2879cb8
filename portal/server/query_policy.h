/* Checks one query parameter and gives the text that the statement gets. No I/O. */
#pragma once

#include "common/base/macros.h"

#include "portal/server/route.h"

#define QUERY_ALLOWED_SIZE 160

/* `value` NULL = absent. *ret is owned by the caller, NULL for SQL NULL. 0, -ENOMEM, or E_MALFORMED
 * with what is allowed, in words, of QUERY_ALLOWED_SIZE: "a number from 1". */
MUST_USE int query_check(const struct query_row *row, const char *value, char **ret,
			 char *ret_allowed);
/* A decimal id of 1..2^63-1. */
bool query_is_id(const char *text);
