/* The rows of a drill_frame: names, shares, bars, rates with their bounds. */
#pragma once

#include "portal/cli/drill/drill_view.h"
#include "portal/cli/drill/grid.h"

/* Columns of the window. */
struct drill_area {
	size_t left, width;
};

void drill_put_titles(const struct drill_view *view, struct grid *grid, struct drill_area area,
		      size_t row);
void drill_put_part(const struct drill_view *view, struct grid *grid, struct drill_area area,
		    size_t row, const struct drill_part *part, bool chosen);
/* "other" and "total": they cannot be chosen. */
void drill_put_sum(const struct drill_view *view, struct grid *grid, struct drill_area area,
		   size_t row, const char *name, const struct drill_part *part);
/* The last level: one flow in several lines. */
void drill_put_flow(const struct drill_view *view, struct grid *grid, size_t row, size_t end);
/* The level above on the left, what is in the chosen row on the right; returns what is between. */
struct drill_area drill_put_panes(const struct drill_view *view, struct grid *grid, size_t row,
				  size_t end);
/* A capture: its packets, or what they are. */
void drill_put_capture(const struct drill_view *view, struct grid *grid, size_t row, size_t end);
/* A text in as many lines as it takes, none at or behind `end`; returns the row below it. */
size_t drill_put_paragraph(struct grid *grid, size_t row, size_t end, enum grid_style style,
			   const char *text);
