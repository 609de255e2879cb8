// links: portal_cli
/* Keys and answers against what the drill then looks at, asks and tells. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/cli/drill/drill_complete.h"
#include "portal/cli/drill/drill_view.h"
#include "tests/support/cmocka.h"

#define NOW_MS 1795344123000 /* 2026-11-22T10:42:03Z */
#define PLACE  "link:leaf1:17/tenant:acme/vlan:1301"

static void open_view(struct drill_view *view, const char *text, const char *at)
{
	struct problem problem = {0};
	struct drill_path path;

	assert_int_equal(drill_path_parse(text, &path, &problem), 0);
	drill_view_init(view, &path, at, 300);
}

static void answer(struct drill_view *view)
{
	json_error_t error;
	json_t *json = json_load_file(TEST_SOURCE_DIR "/data/drill/pairs.json", 0, &error);
	struct drill_page *page = NULL;

	assert_non_null(json);
	assert_int_equal(drill_page_new(json, &page), 0);
	json_decref(json);
	drill_view_answer(view, view->question, page, NOW_MS);
}

/* Words between blanks; returns what the last wants done. */
static enum drill_effect press(struct drill_view *view, const char *keys)
{
	enum drill_effect effect = EFFECT_NONE;
	char room[256];
	char *rest = NULL;

	assert_true(text_copy(room, sizeof(room), keys));
	for (char *key = strtok_r(room, " ", &rest); key; key = strtok_r(NULL, " ", &rest)) {
		bool known = false;

		effect = drill_view_key(view, key, NOW_MS, &known);
		if (!known)
			fail_msg("%s is no key", key);
	}
	return effect;
}

static void assert_asks(const struct drill_view *view, const char *target)
{
	CLEANUP(text_done) struct text text = {0};

	drill_view_target(view, &text);
	assert_string_equal(text_get(&text), target);
	assert_true(view->asking);
}

static void keys_lead_to_questions(void **state)
{
	static const char *const here = "/drill?path=" PLACE;
	static const struct {
		const char *at, *keys;
		const char *target; /* behind the path of here when it begins with '&'; NULL = asks
				       nothing */
	} rows[] = {
		{"", "enter", "/drill?path=" PLACE "/pair:n1~n2&window=5m&limit=100"},
		{"", "down right", "/drill?path=" PLACE "/pair:n3~n4&window=5m&limit=100"},
		{"", "down down l",
		 "/drill?path=" PLACE "/pair:x~fe80%253A%253A1&window=5m&limit=100"},
		{"", "left", "/drill?path=link:leaf1:17/tenant:acme&window=5m&limit=100"},
		{"", "h backspace left", "/drill?window=5m&limit=100"},
		{"", "[", "&at=2026-11-22T10:37:00Z&window=5m&limit=100"},
		{"10:42", "]", "&window=5m&limit=100"}, /* past now: follows again */
		{"", "]", NULL},
		{"", "+", "&window=10m&limit=100"},
		{"", "-", "&window=2m&limit=100"},
		{"", "- - -", "&window=30s&limit=100"},
		{"", "- - - - - - - - -", "&window=1s&limit=100"},
		{"", "+ + + + + + + + + +", "&window=30d&limit=100"},
		{"", "t 0 9 : 3 0 enter", "&at=09:30&window=5m&limit=100"},
		{"", "t 0 9 : 3 0 space 1 h enter", "&at=09:30&window=1h&limit=100"},
		{"09:30", "t n o w space 1 h enter", "&window=1h&limit=100"},
		{"", "t 0 9 : 3 0 space 5 s enter", "&at=09:30&window=5s&limit=100"},
		{"", "t 0 9 : 3 0 space 0 s enter", NULL}, /* no such window */
		{"", "t 0 9 : 3 0 space 3 1 d enter", NULL},
		{"", "t 0 9 escape", NULL},
		{"", "t enter", NULL},
		{"09:30", "f", "&window=5m&limit=100"},
		{"", "f", NULL}, /* paused */
		{"", "space f", "&window=5m&limit=100"},
		{"09:30", "r", "&at=09:30&window=5m&limit=100"},
		{"", "s s s s b ? q", NULL},
		{"", "/ n 3 enter", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct drill_view view;
		CLEANUP(text_done) struct text want = {0};

		open_view(&view, PLACE, rows[i].at);
		answer(&view);
		assert_false(view.asking);
		(void)press(&view, rows[i].keys);
		if (view.asking != (rows[i].target != NULL))
			fail_msg("%s: asking is %d", rows[i].keys, view.asking);
		if (rows[i].target) {
			text_addf(&want, "%s%s", rows[i].target[0] == '&' ? here : "",
				  rows[i].target);
			assert_asks(&view, text_get(&want));
		}
		drill_view_done(&view);
	}
}

static void the_chosen_row_stays(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, PLACE, "");
	answer(&view);
	(void)press(&view, "down");
	assert_string_equal(drill_view_chosen(&view)->name, "n3 - n4");
	(void)press(&view, "s"); /* by name: the odd one comes first */
	assert_string_equal(drill_view_chosen(&view)->name, "n3 - n4");
	assert_int_equal(view.cursor, 2);
	(void)press(&view, "r");
	answer(&view);
	assert_int_equal(view.cursor, 2);
	(void)press(&view, "/ n 5 enter");
	assert_int_equal(view.shown, 1);
	assert_string_equal(drill_view_chosen(&view)->name, "n5 - n6");
	(void)press(&view, "escape home");
	assert_int_equal(view.shown, 5);
	(void)press(&view, "end down down");
	assert_int_equal(view.cursor, 4);
	(void)press(&view, "g up");
	assert_int_equal(view.cursor, 0);
	drill_view_done(&view);
}

/* Up again, onto the row that one came from. */
static void out_leads_back(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, PLACE "/pair:n3~n4", "");
	(void)press(&view, "left");
	assert_asks(&view, "/drill?path=" PLACE "&window=5m&limit=100");
	answer(&view);
	assert_string_equal(drill_view_chosen(&view)->name, "n3 - n4");
	drill_view_done(&view);
}

static void rows_that_lead_nowhere(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, PLACE, "");
	assert_int_equal(press(&view, "[ enter"), EFFECT_NONE); /* nothing is there yet */
	assert_string_equal(view.told, "there is no row to go into");
	answer(&view);
	(void)press(&view, "down down down enter");
	assert_string_equal(view.told, "this row has no place of its own");
	assert_false(view.asking);
	drill_view_done(&view);

	open_view(&view, "", "");
	(void)press(&view, "left");
	assert_non_null(strstr(view.told, "nothing above"));
	drill_view_done(&view);
}

static void late_answers_change_nothing(void **state)
{
	struct drill_view view;
	struct problem problem = {0};
	uint64_t late;

	(void)state;
	open_view(&view, PLACE, "");
	late = view.question;
	(void)press(&view, "left");
	(void)problem_set(&problem, E_NOT_FOUND, "gone");
	drill_view_refuse(&view, late, &problem, NOW_MS);
	assert_true(view.asking);
	assert_false(problem_is_set(&view.problem));
	drill_view_refuse(&view, view.question, &problem, NOW_MS);
	assert_false(view.asking);
	assert_string_equal(view.problem.message, "gone");
	/* asking again forgets it */
	(void)press(&view, "r");
	assert_false(problem_is_set(&view.problem));
	drill_view_done(&view);
}

static void what_is_followed_is_asked_again(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, PLACE, "");
	answer(&view);
	assert_int_equal(drill_view_period_ms(&view), 5000);
	drill_view_tick(&view, NOW_MS + 4999);
	assert_false(view.asking);
	drill_view_tick(&view, NOW_MS + 5000);
	assert_true(view.asking);
	assert_true(view.by_itself);
	assert_non_null(view.page); /* the old one stays meanwhile */
	answer(&view);
	(void)press(&view, "space");
	drill_view_tick(&view, NOW_MS + 60000);
	assert_false(view.asking);
	(void)press(&view, "space");
	assert_true(view.asking && !view.by_itself); /* a person did */
	answer(&view);
	(void)press(&view, "[");
	answer(&view);
	drill_view_tick(&view, NOW_MS + 60000); /* what is past does not change */
	assert_false(view.asking);
	drill_view_done(&view);
}

static void scrolling_keeps_the_chosen_in_sight(void **state)
{
	struct drill_view view;

	(void)state;
	open_view(&view, PLACE, "");
	answer(&view);
	drill_view_fit(&view, 2);
	(void)press(&view, "down down");
	assert_int_equal(view.top, 1);
	(void)press(&view, "pagedown");
	assert_int_equal(view.cursor, 4);
	assert_int_equal(view.top, 3);
	(void)press(&view, "pageup");
	assert_int_equal(view.cursor, 2);
	drill_view_fit(&view, 5); /* a larger window shows more, not blanks */
	assert_int_equal(view.top, 0);
	drill_view_done(&view);
}

static void what_is_copied(void **state)
{
	static const struct {
		const char *path, *key, *text;
	} rows[] = {
		{PLACE, "y", PLACE},
		{PLACE, "u", "/drill?path=" PLACE "&at=2026-11-22T10:42:00Z&window=5m"},
		{PLACE, "Y",
		 "haasctl drill " PLACE " --at 2026-11-22T10:42:00Z --window 5m --as-tenant acme"},
		{"link:a$b:c'd", "Y",
		 "haasctl drill 'link:a$b:c'\\''d' --at 2026-11-22T10:42:00Z --window 5m "
		 "--as-tenant acme"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct drill_view view;

		open_view(&view, rows[i].path, "");
		view.tenant = "acme";
		answer(&view);
		assert_int_equal(press(&view, rows[i].key), EFFECT_YANK);
		assert_string_equal(text_get(&view.yanked), rows[i].text);
		assert_non_null(strstr(view.told, rows[i].text));
		drill_view_done(&view);
	}
}

static void effects(void **state)
{
	struct drill_view view;
	bool known = true;

	(void)state;
	open_view(&view, PLACE, "");
	assert_int_equal(press(&view, "w"), EFFECT_NONE); /* nothing is there yet */
	assert_int_equal(view.prompt, PROMPT_NONE);
	assert_int_equal(press(&view, "q"), EFFECT_QUIT);
	answer(&view);
	assert_int_equal(press(&view, "w 2 enter"), EFFECT_WRITE);
	assert_string_equal(view.typed, "drill.json2");
	/* what is typed is no command, and characters go whole */
	assert_int_equal(press(&view, "/ q \xc3\xa9 backspace"), EFFECT_NONE);
	assert_string_equal(view.filter, "q");
	(void)press(&view, "escape");
	assert_string_equal(view.filter, "");
	assert_int_equal(drill_view_key(&view, "x", NOW_MS, &known), EFFECT_NONE);
	assert_false(known);
	drill_view_done(&view);
}

/* No two rows have the same key. */
static void a_second_note_waits(void **state)
{
	struct drill_view view;
	struct problem problem = {0};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	json_t *json = json_object();

	(void)state;
	open_view(&view, "", "");
	answer(&view);
	view.open_case = "7";
	(void)press(&view, "e 1 enter");
	assert_int_equal(drill_view_errand(&view), ERRAND_NOTE);
	(void)press(&view, "e 2 enter");
	assert_string_equal(view.told, "one moment: the last one is still being sent");
	assert_int_equal(view.prompt, PROMPT_NOTE);
	(void)drill_view_errand_call(&view, ERRAND_NOTE, &target, &body);
	assert_non_null(strstr(text_get(&body), "1\"}"));
	drill_view_errand_done(&view, ERRAND_NOTE, 0, json, &problem);
	(void)press(&view, "enter");
	assert_int_equal(view.prompt, PROMPT_NONE);
	assert_int_equal(drill_view_errand(&view), ERRAND_NOTE);
	text_clear(&body);
	(void)drill_view_errand_call(&view, ERRAND_NOTE, &target, &body);
	assert_non_null(strstr(text_get(&body), "2\"}"));
	json_decref(json);
	drill_view_done(&view);
}

static void keys_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < drill_key_count * 3; i++) {
		const char *name = drill_keys[i / 3].names[i % 3];

		for (size_t j = 0; name && j < i; j++) {
			const char *other = drill_keys[j / 3].names[j % 3];

			if (other && strcmp(name, other) == 0)
				fail_msg("%s stands twice", name);
		}
	}
}

static void words_for_shells(void **state)
{
	static const struct {
		const char *part, *word;
	} rows[] = {
		{"link:leaf1:17", "link:leaf1:17"},
		{"pair:a~b", "pair:a~b"},
		{"link:leaf1:Eth1%2F7", "link:leaf1:Eth1%2F7"},
		{"link:leaf1:Eth1%2f7", "link:leaf1:Eth1%2F7"},
		{"link:a:$(reboot) 'x'", "link:a:%24%28reboot%29%20%27x%27"},
		{"link:a:`x`;&|<>*?", "link:a:%60x%60%3B%26%7C%3C%3E%2A%3F"},
		{"50%", "50%25"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text word = {0};

		drill_complete_word(rows[i].part, strlen(rows[i].part), &word);
		assert_string_equal(text_get(&word), rows[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_lead_to_questions),
		cmocka_unit_test(the_chosen_row_stays),
		cmocka_unit_test(out_leads_back),
		cmocka_unit_test(rows_that_lead_nowhere),
		cmocka_unit_test(late_answers_change_nothing),
		cmocka_unit_test(what_is_followed_is_asked_again),
		cmocka_unit_test(scrolling_keeps_the_chosen_in_sight),
		cmocka_unit_test(what_is_copied),
		cmocka_unit_test(effects),
		cmocka_unit_test(a_second_note_waits),
		cmocka_unit_test(keys_are_unique),
		cmocka_unit_test(words_for_shells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
