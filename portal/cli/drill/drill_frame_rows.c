#include "portal/cli/drill/drill_frame_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "portal/cli/listing.h"

#define DRILL_FRAME_ROWS_SHARE_WIDTH 6
#define RATE_WIDTH                   12
#define RATE_SHORT                   7 /* "519.2M" */
#define BOUND_WIDTH                  7
#define BOUND_SHORT                  5
#define SAMPLES_WIDTH                8
#define NAME_BEGIN                   2
#define SAMPLES_FROM                 100 /* columns of a window that has room for them */
#define BARS_FROM                    64
#define BAR_MAX                      40

/* Where each column begins. */
struct places {
	size_t name, share, bar, rate, bound, samples; /* samples 0 = not shown */
	size_t name_width, bar_width, rate_width, bound_width;
};

static struct places drill_frame_rows_places_of(struct drill_area area)
{
	bool samples = area.width >= SAMPLES_FROM;
	bool bars = area.width >= BARS_FROM;
	struct places at = {.name = area.left + NAME_BEGIN,
			    .rate_width = bars ? RATE_WIDTH : RATE_SHORT,
			    .bound_width = bars ? BOUND_WIDTH : BOUND_SHORT};
	size_t fixed =
		NAME_BEGIN + DRILL_FRAME_ROWS_SHARE_WIDTH + at.rate_width + at.bound_width + 4;

	fixed += (bars ? 1U : 0) + (samples ? SAMPLES_WIDTH + 1U : 0);
	at.name_width = area.width > fixed ? area.width - fixed : 0;
	at.bar_width = !bars ? 0 : at.name_width / 5 < BAR_MAX ? at.name_width / 5 : BAR_MAX;
	at.name_width -= at.bar_width;
	at.share = at.name + at.name_width + 1;
	at.bar = at.share + DRILL_FRAME_ROWS_SHARE_WIDTH + 1;
	at.rate = at.bar + at.bar_width + (bars ? 1U : 0);
	at.bound = at.rate + at.rate_width + 1;
	at.samples = samples ? at.bound + at.bound_width + 1 : 0;
	return at;
}

void drill_put_titles(const struct drill_view *view, struct grid *grid, struct drill_area area,
		      size_t row)
{
	struct places at = drill_frame_rows_places_of(area);

	(void)grid_put(grid, row, at.name, at.name_width, GRID_BOLD, "NAME");
	grid_put_right(grid, row, at.share, DRILL_FRAME_ROWS_SHARE_WIDTH, GRID_BOLD, "SHARE");
	grid_put_right(grid, row, at.rate, at.rate_width, GRID_BOLD,
		       view->in_bytes ? "BYTES/S" : "BITS/S");
	grid_put_right(grid, row, at.bound, at.bound_width, GRID_BOLD,
		       grid_is_ascii(grid) ? "+-95%"
					   : "\xc2\xb1"
					     "95%");
	if (at.samples)
		grid_put_right(grid, row, at.samples, SAMPLES_WIDTH, GRID_BOLD, "SAMPLES");
}

/* `share` of `width` columns, to an eighth of one where there is more than ASCII. */
static void put_bar(struct grid *grid, size_t row, const struct places *at, double share)
{
	static const char *const eighths[] = {"",
					      "\xe2\x96\x8f",
					      "\xe2\x96\x8e",
					      "\xe2\x96\x8d",
					      "\xe2\x96\x8c",
					      "\xe2\x96\x8b",
					      "\xe2\x96\x8a",
					      "\xe2\x96\x89",
					      "\xe2\x96\x88"};
	double whole = fmin(fmax(share, 0), 1) * (double)at->bar_width;
	size_t parts = (size_t)lround(whole * (grid_is_ascii(grid) ? 1 : 8));

	for (size_t i = 0; i < at->bar_width && parts > 0; i++) {
		size_t here = grid_is_ascii(grid) || parts >= 8 ? 8 : parts;

		(void)grid_put(grid, row, at->bar + i, 1, GRID_GAUGE,
			       grid_is_ascii(grid) ? "#" : eighths[here]);
		parts -= grid_is_ascii(grid) ? 1 : here;
	}
}

/* "519.2 Mbit/s" as "519.2M": the title says of what. */
static void drill_frame_rows_shorten(char *rate)
{
	char *unit = strchr(rate, ' ');
	bool scaled = unit && strchr("kMGT", unit[1]);

	if (!unit)
		return;
	if (scaled)
		*unit = unit[1];
	unit[scaled] = '\0';
}

static void put_numbers(const struct drill_view *view, struct grid *grid, const struct places *at,
			size_t row, enum grid_style style, const struct drill_part *part)
{
	char share[16];
	char rate[32];
	char bound[16];
	char text[24];
	char samples[24];

	(void)text_format(share, sizeof(share), "%.1f%%", part->share * 100);
	drill_part_rate(part, view->in_bytes, rate);
	if (at->rate_width == RATE_SHORT)
		drill_frame_rows_shorten(rate);
	drill_part_bound_text(part, bound);
	(void)text_format(text, sizeof(text), bound[0] == '-' ? "%s" : "%s%%", bound);
	(void)text_format(samples, sizeof(samples), "%" PRId64, part->samples);
	grid_put_right(grid, row, at->share, DRILL_FRAME_ROWS_SHARE_WIDTH, style, share);
	put_bar(grid, row, at, part->share);
	grid_put_right(grid, row, at->rate, at->rate_width, style, rate);
	grid_put_right(grid, row, at->bound, at->bound_width, style, text);
	if (at->samples)
		grid_put_right(grid, row, at->samples, SAMPLES_WIDTH, style, samples);
}

void drill_put_part(const struct drill_view *view, struct grid *grid, struct drill_area area,
		    size_t row, const struct drill_part *part, bool chosen)
{
	CLEANUP(text_done) struct text name = {0};
	struct places at = drill_frame_rows_places_of(area);
	enum grid_style style = chosen ? GRID_SELECTED : GRID_PLAIN;

	text_add(&name, part->name);
	if (part->network[0])
		text_addf(&name, " %s", part->network);
	if (chosen)
		grid_paint_part(grid, row, area.left, area.width, GRID_SELECTED);
	(void)grid_put(grid, row, area.left, 1, style, chosen ? ">" : " ");
	(void)grid_put(grid, row, at.name, at.name_width, style, text_get(&name));
	put_numbers(view, grid, &at, row, style, part);
}

void drill_put_sum(const struct drill_view *view, struct grid *grid, struct drill_area area,
		   size_t row, const char *name, const struct drill_part *part)
{
	struct places at = drill_frame_rows_places_of(area);

	(void)grid_put(grid, row, at.name, at.name_width, GRID_BOLD, name);
	put_numbers(view, grid, &at, row, GRID_BOLD, part);
}

void drill_put_flow(const struct drill_view *view, struct grid *grid, size_t row, size_t end)
{
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(text_done) struct text bytes = {0};
	const struct drill_page *page = view->page;
	const char *name = page->path;
	char rate[32];
	char bound[16];

	/* The last part of the path says which one. */
	name = strstr(name, "/flow:") ? strstr(name, "/flow:") + 1 : name;
	row = drill_put_paragraph(grid, row, end, GRID_BOLD, name) + 1;
	drill_part_rate(&page->total, view->in_bytes, rate);
	drill_part_bound_text(&page->total, bound);
	text_addf(&line, "%s %s %s %%, %s, %" PRId64 " samples", rate,
		  grid_is_ascii(grid) ? "+-" : "\xc2\xb1", bound,
		  listing_text(haasctl_member(page->json, "total.bytes"), "total_bytes", &bytes),
		  page->total.samples);
	(void)drill_put_paragraph(grid, row, end, GRID_PLAIN, text_get(&line));
}

size_t drill_put_paragraph(struct grid *grid, size_t row, size_t end, enum grid_style style,
			   const char *text)
{
	size_t width = grid_columns(grid) - NAME_BEGIN - 1;

	while (*text && row < end) {
		CLEANUP(text_done) struct text line = {0};
		const char *at = text;

		/* as many words as fit, at least one */
		do {
			size_t length = strcspn(at, " ");

			length += strspn(at + length, " ");
			if (line.size > 0 && line.size + length > width + 1)
				break;
			text_add_bytes(&line, at, length);
			at += length;
		} while (*at);
		(void)grid_put(grid, row++, NAME_BEGIN, width, style, text_get(&line));
		text = at;
	}
	return row;
}
