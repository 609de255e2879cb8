/* The words of a filter, as API, haasctl and the page take them (docs/filter.md). The page reads
 * them itself (portal/web/src/part/filter.ts). tests/data/filter.json holds the two to each other.
 *
 *   state:free,held rack=r07 -label:fan unit<=12 since>2h "two words"
 *
 * Any text is a filter; only its length is bounded. Words that name no column of a list are the
 * caller's business. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"

#define FILTER_SIZE   1000
#define FILTER_WORDS  16
#define FILTER_VALUES 64

enum filter_operation {
	FILTER_SEARCH,   /* no column: anywhere */
	FILTER_HAS,      /* column:a,b */
	FILTER_IS,       /* column=a,b */
	FILTER_BELOW,    /* column<a */
	FILTER_AT_MOST,  /* column<=a */
	FILTER_ABOVE,    /* column>a */
	FILTER_AT_LEAST, /* column>=a */
};

struct filter_word {
	bool inverted; /* -word */
	enum filter_operation operation;
	const char *column; /* in small letters; NULL of FILTER_SEARCH */
	const char *whole;  /* all of it behind the minus, without quotes */
	const char *const *values;
	size_t count; /* one at least; an empty value stands alone */
};

struct filter {
	struct filter_word words[FILTER_WORDS];
	size_t count;
	const char *values[FILTER_VALUES];
	size_t value_count;
	char bytes[4 * FILTER_SIZE]; /* what the words point to */
	size_t used;
};

/* 0, or E_LIMIT: longer than FILTER_SIZE, more than FILTER_WORDS words or FILTER_VALUES values. */
MUST_USE int filter_parse(const char *text, struct filter *ret);
