/* The engine of the command lines on a stream that reads from a script, as an IOS switch would say
 * it: what its tests share. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/cli/cli_driver.h"
#include "peregrine/switch/stream/switch_stream.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/cli_script.h"
#include "tests/support/cmocka.h"

/* --- one call --- */

struct ended {
	int rc;
	bool over;
	struct problem problem;
	struct switch_reading reading;
};

static inline void on_call(void *context, int rc, struct switch_reading *reading,
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

static inline void bench_open(struct bench *bench, const char *family, const struct turn *turns)
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

static inline void bench_close(struct bench *bench)
{
	cli_switch_driver.close(bench->session);
	assert_true(bench->script.closed);
	text_done(&bench->script.in);
	text_done(&bench->script.out);
	loop_free(bench->loop);
}

static inline struct ended call(struct bench *bench, const struct switch_request *request,
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

static inline void expect_end_of_script(const struct bench *bench)
{
	if (bench->script.turns[bench->script.at].expect)
		fail_msg("\"%s\" was not sent", bench->script.turns[bench->script.at].expect);
}

/* --- an IOS switch --- */

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

static inline struct switch_edit port_edit(uint16_t vlan)
{
	return (struct switch_edit){
		.kind = EDIT_PORT, .port = "Gi1/0/1", .after = {.native = vlan}};
}
