/* Lists that people filter, order, count and take as a table. Each is a row of X_store.sql (":list",
 * cmake/statements.py): its plain statement, its pieces, and the columns that a client may name. A
 * client's words choose among these rows and become parameters; they never become SQL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct db_query;
struct exchange;

enum list_kind {
	LIST_TEXT,
	LIST_NATURAL, /* a name: x2 before x10 */
	LIST_NUMBER,
	LIST_TIME,
	LIST_BOOL,
};

enum list_flag {
	LIST_SITE = 1,       /* does not exist in a tenant's scope */
	LIST_UNSORTED = 2,   /* no order by it: too dear, or too long for a cursor */
	LIST_UNSEARCHED = 4, /* a word without a column is not looked for here */
};

struct list_column {
	const char *name;
	enum list_kind kind;
	unsigned flags;
	const char *sql;
};

struct list {
	const struct db_query *plain; /* nothing asked for: prepared, its own cursors */
	const char *item;             /* jsonb of one row */
	const char *from;  /* ends with its conditions; $2, the plain cursor, may be NULL */
	const char *order; /* unique: breaks ties */
	const char *type;  /* of `order`, for its cursor */
	bool descending;
	const struct list_column *columns; /* ended by one without name */
};

extern const struct list *const list_tables[]; /* all, ended by NULL */

/* Rows of query_row that each list has, in front of its own. */
#define QUERY_LIST                                                             \
	{"limit", QUERY_LIMIT, 0, NULL, "100", false, NULL},                   \
		{"cursor", QUERY_CURSOR_LIST, 0, NULL, NULL, false, NULL},     \
		{"q", QUERY_TEXT, 1000, NULL, NULL, false, NULL},              \
		{"sort", QUERY_TEXT, 200, NULL, NULL, false, NULL},            \
		{"count", QUERY_WORD, 0, list_count_words, NULL, false, NULL}, \
		{"columns", QUERY_TEXT, 500, NULL, NULL, false, NULL},         \
	{                                                                      \
		"format", QUERY_WORD, 0, list_format_words, NULL, false, NULL  \
	}

extern const char *const list_count_words[];
extern const char *const list_format_words[];

/* A handler: answers route->store, which must be the plain statement of a list. */
void exchange_list(struct exchange *exchange);
/* The same for a handler that chose the list itself. */
void exchange_list_of(struct exchange *exchange, const struct list *list);
