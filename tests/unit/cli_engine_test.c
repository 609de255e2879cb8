// links: peregrine_driver
/* The engine of the command lines on a stream that reads from a script: logging in, pages,
 * refusals in each place, sessions that end, what is seen when it is read back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/control/driver/cli/cli_dialect.h"
#include "peregrine/control/driver/cli/cli_driver.h"
#include "peregrine/control/driver/stream/switch_stream.h"
#include "peregrine/control/driver/switch_family_table.h"
#include "tests/support/cli_script.h"
#include "tests/support/cmocka.h"

/* --- one call ------------------------------------------------------------------------------- */

struct ended {
	int rc;
	bool over;
	struct problem problem;
	struct switch_reading reading;
};

static void on_call(void *context, int rc, struct switch_reading *reading,
		    const struct problem *problem)
{
	struct ended *ended = context;

	assert_false(ended->over);
	ended->over = true;
	ended->rc = rc;
	if (problem)
		ended->problem = *problem;
	if (reading) {
		ended->reading = *reading;
		*reading = (struct switch_reading){0};
	}
	assert_true(!rc == !problem);
}

struct bench {
	struct loop *loop;
	struct script script;
	void *session;
};

static void bench_open(struct bench *bench, const char *family, const struct turn *turns)
{
	struct switch_endpoint endpoint = {
		.id = 1,
		.name = "leaf1",
		.address = "127.0.0.1",
		.ssh_user = "admin",
		.ssh_password = "geheim",
		.ssh_enable = "sehr geheim",
	};
	struct switch_host host = {0};
	struct problem problem;

	*bench = (struct bench){.script = {.turns = turns}};
	the_script = &bench->script;
	assert_int_equal(loop_new(&bench->loop), 0);
	host.loop = bench->loop;
	assert_int_equal(cli_switch_open_on(&fake_stream, &endpoint, switch_family_find(family),
					    &host, &bench->session, &problem),
			 0);
}

static void bench_close(struct bench *bench)
{
	cli_switch_driver.close(bench->session);
	assert_true(bench->script.closed);
	text_done(&bench->script.in);
	text_done(&bench->script.out);
	loop_free(bench->loop);
}

static struct ended call(struct bench *bench, const struct switch_request *request,
			 int64_t deadline_ms)
{
	struct ended ended = {0};

	assert_int_equal(cli_switch_driver.start(bench->session, request,
						 clock_monotonic_ms() + deadline_ms, on_call,
						 &ended),
			 0);
	assert_false(ended.over);
	while (!ended.over)
		loop_run_once(bench->loop);
	return ended;
}

static void expect_end_of_script(const struct bench *bench)
{
	if (bench->script.turns[bench->script.at].expect)
		fail_msg("\"%s\" was not sent", bench->script.turns[bench->script.at].expect);
}

/* --- an IOS switch -----------------------------------------------------------------------------
 */

#define P  "leaf1#"
#define PC "leaf1(config)#"
#define PI "leaf1(config-if)#"
#define IOS_LOGIN                                                                           \
	{NULL, "\r\nWelcome # here\r\n\r\nleaf1>", false}, {"enable", "Password: ", false}, \
		{"sehr geheim", "\1\r\n" P, false}, {"terminal length 0", P, false},        \
	{                                                                                   \
		"terminal width 511", P, false                                              \
	}
#define IOS_VLANS                                                                        \
	"VLAN Name  Status  Ports\r\n1 default active Gi1/0/2\r\n110 a active\r\n120 b " \
	"active\r\n" P
#define IOS_PORT(lines) "!\r\ninterface GigabitEthernet1/0/1\r\n" lines "!\r\nend\r\n\r\n" P
#define BEFORE          " switchport access vlan 110\r\n switchport mode access\r\n"
#define AFTER           " switchport access vlan 120\r\n switchport mode access\r\n"

static struct switch_edit port_edit(uint16_t vlan)
{
	return (struct switch_edit){
		.kind = EDIT_PORT, .port = "Gi1/0/1", .after = {.native = vlan}};
}

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

/* --- logging in, pages, ends ---------------------------------------------------------------------
 */

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
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_change_refused),
		cmocka_unit_test(test_taken_before_a_refusal),
		cmocka_unit_test(test_change_unseen),
		cmocka_unit_test(test_second_round),
		cmocka_unit_test(test_login_refused),
		cmocka_unit_test(test_save_answers),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_dead_session),
		cmocka_unit_test(test_silence_and_noise),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
