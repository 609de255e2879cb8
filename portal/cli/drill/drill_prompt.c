/* What is typed into the last line: a filter, a time, a file's name. */
#include <string.h>

#include "portal/cli/drill/drill_view.h"
#include "portal/cli/haasctl.h"

#define WINDOW_LEAST_S 1
#define WINDOW_MOST_S  2592000 /* 30 days */

/* "10:42", "2026-11-22T10:42:00Z" or "now", then perhaps " 15m"; the server knows the calendar. */
static void take_time(struct drill_view *view)
{
	char typed[sizeof(view->typed)];
	char *window;

	(void)text_copy(typed, sizeof(typed), view->typed);
	size_t length = strcspn(typed, " ");
	window = typed + length + strspn(typed + length, " ");
	typed[length] = '\0';
	int64_t window_s = *window ? haasctl_duration_s(window) : view->window_s;

	if (window_s < WINDOW_LEAST_S || window_s > WINDOW_MOST_S) {
		drill_view_tell(view, "%s is not a window: 1s to 30d, as 10:42 15m", window);
		return;
	}
	if (strcmp(typed, "now") == 0)
		typed[0] = '\0';
	if (!text_copy(view->at, sizeof(view->at), typed)) {
		view->at[0] = '\0';
		drill_view_tell(view, "that is not a time: 10:42, or 2026-11-22T10:42:00Z, or now");
		return;
	}
	view->window_s = window_s;
	drill_view_ask(view, true);
}

static enum drill_effect drill_prompt_finish(struct drill_view *view)
{
	enum drill_prompt prompt = view->prompt;
	bool wishes = prompt == PROMPT_NOTE || prompt == PROMPT_FINDING || prompt == PROMPT_CAPTURE;

	/* There is place for one: what was typed stays until the first is done. */
	if (wishes && view->typed[0] && view->wish != ERRAND_NONE) {
		drill_view_tell(view, "one moment: the last one is still being sent");
		return EFFECT_NONE;
	}
	view->prompt = PROMPT_NONE;
	if (prompt == PROMPT_TIME && view->typed[0])
		take_time(view);
	if (prompt == PROMPT_CAPTURE)
		drill_capture_take(view);
	if ((prompt == PROMPT_NOTE || prompt == PROMPT_FINDING) && view->typed[0]) {
		view->wish = ERRAND_NOTE;
		view->noting = prompt;
		(void)text_copy(view->note, sizeof(view->note), view->typed);
	}
	return prompt == PROMPT_FILE && view->typed[0] ? EFFECT_WRITE : EFFECT_NONE;
}

static void typed_changed(struct drill_view *view)
{
	if (view->prompt != PROMPT_FILTER)
		return;
	(void)text_copy(view->filter, sizeof(view->filter), view->typed);
	drill_view_arrange(view);
}

/* The last character goes, whatever its bytes. */
static void erase_last(struct drill_view *view)
{
	size_t length = strlen(view->typed);

	while (length > 0 && ((unsigned char)view->typed[length - 1] & 0xc0) == 0x80)
		length--;
	view->typed[length > 0 ? length - 1 : 0] = '\0';
	typed_changed(view);
}

enum drill_effect drill_prompt_key(struct drill_view *view, const char *key)
{
	size_t length = strlen(view->typed);
	size_t room = view->prompt == PROMPT_FILTER ? sizeof(view->filter) : sizeof(view->typed);

	if (strcmp(key, "enter") == 0)
		return drill_prompt_finish(view);
	if (strcmp(key, "escape") == 0) {
		view->typed[0] = '\0';
		typed_changed(view);
		view->prompt = PROMPT_NONE;
	} else if (strcmp(key, "backspace") == 0) {
		erase_last(view);
	} else if (strcmp(key, "space") == 0 || !key[1] || (key[0] & 0x80)) {
		const char *character = strcmp(key, "space") == 0 ? " " : key;

		if (length + strlen(character) < room)
			memcpy(view->typed + length, character, strlen(character) + 1);
		typed_changed(view);
	}
	return EFFECT_NONE;
}
