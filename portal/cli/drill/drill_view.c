#include "portal/cli/drill/drill_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURE_MS 500 /* so often a capture is looked at */

const char *const drill_sort_words[SORT_COUNT] = {
	[SORT_SHARE] = "share",
	[SORT_NAME] = "name",
	[SORT_BOUND] = "uncertainty",
	[SORT_SAMPLES] = "samples",
};

void drill_view_init(struct drill_view *view, const struct drill_path *path, const char *at,
		     int64_t window_s)
{
	*view = (struct drill_view){.path = *path,
				    .window_s = window_s,
				    .limit = 100,
				    .following = true,
				    .panes = true,
				    .height = 10};
	(void)text_copy(view->at, sizeof(view->at), at);
	drill_view_ask(view, true);
}

void drill_view_done(struct drill_view *view)
{
	drill_page_free(view->page);
	drill_side_done(&view->side);
	drill_capture_done(&view->capture);
	free(view->order);
	text_done(&view->yanked);
	*view = (struct drill_view){0};
}

void drill_view_tell(struct drill_view *view, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(view->told, sizeof(view->told), format, arguments);
	va_end(arguments);
}

void drill_window_text(int64_t window_s, char ret[16])
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	size_t i = 0;

	while (i + 1 < COUNT_OF(units) && window_s % units[i].seconds != 0)
		i++;
	(void)text_format(ret, 16, "%" PRId64 "%c", window_s / units[i].seconds, units[i].unit);
}

/* --- questions and answers --- */

static void forget_page(struct drill_view *view)
{
	drill_page_free(view->page);
	view->page = NULL;
	view->shown = 0;
	view->cursor = 0;
	view->top = 0;
}

void drill_view_ask(struct drill_view *view, bool elsewhere)
{
	if (elsewhere)
		forget_page(view);
	drill_side_moved(view, elsewhere);
	view->problem = (struct problem){0};
	view->asking = true;
	view->by_itself = false;
	view->question++;
}

void drill_view_target_of(const struct drill_view *view, const struct drill_path *path,
			  const char *at, int64_t window_s, size_t limit, struct text *out)
{
	CLEANUP(text_done) struct text text = {0};
	struct drill_url url = {0};

	(void)view;
	drill_path_print(path, &text);
	(void)text_copy(url.path, sizeof(url.path), text_get(&text));
	(void)text_copy(url.at, sizeof(url.at), at);
	drill_window_text(window_s, url.window);
	drill_url_print(&url, out);
	text_addf(out, "&limit=%zu", limit);
}

void drill_view_target(const struct drill_view *view, struct text *out)
{
	drill_view_target_of(view, &view->path, view->at, view->window_s, view->limit, out);
}

/* --- beside the page --- */

enum drill_errand drill_view_errand(const struct drill_view *view)
{
	if (view->asking)
		return ERRAND_NONE;
	if (view->wish != ERRAND_NONE)
		return view->wish;
	if (view->screen == SCREEN_ROWS)
		return drill_side_errand(view);
	return view->capture.due         ? ERRAND_CAPTURE
	       : view->capture.lines_due ? ERRAND_LINES
					 : ERRAND_NONE;
}

const char *drill_view_errand_call(struct drill_view *view, enum drill_errand errand,
				   struct text *target, struct text *body)
{
	if (errand >= ERRAND_CAPTURE)
		return drill_capture_call(view, errand, target, body);
	drill_side_call(view, errand, target);
	return "GET";
}

void drill_view_errand_done(struct drill_view *view, enum drill_errand errand, uint64_t question,
			    json_t *json, const struct problem *problem)
{
	if (errand == view->wish)
		view->wish = ERRAND_NONE;
	if (errand == ERRAND_NOTE && !json)
		drill_view_tell(view, "not in the case: %s", problem->message);
	else if (errand == ERRAND_NOTE)
		drill_view_tell(view, "it is in case %s", view->open_case);
	else if (errand >= ERRAND_CAPTURE)
		drill_capture_took(view, errand, json, problem);
	else if (question == view->question)
		drill_side_took(view, errand, json);
}

void drill_view_answer(struct drill_view *view, uint64_t question, struct drill_page *page,
		       int64_t now_ms)
{
	if (!view->asking || question != view->question) {
		drill_page_free(page);
		return;
	}
	drill_page_free(view->page);
	view->page = page;
	view->asking = false;
	view->answered_ms = now_ms;
	view->side.asked_preview = false;
	view->side.asked_parent = false;
	drill_view_arrange(view);
}

void drill_view_refuse(struct drill_view *view, uint64_t question, const struct problem *problem,
		       int64_t now_ms)
{
	if (!view->asking || question != view->question)
		return;
	view->problem = *problem;
	view->asking = false;
	view->answered_ms = now_ms;
}

/* A sixtieth of the window, so that what moves is seen to move, but no more than once a second. */
int64_t drill_view_period_ms(const struct drill_view *view)
{
	int64_t period_ms = view->window_s * 1000 / 60;

	return period_ms < 1000 ? 1000 : period_ms > 60000 ? 60000 : period_ms;
}

void drill_view_tick(struct drill_view *view, int64_t now_ms)
{
	struct drill_capture *capture = &view->capture;

	if (view->screen != SCREEN_ROWS) {
		if (capture->id && !drill_capture_is_over(capture) &&
		    (now_ms < capture->asked_ms || now_ms - capture->asked_ms >= CAPTURE_MS)) {
			capture->asked_ms = now_ms;
			capture->due = true;
		}
		return;
	}
	if (!view->following || view->at[0] || view->asking ||
	    now_ms - view->answered_ms < drill_view_period_ms(view))
		return;
	drill_view_ask(view, false);
	view->by_itself = true;
}

/* --- rows --- */

/* Of the page whose rows are being sorted. */
struct sorted {
	const struct drill_part *row;
	size_t index;
	double key;
};

static int drill_view_by_index(const struct sorted *a, const struct sorted *b)
{
	return (a->index > b->index) - (a->index < b->index);
}

static int by_key(const void *one, const void *other)
{
	const struct sorted *a = one;
	const struct sorted *b = other;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return drill_view_by_index(a, b);
}

static int drill_view_by_name(const void *one, const void *other)
{
	const struct sorted *a = one;
	const struct sorted *b = other;
	int order = strverscmp(a->row->name, b->row->name);

	return order != 0 ? order : drill_view_by_index(a, b);
}

static double drill_view_key_of(const struct drill_view *view, const struct drill_part *row,
				size_t index)
{
	switch (view->sort) {
	case SORT_SHARE: return -(double)index; /* as they come */
	case SORT_BOUND: return drill_part_bound(row);
	case SORT_SAMPLES: return (double)row->samples;
	case SORT_NAME:
	case SORT_COUNT: break;
	}
	return 0;
}

static bool drill_view_is_wanted(const struct drill_view *view, const struct drill_part *row)
{
	return !view->filter[0] || strcasestr(row->name, view->filter) ||
	       strcasestr(row->network, view->filter);
}

void drill_view_choose(struct drill_view *view, size_t cursor)
{
	const struct drill_part *row;

	view->cursor = cursor < view->shown ? cursor : view->shown > 0 ? view->shown - 1 : 0;
	row = drill_view_chosen(view);
	if (row)
		(void)text_copy(view->chosen, sizeof(view->chosen), row->path ? row->path : "");
	drill_view_fit(view, view->height);
}

void drill_view_arrange(struct drill_view *view)
{
	size_t count = view->page ? view->page->count : 0;
	CLEANUP(freep) struct sorted *rows = calloc(count + 1, sizeof(*rows));
	size_t *order = realloc(view->order, (count + 1) * sizeof(*order));
	size_t cursor = view->cursor;

	view->shown = 0;
	if (order)
		view->order = order;
	if (!order || !rows) {
		drill_view_tell(view, "no memory for the rows");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct drill_part *row = &view->page->rows[i];

		if (drill_view_is_wanted(view, row))
			rows[view->shown++] =
				(struct sorted){row, i, drill_view_key_of(view, row, i)};
	}
	qsort(rows, view->shown, sizeof(*rows),
	      view->sort == SORT_NAME ? drill_view_by_name : by_key);
	for (size_t i = 0; i < view->shown; i++) {
		order[i] = rows[i].index;
		if (rows[i].row->path && strcmp(rows[i].row->path, view->chosen) == 0)
			cursor = i;
	}
	drill_view_choose(view, cursor);
}

const struct drill_part *drill_view_chosen(const struct drill_view *view)
{
	return view->page && view->cursor < view->shown
		       ? &view->page->rows[view->order[view->cursor]]
		       : NULL;
}

struct drill_part drill_view_left_out(const struct drill_view *view)
{
	struct drill_part sum = {.name = "", .network = "", .exact_bytes = -1};

	for (size_t i = 0; view->page && i < view->page->count; i++) {
		const struct drill_part *row = &view->page->rows[i];

		if (drill_view_is_wanted(view, row))
			continue;
		sum.bytes += row->bytes;
		sum.low += row->low;
		sum.high += row->high;
		sum.bits_per_second += row->bits_per_second;
		sum.share += row->share;
		sum.samples += row->samples;
	}
	return sum;
}

void drill_view_fit(struct drill_view *view, size_t height)
{
	view->height = height > 0 ? height : 1;
	if (view->cursor < view->top)
		view->top = view->cursor;
	if (view->cursor >= view->top + view->height)
		view->top = view->cursor + 1 - view->height;
	/* No empty lines below while there are rows above. */
	if (view->top > 0 && view->top + view->height > view->shown)
		view->top = view->shown > view->height ? view->shown - view->height : 0;
}

/* --- the command line --- */

/* A word of a shell: between quotes when it holds what a shell would look at. */
static void drill_view_add_word(struct text *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789%+,-./:=@_~";

	if (word[strspn(word, plain)] == '\0') {
		text_add(out, word);
		return;
	}
	text_add(out, "'");
	for (; *word; word++) {
		if (*word == '\'')
			text_add(out, "'\\''");
		else
			text_add_bytes(out, word, 1);
	}
	text_add(out, "'");
}

void drill_view_command(const struct drill_view *view, struct text *out)
{
	CLEANUP(text_done) struct text path = {0};
	const char *at = view->page ? view->page->to : view->at;
	char window[16];

	drill_path_print(&view->path, &path);
	text_add(out, "haasctl drill");
	if (path.size > 0) {
		text_add(out, " ");
		drill_view_add_word(out, text_get(&path));
	}
	if (at[0]) {
		text_add(out, " --at ");
		drill_view_add_word(out, at);
	}
	drill_window_text(view->window_s, window);
	text_addf(out, " --window %s", window);
	if (view->tenant) {
		text_add(out, " --as-tenant ");
		drill_view_add_word(out, view->tenant);
	}
}
