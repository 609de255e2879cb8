#include "peregrine/switch/snmp/snmp_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_plan_private.h"
#include "peregrine/switch/snmp/snmp_reading.h"

LEAKS_LEFT_TO_SANITIZER

/* --- a plan under construction --- */

static size_t snmp_plan_size_of(const struct snmp_binding *binding)
{
	/* Heads of the pair and of both of its parts; a number has five octets at most. */
	return 10U + snmp_oid_size(&binding->name) +
	       (binding->value.type == SNMP_OCTETS ? binding->value.size : 5U);
}

size_t snmp_plan_bytes(const struct snmp_plan *plan)
{
	size_t bytes = 120; /* head, security parameters */

	for (size_t i = 0; i < plan->count; i++)
		bytes += snmp_plan_size_of(&plan->bindings[i]);
	return bytes;
}

size_t snmp_plan_chunk(const struct snmp_plan *plan, size_t from, enum snmp_act *ret_act)
{
	size_t bytes = 120;
	size_t at = from;
	size_t end = plan->count;

	*ret_act = ACT_SET;
	for (size_t i = 0; i < plan->part_count; i++) {
		if (plan->parts[i].end <= from)
			continue;
		*ret_act = plan->parts[i].act;
		if (plan->parts[i].end < end)
			end = plan->parts[i].end;
		break;
	}
	while (at < end && at - from < PLAN_BINDINGS) {
		bytes += snmp_plan_size_of(&plan->bindings[at]);
		if (at > from && bytes > PLAN_BYTES)
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

void snmp_plan_put(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
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

void snmp_plan_number(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		      enum snmp_type type, uint32_t number)
{
	snmp_plan_put(plan, root, index, &(struct snmp_value){.type = type, .number = number});
}

void snmp_plan_octets(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		      const struct fact_octets *octets)
{
	snmp_plan_put(plan, root, index,
		      &(struct snmp_value){SNMP_OCTETS, 0, octets->bytes, octets->size, NULL});
}

void snmp_plan_cut(struct snmp_plan *plan, enum snmp_act act)
{
	size_t last = plan->part_count ? plan->parts[plan->part_count - 1].end : 0;

	if (plan->count == last)
		return;
	if (plan->part_count == PLAN_PARTS) {
		plan->failed = true;
		return;
	}
	plan->parts[plan->part_count++] = (struct snmp_plan_part){plan->count, act};
}

const uint8_t *snmp_plan_keep(struct snmp_plan *plan, const void *bytes, size_t size)
{
	uint8_t *at = plan->store + plan->stored;

	if (size > sizeof(plan->store) - plan->stored) {
		plan->failed = true;
		return NULL;
	}
	memcpy(at, bytes, size);
	plan->stored += size;
	return at;
}

/* What is no port may be called as one: the interface of a VLAN, for instance. */
static bool snmp_plan_is_port(const struct snmp_facts *facts, const struct fact_interface *row)
{
	return fact_base_port(facts, row->key[0]) || row->vm_vlan || row->trunk_state;
}

/* How many ports are called so; the first of them. */
static unsigned snmp_plan_called(const struct snmp_facts *facts, const char *name,
				 const struct fact_interface **ret)
{
	const struct fact_interface *other = NULL;
	unsigned count = 0;

	*ret = NULL;
	for (uint32_t i = 0; i < fact_count(facts, FACT_INTERFACES); i++) {
		const struct fact_interface *row = fact_at(facts, FACT_INTERFACES, i);

		if (strcmp(fact_port_name(row), name) != 0)
			continue;
		if (!snmp_plan_is_port(facts, row))
			other = other ? other : row;
		else if (count++ == 0)
			*ret = row;
	}
	if (!*ret)
		*ret = other;
	return count;
}

const struct fact_interface *snmp_plan_interface(const struct snmp_facts *facts, const char *name)
{
	const struct fact_interface *row;

	return snmp_plan_called(facts, name, &row) > 1 ? NULL : row;
}

int snmp_plan_no_port(const struct snmp_facts *facts, const char *name, struct problem *problem)
{
	const struct fact_interface *row;
	const char *tail = strrchr(name, '#');
	char base[64];

	(void)text_copy(base, sizeof(base), name);
	/* As a reading shows it, or as the switch calls it. */
	if (tail && snmp_plan_called(facts, name, &row) == 0)
		base[tail - name < 63 ? tail - name : 63] = '\0';
	if (snmp_plan_called(facts, base, &row) <= 1)
		return problem_set(problem, E_CONFLICT, "there is no port %s", name);
	problem_set(problem, E_CONFLICT, "several ports of the switch are called %s", base);
	problem_hint(problem, "give each a name of its own on the switch: until then none is set");
	return E_CONFLICT;
}

/* --- by the dialect's writer --- */

static const struct snmp_plan_writer *writer_of(const struct snmp_facts *facts)
{
	return facts->dialect->writer == SNMP_WRITER_VTP ? &snmp_plan_vtp : &snmp_plan_qbridge;
}

static void snmp_plan_clear(struct snmp_plan *plan)
{
	plan->count = plan->edits = plan->frames = plan->part_count = 0;
	plan->held = plan->release_count = plan->stored = 0;
	plan->downs = 0;
}

int snmp_plan_edits(struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		    size_t limit, struct snmp_plan *ret, struct problem *problem)
{
	const struct snmp_plan_writer *writer = writer_of(facts);
	size_t same = 0;
	int rc = E_INVALID;

	if (count > limit)
		count = limit;
	if (count > PLAN_EDITS)
		count = PLAN_EDITS;
	while (same < count && edits[same].kind == edits[0].kind)
		same++;
	snmp_plan_clear(ret);
	switch (edits[0].kind) {
	case EDIT_PORT: rc = writer->ports(facts, edits, same, ret, problem); break;
	case EDIT_VLAN_CREATE:
	case EDIT_VLAN_DELETE: rc = writer->vlans(facts, edits, same, ret, problem); break;
	}
	if (ret->failed || facts->failed)
		return problem_set(problem, -ENOMEM, "no memory for a plan");
	return rc;
}

bool snmp_plan_is_done(struct snmp_facts *facts, const struct switch_edit *edit)
{
	const struct snmp_plan_writer *writer = writer_of(facts);
	const struct fact_interface *interface;
	struct port_vlans now;
	struct port_vlans want = edit->after;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE: return writer->has_vlan(facts, edit->vlan);
	case EDIT_VLAN_DELETE: return !writer->has_vlan(facts, edit->vlan);
	case EDIT_PORT: break;
	}
	interface = snmp_plan_interface(facts, edit->port);
	if (!interface || !fact_port_vlans(facts, interface, &now))
		return false;
	/* One that was taken down for it comes up again as a part of it. */
	if (fact_is_downed(facts, interface))
		return false;
	/* A trunk of its native VLAN alone is an access port on the wire. */
	if (want.native && vlan_set_is_empty(&want.tagged))
		want.trunk = now.trunk = false;
	return port_vlans_equal(&now, &want);
}
