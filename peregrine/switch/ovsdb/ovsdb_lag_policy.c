#include "peregrine/switch/ovsdb/ovsdb_lag_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

/* A "wait" and an "insert" each, what is before and behind them. */
enum { ROOM = 2 * SWITCH_LAG_MEMBERS + 2 };

struct ovsdb_lag_policy_maker {
	const struct ovsdb_facts *facts;
	const struct switch_lag *lag;
	struct ovsdb_plan plan;
	json_t *gone, *come; /* members of Bridge.ports */
};

static int ovsdb_lag_policy_refuse(struct problem *problem, const char *message, const char *port)
{
	(void)problem_set(problem, E_CONFLICT, "%s", message);
	problem_detail(problem, "%s", port);
	return E_CONFLICT;
}

static bool ovsdb_lag_policy_is_access(const struct ovsdb_port *port, uint16_t vlan)
{
	return !port->local && !port->tunnel && port->exact && !port->vlans.trunk &&
	       port->vlans.native == vlan;
}

/* The interface of that name; NULL: it is not the port's. */
static const json_t *ovsdb_lag_policy_interface_of(const struct ovsdb_port *port, const char *name)
{
	for (size_t i = 0; i < port->interface_count; i++) {
		if (strcmp(ovsdb_string(port->interfaces[i], "name"), name) == 0)
			return port->interfaces[i];
	}
	return NULL;
}

static bool ovsdb_lag_policy_has_members(const struct ovsdb_port *port,
					 const struct switch_lag *lag)
{
	for (size_t i = 0; i < lag->member_count; i++) {
		if (!ovsdb_lag_policy_interface_of(port, lag->members[i]))
			return false;
	}
	return port->interface_count == lag->member_count;
}

/* The row is as it was read, or nothing happens; the port leaves the bridge. */
static int ovsdb_lag_policy_take_out(struct ovsdb_lag_policy_maker *maker,
				     const struct ovsdb_port *port)
{
	static const char *const columns[] = {"name", "tag", "trunks", "vlan_mode", "interfaces"};
	json_t *row = json_object();
	json_t *names = json_array();
	int rc = row && names ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(columns); i++) {
		json_t *value = json_object_get(port->row, columns[i]);

		if (value && (json_object_set(row, columns[i], value) != 0 ||
			      json_array_append_new(names, json_pack("s", columns[i])) != 0))
			rc = -ENOMEM;
	}
	if (rc == 0)
		rc = json_array_append_new(maker->gone, json_pack("[s,s]", "uuid", port->uuid));
	if (rc) {
		json_decref(row);
		json_decref(names);
		return -ENOMEM;
	}
	return ovsdb_plan_add(&maker->plan, SIZE_MAX,
			      json_pack("{s:s,s:i,s:s,s:[[s,s,[s,s]]],s:o,s:s,s:[o]}", "op", "wait",
					"timeout", 0, "table", "Port", "where", "_uuid",
					"==", "uuid", port->uuid, "columns", names, "until",
					"==", "rows", row));
}

/* `interfaces` is taken. */
static int put_in(struct ovsdb_lag_policy_maker *maker, const char *name, json_t *interfaces,
		  bool lacp)
{
	json_t *row = json_pack("{s:s,s:[s,o],s:s,s:i}", "name", name, "interfaces", "set",
				interfaces, "vlan_mode", "access", "tag", maker->lag->vlan);
	char handle[24];

	(void)text_format(handle, sizeof(handle), "port%zu", json_array_size(maker->come));
	if (!row || json_array_append_new(maker->come, json_pack("[s,s]", "named-uuid", handle))) {
		json_decref(row);
		return -ENOMEM;
	}
	/* One that does not speak LACP yet, as when it boots, has one of the links. */
	if (lacp && (json_object_set_new(row, "lacp", json_pack("s", "active")) ||
		     json_object_set_new(row, "bond_mode", json_pack("s", "balance-tcp")) ||
		     json_object_set_new(row, "other_config",
					 json_pack("[s,[[s,s],[s,s]]]", "map", "lacp-time", "fast",
						   "lacp-fallback-ab", "true")))) {
		json_decref(row);
		return -ENOMEM;
	}
	return ovsdb_plan_add(&maker->plan, SIZE_MAX,
			      json_pack("{s:s,s:s,s:s,s:o}", "op", "insert", "table", "Port",
					"uuid-name", handle, "row", row));
}

static json_t *ovsdb_lag_policy_uuid_of(const json_t *interface)
{
	return json_incref(json_object_get(interface, "_uuid"));
}

static int ovsdb_lag_policy_make_it(struct ovsdb_lag_policy_maker *maker,
				    const struct ovsdb_port *there, struct problem *problem)
{
	const struct switch_lag *lag = maker->lag;
	json_t *interfaces;
	int rc = 0;

	if (there)
		return ovsdb_lag_policy_has_members(there, lag)
			       ? 0
			       : ovsdb_lag_policy_refuse(
					 problem, "there is another port of that name", lag->name);
	if (!vlan_set_has(&maker->facts->table, lag->vlan) &&
	    !vlan_set_has(&maker->facts->used, lag->vlan))
		return ovsdb_lag_policy_refuse(
			problem, "the VLAN of the aggregate is not on the switch", lag->name);
	interfaces = json_array();
	for (size_t i = 0; rc == 0 && i < lag->member_count; i++) {
		const struct ovsdb_port *port = ovsdb_facts_port(maker->facts, lag->members[i]);

		if (!port || port->interface_count != 1 ||
		    !ovsdb_lag_policy_interface_of(port, lag->members[i]))
			rc = ovsdb_lag_policy_refuse(
				problem, "the switch has no such port of its own", lag->members[i]);
		else if (!ovsdb_lag_policy_is_access(port, lag->member_vlans[i]))
			rc = ovsdb_lag_policy_refuse(
				problem, "a port of the aggregate is not off every network",
				lag->members[i]);
		else
			rc = ovsdb_lag_policy_take_out(maker, port);
		if (rc == 0 && json_array_append_new(interfaces,
						     ovsdb_lag_policy_uuid_of(port->interfaces[0])))
			rc = -ENOMEM;
	}
	if (rc) {
		json_decref(interfaces);
		return rc;
	}
	return put_in(maker, lag->name, interfaces, true);
}

static int ovsdb_lag_policy_unmake(struct ovsdb_lag_policy_maker *maker,
				   const struct ovsdb_port *there, struct problem *problem)
{
	int rc;

	if (!there)
		return 0;
	if (!ovsdb_lag_policy_has_members(there, maker->lag))
		return ovsdb_lag_policy_refuse(problem, "the aggregate has other members",
					       there->name);
	if (!ovsdb_lag_policy_is_access(there, maker->lag->vlan))
		return ovsdb_lag_policy_refuse(problem, "the aggregate is not off every network",
					       there->name);
	rc = ovsdb_lag_policy_take_out(maker, there);
	for (size_t i = 0; rc == 0 && i < there->interface_count; i++) {
		const json_t *interface = there->interfaces[i];

		rc = put_in(maker, ovsdb_string(interface, "name"),
			    json_pack("[o]", ovsdb_lag_policy_uuid_of(interface)), false);
	}
	return rc;
}

static int ovsdb_lag_policy_refer(struct ovsdb_lag_policy_maker *maker)
{
	int rc = ovsdb_plan_add(&maker->plan, SIZE_MAX,
				json_pack("{s:s,s:s,s:[[s,s,[s,s]]],s:[[s,s,[s,O]],[s,s,[s,O]]]}",
					  "op", "mutate", "table", "Bridge", "where", "_uuid",
					  "==", "uuid", maker->facts->bridge_uuid, "mutations",
					  "ports", "delete", "set", maker->gone, "ports", "insert",
					  "set", maker->come));

	return rc ? rc : ovsdb_plan_close(&maker->plan, "peregrined: an aggregate");
}

int ovsdb_lag_plan(const struct ovsdb_facts *facts, const struct switch_lag *lag,
		   struct ovsdb_plan *ret, struct problem *problem)
{
	const struct ovsdb_port *there = ovsdb_facts_port(facts, lag->name);
	struct ovsdb_lag_policy_maker maker = {.facts = facts, .lag = lag};
	int rc = -ENOMEM;

	maker.gone = json_array();
	maker.come = json_array();
	if (maker.gone && maker.come)
		rc = ovsdb_plan_open(&maker.plan, ROOM);
	if (rc == 0)
		rc = lag->make ? ovsdb_lag_policy_make_it(&maker, there, problem)
			       : ovsdb_lag_policy_unmake(&maker, there, problem);
	if (rc == 0 && maker.plan.operation_count > 0)
		rc = ovsdb_lag_policy_refer(&maker);
	if (rc == -ENOMEM)
		(void)problem_set(problem, rc, "no memory for an aggregate");
	json_decref(maker.gone);
	json_decref(maker.come);
	return ovsdb_plan_give(&maker.plan, rc, ret);
}
