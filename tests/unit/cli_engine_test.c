// links: peregrine_switch
/* The engine of the command lines changes a switch: refusals in each place, what is seen when it is
 * read back. */
#include "tests/support/cli_bench.h"

static void test_change(void **state)
{
	static const struct turn turns[] = {
		IOS_LOGIN,
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{"configure terminal", "Enter configuration commands, one per line.\r\n" PC, false},
		{"vlan 130", "leaf1(config-vlan)#", false},
		{"name acme", "leaf1(config-vlan)#", false},
		{"exit", PC, false},
		{"interface GigabitEthernet1/0/1", PI, false},
		{"switchport access vlan 120", PI, false},
		{"switchport mode access", PI, false},
		{"exit", PC, false},
		{"end", "*Mar 1 00:00:01: %SYS-5-CONFIG_I: Configured\r\n" P, false},
		{"show running-config", IOS_PORT(AFTER), false},
		{"show vlan brief", "130 acme active\r\n" IOS_VLANS, false},
		/* The session stays. */
		{"write memory", "Building configuration...\r\n[OK]\r\n" P, false},
		{NULL, NULL, false},
	};
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 130, .vlan_name = "acme"},
		port_edit(120),
	};
	enum edit_result results[COUNT_OF(edits)];
	struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = edits, .edit_count = 2, .results = results};
	struct switch_request save = {.op = SWITCH_SAVE};

	(void)state;
	/* However the bytes are cut. */
	for (size_t piece = 0; piece < 8; piece++) {
		struct bench bench;
		struct ended ended;

		bench_open(&bench, "cisco-ios", turns);
		bench.script.piece = piece;
		ended = call(&bench, &change, 20000);
		if (ended.rc)
			fail_msg("%s: %s", ended.problem.message, ended.problem.detail);
		assert_int_equal(results[0], EDIT_TAKEN);
		assert_int_equal(results[1], EDIT_TAKEN);
		assert_int_equal(call(&bench, &save, 20000).rc, 0);
		assert_int_equal(bench.script.opens, 1);
		expect_end_of_script(&bench);
		bench_close(&bench);
	}
}

/* Which ports hear no others: asked of a switch. The words of the families: cli_apart_test.c. */
static void test_apart(void **state)
{
	static const struct turn turns[] = {
		IOS_LOGIN,
		{"show running-config",
		 "interface GigabitEthernet1/0/1\r\n switchport access vlan 120\r\n"
		 " switchport mode access\r\n switchport protected\r\n!\r\n"
		 "interface GigabitEthernet1/0/2\r\n switchport mode access\r\n!\r\nend\r\n" P,
		 false},
		{"show vlan brief", IOS_VLANS, false},
		{NULL, NULL, false},
	};
	struct switch_request request = {.op = SWITCH_APART};
	struct bench bench;
	struct ended ended;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	ended = call(&bench, &request, 20000);
	assert_int_equal(ended.rc, 0);
	assert_int_equal(ended.reading.port_count, 2);
	assert_int_equal(ended.reading.ports[0].apart, APART_FROM_ALIKE);
	assert_int_equal(ended.reading.ports[1].apart, APART_NOT);
	assert_string_equal(ended.reading.ports[1].name, "GigabitEthernet1/0/2");
	switch_reading_done(&ended.reading);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

/* One row per way that a change can go wrong, from "configure terminal" on. */
static void test_change_refused(void **state)
{
	static const struct {
		struct turn turns[8];
		int rc;
		enum edit_result first, second;
	} rows[] = {
		/* Where it was only chosen what the next lines are about: nothing was done. */
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1",
		   "% Invalid input detected at '^' marker.\r\n" PC, false},
		  {"end", P, false}},
		 E_CONFLICT,
		 EDIT_REFUSED,
		 EDIT_NOT_TRIED},
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1", PI, false},
		  {"switchport access vlan 120", "Command rejected: not a switching port.\r\n" PI,
		   false},
		  {"end", P, false}},
		 E_CONFLICT,
		 EDIT_REFUSED,
		 EDIT_NOT_TRIED},
		/* The second of two lines: half of it is done. */
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1", PI, false},
		  {"switchport access vlan 120", PI, false},
		  {"switchport mode access", "Command rejected: Conflict\r\n" PI, false},
		  {"end", P, false}},
		 E_CONFLICT,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		/* The session ends in the middle. */
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1", PI, false},
		  {"switchport access vlan 120", "", true}},
		 E_UNAVAILABLE,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		/* Thrown out of the mode: what follows would be typed at another place. */
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1", PI, false},
		  {"switchport access vlan 120", P, false},
		  {"end", P, false}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		{{{"configure terminal",
		   "Configuration mode is locked by process '310'. Please try later.\r\n" P,
		   false}},
		 -EBUSY,
		 EDIT_NOT_TRIED,
		 EDIT_NOT_TRIED},
		{{{"configure terminal", "% Invalid input detected at '^' marker.\r\n" P, false}},
		 E_DENIED,
		 EDIT_NOT_TRIED,
		 EDIT_NOT_TRIED},
		/* It says nothing and does nothing. */
		{{{"configure terminal", P, false}}, E_DENIED, EDIT_NOT_TRIED, EDIT_NOT_TRIED},
		{{{"configure terminal", PC, false},
		  {"interface GigabitEthernet1/0/1", "Command authorization failed.\r\n" PC, false},
		  {"end", P, false}},
		 E_DENIED,
		 EDIT_REFUSED,
		 EDIT_NOT_TRIED},
	};
	static const struct turn head[] = {
		IOS_LOGIN,
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
	};
	struct switch_edit edits[] = {port_edit(120), port_edit(110)};
	enum edit_result results[COUNT_OF(edits)];
	struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = edits, .edit_count = 2, .results = results};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct turn turns[32] = {{NULL, NULL, false}};
		struct bench bench;
		struct ended ended;

		memcpy(turns, head, sizeof(head));
		memcpy(turns + COUNT_OF(head), rows[i].turns, sizeof(rows[i].turns));
		bench_open(&bench, "cisco-ios", turns);
		ended = call(&bench, &change, 20000);
		if (ended.rc != rows[i].rc || results[0] != rows[i].first ||
		    results[1] != rows[i].second)
			fail_msg("row %zu: %d (%s: %s), %u %u", i, ended.rc, ended.problem.message,
				 ended.problem.detail, results[0], results[1]);
		expect_end_of_script(&bench);
		bench_close(&bench);
	}
}

/* Three edits, of which the third is refused: what was said yes to before it is looked at. */
static void test_taken_before_a_refusal(void **state)
{
#define REFUSED                                                                                   \
	{"configure terminal", PC, false}, {"vlan 130", "leaf1(config-vlan)#", false},            \
		{"name acme", "leaf1(config-vlan)#", false}, {"exit", PC, false},                 \
		{"interface GigabitEthernet1/0/1", PI, false},                                    \
		{"switchport access vlan 120", PI, false}, {"switchport mode access", PI, false}, \
		{"exit", PC, false},                                                              \
		{"vlan 131", "% VLAN 131 cannot be created: limit reached.\r\n" PC, false},       \
	{                                                                                         \
		"end", P, false                                                                   \
	}
	static const struct {
		struct turn turns[16];
		enum edit_result results[3];
	} rows[] = {
		{{REFUSED,
		  {"show running-config", IOS_PORT(AFTER), false},
		  {"show vlan brief", "130 acme active\r\n" IOS_VLANS, false}},
		 {EDIT_TAKEN, EDIT_TAKEN, EDIT_REFUSED}},
		/* It said yes to the port, and did nothing. */
		{{REFUSED,
		  {"show running-config", IOS_PORT(BEFORE), false},
		  {"show vlan brief", "130 acme active\r\n" IOS_VLANS, false}},
		 {EDIT_TAKEN, EDIT_UNKNOWN, EDIT_REFUSED}},
		/* Nobody sees it any more. */
		{{REFUSED, {"show running-config", "", true}},
		 {EDIT_UNKNOWN, EDIT_UNKNOWN, EDIT_REFUSED}},
	};
	static const struct turn head[] = {
		IOS_LOGIN,
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
	};
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 130, .vlan_name = "acme"},
		port_edit(120),
		{.kind = EDIT_VLAN_CREATE, .vlan = 131, .vlan_name = "acme"},
	};
	enum edit_result results[COUNT_OF(edits)];
	struct switch_request change = {.op = SWITCH_CHANGE,
					.edits = edits,
					.edit_count = COUNT_OF(edits),
					.results = results};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct turn turns[32] = {{NULL, NULL, false}};
		struct bench bench;
		struct ended ended;

		memcpy(turns, head, sizeof(head));
		memcpy(turns + COUNT_OF(head), rows[i].turns, sizeof(rows[i].turns));
		bench_open(&bench, "cisco-ios", turns);
		ended = call(&bench, &change, 20000);
		if (ended.rc != E_CONFLICT ||
		    memcmp(results, rows[i].results, sizeof(results)) != 0)
			fail_msg("row %zu: %d (%s: %s), %u %u %u", i, ended.rc,
				 ended.problem.message, ended.problem.detail, results[0],
				 results[1], results[2]);
		expect_end_of_script(&bench);
		bench_close(&bench);
	}
}

/* The switch takes every command and does something else: tried once more, then told. */
static void test_change_unseen(void **state)
{
	static const struct turn turns[] = {
		IOS_LOGIN,
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{"configure terminal", PC, false},
		{"interface GigabitEthernet1/0/1", PI, false},
		{"switchport access vlan 120", PI, false},
		{"switchport mode access", PI, false},
		{"exit", PC, false},
		{"end", P, false},
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{"configure terminal", PC, false},
		{"interface GigabitEthernet1/0/1", PI, false},
		{"switchport access vlan 120", PI, false},
		{"switchport mode access", PI, false},
		{"exit", PC, false},
		{"end", P, false},
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{NULL, NULL, false},
	};
	struct switch_edit edit = port_edit(120);
	enum edit_result result;
	struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = &edit, .edit_count = 1, .results = &result};
	struct bench bench;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	assert_int_equal(call(&bench, &change, 20000).rc, E_PROTOCOL);
	assert_int_equal(result, EDIT_UNKNOWN);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

/* ProCurve: the VLAN before stays on the port with a tag; a second round takes it off. */
static void test_second_round(void **state)
{
#define HP "HP# "
#define HC "HP(config)# "
#define HV "HP(vlan)# "
	static const struct turn turns[] = {
		{NULL, "Press any key to continue", false},
		{" ", "\r\n" HP, false},
		{"no page", HP, false},
		{"terminal width 1920", HP, false},
		{"show running-config",
		 "vlan 110\r\n   untagged 5\r\n   exit\r\nvlan 120\r\n   exit\r\n" HP, false},
		{"configure", HC, false},
		{"vlan 120", HV, false},
		{"untagged 5", HV, false},
		{"exit", HC, false},
		{"end", HP, false},
		{"show running-config",
		 "vlan 110\r\n   tagged 5\r\n   exit\r\nvlan 120\r\n   untagged 5\r\n   exit\r\n" HP,
		 false},
		{"configure", HC, false},
		{"vlan 110", HV, false},
		{"no tagged 5", HV, false},
		{"exit", HC, false},
		{"end", HP, false},
		{"show running-config",
		 "vlan 110\r\n   exit\r\nvlan 120\r\n   untagged 5\r\n   exit\r\n" HP, false},
		{NULL, NULL, false},
	};
	struct switch_edit edit = {.kind = EDIT_PORT, .port = "5", .after = {.native = 120}};
	enum edit_result result;
	struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = &edit, .edit_count = 1, .results = &result};
	struct bench bench;
	struct ended ended;

	(void)state;
	bench_open(&bench, "hp-procurve", turns);
	ended = call(&bench, &change, 20000);
	if (ended.rc)
		fail_msg("%s: %s", ended.problem.message, ended.problem.detail);
	assert_int_equal(result, EDIT_TAKEN);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_change_refused),
		cmocka_unit_test(test_taken_before_a_refusal),
		cmocka_unit_test(test_change_unseen),
		cmocka_unit_test(test_second_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
