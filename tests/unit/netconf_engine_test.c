// links: peregrine_switch
/* The engine of NETCONF on a stream that follows a script: hellos, both framings, what a batch
 * sends with and without a candidate, every way in which it can go wrong, and what is then called
 * taken, refused or unknown. */
#include "tests/support/netconf_bench.h"

/* However the bytes are cut, in both framings. */
static void test_change(void **state)
{
	static const char *const hellos[] = {HELLO(RUNNING), HELLO(NEW RUNNING)};
	static const struct turn turns[] = {
		{"<get><filter type=\"subtree\"><System", NX("110", "110"), false, false},
		{"<lock><target><running/>", OK, false, false},
		{"<fabEncap>vlan-130</fabEncap><name>a&lt;b</name>", OK, false, false},
		/* A warning is none of an error. */
		{"<id>eth1/1</id><mode>access</mode><accessVlan>vlan-120</accessVlan>", WARNING OK,
		 false, false},
		{"<get>",
		 "<data><System><bd-items><bd-items>" VLAN(
			 "130") "</bd-items></bd-items><intf-items>"
				"<phys-items>" PORT(
					"1", "120") "</phys-items></intf-items></System></data>",
		 false, false},
		{"<unlock><target><running/>", OK, false, false},
		/* The session stays. */
		{"<copy_running_config_src", OK, false, false},
		{NULL, NULL, false, false},
	};
	struct switch_edit edits[] = {
		{.kind = EDIT_VLAN_CREATE, .vlan = 130, .vlan_name = "a<b"},
		port_edit("Ethernet1/1", 120),
	};
	enum edit_result results[COUNT_OF(edits)];
	const struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = edits, .edit_count = 2, .results = results};
	const struct switch_request save = {.op = SWITCH_SAVE};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(hellos) * 8; i++) {
		struct bench bench;
		struct ended ended;

		bench_open(&bench, "cisco-nxos-netconf", hellos[i % 2], turns);
		bench.script.piece = i / 2;
		ended = call(&bench, &change);
		if (ended.rc)
			fail_msg("%s: %s", ended.problem.message, ended.problem.detail);
		assert_int_equal(results[0], EDIT_TAKEN);
		assert_int_equal(results[1], EDIT_TAKEN);
		assert_int_equal(call(&bench, &save).rc, 0);
		assert_int_equal(bench.script.opens, 1);
		bench_close(&bench);
	}
}

/* One row per way that a change of the running configuration can go wrong, from the lock on. */
static void test_change_refused(void **state)
{
	static const struct {
		struct turn turns[8];
		int rc;
		enum edit_result first, second;
	} rows[] = {
		{{{"<lock>", ERROR("lock-denied"), false, false}},
		 -EBUSY,
		 EDIT_NOT_TRIED,
		 EDIT_NOT_TRIED},
		{{{"<lock>", ERROR("access-denied"), false, false}},
		 E_DENIED,
		 EDIT_NOT_TRIED,
		 EDIT_NOT_TRIED},
		/* Refused, and as it was. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, ERROR("operation-failed"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("110", "110"), false, false}},
		 E_CONFLICT,
		 EDIT_REFUSED,
		 EDIT_NOT_TRIED},
		/* Refused, and not as it was: a half. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, ERROR("invalid-value"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("1", "110"), false, false}},
		 E_CONFLICT,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		/* An error does not have to say how bad it is, and a yes beside it does not count.
		 */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, "<rpc-error><error-tag>bad-element</error-tag></rpc-error><ok/>", false,
		   false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("110", "110"), false, false}},
		 E_CONFLICT,
		 EDIT_REFUSED,
		 EDIT_NOT_TRIED},
		/* The second is refused: the first stands. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, OK, false, false},
		  {EDIT_1, WARNING ERROR("unknown-element"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("120", "110"), false, false}},
		 E_UNSUPPORTED,
		 EDIT_TAKEN,
		 EDIT_REFUSED},
		/* .. if it is there. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, OK, false, false},
		  {EDIT_1, WARNING ERROR("unknown-element"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("110", "110"), false, false}},
		 E_UNSUPPORTED,
		 EDIT_UNKNOWN,
		 EDIT_REFUSED},
		{{{"<lock>", OK, false, false},
		  {EDIT_1, OK, false, false},
		  {EDIT_1, WARNING ERROR("unknown-element"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", "", true, false}},
		 E_UNSUPPORTED,
		 EDIT_UNKNOWN,
		 EDIT_UNKNOWN},
		/* Neither yes nor no. */
		{{{"<lock>", OK, false, false}, {EDIT_1, "", false, false}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		{{{"<lock>", OK, false, false}, {EDIT_1, "<data/>", false, false}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		/* To another question. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, "<rpc-reply message-id=\"1\"><ok/></rpc-reply>", false, true}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		{{{"<lock>", OK, false, false},
		  {EDIT_1, "<rpc-reply><ok/></rpc-reply>", false, true}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		{{{"<lock>", OK, false, false}, {EDIT_1, "<rpc-reply", false, true}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		{{{"<lock>", OK, false, false}, {EDIT_1, "", true, false}},
		 E_UNAVAILABLE,
		 EDIT_UNKNOWN,
		 EDIT_NOT_TRIED},
		/* Yes, and it is not so. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, OK, false, false},
		  {EDIT_1, OK, false, false},
		  {"<get>", NX("120", "110"), false, false},
		  {"<unlock>", OK, false, false},
		  {"<get>", NX("120", "1"), false, false}},
		 E_PROTOCOL,
		 EDIT_TAKEN,
		 EDIT_UNKNOWN},
		/* A lock that cannot be given back does not make a change undone. */
		{{{"<lock>", OK, false, false},
		  {EDIT_1, OK, false, false},
		  {EDIT_1, OK, false, false},
		  {"<get>", NX("120", "130"), false, false},
		  {"<unlock>", ERROR("operation-failed"), false, false}},
		 0,
		 EDIT_TAKEN,
		 EDIT_TAKEN},
	};
	struct switch_edit edits[] = {port_edit("Ethernet1/1", 120), port_edit("Ethernet1/2", 130)};
	enum edit_result results[COUNT_OF(edits)];
	const struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = edits, .edit_count = 2, .results = results};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct turn turns[16] = {{"<get>", NX("110", "110"), false, false}};
		struct bench bench;
		struct ended ended;

		memcpy(turns + 1, rows[i].turns, sizeof(rows[i].turns));
		bench_open(&bench, "cisco-nxos-netconf", HELLO(NEW RUNNING), turns);
		ended = call(&bench, &change);
		if (ended.rc != rows[i].rc || results[0] != rows[i].first ||
		    results[1] != rows[i].second)
			fail_msg("row %zu: %d (%s: %s), %u %u", i, ended.rc, ended.problem.message,
				 ended.problem.detail, results[0], results[1]);
		assert_null(strchr(ended.problem.detail, '\n'));
		bench_close(&bench);
	}
}

/* With a candidate nothing is in force before the commit, and nothing is left of what was refused.
 */
static void test_candidate(void **state)
{
	static const struct turn lock = {"<lock><target><running/>", OK, false, false};
	static const struct turn lock_candidate = {"<lock><target><candidate/>", OK, false, false};
	static const struct turn edit = {"<edit-config><target><candidate/>", OK, false, false};
	static const struct turn commit = {"<commit><confirmed/><confirm-timeout>30<", OK, false,
					   false};
	static const struct turn unlock_candidate = {"<unlock><target><candidate/>", OK, false,
						     false};
	static const struct turn unlock = {"<unlock><target><running/>", OK, false, false};
	static const struct turn discard = {"<discard-changes/>", OK, false, false};
	static const struct turn validate = {"<validate><source><candidate/>", OK, false, false};
	const struct {
		struct turn turns[14];
		int rc;
		enum edit_result result;
	} rows[] = {
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  commit,
		  {"<get>", OC("120"), false, false},
		  {"<commit/>", OK, false, false},
		  unlock_candidate,
		  unlock},
		 0,
		 EDIT_TAKEN},
		/* Somebody's changes are in it. */
		{{lock, {"<lock>", ERROR("lock-denied"), false, false}, unlock},
		 -EBUSY,
		 EDIT_NOT_TRIED},
		{{lock,
		  lock_candidate,
		  {"<edit-config>", ERROR("invalid-value"), false, false},
		  discard,
		  unlock_candidate,
		  unlock},
		 E_CONFLICT,
		 EDIT_REFUSED},
		{{lock,
		  lock_candidate,
		  edit,
		  {"<validate>", ERROR("operation-failed"), false, false},
		  discard,
		  unlock_candidate,
		  unlock},
		 E_CONFLICT,
		 EDIT_REFUSED},
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  {"<commit>", ERROR("operation-failed"), false, false},
		  discard,
		  unlock_candidate,
		  unlock,
		  {"<get>", OC("110"), false, false}},
		 E_CONFLICT,
		 EDIT_REFUSED},
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  {"<commit>", ERROR("operation-failed"), false, false},
		  discard,
		  unlock_candidate,
		  unlock,
		  {"<get>", OC("1"), false, false}},
		 E_CONFLICT,
		 EDIT_UNKNOWN},
		/* Before the commit nothing was done, after it nobody knows. */
		{{lock, lock_candidate, {"<edit-config>", "", true, false}},
		 E_UNAVAILABLE,
		 EDIT_NOT_TRIED},
		{{lock, lock_candidate, edit, validate, {"<commit>", "", true, false}},
		 E_UNAVAILABLE,
		 EDIT_UNKNOWN},
		{{lock, lock_candidate, edit, validate, commit, {"<get>", "", true, false}},
		 E_UNAVAILABLE,
		 EDIT_UNKNOWN},
		/* Not seen: taken back, and looked at once more. */
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  commit,
		  {"<get>", OC("1"), false, false},
		  {"<cancel-commit/>", OK, false, false},
		  unlock_candidate,
		  unlock,
		  {"<get>", OC("110"), false, false}},
		 E_PROTOCOL,
		 EDIT_REFUSED},
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  commit,
		  {"<get>", OC("1"), false, false},
		  {"<cancel-commit/>", ERROR("operation-failed"), false, false},
		  unlock_candidate,
		  unlock,
		  {"<get>", OC("1"), false, false}},
		 E_PROTOCOL,
		 EDIT_UNKNOWN},
		/* Not confirmed: the switch takes it back by itself, some time. */
		{{lock,
		  lock_candidate,
		  edit,
		  validate,
		  commit,
		  {"<get>", OC("120"), false, false},
		  {"<commit/>", ERROR("operation-failed"), false, false},
		  {"<cancel-commit/>", OK, false, false},
		  unlock_candidate,
		  unlock,
		  {"<get>", OC("110"), false, false}},
		 E_CONFLICT,
		 EDIT_REFUSED},
	};
	struct switch_edit one = port_edit("Ethernet1/1", 120);
	enum edit_result result;
	const struct switch_request change = {
		.op = SWITCH_CHANGE, .edits = &one, .edit_count = 1, .results = &result};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct turn turns[24] = {{"<get>", OC("110"), false, false}};
		struct bench bench;
		struct ended ended;

		memcpy(turns + 1, rows[i].turns, sizeof(rows[i].turns));
		bench_open(&bench, "openconfig", HELLO(NEW CANDIDATE), turns);
		ended = call(&bench, &change);
		if (ended.rc != rows[i].rc || result != rows[i].result)
			fail_msg("row %zu: %d (%s: %s), %u", i, ended.rc, ended.problem.message,
				 ended.problem.detail, result);
		bench_close(&bench);
	}
}

/* S28: depth and declarations are looked for in bytes, so another encoding is refused before
 * libxml2 reads it. */
static void test_only_utf8(void **state)
{
	static const char bare[] = "<hello><capabilities><capability>urn:ietf:params:netconf:base:"
				   "1.0</capability></capabilities></hello>";
	static const char *const latin[] = {
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><hello>\xe9</hello>",
		"<?xml version=\"1.0\" encoding=\"UTF-7\"?><hello>+ADwAeAAvAD4-\xff</hello>",
	};
	char wide[2 * sizeof(bare)] = {(char)0xff, (char)0xfe};
	struct netconf_message message = {0};

	(void)state;
	assert_int_equal(netconf_message_parse(bare, sizeof(bare) - 1, &message), 0);
	netconf_message_done(&message);
	for (size_t i = 0; i < sizeof(bare) - 1; i++)
		wide[2 + 2 * i] = bare[i];
	assert_int_equal(netconf_message_parse(wide, sizeof(wide), &message), E_MALFORMED);
	assert_int_equal(netconf_message_parse(wide + 2, sizeof(wide) - 2, &message), E_MALFORMED);
	for (size_t i = 0; i < COUNT_OF(latin); i++)
		assert_int_equal(netconf_message_parse(latin[i], strlen(latin[i]), &message),
				 E_MALFORMED);
}

/* Hellos that are none, or of another kind of switch. */
static void test_hello(void **state)
{
	static const struct {
		const char *hello;
		int rc;
	} rows[] = {
		{HELLO("<capability>urn:x?module=x</capability>"), E_UNSUPPORTED},
		{"<hello><capabilities/></hello>", E_PROTOCOL},
		{"SSH-2.0 go away", E_PROTOCOL},
		{"<!DOCTYPE x><hello/>", E_PROTOCOL},
		{"<rpc-reply message-id=\"0\"><ok/></rpc-reply>", E_PROTOCOL},
		{HELLO("") "]]>]]>" HELLO(""), E_PROTOCOL},
	};
	static const struct turn nothing[] = {{"<get>", NX("1", "1"), false, false},
					      {NULL, NULL, false, false}};
	const struct switch_request read = {.op = SWITCH_READ, .parts = PART_PORTS | PART_VLANS};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct ended ended;

		bench_open(&bench, "cisco-nxos-netconf", rows[i].hello, nothing);
		ended = call(&bench, &read);
		if (ended.rc != rows[i].rc)
			fail_msg("row %zu: %d, %s: %s", i, ended.rc, ended.problem.message,
				 ended.problem.detail);
		/* Asked or not: what is under test is the greeting. */
		bench.script.at = 1;
		bench_close(&bench);
	}
}

/* The session of an earlier call may be dead: reading is begun again, once; a part that is refused
 * is missing, and does not take the others along. */
static void test_read_again(void **state)
{
	static const struct turn turns[] = {
		{"<get>", NX("110", "120"), false, false},
		{"<get>", "", true, false},
		{"<get>", NX("110", "130"), false, false},
		{"<lldp-items>", ERROR("operation-failed"), false, false},
		{"<mac-items>",
		 "<data><System><mac-items><table-items><vlan-items><MacAddressEntry-list><vlan>"
		 "vlan-120</vlan><macAddress>00:00:00:00:00:00</macAddress><port>eth1/2</port>"
		 "</MacAddressEntry-list><MacAddressEntry-list><vlan>vlan-120</vlan><macAddress>"
		 "5254.0000.0001</macAddress><port>eth1/2</port></MacAddressEntry-list>"
		 "<MacAddressEntry-list><vlan>vlan-9</vlan><macAddress>52:54:00:00:00:02"
		 "</macAddress><port>sup-eth1</port></MacAddressEntry-list></vlan-items>"
		 "</table-items></mac-items></System></data>",
		 false, false},
		{"<get>", "", true, false},
		{"<get>", "", true, false},
		{NULL, NULL, false, false},
	};
	const struct switch_request look = {.op = SWITCH_READ, .parts = PART_PORTS | PART_VLANS};
	const struct switch_request read = {
		.op = SWITCH_READ, .parts = PART_PORTS | PART_VLANS | PART_NEIGHBORS | PART_FDB};
	struct bench bench;
	struct ended ended;

	(void)state;
	bench_open(&bench, "cisco-nxos-netconf", HELLO(NEW RUNNING), turns);
	ended = call(&bench, &look);
	assert_int_equal(ended.rc, 0);
	assert_int_equal(ended.reading.vlan_count, 2);
	switch_reading_done(&ended.reading);
	ended = call(&bench, &read);
	assert_int_equal(ended.rc, 0);
	assert_int_equal(bench.script.opens, 2);
	assert_int_equal(ended.reading.parts, PART_PORTS | PART_VLANS | PART_FDB);
	assert_int_equal(ended.reading.port_count, 2);
	assert_string_equal(ended.reading.ports[1].name, "Ethernet1/2");
	assert_int_equal(ended.reading.ports[1].vlans.native, 130);
	assert_int_equal(ended.reading.fdb_count, 1);
	assert_int_equal(ended.reading.odd, 1);
	switch_reading_done(&ended.reading);
	assert_int_equal(call(&bench, &look).rc, E_UNAVAILABLE);
	assert_int_equal(bench.script.opens, 3);
	bench_close(&bench);
}

/* What a model cannot say is refused before anything is sent. */
static void test_not_sent(void **state)
{
	static const struct {
		struct switch_edit edit;
		int rc;
	} rows[] = {
		{{.kind = EDIT_PORT, .port = "Ethernet9/9", .after = {.native = 110}}, E_NOT_FOUND},
		{{.kind = EDIT_PORT, .port = "Ethernet1/1", .after = {.trunk = true}},
		 E_UNSUPPORTED},
		{{.kind = EDIT_PORT, .port = "Ethernet1/1", .after = {.native = 0}}, E_INVALID},
		/* VLAN 1 with a tag, and nothing without one: it would pass without. */
		{{.kind = EDIT_PORT,
		  .port = "Ethernet1/1",
		  .after = {.trunk = true, .tagged = {{2}}}},
		 E_UNSUPPORTED},
	};
	static const struct turn turns[] = {{"<get>", NX("110", "110"), false, false},
					    {NULL, NULL, false, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_edit edits[] = {{.kind = EDIT_VLAN_CREATE, .vlan = 130},
					      rows[i].edit};
		enum edit_result results[2];
		const struct switch_request change = {
			.op = SWITCH_CHANGE, .edits = edits, .edit_count = 2, .results = results};
		struct bench bench;

		bench_open(&bench, "cisco-nxos-netconf", HELLO(RUNNING), turns);
		assert_int_equal(call(&bench, &change).rc, rows[i].rc);
		assert_int_equal(results[0], EDIT_NOT_TRIED);
		assert_int_equal(results[1], EDIT_REFUSED);
		bench_close(&bench);
	}
}

/* What goes on talking does not put the deadline off. */
static void test_flood(void **state)
{
#define NOTIFICATION "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"/>"
	static const struct turn turns[] = {{"<get>", NOTIFICATION, false, true},
					    {NULL, NULL, false, false}};
	const struct switch_request read = {.op = SWITCH_READ, .parts = PART_PORTS | PART_VLANS};
	struct bench bench;

	(void)state;
	bench_open(&bench, "cisco-nxos-netconf", HELLO(NEW RUNNING), turns);
	bench.script.flood = NOTIFICATION;
	assert_int_equal(call_within(&bench, &read, 200).rc, E_TIMEOUT);
	assert_null(bench.script.timer);
	bench.script.at = 1; /* asked or not */
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),    cmocka_unit_test(test_change_refused),
		cmocka_unit_test(test_candidate), cmocka_unit_test(test_hello),
		cmocka_unit_test(test_only_utf8), cmocka_unit_test(test_read_again),
		cmocka_unit_test(test_not_sent),  cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
