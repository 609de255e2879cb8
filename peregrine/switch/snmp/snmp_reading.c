#include "peregrine/switch/snmp/snmp_reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/macros.h"
#include "common/base/sorted.h"
#include "common/base/text.h"
#include "common/net/mac.h"

#include "peregrine/switch/snmp/snmp_order.h"
#include "peregrine/switch/snmp/snmp_wire.h"

LEAKS_LEFT_TO_SANITIZER

/* ifType (IANAifType-MIB), ifAdminStatus, dot1dStpPortState. */
enum {
	IF_TYPE_ETHERNET = 6,
	IF_TYPE_VIRTUAL = 53,
	IF_TYPE_FAST = 62,
	IF_TYPE_GIGABIT = 117,
	IF_TYPE_LAG = 161
};
enum { IF_UP = 1 };
enum { SNMP_READING_ROW_ACTIVE = 1 };

const char *fact_port_name(const struct fact_interface *interface)
{
	return interface->name[0] ? interface->name : interface->descr;
}

void fact_alike_name(const char *name, uint32_t if_index, char ret[64])
{
	char tail[16];
	size_t length = strlen(name);

	(void)text_format(tail, sizeof(tail), "#%u", if_index);
	if (length + strlen(tail) > 63)
		length = 63 - strlen(tail);
	// NOLINTNEXTLINE(bugprone-not-null-terminated-result): the tail ends it
	memmove(ret, name, length);
	(void)text_copy(ret + length, 64 - length, tail);
}

/* Their order is not the interfaces'. */
static const struct fact_bridge_port *bridge_port_of(const struct snmp_facts *facts,
						     uint32_t if_index)
{
	uint32_t at = 0;

	return fact_order_next(facts, ORDER_BRIDGE_PORTS, if_index, &at);
}

uint32_t fact_base_port(const struct snmp_facts *facts, uint32_t if_index)
{
	const struct fact_bridge_port *port = bridge_port_of(facts, if_index);

	return port ? port->key[0] : 0;
}

/* --- ports --- */

/* Agents that show an aggregate as propVirtual, a type that VLAN interfaces and tunnels have too:
 * IOS, Huawei, ProCurve. A number follows. */
static const char *const aggregate_names[] = {"Po", "Port-channel", "Eth-Trunk", "Trk"};

static bool is_aggregate_name(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(aggregate_names); i++) {
		size_t length = strlen(aggregate_names[i]);
		const char *number = name + length;

		if (strncmp(name, aggregate_names[i], length) == 0 && *number &&
		    strspn(number, "0123456789") == strlen(number))
			return true;
	}
	return false;
}

static bool snmp_reading_is_aggregate(const struct fact_interface *interface)
{
	return interface->type == IF_TYPE_LAG ||
	       (interface->type == IF_TYPE_VIRTUAL &&
		(is_aggregate_name(interface->name) || is_aggregate_name(interface->descr)));
}

static bool snmp_reading_is_ethernet(const struct fact_interface *interface)
{
	return interface->type == IF_TYPE_ETHERNET || interface->type == IF_TYPE_FAST ||
	       interface->type == IF_TYPE_GIGABIT || snmp_reading_is_aggregate(interface);
}

static bool snmp_reading_is_port(const struct snmp_facts *facts,
				 const struct fact_interface *interface)
{
	return snmp_reading_is_ethernet(interface) ||
	       bridge_port_of(facts, interface->key[0]) != NULL;
}

/* An agent that says ifIndex 0 of every base port, whose number is the ifIndex (VOSS). Believed
 * where each of them is a port's and they do not count from 1, as any other agent's may. */
static void snmp_reading_place_ports(struct snmp_facts *facts)
{
	uint32_t count = fact_count(facts, FACT_BRIDGE_PORTS);

	for (uint32_t i = 0; i < count; i++) {
		const struct fact_bridge_port *port = fact_at(facts, FACT_BRIDGE_PORTS, i);
		const struct fact_interface *interface =
			fact_find(facts, FACT_INTERFACES, port->key[0], 0, 0);

		if (port->if_index || port->key[0] <= count || !interface ||
		    !snmp_reading_is_ethernet(interface))
			return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct fact_bridge_port *port = fact_at(facts, FACT_BRIDGE_PORTS, i);

		port->if_index = port->key[0];
	}
}

static const enum port_stp stp_states[] = {
	[1] = STP_DISABLED, [2] = STP_BLOCKING,   [3] = STP_LISTENING,
	[4] = STP_LEARNING, [5] = STP_FORWARDING, [6] = STP_BLOCKING, /* broken */
};

/* A group of the dialect's, by the name of its aggregate. */
static uint32_t lag_called(const struct snmp_facts *facts, uint32_t group)
{
	const struct fact_interface *interface;
	uint32_t at = 0;
	char name[32];

	if (!group || !text_format(name, sizeof(name), "%s%u", facts->dialect->lag.name, group))
		return 0;
	while ((interface = fact_order_next(facts, ORDER_PORT_NAMES, fact_hash_text(name), &at))) {
		if (strcmp(fact_port_name(interface), name) == 0)
			return interface->key[0];
	}
	return 0;
}

static uint32_t snmp_reading_lag_of(const struct snmp_facts *facts,
				    const struct fact_interface *interface)
{
	const struct fact_interface *above;
	const struct fact_pair *pair;
	uint32_t at = 0;

	/* IEEE8023-LAG-MIB: 0 = none; a port that aggregates alone names itself. */
	if (interface->lag && interface->lag != interface->key[0]) {
		above = fact_find(facts, FACT_INTERFACES, interface->lag, 0, 0);
		return above ? interface->lag : 0;
	}
	/* 802.1AX 6.3.6.1.12: attached is who LACP, or a link, let in; selected is where the port
	 * belongs while neither has. An aggregator that is no LAG is the port's own. */
	if (!interface->lag && interface->lag_selected &&
	    interface->lag_selected != interface->key[0]) {
		above = fact_find(facts, FACT_INTERFACES, interface->lag_selected, 0, 0);
		if (above && snmp_reading_is_aggregate(above))
			return interface->lag_selected;
	}
	while ((pair = fact_order_next(facts, ORDER_STACK, interface->key[0], &at))) {
		if (pair->key[0] == 0 || pair->status != SNMP_READING_ROW_ACTIVE)
			continue;
		above = fact_find(facts, FACT_INTERFACES, pair->key[0], 0, 0);
		if (above && snmp_reading_is_aggregate(above))
			return pair->key[0];
	}
	return lag_called(facts, interface->lag_group);
}

/* Agents of before RFC 2863 have ifSpeed alone, which ends at 4.29 Gb/s and says so by its largest
 * value. */
static uint64_t speed_of(const struct fact_interface *interface)
{
	if (interface->speed_mbps)
		return (uint64_t)interface->speed_mbps * 1000000U;
	return interface->speed_bps == UINT32_MAX ? 0 : interface->speed_bps;
}

static void snmp_reading_fill_port(struct snmp_facts *facts, const struct fact_interface *interface,
				   struct switch_port *ret)
{
	const struct fact_bridge_port *bridge = bridge_port_of(facts, interface->key[0]);

	*ret = (struct switch_port){
		.if_index = interface->key[0],
		.admin_up = interface->admin == IF_UP,
		.up = interface->oper == IF_UP,
		.link_mark = facts->links ? (uint64_t)interface->last_change + 1 : 0,
		.speed_bps = speed_of(interface),
		.lag = snmp_reading_lag_of(facts, interface),
		.is_lag = snmp_reading_is_aggregate(interface),
	};
	text_copy(ret->name, sizeof(ret->name), fact_port_name(interface));
	text_copy(ret->alias, sizeof(ret->alias), interface->alias);
	memcpy(ret->mac, interface->mac, sizeof(ret->mac));
	if (bridge) {
		ret->base_port = bridge->key[0];
		ret->stp = bridge->stp < sizeof(stp_states) / sizeof(stp_states[0])
				   ? stp_states[bridge->stp]
				   : STP_UNKNOWN;
	}
}

/* Ports come by ifIndex, as the interfaces do. */
static void mark_lag(struct switch_reading *reading, uint32_t if_index)
{
	size_t at = SORTED_FIRST(i, 0, reading->port_count, reading->ports[i].if_index < if_index);

	if (at < reading->port_count && reading->ports[at].if_index == if_index)
		reading->ports[at].is_lag = true;
}

static int compare_names(const void *left, const void *right)
{
	const struct switch_port *a = *(const struct switch_port *const *)left;
	const struct switch_port *b = *(const struct switch_port *const *)right;
	int order = strcmp(a->name, b->name);

	return order ? order : (a > b) - (a < b);
}

/* Each keeps a row of its own, under a name that ends in its ifIndex. */
static void tell_alike(struct snmp_facts *facts, struct switch_reading *reading)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	struct switch_port **by_name = calloc(reading->port_count + 1, sizeof(*by_name));

	if (!by_name) {
		facts->failed = true;
		return;
	}
	for (size_t i = 0; i < reading->port_count; i++)
		by_name[i] = &reading->ports[i];
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	qsort(by_name, reading->port_count, sizeof(*by_name), compare_names);
	for (size_t i = 1; i < reading->port_count; i++) {
		if (strcmp(by_name[i - 1]->name, by_name[i]->name) == 0)
			by_name[i - 1]->alike = by_name[i]->alike = true;
	}
	for (size_t i = 0; i < reading->port_count; i++) {
		struct switch_port *port = by_name[i];

		if (!port->alike)
			continue;
		fact_alike_name(port->name, port->if_index, port->name);
		if (!facts->alike++)
			(void)text_copy(facts->alike_name, sizeof(facts->alike_name), port->name);
	}
	free(by_name);
}

static int snmp_reading_make_ports(struct snmp_facts *facts, const char *const *only_ports,
				   unsigned parts, struct switch_reading *ret)
{
	uint32_t count = fact_count(facts, FACT_INTERFACES);

	ret->ports = calloc(count ? count : 1, sizeof(*ret->ports));
	if (!ret->ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct fact_interface *interface = fact_at(facts, FACT_INTERFACES, i);
		struct switch_port *port = &ret->ports[ret->port_count];

		if (!fact_port_name(interface)[0] || !snmp_reading_is_port(facts, interface) ||
		    !switch_port_is_wanted(only_ports, fact_port_name(interface)))
			continue;
		snmp_reading_fill_port(facts, interface, port);
		/* An interface that was plugged in after its table was read has an index only. */
		if (parts & PART_VLANS)
			port->has_vlans = fact_port_vlans(facts, interface, &port->vlans);
		port->unproven =
			port->has_vlans && fact_port_unproven(facts, interface, &port->vlans);
		ret->port_count++;
	}
	for (size_t i = 0; i < ret->port_count; i++)
		mark_lag(ret, ret->ports[i].lag);
	tell_alike(facts, ret);
	return 0;
}

/* --- neighbours --- */

static uint64_t hash_of_mac(const char *text)
{
	struct mac mac;

	return mac_parse(text, &mac) == 0 ? fact_hash_mac(mac.bytes) : 0;
}

static bool snmp_reading_has_name(const struct fact_interface *interface, const char *text)
{
	return strcmp(interface->name, text) == 0;
}

static bool has_descr(const struct fact_interface *interface, const char *text)
{
	return strcmp(interface->descr, text) == 0;
}

static bool has_alias(const struct fact_interface *interface, const char *text)
{
	return strcmp(interface->alias, text) == 0;
}

static bool snmp_reading_has_mac(const struct fact_interface *interface, const char *text)
{
	char mac[18];

	return snmp_mac_text(interface->mac, sizeof(interface->mac), mac, sizeof(mac)) &&
	       !snmp_mac_is_odd(interface->mac) && strcmp(mac, text) == 0;
}

static bool has_spelling(const struct fact_interface *interface, const char *text)
{
	return port_name_same(interface->name, text) || port_name_same(interface->descr, text);
}

/* In the order in which they are believed. */
static const struct reading_way {
	bool (*is)(const struct fact_interface *interface, const char *text);
	uint64_t (*hash)(const char *text);
	enum fact_order_kind first, last; /* of the orders in which it is searched */
} reading_ways[] = {
	{snmp_reading_has_name, fact_hash_text, ORDER_NAMES, ORDER_NAMES},
	{has_descr, fact_hash_text, ORDER_DESCRS, ORDER_DESCRS},
	{has_alias, fact_hash_text, ORDER_ALIASES, ORDER_ALIASES},
	{snmp_reading_has_mac, hash_of_mac, ORDER_MACS, ORDER_MACS},
	{has_spelling, fact_hash_spelling, ORDER_NAME_SPELLINGS, ORDER_DESCR_SPELLINGS},
};

/* One interface only, else none: aliases and descriptions are written by people. */
static uint32_t interface_called(const struct snmp_facts *facts, const char *text,
				 const struct reading_way *way)
{
	uint64_t hash = way->hash(text);
	uint32_t found = 0;

	for (int kind = (int)way->first; text[0] && kind <= (int)way->last; kind++) {
		const struct fact_interface *interface;
		uint32_t at = 0;

		while ((interface =
				fact_order_next(facts, (enum fact_order_kind)kind, hash, &at))) {
			if (interface->key[0] == found || !way->is(interface, text))
				continue;
			if (found)
				return 0;
			found = interface->key[0];
		}
	}
	return found;
}

static uint32_t by_local_texts(const struct snmp_facts *facts, const struct fact_lldp *local)
{
	char id[64];

	lldp_id_text(LLDP_PORT, local->port_subtype, local->port.bytes, local->port.size, id,
		     sizeof(id));
	for (size_t i = 0; i < COUNT_OF(reading_ways); i++) {
		uint32_t found = interface_called(facts, id, &reading_ways[i]);

		if (!found)
			found = interface_called(facts, local->text, &reading_ways[i]);
		if (found)
			return found;
	}
	return 0;
}

/* lldpRemLocalPortNum is lldpLocPortNum, which agents number by ifIndex, by base port, or as they
 * like (Uninett/nav#319, netdisco#603): the texts of the local table decide where there is one. */
static uint32_t interface_of_local_port(const struct snmp_facts *facts, uint32_t number)
{
	const struct fact_lldp *local = fact_find(facts, FACT_LLDP_LOCAL, number, 0, 0);
	const struct fact_bridge_port *bridge = fact_find(facts, FACT_BRIDGE_PORTS, number, 0, 0);
	uint32_t found = local ? by_local_texts(facts, local) : 0;

	if (found)
		return found;
	if (bridge && bridge->if_index)
		return bridge->if_index;
	return fact_find(facts, FACT_INTERFACES, number, 0, 0) ? number : 0;
}

static int make_neighbors(struct snmp_facts *facts, struct switch_reading *ret)
{
	uint32_t count = fact_count(facts, FACT_LLDP_REMOTE);

	ret->neighbors = calloc(count ? count : 1, sizeof(*ret->neighbors));
	if (!ret->neighbors)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct fact_lldp *row = fact_at(facts, FACT_LLDP_REMOTE, i);
		struct switch_neighbor *neighbor = &ret->neighbors[ret->neighbor_count];

		if (!row->chassis.size || !row->port.size) {
			facts->lost_neighbors++;
			snmp_facts_odd(facts, "LLDP neighbour at port %u without chassis or port",
				       row->key[1]);
			continue;
		}
		*neighbor = (struct switch_neighbor){
			.local_port = row->key[1],
			.if_index = interface_of_local_port(facts, row->key[1]),
			.chassis_subtype = (uint8_t)row->chassis_subtype,
			.port_subtype = (uint8_t)row->port_subtype,
		};
		lldp_id_text(LLDP_CHASSIS, row->chassis_subtype, row->chassis.bytes,
			     row->chassis.size, neighbor->chassis, sizeof(neighbor->chassis));
		lldp_id_text(LLDP_PORT, row->port_subtype, row->port.bytes, row->port.size,
			     neighbor->port, sizeof(neighbor->port));
		text_copy(neighbor->port_text, sizeof(neighbor->port_text), row->text);
		text_copy(neighbor->system, sizeof(neighbor->system), row->system);
		ret->neighbor_count++;
	}
	return 0;
}

/* --- links --- */

/* Of dot1qPvid and dot1qVlanStaticEgressPorts, of whatever else was read with them. */
static uint64_t digest_of_members(const struct snmp_facts *facts)
{
	uint64_t digest = HASH_START;

	for (uint32_t i = 0; i < fact_count(facts, FACT_BRIDGE_PORTS); i++) {
		const struct fact_bridge_port *port = fact_at(facts, FACT_BRIDGE_PORTS, i);

		if (port->pvid)
			digest = hash_number(hash_number(digest, port->key[0]), port->pvid);
	}
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *vlan = fact_at(facts, FACT_VLANS, i);
		uint32_t size = vlan->egress.size;

		/* An agent may write as many zeros as it likes. */
		while (size > 0 && vlan->egress.bytes[size - 1] == 0)
			size--;
		digest = hash_number(digest, vlan->key[0]);
		digest = hash_bytes(digest, vlan->egress.bytes, size);
	}
	return digest ? digest : 1;
}

/* Of what a link's coming and going changes: ifOperStatus, and ifLastChange when it went and
 * came between two looks. */
static uint64_t digest_of_links(const struct snmp_facts *facts)
{
	uint64_t digest = HASH_START;

	for (uint32_t i = 0; i < fact_count(facts, FACT_INTERFACES); i++) {
		const struct fact_interface *interface = fact_at(facts, FACT_INTERFACES, i);
		const uint32_t words[] = {interface->key[0], interface->oper,
					  interface->last_change};

		/* What is not in ifTable's column has no link. */
		for (size_t k = 0; interface->oper && k < COUNT_OF(words); k++)
			digest = hash_number(digest, words[k]);
	}
	return digest ? digest : 1;
}

/* --- all of it --- */

static int snmp_reading_make_vlans(struct snmp_facts *facts, struct switch_reading *ret)
{
	bool vtp = facts->dialect->writer == SNMP_WRITER_VTP;
	enum fact_table table = vtp                                 ? FACT_VTP_VLANS
				: fact_count(facts, FACT_VLANS) > 0 ? FACT_VLANS
								    : FACT_CURRENT;
	struct vlan_set seen = {0};
	const struct fact_vlan *rows[VLAN_LIMIT] = {0};

	for (uint32_t i = 0; i < fact_count(facts, table); i++) {
		const struct fact_vlan *row = fact_at(facts, table, i);
		unsigned id = table == FACT_VLANS ? fact_vlan_id(facts->dialect, row) : row->key[1];

		/* A row that is being made (notReady) is no VLAN; vtpVlanType 1 is Ethernet. */
		if ((table == FACT_VLANS && row->status > SNMP_READING_ROW_ACTIVE) ||
		    (vtp && row->type > 1))
			continue;
		if (id < VLAN_FIRST || id > VLAN_LAST) {
			snmp_facts_odd(facts, "VLAN table: %u is not a VLAN ID", row->key[0]);
			continue;
		}
		vlan_set_add(&seen, id);
		rows[id] = row;
	}
	ret->vlans = calloc(vlan_set_count(&seen) + 1, sizeof(*ret->vlans));
	if (!ret->vlans)
		return -ENOMEM;
	for (unsigned id = vlan_set_next(&seen, 1); id; id = vlan_set_next(&seen, id + 1)) {
		struct switch_vlan *vlan = &ret->vlans[ret->vlan_count++];

		vlan->id = (uint16_t)id;
		text_copy(vlan->name, sizeof(vlan->name), rows[id]->name);
	}
	return 0;
}

int snmp_reading_make(struct snmp_facts *facts, unsigned parts, const char *const *only_ports,
		      struct switch_reading *ret)
{
	struct switch_reading reading = {.identity = facts->identity};
	int rc = 0;

	facts->lost_addresses = facts->lost_neighbors = facts->alike = 0;
	snmp_reading_place_ports(facts);
	fact_orders_make(facts, parts & PART_NEIGHBORS ? ORDER_DESCR_SPELLINGS : ORDER_PORT_NAMES);
	if (facts->failed)
		return -ENOMEM;
	fact_lists_from_text(facts);
	if (facts->failed)
		return -ENOMEM;
	if (facts->links && fact_count(facts, FACT_INTERFACES) > 0)
		reading.identity.link_changes = digest_of_links(facts);
	if (facts->members && fact_count(facts, FACT_VLANS) > 0)
		reading.identity.member_changes = digest_of_members(facts);
	if (parts & (PART_PORTS | PART_VLANS))
		rc = snmp_reading_make_ports(facts, only_ports, parts, &reading);
	if (!rc && (parts & PART_VLANS))
		rc = snmp_reading_make_vlans(facts, &reading);
	if (!rc && (parts & PART_NEIGHBORS))
		rc = make_neighbors(facts, &reading);
	if (!rc && (parts & PART_FDB))
		rc = fact_fdb_make(facts, &reading);
	if (!rc && facts->failed)
		rc = -ENOMEM;
	if (rc) {
		switch_reading_done(&reading);
		return rc;
	}
	reading.odd = facts->odd;
	text_copy(reading.odd_text, sizeof(reading.odd_text), facts->odd_text);
	*ret = reading;
	return 0;
}
