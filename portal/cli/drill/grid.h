/* A screen as cells of text: what is drawn for a terminal, for a script and for a test is the same.
 * Columns are those of a terminal (wcwidth(3)): a wide character has two cells, marks stand on the
 * character before them. What would move a cursor, hide or turn text (C0, C1, format characters:
 * Unicode 4.4, category Cf) is shown as U+FFFD, whatever it came from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/macros.h"

enum grid_style {
	GRID_PLAIN,
	GRID_BOLD,
	GRID_DIM,
	GRID_BAR, /* first and last line */
	GRID_SELECTED,
	GRID_ALARM,
	GRID_GAUGE
};

#define GRID_CELL_SIZE 24 /* a character and its marks in UTF-8 */

struct grid_cell {
	char text[GRID_CELL_SIZE]; /* "" = the right half of a wide one */
	enum grid_style style;
};
struct grid;

/* Blank. `ascii`: nothing but ASCII, '?' for what is none. */
MUST_USE int grid_new(size_t rows, size_t columns, bool ascii, struct grid **ret);
void grid_free(struct grid *grid);
bool grid_is_ascii(const struct grid *grid);
size_t grid_rows(const struct grid *grid);
size_t grid_columns(const struct grid *grid);
/* NULL outside. */
const struct grid_cell *grid_cell(const struct grid *grid, size_t row, size_t column);
/* A text from there on, in at most `width` columns; of one that is longer the last column says so.
 * Returns the columns it took; what is outside the grid is left out. */
size_t grid_put(struct grid *grid, size_t row, size_t column, size_t width, enum grid_style style,
		const char *text);
/* The same, its end at `column` + `width`. */
void grid_put_right(struct grid *grid, size_t row, size_t column, size_t width,
		    enum grid_style style, const char *text);
/* How many columns the text takes. */
size_t grid_width(const struct grid *grid, const char *text);
/* All cells of a row, or some. */
void grid_paint(struct grid *grid, size_t row, enum grid_style style);
void grid_paint_part(struct grid *grid, size_t row, size_t column, size_t width,
		     enum grid_style style);
/* Lines without the blanks at their ends. */
void grid_print(const struct grid *grid, FILE *out);
