// links: peregrine_switch
/* OVSDB without a server: what rows mean, what edits become, how answers are judged. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_json.h"
#include "peregrine/switch/ovsdb/ovsdb_mirror_policy.h"
#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"
#include "peregrine/switch/ovsdb/ovsdb_tls.h"
#include "tests/support/cmocka.h"

/* Ports p1 and p2 of bridge br0, p1 as given; VLANs 100 and 200 are in the table. */
static json_t *answer_of(const char *tag, const char *trunks, const char *mode)
{
	CLEANUP(text_done) struct text text = {0};
	struct problem problem;
	json_t *json = NULL;

	text_addf(
		&text,
		"[{\"rows\":[{\"next_cfg\":7,\"cur_cfg\":7}]},"
		"{\"rows\":[{\"_uuid\":[\"uuid\",\"b0\"],\"name\":\"br0\",\"controller\":[\"set\",[]],"
		"\"external_ids\":[\"map\",[[\"vlan-100\",\"red\"],[\"vlan-200\",\"blue\"],"
		"[\"vlan-5000\",\"x\"],[\"vlan-1x\",\"x\"]]],"
		"\"ports\":[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"]]]}]},"
		"{\"rows\":[{\"_uuid\":[\"uuid\",\"u1\"],\"name\":\"p1\",\"tag\":%s,\"trunks\":%s,"
		"\"vlan_mode\":%s,\"interfaces\":[\"uuid\",\"i1\"]},"
		"{\"_uuid\":[\"uuid\",\"u2\"],\"name\":\"p2\",\"tag\":300,\"trunks\":[\"set\",[]],"
		"\"vlan_mode\":\"access\",\"interfaces\":[\"uuid\",\"i2\"]},"
		"{\"_uuid\":[\"uuid\",\"u3\"],\"name\":\"other\",\"tag\":7,\"trunks\":[\"set\",[]],"
		"\"vlan_mode\":\"access\",\"interfaces\":[\"uuid\",\"i3\"]}]},"
		"{\"rows\":[{\"_uuid\":[\"uuid\",\"i1\"],\"name\":\"p1\",\"ifindex\":11,\"ofport\":3},"
		"{\"_uuid\":[\"uuid\",\"i2\"],\"name\":\"p2\",\"ofport\":1}]}]",
		tag, trunks, mode);
	assert_int_equal(json_read(text_get(&text), text.size, SIZE_MAX, &json, &problem), 0);
	return json;
}

static void facts_of(json_t *answer, struct ovsdb_facts *ret)
{
	struct problem problem = {0};

	assert_int_equal(ovsdb_facts_make(answer, FACTS_WHOLE, ret, &problem), 0);
	json_decref(answer);
}

static void check_set(const struct vlan_set *set, const char *wanted)
{
	CLEANUP(text_done) struct text text = {0};

	vlan_set_text(set, &text);
	assert_string_equal(text_get(&text), wanted);
}

#define NONE "[\"set\",[]]"

/* --- rows --- */

static void rows_are_memberships(void **state)
{
	static const struct {
		const char *tag, *trunks, *mode;
		bool trunk;
		unsigned native;
		const char *tagged;
		bool exact, tunnel;
	} rows[] = {
		{"200", NONE, "\"access\"", false, 200, "", true, false},
		{"200", NONE, NONE, false, 200, "", true, false},
		/* Open vSwitch passes over trunks then */
		{"200", "[\"set\",[1,2]]", NONE, false, 200, "", true, false},
		{NONE, NONE, NONE, true, 1, "2-4094", false, false},
		{NONE, "[\"set\",[100,200]]", NONE, true, 0, "100,200", true, false},
		{NONE, "100", "\"trunk\"", true, 0, "100", true, false},
		{NONE, "4095", "\"trunk\"", true, 0, "", true, false},
		{NONE, "[\"set\",[0,100]]", "\"trunk\"", true, 1, "100", false, false},
		{"7", "[\"set\",[7,100]]", "\"native-untagged\"", true, 7, "100", true, false},
		{"7", NONE, "\"native-untagged\"", true, 7, "1-6,8-4094", false, false},
		{"7", "100", "\"native-tagged\"", true, 7, "7,100", false, false},
		{"7", "100", "\"dot1q-tunnel\"", true, 7, "7,100", false, true},
		{"0", NONE, "\"access\"", false, 1, "", false, false},
		{"\"x\"", "[\"set\",[\"y\",-1,70000]]", "\"trunk\"", true, 0, "", true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ovsdb_facts facts;
		const struct ovsdb_port *port;

		facts_of(answer_of(rows[i].tag, rows[i].trunks, rows[i].mode), &facts);
		assert_int_equal(facts.port_count, 2); /* not the one of another bridge */
		port = ovsdb_facts_port(&facts, "p1");
		assert_int_equal(port->vlans.trunk, rows[i].trunk);
		assert_int_equal(port->vlans.native, rows[i].native);
		check_set(&port->vlans.tagged, rows[i].tagged);
		assert_int_equal(port->exact, rows[i].exact);
		assert_int_equal(port->tunnel, rows[i].tunnel);
		ovsdb_facts_done(&facts);
	}
}

static void vlans_are_those_of_the_table_and_of_ports(void **state)
{
	struct ovsdb_facts facts;
	struct switch_reading reading = {0};

	(void)state;
	facts_of(answer_of("100", NONE, "\"access\""), &facts);
	check_set(&facts.table, "1,100,200");
	check_set(&facts.used, "100,300");
	assert_int_equal(ovsdb_reading_make(&facts, PART_ALL, NULL, &reading), 0);
	assert_int_equal(reading.parts, PART_IDENTITY | PART_PORTS | PART_VLANS);
	assert_int_equal(reading.vlan_count, 4);
	assert_string_equal(reading.vlans[1].name, "red");
	assert_int_equal(reading.ports[0].if_index, 11);
	assert_false(reading.ports[0].index_made);
	assert_int_equal(reading.ports[0].base_port, 3);
	/* without a kernel device: a number all the same, and the same each time */
	assert_string_equal(reading.ports[1].name, "p2");
	assert_true(reading.ports[1].if_index >= 0x40000000U);
	assert_true(reading.ports[1].index_made);
	switch_reading_done(&reading);
	ovsdb_facts_done(&facts);
}

/* link_resets counts: a link that went and came between two looks is as it was otherwise. */
static void links_have_a_digest(void **state)
{
	static const struct {
		const char *state;
		int64_t resets;
	} rows[] = {{"up", 1}, {"down", 2}, {"up", 3}};
	uint64_t digests[COUNT_OF(rows)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		json_t *answer = answer_of("100", NONE, "\"access\"");
		json_t *interface =
			json_array_get(json_object_get(json_array_get(answer, 3), "rows"), 0);
		struct problem problem = {0};
		struct ovsdb_facts facts;
		struct switch_reading reading = {0};

		json_object_set_new(interface, "link_state",
				    json_stringn(rows[i].state, strlen(rows[i].state)));
		json_object_set_new(interface, "link_resets", json_integer(rows[i].resets));
		assert_int_equal(ovsdb_facts_make(answer, FACTS_VLANS, &facts, &problem), 0);
		assert_int_equal(facts.links, 0);
		ovsdb_facts_done(&facts);
		assert_int_equal(ovsdb_facts_make(answer, FACTS_LOOK, &facts, &problem), 0);
		digests[i] = facts.links;
		ovsdb_facts_done(&facts);
		facts_of(answer, &facts);
		assert_int_equal(facts.links, digests[i]); /* a look and a reading say the same */
		assert_int_equal(ovsdb_reading_make(&facts, PART_ALL, NULL, &reading), 0);
		assert_int_equal(reading.identity.link_changes, digests[i]);
		assert_int_equal(reading.ports[0].link_mark, rows[i].resets + 1);
		switch_reading_done(&reading);
		ovsdb_facts_done(&facts);
	}
	assert_true(digests[0] && digests[1] && digests[2]);
	assert_true(digests[0] != digests[1] && digests[0] != digests[2] &&
		    digests[1] != digests[2]);
}

static uint64_t digest_of(const char *tag, const char *trunks, const char *mode)
{
	struct ovsdb_facts facts;
	uint64_t digest;

	facts_of(answer_of(tag, trunks, mode), &facts);
	digest = facts.digest;
	ovsdb_facts_done(&facts);
	return digest;
}

static void digests_tell_memberships_apart(void **state)
{
	(void)state;
	assert_true(digest_of("100", NONE, "\"access\"") == digest_of("100", NONE, NONE));
	assert_true(digest_of("100", NONE, NONE) != digest_of("200", NONE, NONE));
	assert_true(digest_of(NONE, "100", NONE) != digest_of("100", "100", "\"native-untagged\""));
	assert_true(digest_of("7", "100", "\"native-tagged\"") !=
		    digest_of("7", "100", "\"native-untagged\""));
}

/* --- edits --- */

static struct switch_edit port_edit(const char *port, bool trunk, uint16_t native,
				    const char *tagged)
{
	struct switch_edit edit = {.kind = EDIT_PORT, .after = {.trunk = trunk, .native = native}};

	(void)text_copy(edit.port, sizeof(edit.port), port);
	assert_int_equal(vlan_set_parse(tagged, &edit.after.tagged), 0);
	return edit;
}

static struct switch_edit vlan_edit(enum switch_edit_kind kind, uint16_t vlan, const char *name)
{
	struct switch_edit edit = {.kind = kind, .vlan = vlan};

	(void)text_copy(edit.vlan_name, sizeof(edit.vlan_name), name);
	return edit;
}

/* The operation on `table` in compact JSON, NULL: none. */
static char *operation(const struct ovsdb_plan *plan, const char *op, const char *table)
{
	for (size_t i = 1; i < json_array_size(plan->params); i++) {
		const json_t *one = json_array_get(plan->params, i);
		const char *is = json_string_value(json_object_get(one, "op"));
		const char *of = json_string_value(json_object_get(one, "table"));

		if (strcmp(is, op) == 0 && of && strcmp(of, table) == 0)
			return json_dumps(one, JSON_COMPACT | JSON_SORT_KEYS);
	}
	return NULL;
}

static void check_operation(const struct ovsdb_plan *plan, const char *op, const char *table,
			    const char *part)
{
	char *text = operation(plan, op, table);

	if (!text || !strstr(text, part))
		fail_msg("%s is not in %s", part, text ? text : "nothing");
	free(text);
}

static void edits_state_the_whole_row(void **state)
{
	static const struct {
		bool trunk;
		uint16_t native;
		const char *tagged, *row;
	} rows[] = {
		{false, 200, "",
		 "{\"protected\":false,\"tag\":200,\"trunks\":[\"set\",[]],\"vlan_mode\":\"access\"}"},
		{true, 0, "100,200",
		 "{\"protected\":false,\"tag\":[\"set\",[]],\"trunks\":[\"set\",[100,200]],\"vlan_mode\":\"trunk\"}"},
		{true, 200, "100",
		 "{\"protected\":false,\"tag\":200,\"trunks\":[\"set\",[100]],\"vlan_mode\":\"native-untagged\"}"},
		{true, 200, "",
		 "{\"protected\":false,\"tag\":200,\"trunks\":[\"set\",[200]],\"vlan_mode\":\"native-untagged\"}"},
		{true, 0, "",
		 "{\"protected\":false,\"tag\":[\"set\",[]],\"trunks\":[\"set\",[4095]],\"vlan_mode\":\"trunk\"}"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct switch_edit edit =
			port_edit("p1", rows[i].trunk, rows[i].native, rows[i].tagged);
		struct ovsdb_facts facts;
		struct ovsdb_plan plan;
		struct problem problem;
		size_t bad;

		facts_of(answer_of(NONE, NONE, NONE), &facts);
		assert_int_equal(ovsdb_plan_make(&facts, &edit, 1, &plan, &bad, &problem), 0);
		check_operation(&plan, "update", "Port", rows[i].row);
		check_operation(
			&plan, "wait", "Port",
			"\"rows\":[{\"name\":\"p1\",\"tag\":[\"set\",[]],\"trunks\":[\"set\",[]],"
			"\"vlan_mode\":[\"set\",[]]}],\"table\":\"Port\",\"timeout\":0,"
			"\"until\":\"==\"");
		check_operation(&plan, "mutate", "Open_vSwitch", "[\"next_cfg\",\"+=\",1]");
		ovsdb_plan_done(&plan);
		ovsdb_facts_done(&facts);
	}
}

/* Ours: haas-capture-1 of p1 (as `row` says), and haas-capture-9; m of somebody else. */
static json_t *mirrors_of(const char *output)
{
	static const char format[] =
		"{\"rows\":[{\"_uuid\":[\"uuid\",\"m1\"],\"name\":\"haas-capture-1\",\"select_all\":false,"
		"\"select_src_port\":[\"uuid\",\"u1\"],\"select_dst_port\":[\"uuid\",\"u1\"],"
		"\"select_vlan\":[\"set\",[]],\"output_port\":%s,\"output_vlan\":[\"set\",[]]},"
		"{\"_uuid\":[\"uuid\",\"m9\"],\"name\":\"haas-capture-9\"},"
		"{\"_uuid\":[\"uuid\",\"m7\"],\"name\":\"m\"}]}";
	json_t *answer = answer_of(NONE, NONE, NONE);
	CLEANUP(text_done) struct text text = {0};
	struct problem problem;
	json_t *rows = NULL;

	text_addf(&text, format, output);
	assert_int_equal(json_read(text_get(&text), text.size, SIZE_MAX, &rows, &problem), 0);
	/* Where ovsdb_mirror_ask() has it: after system, bridges and ports. */
	assert_int_equal(json_array_set_new(answer, 3, rows), 0);
	assert_int_equal(
		json_object_set_new(
			json_array_get(json_object_get(json_array_get(answer, 1), "rows"), 0),
			"mirrors",
			json_pack("[s,[[s,s],[s,s],[s,s]]]", "set", "uuid", "m1", "uuid", "m9",
				  "uuid", "m7")),
		0);
	return answer;
}

static void mirrors_are_stated_whole(void **state)
{
	static const struct switch_mirror both[] = {{"haas-capture-1", "p1", "p2"},
						    {"haas-capture-2", "p7", "p2"}};
	static const struct {
		const char *what, *output;
		size_t count;
		const char *gone, *come; /* of Bridge.mirrors; NULL: nothing is sent */
	} rows[] = {
		{"as wanted but for one that is over", "[\"uuid\",\"u2\"]", 1, "[\"uuid\",\"m9\"]",
		 ""},
		{"copied to somewhere else", "[\"uuid\",\"u9\"]", 1,
		 "[[\"uuid\",\"m1\"],[\"uuid\",\"m9\"]]", "[[\"named-uuid\",\"mirror0\"]]"},
		{"its port to copy to is gone", NONE, 1, "[[\"uuid\",\"m1\"],[\"uuid\",\"m9\"]]",
		 "[[\"named-uuid\",\"mirror0\"]]"},
		{"none", "[\"uuid\",\"u2\"]", 0, "[[\"uuid\",\"m1\"],[\"uuid\",\"m9\"]]", ""},
		{"one of a port that is not there", "[\"uuid\",\"u2\"]", 2, "[\"uuid\",\"m9\"]",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum edit_result results[2] = {EDIT_NOT_TRIED, EDIT_NOT_TRIED};
		struct ovsdb_facts facts = {0};
		struct ovsdb_plan plan = {0};
		struct problem problem = {0};
		char *sent;
		json_t *answer = mirrors_of(rows[i].output);

		assert_int_equal(ovsdb_facts_make(answer, FACTS_VLANS, &facts, &problem), 0);
		json_decref(answer);
		assert_int_equal(
			ovsdb_mirror_plan(&facts, both, rows[i].count, &plan, results, &problem),
			0);
		sent = operation(&plan, "mutate", "Bridge");
		if (!sent || !strstr(sent, rows[i].gone) || !strstr(sent, rows[i].come) ||
		    strstr(sent, "m7") || !strstr(sent, "[\"flood_vlans\",\"insert\",4095]") ||
		    !!strstr(sent, "named-uuid") != !!rows[i].come[0])
			fail_msg("%s: %s", rows[i].what, sent ? sent : "nothing");
		free(sent);
		if (rows[i].come[0])
			check_operation(&plan, "insert", "Mirror",
					"\"output_port\":[\"uuid\",\"u2\"]");
		if (rows[i].count > 0)
			assert_int_equal(results[0], rows[i].come[0] ? EDIT_NOT_TRIED : EDIT_TAKEN);
		if (rows[i].count > 1)
			assert_int_equal(results[1], EDIT_REFUSED);
		ovsdb_plan_done(&plan);
		ovsdb_facts_done(&facts);
	}
}

static void what_is_there_is_not_sent(void **state)
{
	const struct switch_edit edits[] = {
		port_edit("p1", false, 200, ""), port_edit("p2", false, 300, ""),
		vlan_edit(EDIT_VLAN_CREATE, 200, "blue"), vlan_edit(EDIT_VLAN_DELETE, 999, "")};
	struct ovsdb_facts facts;
	struct ovsdb_plan plan;
	struct problem problem;
	size_t bad;

	(void)state;
	facts_of(answer_of("200", NONE, NONE), &facts);
	assert_int_equal(ovsdb_plan_make(&facts, edits, COUNT_OF(edits), &plan, &bad, &problem), 0);
	assert_null(plan.params);
	for (size_t i = 0; i < COUNT_OF(edits); i++)
		assert_true(ovsdb_plan_holds(&facts, &edits[i]));
	ovsdb_facts_done(&facts);
	/* looks the same, and is another thing */
	facts_of(answer_of("0", NONE, "\"access\""), &facts);
	assert_int_equal(ovsdb_plan_make(&facts,
					 &(struct switch_edit){.kind = EDIT_PORT,
							       .port = "p1",
							       .after = {.native = 1}},
					 1, &plan, &bad, &problem),
			 0);
	check_operation(&plan, "update", "Port", "\"tag\":1,");
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
}

static void what_cannot_be_is_refused(void **state)
{
	const struct {
		struct switch_edit edits[3];
		size_t bad;
		int rc;
	} rows[] = {
		{{port_edit("p1", false, 999, "")}, 0, E_CONFLICT},
		{{port_edit("p9", false, 200, "")}, 0, E_CONFLICT},
		{{port_edit("other", false, 200, "")}, 0, E_CONFLICT},
		{{port_edit("p1", true, 200, "100,200")}, 0, E_INVALID},
		{{port_edit("p1", false, 0, "")}, 0, E_INVALID},
		{{vlan_edit(EDIT_VLAN_DELETE, 1, "")}, 0, E_INVALID},
		{{vlan_edit(EDIT_VLAN_DELETE, 300, "")}, 0, E_CONFLICT}, /* p2 is in it */
		{{vlan_edit(EDIT_VLAN_CREATE, 400, "x"), port_edit("p1", false, 400, ""),
		  vlan_edit(EDIT_VLAN_DELETE, 400, "x")},
		 2,
		 E_CONFLICT},
		{{vlan_edit(EDIT_VLAN_DELETE, 200, "blue"), port_edit("p1", false, 200, "")},
		 1,
		 E_CONFLICT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ovsdb_facts facts;
		struct ovsdb_plan plan = {0};
		struct problem problem = {0};
		size_t bad = 77;

		facts_of(answer_of("100", NONE, NONE), &facts);
		assert_int_equal(ovsdb_plan_make(&facts, rows[i].edits, rows[i].bad + 1, &plan,
						 &bad, &problem),
				 rows[i].rc);
		assert_int_equal(bad, rows[i].bad);
		assert_int_equal(problem.code, rows[i].rc);
		assert_null(plan.params);
		ovsdb_facts_done(&facts);
	}
}

/* A port leaves a VLAN and the VLAN goes, in one batch; a port of a controller's bridge is nothing
 * that we may change. */
static void batches_and_controllers(void **state)
{
	const struct switch_edit edits[] = {port_edit("p2", false, 100, ""),
					    vlan_edit(EDIT_VLAN_DELETE, 300, ""),
					    vlan_edit(EDIT_VLAN_CREATE, 200, "sky")};
	json_t *answer = answer_of("100", NONE, NONE);
	struct ovsdb_facts facts;
	struct ovsdb_plan plan;
	struct problem problem;
	size_t bad;

	(void)state;
	facts_of(json_incref(answer), &facts);
	assert_int_equal(ovsdb_plan_make(&facts, edits, COUNT_OF(edits), &plan, &bad, &problem), 0);
	assert_int_equal(plan.operation_count, 8);
	check_operation(&plan, "mutate", "Bridge", "\"mutations\":[[\"external_ids\",\"delete\"");
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
	(void)json_object_set_new(
		json_array_get(json_object_get(json_array_get(answer, 1), "rows"), 0), "controller",
		json_pack("[s,s]", "uuid", "c0"));
	facts_of(answer, &facts);
	assert_int_equal(ovsdb_plan_make(&facts, edits, COUNT_OF(edits), &plan, &bad, &problem),
			 E_UNSUPPORTED);
	ovsdb_facts_done(&facts);
}

/* --- answers --- */

static void answers_are_judged(void **state)
{
	static const struct {
		const char *text;
		int rc;
		size_t edit;
	} rows[] = {
		{"[{},{\"count\":1},{\"count\":1},{\"rows\":[{\"next_cfg\":8}]},{},{}]", 0,
		 SIZE_MAX},
		{"[{\"error\":\"timed out\"},null,null,null,null,null]", E_CONFLICT, 0},
		{"[{},{\"error\":\"permission error\"},null,null,null,null]", E_DENIED, 0},
		{"[{},{},{\"error\":\"I/O error\"},null,null,null]", E_UNAVAILABLE, SIZE_MAX},
		/* one more than operations: about the commit */
		{"[{},{},{},{\"rows\":[{\"next_cfg\":8}]},{},{},{\"error\":\"constraint violation\"}]",
		 E_CONFLICT, SIZE_MAX},
		{"[{},{\"error\":\"something new\"}]", E_CONFLICT, 0},
		{"[{},{}]", E_PROTOCOL, SIZE_MAX},
		{"[{},{},{},{\"rows\":[{}]},{},{}]", E_PROTOCOL, SIZE_MAX},
		{"[]", E_PROTOCOL, SIZE_MAX},
	};
	const struct switch_edit edit = port_edit("p1", false, 200, "");
	struct ovsdb_facts facts;
	struct ovsdb_plan plan;
	struct problem problem;
	size_t bad;

	(void)state;
	facts_of(answer_of("100", NONE, NONE), &facts);
	assert_int_equal(ovsdb_plan_make(&facts, &edit, 1, &plan, &bad, &problem), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		json_t *json = NULL;
		json_int_t config = 0;

		assert_int_equal(
			json_read(rows[i].text, strlen(rows[i].text), SIZE_MAX, &json, &problem),
			0);
		assert_int_equal(ovsdb_plan_judge(&plan, json, &config, &bad, &problem),
				 rows[i].rc);
		assert_true(bad == rows[i].edit);
		assert_true(rows[i].rc || config == 8);
		json_decref(json);
	}
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
}

/* After a change the table of addresses is emptied, by a mutation that must differ from what is
 * there: one that changes nothing would empty nothing. */
static void addresses_are_forgotten(void **state)
{
	static const struct {
		const char *flooded, *mutation;
	} rows[] = {
		{NONE, "[\"flood_vlans\",\"insert\",4095]"},
		{"4095", "[\"flood_vlans\",\"delete\",4095]"},
		{"[\"set\",[7,4095]]", "[\"flood_vlans\",\"delete\",4095]"},
		{"[\"set\",[7,409]]", "[\"flood_vlans\",\"insert\",4095]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		json_t *answer = answer_of(NONE, NONE, NONE);
		json_t *bridge =
			json_array_get(json_object_get(json_array_get(answer, 1), "rows"), 0);
		struct ovsdb_facts facts;
		json_t *params;
		char *sent;

		json_object_set_new(bridge, "flood_vlans",
				    json_loads(rows[i].flooded, JSON_DECODE_ANY, NULL));
		facts_of(answer, &facts);
		params = ovsdb_plan_await_and_forget(&facts, 8, 5000);
		assert_int_equal(json_array_size(params), 3);
		sent = json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS);
		/* only when the data plane has the change, in the same transaction */
		if (!strstr(sent, "[\"Open_vSwitch\",{\"columns\":[\"cur_cfg\"],\"op\":\"wait\"") ||
		    !strstr(sent, "[[\"cur_cfg\",\"<\",8]]") || !strstr(sent, "\"timeout\":5000") ||
		    !strstr(sent, rows[i].mutation) ||
		    !strstr(sent, "[[\"_uuid\",\"==\",[\"uuid\",\"b0\"]]]"))
			fail_msg("%s: %s", rows[i].flooded, sent);
		free(sent);
		json_decref(params);
		ovsdb_facts_done(&facts);
	}
}

/* --- the stream --- */

static void streams_are_bounded(void **state)
{
	static const char deep[] = "{\"a\":[[[[[[[[[[[[[[[[[";
	struct ovsdb_stream stream = {0};
	struct problem problem;
	json_t *message = NULL;
	char piece[65536];
	int rc = 0;

	(void)state;
	assert_int_equal(ovsdb_stream_add(&stream, deep, strlen(deep)), E_LIMIT);
	ovsdb_stream_done(&stream);
	assert_int_equal(ovsdb_stream_add(&stream, " \n[", 3), E_MALFORMED);
	ovsdb_stream_done(&stream);
	memset(piece, ' ', sizeof(piece));
	for (size_t i = 0; i < 1000; i++) /* blanks are nothing */
		assert_int_equal(ovsdb_stream_add(&stream, piece, sizeof(piece)), 0);
	assert_int_equal(stream.bytes.size, 0);
	assert_int_equal(ovsdb_stream_add(&stream, "{\"a\":\"", 6), 0);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < 1000 && rc == 0; i++)
		rc = ovsdb_stream_add(&stream, piece, sizeof(piece));
	assert_int_equal(rc, E_LIMIT);
	assert_true(stream.bytes.size < OVSDB_MESSAGE_SIZE + 2 * sizeof(piece));
	ovsdb_stream_done(&stream);
	assert_int_equal(ovsdb_stream_add(&stream, "{\"a\":]}", 7), 0);
	/* brackets that lie */
	assert_int_equal(ovsdb_json_next(&stream, &message, &problem), E_MALFORMED);
	ovsdb_stream_done(&stream);
	assert_int_equal(ovsdb_stream_add(&stream, "{\"a\":1,\"a\":2}", 13), 0);
	assert_int_equal(ovsdb_json_next(&stream, &message, &problem), E_MALFORMED);
	ovsdb_stream_done(&stream);
}

static void trust_is_said(void **state)
{
	static const struct ovsdb_files files = {"c", "k", ""};
	static const struct {
		const char *peer;
		int rc;
	} rows[] = {
		{"", -EINVAL},
		{"plain", 0},
		{"PLAIN", -EINVAL},
		{"SHA256:00", -EINVAL},
		{"sha256:0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef", 0},
		{"SHA256:0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef0",
		 -EINVAL},
		{"SHA256:0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdeg",
		 -EINVAL},
		{"ca", -EINVAL}, /* no CA file */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_endpoint endpoint = {.name = "leaf1"};
		struct problem problem = {0};
		struct ovsdb_tls tls;

		(void)text_copy(endpoint.ovsdb_peer, sizeof(endpoint.ovsdb_peer), rows[i].peer);
		assert_int_equal(ovsdb_tls_init(&tls, &endpoint, &files, &problem), rows[i].rc);
		assert_int_equal(problem_is_set(&problem), rows[i].rc != 0);
		if (rows[i].rc == 0 && tls.trust == OVSDB_TRUST_PIN)
			assert_int_equal(ovsdb_tls_init(&tls, &endpoint, NULL, &problem), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_memberships),
		cmocka_unit_test(vlans_are_those_of_the_table_and_of_ports),
		cmocka_unit_test(digests_tell_memberships_apart),
		cmocka_unit_test(links_have_a_digest),
		cmocka_unit_test(edits_state_the_whole_row),
		cmocka_unit_test(mirrors_are_stated_whole),
		cmocka_unit_test(what_is_there_is_not_sent),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(batches_and_controllers),
		cmocka_unit_test(answers_are_judged),
		cmocka_unit_test(addresses_are_forgotten),
		cmocka_unit_test(streams_are_bounded),
		cmocka_unit_test(trust_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
