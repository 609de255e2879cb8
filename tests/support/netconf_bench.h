/* The engine of NETCONF on a stream that follows a script: what its tests share. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/netconf/netconf_driver.h"
#include "peregrine/switch/netconf/netconf_xml_wire.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/cmocka.h"
#include "tests/support/netconf_script.h"

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
	assert_true(!rc == !problem);
	*ended = (struct ended){.over = true, .rc = rc};
	if (problem)
		ended->problem = *problem;
	if (reading) {
		ended->reading = *reading;
		*reading = (struct switch_reading){0};
	}
}

struct bench {
	struct loop *loop;
	struct script script;
	void *session;
};

static inline void bench_open(struct bench *bench, const char *family, const char *hello,
			      const struct turn *turns)
{
	const struct switch_endpoint endpoint = {
		.id = 1,
		.name = "leaf1",
		.address = "127.0.0.1",
		.ssh_user = "admin",
		.ssh_password = "geheim",
	};
	struct switch_host host = {0};
	struct problem problem;

	*bench = (struct bench){.script = {.hello = hello, .turns = turns}};
	bench->script.is_chunked = strstr(hello, "base:1.1") != NULL;
	the_script = &bench->script;
	assert_int_equal(loop_new(&bench->loop), 0);
	host.loop = bench->loop;
	assert_int_equal(netconf_switch_open_on(&fake_stream, &endpoint, switch_family_find(family),
						&host, &bench->session, &problem),
			 0);
}

static inline void bench_close(struct bench *bench)
{
	if (bench->script.turns[bench->script.at].expect)
		fail_msg("\"%s\" was not sent", bench->script.turns[bench->script.at].expect);
	netconf_switch_driver.close(bench->session);
	assert_null(bench->script.timer);
	text_done(&bench->script.in);
	text_done(&bench->script.out);
	loop_free(bench->loop);
}

static inline struct ended call_within(struct bench *bench, const struct switch_request *request,
				       int64_t limit_ms)
{
	struct ended ended = {0};

	assert_int_equal(netconf_switch_driver.start(bench->session, request,
						     clock_monotonic_ms() + limit_ms, on_call,
						     &ended),
			 0);
	assert_false(ended.over);
	while (!ended.over)
		loop_run_once(bench->loop);
	return ended;
}

static inline struct ended call(struct bench *bench, const struct switch_request *request)
{
	return call_within(bench, request, 20000);
}

/* --- words --- */

#define CAPABILITY(name) "<capability>urn:ietf:params:netconf:" name "</capability>"
#define HELLO(more)                                                                           \
	"<hello xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><capabilities>" CAPABILITY( \
		"base:1.0") more "</capabilities><session-id>4</session-id></hello>"
#define NEW CAPABILITY("base:1.1")
#define RUNNING                                       \
	CAPABILITY("capability:writable-running:1.0") \
	CAPABILITY("capability:rollback-on-error:1.0")
#define CANDIDATE                              \
	CAPABILITY("capability:candidate:1.0") \
	CAPABILITY("capability:validate:1.1") CAPABILITY("capability:confirmed-commit:1.1")

#define VLAN(id) "<BD-list><fabEncap>vlan-" id "</fabEncap></BD-list>"
#define PORT(n, vlan)                                                              \
	"<PhysIf-list><id>eth1/" n "</id><layer>Layer2</layer><mode>access</mode>" \
	"<accessVlan>vlan-" vlan "</accessVlan></PhysIf-list>"
#define NX(one, two)                                                                        \
	"<data><System xmlns=\"http://cisco.com/ns/yang/cisco-nx-os-device\"><bd-items>"    \
	"<bd-items>" VLAN("110")                                                            \
		VLAN("120") "</bd-items></bd-items><intf-items><phys-items>" PORT("1", one) \
			PORT("2", two) "</phys-items></intf-items></System></data>"
#define OC(one)                                                                               \
	"<data><interfaces xmlns=\"http://openconfig.net/yang/interfaces\"><interface><name>" \
	"Ethernet1/1</name><ethernet><switched-vlan><config><interface-mode>ACCESS"           \
	"</interface-mode><access-vlan>" one "</access-vlan></config></switched-vlan>"        \
	"</ethernet></interface></interfaces></data>"
#define ERROR(tag)                                                                      \
	"<rpc-error><error-type>application</error-type><error-tag>" tag                \
	"</error-tag><error-severity>error</error-severity><error-path>/a</error-path>" \
	"<error-message xml:lang=\"en\">no &lt;way&gt;\nhere</error-message></rpc-error>"
#define WARNING                                                                       \
	"<rpc-error><error-type>application</error-type><error-tag>partial-operation" \
	"</error-tag><error-severity>warning</error-severity></rpc-error>"
#define OK "<ok/>"
#define EDIT_1                                                                                 \
	"<edit-config><target><running/></target><default-operation>merge</default-operation>" \
	"<error-option>rollback-on-error</error-option>"

static inline struct switch_edit port_edit(const char *port, uint16_t vlan)
{
	struct switch_edit edit = {.kind = EDIT_PORT, .after = {.native = vlan}};

	text_copy(edit.port, sizeof(edit.port), port);
	return edit;
}
