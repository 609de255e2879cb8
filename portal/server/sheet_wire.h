/* Sheets as CSV (RFC 4180): records of cells, quoted or not, CRLF or LF. Everything is bounded, and
 * nothing is copied: cells are cut in place, so that a secret in one can be wiped where it came. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define SHEET_COLUMNS_MAX 64
#define SHEET_ROWS_MAX    20000
#define SHEET_CELL_MAX    4096

struct sheet {
	char **cells; /* row_count * column_count, row by row; each NUL-terminated inside of the
			 caller's buffer */
	size_t row_count, column_count;
};

/* `data` is changed and must stay while the sheet is used; the byte after its `size` must be ours
 * too (a NUL). The first record says the number of columns; every other one must have as many.
 * Empty lines are left out, as is a byte order mark. 0, or E_MALFORMED, E_LIMIT, -ENOMEM with a
 * problem that names the row: records that are not empty, the header being 1. */
MUST_USE int sheet_parse(char *data, size_t size, struct sheet *ret, struct problem *problem);
void sheet_done(struct sheet *sheet);
/* Row 0 is the header. */
char *sheet_cell(const struct sheet *sheet, size_t row, size_t column);
