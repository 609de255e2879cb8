/* What stands beside the rows: the level above, and what is in the chosen row: its largest parts,
 * and how it went through the window. Nobody presses a key for it: it is asked when the page is
 * there, and forgotten with the place or the row that it is of. It is asked for the time that the
 * page was answered for (to now: by the end that it told), so that all on the screen adds up. */
#include <string.h>

#include "portal/cli/drill/drill_view.h"

#define PREVIEW_ROWS 12
#define SLICE_MIN_S  60 /* what is stored is stored by the minute */
#define MEMORY_S     300

void drill_side_done(struct drill_side *side)
{
	drill_page_free(side->parent);
	drill_page_free(side->preview);
	*side = (struct drill_side){0};
}

void drill_side_moved(struct drill_view *view, bool elsewhere)
{
	if (elsewhere)
		drill_side_done(&view->side);
}

/* A part of the window that can be told apart: seconds of what the collector remembers, minutes of
 * what is stored. 0: there are not two. */
static int64_t slice_s(const struct drill_view *view)
{
	int64_t length_s = view->window_s / DRILL_SLICES;

	if (length_s < SLICE_MIN_S && (view->at[0] || view->window_s > MEMORY_S))
		length_s = SLICE_MIN_S;
	return length_s > 0 && view->window_s / length_s >= 2 ? length_s : 0;
}

enum drill_errand drill_side_errand(const struct drill_view *view)
{
	const struct drill_side *side = &view->side;
	const struct drill_part *row = drill_view_chosen(view);

	if (!view->panes || !view->panes_fit || !view->page || view->prompt != PROMPT_NONE)
		return ERRAND_NONE;
	if (view->path.level != DRILL_ALL && !side->asked_parent)
		return ERRAND_PARENT;
	if (!row || !row->path)
		return ERRAND_NONE;
	if (strcmp(side->asked, row->path) != 0 || !side->asked_preview)
		return ERRAND_PREVIEW;
	return side->slice_next < side->slice_count ? ERRAND_SLICE : ERRAND_NONE;
}

/* Where the i-th slice ends: as the API takes it. */
static void slice_end(const struct drill_view *view, size_t i, char ret[DRILL_TIME_SIZE])
{
	int64_t before_s = (int64_t)(view->side.slice_count - 1 - i) * slice_s(view);
	int64_t end_s = 0;

	/* the page may have been answered anew since the first slice */
	if (!drill_view_end(view, &end_s) ||
	    !drill_view_time(view, before_s + end_s - view->side.slices_end_s, ret))
		ret[0] = '\0';
}

void drill_side_call(struct drill_view *view, enum drill_errand errand, struct text *target)
{
	const struct drill_part *row = drill_view_chosen(view);
	struct drill_path path = view->path;
	struct problem problem;
	char at[DRILL_TIME_SIZE] = "";

	(void)text_copy(view->side.asking, sizeof(view->side.asking),
			row && row->path ? row->path : "");
	if (errand == ERRAND_PARENT)
		drill_path_up(&path);
	else if (!row || !row->path || drill_path_parse(row->path, &path, &problem) != 0)
		path = view->path;
	if (errand == ERRAND_SLICE) {
		slice_end(view, view->side.slice_next, at);
		drill_view_target_of(view, &path, at, slice_s(view), 1, target);
		return;
	}
	if (view->at[0] || !drill_view_time(view, 0, at))
		(void)text_copy(at, sizeof(at), view->at);
	drill_view_target_of(view, &path, at, view->window_s,
			     errand == ERRAND_PARENT ? view->limit : PREVIEW_ROWS, target);
}

static void take_page(json_t *json, struct drill_page **ret)
{
	drill_page_free(*ret);
	*ret = NULL;
	if (json && drill_page_new(json, ret) != 0)
		*ret = NULL;
}

static void take_preview(struct drill_view *view, json_t *json)
{
	struct drill_side *side = &view->side;
	int64_t length_s = slice_s(view);
	int64_t end_s = 0;
	bool same = strcmp(side->asked, side->asking) == 0;

	take_page(json, &side->preview);
	(void)text_copy(side->asked, sizeof(side->asked), side->asking);
	side->asked_preview = true;
	if (!drill_view_end(view, &end_s) || (same && side->slice_next == side->slice_count &&
					      end_s - side->slices_end_s < length_s))
		return;
	side->slices_end_s = end_s;
	side->slice_next = 0;
	side->slice_count = length_s > 0 ? (size_t)(view->window_s / length_s) : 0;
	if (side->slice_count > DRILL_SLICES)
		side->slice_count = DRILL_SLICES;
	for (size_t i = 0; i < DRILL_SLICES; i++)
		side->slices[i] = -1;
}

void drill_side_took(struct drill_view *view, enum drill_errand errand, json_t *json)
{
	struct drill_side *side = &view->side;
	const struct drill_part *row = drill_view_chosen(view);

	if (errand != ERRAND_PARENT && (!row || !row->path || strcmp(row->path, side->asking) != 0))
		return;
	if (errand == ERRAND_PARENT) {
		take_page(json, &side->parent);
		side->asked_parent = true;
	} else if (errand == ERRAND_PREVIEW) {
		take_preview(view, json);
	} else if (side->slice_next < side->slice_count) {
		if (json)
			side->slices[side->slice_next] = json_number_value(
				json_object_get(json_object_get(json, "total"), "bits_per_second"));
		side->slice_next++;
	}
}
