/* What of a reading by SNMP did not come, by the agent's own answers. */
#include "peregrine/switch/snmp/snmp_told.h"

#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_walk.h"

/* Which part a group that broke off belongs to. */
static const struct {
	enum fact_group group;
	enum told_part part;
	enum fact_table table; /* empty: nothing of it came */
	const char *title;
} told_groups[] = {
	{GROUP_INTERFACES, TOLD_PORTS, FACT_INTERFACES, "interfaces"},
	{GROUP_NAMES, TOLD_PORTS, FACT_INTERFACES, "names of interfaces"},
	{GROUP_BRIDGE, TOLD_PORTS, FACT_BRIDGE_PORTS, "bridge ports"},
	{GROUP_BRIDGE, TOLD_ADDRESSES, FACT_BRIDGE_PORTS, "bridge ports"},
	{GROUP_STACK, TOLD_AGGREGATES, FACT_STACK, "ifStackTable"},
	{GROUP_LAGS, TOLD_AGGREGATES, FACT_INTERFACES, "groups of ports"},
	{GROUP_VLANS, TOLD_VLANS, FACT_VLANS, "VLANs"},
	{GROUP_CURRENT, TOLD_VLANS, FACT_CURRENT, "current VLANs"},
	{GROUP_MODE, TOLD_VLANS, FACT_BRIDGE_PORTS, "modes of ports"},
	{GROUP_MODE_EGRESS, TOLD_VLANS, FACT_VLANS, "VLANs of trunks"},
	{GROUP_VTP_VLANS, TOLD_VLANS, FACT_VTP_VLANS, "VTP's VLANs"},
	{GROUP_VTP_PORTS, TOLD_VLANS, FACT_INTERFACES, "VLANs of ports"},
	{GROUP_LLDP_LOCAL, TOLD_NEIGHBORS, FACT_LLDP_LOCAL, "own LLDP ports"},
	{GROUP_LLDP_REMOTE, TOLD_NEIGHBORS, FACT_LLDP_REMOTE, "LLDP neighbours"},
	{GROUP_FDB, TOLD_ADDRESSES, FACT_FDB, "addresses"},
	{GROUP_BRIDGE_FDB, TOLD_ADDRESSES, FACT_BRIDGE_FDB, "addresses"},
};

static void told_broken(const struct snmp_facts *facts, const struct snmp_missing *missing,
			struct switch_told told[TOLD_COUNT])
{
	for (size_t i = 0; i < COUNT_OF(told_groups); i++) {
		const char *why = missing->why[told_groups[i].group];
		uint32_t rows = fact_count(facts, told_groups[i].table);
		uint32_t left_out = facts->left_out[told_groups[i].group];
		enum told_state state = rows ? TOLD_PARTIAL : TOLD_MISSING;

		/* BRIDGE-MIB stands in for a Q-BRIDGE-MIB that is refused. */
		if (told_groups[i].group == GROUP_FDB && !rows &&
		    fact_count(facts, FACT_BRIDGE_FDB) > 0)
			continue;
		if (why)
			switch_told_add(&told[told_groups[i].part], state, true,
					"%s: %s after %u rows", told_groups[i].title, why, rows);
		if (left_out)
			switch_told_add(&told[told_groups[i].part], state, true,
					"%s: %u values without a proper index or length",
					told_groups[i].title, left_out);
	}
}

static void told_contexts(const struct snmp_missing *missing, const struct switch_reading *reading,
			  struct switch_told *told)
{
	CLEANUP(text_done) struct text list = {0};
	size_t count = vlan_set_count(&missing->vlans);
	char some[48];

	if (!count)
		return;
	vlan_set_text(&missing->vlans, &list);
	(void)text_copy(some, sizeof(some), text_get(&list));
	switch_told_add(
		told,
		count >= missing->vlans_asked && !reading->fdb_count ? TOLD_MISSING : TOLD_PARTIAL,
		true, "%zu of %u VLANs have no context of their own that answers (%s): %s", count,
		missing->vlans_asked, missing->vlans_why ? missing->vlans_why : "not asked", some);
}

static void told_addresses(const struct snmp_facts *facts, const struct switch_reading *reading,
			   struct switch_told *told)
{
	if (facts->lost_addresses)
		switch_told_add(told, reading->fdb_count ? TOLD_PARTIAL : TOLD_MISSING, true,
				"%u addresses are at base ports that no port has, the first at %u",
				facts->lost_addresses, facts->lost_port);
	if (!reading->fdb_count && told->state == TOLD_WHOLE)
		switch_told_add(told, TOLD_MISSING, false,
				"the agent shows none: it has learnt none, or has no such table");
}

static void told_aggregates(const struct snmp_facts *facts, const struct switch_reading *reading,
			    struct switch_told *told)
{
	size_t count = 0;

	for (size_t i = 0; i < reading->port_count; i++)
		count += reading->ports[i].is_lag;
	if (facts->shows_members || told->state != TOLD_WHOLE)
		return;
	if (count)
		switch_told_add(told, TOLD_PARTIAL, true,
				"the agent shows %zu aggregates, and not who is in them: "
				"neither IEEE8023-LAG-MIB nor ifStackTable",
				count);
	else
		switch_told_add(told, TOLD_MISSING, false,
				"the agent shows neither IEEE8023-LAG-MIB nor ifStackTable");
}

static void told_vlans(const struct switch_reading *reading, struct switch_told *told)
{
	if (told->state != TOLD_WHOLE)
		return;
	if (!reading->vlan_count) {
		switch_told_add(told, TOLD_MISSING, true,
				"the agent shows no VLAN: it may have no Q-BRIDGE-MIB");
		return;
	}
	for (size_t i = 0; i < reading->port_count; i++) {
		if (reading->ports[i].has_vlans)
			return;
	}
	switch_told_add(told, TOLD_PARTIAL, true,
			"the agent shows VLANs, and of no port which ones it is in");
}

static void told_ports(const struct snmp_facts *facts, const struct switch_reading *reading,
		       struct switch_told told[TOLD_COUNT])
{
	if (!reading->port_count)
		switch_told_add(&told[TOLD_PORTS], TOLD_MISSING, true, "the agent shows no port");
	if (facts->alike)
		switch_told_add(&told[TOLD_PORTS], TOLD_PARTIAL, true,
				"%u ports share their names with others and cannot be set: %s",
				facts->alike, facts->alike_name);
	told_aggregates(facts, reading, &told[TOLD_AGGREGATES]);
}

void snmp_told(const struct snmp_facts *facts, const struct snmp_missing *missing, unsigned parts,
	       struct switch_reading *reading)
{
	struct switch_told *told = reading->told;

	told_broken(facts, missing, told);
	if (parts & PART_PORTS)
		told_ports(facts, reading, told);
	if (parts & PART_VLANS)
		told_vlans(reading, &told[TOLD_VLANS]);
	if (parts & PART_NEIGHBORS) {
		if (facts->lost_neighbors)
			switch_told_add(&told[TOLD_NEIGHBORS], TOLD_PARTIAL, false,
					"%u neighbours without chassis or port",
					facts->lost_neighbors);
		if (!reading->neighbor_count && !fact_count(facts, FACT_LLDP_LOCAL) &&
		    told[TOLD_NEIGHBORS].state == TOLD_WHOLE)
			switch_told_add(&told[TOLD_NEIGHBORS], TOLD_MISSING, false,
					"the agent has no LLDP-MIB");
	}
	if (parts & PART_FDB) {
		told_contexts(missing, reading, &told[TOLD_ADDRESSES]);
		told_addresses(facts, reading, &told[TOLD_ADDRESSES]);
	}
}
