/* Beside the rows: on the left the level above, where one came from; on the right what is in the
 * chosen row, and how it went through the window. */
#include <string.h>

#include "portal/cli/drill/drill_frame_rows.h"

#define DRILL_FRAME_PANES_SHARE_WIDTH 4
#define DRILL_FRAME_PANES_WIDE        120 /* columns */

static struct drill_area left_of(const struct grid *grid)
{
	return (struct drill_area){0, grid_columns(grid) / 5};
}

static struct drill_area right_of(const struct grid *grid)
{
	size_t width = grid_columns(grid) * 9 / 40;

	return (struct drill_area){grid_columns(grid) - width, width};
}

static void put_line(struct grid *grid, size_t column, size_t row, size_t end)
{
	for (; row < end; row++)
		(void)grid_put(grid, row, column, 1, GRID_DIM,
			       grid_is_ascii(grid) ? "|" : "\xe2\x94\x82");
}

static void put_small(struct grid *grid, struct drill_area area, size_t row, const char *name,
		      double share, bool here)
{
	char text[16];

	if (here)
		grid_paint_part(grid, row, area.left, area.width, GRID_BOLD);
	(void)text_format(text, sizeof(text), "%.0f%%", share * 100);
	(void)grid_put(grid, row, area.left, 1, here ? GRID_BOLD : GRID_PLAIN, here ? ">" : " ");
	(void)grid_put(grid, row, area.left + 1, area.width - DRILL_FRAME_PANES_SHARE_WIDTH - 2,
		       here ? GRID_BOLD : GRID_PLAIN, name);
	grid_put_right(grid, row, area.left + area.width - DRILL_FRAME_PANES_SHARE_WIDTH,
		       DRILL_FRAME_PANES_SHARE_WIDTH, here ? GRID_BOLD : GRID_PLAIN, text);
}

/* Its largest; the one that we are in is among them, wherever it stands. */
static void put_parent(const struct drill_view *view, struct grid *grid, struct drill_area area,
		       size_t row, size_t end)
{
	const struct drill_page *parent = view->side.parent;
	CLEANUP(text_done) struct text path = {0};
	size_t here = SIZE_MAX;
	size_t first = 0;

	if (!parent || end <= row)
		return;
	drill_path_print(&view->path, &path);
	for (size_t i = 0; i < parent->count; i++) {
		if (parent->rows[i].path && strcmp(parent->rows[i].path, text_get(&path)) == 0)
			here = i;
	}
	if (here != SIZE_MAX && here >= end - row)
		first = here - (end - row) + 1;
	for (size_t i = first; i < parent->count && row < end; i++)
		put_small(grid, area, row++, parent->rows[i].name, parent->rows[i].share,
			  i == here);
}

/* "_.:|" of a window's parts; a part that is not known is a blank. */
static void put_slices(const struct drill_side *side, struct grid *grid, struct drill_area area,
		       size_t row)
{
	static const char *const levels[2][8] = {
		{"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84", "\xe2\x96\x85",
		 "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"},
		{"_", "_", ".", ".", ":", ":", "|", "|"},
	};
	size_t each = side->slice_count > 0 ? (area.width - 2) / side->slice_count : 0;
	double most = 0;

	for (size_t i = 0; i < side->slice_next; i++)
		most = side->slices[i] > most ? side->slices[i] : most;
	for (size_t i = 0; most > 0 && i < side->slice_next; i++) {
		size_t level = side->slices[i] > 0 ? (size_t)(side->slices[i] / most * 7.99) : 0;

		for (size_t j = 0; side->slices[i] >= 0 && j < each; j++)
			(void)grid_put(grid, row, area.left + 1 + i * each + j, 1, GRID_GAUGE,
				       levels[grid_is_ascii(grid)][level]);
	}
}

static void put_preview(const struct drill_view *view, struct grid *grid, struct drill_area area,
			size_t row, size_t end)
{
	const struct drill_side *side = &view->side;
	const struct drill_page *page = side->preview;
	const struct drill_part *chosen = drill_view_chosen(view);
	char rate[32];

	if (!chosen || !chosen->path || strcmp(chosen->path, side->asked) != 0 || end < row + 3)
		return;
	(void)grid_put(grid, row, area.left + 1, area.width - 1, GRID_BOLD, chosen->name);
	put_slices(side, grid, area, row + 1);
	if (!page)
		return;
	drill_part_rate(&page->total, view->in_bytes, rate);
	(void)grid_put(grid, row + 2, area.left + 1, area.width - 1, GRID_DIM, rate);
	row += 3;
	for (size_t i = 0; i < page->count && row + 1 < end; i++)
		put_small(grid, area, row++, page->rows[i].name, page->rows[i].share, false);
	if (page->count > 0 && row < end)
		put_small(grid, area, row, "other", page->other.share, false);
}

struct drill_area drill_put_panes(const struct drill_view *view, struct grid *grid, size_t row,
				  size_t end)
{
	struct drill_area left = left_of(grid);
	struct drill_area right = right_of(grid);

	put_parent(view, grid, left, row, end);
	put_line(grid, left.width, row - 1, end);
	/* Flows have long names, and nothing below. */
	if (view->path.level == DRILL_PAIR && grid_columns(grid) < DRILL_FRAME_PANES_WIDE)
		return (struct drill_area){left.width + 1, grid_columns(grid) - left.width - 1};
	put_preview(view, grid, right, row, end);
	put_line(grid, right.left - 1, row - 1, end);
	return (struct drill_area){left.width + 1, right.left - left.width - 2};
}
