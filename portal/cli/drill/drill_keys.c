/* What each key does: rows that the help is made of. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "portal/cli/drill/drill_view.h"

/* --- rows --- */

static enum drill_effect go_up_a_row(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, view->cursor > 0 ? view->cursor - 1 : 0);
	return EFFECT_NONE;
}

static enum drill_effect go_down_a_row(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, view->cursor + 1);
	return EFFECT_NONE;
}

static enum drill_effect go_up_a_page(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, view->cursor > view->height ? view->cursor - view->height : 0);
	return EFFECT_NONE;
}

static enum drill_effect go_down_a_page(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, view->cursor + view->height);
	return EFFECT_NONE;
}

static enum drill_effect go_first(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, 0);
	return EFFECT_NONE;
}

static enum drill_effect go_last(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_choose(view, SIZE_MAX);
	return EFFECT_NONE;
}

/* --- levels --- */

static enum drill_effect go_in(struct drill_view *view, int64_t now_ms)
{
	const struct drill_part *row = drill_view_chosen(view);
	struct problem problem = {0};
	struct drill_path path;

	(void)now_ms;
	if (view->path.level == DRILL_FLOW) {
		drill_view_tell(view, "this is one flow: there is nothing below it");
	} else if (!row) {
		drill_view_tell(view, "there is no row to go into");
	} else if (!row->path || drill_path_parse(row->path, &path, &problem) != 0) {
		drill_view_tell(view, "this row has no place of its own");
	} else {
		view->path = path;
		view->chosen[0] = '\0';
		view->filter[0] = '\0';
		drill_view_ask(view, true);
	}
	return EFFECT_NONE;
}

static enum drill_effect go_out(struct drill_view *view, int64_t now_ms)
{
	CLEANUP(text_done) struct text path = {0};

	(void)now_ms;
	if (view->path.level == DRILL_ALL) {
		drill_view_tell(view, "these are all links: there is nothing above");
		return EFFECT_NONE;
	}
	drill_path_print(&view->path, &path);
	(void)text_copy(view->chosen, sizeof(view->chosen), text_get(&path));
	drill_path_up(&view->path);
	view->filter[0] = '\0';
	drill_view_ask(view, true);
	return EFFECT_NONE;
}

/* --- time --- */

/* What is shown ends there; false before the first answer. */
bool drill_view_end(const struct drill_view *view, int64_t *ret_s)
{
	struct tm tm = {0};

	if (!view->page || !strptime(view->page->to, "%Y-%m-%dT%H:%M:%S", &tm))
		return false;
	*ret_s = timegm(&tm);
	return true;
}

bool drill_view_time(const struct drill_view *view, int64_t before_s, char ret[DRILL_TIME_SIZE])
{
	int64_t end_s = 0;

	if (!drill_view_end(view, &end_s))
		return false;
	time_t end = (time_t)(end_s - before_s);
	struct tm tm;

	(void)gmtime_r(&end, &tm);
	return strftime(ret, DRILL_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
}

static enum drill_effect drill_keys_scroll(struct drill_view *view, int64_t by_s, int64_t now_ms)
{
	int64_t end_s = 0;

	if (!drill_view_end(view, &end_s)) {
		drill_view_tell(view, "there is no time to go from yet");
		return EFFECT_NONE;
	}
	if ((end_s + by_s) * 1000 >= now_ms || !drill_view_time(view, -by_s, view->at))
		view->at[0] = '\0';
	drill_view_ask(view, true);
	return EFFECT_NONE;
}

static enum drill_effect go_earlier(struct drill_view *view, int64_t now_ms)
{
	return drill_keys_scroll(view, -view->window_s, now_ms);
}

static enum drill_effect go_later(struct drill_view *view, int64_t now_ms)
{
	if (!view->at[0]) {
		drill_view_tell(view, "there is nothing later than now");
		return EFFECT_NONE;
	}
	return drill_keys_scroll(view, view->window_s, now_ms);
}

static const int64_t windows_s[] = {1,    5,    10,   30,    60,    120,   300,    600,    900,
				    1800, 3600, 7200, 21600, 43200, 86400, 604800, 2592000};

static enum drill_effect set_window(struct drill_view *view, int64_t window_s)
{
	if (window_s == view->window_s) {
		drill_view_tell(view, "a window is one second to thirty days long");
		return EFFECT_NONE;
	}
	view->window_s = window_s;
	drill_view_ask(view, true);
	return EFFECT_NONE;
}

static enum drill_effect take_longer(struct drill_view *view, int64_t now_ms)
{
	size_t i = 0;

	(void)now_ms;
	while (i + 1 < COUNT_OF(windows_s) && windows_s[i] <= view->window_s)
		i++;
	return set_window(view, windows_s[i] > view->window_s ? windows_s[i] : view->window_s);
}

static enum drill_effect take_shorter(struct drill_view *view, int64_t now_ms)
{
	size_t i = COUNT_OF(windows_s) - 1;

	(void)now_ms;
	while (i > 0 && windows_s[i] >= view->window_s)
		i--;
	return set_window(view, windows_s[i] < view->window_s ? windows_s[i] : view->window_s);
}

static enum drill_effect drill_keys_follow(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->following = view->at[0] || !view->following;
	view->at[0] = '\0';
	if (view->following)
		drill_view_ask(view, false);
	return EFFECT_NONE;
}

static enum drill_effect drill_keys_refresh(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_view_ask(view, false);
	return EFFECT_NONE;
}

/* --- what is shown --- */

static enum drill_effect next_sort(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->sort = (view->sort + 1) % SORT_COUNT;
	drill_view_arrange(view);
	drill_view_tell(view, "sorted by %s", drill_sort_words[view->sort]);
	return EFFECT_NONE;
}

static enum drill_effect switch_unit(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->in_bytes = !view->in_bytes;
	return EFFECT_NONE;
}

static enum drill_effect begin_prompt(struct drill_view *view, enum drill_prompt prompt,
				      const char *typed)
{
	view->prompt = prompt;
	(void)text_copy(view->typed, sizeof(view->typed), typed);
	return EFFECT_NONE;
}

static enum drill_effect begin_filter(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	return begin_prompt(view, PROMPT_FILTER, view->filter);
}

static enum drill_effect begin_time(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	return begin_prompt(view, PROMPT_TIME, "");
}

static enum drill_effect drill_keys_begin_file(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	if (!view->page) {
		drill_view_tell(view, "there is nothing to write yet");
		return EFFECT_NONE;
	}
	return begin_prompt(view, PROMPT_FILE, "drill.json");
}

static enum drill_effect drill_keys_clear(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->filter[0] = '\0';
	drill_view_arrange(view);
	return EFFECT_NONE;
}

static enum drill_effect switch_panes(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->panes = !view->panes;
	return EFFECT_NONE;
}

/* --- packets, the case --- */

static enum drill_effect begin_capture(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	drill_capture_begin(view);
	return EFFECT_NONE;
}

static enum drill_effect drill_keys_show_dpi(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	if (view->capture.id)
		view->screen = SCREEN_DPI;
	else
		drill_view_tell(view, "the application is found in packets: c captures some");
	return EFFECT_NONE;
}

/* The chosen row as a line to begin with; who writes it down reads it first. */
static enum drill_effect begin_entry(struct drill_view *view, enum drill_prompt prompt)
{
	const struct drill_part *row = drill_view_chosen(view);
	char rate[32] = "";
	char bound[16] = "";
	char line[sizeof(view->typed)] = "";

	if (!view->open_case || !view->open_case[0]) {
		drill_view_tell(view, "no case is open here: drill --case CASE, or HAAS_CASE");
		return EFFECT_NONE;
	}
	if (row) {
		drill_part_rate(row, view->in_bytes, rate);
		drill_part_bound_text(row, bound);
		(void)text_format(line, sizeof(line), "%s %.1f%%, %s +-%s%%", row->name,
				  row->share * 100, rate, bound);
	}
	return begin_prompt(view, prompt, line);
}

static enum drill_effect begin_note(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	return begin_entry(view, PROMPT_NOTE);
}

static enum drill_effect begin_finding(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	return begin_entry(view, PROMPT_FINDING);
}

static enum drill_effect drill_keys_help(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	view->helping = true;
	return EFFECT_NONE;
}

/* --- out of here --- */

static enum drill_effect drill_keys_yank(struct drill_view *view)
{
	drill_view_tell(view, "copied: %s", text_get(&view->yanked));
	return EFFECT_YANK;
}

static enum drill_effect yank_path(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	text_clear(&view->yanked);
	drill_path_print(&view->path, &view->yanked);
	return drill_keys_yank(view);
}

static enum drill_effect yank_command(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	text_clear(&view->yanked);
	drill_view_command(view, &view->yanked);
	return drill_keys_yank(view);
}

static enum drill_effect yank_url(struct drill_view *view, int64_t now_ms)
{
	(void)now_ms;
	if (!view->page) {
		drill_view_tell(view, "there is nothing to point at yet");
		return EFFECT_NONE;
	}
	text_clear(&view->yanked);
	text_add(&view->yanked, view->page->url);
	return drill_keys_yank(view);
}

static enum drill_effect drill_keys_quit(struct drill_view *view, int64_t now_ms)
{
	(void)view;
	(void)now_ms;
	return EFFECT_QUIT;
}

const struct drill_key drill_keys[] = {
	{{"down", "j"}, "down j", "next row", go_down_a_row},
	{{"up", "k"}, "up k", "row above", go_up_a_row},
	{{"pagedown"}, "page down", "rows further down", go_down_a_page},
	{{"pageup"}, "page up", "rows further up", go_up_a_page},
	{{"home", "g"}, "home g", "first row", go_first},
	{{"end", "G"}, "end G", "last row", go_last},
	{{"right", "enter", "l"}, "right enter l", "into the row", go_in},
	{{"left", "backspace", "h"}, "left backspace h", "one level up", go_out},
	{{"["}, "[", "one window earlier", go_earlier},
	{{"]"}, "]", "one window later", go_later},
	{{"+", "="}, "+", "longer window", take_longer},
	{{"-"}, "-", "shorter window", take_shorter},
	{{"t"}, "t", "type the time", begin_time},
	{{"f", "space"}, "f space", "follow now, or pause", drill_keys_follow},
	{{"r"}, "r", "ask again", drill_keys_refresh},
	{{"s"}, "s", "sort by another", next_sort},
	{{"/"}, "/", "filter by name", begin_filter},
	{{"escape"}, "escape", "all rows again", drill_keys_clear},
	{{"b"}, "b", "bits or bytes a second", switch_unit},
	{{"v"}, "v", "levels beside, or not", switch_panes},
	{{"c"}, "c", "capture: its packets", begin_capture},
	{{"d"}, "d", "name its application", drill_keys_show_dpi},
	{{"e"}, "e", "a note into the case", begin_note},
	{{"E"}, "E", "a finding into it", begin_finding},
	{{"y"}, "y", "copy the path", yank_path},
	{{"Y"}, "Y", "copy a command line", yank_command},
	{{"u"}, "u", "copy the portal's URL", yank_url},
	{{"w"}, "w", "write JSON to a file", drill_keys_begin_file},
	{{"?"}, "?", "this help", drill_keys_help},
	{{"q"}, "q", "quit", drill_keys_quit},
};
const size_t drill_key_count = COUNT_OF(drill_keys);

enum drill_effect drill_view_key(struct drill_view *view, const char *key, int64_t now_ms,
				 bool *ret_known)
{
	*ret_known = true;
	if (view->prompt != PROMPT_NONE)
		return drill_prompt_key(view, key);
	view->told[0] = '\0';
	if (view->helping) { /* any key ends it */
		view->helping = false;
		return EFFECT_NONE;
	}
	if (view->screen != SCREEN_ROWS)
		return drill_capture_key(view, key, ret_known);
	for (size_t i = 0; i < COUNT_OF(drill_keys); i++) {
		for (size_t j = 0; j < COUNT_OF(drill_keys[i].names); j++) {
			const char *name = drill_keys[i].names[j];

			if (name && strcmp(name, key) == 0)
				return drill_keys[i].act(view, now_ms);
		}
	}
	*ret_known = false;
	drill_view_tell(view, "no such key; ? shows them");
	return EFFECT_NONE;
}
