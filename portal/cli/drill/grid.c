#include "portal/cli/drill/grid.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT   0xfffd /* Unicode 23.8 */
#define GRID_ROWS_MAX 1000
#define COLUMNS_MAX   1000

struct grid {
	size_t rows, columns;
	bool ascii;
	locale_t locale; /* what is UTF-8 and how wide, whatever the person's is; 0 = ASCII only */
	struct grid_cell *cells;
};

int grid_new(size_t rows, size_t columns, bool ascii, struct grid **ret)
{
	struct grid *grid;

	if (rows < 1 || columns < 1 || rows > GRID_ROWS_MAX || columns > COLUMNS_MAX)
		return -EINVAL;
	grid = calloc(1, sizeof(*grid));
	if (!grid)
		return -ENOMEM;
	*grid = (struct grid){.rows = rows, .columns = columns};
	grid->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	grid->ascii = ascii || !grid->locale;
	grid->cells = calloc(rows * columns, sizeof(*grid->cells));
	if (!grid->cells) {
		grid_free(grid);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rows * columns; i++)
		grid->cells[i].text[0] = ' ';
	*ret = grid;
	return 0;
}

void grid_free(struct grid *grid)
{
	if (!grid)
		return;
	if (grid->locale)
		freelocale(grid->locale);
	free(grid->cells);
	free(grid);
}

bool grid_is_ascii(const struct grid *grid)
{
	return grid->ascii;
}

size_t grid_rows(const struct grid *grid)
{
	return grid->rows;
}

size_t grid_columns(const struct grid *grid)
{
	return grid->columns;
}

const struct grid_cell *grid_cell(const struct grid *grid, size_t row, size_t column)
{
	return row < grid->rows && column < grid->columns
		       ? &grid->cells[row * grid->columns + column]
		       : NULL;
}

/* --- characters --- */

/* Category Cf: they are not seen, and some turn what follows. */
static bool is_format(wchar_t c)
{
	static const struct {
		wchar_t first, last;
	} rows[] = {{0xad, 0xad},     {0x600, 0x605},   {0x61c, 0x61c},   {0x6dd, 0x6dd},
		    {0x70f, 0x70f},   {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},
		    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0001, 0xe007f}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (c >= rows[i].first && c <= rows[i].last)
			return true;
	}
	return false;
}

/* What stands in one cell, or two. */
struct glyph {
	char text[MB_LEN_MAX + 1];
	size_t bytes; /* of the source; 0 = the end */
	size_t width; /* 0: a mark on the one before */
};

static void grid_replace(const struct grid *grid, struct glyph *glyph)
{
	memcpy(glyph->text, grid->ascii ? "?" : "\xef\xbf\xbd", grid->ascii ? 2 : 4);
	glyph->width = 1;
}

/* The next character of `text`, in the locale of the grid. */
static struct glyph next_glyph(const struct grid *grid, const char *text)
{
	mbstate_t state = {0};
	struct glyph glyph = {.bytes = 1};
	wchar_t c = 0;

	if (!*text) {
		glyph.bytes = 0;
		return glyph;
	}
	if (*text >= ' ' && *text <= '~') {
		glyph.text[0] = *text;
		glyph.width = 1;
		return glyph;
	}
	size_t size = grid->locale ? mbrtowc(&c, text, strlen(text), &state) : (size_t)-1;
	int width = size <= MB_LEN_MAX ? wcwidth(c) : -1;
	if (size <= MB_LEN_MAX)
		glyph.bytes = size;
	if (width < 0 || is_format(c) || grid->ascii) {
		grid_replace(grid, &glyph);
		glyph.width = grid->ascii && width == 0 ? 0 : 1;
		return glyph;
	}
	memcpy(glyph.text, text, glyph.bytes);
	glyph.width = (size_t)width;
	return glyph;
}

/* The person's locale is put back by uselocale(before). */
static locale_t enter_locale(const struct grid *grid)
{
	return grid->locale ? uselocale(grid->locale) : (locale_t)0;
}

static void leave_locale(locale_t before)
{
	if (before)
		(void)uselocale(before);
}

/* --- cells --- */

static struct grid_cell *cell_at(struct grid *grid, size_t row, size_t column)
{
	return row < grid->rows && column < grid->columns
		       ? &grid->cells[row * grid->columns + column]
		       : NULL;
}

static void set_cell(struct grid *grid, size_t row, size_t column, enum grid_style style,
		     const char *text)
{
	struct grid_cell *cell = cell_at(grid, row, column);

	if (!cell)
		return;
	memset(cell->text, 0, sizeof(cell->text));
	memcpy(cell->text, text, strnlen(text, sizeof(cell->text) - 1));
	cell->style = style;
}

/* A mark goes onto the character before it, as many as there is room for. */
static void add_mark(struct grid *grid, size_t row, size_t column, const struct glyph *mark)
{
	struct grid_cell *cell = column > 0 ? cell_at(grid, row, column - 1) : NULL;

	if (cell && !cell->text[0] && column > 1)
		cell = cell_at(grid, row, column - 2);
	if (cell && !grid->ascii && strlen(cell->text) + mark->bytes < sizeof(cell->text))
		memcpy(cell->text + strlen(cell->text), mark->text, mark->bytes);
}

static size_t width_here(const struct grid *grid, const char *text)
{
	size_t width = 0;

	for (struct glyph glyph = next_glyph(grid, text); glyph.bytes > 0;
	     glyph = next_glyph(grid, text)) {
		width += glyph.width;
		text += glyph.bytes;
	}
	return width;
}

size_t grid_width(const struct grid *grid, const char *text)
{
	locale_t before = enter_locale(grid);
	size_t width = width_here(grid, text);

	leave_locale(before);
	return width;
}

// NOLINTNEXTLINE(readability-function-size): a place, a room, a style and a text
size_t grid_put(struct grid *grid, size_t row, size_t column, size_t width, enum grid_style style,
		const char *text)
{
	locale_t before = enter_locale(grid);
	size_t room = column < grid->columns ? grid->columns - column : 0;
	size_t used = 0;

	if (width < room)
		room = width;
	bool cut = width_here(grid, text) > room;
	size_t whole = cut && room > 0 ? room - 1 : room;
	for (struct glyph glyph = next_glyph(grid, text); glyph.bytes > 0;
	     glyph = next_glyph(grid, text)) {
		if (used + glyph.width > whole)
			break;
		if (glyph.width == 0 && used > 0)
			add_mark(grid, row, column + used, &glyph);
		else if (glyph.width > 0)
			set_cell(grid, row, column + used, style, glyph.text);
		if (glyph.width == 2)
			set_cell(grid, row, column + used + 1, style, "");
		used += glyph.width;
		text += glyph.bytes;
	}
	if (cut && room > 0) {
		for (; used + 1 < room; used++) /* half of a wide one */
			set_cell(grid, row, column + used, style, " ");
		set_cell(grid, row, column + used, style, grid->ascii ? "~" : "\xe2\x80\xa6");
		used++;
	}
	leave_locale(before);
	return used;
}

// NOLINTNEXTLINE(readability-function-size): as grid_put
void grid_put_right(struct grid *grid, size_t row, size_t column, size_t width,
		    enum grid_style style, const char *text)
{
	size_t takes = grid_width(grid, text);
	size_t before = takes < width ? width - takes : 0;

	(void)grid_put(grid, row, column + before, width - before, style, text);
}

void grid_paint_part(struct grid *grid, size_t row, size_t column, size_t width,
		     enum grid_style style)
{
	for (size_t i = 0; i < width; i++) {
		struct grid_cell *cell = cell_at(grid, row, column + i);

		if (cell)
			cell->style = style;
	}
}

void grid_paint(struct grid *grid, size_t row, enum grid_style style)
{
	grid_paint_part(grid, row, 0, grid->columns, style);
}

void grid_print(const struct grid *grid, FILE *out)
{
	for (size_t row = 0; row < grid->rows; row++) {
		const struct grid_cell *cells = &grid->cells[row * grid->columns];
		size_t length = grid->columns;

		while (length > 0 && strcmp(cells[length - 1].text, " ") == 0)
			length--;
		for (size_t i = 0; i < length; i++)
			fputs(cells[i].text, out);
		fputc('\n', out);
	}
}
