// links: peregrine_switch
/* The engine of the command lines logs in, reads by pages, saves; sessions that end, are silent or
 * say too much. */
#include "tests/support/cli_bench.h"

static void test_login_refused(void **state)
{
	static const struct turn twice[] = {
		{NULL, "leaf1>", false},
		{"enable", "Password: ", false},
		{"sehr geheim", "\1\r\nPassword: ", false},
		{"sehr geheim", "\1\r\nPassword: ", false},
		{NULL, NULL, false},
	};
	static const struct turn no_enable[] = {
		{NULL, "leaf1>", false},
		{"enable", "% Error in authentication.\r\nleaf1>", false},
		{NULL, NULL, false},
	};
	static const struct turn inner[] = {
		{NULL, "\r\nUser:", false},
		{"admin", "\r\nPassword:", false},
		{"geheim", "\1\r\nLogin failed\r\nUser:", false},
		{"admin", "\r\nPassword:", false},
		{"geheim", "\1\r\nLogin failed\r\nUser:", false},
		{NULL, NULL, false},
	};
	static const struct turn *const rows[] = {twice, no_enable, inner};
	struct switch_request save = {.op = SWITCH_SAVE};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct ended ended;

		bench_open(&bench, "cisco-ios", rows[i]);
		ended = call(&bench, &save, 20000);
		assert_int_equal(ended.rc, E_AUTHENTICATION);
		/* Secrets are in no text that a person reads. */
		assert_null(strstr(ended.problem.detail, "geheim"));
		assert_null(strstr(ended.problem.hint, "geheim"));
		expect_end_of_script(&bench);
		bench_close(&bench);
	}
}

static void test_save_answers(void **state)
{
	static const struct turn asks[] = {
		{NULL, "console#", false},
		{"terminal length 0", "console#", false},
		{"copy running-config startup-config",
		 "\r\nThis operation may take a few minutes.\r\nAre you sure you want to save? (y/n) ",
		 false},
		{"y", "\r\nConfiguration Saved!\r\nconsole#", false},
		{NULL, NULL, false},
	};
	static const struct turn silent[] = {
		{NULL, "console#", false},
		{"terminal length 0", "console#", false},
		{"copy running-config startup-config", "console#", false},
		{NULL, NULL, false},
	};
	static const struct turn full[] = {
		{NULL, "console#", false},
		{"terminal length 0", "console#", false},
		{"copy running-config startup-config", "Failed to write: flash full\r\nconsole#",
		 false},
		{NULL, NULL, false},
	};
	static const struct {
		const struct turn *turns;
		int rc;
	} rows[] = {{asks, 0}, {silent, E_PROTOCOL}, {full, E_CONFLICT}};
	struct switch_request save = {.op = SWITCH_SAVE};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;

		bench_open(&bench, "dell-n", rows[i].turns);
		assert_int_equal(call(&bench, &save, 20000).rc, rows[i].rc);
		expect_end_of_script(&bench);
		bench_close(&bench);
	}
}

static void test_read(void **state)
{
	static const struct turn turns[] = {
		IOS_LOGIN,
		/* The pager could not be turned off. */
		{"show running-config",
		 "!\r\ninterface GigabitEthernet1/0/1\r\n description n1\r\n --More-- ", false},
		{" ",
		 "\r          \r" BEFORE
		 "!\r\ninterface GigabitEthernet1/0/2\r\n shutdown\r\n!\r\n" P,
		 false},
		{"show vlan brief", IOS_VLANS, false},
		{"show interfaces status", "Gi1/0/1 n1 connected 110 a-full a-1000\r\n" P, false},
		{"show lldp neighbors detail", "% LLDP is not enabled\r\n" P, false},
		{"show mac address-table",
		 " 110 5254.0012.3456 DYNAMIC Gi1/0/1\r\n 1 0000.0000.0000 DYNAMIC Gi1/0/1\r\n" P,
		 false},
		{NULL, NULL, false},
	};
	struct switch_request read = {.op = SWITCH_READ, .parts = PART_ALL};
	struct bench bench;
	struct ended ended;
	const struct switch_port *port;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	ended = call(&bench, &read, 20000);
	if (ended.rc)
		fail_msg("%s: %s", ended.problem.message, ended.problem.detail);
	/* What it would not show is missing, and said to be. */
	assert_int_equal(ended.reading.parts, PART_ALL & ~(unsigned)PART_NEIGHBORS);
	assert_int_equal(ended.reading.port_count, 2);
	assert_true(ended.reading.ports[0].index_made && ended.reading.ports[1].index_made);
	port = switch_reading_port_named(&ended.reading, "GigabitEthernet1/0/1");
	assert_non_null(port);
	assert_true(port->up && port->admin_up && port->has_vlans && !port->vlans.trunk);
	assert_int_equal(port->vlans.native, 110);
	assert_string_equal(port->alias, "n1");
	port = switch_reading_port_named(&ended.reading, "GigabitEthernet1/0/2");
	assert_true(port && !port->admin_up && port->vlans.trunk);
	assert_int_equal(ended.reading.vlan_count, 3);
	assert_int_equal(ended.reading.fdb_count, 1);
	assert_int_equal(ended.reading.odd, 1);
	assert_string_equal(ended.reading.identity.system, "leaf1");
	switch_reading_done(&ended.reading);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

/* S22: a neighbour's text has lines like the prompt and like questions, and pieces end behind them. */
static void test_text_of_neighbours(void **state)
{
	static const struct turn turns[] = {
		IOS_LOGIN,
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{"show lldp neighbors detail",
		 "Local Intf: Gi1/0/1\r\nChassis id: 5254.0012.3456\r\nSystem Description: \r\nx\r\n" P
		 "\r\nPassword: \r\nSure? [confirm]\r\nPort id: eth0\r\n\r\n"
		 "Total entries displayed: 1\r\n" P,
		 false},
		{"show running-config", IOS_PORT(BEFORE), false},
		{"show vlan brief", IOS_VLANS, false},
		{"show lldp neighbors detail",
		 "Local Intf: Gi1/0/1\r\nChassis id: 5254.0012.3456\r\nSystem Description: \r\nx\r\n"
		 "Local Intf: Gi1/0/9\r\nChassis id: 5254.0012.9999\r\n\r\n"
		 "Total entries displayed: 1\r\n" P,
		 false},
		{NULL, NULL, false},
	};
	struct switch_request read = {.op = SWITCH_READ, .parts = PART_NEIGHBORS};
	struct bench bench;
	struct ended ended;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	bench.script.piece = 1;
	ended = call(&bench, &read, 20000);
	if (ended.rc)
		fail_msg("%s: %s", ended.problem.message, ended.problem.detail);
	assert_int_equal(ended.reading.parts, PART_NEIGHBORS);
	assert_int_equal(ended.reading.neighbor_count, 1);
	assert_string_equal(ended.reading.neighbors[0].port, "eth0");
	switch_reading_done(&ended.reading);
	/* Forged neighbours: the list is not believed, and that is told. */
	ended = call(&bench, &read, 20000);
	assert_int_equal(ended.rc, 0);
	assert_int_equal(ended.reading.parts, 0);
	assert_int_equal(ended.reading.neighbor_count, 0);
	assert_int_equal(ended.reading.odd, 1);
	switch_reading_done(&ended.reading);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

/* The session of an earlier call died meanwhile: a command that only reads is sent again. */
static void test_dead_session(void **state)
{
	static const struct turn turns[] = {
		{NULL, "leaf1#", false},
		{"terminal length 0", P, false},
		{"terminal width 511", P, false},
		{"write memory", "[OK]\r\n" P, false},
		{"write memory", "", true},
		{NULL, "leaf1#", false},
		{"terminal length 0", P, false},
		{"terminal width 511", P, false},
		{"write memory", "[OK]\r\n" P, false},
		{NULL, NULL, false},
	};
	struct switch_request save = {.op = SWITCH_SAVE};
	struct bench bench;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	assert_int_equal(call(&bench, &save, 20000).rc, 0);
	assert_int_equal(call(&bench, &save, 20000).rc, 0);
	assert_int_equal(bench.script.opens, 2);
	expect_end_of_script(&bench);
	bench_close(&bench);
}

static void test_silence_and_noise(void **state)
{
	static const struct turn silent[] = {
		{NULL, "leaf1#", false},
		{"terminal length 0", P, false},
		{"terminal width 511", P, false},
		{"write memory", "Building configuration...\r\n", false},
		{NULL, NULL, false},
	};
	struct switch_request save = {.op = SWITCH_SAVE};
	struct bench bench;
	struct ended ended;

	(void)state;
	bench_open(&bench, "cisco-ios", silent);
	assert_int_equal(call(&bench, &save, 300).rc, E_TIMEOUT);
	assert_true(bench.script.closed);
	bench_close(&bench);

	bench_open(&bench, "cisco-ios", silent);
	bench.script.endless = true;
	ended = call(&bench, &save, 60000);
	assert_int_equal(ended.rc, E_LIMIT);
	bench_close(&bench);

	/* What goes on talking does not put the deadline off. */
	bench_open(&bench, "cisco-ios", silent);
	bench.script.endless = true;
	assert_int_equal(call(&bench, &save, 0).rc, E_TIMEOUT);
	assert_true(bench.script.closed);
	bench_close(&bench);
}

static void test_cancel(void **state)
{
	static const struct turn turns[] = {
		{NULL, "leaf1#", false},
		{"terminal length 0", P, false},
		{NULL, NULL, false},
	};
	struct switch_request save = {.op = SWITCH_SAVE};
	struct ended ended = {0};
	struct bench bench;

	(void)state;
	bench_open(&bench, "cisco-ios", turns);
	assert_int_equal(cli_switch_driver.start(bench.session, &save, clock_monotonic_ms() + 10000,
						 on_call, &ended),
			 0);
	for (int i = 0; i < 3; i++)
		loop_run_once(bench.loop);
	assert_true(cli_switch_driver.cancel(bench.session));
	assert_true(bench.script.closed);
	loop_run_once(bench.loop);
	assert_false(ended.over);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login_refused), cmocka_unit_test(test_save_answers),
		cmocka_unit_test(test_read),          cmocka_unit_test(test_text_of_neighbours),
		cmocka_unit_test(test_dead_session),  cmocka_unit_test(test_silence_and_noise),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
