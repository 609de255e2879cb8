/* SETs of Q-BRIDGE-MIB (RFC 4363), with FASTPATH's and SMI's modes beside it: PortLists that are
 * read, changed and written back. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/snmp/qbridge_wire.h"
#include "peregrine/switch/snmp/snmp_plan_private.h"
#include "peregrine/switch/snmp/snmp_reading.h"

LEAKS_LEFT_TO_SANITIZER

#define SNMP_PLAN_QBRIDGE_DOT1Q 1, 3, 6, 1, 2, 1, 17, 7, 1

/* RowStatus (RFC 2579), frame types and filter (RFC 4363). */
enum {
	SNMP_PLAN_QBRIDGE_ROW_ACTIVE = 1,
	SNMP_PLAN_QBRIDGE_ROW_CREATE_AND_GO = 4,
	ROW_CREATE_AND_WAIT = 5,
	SNMP_PLAN_QBRIDGE_ROW_DESTROY = 6
};
enum { FRAMES_ALL = 1, SNMP_PLAN_QBRIDGE_FRAMES_TAGGED = 2, SNMP_PLAN_QBRIDGE_FILTER_ON = 1 };

enum snmp_plan_qbridge_column {
	COLUMN_NAME,
	COLUMN_EGRESS,
	COLUMN_UNTAGGED,
	COLUMN_STATUS,
	COLUMN_PVID,
	COLUMN_FRAMES,
	COLUMN_FILTER
};

static const struct snmp_oid snmp_plan_qbridge_columns[] = {
	[COLUMN_NAME] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 3, 1, 1),
	[COLUMN_EGRESS] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 3, 1, 2),
	[COLUMN_UNTAGGED] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 3, 1, 4),
	[COLUMN_STATUS] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 3, 1, 5),
	[COLUMN_PVID] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 5, 1, 1),
	[COLUMN_FRAMES] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 5, 1, 2),
	[COLUMN_FILTER] = OID(SNMP_PLAN_QBRIDGE_DOT1Q, 4, 5, 1, 3),
};

static struct fact_vlan *snmp_plan_qbridge_vlan_row(const struct snmp_facts *facts, unsigned id)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);

		if (fact_vlan_id(facts->dialect, row) == id &&
		    row->status <= SNMP_PLAN_QBRIDGE_ROW_ACTIVE)
			return row;
	}
	return NULL;
}

static bool snmp_plan_qbridge_has_vlan(const struct snmp_facts *facts, unsigned id)
{
	return snmp_plan_qbridge_vlan_row(facts, id) != NULL;
}

/* --- ports --- */

/* What a run of port edits does to the lists; the bits of VLAN rows, by number. */
struct touched {
	bool gains, loses;     /* some port of its egress */
	bool egress, untagged; /* the list differs from what was read */
	bool joins;            /* some port becomes untagged in it */
	bool trunk;            /* the list of ports in trunk mode differs */
};

struct snmp_plan_qbridge_port_run {
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

/* SMI's mode says what the lists may hold: of an access port, its PVID's VLAN and nothing else. So
 * lists are changed in the mode that takes any, and an access port is one before and after. */
static bool is_list_mode(const struct snmp_facts *facts)
{
	return facts->dialect->mode.mode.count && !facts->dialect->mode.access_vlan.count;
}

static int snmp_plan_qbridge_check_port(const struct snmp_facts *facts,
					const struct switch_edit *edit,
					const struct fact_bridge_port **ret,
					struct problem *problem)
{
	const struct fact_interface *interface = snmp_plan_interface(facts, edit->port);
	uint32_t base_port = interface ? fact_base_port(facts, interface->key[0]) : 0;
	struct vlan_set all = edit->after.tagged;

	if (!interface)
		return snmp_plan_no_port(facts, edit->port, problem);
	if (!base_port || base_port > PORT_LIST_LIMIT * 8)
		return problem_set(problem, E_CONFLICT, "port %s is not a port of the bridge",
				   edit->port);
	if (is_list_mode(facts) && edit->after.trunk && !edit->after.native) {
		problem_set(problem, E_UNSUPPORTED,
			    "port %s cannot be a trunk without a native VLAN here", edit->port);
		problem_hint(problem, "give it an unused native VLAN, such as a parking VLAN");
		return E_UNSUPPORTED;
	}
	vlan_set_add(&all, edit->after.native);
	for (unsigned v = vlan_set_next(&all, 1); v; v = vlan_set_next(&all, v + 1)) {
		if (!snmp_plan_qbridge_vlan_row(facts, v))
			return problem_set(problem, E_CONFLICT,
					   "VLAN %u for port %s does not exist", v, edit->port);
	}
	*ret = fact_find(facts, FACT_BRIDGE_PORTS, base_port, 0, 0);
	return 0;
}

/* The list that counts for members, and whether a port is to be in it. */
static struct fact_octets *member_list(const struct snmp_facts *facts, struct fact_vlan *row)
{
	return is_trunk_mode(facts) ? &row->trunk_egress : &row->egress;
}

static bool snmp_plan_qbridge_is_wanted(const struct snmp_facts *facts,
					const struct switch_edit *edit, uint16_t id)
{
	return (edit->after.trunk || !is_trunk_mode(facts)) &&
	       (id == edit->after.native || vlan_set_has(&edit->after.tagged, id));
}

/* Would it make one list both lose and gain a port? Agents that work through a SET object by
 * object would then have a port in two tenants' VLANs for a moment. */
static bool snmp_plan_qbridge_clashes(const struct snmp_facts *facts,
				      const struct snmp_plan_qbridge_port_run *run,
				      const struct switch_edit *edit, uint32_t base_port)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);

	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		const struct fact_octets *list = member_list(facts, row);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		bool has = port_list_has(list->bytes, list->size, shape, base_port);
		bool wants = snmp_plan_qbridge_is_wanted(facts, edit, id);

		if (id && has != wants && (wants ? run->rows[id].loses : run->rows[id].gains))
			return true;
	}
	return false;
}

static void apply_lists(struct snmp_facts *facts, struct snmp_plan_qbridge_port_run *run,
			const struct switch_edit *edit, uint32_t base_port)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		struct touched *touched = &run->rows[id];
		bool native = id && id == edit->after.native;
		bool member = snmp_plan_qbridge_is_wanted(facts, edit, id);

		if (!id)
			continue;
		if (set_bit(facts, member_list(facts, row), base_port, member)) {
			touched->trunk |= is_trunk_mode(facts);
			touched->egress |= !is_trunk_mode(facts);
			touched->gains |= member;
			touched->loses |= !member;
		}
		if (is_trunk_mode(facts))
			continue;
		if (set_bit(facts, &row->untagged, base_port, native)) {
			touched->untagged = true;
			touched->joins |= native;
		}
	}
}

static void put_lists(const struct snmp_facts *facts, const struct snmp_plan_qbridge_port_run *run,
		      bool losing, struct snmp_plan *plan)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		const struct touched *touched = &run->rows[fact_vlan_id(facts->dialect, row)];

		/* A list of which only the untagged bits change goes with those that lose, but for
		 * agents that want it before the PVID. */
		if ((touched->gains || (facts->dialect->add_first && touched->joins)) == losing)
			continue;
		/* Untagged is a part of egress at every moment. */
		if (losing && touched->untagged)
			snmp_plan_octets(plan, &snmp_plan_qbridge_columns[COLUMN_UNTAGGED],
					 row->key[0], &row->untagged);
		if (touched->egress)
			snmp_plan_octets(plan, &snmp_plan_qbridge_columns[COLUMN_EGRESS],
					 row->key[0], &row->egress);
		if (!losing && touched->untagged)
			snmp_plan_octets(plan, &snmp_plan_qbridge_columns[COLUMN_UNTAGGED],
					 row->key[0], &row->untagged);
	}
}

/* The native VLAN before the mode, so that a trunk never carries another one untagged, and between
 * the lists: the port has left what it leaves, and is not yet in what it enters. */
static void put_natives(const struct snmp_facts *facts,
			const struct snmp_plan_qbridge_port_run *run, struct snmp_plan *plan)
{
	const struct snmp_oid *root = &facts->dialect->mode.native_vlan;

	for (size_t i = 0; i < run->count && root->count; i++) {
		const struct port_vlans *after = &run->edits[i]->after;

		if (after->trunk)
			snmp_plan_number(plan, root, run->ports[i]->key[0], SNMP_INTEGER,
					 after->native ? after->native : 1);
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
	if (!edit->after.trunk && mode->access_vlan.count)
		snmp_plan_number(plan, &mode->access_vlan, port->key[0], SNMP_INTEGER,
				 edit->after.native);
	snmp_plan_number(plan, &root, port->key[0], SNMP_INTEGER,
			 (uint32_t)(edit->after.trunk ? mode->trunk : mode->access));
}

static void put_list_mode(const struct snmp_facts *facts,
			  const struct snmp_plan_qbridge_port_run *run, bool before,
			  struct snmp_plan *plan)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;
	struct snmp_oid root = mode->mode;
	size_t count = plan->count;

	if (mode->model_at)
		root.ids[mode->model_at - 1] = facts->model;
	for (size_t i = 0; i < run->count; i++) {
		const struct fact_bridge_port *port = run->ports[i];

		/* What is on its way must be there before the mode forbids it. */
		if (!before && !run->edits[i]->after.trunk && plan->count == count)
			snmp_plan_cut(plan, ACT_SET);
		if (before && port->mode != (uint32_t)mode->trunk)
			snmp_plan_number(plan, &root, port->key[0], SNMP_INTEGER,
					 (uint32_t)mode->trunk);
		if (!before && !run->edits[i]->after.trunk)
			snmp_plan_number(plan, &root, port->key[0], SNMP_INTEGER,
					 (uint32_t)mode->access);
	}
	if (before && plan->count > count)
		snmp_plan_cut(plan, ACT_SET);
}

static void put_trunk_lists(const struct snmp_facts *facts,
			    const struct snmp_plan_qbridge_port_run *run, bool losing,
			    struct snmp_plan *plan)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		const struct touched *touched = &run->rows[fact_vlan_id(facts->dialect, row)];

		if (touched->trunk && touched->loses == losing)
			snmp_plan_octets(plan, &facts->dialect->mode.trunk_egress, row->key[0],
					 &row->trunk_egress);
	}
}

static void snmp_plan_qbridge_put_port(const struct snmp_facts *facts,
				       const struct fact_bridge_port *port,
				       const struct switch_edit *edit, struct snmp_plan *plan)
{
	if (is_trunk_mode(facts))
		return;
	if (edit->after.native && port->pvid != edit->after.native)
		snmp_plan_number(plan, &snmp_plan_qbridge_columns[COLUMN_PVID], port->key[0],
				 SNMP_GAUGE32, edit->after.native);
}

static void put_frames(const struct snmp_facts *facts, const struct fact_bridge_port *port,
		       const struct switch_edit *edit, struct snmp_plan *plan)
{
	uint32_t frames = edit->after.native ? FRAMES_ALL : SNMP_PLAN_QBRIDGE_FRAMES_TAGGED;

	if (is_trunk_mode(facts) || facts->fixed_frame_types)
		return;
	if (port->frame_types && port->frame_types != frames)
		snmp_plan_number(plan, &snmp_plan_qbridge_columns[COLUMN_FRAMES], port->key[0],
				 SNMP_INTEGER, frames);
	if (port->ingress && port->ingress != SNMP_PLAN_QBRIDGE_FILTER_ON)
		snmp_plan_number(plan, &snmp_plan_qbridge_columns[COLUMN_FILTER], port->key[0],
				 SNMP_INTEGER, SNMP_PLAN_QBRIDGE_FILTER_ON);
}

/* The bindings of the run as it is. */
static void snmp_plan_qbridge_put_run(const struct snmp_facts *facts,
				      const struct snmp_plan_qbridge_port_run *run,
				      struct snmp_plan *plan)
{
	bool add_first = facts->dialect->add_first;

	plan->count = 0;
	plan->part_count = 0;
	put_trunk_lists(facts, run, true, plan);
	put_natives(facts, run, plan);
	put_trunk_lists(facts, run, false, plan);
	if (is_list_mode(facts))
		put_list_mode(facts, run, true, plan);
	for (size_t i = 0; i < run->count && !is_list_mode(facts); i++)
		put_mode(facts, run->ports[i], run->edits[i], plan);
	put_lists(facts, run, !add_first, plan);
	if (!add_first)
		put_lists(facts, run, false, plan);
	/* A PVID is of a VLAN that the port is in by then, and the one before is let go of after.
	 */
	for (size_t i = 0; i < run->count; i++)
		snmp_plan_qbridge_put_port(facts, run->ports[i], run->edits[i], plan);
	if (add_first)
		put_lists(facts, run, true, plan);
	if (is_list_mode(facts))
		put_list_mode(facts, run, false, plan);
	plan->frames = plan->count;
	for (size_t i = 0; i < run->count; i++)
		put_frames(facts, run->ports[i], run->edits[i], plan);
}

/* The port's own columns as they will be. */
static void apply_port(const struct snmp_facts *facts, const struct snmp_plan_qbridge_port_run *run)
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
			port->frame_types =
				after->native ? FRAMES_ALL : SNMP_PLAN_QBRIDGE_FRAMES_TAGGED;
		if (port->ingress)
			port->ingress = SNMP_PLAN_QBRIDGE_FILTER_ON;
	}
}

/* An edit that must wait for the next SET is not applied: how it would be is tried on a count of
 * its bindings first. */
static size_t most_bindings(const struct snmp_facts *facts, const struct switch_edit *edit,
			    uint32_t base_port, size_t *ret_bytes)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);
	size_t count = 5;

	*ret_bytes = 100;
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);
		bool wants = id == edit->after.native || vlan_set_has(&edit->after.tagged, id);

		if (!id || (!wants &&
			    !port_list_has(row->egress.bytes, row->egress.size, shape, base_port)))
			continue;
		count += 2;
		*ret_bytes += 2 * (size_t)(30 + row->egress.size);
	}
	return count;
}

static int snmp_plan_qbridge_plan_ports(struct snmp_facts *facts, const struct switch_edit *edits,
					size_t count, struct snmp_plan *ret,
					struct problem *problem)
{
	struct snmp_plan_qbridge_port_run run = {0};

	for (size_t i = 0; i < count; i++) {
		const struct fact_bridge_port *port = NULL;
		size_t bytes;
		size_t more;
		int rc = snmp_plan_qbridge_check_port(facts, &edits[i], &port, problem);

		if (rc && i == 0)
			return rc;
		if (rc || !port)
			break; /* it is told when its turn comes */
		more = most_bindings(facts, &edits[i], port->key[0], &bytes);
		if (i > 0 && (snmp_plan_qbridge_clashes(facts, &run, &edits[i], port->key[0]) ||
			      ret->count + more > PLAN_BINDINGS ||
			      snmp_plan_bytes(ret) + bytes > PLAN_BYTES))
			break;
		apply_lists(facts, &run, &edits[i], port->key[0]);
		run.ports[run.count] = port;
		run.edits[run.count++] = &edits[i];
		snmp_plan_qbridge_put_run(facts, &run, ret);
		ret->edits = run.count;
	}
	apply_port(facts, &run);
	return 0;
}

/* --- VLANs --- */

static void snmp_plan_qbridge_put_create(const struct snmp_facts *facts, struct snmp_plan *plan,
					 const struct switch_edit *edit)
{
	struct snmp_value name = {.type = SNMP_OCTETS,
				  .bytes = (const uint8_t *)edit->vlan_name,
				  .size = strlen(edit->vlan_name)};

	snmp_plan_number(plan, &snmp_plan_qbridge_columns[COLUMN_STATUS], edit->vlan, SNMP_INTEGER,
			 facts->create_and_wait ? ROW_CREATE_AND_WAIT
						: SNMP_PLAN_QBRIDGE_ROW_CREATE_AND_GO);
	if (name.size)
		snmp_plan_put(plan, &snmp_plan_qbridge_columns[COLUMN_NAME], edit->vlan, &name);
}

static int snmp_plan_qbridge_plan_vlans(const struct snmp_facts *facts,
					const struct switch_edit *edits, size_t count,
					struct snmp_plan *ret, struct problem *problem)
{
	if (facts->dialect->vlan_by_if_index)
		return problem_set(problem, E_UNSUPPORTED,
				   "VLANs are not made or deleted by SNMP here");
	for (size_t i = 0; i < count; i++) {
		const struct fact_vlan *row = snmp_plan_qbridge_vlan_row(facts, edits[i].vlan);

		if (ret->count + 2 > PLAN_BINDINGS || snmp_plan_bytes(ret) + 120 > PLAN_BYTES)
			break;
		if (edits[i].kind == EDIT_VLAN_CREATE && !row)
			snmp_plan_qbridge_put_create(facts, ret, &edits[i]);
		if (edits[i].kind == EDIT_VLAN_DELETE && row)
			snmp_plan_number(ret, &snmp_plan_qbridge_columns[COLUMN_STATUS],
					 row->key[0], SNMP_INTEGER, SNMP_PLAN_QBRIDGE_ROW_DESTROY);
		ret->edits++;
	}
	/* Rows that wait are made active by a SET of its own. */
	snmp_plan_cut(ret, ACT_SET);
	for (size_t i = 0; facts->create_and_wait && i < ret->edits; i++) {
		if (edits[i].kind == EDIT_VLAN_CREATE &&
		    !snmp_plan_qbridge_vlan_row(facts, edits[i].vlan))
			snmp_plan_number(ret, &snmp_plan_qbridge_columns[COLUMN_STATUS],
					 edits[i].vlan, SNMP_INTEGER, SNMP_PLAN_QBRIDGE_ROW_ACTIVE);
	}
	ret->frames = ret->count;
	return 0;
}

const struct snmp_plan_writer snmp_plan_qbridge = {
	.ports = snmp_plan_qbridge_plan_ports,
	.vlans = snmp_plan_qbridge_plan_vlans,
	.has_vlan = snmp_plan_qbridge_has_vlan,
};
