// links: peregrine_switch
/* An aggregate (LACP) by OVSDB: what is sent to make and to unmake it, and when nothing is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_json.h"
#include "peregrine/switch/ovsdb/ovsdb_lag_policy.h"
#include "tests/support/cmocka.h"

/* A bridge with the ports p1 to p9 as access ports of 4000, but p3 in `p3_tag`; and, where `lag` is
 * set, haas-1 of p1 and p2 instead of these. */
static void facts_of(const char *p3_tag, const char *lag, struct ovsdb_facts *ret)
{
	CLEANUP(text_done) struct text ports = {0};
	CLEANUP(text_done) struct text rows = {0};
	CLEANUP(text_done) struct text links = {0};
	CLEANUP(text_done) struct text answer = {0};
	struct problem problem = {0};
	json_t *json = NULL;

	for (unsigned i = lag ? 3 : 1; i <= 9; i++) {
		text_addf(&ports, "%s[\"uuid\",\"u%u\"]", ports.size ? "," : "", i);
		text_addf(
			&rows,
			"%s{\"_uuid\":[\"uuid\",\"u%u\"],\"name\":\"p%u\",\"tag\":%s,\"trunks\":"
			"[\"set\",[]],\"vlan_mode\":\"access\",\"interfaces\":[\"uuid\",\"i%u\"]}",
			rows.size ? "," : "", i, i, i == 3 ? p3_tag : "4000", i);
	}
	if (lag) {
		text_add(&ports, ",[\"uuid\",\"u10\"]");
		text_addf(&rows,
			  ",{\"_uuid\":[\"uuid\",\"u10\"],\"name\":\"haas-1\",%s,\"interfaces\":"
			  "[\"set\",[[\"uuid\",\"i1\"],[\"uuid\",\"i2\"]]]}",
			  lag);
	}
	for (unsigned i = 1; i <= 9; i++)
		text_addf(&links, "%s{\"_uuid\":[\"uuid\",\"i%u\"],\"name\":\"p%u\",\"ofport\":%u}",
			  i > 1 ? "," : "", i, i, i);
	text_addf(&answer,
		  "[{\"rows\":[{\"next_cfg\":7,\"cur_cfg\":7}]},{\"rows\":[{\"_uuid\":[\"uuid\","
		  "\"b0\"],\"name\":\"br0\",\"controller\":[\"set\",[]],\"external_ids\":[\"map\","
		  "[[\"vlan-4000\",\"park\"]]],\"ports\":[\"set\",[%s]]}]},{\"rows\":[%s]},"
		  "{\"rows\":[%s]}]",
		  text_get(&ports), text_get(&rows), text_get(&links));
	assert_int_equal(json_read(text_get(&answer), answer.size, SIZE_MAX, &json, &problem), 0);
	assert_int_equal(ovsdb_facts_make(json, FACTS_WHOLE, ret, &problem), 0);
	json_decref(json);
}

static struct switch_lag lag_of(bool make, const char *name, const char *const members[])
{
	struct switch_lag lag = {.make = make, .vlan = 4000};

	(void)text_copy(lag.name, sizeof(lag.name), name);
	for (; members[lag.member_count]; lag.member_count++) {
		(void)text_copy(lag.members[lag.member_count], sizeof(lag.members[0]),
				members[lag.member_count]);
		lag.member_vlans[lag.member_count] = 4000;
	}
	return lag;
}

/* How many operations of that kind the plan has on rows of Port. */
static unsigned count_of(const json_t *params, const char *op)
{
	unsigned count = 0;

	for (size_t i = 1; i < json_array_size(params); i++) {
		const json_t *one = json_array_get(params, i);
		const char *table = json_string_value(json_object_get(one, "table"));

		count += table && strcmp(table, "Port") == 0 &&
			 strcmp(json_string_value(json_object_get(one, "op")), op) == 0;
	}
	return count;
}

static void check_parts(const json_t *params, const char *const parts[])
{
	char *sent = json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS);

	for (size_t i = 0; parts[i]; i++) {
		if (!strstr(sent, parts[i]))
			fail_msg("%s is not in %s", parts[i], sent);
	}
	free(sent);
}

static const char *const two[] = {"p1", "p2", NULL};

#define PARKED   "\"tag\":4000,\"trunks\":[\"set\",[]],\"vlan_mode\":\"access\""
#define OPERATED "\"tag\":200,\"trunks\":[\"set\",[]],\"vlan_mode\":\"access\""

static void it_is_made_of_free_ports(void **state)
{
	const struct switch_lag lag = lag_of(true, "haas-1", two);
	struct ovsdb_facts facts;
	struct ovsdb_plan plan = {0};
	struct problem problem = {0};

	(void)state;
	facts_of("4000", NULL, &facts);
	assert_int_equal(ovsdb_lag_plan(&facts, &lag, &plan, &problem), 0);
	/* Each member is as it was read or nothing happens; the new one has a VLAN from its first
	 * moment; both leave the bridge in the operation in which it comes. */
	assert_int_equal(count_of(plan.params, "wait"), 2);
	assert_int_equal(count_of(plan.params, "insert"), 1);
	check_parts(
		plan.params,
		(const char *const[]){
			"\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"u1\"]]]",
			"\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"u2\"]]]",
			"\"interfaces\":[\"set\",[[\"uuid\",\"i1\"],[\"uuid\",\"i2\"]]],\"lacp\":"
			"\"active\",\"name\":\"haas-1\"",
			"\"tag\":4000,\"vlan_mode\":\"access\"",
			"[\"ports\",\"delete\",[\"set\",[[\"uuid\",\"u1\"],[\"uuid\",\"u2\"]]]],"
			"[\"ports\",\"insert\",[\"set\",[[\"named-uuid\",\"port0\"]]]]",
			"[\"next_cfg\",\"+=\",1]", NULL});
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
}

static void it_is_unmade_into_free_ports(void **state)
{
	const struct switch_lag lag = lag_of(false, "haas-1", two);
	struct ovsdb_facts facts;
	struct ovsdb_plan plan = {0};
	struct problem problem = {0};

	(void)state;
	facts_of("4000", PARKED, &facts);
	assert_int_equal(ovsdb_lag_plan(&facts, &lag, &plan, &problem), 0);
	assert_int_equal(count_of(plan.params, "wait"), 1);
	assert_int_equal(count_of(plan.params, "insert"), 2);
	check_parts(
		plan.params,
		(const char *const[]){
			"\"interfaces\":[\"set\",[[\"uuid\",\"i1\"]]],\"name\":\"p1\",\"tag\":4000",
			"\"interfaces\":[\"set\",[[\"uuid\",\"i2\"]]],\"name\":\"p2\",\"tag\":4000",
			"[\"ports\",\"delete\",[\"set\",[[\"uuid\",\"u10\"]]]]", NULL});
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
}

static void as_many_as_there_may_be(void **state)
{
	static const char *const eight[] = {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", NULL};
	const struct switch_lag lag = lag_of(true, "haas-2", eight);
	struct ovsdb_facts facts;
	struct ovsdb_plan plan = {0};
	struct problem problem = {0};

	(void)state;
	assert_int_equal(lag.member_count, SWITCH_LAG_MEMBERS);
	facts_of("4000", NULL, &facts);
	assert_int_equal(ovsdb_lag_plan(&facts, &lag, &plan, &problem), 0);
	assert_int_equal(count_of(plan.params, "wait"), SWITCH_LAG_MEMBERS);
	ovsdb_plan_done(&plan);
	ovsdb_facts_done(&facts);
}

static void nothing_is_sent_otherwise(void **state)
{
	static const char *const with_p3[] = {"p2", "p3", NULL};
	static const char *const strange[] = {"p2", "p77", NULL};
	static const char *const others[] = {"p1", "p4", NULL};
	static const struct {
		const char *what, *p3_tag, *lag, *name;
		const char *const *members;
		bool make;
		int rc;
		const char *message;
	} rows[] = {
		{"it is there", "4000", PARKED, "haas-1", two, true, 0, ""},
		{"it is not", "4000", NULL, "haas-1", two, false, 0, ""},
		{"of other members", "4000", PARKED, "haas-1", with_p3, true, E_CONFLICT,
		 "another port of that name"},
		{"a port's name", "4000", NULL, "p9", two, true, E_CONFLICT,
		 "another port of that name"},
		{"in a network", "200", NULL, "haas-1", with_p3, true, E_CONFLICT,
		 "not off every network"},
		{"no such port", "4000", NULL, "haas-1", strange, true, E_CONFLICT, "no such port"},
		{"in an aggregate", "4000", PARKED, "haas-2", two, true, E_CONFLICT,
		 "no such port"},
		{"unmade with other members", "4000", PARKED, "haas-1", others, false, E_CONFLICT,
		 "other members"},
		{"unmade in use", "4000", OPERATED, "haas-1", two, false, E_CONFLICT,
		 "not off every network"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct switch_lag lag = lag_of(rows[i].make, rows[i].name, rows[i].members);
		struct ovsdb_facts facts;
		struct ovsdb_plan plan = {0};
		struct problem problem = {0};
		int rc;

		facts_of(rows[i].p3_tag, rows[i].lag, &facts);
		rc = ovsdb_lag_plan(&facts, &lag, &plan, &problem);
		if (rc != rows[i].rc || plan.params || !strstr(problem.message, rows[i].message))
			fail_msg("%s: %d, %s", rows[i].what, rc, problem.message);
		ovsdb_facts_done(&facts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_made_of_free_ports),
		cmocka_unit_test(it_is_unmade_into_free_ports),
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test(nothing_is_sent_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
