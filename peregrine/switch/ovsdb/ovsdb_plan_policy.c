#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

/* On no wire: an empty list would be every VLAN. */
enum { DEAD_VLAN = 4095 };
enum { OVSDB_PLAN_ENDING = 4 };

typedef const struct port_vlans *port_shape;

struct ovsdb_plan_policy_planner {
	const struct ovsdb_facts *facts;
	struct ovsdb_plan plan;
	struct vlan_set table; /* as the edits so far leave it */
	port_shape *now;       /* of each port, as the edits so far leave it */
	bool *waited;          /* the row of this port is held */
};

/* --- operations --- */

int ovsdb_plan_open(struct ovsdb_plan *plan, size_t room)
{
	plan->room = room + OVSDB_PLAN_ENDING;
	plan->params = json_pack("[s]", "Open_vSwitch");
	plan->edits = calloc(plan->room, sizeof(*plan->edits));
	return plan->params && plan->edits ? 0 : -ENOMEM;
}

int ovsdb_plan_add(struct ovsdb_plan *plan, size_t edit, json_t *operation)
{
	if (!operation || plan->operation_count == plan->room ||
	    json_array_append_new(plan->params, operation) != 0)
		return -ENOMEM;
	plan->edits[plan->operation_count++] = edit;
	return 0;
}

/* ovs-vswitchd follows changes anyway; next_cfg is how it says that it has (cur_cfg). */
static json_t *ovsdb_plan_policy_ending(unsigned number, const char *comment)
{
	switch (number) {
	case 0:
		return json_pack("{s:s,s:s,s:[],s:[[s,s,i]]}", "op", "mutate", "table",
				 "Open_vSwitch", "where", "mutations", "next_cfg", "+=", 1);
	case 1:
		return json_pack("{s:s,s:s,s:[],s:[s]}", "op", "select", "table", "Open_vSwitch",
				 "where", "columns", "next_cfg");
	case 2: return json_pack("{s:s,s:s}", "op", "comment", "comment", comment);
	default: return json_pack("{s:s,s:b}", "op", "commit", "durable", true);
	}
}

int ovsdb_plan_close(struct ovsdb_plan *plan, const char *comment)
{
	int rc = 0;

	plan->select = plan->operation_count + 1;
	for (unsigned i = 0; rc == 0 && i < OVSDB_PLAN_ENDING; i++)
		rc = ovsdb_plan_add(plan, SIZE_MAX, ovsdb_plan_policy_ending(i, comment));
	return rc;
}

void ovsdb_plan_done(struct ovsdb_plan *plan)
{
	json_decref(plan->params);
	free(plan->edits);
	*plan = (struct ovsdb_plan){0};
}

int ovsdb_plan_give(struct ovsdb_plan *plan, int rc, struct ovsdb_plan *ret)
{
	if (rc || plan->operation_count == 0)
		ovsdb_plan_done(plan);
	if (rc == 0)
		*ret = *plan;
	return rc;
}

static json_t *where_uuid(const char *uuid)
{
	return json_pack("[[s,s,[s,s]]]", "_uuid", "==", "uuid", uuid);
}

static json_t *same_value(const json_t *row, const char *column)
{
	json_t *value = json_object_get(row, column);

	return value ? json_incref(value) : json_pack("[s,[]]", "set");
}

/* The row is as it was read, or nothing happens: time 0 is "now or never". */
static json_t *hold_row(const struct ovsdb_port *port)
{
	return json_pack("{s:s,s:i,s:s,s:o,s:[s,s,s,s],s:s,s:[{s:o,s:o,s:o,s:o}]}", "op", "wait",
			 "timeout", 0, "table", "Port", "where", where_uuid(port->uuid), "columns",
			 "name", "tag", "trunks", "vlan_mode", "until", "==", "rows", "name",
			 same_value(port->row, "name"), "tag", same_value(port->row, "tag"),
			 "trunks", same_value(port->row, "trunks"), "vlan_mode",
			 same_value(port->row, "vlan_mode"));
}

static json_t *trunk_list(const struct port_vlans *vlans)
{
	json_t *list = json_array();

	for (unsigned v = vlan_set_next(&vlans->tagged, VLAN_FIRST); v;
	     v = vlan_set_next(&vlans->tagged, v + 1))
		(void)json_array_append_new(list, json_integer(v));
	if (vlans->trunk && vlan_set_is_empty(&vlans->tagged))
		(void)json_array_append_new(
			list, json_integer(vlans->native ? vlans->native : DEAD_VLAN));
	return json_pack("[s,o]", "set", list);
}

static json_t *ovsdb_plan_policy_set_row(const struct ovsdb_port *port,
					 const struct port_vlans *vlans)
{
	const char *mode = !vlans->trunk ? "access" : vlans->native ? "native-untagged" : "trunk";
	json_t *tag = vlans->native ? json_integer(vlans->native) : json_pack("[s,[]]", "set");

	return json_pack("{s:s,s:s,s:o,s:{s:s,s:o,s:o,s:b}}", "op", "update", "table", "Port",
			 "where", where_uuid(port->uuid), "row", "vlan_mode", mode, "tag", tag,
			 "trunks", trunk_list(vlans), "protected", vlans->apart && !vlans->trunk);
}

static json_t *change_table(const struct ovsdb_plan_policy_planner *planner,
			    const struct switch_edit *edit)
{
	char key[16];
	json_t *remove;
	json_t *insert;

	text_format(key, sizeof(key), "vlan-%u", edit->vlan);
	/* Inserting alone leaves an old name. */
	remove = json_pack("[s,s,[s,[s]]]", "external_ids", "delete", "set", key);
	insert = edit->kind == EDIT_VLAN_DELETE ? NULL
						: json_pack("[s,s,[s,[[s,s]]]]", "external_ids",
							    "insert", "map", key, edit->vlan_name);
	return json_pack("{s:s,s:s,s:o,s:[o,o*]}", "op", "mutate", "table", "Bridge", "where",
			 where_uuid(planner->facts->bridge_uuid), "mutations", remove, insert);
}

/* --- what cannot be --- */

static int ovsdb_plan_policy_refuse(struct problem *problem, int rc, const char *message,
				    const char *detail)
{
	problem_set(problem, rc, "%s", message);
	problem_detail(problem, "%s", detail);
	return rc;
}

/* A port that stays in the VLAN; NULL: none. */
static const char *ovsdb_plan_policy_user_of(const struct ovsdb_plan_policy_planner *planner,
					     uint16_t vlan)
{
	for (size_t i = 0; i < planner->facts->port_count; i++) {
		const struct ovsdb_port *port = &planner->facts->ports[i];
		const struct port_vlans *vlans = planner->now[i];
		bool all = vlans == &port->vlans &&
			   !ovsdb_element(json_object_get(port->row, "trunks"), 0);

		if (!port->local &&
		    (vlans->native == vlan || (!all && vlan_set_has(&vlans->tagged, vlan))))
			return port->name;
	}
	return NULL;
}

static int check_vlans(const struct ovsdb_plan_policy_planner *planner,
		       const struct switch_edit *edit, struct problem *problem)
{
	struct vlan_set wanted = edit->after.tagged;
	struct vlan_set missing;
	char detail[96];

	if (!edit->after.trunk && (!edit->after.native || !vlan_set_is_empty(&wanted)))
		return ovsdb_plan_policy_refuse(problem, E_INVALID,
						"an access port cannot have this membership",
						edit->port);
	if (edit->after.native && vlan_set_has(&wanted, edit->after.native))
		return ovsdb_plan_policy_refuse(problem, E_INVALID,
						"a native VLAN that is tagged as well", edit->port);
	if (edit->after.native)
		vlan_set_add(&wanted, edit->after.native);
	missing = vlan_set_minus(&wanted, &planner->table);
	if (vlan_set_is_empty(&missing))
		return 0;
	text_format(detail, sizeof(detail), "port %s, VLAN %u", edit->port,
		    vlan_set_next(&missing, VLAN_FIRST));
	return ovsdb_plan_policy_refuse(problem, E_CONFLICT, "that VLAN is not on the switch",
					detail);
}

/* --- edits --- */

static int ovsdb_plan_policy_plan_port(struct ovsdb_plan_policy_planner *planner,
				       const struct switch_edit *edit, size_t number,
				       struct problem *problem)
{
	const struct ovsdb_port *port = ovsdb_facts_port(planner->facts, edit->port);
	size_t at = port ? (size_t)(port - planner->facts->ports) : 0;
	int rc;

	if (!port || port->local)
		return ovsdb_plan_policy_refuse(problem, E_CONFLICT, "the switch has no such port",
						edit->port);
	if (port->tunnel)
		return ovsdb_plan_policy_refuse(problem, E_UNSUPPORTED,
						"a dot1q-tunnel port is changed by hand only",
						edit->port);
	rc = check_vlans(planner, edit, problem);
	if (rc)
		return rc;
	if (port_vlans_equal(planner->now[at], &edit->after) &&
	    (port->exact || planner->now[at] != &port->vlans))
		return 0;
	planner->now[at] = &edit->after;
	if (!planner->waited[at])
		rc = ovsdb_plan_add(&planner->plan, number, hold_row(port));
	planner->waited[at] = true;
	return rc ? rc
		  : ovsdb_plan_add(&planner->plan, number,
				   ovsdb_plan_policy_set_row(port, &edit->after));
}

static bool ovsdb_plan_policy_has_name(const struct ovsdb_plan_policy_planner *planner,
				       const struct switch_edit *edit)
{
	char key[16];

	text_format(key, sizeof(key), "vlan-%u", edit->vlan);
	return strcmp(ovsdb_map_value(planner->facts->bridge, "external_ids", key),
		      edit->vlan_name) == 0 &&
	       vlan_set_has(&planner->facts->table, edit->vlan);
}

static int ovsdb_plan_policy_plan_vlan(struct ovsdb_plan_policy_planner *planner,
				       const struct switch_edit *edit, size_t number,
				       struct problem *problem)
{
	bool create = edit->kind == EDIT_VLAN_CREATE;
	bool there = vlan_set_has(&planner->table, edit->vlan);
	const char *user;

	if (edit->vlan <= VLAN_FIRST || edit->vlan > VLAN_LAST)
		return ovsdb_plan_policy_refuse(problem, E_INVALID,
						"that VLAN comes and goes with the switch", "");
	user = create ? NULL : ovsdb_plan_policy_user_of(planner, edit->vlan);
	if (user)
		return ovsdb_plan_policy_refuse(problem, E_CONFLICT, "a port is in that VLAN",
						user);
	if (create ? there && ovsdb_plan_policy_has_name(planner, edit) : !there)
		return 0;
	if (create)
		vlan_set_add(&planner->table, edit->vlan);
	else
		vlan_set_remove(&planner->table, edit->vlan);
	return ovsdb_plan_add(&planner->plan, number, change_table(planner, edit));
}

/* --- all --- */

static int ovsdb_plan_policy_begin(struct ovsdb_plan_policy_planner *planner,
				   const struct ovsdb_facts *facts, size_t count)
{
	planner->facts = facts;
	planner->table = vlan_set_union(&facts->table, &facts->used);
	planner->now = calloc(facts->port_count + 1, sizeof(port_shape));
	planner->waited = calloc(facts->port_count + 1, sizeof(*planner->waited));
	if (!planner->now || !planner->waited || ovsdb_plan_open(&planner->plan, 2 * count))
		return -ENOMEM;
	for (size_t i = 0; i < facts->port_count; i++)
		planner->now[i] = &facts->ports[i].vlans;
	return 0;
}

int ovsdb_plan_make(const struct ovsdb_facts *facts, const struct switch_edit *edits, size_t count,
		    struct ovsdb_plan *ret, size_t *ret_bad, struct problem *problem)
{
	struct ovsdb_plan_policy_planner planner = {0};
	int rc;

	*ret_bad = 0;
	/* What a controller's flows do with a frame does not depend on its port's VLANs. */
	if (ovsdb_element(json_object_get(facts->bridge, "controller"), 0))
		return ovsdb_plan_policy_refuse(problem, E_UNSUPPORTED,
						"an OpenFlow controller controls its bridge",
						"VLANs of ports would not separate tenants");
	rc = ovsdb_plan_policy_begin(&planner, facts, count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		*ret_bad = i;
		rc = edits[i].kind == EDIT_PORT
			     ? ovsdb_plan_policy_plan_port(&planner, &edits[i], i, problem)
			     : ovsdb_plan_policy_plan_vlan(&planner, &edits[i], i, problem);
	}
	if (rc == 0 && planner.plan.operation_count > 0)
		rc = ovsdb_plan_close(&planner.plan, "peregrined: a change of ports");
	if (rc == -ENOMEM)
		problem_set(problem, rc, "no memory for a change");
	free(planner.now);
	free(planner.waited);
	return ovsdb_plan_give(&planner.plan, rc, ret);
}

/* --- the answer --- */

/* RFC 7047, 4.1.3 and 5.2, and what Open vSwitch's server says beside. */
static const struct {
	const char *word;
	int rc;
	const char *message, *hint;
} ovsdb_plan_policy_errors[] = {
	{"timed out", E_CONFLICT, "the port was changed by another program meanwhile",
	 "peregrined reads the port again and makes a new plan"},
	{"constraint violation", E_CONFLICT, "the database refuses the value", ""},
	{"referential integrity violation", E_CONFLICT, "the database refuses the value", ""},
	{"aborted", E_CONFLICT, "the database aborted the change", ""},
	{"permission error", E_DENIED, "we have no right to write to the database",
	 "the role of its ovsdb-server (RBAC) must let us change Port and Bridge"},
	{"not allowed", E_DENIED, "we have no right to write to the database",
	 "is the server read-only?"},
	{"resources exhausted", E_UNAVAILABLE, "its database has no room", ""},
	{"I/O error", E_UNAVAILABLE, "its database cannot be written", "is its disk full?"},
	{"not leader", E_UNAVAILABLE, "that server is not the leader of its cluster", ""},
	{"cluster error", E_UNAVAILABLE, "its cluster has no majority", ""},
};

static int judge_error(const json_t *result, struct problem *problem)
{
	const char *word = json_string_value(json_object_get(result, "error"));
	const char *details = json_string_value(json_object_get(result, "details"));

	for (size_t i = 0; word && i < COUNT_OF(ovsdb_plan_policy_errors); i++) {
		if (strcmp(ovsdb_plan_policy_errors[i].word, word) != 0)
			continue;
		problem_set(problem, ovsdb_plan_policy_errors[i].rc, "%s",
			    ovsdb_plan_policy_errors[i].message);
		problem_detail(problem, "%s: %s", word, details ? details : "");
		problem_hint(problem, "%s", ovsdb_plan_policy_errors[i].hint);
		return ovsdb_plan_policy_errors[i].rc;
	}
	/* Still an error, and so nothing was done (RFC 7047, 4.1.3). */
	return ovsdb_plan_policy_refuse(problem, E_CONFLICT, "its database refuses the change",
					word ? word : "?");
}

int ovsdb_plan_judge(const struct ovsdb_plan *plan, const json_t *result, json_int_t *ret_config,
		     size_t *ret_edit, struct problem *problem)
{
	size_t count = json_array_size(result);
	const json_t *rows;

	*ret_edit = SIZE_MAX;
	/* One after the last is about the commit. */
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(result, i);

		if (!json_object_get(one, "error"))
			continue;
		if (i < plan->operation_count)
			*ret_edit = plan->edits[i];
		return judge_error(one, problem);
	}
	rows = json_object_get(json_array_get(result, plan->select), "rows");
	*ret_config = ovsdb_integer(json_array_get(rows, 0), "next_cfg", -1);
	if (count < plan->operation_count || *ret_config < 0)
		return ovsdb_plan_policy_refuse(problem, E_PROTOCOL,
						"its answer to a change cannot be parsed",
						"operations without a result");
	return 0;
}

bool ovsdb_plan_holds(const struct ovsdb_facts *facts, const struct switch_edit *edit)
{
	const struct ovsdb_port *port;

	if (edit->kind == EDIT_PORT) {
		port = ovsdb_facts_port(facts, edit->port);
		return port && port_vlans_equal(&port->vlans, &edit->after);
	}
	return (vlan_set_has(&facts->table, edit->vlan) ||
		vlan_set_has(&facts->used, edit->vlan)) == (edit->kind == EDIT_VLAN_CREATE);
}

json_t *ovsdb_plan_anew(const struct ovsdb_facts *facts)
{
	const json_t *flooded = json_object_get(facts->bridge, "flood_vlans");
	const json_t *vlan;
	bool there = false;

	for (size_t i = 0; i < VLAN_LIMIT && (vlan = ovsdb_element(flooded, i)); i++)
		there |= json_integer_value(vlan) == DEAD_VLAN;
	return json_pack("[s,s,i]", "flood_vlans", there ? "delete" : "insert", DEAD_VLAN);
}

json_t *ovsdb_plan_await(json_int_t config, int64_t most_ms)
{
	return json_pack("[s,{s:s,s:I,s:s,s:[[s,s,I]],s:[s],s:s,s:[]}]", "Open_vSwitch", "op",
			 "wait", "timeout", (json_int_t)most_ms, "table", "Open_vSwitch", "where",
			 "cur_cfg", "<", config, "columns", "cur_cfg", "until", "==", "rows");
}

json_t *ovsdb_plan_await_and_forget(const struct ovsdb_facts *facts, json_int_t config,
				    int64_t most_ms)
{
	json_t *params = ovsdb_plan_await(config, most_ms);

	if (params && json_array_append_new(
			      params, json_pack("{s:s,s:s,s:o,s:[o]}", "op", "mutate", "table",
						"Bridge", "where", where_uuid(facts->bridge_uuid),
						"mutations", ovsdb_plan_anew(facts))) != 0) {
		json_decref(params);
		return NULL;
	}
	return params;
}
