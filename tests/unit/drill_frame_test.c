// links: portal_cli
/* The drill's screens as text: tests/data/drill/NAME.txt, made of the page in pairs.json; and what
 * never reaches a terminal. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/cli/drill/drill_frame.h"
#include "tests/support/cmocka.h"

#define FOLDER TEST_SOURCE_DIR "/data/drill/"
#define NOW_MS 1795344123000 /* 2026-11-22T10:42:03Z */
/* What pairs.json ends at. */
#define PAGE_TO_QUERY "&at=2026-11-22T10:42:00Z&"

static json_t *page_json(void)
{
	json_error_t error;
	json_t *json = json_load_file(FOLDER "pairs.json", 0, &error);

	if (!json)
		fail_msg("pairs.json:%d: %s", error.line, error.text);
	return json;
}

static void open_view(struct drill_view *view, const char *text, const char *at)
{
	struct problem problem = {0};
	struct drill_path path;

	assert_int_equal(drill_path_parse(text, &path, &problem), 0);
	drill_view_init(view, &path, at, 300);
}

/* Takes the reference. */
static void answer(struct drill_view *view, json_t *json)
{
	struct drill_page *page = NULL;

	assert_int_equal(drill_page_new(json, &page), 0);
	json_decref(json);
	drill_view_answer(view, view->question, page, NOW_MS);
}

static void press(struct drill_view *view, const char *key)
{
	bool known = false;

	(void)drill_view_key(view, key, NOW_MS, &known);
	assert_true(known);
}

struct size {
	size_t columns, rows;
};

static char *draw(struct drill_view *view, struct size size, bool ascii)
{
	struct grid *grid = NULL;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	assert_int_equal(grid_new(size.rows, size.columns, ascii, &grid), 0);
	drill_frame_draw(view, grid);
	for (size_t row = 0; row < size.rows; row++) {
		/* no line is wider than the window, in columns of a terminal */
		assert_null(grid_cell(grid, row, size.columns));
	}
	grid_print(grid, out);
	grid_free(grid);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The frame is that of the file; else it says what it is. HAAS_WRITE_FRAMES=1 makes the files anew,
 * to be read before they are committed. */
static void assert_frame(struct drill_view *view, struct size size, bool ascii, const char *name)
{
	CLEANUP(freep) char *got = draw(view, size, ascii);
	char path[256];
	char want[16384];
	FILE *file;

	(void)text_format(path, sizeof(path), FOLDER "%s.txt", name);
	if (getenv("HAAS_WRITE_FRAMES")) {
		file = fopen(path, "we");
		assert_non_null(file);
		assert_true(fputs(got, file) >= 0);
		assert_int_equal(fclose(file), 0);
	}
	file = fopen(path, "re");
	size_t length = file ? fread(want, 1, sizeof(want) - 1, file) : 0;
	want[length] = '\0';
	if (file)
		assert_int_equal(fclose(file), 0);
	if (strcmp(got, want) != 0)
		fail_msg("%s is now\n%s", name, got);
}

static const struct size usual = {80, 24};

static void a_level(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, "link:leaf1:17/tenant:acme/vlan:1301", "");
	assert_frame(&view, usual, false, "loading");
	answer(&view, page_json());
	assert_frame(&view, usual, false, "pairs");
	assert_frame(&view, usual, true, "pairs-ascii");
	assert_frame(&view, (struct size){140, 30}, false, "pairs-wide");
	assert_frame(&view, (struct size){40, 9}, false, "pairs-least");
	assert_frame(&view, (struct size){39, 24}, false, "too-small");
	press(&view, "b");
	press(&view, "s");
	press(&view, "down");
	assert_frame(&view, usual, false, "pairs-by-name");
	press(&view, "?");
	assert_frame(&view, usual, false, "help");
	drill_view_done(&view);
}

/* The level above on the left, the chosen row's parts on the right; a capture over all of it. */
static void beside(struct drill_view *view, enum drill_errand errand, json_t *json)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct problem problem = {0};

	assert_int_equal(drill_view_errand(view), errand);
	(void)drill_view_errand_call(view, errand, &target, &body);
	/* of the seconds that the page is of, or it would not add up with it */
	if (errand == ERRAND_PARENT || errand == ERRAND_PREVIEW)
		assert_non_null(strstr(text_get(&target), PAGE_TO_QUERY));
	if (!json)
		(void)problem_set(&problem, E_NOT_FOUND, "switch leaf1 has no mirror port");
	drill_view_errand_done(view, errand, view->question, json, &problem);
	json_decref(json);
}

static void levels_beside(void **state)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct drill_view view;

	(void)state;
	open_view(&view, "link:leaf1:17/tenant:acme/vlan:1301", "");
	answer(&view, page_json());
	free(draw(&view, usual, false)); /* there is room */
	beside(&view, ERRAND_PARENT,
	       json_pack("{s:[{s:s,s:s,s:f},{s:s,s:s,s:f}]}", "rows", "name", "VLAN 1200", "path",
			 "link:leaf1:17/tenant:acme/vlan:1200", "share", 0.6, "name", "VLAN 1301",
			 "path", "link:leaf1:17/tenant:acme/vlan:1301", "share", 0.4));
	beside(&view, ERRAND_PREVIEW, page_json());
	assert_string_equal(view.side.asked, "link:leaf1:17/tenant:acme/vlan:1301/pair:n1~n2");
	for (int i = 0; i < 10; i++)
		beside(&view, ERRAND_SLICE,
		       i == 3 ? NULL : json_pack("{s:{s:f}}", "total", "bits_per_second", i * 1e6));
	assert_int_equal(drill_view_errand(&view), ERRAND_NONE);
	assert_frame(&view, usual, false, "panes");
	assert_frame(&view, usual, true, "panes-ascii");
	assert_frame(&view, (struct size){140, 30}, false, "panes-wide");
	/* another row: what was of the first is not shown, and is not taken */
	press(&view, "down");
	(void)drill_view_errand_call(&view, ERRAND_PREVIEW, &target, &body);
	press(&view, "down");
	assert_int_equal(drill_view_errand(&view), ERRAND_PREVIEW);
	drill_view_errand_done(&view, ERRAND_PREVIEW, view.question, NULL, &(struct problem){0});
	assert_int_equal(drill_view_errand(&view), ERRAND_PREVIEW);
	assert_frame(&view, usual, false, "panes-moved");
	press(&view, "v");
	assert_frame(&view, usual, false, "pairs-alone");
	drill_view_done(&view);
}

static json_t *capture_json(const char *state)
{
	return json_pack(
		"{s:i,s:s,s:s,s:s,s:i,s:i,s:i,s:{s:{s:i,s:i,s:i,s:i,s:i,s:i,s:i},s:[{s:s,s:i,s:i,s:i},{s:s,s:"
		"i,s:i,s:i,s:b}]}}",
		"id", 7, "node", "n1", "peer", "n2", "state", state, "packets", 812, "bytes", 98304,
		"dropped", 3, "result", "tcp", "segments", 800, "retransmissions", 3,
		"zero_windows", 2, "rtt_count", 9, "rtt_least_us", 210, "rtt_mean_us", 305,
		"rtt_most_us", 1100, "applications", "application", "TLS", "bytes", 300, "packets",
		12, "conversations", 1, "application", "DNS\033[2J", "bytes", 100, "packets", 2,
		"conversations", 2, "guessed", 1);
}

static void packets(void **state)
{
	struct drill_view view;
	json_t *lines = json_pack("{s:i,s:[s,s]}", "next", 2, "lines",
				  "10.0.0.1.1033 > 10.0.0.2.80 tcp [S] seq 1000 ack 0 win 64000 "
				  "length 0",
				  "10.0.0.2.80 > 10.0.0.1.1033 tcp [S.] \033[31m");

	(void)state;
	open_view(&view, "link:leaf1:17/tenant:acme/vlan:1301", "");
	answer(&view, page_json());
	press(&view, "d");
	assert_frame(&view, usual, false, "dpi-none");
	press(&view, "c");
	assert_frame(&view, usual, false, "capture-prompt");
	press(&view, "s");
	press(&view, "enter");
	beside(&view, ERRAND_START, NULL);
	assert_frame(&view, usual, false, "capture-refused");
	press(&view, "left");
	press(&view, "c");
	press(&view, "enter");
	beside(&view, ERRAND_START, capture_json("waiting"));
	assert_frame(&view, usual, false, "capture-waiting");
	drill_view_tick(&view, NOW_MS);
	beside(&view, ERRAND_CAPTURE, capture_json("running"));
	beside(&view, ERRAND_LINES, lines);
	assert_frame(&view, usual, false, "capture-packets");
	press(&view, "d");
	assert_frame(&view, usual, false, "capture-dpi");
	assert_frame(&view, (struct size){40, 9}, true, "capture-least");
	press(&view, "x");
	beside(&view, ERRAND_STOP, capture_json("ended"));
	assert_frame(&view, usual, false, "capture-ended");
	press(&view, "x"); /* it is over */
	press(&view, "left");
	press(&view, "e"); /* in no case */
	assert_frame(&view, usual, false, "no-case");
	view.open_case = "3";
	press(&view, "E");
	assert_frame(&view, usual, false, "finding");
	press(&view, "enter");
	beside(&view, ERRAND_NOTE, json_object());
	assert_string_equal(view.told, "it is in case 3");
	drill_view_done(&view);
}

static void a_filter(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, "link:leaf1:17/tenant:acme/vlan:1301", "");
	answer(&view, page_json());
	press(&view, "/");
	press(&view, "N");
	press(&view, "3");
	assert_frame(&view, usual, false, "filter");
	press(&view, "x");
	press(&view, "enter");
	assert_frame(&view, usual, false, "filter-nothing");
	drill_view_done(&view);
}

static void what_is_not_there(void **state)
{
	struct drill_view view;
	struct problem problem = {0};
	json_t *json = page_json();

	(void)state;
	open_view(&view, "tenant:acme", "2026-11-22T10:42:00Z");
	(void)problem_set(&problem, E_NOT_FOUND, "there is no traffic of a tenant acme");
	problem_hint(&problem, "haasctl tenant list shows what there is");
	drill_view_refuse(&view, view.question, &problem, NOW_MS);
	assert_frame(&view, usual, false, "refused");
	press(&view, "r");
	(void)json_array_clear(json_object_get(json, "rows"));
	for (size_t i = 0; i < 2; i++) {
		json_t *sum = json_object_get(json, i ? "total" : "other");
		static const char *const keys[] = {"bytes",           "bytes_low", "bytes_high",
						   "bits_per_second", "packets",   "samples"};

		for (size_t j = 0; j < COUNT_OF(keys); j++)
			(void)json_object_set_new(sum, keys[j], json_integer(0));
		(void)json_object_set_new(sum, "exact_bytes", json_pack("n"));
	}
	answer(&view, json);
	assert_frame(&view, usual, false, "empty");
	/* the next time portald is away: what is there stays, and is called old */
	press(&view, "r");
	(void)problem_set(&problem, E_UNAVAILABLE, "cannot reach portald");
	problem_hint(&problem, "is it running?");
	drill_view_refuse(&view, view.question, &problem, NOW_MS);
	assert_frame(&view, usual, false, "stale");
	drill_view_done(&view);
}

static void one_flow(void **state)
{
	static const char *const path = "link:leaf1:17/tenant:acme/vlan:1301/pair:n1~n2/"
					"flow:10.0.0.1~40001~10.0.3.1~5201~6~2048~forward";
	struct drill_view view;
	json_t *json = page_json();

	(void)state;
	open_view(&view, path, "");
	(void)json_array_clear(json_object_get(json, "rows"));
	(void)json_object_set_new(json, "path", json_pack("s", path));
	answer(&view, json);
	assert_frame(&view, usual, false, "flow");
	drill_view_done(&view);
}

/* Nothing of a name moves a cursor, rings, or turns text, whatever the window is. */
static void names_are_only_text(void **state)
{
	/* U+202E, not as a literal: clang-tidy minds those */
	static const char override[] = {(char)0xe2, (char)0x80, (char)0xae, '\0'};
	struct drill_view view;

	(void)state;
	open_view(&view, "link:leaf1:17/tenant:acme/vlan:1301", "");
	answer(&view, page_json());
	for (size_t columns = 1; columns < 200; columns += 7) {
		for (size_t rows = 1; rows < 40; rows += 3) {
			CLEANUP(freep)
			char *text = draw(&view, (struct size){columns, rows}, columns % 2);

			for (const char *at = text; *at; at++) {
				if ((unsigned char)*at < ' ' && *at != '\n')
					fail_msg("%zux%zu: byte %d", columns, rows, *at);
				assert_int_not_equal(*at, 0x7f);
			}
			assert_null(strstr(text, override));
		}
	}
	drill_view_done(&view);
}

static void cells(void **state)
{
	static const struct {
		const char *text;
		size_t width, used;
		const char *shown;
	} rows[] = {
		{"abc", 5, 3, "abc"},
		{"abcdef", 5, 5, "abcd\xe2\x80\xa6"},
		{"\xe6\x9d\xb1\xe4\xba\xac", 5, 4, "\xe6\x9d\xb1\xe4\xba\xac"}, /* two wide ones */
		{"\xe6\x9d\xb1\xe4\xba\xac", 3, 3, "\xe6\x9d\xb1\xe2\x80\xa6"},
		{"\xe6\x9d\xb1\xe4\xba\xac", 2, 2, " \xe2\x80\xa6"}, /* half of one does not fit */
		{"e\xcc\x81x", 5, 2, "e\xcc\x81x"},                  /* a mark on a letter */
		{"\xcc\x81x", 5, 1, "x"},                            /* on none */
		{"a\033b", 5, 3,
		 "a\xef\xbf\xbd"
		 "b"},
		{"a\xff"
		 "b",
		 5, 3,
		 "a\xef\xbf\xbd"
		 "b"}, /* no UTF-8 */
		{"a\xc2\x9b"
		 "b",
		 5, 3,
		 "a\xef\xbf\xbd"
		 "b"}, /* CSI of C1 */
		{"\xe2\x80\x8b"
		 "b",
		 5, 2,
		 "\xef\xbf\xbd"
		 "b"},                                          /* no width, no mark */
		{"\xe6\x9d", 5, 2, "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut in the middle */
		{"", 5, 0, ""},
		{"abc", 0, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct grid *grid = NULL;
		CLEANUP(freep) char *text = NULL;
		size_t length = 0;
		FILE *out = open_memstream(&text, &length);

		assert_int_equal(grid_new(1, 10, false, &grid), 0);
		size_t used = grid_put(grid, 0, 0, rows[i].width, GRID_PLAIN, rows[i].text);
		grid_print(grid, out);
		assert_int_equal(fclose(out), 0);
		text[length - 1] = '\0'; /* the line's end */
		if (used != rows[i].used || strcmp(text, rows[i].shown) != 0)
			fail_msg("row %zu: %zu columns, %s", i, used, text);
		grid_free(grid);
	}
}

static void grids_have_bounds(void **state)
{
	struct grid *grid = NULL;

	(void)state;
	assert_int_equal(grid_new(0, 80, false, &grid), -EINVAL);
	assert_int_equal(grid_new(24, 100000, false, &grid), -EINVAL);
	assert_int_equal(grid_new(2, 3, false, &grid), 0);
	assert_int_equal(grid_put(grid, 2, 0, 9, GRID_PLAIN, "abc"), 3); /* below: nowhere */
	assert_int_equal(grid_put(grid, 0, 3, 9, GRID_PLAIN, "abc"), 0);
	assert_int_equal(grid_put(grid, 0, 2, 9, GRID_PLAIN, "\xe6\x9d\xb1"), 1);
	assert_null(grid_cell(grid, 2, 0));
	assert_string_equal(grid_cell(grid, 0, 0)->text, " ");
	grid_free(grid);
	grid_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_level),
		cmocka_unit_test(levels_beside),
		cmocka_unit_test(packets),
		cmocka_unit_test(a_filter),
		cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(one_flow),
		cmocka_unit_test(names_are_only_text),
		cmocka_unit_test(cells),
		cmocka_unit_test(grids_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
