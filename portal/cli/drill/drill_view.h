/* What the person at the drill looks at, as a state that keys and answers change: no terminal, no
 * server, no clock. Whoever drives it (drill_tui.c, drill_script.c, a test) gives it keys by name,
 * asks the API when it asks (drill_view_target), and draws it with drill_frame_draw. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/model/drill_path.h"
#include "common/model/drill_url.h"

#include "portal/cli/drill/drill_page.h"

enum drill_prompt {
	PROMPT_NONE,
	PROMPT_FILTER, /* each character is taken at once */
	PROMPT_TIME,
	PROMPT_FILE
};

enum drill_sort { SORT_SHARE, SORT_NAME, SORT_BOUND, SORT_SAMPLES, SORT_COUNT };
extern const char *const drill_sort_words[SORT_COUNT];

/* What a key wants done outside. */
enum drill_effect {
	EFFECT_NONE,
	EFFECT_QUIT,
	EFFECT_YANK, /* `yanked` is for the clipboard */
	EFFECT_WRITE /* the page's JSON into the file `typed`; then drill_view_tell */
};

struct drill_view {
	/* where and when */
	struct drill_path path;
	char at[DRILL_TIME_SIZE]; /* the end, as the API takes it; "" = now */
	int64_t window_s;
	size_t limit;       /* rows at most */
	const char *tenant; /* --as-tenant, or NULL; borrowed */

	/* what came of it */
	struct drill_page *page; /* of this place; NULL until it is there */
	struct problem problem;  /* why there is no newer one; none is 0 */
	bool asking;             /* a question is open */
	bool by_itself;          /* it follows: nobody pressed a key for it */
	uint64_t question;       /* its number: an answer to an earlier one is late */
	int64_t answered_ms;

	/* how it is shown */
	bool following; /* asks again by itself while it looks at now */
	bool helping;
	bool in_bytes;
	enum drill_sort sort;
	enum drill_prompt prompt;
	char typed[200];
	char filter[64];            /* rows without it in their names are left out; "" = all */
	size_t *order;              /* indexes of page->rows: as sorted, without those left out */
	size_t shown;               /* how many */
	size_t cursor, top, height; /* of the rows shown: the chosen, the first on screen, how many
				       fit */
	char chosen[DRILL_PATH_SIZE]; /* the chosen row's path: it is found again */
	char told[DRILL_PATH_SIZE + 200];
	struct text yanked;
};

/* A place that was parsed; it asks at once. */
void drill_view_init(struct drill_view *view, const struct drill_path *path, const char *at,
		     int64_t window_s);
void drill_view_done(struct drill_view *view);

/* A key by its name ("down", "enter", "q"), or in a prompt the character that was typed. *ret_known
 * says whether it means something here. */
enum drill_effect drill_view_key(struct drill_view *view, const char *key, int64_t now_ms,
				 bool *ret_known);
/* Time passes: while following it asks again when the answer is old. */
void drill_view_tick(struct drill_view *view, int64_t now_ms);
/* How old an answer may become while following. */
int64_t drill_view_period_ms(const struct drill_view *view);

/* "/drill?path=..." below the API's root: what to ask while `asking`. */
void drill_view_target(const struct drill_view *view, struct text *out);
/* The answer to a question by its number; takes the page. A late one changes nothing. */
void drill_view_answer(struct drill_view *view, uint64_t question, struct drill_page *page,
		       int64_t now_ms);
/* Or why there is none. A page that is here stays. */
void drill_view_refuse(struct drill_view *view, uint64_t question, const struct problem *problem,
		       int64_t now_ms);
/* So many rows fit: keeps the chosen one among them. */
void drill_view_fit(struct drill_view *view, size_t height);
/* A line for the person. */
void drill_view_tell(struct drill_view *view, const char *format, ...) PRINTF_LIKE(2, 3);
/* The chosen row, or NULL. */
const struct drill_part *drill_view_chosen(const struct drill_view *view);
/* The sum of the rows that the filter leaves out; its bounds are the sums of theirs. */
struct drill_part drill_view_left_out(const struct drill_view *view);
/* What is shown, as a command line that shows it again. */
void drill_view_command(const struct drill_view *view, struct text *out);
/* "5m", "36h" */
void drill_window_text(int64_t window_s, char ret[16]);

/* Rows of the help; names end with NULL where there are less than three. */
struct drill_key {
	const char *names[3];
	const char *shown, *help;
	enum drill_effect (*act)(struct drill_view *view, int64_t now_ms);
};
extern const struct drill_key drill_keys[];
extern const size_t drill_key_count;

/* --- between the parts of it --- */

/* drill_view.c: a new question about this place, which keeps its page, or about another. */
void drill_view_ask(struct drill_view *view, bool elsewhere);
/* drill_view.c: the rows again, sorted and filtered; the chosen one stays so. */
void drill_view_arrange(struct drill_view *view);
void drill_view_choose(struct drill_view *view, size_t cursor);
/* drill_prompt.c: a key while something is typed. */
enum drill_effect drill_prompt_key(struct drill_view *view, const char *key);
