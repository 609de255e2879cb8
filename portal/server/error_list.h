/* What is wrong with a body or a sheet, item by item: the "errors" of a problem. */
#pragma once

#include <stddef.h>

#include "common/base/text.h"

#define ERROR_LIST_MAX 200

/* Zeroed = none. */
struct error_list {
	struct text json; /* elements of an array */
	size_t count;     /* all; only the first ERROR_LIST_MAX are in the text */
};

/* `pointer` is a JSON pointer (RFC 6901) into the body; `allowed` may be NULL. */
void error_list_pointer(struct error_list *errors, const char *pointer, const char *message,
			const char *allowed);
/* `row` counts records, the header is 1. */
void error_list_cell(struct error_list *errors, size_t row, const char *column, const char *message,
		     const char *allowed);
void error_list_done(struct error_list *errors);
