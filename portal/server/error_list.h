/* What is wrong with a body, a query or a sheet, item by item: the "errors" of a problem. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

#define ERROR_LIST_MAX 200

/* Zeroed = none. */
struct error_list {
	json_t *items;                 /* objects, as ProblemItem of openapi.yaml has them; owned */
	size_t count;                  /* all; only the first ERROR_LIST_MAX are items */
	bool withheld[ERROR_LIST_MAX]; /* the value of this item is not repeated */
};

/* `pointer` is a JSON pointer (RFC 6901) into the body; `allowed` may be NULL. */
void error_list_pointer(struct error_list *errors, const char *pointer, const char *message,
			const char *allowed);
/* A value that must be something else: "must be `allowed`". */
void error_list_value(struct error_list *errors, const char *pointer, const char *allowed);
/* A member that nobody knows. Its value is never repeated: "pasword" may hold one. */
void error_list_unknown(struct error_list *errors, const char *pointer);
/* A name in the path of the request. */
void error_list_name(struct error_list *errors, const char *given, const char *allowed);
/* A parameter of the query, or the header of that name. `given` may be NULL. */
void error_list_parameter(struct error_list *errors, const char *name, const char *given,
			  const char *allowed);
void error_list_header(struct error_list *errors, const char *name, const char *given,
		       const char *allowed);
/* `row` counts records, the header is 1. */
void error_list_cell(struct error_list *errors, size_t row, const char *column, const char *message,
		     const char *allowed);
/* Writes the array of items. Each pointer into `body` (may be NULL) gets its value as "given",
 * bounded; values of members that may hold a secret are left out. */
void error_list_write(const struct error_list *errors, const json_t *body, struct text *ret);
void error_list_done(struct error_list *errors);
