// links: common_model
#include <string.h>

#include "common/base/error.h"
#include "common/model/drill_path.h"

#include "tests/support/cmocka.h"

#define FLOW "flow:10.0.0.1~40001~10.0.3.1~5201~6~2048~forward"

static void paths_round_trip(void **state)
{
	static const struct {
		const char *text;
		enum drill_level level;
		const char *up;
	} rows[] = {
		{"", DRILL_ALL, ""},
		{"link:leaf1:17", DRILL_LINK, ""},
		{"link:leaf1:Eth1%2F7%3A2", DRILL_LINK, ""},
		{"link:leaf1:17/tenant:acme", DRILL_OWNER, "link:leaf1:17"},
		{"link:leaf1:17/nobody:control", DRILL_OWNER, "link:leaf1:17"},
		{"tenant:acme", DRILL_OWNER, ""},
		{"tenant:acme/vlan:1301", DRILL_VLAN, "tenant:acme"},
		{"tenant:acme/vlan:0/pair:a%7Eb~fe80%3A%3A1", DRILL_PAIR, "tenant:acme/vlan:0"},
		{"link:a:b/tenant:c/vlan:7/pair:a~b/" FLOW, DRILL_FLOW,
		 "link:a:b/tenant:c/vlan:7/pair:a~b"},
		{"tenant:c/vlan:7/pair:a~b/flow:~0~~0~0~35020~back", DRILL_FLOW,
		 "tenant:c/vlan:7/pair:a~b"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text text = {0};
		CLEANUP(text_done) struct text up = {0};
		struct drill_path path;
		struct problem problem = {0};

		assert_int_equal(drill_path_parse(rows[i].text, &path, &problem), 0);
		assert_int_equal(path.level, rows[i].level);
		drill_path_print(&path, &text);
		assert_string_equal(text_get(&text), rows[i].text);
		drill_path_up(&path);
		drill_path_print(&path, &up);
		assert_string_equal(text_get(&up), rows[i].up);
	}
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *part, *hint;
	} rows[] = {
		{"leaf1:17", "leaf1:17: no such level", "link:SWITCH:PORT"},
		{"link:leaf1", "something is missing", "link:SWITCH:PORT"},
		{"link", "something is missing", "link:SWITCH:PORT"},
		{"link:leaf1:17:2", "too many", "link:SWITCH:PORT"},
		{"link:leaf1:", "empty", "link:SWITCH:PORT"},
		{"link:leaf1:17/", "nothing follows", "tenant:NAME or nobody:REASON"},
		{"link:leaf1:17//vlan:1", "at //: nothing is between",
		 "tenant:NAME or nobody:REASON"},
		{"/", "at its first /: nothing stands before it",
		 "all links is the empty path; a path begins with link:"},
		{"/link:leaf1:17", "at its first /", "all links is the empty path"},
		{"nobody:WORD", "at nobody:WORD: no such reason",
		 "control, switch_itself, unknown_port, port_unbound, foreign_vlan, untagged, "
		 "folded, and no_tenant"},
		{"link:leaf1:17/nobody:Control/vlan:1", "nobody:Control: no such reason", "folded"},
		{"link:leaf1:17/vlan:7", "vlan:7: it does not belong here",
		 "tenant:NAME or nobody:REASON"},
		{"vlan:7", "does not belong", "link:SWITCH:PORT, tenant:NAME"},
		{"tenant:a/vlan:4095", "up to 4094", "vlan:N"},
		{"tenant:a/vlan:07", "up to 4094", "vlan:N"},
		{"tenant:a/vlan:-1", "up to 4094", "vlan:N"},
		{"tenant:a/vlan:7/pair:a", "something is missing", "pair:A~B"},
		{"tenant:a%2", "two hexadecimal digits", "tenant:NAME"},
		{"tenant:a%00", "printable ASCII", "tenant:NAME"},
		{"tenant:\xc3\xa4", "printable ASCII", "tenant:NAME"},
		{"tenant:a/vlan:7/pair:a~b/flow:x~1~y~2~6~2048~left", "forward or back", "flow:"},
		{"tenant:a/vlan:7/pair:a~b/flow:x~70000~y~2~6~2048~back", "65535", "flow:"},
		{"tenant:a/vlan:7/pair:a~b/" FLOW "/tenant:a", "does not belong", "nothing"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct drill_path path = {.vlan = 99};
		struct problem problem = {0};

		assert_int_equal(drill_path_parse(rows[i].text, &path, &problem), E_MALFORMED);
		assert_int_equal(path.vlan, 99);
		assert_non_null(strstr(problem.message, rows[i].part));
		assert_non_null(strstr(problem.hint, rows[i].hint));
	}
}

static void children_are_made_of_rows(void **state)
{
	static const struct {
		const char *keys[DRILL_KEYS_MAX];
		const char *path;
	} rows[] = {
		{{"leaf/1", "17"}, "link:leaf%2F1:17"},
		{{"acme", ""}, "link:leaf%2F1:17/tenant:acme"},
		{{"7"}, "link:leaf%2F1:17/tenant:acme/vlan:7"},
		{{"n1", "fe80::1"}, "link:leaf%2F1:17/tenant:acme/vlan:7/pair:n1~fe80%3A%3A1"},
		{{"10.0.0.1", "40001", "10.0.3.1", "5201", "6", "2048", "t"},
		 "link:leaf%2F1:17/tenant:acme/vlan:7/pair:n1~fe80%3A%3A1/" FLOW},
	};
	struct drill_path path = {0}, child = {0};
	const char *control[] = {"", "control"}, *none[] = {"", ""};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text text = {0};

		assert_true(drill_path_down(&path, rows[i].keys, &path));
		drill_path_print(&path, &text);
		assert_string_equal(text_get(&text), rows[i].path);
	}
	assert_false(drill_path_down(&path, rows[0].keys, &child));
	path = (struct drill_path){.level = DRILL_LINK, .at_link = true};
	assert_true(drill_path_down(&path, control, &child));
	assert_true(child.nobody);
	assert_string_equal(child.owner, "control");
	assert_true(drill_path_down(&path, none, &child));
	assert_string_equal(child.owner, DRILL_NO_TENANT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_round_trip),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(children_are_made_of_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
