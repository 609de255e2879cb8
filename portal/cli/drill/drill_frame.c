#include "portal/cli/drill/drill_frame.h"

#include <inttypes.h>
#include <string.h>

#include "portal/cli/drill/drill_frame_rows.h"

/* Lines: 0 where, 1 when, 2 titles, rows, those that a filter leaves out, other, total; at the end
 * notes, URL, talk, keys. */
#define FIRST_ROW  3
#define SUM_LINES  3
#define LAST_LINES 2
#define TALL       16 /* from here on there is room for notes and the URL */
#define NOTES_MAX  3
#define PANES_FROM 80 /* columns: with the levels above and below beside the rows */

/* --- first and last lines --- */

static const char *drill_frame_state_of(const struct drill_view *view)
{
	if (view->asking)
		return "loading";
	if (problem_is_set(&view->problem))
		return view->page ? "stale" : "refused";
	if (view->at[0])
		return "past";
	return view->following ? "live" : "paused";
}

/* "all links > link:leaf1:17 > tenant:acme"; of a long one the end. */
static void put_where(const struct drill_view *view, struct grid *grid)
{
	CLEANUP(text_done) struct text path = {0};
	CLEANUP(text_done) struct text line = {0};
	char state[32];
	size_t columns = grid_columns(grid);

	drill_path_print(&view->path, &path);
	text_add(&line, "all links");
	for (const char *at = text_get(&path); *at;) {
		size_t length = strcspn(at, "/");

		text_add(&line, " > ");
		text_add_bytes(&line, at, length);
		at += length + (at[length] == '/');
	}
	grid_paint(grid, 0, GRID_BAR);
	(void)text_format(state, sizeof(state), " [%s] ", drill_frame_state_of(view));
	size_t room = columns - strlen(state) - 1;
	const char *shown = text_get(&line);
	/* Paths are ASCII: bytes are columns. */
	if (line.size > room) {
		shown += line.size - room + 4;
		(void)grid_put(grid, 0, 1, 4, GRID_BAR, "... ");
		(void)grid_put(grid, 0, 5, room - 4, GRID_BAR, shown);
	} else {
		(void)grid_put(grid, 0, 1, room, GRID_BAR, shown);
	}
	grid_put_right(grid, 0, columns - strlen(state), strlen(state), GRID_BAR, state);
}

/* What the rows of a place are. */
static const char *children_of(enum drill_level level)
{
	static const char *const words[DRILL_LEVEL_COUNT] = {
		[DRILL_ALL] = "links",  [DRILL_LINK] = "owners", [DRILL_OWNER] = "VLANs",
		[DRILL_VLAN] = "pairs", [DRILL_PAIR] = "flows",  [DRILL_FLOW] = "one flow",
	};

	return words[level];
}

/* "2026-11-22T10:37:00Z" as "2026-11-22 10:37:00"; the day only where it says something new. */
static void add_moment(struct text *line, const char *at, const char *before)
{
	bool same_day = before && strncmp(at, before, 10) == 0;

	if (strlen(at) < 19) {
		text_add(line, at);
		return;
	}
	if (!same_day) {
		text_add_bytes(line, at, 10);
		text_add(line, " ");
	}
	text_add_bytes(line, at + 11, 8);
}

static void put_when(const struct drill_view *view, struct grid *grid)
{
	CLEANUP(text_done) struct text line = {0};
	const struct drill_page *page = view->page;
	char window[16];

	drill_window_text(view->window_s, window);
	if (page) {
		add_moment(&line, page->from, NULL);
		text_add(&line, " to ");
		add_moment(&line, page->to, page->from);
		text_addf(&line, " UTC, %s", window);
	} else {
		text_addf(&line, "%s before %s", window, view->at[0] ? view->at : "now");
	}
	text_addf(&line, ": %s", children_of(view->path.level));
	if (view->path.level != DRILL_FLOW)
		text_addf(&line, " by %s", drill_sort_words[view->sort]);
	if (view->filter[0] && page)
		text_addf(&line, ", %zu of %zu with \"%s\"", view->shown, page->count,
			  view->filter);
	if (view->tenant)
		text_addf(&line, ", as %s", view->tenant);
	(void)grid_put(grid, 1, 1, grid_columns(grid) - 1, GRID_DIM, text_get(&line));
}

static void put_talk(const struct drill_view *view, struct grid *grid, size_t row)
{
	static const char *const asks[] = {
		[PROMPT_NONE] = "",
		[PROMPT_FILTER] = "only names with: ",
		[PROMPT_TIME] = "the end, and how long before (10:42 15m, now 1h): ",
		[PROMPT_FILE] = "write JSON to: ",
		[PROMPT_CAPTURE] = "bytes of each frame, for how long, and why: ",
		[PROMPT_NOTE] = "note: ",
		[PROMPT_FINDING] = "finding: ",
	};
	CLEANUP(text_done) struct text line = {0};
	enum grid_style style = GRID_BOLD;

	if (view->prompt != PROMPT_NONE) {
		text_addf(&line, "%s%s_", asks[view->prompt], view->typed);
	} else if (view->told[0]) {
		text_add(&line, view->told);
	} else if (view->page && problem_is_set(&view->problem)) {
		text_addf(&line, "not the latest: %s", view->problem.message);
		if (view->problem.hint[0])
			text_addf(&line, "; %s", view->problem.hint);
		style = GRID_ALARM;
	}
	/* What is being typed is at the end. */
	const char *shown = text_get(&line);
	while (view->prompt != PROMPT_NONE && grid_width(grid, shown) > grid_columns(grid) - 2) {
		do
			shown++;
		while (((unsigned char)*shown & 0xc0) == 0x80);
	}
	(void)grid_put(grid, row, 1, grid_columns(grid) - 1, style, shown);
}

static void drill_frame_put_keys(const struct drill_view *view, struct grid *grid, size_t row)
{
	static const char *const usual = "enter in  left out  / filter  s sort  [ ] + - time  "
					 "c packets  ? help  q quit";
	static const char *const capture = "left back  c packets  d application  space hold  "
					   "x end it  q quit";
	const char *keys = view->prompt != PROMPT_NONE && view->told[0] ? view->told
			   : view->prompt != PROMPT_NONE ? "enter takes it  escape leaves it"
			   : view->helping               ? "any key goes back"
			   : view->screen != SCREEN_ROWS ? capture
							 : usual;

	grid_paint(grid, row, GRID_BAR);
	(void)grid_put(grid, row, 1, grid_columns(grid) - 1, GRID_BAR, keys);
}

/* --- between them --- */

static void put_loading(struct grid *grid, size_t row, size_t end)
{
	(void)drill_put_paragraph(grid, row, end, GRID_DIM, "reading the traffic here ...");
}

/* A refusal in full, and what the keys can do about it. */
static void drill_frame_put_problem(const struct problem *problem, struct grid *grid, size_t row,
				    size_t end)
{
	row = drill_put_paragraph(grid, row, end, GRID_ALARM, problem->message);
	row = drill_put_paragraph(grid, row, end, GRID_PLAIN, problem->detail);
	row = drill_put_paragraph(grid, row, end, GRID_BOLD, problem->hint);
	(void)drill_put_paragraph(grid, row + 1, end, GRID_DIM,
				  "r asks again, left goes one level up, t takes another time");
}

/* Why there are no rows; returns the line below. */
static size_t put_nothing(const struct drill_view *view, struct grid *grid, size_t row, size_t end)
{
	CLEANUP(text_done) struct text line = {0};

	if (view->page->total.bytes <= 0) {
		row = drill_put_paragraph(grid, row, end, GRID_BOLD,
					  "no traffic was seen here then");
		text_add(&line, "[ looks earlier, + takes a longer window, left goes one level up");
	} else if (view->filter[0]) {
		text_addf(&line, "no name holds \"%s\": escape shows all rows", view->filter);
	} else {
		text_add(&line, "no row was kept by name: all traffic is other");
	}
	return drill_put_paragraph(grid, row, end, GRID_DIM, text_get(&line));
}

/* What the interface counted, then the notes; as many as there is room for. */
static size_t note_lines(const struct drill_page *page, const struct grid *grid)
{
	size_t count;

	if (!page || grid_rows(grid) < TALL)
		return 0;
	count = json_array_size(page->notes) + (page->total.exact_bytes >= 0);
	return count < NOTES_MAX ? count : NOTES_MAX;
}

static void put_notes(const struct drill_page *page, struct grid *grid, size_t row, size_t count)
{
	CLEANUP(text_done) struct text line = {0};
	size_t exact = page->total.exact_bytes >= 0;

	for (size_t i = 0; i < count; i++) {
		text_clear(&line);
		if (i < exact)
			drill_part_exact(&page->total, page->seconds, &line);
		else
			text_addf(&line, "note: %s",
				  json_string_value(json_array_get(page->notes, i - exact)));
		(void)grid_put(grid, row + i, 1, grid_columns(grid) - 1, GRID_DIM, text_get(&line));
	}
}

/* Rows, other and total from `row` on, or why there are none. */
static void put_body(const struct drill_view *view, struct grid *grid, size_t row, size_t end)
{
	struct drill_area area = {0, grid_columns(grid)};
	size_t last =
		view->shown < view->top + view->height ? view->shown : view->top + view->height;
	enum drill_level level = view->path.level;

	if (!view->page) {
		if (problem_is_set(&view->problem))
			drill_frame_put_problem(&view->problem, grid, row, end);
		else
			put_loading(grid, row, end);
		return;
	}
	if (level == DRILL_FLOW && view->page->total.bytes > 0) {
		drill_put_flow(view, grid, row, end);
		return;
	}
	if (view->panes_fit && view->panes && view->shown > 0)
		area = drill_put_panes(view, grid, row, end);
	drill_put_titles(view, grid, area, row - 1);
	if (view->shown == 0)
		row = put_nothing(view, grid, row, end - SUM_LINES);
	for (size_t i = view->top; i < last; i++)
		drill_put_part(view, grid, area, row++, &view->page->rows[view->order[i]],
			       i == view->cursor);
	if (view->page->total.bytes <= 0)
		return;
	if (view->shown < view->page->count) {
		struct drill_part left_out = drill_view_left_out(view);

		drill_put_sum(view, grid, area, row++, "left out by the filter", &left_out);
	}
	drill_put_sum(view, grid, area, row, "other", &view->page->other);
	drill_put_sum(view, grid, area, row + 1, "total", &view->page->total);
}

static void put_help(struct grid *grid, size_t row, size_t end)
{
	size_t lines = end - row;
	size_t columns = grid_columns(grid) / ((drill_key_count + lines - 1) / lines);

	for (size_t i = 0; i < drill_key_count; i++) {
		size_t left = i / lines * columns + 1;

		(void)grid_put(grid, row + i % lines, left, 17, GRID_BOLD, drill_keys[i].shown);
		(void)grid_put(grid, row + i % lines, left + 17, columns > 18 ? columns - 18 : 0,
			       GRID_PLAIN, drill_keys[i].help);
	}
}

void drill_frame_draw(struct drill_view *view, struct grid *grid)
{
	size_t rows = grid_rows(grid);
	size_t notes = note_lines(view->page, grid);
	size_t end = rows - LAST_LINES - notes - (rows >= TALL); /* of the body */

	if (rows < DRILL_ROWS_MIN || grid_columns(grid) < DRILL_COLUMNS_MIN) {
		(void)grid_put(grid, 0, 0, grid_columns(grid), GRID_ALARM,
			       "too small: 40x9 at least");
		return;
	}
	drill_view_fit(view, end - FIRST_ROW - SUM_LINES);
	view->panes_fit = rows >= TALL && grid_columns(grid) >= PANES_FROM;
	put_where(view, grid);
	put_when(view, grid);
	put_talk(view, grid, rows - 2);
	drill_frame_put_keys(view, grid, rows - 1);
	if (view->helping) {
		put_help(grid, 2, rows - LAST_LINES);
		return;
	}
	if (view->screen != SCREEN_ROWS) {
		drill_put_capture(view, grid, 2, rows - LAST_LINES);
		return;
	}
	put_body(view, grid, FIRST_ROW, end);
	if (!view->page)
		return;
	put_notes(view->page, grid, end, notes);
	if (rows >= TALL)
		(void)grid_put(grid, rows - 3, 1, grid_columns(grid) - 1, GRID_DIM,
			       view->page->url);
}
