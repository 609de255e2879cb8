/* The page of the drill on the screen, as a state that keys and answers change: no terminal, no
 * server, no clock. Its driver (drill_tui.c, drill_script.c, a test) gives it keys by name. The
 * driver asks the API when the view wants data (drill_view_target), and draws the view with
 * drill_frame_draw. */
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
	PROMPT_FILE,
	PROMPT_CAPTURE, /* how much of what, and why */
	PROMPT_NOTE,
	PROMPT_FINDING
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

/* What is asked beside the page, one at a time, while the page is not asked for. Those from
 * ERRAND_START on were a person's wish. */
enum drill_errand {
	ERRAND_NONE,
	ERRAND_PARENT,  /* the level above */
	ERRAND_PREVIEW, /* the level below */
	ERRAND_SLICE,   /* a part of the window, of the chosen row */
	ERRAND_CAPTURE, /* how it stands */
	ERRAND_LINES,   /* its last packets */
	ERRAND_START,   /* a capture */
	ERRAND_STOP,
	ERRAND_NOTE, /* into the case */
};

/* What fills the screen. */
enum drill_screen { SCREEN_ROWS, SCREEN_PACKETS, SCREEN_DPI };

#define DRILL_SLICES 10
#define DRILL_LINES  64

/* The columns beside the rows: where one came from, and what is in the chosen row. */
struct drill_side {
	struct drill_page *parent, *preview;
	bool asked_parent;            /* for this page */
	char asking[DRILL_PATH_SIZE]; /* the row that is asked about: the cursor may move on */
	char asked[DRILL_PATH_SIZE];  /* the row that preview and slices are of */
	bool asked_preview;           /* for it, since the page was there */
	int64_t slices_end_s;
	double slices[DRILL_SLICES];    /* bits a second, the oldest first; negative: not known */
	size_t slice_count, slice_next; /* how many there are to be; the next to ask */
};

/* A capture that was begun here. `id` 0: none was. */
struct drill_capture {
	char path[DRILL_PATH_SIZE]; /* asked for */
	int64_t snap_length, seconds;
	char reason[120];
	int64_t id;
	json_t *json; /* as it was told last; owned */
	char lines[DRILL_LINES][200];
	size_t line_count; /* of its life; the last DRILL_LINES are here */
	int64_t next;      /* what to ask for */
	bool held;         /* the lines stand still */
	bool due, lines_due;
	int64_t asked_ms;
	struct problem problem; /* why there is none, or no newer state */
};

struct drill_view {
	/* where and when */
	struct drill_path path;
	char at[DRILL_TIME_SIZE]; /* the end, as the API takes it; "" = now */
	int64_t window_s;
	size_t limit;          /* rows at most */
	const char *tenant;    /* --as-tenant, or NULL; borrowed */
	const char *open_case; /* its number as text, or NULL; borrowed */

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
	bool panes;     /* what is above and below stands beside the rows, where there is room */
	bool panes_fit; /* there was, in the last frame */
	enum drill_screen screen;
	struct drill_side side;
	struct drill_capture capture;
	enum drill_errand wish;   /* of a person; not done yet */
	enum drill_prompt noting; /* a note or a finding */
	char note[200];           /* its text: `typed` may be another prompt's by then */
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
/* What is asked next beside the page; ERRAND_NONE: nothing, or the page first. */
enum drill_errand drill_view_errand(const struct drill_view *view);
/* "GET", or "POST" with a body. */
const char *drill_view_errand_call(struct drill_view *view, enum drill_errand errand,
				   struct text *target, struct text *body);
/* What came of it: `json` is borrowed, NULL with a problem. `question` is the view's number when it
 * was asked: for another place it changes nothing. */
void drill_view_errand_done(struct drill_view *view, enum drill_errand errand, uint64_t question,
			    json_t *json, const struct problem *problem);
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

/* drill_side.c */
void drill_side_done(struct drill_side *side);
void drill_side_moved(struct drill_view *view, bool elsewhere);
enum drill_errand drill_side_errand(const struct drill_view *view);
void drill_side_call(struct drill_view *view, enum drill_errand errand, struct text *target);
void drill_side_took(struct drill_view *view, enum drill_errand errand, json_t *json);
/* drill_capture.c */
void drill_capture_done(struct drill_capture *capture);
bool drill_capture_is_over(const struct drill_capture *capture);
void drill_capture_begin(struct drill_view *view);
void drill_capture_take(struct drill_view *view);
enum drill_effect drill_capture_key(struct drill_view *view, const char *key, bool *ret_known);
const char *drill_capture_call(const struct drill_view *view, enum drill_errand errand,
			       struct text *target, struct text *body);
void drill_capture_took(struct drill_view *view, enum drill_errand errand, const json_t *json,
			const struct problem *problem);

/* drill_view.c: a new question about this place, which keeps its page, or about another. */
void drill_view_ask(struct drill_view *view, bool elsewhere);
/* drill_keys.c: the end of what is shown, and so long before it; false before the first answer. */
bool drill_view_end(const struct drill_view *view, int64_t *ret_s);
bool drill_view_time(const struct drill_view *view, int64_t before_s, char ret[DRILL_TIME_SIZE]);
/* drill_view.c: "/drill?path=..." of any place. */
void drill_view_target_of(const struct drill_view *view, const struct drill_path *path,
			  const char *at, int64_t window_s, size_t limit, struct text *out);
/* drill_view.c: the rows again, sorted and filtered; the chosen one stays so. */
void drill_view_arrange(struct drill_view *view);
void drill_view_choose(struct drill_view *view, size_t cursor);
/* drill_prompt.c: a key while something is typed. */
enum drill_effect drill_prompt_key(struct drill_view *view, const char *key);
