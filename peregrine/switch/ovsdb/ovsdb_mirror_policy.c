#include "peregrine/switch/ovsdb/ovsdb_mirror_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

enum { ASK_MIRRORS = 3, OVSDB_MIRROR_POLICY_ROWS_MAX = 1024 };

json_t *ovsdb_mirror_ask(void)
{
	json_t *params = ovsdb_facts_ask(FACTS_VLANS);

	if (params &&
	    json_array_append_new(params,
				  json_pack("{s:s,s:s,s:[],s:[s,s,s,s,s,s,s,s]}", "op", "select",
					    "table", "Mirror", "where", "columns", "_uuid", "name",
					    "select_all", "select_src_port", "select_dst_port",
					    "select_vlan", "output_port", "output_vlan")) != 0) {
		json_decref(params);
		return NULL;
	}
	return params;
}

static bool ovsdb_mirror_policy_is_ours(const json_t *row)
{
	return strncmp(ovsdb_string(row, "name"), SWITCH_MIRROR_PREFIX,
		       sizeof(SWITCH_MIRROR_PREFIX) - 1) == 0;
}

/* Is the set of one this UUID, alone? */
static bool is_only(const json_t *row, const char *column, const char *uuid)
{
	const json_t *value = json_object_get(row, column);
	const json_t *first = ovsdb_element(value, 0);

	return first && !ovsdb_element(value, 1) && strcmp(ovsdb_uuid(first), uuid) == 0;
}

static bool is_on_bridge(const struct ovsdb_facts *facts, const char *uuid)
{
	const json_t *members = json_object_get(facts->bridge, "mirrors");
	const json_t *member;

	for (size_t i = 0; i < OVSDB_MIRROR_POLICY_ROWS_MAX && (member = ovsdb_element(members, i));
	     i++) {
		if (strcmp(ovsdb_uuid(member), uuid) == 0)
			return true;
	}
	return false;
}

static bool ovsdb_mirror_policy_is_as_wanted(const json_t *row, const struct switch_mirror *mirror,
					     const struct ovsdb_port *port,
					     const struct ovsdb_port *target)
{
	return strcmp(ovsdb_string(row, "name"), mirror->name) == 0 &&
	       is_only(row, "select_src_port", port->uuid) &&
	       is_only(row, "select_dst_port", port->uuid) &&
	       is_only(row, "output_port", target->uuid) && !ovsdb_boolean(row, "select_all") &&
	       !ovsdb_element(json_object_get(row, "select_vlan"), 0) &&
	       !ovsdb_element(json_object_get(row, "output_vlan"), 0);
}

struct ovsdb_mirror_policy_maker {
	const struct ovsdb_facts *facts;
	const json_t *rows;
	struct ovsdb_plan plan;
	json_t *gone, *come; /* members of Bridge.mirrors */
};

static int ovsdb_mirror_policy_insert(struct ovsdb_mirror_policy_maker *maker, size_t number,
				      const struct switch_mirror *mirror,
				      const struct ovsdb_port *port,
				      const struct ovsdb_port *target)
{
	char name[24];

	(void)text_format(name, sizeof(name), "mirror%zu", number);
	if (json_array_append_new(maker->come, json_pack("[s,s]", "named-uuid", name)) != 0)
		return -ENOMEM;
	return ovsdb_plan_add(&maker->plan, number,
			      json_pack("{s:s,s:s,s:s,s:{s:s,s:[s,s],s:[s,s],s:[s,s]}}", "op",
					"insert", "table", "Mirror", "uuid-name", name, "row",
					"name", mirror->name, "select_src_port", "uuid", port->uuid,
					"select_dst_port", "uuid", port->uuid, "output_port",
					"uuid", target->uuid));
}

/* One that is there as wanted is taken out of `leave`: what stays in it goes. */
static int ovsdb_mirror_policy_want(struct ovsdb_mirror_policy_maker *maker,
				    const struct switch_mirror *mirror, size_t number, bool *leave,
				    enum edit_result *ret_result)
{
	const struct ovsdb_port *port = ovsdb_facts_port(maker->facts, mirror->port);
	const struct ovsdb_port *target = ovsdb_facts_port(maker->facts, mirror->target);
	size_t count = json_array_size(maker->rows);

	if (!port || !target || port == target || target->local) {
		*ret_result = EDIT_REFUSED;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (leave[i] && ovsdb_mirror_policy_is_as_wanted(json_array_get(maker->rows, i),
								 mirror, port, target)) {
			leave[i] = false;
			*ret_result = EDIT_TAKEN;
			return 0;
		}
	}
	*ret_result = EDIT_NOT_TRIED;
	return ovsdb_mirror_policy_insert(maker, number, mirror, port, target);
}

/* A row that no bridge refers to is collected by the database. */
static int ovsdb_mirror_policy_refer(struct ovsdb_mirror_policy_maker *maker)
{
	json_t *mutations = json_array();
	int rc;

	if (json_array_size(maker->gone) > 0)
		(void)json_array_append_new(mutations, json_pack("[s,s,[s,O]]", "mirrors", "delete",
								 "set", maker->gone));
	if (json_array_size(maker->come) > 0)
		(void)json_array_append_new(mutations, json_pack("[s,s,[s,O]]", "mirrors", "insert",
								 "set", maker->come));
	/* Open vSwitch (3.1, until its "Always revalidate on mirror update") goes on with the flows
	 * that it has: what flows already would not be copied, and of a session that is gone still
	 * would. */
	if (json_array_append_new(mutations, ovsdb_plan_anew(maker->facts)) != 0) {
		json_decref(mutations);
		return -ENOMEM;
	}
	rc = ovsdb_plan_add(&maker->plan, SIZE_MAX,
			    json_pack("{s:s,s:s,s:[[s,s,[s,s]]],s:o}", "op", "mutate", "table",
				      "Bridge", "where", "_uuid", "==", "uuid",
				      maker->facts->bridge_uuid, "mutations", mutations));
	return rc ? rc : ovsdb_plan_close(&maker->plan, "peregrined: mirror sessions");
}

static int ovsdb_mirror_policy_make(struct ovsdb_mirror_policy_maker *maker,
				    const struct switch_mirror *mirrors, size_t count,
				    enum edit_result *results)
{
	size_t rows = json_array_size(maker->rows);
	CLEANUP(freep) bool *leave = calloc(rows + 1, sizeof(*leave));
	int rc = leave ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < rows; i++) {
		const json_t *row = json_array_get(maker->rows, i);

		leave[i] = ovsdb_mirror_policy_is_ours(row) &&
			   is_on_bridge(maker->facts, ovsdb_uuid(json_object_get(row, "_uuid")));
	}
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = ovsdb_mirror_policy_want(maker, &mirrors[i], i, leave, &results[i]);
	for (size_t i = 0; rc == 0 && i < rows; i++) {
		const json_t *row = json_array_get(maker->rows, i);

		if (leave[i] && json_array_append(maker->gone, json_object_get(row, "_uuid")) != 0)
			rc = -ENOMEM;
	}
	if (rc == 0 && json_array_size(maker->gone) + json_array_size(maker->come) > 0)
		rc = ovsdb_mirror_policy_refer(maker);
	return rc;
}

int ovsdb_mirror_plan(const struct ovsdb_facts *facts, const struct switch_mirror *mirrors,
		      size_t count, struct ovsdb_plan *ret, enum edit_result *results,
		      struct problem *problem)
{
	struct ovsdb_mirror_policy_maker maker = {.facts = facts};
	int rc = -ENOMEM;

	maker.rows = json_object_get(json_array_get(facts->answer, ASK_MIRRORS), "rows");
	if (!json_is_array(maker.rows) ||
	    json_array_size(maker.rows) > OVSDB_MIRROR_POLICY_ROWS_MAX)
		return problem_set(problem, E_UNSUPPORTED,
				   "the mirrors in its OVSDB cannot be parsed");
	maker.gone = json_array();
	maker.come = json_array();
	if (maker.gone && maker.come)
		rc = ovsdb_plan_open(&maker.plan, count + 1);
	if (rc == 0)
		rc = ovsdb_mirror_policy_make(&maker, mirrors, count, results);
	if (rc)
		(void)problem_set(problem, rc, "no memory for mirror sessions");
	json_decref(maker.gone);
	json_decref(maker.come);
	return ovsdb_plan_give(&maker.plan, rc, ret);
}
