/* The newest values of what moves: of each name one value, and when it changed. A reader has a number; what
 * changed after it is what it is told. What a reader's scope does not show any more is told as gone, once. No
 * I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

struct value_book;

struct value_row {
	const char *kind, *name;
	const char *tenant; /* whose it is, its id: a name may be another's later; "" = nobody's */
	bool site;          /* the site's scope shows it */
	const char *body;   /* JSON */
};

/* -ENOMEM. */
MUST_USE int value_book_new(struct value_book **ret);
void value_book_free(struct value_book *book);

/* Rows of one reading: begin, put each, sweep the kinds of which all were put. */
void value_book_begin(struct value_book *book);
/* `xid`: every transaction that the value shows ended below it. -ENOMEM. */
MUST_USE int value_book_put(struct value_book *book, const struct value_row *row, uint64_t xid);
/* What of the kind was not put since the begin is gone; with `tenant`, of that tenant ("": of nobody) alone. */
void value_book_sweep(struct value_book *book, const char *kind, const char *tenant);
/* What was gone before the last but one call is not told any more: who might have missed it is told all, or to read again. */
void value_book_forget(struct value_book *book);

/* Of the newest value; 0 = there was none. */
uint64_t value_book_number(const struct value_book *book);
/* What is told by its changes alone ("node") is known from this transaction on. `kind` is borrowed. */
void value_book_set_floor(struct value_book *book, const char *kind, uint64_t xid);

struct value_reader {
	const char *tenant; /* its id; "" = the site */
	uint64_t number;    /* it has all up to it; 0 = nothing yet */
	uint64_t
		xid; /* without a number: as of when it has read what is told by changes; 0 = never */
	/* The book's own: up to which value it comes anew, and whether `xid` is good for that. */
	uint64_t until;
	bool known;
};

/* Of one text; what is left comes with the next. */
#define VALUE_BOOK_EVENT ((size_t)64 << 10)

/* Appends {"all": .., "items": [..], "more": ..}, and moves the reader. False: nothing is to be told. "all": what was
 * told before is void. Then of the kind that is told by its changes comes what changed since `xid`, or "again"
 * names it. "more": the next text goes on with it. */
bool value_book_write(struct value_book *book, struct value_reader *reader, struct text *out);
