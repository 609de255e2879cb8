#include "peregrine/control/driver/snmp/snmp_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/control/driver/snmp/qbridge_wire.h"
#include "peregrine/control/driver/snmp/snmp_reading.h"

#define DOT1Q 1, 3, 6, 1, 2, 1, 17, 7, 1

/* RowStatus (RFC 2579), frame types and filter (RFC 4363). */
enum { ROW_ACTIVE = 1, ROW_CREATE_AND_GO = 4, ROW_CREATE_AND_WAIT = 5, ROW_DESTROY = 6 };
enum { FRAMES_ALL = 1, FRAMES_TAGGED = 2, FILTER_ON = 1 };

enum column {
	COLUMN_NAME,
	COLUMN_EGRESS,
	COLUMN_UNTAGGED,
	COLUMN_STATUS,
	COLUMN_PVID,
	COLUMN_FRAMES,
	COLUMN_FILTER
};

static const struct snmp_oid columns[] = {
	[COLUMN_NAME] = OID(DOT1Q, 4, 3, 1, 1),     [COLUMN_EGRESS] = OID(DOT1Q, 4, 3, 1, 2),
	[COLUMN_UNTAGGED] = OID(DOT1Q, 4, 3, 1, 4), [COLUMN_STATUS] = OID(DOT1Q, 4, 3, 1, 5),
	[COLUMN_PVID] = OID(DOT1Q, 4, 5, 1, 1),     [COLUMN_FRAMES] = OID(DOT1Q, 4, 5, 1, 2),
	[COLUMN_FILTER] = OID(DOT1Q, 4, 5, 1, 3),
};

/* --- looking up ------------------------------------------------------------- */

static struct fact_vlan *vlan_row(const struct snmp_facts *facts, unsigned id)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);

		if (fact_vlan_id(facts->dialect, row) == id && row->status <= ROW_ACTIVE)
			return row;
	}
	return NULL;
}

static const struct fact_interface *interface_named(const struct snmp_facts *facts,
						    const char *name)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_INTERFACES); i++) {
		const struct fact_interface *row = fact_at(facts, FACT_INTERFACES, i);

		if (strcmp(fact_port_name(row), name) == 0)
			return row;
	}
	return NULL;
}

/* --- a plan under construction ------------------------------------------------ */

static size_t size_of(const struct snmp_binding *binding)
{
	return 8U + 2U * (size_t)binding->name.count +
	       (binding->value.type == SNMP_OCTETS ? binding->value.size : 6U);
}

static size_t bytes_of(const struct snmp_plan *plan)
{
	size_t bytes = 120; /* head, security parameters */

	for (size_t i = 0; i < plan->count; i++)
		bytes += size_of(&plan->bindings[i]);
	return bytes;
}

size_t snmp_plan_chunk(const struct snmp_plan *plan, size_t from)
{
	size_t bytes = 120;
	size_t at = from;

	while (at < plan->count && at - from < PLAN_BINDINGS) {
		bytes += size_of(&plan->bindings[at]);
		if (at > from && (bytes > PLAN_BYTES || at == plan->barrier))
			break;
		at++;
	}
	return at - from;
}

void snmp_plan_done(struct snmp_plan *plan)
{
	free(plan->bindings);
	*plan = (struct snmp_plan){0};
}

static void put(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		const struct snmp_value *value)
{
	if (plan->count == plan->room) {
		size_t room = plan->room ? plan->room * 2 : 32;
		struct snmp_binding *more = realloc(plan->bindings, room * sizeof(*more));

		if (!more) {
			plan->failed = true;
			return;
		}
		plan->bindings = more;
		plan->room = room;
	}
	plan->bindings[plan->count++] = (struct snmp_binding){snmp_oid_with(root, index), *value};
}

static void put_number(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		       enum snmp_type type, uint32_t number)
{
	put(plan, root, index, &(struct snmp_value){.type = type, .number = number});
}

static void put_octets(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		       const struct fact_octets *octets)
{
	put(plan, root, index,
	    &(struct snmp_value){SNMP_OCTETS, 0, octets->bytes, octets->size, NULL});
}

/* --- ports ---------------------------------------------------------------------- */

/* What a run of port edits does to the lists; the bits of VLAN rows, by number. */
struct touched {
	bool gains, loses;     /* some port of its egress */
	bool egress, untagged; /* the list differs from what was read */
	bool trunk;
};

struct port_run {
	struct touched rows[VLAN_LIMIT];
	const struct fact_bridge_port *ports[PLAN_EDITS];
	const struct switch_edit *edits[PLAN_EDITS];
	size_t count;
};

/* Some agents leave out zeros at the end; a list that has no room for a port of the bridge grows to
 * the length that it needs. */
static bool grow_list(struct fact_octets *list, size_t bit)
{
	uint32_t size = (uint32_t)(bit / 8 + 1);
	uint8_t *more;

	if (size <= list->size)
		return true;
	more = realloc(list->bytes, size);
	if (!more)
		return false;
	memset(more + list->size, 0, size - list->size);
	list->bytes = more;
	list->size = size;
	return true;
}

/* True when the bit was another. */
static bool set_bit(struct snmp_facts *facts, struct fact_octets *list, uint32_t base_port,
		    bool member)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);
	size_t bit;

	if (port_list_has(list->bytes, list->size, shape, base_port) == member ||
	    !port_list_bit(shape, base_port, &bit))
		return false;
	if (member && !grow_list(list, bit)) {
		facts->failed = true;
		return false;
	}
	return port_list_put(list->bytes, list->size, shape, base_port, member) == 0;
}

static bool is_trunk_mode(const struct snmp_facts *facts)
{
	return facts->dialect->mode.trunk_egress.count != 0;
}

static int check_port(const struct snmp_facts *facts, const struct switch_edit *edit,
		      const struct fact_bridge_port **ret, struct problem *problem)
{
	const struct fact_interface *interface = interface_named(facts, edit->port);
	uint32_t base_port = interface ? fact_base_port(facts, interface->key[0]) : 0;
	struct vlan_set all = edit->after.tagged;

	if (!interface)
		return problem_set(problem, E_CONFLICT, "there is no port %s", edit->port);
	if (!base_port || base_port > PORT_LIST_LIMIT * 8)
		return problem_set(problem, E_CONFLICT, "port %s is not one of the bridge's",
				   edit->port);
	vlan_set_add(&all, edit->after.native);
	for (unsigned v = vlan_set_next(&all, 1); v; v = vlan_set_next(&all, v + 1)) {
		if (!vlan_row(facts, v))
			return problem_set(problem, E_CONFLICT,
					   "VLAN %u for port %s does not exist", v, edit->port);
	}
	*ret = fact_find(facts, FACT_BRIDGE_PORTS, base_port, 0, 0);
	return 0;
}

/* Would it make one list both lose and gain a port? Agents that work through a SET object by
 * object would then have a port in two tenants' VLANs for a moment. */
static bool clashes(const struct snmp_facts *facts, const struct port_run *run,
		    const struct switch_edit *edit, uint32_t base_port)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);

	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		bool has = port_list_has(row->egress.bytes, row->egress.size, shape, base_port);
		bool wants = id == edit->after.native || vlan_set_has(&edit->after.tagged, id);

		if (id && has != wants && (wants ? run->rows[id].loses : run->rows[id].gains))
			return true;
	}
	return false;
}

static void apply_lists(struct snmp_facts *facts, struct port_run *run,
			const struct switch_edit *edit, uint32_t base_port)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		struct touched *touched = &run->rows[id];
		bool native = id && id == edit->after.native;
		bool member = native || vlan_set_has(&edit->after.tagged, id);

		if (!id)
			continue;
		if (is_trunk_mode(facts)) {
			touched->trunk |= set_bit(facts, &row->trunk_egress, base_port,
						  member && edit->after.trunk);
			continue;
		}
		if (set_bit(facts, &row->egress, base_port, member)) {
			touched->egress = true;
			touched->gains |= member;
			touched->loses |= !member;
		}
		touched->untagged |= set_bit(facts, &row->untagged, base_port, native);
	}
}

static void put_lists(const struct snmp_facts *facts, const struct port_run *run, bool losing,
		      struct snmp_plan *plan)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		const struct touched *touched = &run->rows[fact_vlan_id(facts->dialect, row)];

		/* A list of which only the untagged bits change goes with those that lose. */
		if (touched->gains == losing)
			continue;
		/* Untagged is a part of egress at every moment. */
		if (losing && touched->untagged)
			put_octets(plan, &columns[COLUMN_UNTAGGED], row->key[0], &row->untagged);
		if (touched->egress)
			put_octets(plan, &columns[COLUMN_EGRESS], row->key[0], &row->egress);
		if (!losing && touched->untagged)
			put_octets(plan, &columns[COLUMN_UNTAGGED], row->key[0], &row->untagged);
	}
}

static void put_mode(const struct snmp_facts *facts, const struct fact_bridge_port *port,
		     const struct switch_edit *edit, struct snmp_plan *plan)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;
	struct snmp_oid root = mode->mode;

	if (!root.count)
		return;
	if (mode->model_at)
		root.ids[mode->model_at - 1] = facts->model;
	/* The native VLAN before the mode: a trunk never carries another one untagged. */
	if (edit->after.trunk && mode->native_vlan.count)
		put_number(plan, &mode->native_vlan, port->key[0], SNMP_INTEGER,
			   edit->after.native ? edit->after.native : 1);
	if (!edit->after.trunk && mode->access_vlan.count)
		put_number(plan, &mode->access_vlan, port->key[0], SNMP_INTEGER,
			   edit->after.native);
	put_number(plan, &root, port->key[0], SNMP_INTEGER,
		   (uint32_t)(edit->after.trunk ? mode->trunk : mode->access));
}

static void put_trunk_lists(const struct snmp_facts *facts, const struct port_run *run,
			    struct snmp_plan *plan)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);

		if (run->rows[fact_vlan_id(facts->dialect, row)].trunk)
			put_octets(plan, &facts->dialect->mode.trunk_egress, row->key[0],
				   &row->trunk_egress);
	}
}

static void put_port(const struct snmp_facts *facts, const struct fact_bridge_port *port,
		     const struct switch_edit *edit, struct snmp_plan *plan)
{
	if (is_trunk_mode(facts))
		return;
	if (edit->after.native && port->pvid != edit->after.native)
		put_number(plan, &columns[COLUMN_PVID], port->key[0], SNMP_GAUGE32,
			   edit->after.native);
}

static void put_frames(const struct snmp_facts *facts, const struct fact_bridge_port *port,
		       const struct switch_edit *edit, struct snmp_plan *plan)
{
	uint32_t frames = edit->after.native ? FRAMES_ALL : FRAMES_TAGGED;

	if (is_trunk_mode(facts) || facts->fixed_frame_types)
		return;
	if (port->frame_types && port->frame_types != frames)
		put_number(plan, &columns[COLUMN_FRAMES], port->key[0], SNMP_INTEGER, frames);
	if (port->ingress && port->ingress != FILTER_ON)
		put_number(plan, &columns[COLUMN_FILTER], port->key[0], SNMP_INTEGER, FILTER_ON);
}

/* The bindings of the run as it is. */
static void put_run(const struct snmp_facts *facts, const struct port_run *run,
		    struct snmp_plan *plan)
{
	bool add_first = facts->dialect->add_first;

	plan->count = 0;
	put_trunk_lists(facts, run, plan);
	for (size_t i = 0; i < run->count; i++)
		put_mode(facts, run->ports[i], run->edits[i], plan);
	put_lists(facts, run, !add_first, plan);
	put_lists(facts, run, add_first, plan);
	for (size_t i = 0; i < run->count; i++)
		put_port(facts, run->ports[i], run->edits[i], plan);
	plan->frames = plan->count;
	for (size_t i = 0; i < run->count; i++)
		put_frames(facts, run->ports[i], run->edits[i], plan);
}

/* The port's own columns as they will be. */
static void apply_port(const struct snmp_facts *facts, const struct port_run *run)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;

	for (size_t i = 0; i < run->count; i++) {
		const struct port_vlans *after = &run->edits[i]->after;
		struct fact_bridge_port *port =
			fact_find(facts, FACT_BRIDGE_PORTS, run->ports[i]->key[0], 0, 0);

		if (!port)
			continue;
		port->mode = (uint32_t)(after->trunk ? mode->trunk : mode->access);
		if (after->trunk)
			port->mode_native = after->native ? after->native : 1;
		else
			port->mode_access = after->native;
		if (after->native)
			port->pvid = after->native;
		if (port->frame_types)
			port->frame_types = after->native ? FRAMES_ALL : FRAMES_TAGGED;
		if (port->ingress)
			port->ingress = FILTER_ON;
	}
}

/* An edit that must wait for the next SET is not applied: how it would be is tried on a count of
 * its bindings first. */
static size_t most_bindings(const struct snmp_facts *facts, const struct switch_edit *edit,
			    uint32_t base_port, size_t *ret_bytes)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);
	size_t count = 5;

	*ret_bytes = 200;
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		bool wants = id == edit->after.native || vlan_set_has(&edit->after.tagged, id);

		if (!id || (!wants &&
			    !port_list_has(row->egress.bytes, row->egress.size, shape, base_port)))
			continue;
		count += 2;
		*ret_bytes += 2 * (size_t)(40 + row->egress.size);
	}
	return count;
}

static int plan_ports(struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		      struct snmp_plan *ret, struct problem *problem)
{
	struct port_run run = {0};

	for (size_t i = 0; i < count && edits[i].kind == EDIT_PORT; i++) {
		const struct fact_bridge_port *port = NULL;
		size_t bytes;
		size_t more;
		int rc = check_port(facts, &edits[i], &port, problem);

		if (rc && i == 0)
			return rc;
		if (rc || !port)
			break; /* it is told when its turn comes */
		more = most_bindings(facts, &edits[i], port->key[0], &bytes);
		if (i > 0 &&
		    (clashes(facts, &run, &edits[i], port->key[0]) ||
		     ret->count + more > PLAN_BINDINGS || bytes_of(ret) + bytes > PLAN_BYTES))
			break;
		apply_lists(facts, &run, &edits[i], port->key[0]);
		run.ports[run.count] = port;
		run.edits[run.count++] = &edits[i];
		put_run(facts, &run, ret);
		ret->edits = run.count;
	}
	apply_port(facts, &run);
	return 0;
}

/* --- VLANs ------------------------------------------------------------------------ */

static void put_create(const struct snmp_facts *facts, struct snmp_plan *plan,
		       const struct switch_edit *edit)
{
	struct snmp_value name = {.type = SNMP_OCTETS,
				  .bytes = (const uint8_t *)edit->vlan_name,
				  .size = strlen(edit->vlan_name)};

	put_number(plan, &columns[COLUMN_STATUS], edit->vlan, SNMP_INTEGER,
		   facts->create_and_wait ? ROW_CREATE_AND_WAIT : ROW_CREATE_AND_GO);
	if (name.size)
		put(plan, &columns[COLUMN_NAME], edit->vlan, &name);
}

static int plan_vlans(const struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		      struct snmp_plan *ret, struct problem *problem)
{
	if (facts->dialect->vlan_by_if_index)
		return problem_set(problem, E_UNSUPPORTED,
				   "VLANs are not made or deleted by SNMP here");
	for (size_t i = 0; i < count && edits[i].kind == edits[0].kind; i++) {
		const struct fact_vlan *row = vlan_row(facts, edits[i].vlan);

		if (ret->count + 2 > PLAN_BINDINGS || bytes_of(ret) + 120 > PLAN_BYTES)
			break;
		if (edits[i].kind == EDIT_VLAN_CREATE && !row)
			put_create(facts, ret, &edits[i]);
		if (edits[i].kind == EDIT_VLAN_DELETE && row)
			put_number(ret, &columns[COLUMN_STATUS], row->key[0], SNMP_INTEGER,
				   ROW_DESTROY);
		ret->edits++;
	}
	/* Rows that wait are made active by a SET of its own. */
	ret->barrier = ret->count;
	for (size_t i = 0; facts->create_and_wait && i < ret->edits; i++) {
		if (edits[i].kind == EDIT_VLAN_CREATE && !vlan_row(facts, edits[i].vlan))
			put_number(ret, &columns[COLUMN_STATUS], edits[i].vlan, SNMP_INTEGER,
				   ROW_ACTIVE);
	}
	ret->frames = ret->count;
	return 0;
}

/* --- both -------------------------------------------------------------------------- */

int snmp_plan_edits(struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		    size_t limit, struct snmp_plan *ret, struct problem *problem)
{
	int rc = E_INVALID;

	if (count > limit)
		count = limit;
	if (count > PLAN_EDITS)
		count = PLAN_EDITS;
	ret->count = ret->edits = ret->frames = ret->barrier = 0;
	switch (edits[0].kind) {
	case EDIT_PORT: rc = plan_ports(facts, edits, count, ret, problem); break;
	case EDIT_VLAN_CREATE:
	case EDIT_VLAN_DELETE: rc = plan_vlans(facts, edits, count, ret, problem); break;
	}
	if (ret->failed || facts->failed)
		return problem_set(problem, -ENOMEM, "no memory for a plan");
	return rc;
}

bool snmp_plan_is_done(struct snmp_facts *facts, const struct switch_edit *edit)
{
	const struct fact_interface *interface;
	struct port_vlans now;
	struct port_vlans want = edit->after;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE: return vlan_row(facts, edit->vlan) != NULL;
	case EDIT_VLAN_DELETE: return vlan_row(facts, edit->vlan) == NULL;
	case EDIT_PORT: break;
	}
	interface = interface_named(facts, edit->port);
	if (!interface || !fact_port_vlans(facts, interface, &now))
		return false;
	/* A trunk of its native VLAN alone is an access port on the wire. */
	if (want.native && vlan_set_is_empty(&want.tagged))
		want.trunk = now.trunk = false;
	return port_vlans_equal(&now, &want);
}
