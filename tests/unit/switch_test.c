// links: sim_switch
/* The lab's switches without a network: PortLists, what a SET does, what the data plane is told. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/sim/switch/switch_fault_table.h"
#include "tests/sim/switch/switch_fdb_wire.h"
#include "tests/sim/switch/switch_model.h"
#include "tests/support/cmocka.h"

static struct switch_portlist list_of(const char *ports) /* "1 9" */
{
	struct switch_portlist list = {{0}};

	for (char *end; *ports; ports = end + strspn(end, " "))
		switch_portlist_set(&list, (uint32_t)strtoul(ports, &end, 10), true);
	return list;
}

static void test_portlist(void **state)
{
	struct switch_portlist list = list_of("1 10 512");
	struct switch_portlist read;
	const uint8_t octets[] = {0x80, 0x40}; /* bit order: port 1 is the highest */
	uint8_t long_list[70] = {0};

	(void)state;
	assert_true(switch_portlist_has(&list, 1) && switch_portlist_has(&list, 512));
	assert_false(switch_portlist_has(&list, 0) || switch_portlist_has(&list, 513));
	assert_int_equal(list.octets[0], 0x80);
	assert_int_equal(list.octets[1], 0x40);
	assert_int_equal(switch_portlist_size(&list), 64);
	assert_int_equal(switch_portlist_read(octets, sizeof(octets), &read), 0);
	assert_true(switch_portlist_within(&read, &list));
	assert_false(switch_portlist_within(&list, &read));
	switch_portlist_keep(&list, &read);
	assert_memory_equal(&list, &read, sizeof(list));
	assert_int_equal(switch_portlist_read(long_list, sizeof(long_list), &read), 0);
	assert_true(switch_portlist_is_empty(&read));
	long_list[69] = 1;
	assert_int_equal(switch_portlist_read(long_list, sizeof(long_list), &read), E_LIMIT);
}

static void model_of_four(struct switch_model *model) /* ports 1-4 in VLAN 1 */
{
	struct switch_vlan *vlan;
	struct switch_port *port;

	*model = (struct switch_model){0};
	assert_int_equal(switch_model_add_vlan(model, 1, "default", &vlan), 0);
	vlan->egress = vlan->untagged = list_of("1 2 3 4");
	for (uint32_t number = 1; number <= 4; number++)
		assert_int_equal(switch_model_add_port(model, number, &port), 0);
}

static enum switch_error apply(struct switch_model *model, enum switch_verb verb, uint32_t index,
			       uint32_t value, const char *ports)
{
	struct switch_change change = {
		.verb = verb, .index = index, .value = value, .ports = list_of(ports)};

	return switch_model_apply(model, &change, SWITCH_PVID_ALONE, 7);
}

static void test_set(void **state)
{
	static const struct {
		enum switch_verb verb;
		uint32_t index, value;
		const char *ports;
		enum switch_error answer, check;
	} steps[] = {
		{SWITCH_CREATE, 200, SWITCH_ROW_CREATE_AND_GO, "", SWITCH_OK, SWITCH_OK},
		{SWITCH_CREATE, 200, SWITCH_ROW_CREATE_AND_GO, "", SWITCH_INCONSISTENT_VALUE, 0},
		{SWITCH_CREATE, 4095, SWITCH_ROW_CREATE_AND_GO, "", SWITCH_NO_CREATION, 0},
		{SWITCH_CREATE, 300, SWITCH_ROW_ACTIVE, "", SWITCH_INCONSISTENT_VALUE, 0},
		{SWITCH_UNTAGGED, 200, 0, "2", SWITCH_OK, SWITCH_INCONSISTENT_VALUE},
		{SWITCH_EGRESS, 200, 0, "2 4 77", SWITCH_OK, SWITCH_OK}, /* no port 77: no matter */
		{SWITCH_EGRESS, 999, 0, "2", SWITCH_INCONSISTENT_NAME, 0},
		{SWITCH_PVID, 2, 200, "", SWITCH_OK, SWITCH_OK},
		{SWITCH_PVID, 2, 999, "", SWITCH_INCONSISTENT_VALUE, 0},
		{SWITCH_PVID, 2, 4095, "", SWITCH_WRONG_VALUE, 0},
		{SWITCH_PVID, 9, 200, "", SWITCH_INCONSISTENT_NAME, 0},
		{SWITCH_FRAMES, 2, 3, "", SWITCH_WRONG_VALUE, 0},
		{SWITCH_FILTER, 2, 0, "", SWITCH_WRONG_VALUE, 0},
		{SWITCH_DELETE, 200, 0, "", SWITCH_OK, SWITCH_INCONSISTENT_VALUE}, /* a PVID */
		{SWITCH_DELETE, 200, 0, "", SWITCH_OK, SWITCH_INCONSISTENT_VALUE}, /* gone: fine */
		{SWITCH_DELETE, 1, 0, "", SWITCH_INCONSISTENT_VALUE, 0},
	};
	struct switch_model model;

	(void)state;
	model_of_four(&model);
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		assert_int_equal(apply(&model, steps[i].verb, steps[i].index, steps[i].value,
				       steps[i].ports),
				 steps[i].answer);
		if (steps[i].answer == SWITCH_OK)
			assert_int_equal(switch_model_check(&model), steps[i].check);
		if (steps[i].verb == SWITCH_EGRESS && steps[i].answer == SWITCH_OK)
			assert_false(
				switch_portlist_has(&switch_model_vlan(&model, 200)->egress, 77));
	}
	assert_int_equal(model.deletes, 1);
	switch_model_done(&model);
}

/* What setting dot1qPvid does besides, on three kinds of switches. */
static void test_pvid_manners(void **state)
{
	static const struct {
		enum switch_pvid_manner manner;
		bool old_egress, old_untagged, new_member;
	} rows[] = {
		{SWITCH_PVID_ALONE, true, true, false},
		{SWITCH_PVID_MOVES, false, false, true},
		{SWITCH_PVID_LEAVES_TAGGED, true, false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_model model;
		struct switch_change pvid = {.verb = SWITCH_PVID, .index = 3, .value = 200};

		model_of_four(&model);
		assert_int_equal(apply(&model, SWITCH_CREATE, 200, SWITCH_ROW_CREATE_AND_GO, ""),
				 0);
		assert_int_equal(switch_model_apply(&model, &pvid, rows[i].manner, 0), SWITCH_OK);
		assert_int_equal(switch_portlist_has(&switch_model_vlan(&model, 1)->egress, 3),
				 rows[i].old_egress);
		assert_int_equal(switch_portlist_has(&switch_model_vlan(&model, 1)->untagged, 3),
				 rows[i].old_untagged);
		assert_int_equal(switch_portlist_has(&switch_model_vlan(&model, 200)->untagged, 3),
				 rows[i].new_member);
		switch_model_done(&model);
	}
}

struct members {
	const char *egress_1, *untagged_1, *egress_200, *untagged_200;
};

static void model_of_two(struct switch_model *model, const struct members *members)
{
	model_of_four(model);
	assert_int_equal(apply(model, SWITCH_CREATE, 200, SWITCH_ROW_CREATE_AND_GO, ""), 0);
	switch_model_vlan(model, 1)->egress = list_of(members->egress_1);
	switch_model_vlan(model, 1)->untagged = list_of(members->untagged_1);
	switch_model_vlan(model, 200)->egress = list_of(members->egress_200);
	switch_model_vlan(model, 200)->untagged = list_of(members->untagged_200);
}

/* The data plane of port 2, from its memberships; what is imported from there gives the same. */
static void test_tagging(void **state)
{
	static const struct {
		struct members members;
		uint16_t pvid;
		uint8_t frames;
		enum switch_mode mode;
		uint16_t tag;
		bool carries_1, carries_200, is_dead;
	} rows[] = {
		{{"2", "2", "", ""}, 1, 1, SWITCH_ACCESS, 1, false, false, false},
		{{"", "", "2", "2"}, 200, 1, SWITCH_ACCESS, 200, false, false, false},
		{{"2", "2", "2", ""}, 1, 1, SWITCH_NATIVE_UNTAGGED, 1, true, true, false},
		{{"2", "", "2", ""}, 1, 1, SWITCH_NATIVE_TAGGED, 1, true, true, false},
		{{"2", "", "2", ""}, 1, 2, SWITCH_TRUNK, 0, true, true, false},
		{{"", "", "2", ""}, 1, 1, SWITCH_TRUNK, 0, false, true, false},
		{{"", "", "2", "2"}, 1, 1, SWITCH_TRUNK, 0, false, false, true},
		{{"", "", "", ""}, 1, 1, SWITCH_TRUNK, 0, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_model model;
		struct switch_port *port;
		struct switch_tagging tagging;
		struct switch_tagging again;

		model_of_two(&model, &rows[i].members);
		port = switch_model_port(&model, 2);
		port->pvid = rows[i].pvid;
		port->frames = rows[i].frames;
		tagging = switch_model_tagging(&model, port);
		assert_int_equal(tagging.mode, rows[i].mode);
		assert_int_equal(tagging.tag, rows[i].tag);
		assert_int_equal(switch_tagging_has(&tagging, 1), rows[i].carries_1);
		assert_int_equal(switch_tagging_has(&tagging, 200), rows[i].carries_200);
		assert_int_equal(switch_tagging_has(&tagging, 4095), rows[i].is_dead);
		assert_int_equal(switch_model_import(&model, port, &tagging), 0);
		again = switch_model_tagging(&model, port);
		assert_true(switch_tagging_equal(&tagging, &again));
		switch_model_done(&model);
	}
}

/* What port settings cannot say becomes rules; what they can, none but the plain one. */
static void test_flows(void **state)
{
	static const char plain[] = "priority=0,actions=NORMAL\n";
	static const struct {
		struct members members;
		uint16_t pvid_of_2;
		bool filters;
		const char *rules;
	} rows[] = {
		{{"1 2 3", "1 2 3", "3", ""}, 1, true, ""},
		{{"1", "1", "2 3", "2"}, 200, true, ""},
		/* Port 2 sends both VLANs bare and takes in 200: what is in VLAN 1 goes there too.
		 */
		{{"1 2", "1 2", "2 3", "2"},
		 200,
		 true,
		 "priority=10,in_port=1,vlan_tci=0x0000/0x1000,actions=clone(output:2),NORMAL\n"},
		{{"1 2", "1 2", "2 3", "2"},
		 1,
		 true,
		 "priority=10,in_port=3,dl_vlan=200,actions=clone(strip_vlan,output:2),NORMAL\n"},
		/* Port 2 is in VLAN 1 and its frames go into 200: nobody filters them. */
		{{"1 2", "1 2", "3", ""},
		 200,
		 false,
		 "priority=10,in_port=1,vlan_tci=0x0000/0x1000,actions=clone(output:2),NORMAL\n"
		 "priority=10,in_port=2,vlan_tci=0x0000/0x1000,actions=clone(push_vlan:0x8100,"
		 "set_field:4296->vlan_vid,output:3)\n"
		 "priority=10,in_port=2,dl_vlan=200,actions=output:3\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_model model;
		struct text text = {0};

		model_of_two(&model, &rows[i].members);
		switch_model_port(&model, 2)->pvid = rows[i].pvid_of_2;
		switch_model_port(&model, 2)->filters = rows[i].filters;
		switch_model_flows(&model, &text);
		assert_memory_equal(text_get(&text), plain, sizeof(plain) - 1);
		assert_string_equal(text_get(&text) + sizeof(plain) - 1, rows[i].rules);
		text_done(&text);
		switch_model_done(&model);
	}
}

static void test_saved(void **state)
{
	struct switch_model model;
	struct switch_model again;
	struct text text = {0};
	struct text text_again = {0};

	(void)state;
	model_of_four(&model);
	assert_int_equal(apply(&model, SWITCH_CREATE, 200, SWITCH_ROW_CREATE_AND_GO, ""), 0);
	assert_int_equal(apply(&model, SWITCH_EGRESS, 200, 0, "1 3"), 0);
	assert_int_equal(apply(&model, SWITCH_PVID, 3, 200, ""), 0);
	switch_model_write(&model, &text);
	assert_int_equal(switch_model_read(text_get(&text), &again), 0);
	switch_model_write(&again, &text_again);
	assert_string_equal(text_get(&text), text_get(&text_again));
	assert_int_equal(switch_model_read("vlan 5000 1 - - - 78\n", &again), E_MALFORMED);
	assert_int_equal(switch_model_read("port 1 7 1 1\n", &again), E_MALFORMED); /* no VLAN 7 */
	text_done(&text);
	text_done(&text_again);
	switch_model_done(&again);
	switch_model_done(&model);
}

static void test_faults(void **state)
{
	struct switch_faults faults;
	char wrong[64] = "";

	(void)state;
	assert_int_equal(switch_faults_read("slow=1.5\nrefuse=pvid,egress lost_write=all\npartial\n"
					    "pvid=moves portlist=28 time_mark=both",
					    &faults, wrong),
			 0);
	assert_int_equal(faults.slow_ms, 1500);
	assert_int_equal(faults.refuse, 1U << SWITCH_PVID | 1U << SWITCH_EGRESS);
	assert_int_equal(faults.lost, (1U << SWITCH_VERBS) - 1);
	assert_true(faults.partial && faults.portlist == 28);
	assert_int_equal(faults.pvid, SWITCH_PVID_MOVES);
	assert_int_equal(switch_faults_read("none\n", &faults, wrong), 0);
	assert_false(faults.partial);
	assert_int_equal(switch_faults_read("partial slow=x", &faults, wrong), E_MALFORMED);
	assert_string_equal(wrong, "slow=x");
	assert_true(faults.partial);
	assert_int_equal(switch_faults_read("portlist=513", &faults, wrong), E_MALFORMED);
	assert_int_equal(switch_faults_read("refuse=", &faults, wrong), 0);
}

static void test_fdb(void **state)
{
	static const char text[] = " port  VLAN  MAC                Age\n"
				   "LOCAL     0  9a:3c:51:00:00:40    1\n"
				   "    6   201  52:54:01:00:01:00    0\n"
				   "    2  4000  52:54:01:00:05:00  static\n";
	static const char *const bad[] = {
		"    6   201  52:54:01:00:01\n", "    6  4096  52:54:01:00:01:00    0\n",
		"    6   201  52:54:01:00:01:00\n", "    6   201  52:54:01:00:01:00    0  more\n",
		"   -1   201  52:54:01:00:01:00    0\n"};
	struct switch_fdb_row rows[3];
	size_t count = 0;

	(void)state;
	assert_int_equal(switch_fdb_read(text, strlen(text), rows, COUNT_OF(rows), &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].port, 0);
	assert_int_equal(rows[1].vid, 201);
	assert_int_equal(rows[1].mac.bytes[4], 1);
	assert_int_equal(rows[2].port, 2);
	assert_int_equal(rows[2].age_s, 0);
	assert_int_equal(switch_fdb_read(text, strlen(text), rows, 2, &count), E_LIMIT);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(switch_fdb_read(bad[i], strlen(bad[i]), rows, 3, &count),
				 E_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_portlist),     cmocka_unit_test(test_set),
		cmocka_unit_test(test_pvid_manners), cmocka_unit_test(test_tagging),
		cmocka_unit_test(test_flows),        cmocka_unit_test(test_saved),
		cmocka_unit_test(test_faults),       cmocka_unit_test(test_fdb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
