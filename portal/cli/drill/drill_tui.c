/* The drill on a terminal: ncurses draws the grid and names the keys; everything else is
 * drill_view's. Keys are taken while portald is asked, too. */
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_NOMACROS
#include <ncurses.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/cli/output.h"

#include "portal/cli/drill/drill_frame.h"
#include "portal/cli/drill/drill_session.h"

#define TICK_MS         250
#define ESCAPE_DELAY_MS 25 /* an escape by itself; longer sequences come at once */

struct tui {
	struct drill_session *session;
	SCREEN *screen;
	struct loop_watch *keys;
	struct loop_timer *timer;
	uint64_t asked; /* the question under way, 0 = none */
	bool colour;
	bool ended;
};

bool drill_tui_possible(void)
{
	const char *terminal = getenv("TERM"); // NOLINT(concurrency-mt-unsafe): one thread

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal &&
	       strcmp(terminal, "dumb") != 0;
}

/* --- drawing --- */

enum pair { PAIR_ALARM = 1, PAIR_GAUGE };

static attr_t attributes_of(const struct tui *tui, enum grid_style style)
{
	switch (style) {
	case GRID_PLAIN: return A_NORMAL;
	case GRID_BOLD: return A_BOLD;
	case GRID_DIM: return A_DIM;
	case GRID_BAR: return A_REVERSE;
	case GRID_SELECTED: return A_REVERSE | A_BOLD;
	case GRID_ALARM: return A_BOLD | (tui->colour ? (attr_t)COLOR_PAIR(PAIR_ALARM) : 0);
	case GRID_GAUGE: return tui->colour ? (attr_t)COLOR_PAIR(PAIR_GAUGE) : A_NORMAL;
	}
	return A_NORMAL;
}

static void drill_tui_draw(const struct tui *tui)
{
	struct grid *grid = NULL;
	int rows = getmaxy(stdscr);
	int columns = getmaxx(stdscr);

	if (grid_new(rows > 0 ? (size_t)rows : 1, columns > 0 ? (size_t)columns : 1,
		     tui->session->ascii, &grid) != 0)
		return;
	drill_frame_draw(tui->session->view, grid);
	(void)erase();
	for (int row = 0; row < rows; row++) {
		for (int column = 0; column < columns; column++) {
			const struct grid_cell *cell = grid_cell(grid, (size_t)row, (size_t)column);

			if (!cell || !cell->text[0])
				continue;
			(void)attrset((int)attributes_of(tui, cell->style));
			(void)mvaddstr(row, column, cell->text);
		}
	}
	(void)move(rows - 2, 0);
	(void)refresh();
	grid_free(grid);
}

/* --- keys --- */

/* A key's name as drill_view knows it; NULL for one without. `is_code`: of ncurses, else a
 * character. */
static const char *drill_tui_name_of(bool is_code, wint_t code, char room[MB_LEN_MAX + 1])
{
	static const struct {
		bool is_code;
		wint_t code;
		const char *name;
	} rows[] = {
		{true, KEY_UP, "up"},        {true, KEY_DOWN, "down"},
		{true, KEY_LEFT, "left"},    {true, KEY_RIGHT, "right"},
		{true, KEY_PPAGE, "pageup"}, {true, KEY_NPAGE, "pagedown"},
		{true, KEY_HOME, "home"},    {true, KEY_END, "end"},
		{true, KEY_ENTER, "enter"},  {true, KEY_BACKSPACE, "backspace"},
		{false, '\r', "enter"},      {false, '\n', "enter"},
		{false, '\b', "backspace"},  {false, 0x7f, "backspace"},
		{false, '\033', "escape"},   {false, ' ', "space"},
	};
	mbstate_t state = {0};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].is_code == is_code && rows[i].code == code)
			return rows[i].name;
	}
	if (is_code || code < ' ')
		return NULL;
	size_t size = wcrtomb(room, (wchar_t)code, &state);
	if (size > MB_LEN_MAX)
		return NULL;
	room[size] = '\0';
	return room;
}

/* To the terminal's clipboard (OSC 52 of xterm's control sequences), where there is one: the
 * kernel's console would print it. */
static void copy_out(const struct text *yanked)
{
	const char *terminal = getenv("TERM"); // NOLINT(concurrency-mt-unsafe): one thread
	size_t room = sodium_base64_ENCODED_LEN(yanked->size, sodium_base64_VARIANT_ORIGINAL);
	CLEANUP(freep) char *encoded = malloc(room);

	if (!encoded || !terminal || strncmp(terminal, "linux", 5) == 0)
		return;
	(void)sodium_bin2base64(encoded, room, (const unsigned char *)text_get(yanked),
				yanked->size, sodium_base64_VARIANT_ORIGINAL);
	say_control(stdout, "\033]52;c;");
	say_control(stdout, encoded);
	say_control(stdout, "\a");
	(void)fflush(stdout);
}

static void drill_tui_press(struct tui *tui, const char *key)
{
	struct drill_view *view = tui->session->view;
	bool known = true;

	switch (drill_view_key(view, key, clock_wall_us() / 1000, &known)) {
	case EFFECT_QUIT: tui->ended = true; break;
	case EFFECT_YANK: copy_out(&view->yanked); break;
	case EFFECT_WRITE: drill_session_write(tui->session, view->typed); break;
	case EFFECT_NONE: break;
	}
}

/* Is nobody there any more? Then it is readable for ever, and there are no keys. */
static bool is_gone(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&in, 1, 0) == 1 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* A question that nobody asks any more is left. */
static void drill_tui_wake(struct tui *tui)
{
	struct drill_session *session = tui->session;

	if (tui->asked && (tui->ended || session->view->question != tui->asked))
		haasctl_stop(session->haasctl);
	else
		loop_stop(haasctl_loop(session->haasctl));
}

static void on_keys(void *context, int events)
{
	struct tui *tui = context;
	char room[MB_LEN_MAX + 1];
	wint_t code = 0;
	bool any = false;

	(void)events;
	for (int kind = get_wch(&code); kind != ERR && !tui->ended; kind = get_wch(&code)) {
		const char *key = drill_tui_name_of(kind == KEY_CODE_YES, code, room);

		any = true;
		if (key)
			drill_tui_press(tui, key);
	}
	if (!any && is_gone())
		tui->ended = true;
	drill_tui_draw(tui);
	drill_tui_wake(tui);
}

static void drill_tui_on_tick(void *context)
{
	struct tui *tui = context;
	struct drill_view *view = tui->session->view;
	uint64_t before = view->question;

	drill_view_tick(view, clock_wall_us() / 1000);
	loop_timer_arm(tui->timer, TICK_MS);
	if (view->question != before || view->capture.due)
		drill_tui_wake(tui);
}

/* Signals are the loop's: ncurses leaves those alone that somebody handles already. */
static void on_resize(void *context)
{
	struct tui *tui = context;
	struct winsize window = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 &&
	    window.ws_col > 0 && tui->screen)
		(void)resizeterm(window.ws_row, window.ws_col);
	if (tui->screen)
		drill_tui_draw(tui);
}

/* --- begin and end --- */

static int drill_tui_begin(struct tui *tui)
{
	struct drill_session *session = tui->session;
	struct loop *loop = haasctl_loop(session->haasctl);

	// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		session->ascii = true;
	tui->colour = output_colour(stdout, command_option(session->input, "--color"));
	int rc = loop_on_signal(loop, SIGWINCH, on_resize, tui);
	if (rc == 0)
		rc = loop_timer_new(loop, drill_tui_on_tick, tui, &tui->timer);
	if (rc == 0)
		rc = loop_watch_new(loop, STDIN_FILENO, LOOP_READ, on_keys, tui, &tui->keys);
	if (rc < 0)
		return haasctl_cannot("watch", "the terminal", rc);
	tui->screen = newterm(NULL, stdout, stdin);
	if (!tui->screen)
		return haasctl_usage("this terminal cannot be drawn on: use -o table");
	(void)cbreak();
	(void)noecho();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_DELAY_MS);
	(void)curs_set(0);
	if (tui->colour && start_color() == OK && use_default_colors() == OK) {
		(void)init_pair(PAIR_ALARM, COLOR_RED, -1);
		(void)init_pair(PAIR_GAUGE, COLOR_CYAN, -1);
	} else {
		tui->colour = false;
	}
	loop_timer_arm(tui->timer, TICK_MS);
	return EXIT_OK;
}

static void drill_tui_end(struct tui *tui)
{
	loop_watch_free(tui->keys);
	loop_timer_free(tui->timer);
	if (!tui->screen)
		return;
	(void)endwin();
	delscreen(tui->screen);
	tui->screen = NULL;
}

int drill_tui_run(struct drill_session *session)
{
	struct haasctl *haasctl = session->haasctl;
	struct drill_view *view = session->view;
	struct tui tui = {.session = session};
	int status = drill_tui_begin(&tui);

	while (status == EXIT_OK && !tui.ended && !haasctl_interrupted(haasctl)) {
		drill_tui_draw(&tui);
		enum drill_errand errand = drill_view_errand(view);

		/* A person's wish is not left for the next key: it may be done already. */
		tui.asked = errand < ERRAND_START ? view->question : 0;
		if (view->asking) {
			status = drill_session_ask(session);
			tui.asked = 0;
		} else if (errand != ERRAND_NONE) {
			status = drill_session_errand(session);
			tui.asked = 0;
		} else {
			tui.asked = 0;
			loop_run(haasctl_loop(haasctl));
		}
	}
	drill_tui_end(&tui);
	if (haasctl_interrupted(haasctl))
		return EXIT_INTERRUPTED;
	/* For terminals without a clipboard that programs may write to. */
	if (status == EXIT_OK && view->yanked.size > 0)
		printf("%s\n", text_get(&view->yanked));
	return status;
}
