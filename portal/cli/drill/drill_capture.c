/* Packets of a pair from inside the drill: a capture is asked for, its last lines are followed, and
 * what it is. Consent is portald's to ask for: nothing here knows who may. It goes on when one
 * looks elsewhere, until its time is over. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/drill/drill_view.h"
#include "portal/cli/haasctl.h"

#define SNAP_LENGTH 128
#define SECONDS     60

void drill_capture_done(struct drill_capture *capture)
{
	json_decref(capture->json);
	*capture = (struct drill_capture){0};
}

bool drill_capture_is_over(const struct drill_capture *capture)
{
	return strcmp(haasctl_word(capture->json, "state"), "ended") == 0;
}

/* --- asking for one --- */

/* The pair or flow that one stands in, or that is chosen. */
static bool drill_capture_path_of(const struct drill_view *view, struct text *out)
{
	const struct drill_part *row = drill_view_chosen(view);
	struct drill_path path = view->path;
	struct problem problem;

	if (path.level < DRILL_FLOW && row && row->path &&
	    (drill_path_parse(row->path, &path, &problem) != 0 || path.level < DRILL_PAIR))
		path = view->path;
	if (path.level < DRILL_PAIR || path.nobody)
		return false;
	drill_path_print(&path, out);
	return true;
}

/* A flow that is gone through once more shows what there is of it. */
void drill_capture_begin(struct drill_view *view)
{
	CLEANUP(text_done) struct text path = {0};
	struct drill_capture *capture = &view->capture;

	if (!drill_capture_path_of(view, &path)) {
		drill_view_tell(view, "a capture is of a pair of nodes of a tenant: go to one");
		return;
	}
	if (capture->id && !drill_capture_is_over(capture)) {
		view->screen = SCREEN_PACKETS;
		capture->due = true;
		if (strcmp(capture->path, text_get(&path)) != 0)
			drill_view_tell(view, "capture %" PRId64 " is under way: x ends it",
					capture->id);
		return;
	}
	drill_capture_done(capture);
	(void)text_copy(capture->path, sizeof(capture->path), text_get(&path));
	view->prompt = PROMPT_CAPTURE;
	(void)text_format(view->typed, sizeof(view->typed), "%d %ds ", SNAP_LENGTH, SECONDS);
}

/* "128 60s why" */
void drill_capture_take(struct drill_view *view)
{
	struct drill_capture *capture = &view->capture;
	char typed[sizeof(view->typed)];
	char *rest = typed;
	char *words[2];

	(void)text_copy(typed, sizeof(typed), view->typed);
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		rest += strspn(rest, " ");
		words[i] = rest;
		rest += strcspn(rest, " ");
		if (*rest)
			*rest++ = '\0';
	}
	rest += strspn(rest, " ");
	char *end = NULL;
	capture->snap_length = strtoll(words[0], &end, 10);
	capture->seconds = haasctl_duration_s(words[1]);
	if (*end || capture->snap_length < 14 || capture->seconds < 1) {
		drill_view_tell(view, "bytes of each frame, for how long, and why: 128 60s slow");
		return;
	}
	(void)text_copy(capture->reason, sizeof(capture->reason), rest);
	view->screen = SCREEN_PACKETS;
	view->wish = ERRAND_START;
}

const char *drill_capture_call(const struct drill_view *view, enum drill_errand errand,
			       struct text *target, struct text *body)
{
	const struct drill_capture *capture = &view->capture;

	if (errand == ERRAND_NOTE) {
		haasctl_path(target, "/cases/", view->open_case, "/entries");
		json_begin_object(body, NULL);
		json_put_string(body, "kind", view->noting == PROMPT_FINDING ? "finding" : "note");
		json_put_string(body, "text", view->note);
		json_end_object(body);
		return "POST";
	}
	if (errand == ERRAND_START) {
		text_add(target, "/captures");
		json_begin_object(body, NULL);
		json_put_string(body, "path", capture->path);
		json_put_int(body, "snap_length", capture->snap_length);
		json_put_int(body, "seconds", capture->seconds);
		if (capture->reason[0])
			json_put_string(body, "reason", capture->reason);
		json_end_object(body);
		return "POST";
	}
	text_addf(target, "/captures/%" PRId64, capture->id);
	if (errand == ERRAND_STOP) {
		text_add(target, "/actions");
		text_add(body, "{\"action\":\"stop\"}");
		return "POST";
	}
	if (errand == ERRAND_LINES)
		text_addf(target, "/live?after=%" PRId64, capture->next);
	return "GET";
}

static void take_lines(struct drill_capture *capture, const json_t *json)
{
	const json_t *line;
	size_t i;

	json_array_foreach(json_object_get(json, "lines"), i, line)
	{
		const char *text = json_string_value(line);

		(void)text_copy(capture->lines[capture->line_count++ % DRILL_LINES],
				sizeof(capture->lines[0]), text ? text : "");
	}
	capture->next = json_integer_value(json_object_get(json, "next"));
}

void drill_capture_took(struct drill_view *view, enum drill_errand errand, const json_t *json,
			const struct problem *problem)
{
	struct drill_capture *capture = &view->capture;

	if (errand == ERRAND_LINES) {
		/* it may have ended in between: the next look says so */
		capture->lines_due = false;
		if (json)
			take_lines(capture, json);
		return;
	}
	capture->due = false;
	if (!json) {
		capture->problem = *problem;
		return;
	}
	capture->problem = (struct problem){0};
	json_decref(capture->json);
	capture->json = json_deep_copy(json);
	capture->id = json_integer_value(json_object_get(json, "id"));
	capture->lines_due = strcmp(haasctl_word(json, "state"), "running") == 0 && !capture->held;
}

/* --- keys while one looks at it --- */

static enum drill_effect drill_capture_leave(struct drill_view *view)
{
	view->screen = SCREEN_ROWS;
	return EFFECT_NONE;
}

static enum drill_effect show_packets(struct drill_view *view)
{
	view->screen = SCREEN_PACKETS;
	return EFFECT_NONE;
}

static enum drill_effect drill_capture_show_dpi(struct drill_view *view)
{
	view->screen = SCREEN_DPI;
	return EFFECT_NONE;
}

static enum drill_effect drill_capture_hold(struct drill_view *view)
{
	view->capture.held = !view->capture.held;
	drill_view_tell(view, view->capture.held ? "held: space goes on" : "goes on");
	return EFFECT_NONE;
}

static enum drill_effect drill_capture_stop(struct drill_view *view)
{
	if (!view->capture.id || drill_capture_is_over(&view->capture))
		drill_view_tell(view, "no capture is running here");
	else if (view->wish != ERRAND_NONE)
		drill_view_tell(view, "one moment: the last one is still being sent");
	else
		view->wish = ERRAND_STOP;
	return EFFECT_NONE;
}

static enum drill_effect drill_capture_quit(struct drill_view *view)
{
	(void)view;
	return EFFECT_QUIT;
}

enum drill_effect drill_capture_key(struct drill_view *view, const char *key, bool *ret_known)
{
	static const struct {
		const char *key;
		enum drill_effect (*act)(struct drill_view *view);
	} rows[] = {{"left", drill_capture_leave},
		    {"backspace", drill_capture_leave},
		    {"escape", drill_capture_leave},
		    {"h", drill_capture_leave},
		    {"c", show_packets},
		    {"d", drill_capture_show_dpi},
		    {"space", drill_capture_hold},
		    {"x", drill_capture_stop},
		    {"q", drill_capture_quit}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].act(view);
	}
	*ret_known = false;
	drill_view_tell(view, "no such key here");
	return EFFECT_NONE;
}
