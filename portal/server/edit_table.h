/* What is edited by PUT or PATCH against what was read: rows of routes whose version edit.sql makes
 * (edit_version). The transaction of such a route begins with edit_expect. Routes whose own function
 * compares a version have no row. */
#pragma once

#include "portal/server/exchange.h"

#define EDIT_NAME_SIZE ((size_t)2 * NAME_SIZE)

struct edit_row {
	const char *pattern;
	const char *kind; /* of edit_state, and in sentences: "fabric", "limits of" */
	const char *name; /* an argument of the path; else a word */
	const char *more; /* the second half, behind ":"; NULL = none */
	const char *read; /* pattern of the GET that tells the version; NULL = the same */
};

extern const struct edit_row edit_rows[]; /* ended by one without pattern */

/* NULL: the route is no such edit. */
const struct edit_row *edit_find(const struct route *route);
void edit_name(const struct edit_row *row, const struct exchange *exchange,
	       char ret[EDIT_NAME_SIZE]);
