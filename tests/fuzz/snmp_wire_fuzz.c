// links: peregrine_switch
/* Facts of any columns, indexes and values give a reading whose texts are terminated and printable,
 * whose ports are sorted, whose FDB and VLANs are in range; a plan for a port of it is SETs within
 * bounds, after which the port is as it was wanted. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#include "peregrine/switch/snmp/snmp_plan.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct snmp_dialect *const dialects[] = {
	&snmp_dialect_qbridge, &snmp_dialect_procurve, &snmp_dialect_dnos,
	&snmp_dialect_os9,     &snmp_dialect_ecs,      &snmp_dialect_ios,
};

static void check_text(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	assert(length < room);
	for (size_t i = 0; i < length; i++)
		assert(text[i] >= ' ' && text[i] <= '~');
}

/* column, arcs, arcs as octets (255: two more octets), type, size, bytes */
static void take_row(struct wire_reader *in, struct snmp_facts *facts)
{
	const struct fact_column *columns[SNMP_WALK_COLUMNS];
	struct snmp_oid roots[SNMP_WALK_COLUMNS];
	enum fact_group group = (enum fact_group)(wire_u8(in) % GROUP_COUNT);
	size_t count = fact_group_columns(facts, group, columns, roots);
	uint8_t choice = wire_u8(in);
	uint32_t index[8];
	size_t arcs = wire_u8(in) % COUNT_OF(index);
	struct snmp_value value = {0};

	for (size_t i = 0; i < arcs; i++) {
		index[i] = wire_u8(in);
		if (index[i] == 255)
			index[i] = wire_u16(in);
	}
	value.type = (enum snmp_type)(wire_u8(in) % (SNMP_OTHER + 1));
	value.size = wire_u8(in);
	if (value.size > wire_left(in))
		value.size = wire_left(in);
	value.bytes = wire_bytes(in, value.size);
	for (size_t i = 0; i < value.size && i < 3; i++)
		value.number = value.number << 8 | value.bytes[i];
	if (count)
		(void)snmp_facts_take(facts, columns[choice % count], index, arcs, &value,
				      choice > 200 ? choice : 0);
}

static void check_reading(const struct switch_reading *reading)
{
	for (size_t i = 0; i < reading->port_count; i++) {
		const struct switch_port *port = &reading->ports[i];

		check_text(port->name, sizeof(port->name));
		check_text(port->alias, sizeof(port->alias));
		assert(port->name[0]);
		assert(i == 0 || reading->ports[i - 1].if_index < port->if_index);
		assert(!port->has_vlans || port->vlans.native == 0 ||
		       !vlan_set_has(&port->vlans.tagged, port->vlans.native));
		assert(port->vlans.trunk || vlan_set_is_empty(&port->vlans.tagged));
	}
	for (size_t i = 0; i < reading->vlan_count; i++) {
		assert(reading->vlans[i].id >= VLAN_FIRST && reading->vlans[i].id <= VLAN_LAST);
		check_text(reading->vlans[i].name, sizeof(reading->vlans[i].name));
	}
	for (size_t i = 0; i < reading->neighbor_count; i++) {
		check_text(reading->neighbors[i].chassis, sizeof(reading->neighbors[i].chassis));
		check_text(reading->neighbors[i].port, sizeof(reading->neighbors[i].port));
	}
	for (size_t i = 0; i < reading->fdb_count; i++) {
		assert(!snmp_mac_is_odd(reading->fdb[i].mac));
		assert(reading->fdb[i].vlan <= VLAN_LAST && reading->fdb[i].if_index);
	}
	check_text(reading->odd_text, sizeof(reading->odd_text));
}

static void check_pieces(const struct snmp_plan *plan)
{
	enum snmp_act act;

	for (size_t from = 0, piece; from < plan->count; from += piece) {
		piece = snmp_plan_chunk(plan, from, &act);
		assert(piece > 0 && piece <= PLAN_BINDINGS && from + piece <= plan->count);
	}
}

static void check_vlan_plan(struct snmp_facts *facts, enum switch_edit_kind kind, uint16_t vlan)
{
	struct switch_edit edits[PLAN_EDITS];
	struct snmp_plan plan = {0};
	struct problem problem = {0};

	for (size_t i = 0; i < COUNT_OF(edits); i++)
		edits[i] = (struct switch_edit){.kind = kind,
						.vlan = (uint16_t)(vlan + i),
						.vlan_name = "a name of thirty-two characters."};
	if (snmp_plan_edits(facts, edits, COUNT_OF(edits), PLAN_EDITS, &plan, &problem) == 0) {
		assert(plan.edits > 0);
		check_pieces(&plan);
	} else {
		assert(problem_is_set(&problem));
	}
	snmp_plan_done(&plan);
}

static void check_plan(struct snmp_facts *facts, const struct switch_port *port,
		       const struct switch_reading *reading)
{
	struct switch_edit edit = {.kind = EDIT_PORT};
	struct snmp_plan plan = {0};
	struct problem problem = {0};

	text_copy(edit.port, sizeof(edit.port), port->name);
	edit.after.native = reading->vlan_count ? reading->vlans[0].id : 0;
	edit.after.trunk = reading->vlan_count > 1;
	for (size_t i = 1; i < reading->vlan_count; i++)
		vlan_set_add(&edit.after.tagged, reading->vlans[i].id);
	if (snmp_plan_edits(facts, &edit, 1, 1, &plan, &problem) == 0) {
		assert(plan.edits == 1);
		check_pieces(&plan);
		if (facts->dialect->writer == SNMP_WRITER_VTP)
			assert(snmp_plan_is_done(facts, &edit));
	} else {
		assert(problem_is_set(&problem));
	}
	snmp_plan_done(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader in = wire_reader(data, size);
	uint8_t choice = wire_u8(&in);
	struct snmp_facts facts = {.dialect = dialects[choice % COUNT_OF(dialects)],
				   .by_steps = choice >= 0x80};
	struct switch_reading reading = {0};
	char text[40];

	while (wire_left(&in))
		take_row(&in, &facts);
	if (snmp_reading_make(&facts, PART_ALL, NULL, &reading) == 0) {
		check_reading(&reading);
		for (size_t i = 0; i < reading.port_count && i < 4; i++)
			check_plan(&facts, &reading.ports[i], &reading);
		check_vlan_plan(&facts, EDIT_VLAN_CREATE, choice);
		check_vlan_plan(&facts, EDIT_VLAN_DELETE, choice);
	}
	for (unsigned subtype = 0; subtype < 9; subtype++) {
		lldp_id_text((enum lldp_id_kind)(subtype % 2), subtype, data, size, text,
			     sizeof(text));
		check_text(text, sizeof(text));
	}
	switch_reading_done(&reading);
	snmp_facts_done(&facts);
	return 0;
}
