/* Addresses: rows of the FDB to MACs at interfaces, in VLANs. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_wire.h"

LEAKS_LEFT_TO_SANITIZER

/* dot1dTpFdbStatus. */
enum { FDB_INVALID = 2, FDB_SELF = 4 };

bool fact_fdb_makes_sense(const struct snmp_facts *facts)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_FDB); i++) {
		const struct fact_fdb *row = fact_at(facts, FACT_FDB, i);

		if (row->port && fact_find(facts, FACT_BRIDGE_PORTS, row->port, 0, 0))
			return true;
	}
	return false;
}

/* VID of an FdbId: 0 = several, or none is known. */
struct fdb_vlans {
	uint32_t fdb_id;
	uint16_t vlan;
	bool known;
};

static bool snmp_fdb_has_vlan(const struct snmp_facts *facts, uint32_t vlan)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_CURRENT); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_CURRENT, i);

		if (row->key[1] == vlan)
			return true;
	}
	return fact_find(facts, FACT_VLANS, vlan, 0, 0) != NULL;
}

/* By dot1qVlanFdbId. */
static struct fdb_vlans vlan_of_fdb_id(const struct snmp_facts *facts, uint32_t fdb_id)
{
	struct fdb_vlans ret = {.fdb_id = fdb_id};

	for (uint32_t i = 0; i < fact_count(facts, FACT_CURRENT); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_CURRENT, i);

		if (row->fdb_id != fdb_id || !fdb_id || row->key[1] == ret.vlan)
			continue;
		/* Shared learning: one FDB of several VLANs does not say which. */
		ret.vlan = ret.known || row->key[1] > VLAN_LAST ? 0 : (uint16_t)row->key[1];
		ret.known = true;
	}
	return ret;
}

/* Agents whose rows of the FDB are numbered by VLAN, whatever FdbIds they tell: Comware 5 says 1 of
 * every VLAN, a D-Link 90 of VLAN 602. Then no number is the FdbId of another VLAN alone. */
static bool is_numbered_by_vlan(const struct snmp_facts *facts)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < fact_count(facts, FACT_FDB); i++) {
		const struct fact_fdb *row = fact_at(facts, FACT_FDB, i);
		struct fdb_vlans said;

		/* Rows of one FDB come together. */
		if (!row->port || row->key[0] == last)
			continue;
		last = row->key[0];
		said = vlan_of_fdb_id(facts, last);
		if (said.vlan && said.vlan != last)
			return false;
	}
	return true;
}

static bool shows_fdb_ids(const struct snmp_facts *facts)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_CURRENT); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_CURRENT, i);

		if (row->fdb_id)
			return true;
	}
	return false;
}

/* What a number is that is nobody's FdbId. */
enum fdb_number { FDB_OF_NOBODY, FDB_OF_A_VLAN_WE_KNOW, FDB_OF_A_VLAN };

static struct fdb_vlans vlan_of_fdb(const struct snmp_facts *facts, uint32_t fdb_id,
				    enum fdb_number else_is)
{
	struct fdb_vlans ret = vlan_of_fdb_id(facts, fdb_id);

	if (ret.known || else_is == FDB_OF_NOBODY || fdb_id < VLAN_FIRST || fdb_id > VLAN_LAST ||
	    (else_is == FDB_OF_A_VLAN_WE_KNOW && !snmp_fdb_has_vlan(facts, fdb_id)))
		return ret;
	ret.vlan = (uint16_t)fdb_id;
	ret.known = true;
	return ret;
}

/* 0: none. Some agents tell of base ports that are no interface's (ifIndex 0 or -1). */
static uint32_t snmp_fdb_interface_of(const struct snmp_facts *facts, uint32_t base_port)
{
	const struct fact_bridge_port *port = fact_find(facts, FACT_BRIDGE_PORTS, base_port, 0, 0);

	if (!port || (fact_count(facts, FACT_INTERFACES) &&
		      !fact_find(facts, FACT_INTERFACES, port->if_index, 0, 0)))
		return 0;
	return port->if_index;
}

/* Some agents write an ifIndex where a base port belongs (Ubiquoss, MICROSENS). Believed where no
 * number is a base port, and each that is an interface's is that of a bridge port. */
static bool snmp_fdb_has_if_indexes(const struct snmp_facts *facts, enum fact_table table)
{
	bool any = false;

	for (uint32_t i = 0; i < fact_count(facts, table); i++) {
		uint32_t number = ((const struct fact_fdb *)fact_at(facts, table, i))->port;

		if (!number)
			continue;
		if (snmp_fdb_interface_of(facts, number))
			return false;
		if (fact_base_port(facts, number))
			any = true;
		else if (fact_find(facts, FACT_INTERFACES, number, 0, 0))
			return false;
	}
	return any;
}

/* One row of the FDB; its port is `if_index`. */
static void snmp_fdb_take(struct snmp_facts *facts, const struct fact_fdb *row, uint16_t vlan,
			  uint32_t if_index, struct switch_reading *ret)
{
	struct switch_fdb_entry entry = {
		.vlan = vlan,
		.if_index = if_index,
		.mac = {(uint8_t)(row->key[1] >> 8), (uint8_t)row->key[1],
			(uint8_t)(row->key[2] >> 24), (uint8_t)(row->key[2] >> 16),
			(uint8_t)(row->key[2] >> 8), (uint8_t)row->key[2]}};

	if (row->status == FDB_INVALID || row->status == FDB_SELF || row->port == 0)
		return;
	if (snmp_mac_is_odd(entry.mac)) {
		snmp_facts_odd(facts,
			       "FDB: MAC %02x:%02x:%02x:%02x:%02x:%02x is not a device's address",
			       entry.mac[0], entry.mac[1], entry.mac[2], entry.mac[3], entry.mac[4],
			       entry.mac[5]);
		return;
	}
	if (!if_index) {
		if (!facts->lost_addresses++)
			facts->lost_port = row->port;
		snmp_facts_odd(facts, "FDB: base port %u does not exist", row->port);
		return;
	}
	ret->fdb[ret->fdb_count++] = entry;
}

int fact_fdb_make(struct snmp_facts *facts, struct switch_reading *ret)
{
	/* With nothing to stand in for it, rows that fit no port are told. */
	enum fact_table table = fact_fdb_makes_sense(facts) || !fact_count(facts, FACT_BRIDGE_FDB)
					? FACT_FDB
					: FACT_BRIDGE_FDB;
	uint32_t count = fact_count(facts, table);
	struct fdb_vlans last = {.fdb_id = UINT32_MAX};
	enum fdb_number else_is = !shows_fdb_ids(facts)        ? FDB_OF_A_VLAN
				  : is_numbered_by_vlan(facts) ? FDB_OF_A_VLAN_WE_KNOW
							       : FDB_OF_NOBODY;
	bool by_index = snmp_fdb_has_if_indexes(facts, table);

	ret->fdb = calloc(count ? count : 1, sizeof(*ret->fdb));
	if (!ret->fdb)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct fact_fdb *row = fact_at(facts, table, i);
		uint32_t if_index;

		/* Rows of one FDB come together. Of BRIDGE-MIB the key is the VLAN, or 0. */
		if (table == FACT_FDB && row->key[0] != last.fdb_id)
			last = vlan_of_fdb(facts, row->key[0], else_is);
		if_index = !by_index ? snmp_fdb_interface_of(facts, row->port)
			   : fact_base_port(facts, row->port) ? row->port
							      : 0;
		snmp_fdb_take(facts, row, table == FACT_FDB ? last.vlan : (uint16_t)row->key[0],
			      if_index, ret);
	}
	return 0;
}
