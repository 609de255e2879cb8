/* The drill without a terminal: what a test or a person's script types. Words between blanks and
 * line ends; '#' begins a comment:
 *
 *   KEY          a key by its name: down enter left ] + ? q
 *   type:TEXT    its characters, one by one ("_" for a blank)
 *   wait         until what was asked for is there
 *   tick         time passes: what is followed is asked for again
 *   until:TEXT   ticks until a frame would hold it ("_" for a blank), a minute at most
 *   frame        writes the screen
 *   size:CxR     the window has C columns and R rows from here on
 *
 * Nobody is asked before "wait" (and "tick"), so that a frame after a key shows what a slow server
 * leaves on the screen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "portal/cli/drill/drill_frame.h"
#include "portal/cli/drill/drill_session.h"

#define PASSED_MS  1000
#define SLEEP_MS   200
#define UNTIL_MS   60000
#define SCRIPT_MAX ((size_t)1 << 20)

struct script {
	struct drill_session *session;
	size_t columns, rows;
	size_t line;
	size_t frames;
	bool ended;
};

static int drill_script_wrong(const struct script *script, const char *word, const char *what)
{
	return haasctl_usage("line %zu of the script: %s %s", script->line, word, what);
}

static int write_frame(struct script *script)
{
	struct grid *grid = NULL;
	int rc = grid_new(script->rows, script->columns, script->session->ascii, &grid);

	if (rc)
		return haasctl_cannot("draw", "a frame", rc);
	drill_frame_draw(script->session->view, grid);
	printf("--- frame %zu, %zux%zu\n", ++script->frames, script->columns, script->rows);
	grid_print(grid, stdout);
	grid_free(grid);
	return EXIT_OK;
}

static int wait_for_answer(struct script *script)
{
	int status = EXIT_OK;

	while (status == EXIT_OK) {
		if (script->session->view->asking)
			status = drill_session_ask(script->session);
		else if (drill_view_errand(script->session->view) != ERRAND_NONE)
			status = drill_session_errand(script->session);
		else
			break;
	}
	return status;
}

/* As if the period were over. */
static int pass_time(struct script *script)
{
	struct drill_view *view = script->session->view;

	drill_view_tick(view, view->screen == SCREEN_ROWS
				      ? view->answered_ms + drill_view_period_ms(view)
				      : view->capture.asked_ms + PASSED_MS);
	return wait_for_answer(script);
}

static int drill_script_press(struct script *script, const char *key)
{
	struct drill_session *session = script->session;
	bool known = true;

	switch (drill_view_key(session->view, key, clock_wall_us() / 1000, &known)) {
	case EFFECT_QUIT: script->ended = true; break;
	case EFFECT_WRITE: drill_session_write(session, session->view->typed); break;
	case EFFECT_NONE:
	case EFFECT_YANK: break;
	}
	return known ? EXIT_OK
		     : drill_script_wrong(script, key, "is not a key; ? and frame show them");
}

/* One character at a time, of whatever bytes. */
static int drill_script_type(struct script *script, const char *text)
{
	int status = EXIT_OK;

	while (*text && status == EXIT_OK) {
		char key[8] = "";
		size_t length = 1;

		while (((unsigned char)text[length] & 0xc0) == 0x80 && length < sizeof(key) - 1)
			length++;
		memcpy(key, text, length);
		status = drill_script_press(script, strcmp(key, "_") == 0 ? "space" : key);
		text += length;
	}
	return status;
}

static bool frame_holds(const struct script *script, const char *text)
{
	CLEANUP(freep) char *shown = NULL;
	struct grid *grid = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&shown, &size);
	bool held = false;

	if (!out)
		return false;
	if (grid_new(script->rows, script->columns, script->session->ascii, &grid) == 0) {
		drill_frame_draw(script->session->view, grid);
		grid_print(grid, out);
		grid_free(grid);
	}
	if (fclose(out) == 0 && shown)
		held = strstr(shown, text) != NULL;
	return held;
}

static int wait_until(struct script *script, const char *word)
{
	int64_t end_ms = clock_monotonic_ms() + UNTIL_MS;
	char text[200];
	int status = wait_for_answer(script);

	(void)text_copy(text, sizeof(text), word);
	for (char *at = strchr(text, '_'); at; at = strchr(at, '_'))
		*at = ' ';
	while (status == EXIT_OK && !frame_holds(script, text)) {
		if (clock_monotonic_ms() > end_ms) {
			(void)write_frame(script);
			return drill_script_wrong(script, word, "is not in this frame");
		}
		if (!haasctl_sleep(script->session->haasctl, SLEEP_MS))
			return EXIT_INTERRUPTED;
		status = pass_time(script);
	}
	return status;
}

static int drill_script_resize(struct script *script, const char *text)
{
	char *end = NULL;
	unsigned long columns = strtoul(text, &end, 10);
	unsigned long rows = *end == 'x' ? strtoul(end + 1, &end, 10) : 0;

	if (*end || columns < 1 || columns > 1000 || rows < 1 || rows > 1000)
		return drill_script_wrong(script, text, "is not a size: 80x24");
	script->columns = columns;
	script->rows = rows;
	return EXIT_OK;
}

static int run_word(struct script *script, const char *word)
{
	static const struct {
		const char *word;
		int (*run)(struct script *script);
	} rows[] = {{"frame", write_frame}, {"wait", wait_for_answer}, {"tick", pass_time}};
	static const struct {
		const char *word;
		int (*run)(struct script *script, const char *text);
	} with_text[] = {{"type:", drill_script_type},
			 {"size:", drill_script_resize},
			 {"until:", wait_until}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].word, word) == 0)
			return rows[i].run(script);
	}
	for (size_t i = 0; i < COUNT_OF(with_text); i++) {
		size_t length = strlen(with_text[i].word);

		if (strncmp(with_text[i].word, word, length) == 0)
			return with_text[i].run(script, word + length);
	}
	return drill_script_press(script, word);
}

static int drill_script_run_line(struct script *script, char *line)
{
	char *rest = NULL;
	int status = EXIT_OK;

	script->line++;
	for (char *word = strtok_r(line, " \t\r\n", &rest);
	     word && word[0] != '#' && status == EXIT_OK && !script->ended;
	     word = strtok_r(NULL, " \t\r\n", &rest))
		status = run_word(script, word);
	return status;
}

int drill_script_run(struct drill_session *session, const char *path)
{
	struct script script = {.session = session, .columns = 80, .rows = 24};
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int status = EXIT_OK;
	size_t size = 0;

	if (!in)
		return haasctl_cannot("read", path, -errno);
	for (;;) {
		CLEANUP(freep) char *line = NULL;
		size_t room = 0;
		ssize_t length = getline(&line, &room, in);

		if (length < 0 || script.ended || status != EXIT_OK)
			break;
		size += (size_t)length;
		if (size > SCRIPT_MAX)
			status = drill_script_wrong(&script, path, "is too long");
		else
			status = drill_script_run_line(&script, line);
	}
	if (in != stdin)
		(void)fclose(in);
	return status != EXIT_OK ? status : session->status;
}
