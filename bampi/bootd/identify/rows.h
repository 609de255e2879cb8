/* Growing arrays of one kind of row, sorted once and searched by bisection: what a picture of the
 * site is made of. Zero bytes are a valid empty one. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"

struct rows {
	void *data;
	size_t count;
	size_t room;
};

typedef int (*rows_compare_fn)(const void *, const void *);

/* Copies the row to the end. -ENOMEM, E_LIMIT. */
MUST_USE int rows_append(struct rows *rows, const void *row, size_t size);
void rows_sort(struct rows *rows, size_t size, rows_compare_fn compare);
/* NULL when there is none; any one of several. */
const void *rows_find(const struct rows *rows, size_t size, const void *key,
		      rows_compare_fn compare);
/* The index of the first row that is not below the key; `count` when all are. */
size_t rows_first(const struct rows *rows, size_t size, const void *key, rows_compare_fn compare);
void rows_done(struct rows *rows);
