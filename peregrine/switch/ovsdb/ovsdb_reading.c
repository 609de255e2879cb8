/* From the rows of an Open vSwitch to a reading. Interfaces are ports by name and kernel ifIndex;
 * a Port of several interfaces is a LAG that has no ifIndex of its own and gets a number made of
 * its name, as do tunnels and patch ports. LLDP and FDB are in no table of the schema. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/text.h"
#include "common/net/mac.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"

LEAKS_LEFT_TO_SANITIZER

enum { OFPORT_LAST = 65279 }; /* OFPP_MAX of OpenFlow 1.0, 0xff00: what is above is no port */

/* Above all kernel ifIndexes that one meets; the same at each reading. */
static uint32_t made_index(const char *name)
{
	uint64_t hash = hash_bytes(HASH_START, name, strlen(name));

	return 0x40000000U | (hash_spread(hash) & 0x3fffffffU);
}

static void number_port(const json_t *interface, struct switch_port *ret)
{
	json_int_t index = ovsdb_integer(interface, "ifindex", 0);

	ret->index_made = index <= 0 || index >= 0x40000000;
	ret->if_index = ret->index_made ? made_index(ret->name) : (uint32_t)index;
}

/* Bytes that do not print become '?'. */
static void ovsdb_reading_take_text(char *ret, size_t room, const char *text)
{
	(void)text_copy(ret, room, text);
	for (; *ret; ret++) {
		if (*ret < ' ' || *ret > '~')
			*ret = '?';
	}
}

/* --- ports --- */

static enum port_stp stp_of(const struct ovsdb_facts *facts, const struct ovsdb_port *port, bool up)
{
	static const struct {
		const char *word;
		enum port_stp state;
	} states[] = {
		{"Disabled", STP_DISABLED},     {"Discarding", STP_BLOCKING},
		{"Learning", STP_LEARNING},     {"Forwarding", STP_FORWARDING},
		{"disabled", STP_DISABLED},     {"blocking", STP_BLOCKING},
		{"listening", STP_LISTENING},   {"learning", STP_LEARNING},
		{"forwarding", STP_FORWARDING},
	};
	const char *word = "";

	if (ovsdb_boolean(facts->bridge, "rstp_enable"))
		word = ovsdb_map_value(port->row, "rstp_status", "rstp_port_state");
	else if (ovsdb_boolean(facts->bridge, "stp_enable"))
		word = ovsdb_map_value(port->row, "status", "stp_state");
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		if (strcmp(states[i].word, word) == 0)
			return states[i].state;
	}
	return up ? STP_FORWARDING : STP_DISABLED;
}

static void fill_interface(const json_t *interface, struct switch_port *ret)
{
	json_int_t number = ovsdb_integer(interface, "ofport", 0);
	json_int_t speed = ovsdb_integer(interface, "link_speed", 0);
	json_int_t resets = ovsdb_integer(interface, "link_resets", 0);
	struct mac mac;

	*ret = (struct switch_port){
		.base_port = number > 0 && number <= OFPORT_LAST ? (uint32_t)number : 0,
		.admin_up = strcmp(ovsdb_string(interface, "admin_state"), "up") == 0,
		.up = strcmp(ovsdb_string(interface, "link_state"), "up") == 0,
		.link_mark = resets >= 0 ? (uint64_t)resets + 1 : 0,
		.speed_bps = speed > 0 ? (uint64_t)speed : 0,
	};
	ovsdb_reading_take_text(ret->name, sizeof(ret->name), ovsdb_string(interface, "name"));
	number_port(interface, ret);
	if (mac_parse(ovsdb_string(interface, "mac_in_use"), &mac) == 0)
		memcpy(ret->mac, &mac, sizeof(ret->mac));
}

static void take_membership(const struct ovsdb_port *port, unsigned parts, struct switch_port *ret)
{
	/* What the bridge itself is in is its owner's; whom it meets there is not on a cable. */
	ret->has_vlans = (parts & PART_VLANS) && !port->local;
	if (!ret->has_vlans)
		return;
	ret->vlans = port->vlans;
	ret->apart = port->vlans.apart ? APART_FROM_ALIKE : APART_NOT;
}

static bool lacp_is_down(const json_t *interface)
{
	const json_t *current = ovsdb_element(json_object_get(interface, "lacp_current"), 0);

	return json_is_false(current); /* absent: no LACP */
}

/* The members, and the aggregate after them. */
static void add_lag(const struct ovsdb_facts *facts, const struct ovsdb_port *port, unsigned parts,
		    const char *const *only_ports, struct switch_reading *ret)
{
	struct switch_port lag = {
		.is_lag = true, .if_index = made_index(port->name), .index_made = true};

	ovsdb_reading_take_text(lag.name, sizeof(lag.name), port->name);
	for (size_t i = 0; i < port->interface_count; i++) {
		struct switch_port member;

		fill_interface(port->interfaces[i], &member);
		member.lag = lag.if_index;
		member.stp = stp_of(facts, port, member.up);
		lag.admin_up |= member.admin_up;
		if (member.up && !lacp_is_down(port->interfaces[i])) {
			lag.up = true;
			lag.speed_bps += member.speed_bps;
		}
		if (i == 0)
			memcpy(lag.mac, member.mac, sizeof(lag.mac));
		if (switch_port_is_wanted(only_ports, member.name))
			ret->ports[ret->port_count++] = member;
	}
	lag.stp = stp_of(facts, port, lag.up);
	take_membership(port, parts, &lag);
	if (switch_port_is_wanted(only_ports, lag.name))
		ret->ports[ret->port_count++] = lag;
}

static void ovsdb_reading_add_port(const struct ovsdb_facts *facts, const struct ovsdb_port *port,
				   unsigned parts, const char *const *only_ports,
				   struct switch_reading *ret)
{
	struct switch_port *at = &ret->ports[ret->port_count];

	if (port->interface_count > 1) {
		add_lag(facts, port, parts, only_ports, ret);
		return;
	}
	if (port->interface_count == 0 || !switch_port_is_wanted(only_ports, port->name))
		return;
	fill_interface(port->interfaces[0], at);
	ovsdb_reading_take_text(at->name, sizeof(at->name), port->name);
	if (port->local)
		at->base_port = 0;
	at->stp = stp_of(facts, port, at->up);
	take_membership(port, parts, at);
	ret->port_count++;
}

static int ovsdb_reading_compare_ports(const void *a, const void *b)
{
	uint32_t x = ((const struct switch_port *)a)->if_index;
	uint32_t y = ((const struct switch_port *)b)->if_index;

	return x < y ? -1 : x > y;
}

/* Two ports of one number: the database of somebody who plays games. The first stays. */
static void drop_doubles(struct switch_reading *ret)
{
	size_t kept = 0;

	for (size_t i = 0; i < ret->port_count; i++) {
		if (!ret->ports[i].name[0] ||
		    (kept > 0 && ret->ports[kept - 1].if_index == ret->ports[i].if_index)) {
			if (ret->odd++ == 0)
				text_format(ret->odd_text, sizeof(ret->odd_text),
					    "%s: its ifIndex is another's", ret->ports[i].name);
			continue;
		}
		ret->ports[kept++] = ret->ports[i];
	}
	ret->port_count = kept;
}

static int ovsdb_reading_make_ports(const struct ovsdb_facts *facts, unsigned parts,
				    const char *const *only_ports, struct switch_reading *ret)
{
	size_t room = facts->port_count + 1;

	for (size_t i = 0; i < facts->port_count; i++)
		room += facts->ports[i].interface_count;
	ret->ports = calloc(room, sizeof(*ret->ports));
	if (!ret->ports)
		return -ENOMEM;
	for (size_t i = 0; i < facts->port_count; i++)
		ovsdb_reading_add_port(facts, &facts->ports[i], parts, only_ports, ret);
	qsort(ret->ports, ret->port_count, sizeof(*ret->ports), ovsdb_reading_compare_ports);
	drop_doubles(ret);
	return 0;
}

/* --- VLANs and identity --- */

static int ovsdb_reading_make_vlans(const struct ovsdb_facts *facts, struct switch_reading *ret)
{
	struct vlan_set all = vlan_set_union(&facts->table, &facts->used);
	const char *names[VLAN_LIMIT] = {NULL};
	const char *key;
	const char *name;

	ret->vlans = calloc(vlan_set_count(&all) + 1, sizeof(*ret->vlans));
	if (!ret->vlans)
		return -ENOMEM;
	for (size_t i = 0; ovsdb_map_pair(facts->bridge, "external_ids", i, &key, &name); i++)
		names[ovsdb_facts_vlan(key)] = name; /* 0: those that are no VLANs */
	for (unsigned v = vlan_set_next(&all, VLAN_FIRST); v; v = vlan_set_next(&all, v + 1)) {
		struct switch_vlan *vlan = &ret->vlans[ret->vlan_count++];

		vlan->id = (uint16_t)v;
		ovsdb_reading_take_text(vlan->name, sizeof(vlan->name), names[v] ? names[v] : "");
	}
	return 0;
}

/* What the system does not say of itself (ovs-ctl writes it, vswitchd alone does not) is left out.
 */
static void ovsdb_reading_describe(const struct ovsdb_facts *facts, char *ret, size_t room)
{
	static const struct {
		const char *before, *column;
	} parts[] = {
		{" ", "ovs_version"},
		{" on ", "system_type"},
		{" ", "system_version"},
		{", schema ", "db_version"},
	};
	CLEANUP(text_done) struct text text = {0};

	text_add(&text, "Open vSwitch");
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		const char *value = ovsdb_string(facts->system, parts[i].column);

		if (value[0])
			text_addf(&text, "%s%s", parts[i].before, value);
	}
	text_addf(&text, ", bridge %s", ovsdb_string(facts->bridge, "name"));
	ovsdb_reading_take_text(ret, room, text_get(&text));
}

static void make_identity(const struct ovsdb_facts *facts, struct switch_identity *ret)
{
	const char *name = ovsdb_map_value(facts->system, "external_ids", "hostname");

	ovsdb_reading_describe(facts, ret->text, sizeof(ret->text));
	ovsdb_reading_take_text(
		ret->system, sizeof(ret->system),
		name[0] ? name : ovsdb_map_value(facts->system, "external_ids", "system-id"));
	ret->vlan_changes = facts->digest;
	ret->link_changes = facts->links;
}

int ovsdb_reading_make(const struct ovsdb_facts *facts, unsigned parts,
		       const char *const *only_ports, struct switch_reading *ret)
{
	struct switch_reading reading = {.odd = facts->odd};
	int rc = 0;

	ovsdb_reading_take_text(reading.odd_text, sizeof(reading.odd_text), facts->odd_text);
	make_identity(facts, &reading.identity);
	if (parts & PART_PORTS)
		rc = ovsdb_reading_make_ports(facts, parts, only_ports, &reading);
	if (rc == 0 && (parts & PART_VLANS))
		rc = ovsdb_reading_make_vlans(facts, &reading);
	if (rc) {
		switch_reading_done(&reading);
		return rc;
	}
	reading.parts = parts & (PART_IDENTITY | PART_PORTS | PART_VLANS);
	*ret = reading;
	return 0;
}
