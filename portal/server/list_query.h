/* Builds the statement of a list from what its caller asks for: words of a filter, an order, a cursor,
 * columns. The text is made of the list's own pieces; all that came from the client is a parameter. */
#pragma once

#include "common/base/text.h"
#include "common/db/db.h"

#include "portal/server/list.h"

#define LIST_PARAMS   128
#define LIST_SORTS    3
#define LIST_COLUMNS  64
#define REFUSAL_ROOM  1000
#define LIST_SELECTED 500 /* rows that one action may be meant for: other writes wait for it */

struct list_ask {
	const struct list *list;
	bool site; /* asked in the site's scope */
	bool csv, count;
	const char *where; /* q; may be NULL like the rest */
	const char *sort;
	const char *cursor;      /* the key that a page of the same order ended with, as text */
	const char *columns;     /* of a table */
	const char *const *args; /* the parameters of the plain statement: limit, NULL, its own */
};

/* Owned: list_query_done. */
struct list_query {
	struct db_query query;
	const char *params[LIST_PARAMS];
	char *owned[LIST_PARAMS]; /* of params; the others are the caller's */
	struct text sql;
	const struct list_column *columns[LIST_COLUMNS]; /* of the table */
	size_t column_count;
};

/* What is wrong with which parameter. */
struct list_refusal {
	const char *parameter;
	char allowed[REFUSAL_ROOM];
};

/* A page: rows `listed` of store_text.sql. 0, -ENOMEM, or E_MALFORMED with the refusal. */
MUST_USE int list_query_build(const struct list_ask *ask, struct list_query *ret,
			      struct list_refusal *refusal);
/* Keeps what `where` lets through in the setting haas.selected, as an array of `column`, at most
 * LIST_SELECTED and one more. */
MUST_USE int list_query_select(const struct list_ask *ask, const char *column,
			       struct list_query *ret, struct list_refusal *refusal);
void list_query_done(struct list_query *query);
