/* A drill_view as a screen. */
#pragma once

#include "portal/cli/drill/drill_view.h"
#include "portal/cli/drill/grid.h"

/* What the layout needs; a smaller window is told so. */
#define DRILL_COLUMNS_MIN 40
#define DRILL_ROWS_MIN    9

/* Draws onto a blank grid, and tells the view how many rows fit. */
void drill_frame_draw(struct drill_view *view, struct grid *grid);
