// links: peregrine_switch
/* A change at the command line whose claim ends after any of its lines: no line more is sent, and no
 * edit of which a line was sent counts as taken or as not tried. */
#include "tests/support/cli_bench.h"

static const struct turn turns[] = {
	IOS_LOGIN,
	{"show running-config", IOS_PORT(BEFORE), false},
	{"show vlan brief", IOS_VLANS, false},
	{"configure terminal", PC, false},
	{"vlan 130", "leaf1(config-vlan)#", false},
	{"name acme", "leaf1(config-vlan)#", false},
	{"exit", PC, false},
	{"interface GigabitEthernet1/0/1", PI, false},
	{"switchport access vlan 120", PI, false},
	{"switchport mode access", PI, false},
	{"exit", PC, false},
	{"end", P, false},
	{"show running-config", IOS_PORT(AFTER), false},
	{"show vlan brief", "130 acme active\r\n" IOS_VLANS, false},
	{NULL, NULL, false},
};

/* Lines that were sent, with the greeting. */
static size_t line_after(const char *line)
{
	size_t at = 1;

	while (strcmp(turns[at].expect, line) != 0)
		at++;
	return at + 1;
}

/* `first`: the line of the edit that does something first. */
static void expect_result(enum edit_result result, size_t sent, const char *first)
{
	assert_int_equal(result, sent < line_after(first) ? EDIT_NOT_TRIED : EDIT_UNKNOWN);
}

static void nothing_is_typed_after_the_claim(void **state)
{
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 130, .vlan_name = "acme"},
		port_edit(120),
	};

	(void)state;
	for (size_t last = 1; last < COUNT_OF(turns) - 1; last++) {
		enum edit_result results[COUNT_OF(edits)] = {EDIT_NOT_TRIED, EDIT_NOT_TRIED};
		struct switch_request change = {.op = SWITCH_CHANGE,
						.edits = edits,
						.edit_count = COUNT_OF(edits),
						.results = results};
		struct ended ended = {0};
		struct bench bench;

		assert_int_equal(fence_new(INT64_MAX, &change.fence), 0);
		bench_open(&bench, "cisco-ios", turns);
		assert_int_equal(cli_switch_driver.start(bench.session, &change,
							 clock_monotonic_ms() + 20000, on_call,
							 &ended),
				 0);
		while (!ended.over) {
			if (bench.script.at >= last)
				fence_drop(change.fence);
			loop_run_once(bench.loop);
		}
		assert_int_equal(ended.rc, E_LAPSED);
		/* A login changes nothing: it may go on. */
		if (last >= line_after("terminal width 511"))
			assert_int_equal(bench.script.at, last);
		expect_result(results[0], bench.script.at, "vlan 130");
		expect_result(results[1], bench.script.at, "switchport access vlan 120");
		bench_close(&bench);
		fence_unref(change.fence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_typed_after_the_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
