/* What a Cisco switch shows by SNMP beside IF-MIB and LLDP-MIB. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/switch/switch_cisco.h"
#include "tests/sim/switch/switch_mib_private.h"

#define AT(mib, ...) \
	mib_place(mib, (const oid[]){__VA_ARGS__}, COUNT_OF(((const oid[]){__VA_ARGS__})))
#define BRIDGE 1, 3, 6, 1, 2, 1, 17
#define VTP    1, 3, 6, 1, 4, 1, 9, 9, 46, 1

static void switch_mib_cisco_put_text(const struct place *entry, oid column, oid domain, oid index,
				      const char *text)
{
	struct place cell = mib_under(entry, column);

	cell = mib_under(&cell, domain);
	if (index)
		cell = mib_under(&cell, index);
	mib_put_bytes(&cell, ASN_OCTET_STR, text, strlen(text));
}

static void put_cell2(const struct place *entry, oid column, oid domain, oid index, uint32_t number)
{
	struct place cell = mib_under(entry, column);

	mib_put_cell(&cell, domain, index, ASN_INTEGER, number);
}

/* --- VLANs --- */

static void put_vlans(struct switch_mib *mib, const struct switch_device *device)
{
	static const char *const rings[] = {"fddi-default", "token-ring-default", "fddinet-default",
					    "trnet-default"};
	struct place entry = AT(mib, VTP, 3, 1, 1);

	for (size_t i = 0; i < device->running.vlan_count; i++) {
		const struct switch_vlan *vlan = &device->running.vlans[i];

		put_cell2(&entry, 2, CISCO_DOMAIN, vlan->vid, 1); /* operational */
		put_cell2(&entry, 3, CISCO_DOMAIN, vlan->vid, 1); /* ethernet */
		switch_mib_cisco_put_text(&entry, 4, CISCO_DOMAIN, vlan->vid, vlan->name);
	}
	for (uint32_t i = 0; i < COUNT_OF(rings); i++) {
		put_cell2(&entry, 2, CISCO_DOMAIN, CISCO_RING_FIRST + i, 1);
		put_cell2(&entry, 3, CISCO_DOMAIN, CISCO_RING_FIRST + i, 2 + i);
		switch_mib_cisco_put_text(&entry, 4, CISCO_DOMAIN, CISCO_RING_FIRST + i, rings[i]);
	}
}

static void put_domain(struct switch_mib *mib, const struct switch_device *device)
{
	const struct switch_cisco *cisco = device->cisco;
	struct place domain = AT(mib, VTP, 2, 1, 1);
	struct place control = AT(mib, VTP, 4, 1, 1);
	struct place edit = AT(mib, VTP, 4, 2, 1);

	switch_mib_cisco_put_text(&domain, 2, CISCO_DOMAIN, 0, "lab");
	mib_put_cell(&domain, 3, CISCO_DOMAIN, ASN_INTEGER, device->faults.vtp_client ? 1 : 3);
	mib_put_cell(&domain, 4, CISCO_DOMAIN, ASN_GAUGE, 0);
	mib_put_cell(&control, 1, CISCO_DOMAIN, ASN_INTEGER, 1); /* none */
	mib_put_cell(&control, 2, CISCO_DOMAIN, ASN_INTEGER, switch_cisco_applied(device));
	switch_mib_cisco_put_text(&control, 3, CISCO_DOMAIN, 0,
				  device->faults.vtp_busy ? "noc" : cisco->owner);
	for (size_t i = 0; i < cisco->row_count; i++) {
		const struct cisco_row *row = &cisco->rows[i];

		switch_mib_cisco_put_text(&edit, 4, CISCO_DOMAIN, row->vid, row->name);
		put_cell2(&edit, 11, CISCO_DOMAIN, row->vid,
			  row->has_name && row->has_type && row->has_said ? 1 : 3);
	}
}

/* --- ports --- */

static void switch_mib_cisco_put_port(struct switch_mib *mib, const struct switch_device *device,
				      const struct cisco_port *port)
{
	static const oid columns[CISCO_BLOCKS] = {4, 17, 18, 19};
	struct place trunk = AT(mib, VTP, 6, 1, 1);
	struct place member = AT(mib, 1, 3, 6, 1, 4, 1, 9, 9, 68, 1, 2, 2, 1);
	bool trunks = switch_cisco_trunks(port);
	uint8_t octets[CISCO_BLOCK];

	mib_put_cell(&trunk, 3, port->if_index, ASN_INTEGER, port->tagging);
	mib_put_cell(&trunk, 5, port->if_index, ASN_INTEGER, port->native);
	mib_put_cell(&trunk, 13, port->if_index, ASN_INTEGER, port->state);
	mib_put_cell(&trunk, 14, port->if_index, ASN_INTEGER, trunks ? 1 : 2);
	for (size_t i = 0; i < CISCO_BLOCKS; i++) {
		struct place cell = mib_under(&trunk, columns[i]);

		memcpy(octets, port->allowed + i * CISCO_BLOCK, CISCO_BLOCK);
		for (unsigned v = CISCO_RING_FIRST;
		     i == 0 && device->faults.rings_on_trunks && v <= CISCO_RING_LAST; v++)
			octets[v / 8] = (uint8_t)(octets[v / 8] | 0x80U >> v % 8);
		cell = mib_under(&cell, port->if_index);
		mib_put_bytes(&cell, ASN_OCTET_STR, octets, CISCO_BLOCK);
	}
	if (trunks && device->faults.vm_vlan_hidden)
		return;
	mib_put_cell(&member, 1, port->if_index, ASN_INTEGER, 1); /* static */
	mib_put_cell(&member, 2, port->if_index,
		     device->faults.vm_vlan_unsigned ? ASN_GAUGE : ASN_INTEGER, port->access);
	mib_put_cell(&member, 3, port->if_index, ASN_INTEGER, 2); /* active */
}

static void put_copies(struct switch_mib *mib, const struct switch_cisco *cisco)
{
	struct place entry = AT(mib, 1, 3, 6, 1, 4, 1, 9, 9, 96, 1, 1, 1, 1);

	for (size_t i = 0; i < cisco->copy_count; i++) {
		const struct cisco_copy *copy = &cisco->copies[i];

		mib_put_cell(&entry, 3, copy->row, ASN_INTEGER, copy->from);
		mib_put_cell(&entry, 4, copy->row, ASN_INTEGER, copy->to);
		mib_put_cell(&entry, 10, copy->row, ASN_INTEGER, switch_cisco_copied(copy));
		mib_put_cell(&entry, 14, copy->row, ASN_INTEGER, copy->status);
	}
}

/* --- the bridge of one VLAN --- */

void mib_put_vlan_bridge(struct switch_mib *mib, const struct switch_device *device, uint16_t vid)
{
	const struct switch_vlan *vlan = switch_model_vlan(&device->running, vid);
	struct place ports = AT(mib, BRIDGE, 1, 4, 1);
	struct place stp = AT(mib, BRIDGE, 2, 15, 1);
	struct place fdb = AT(mib, BRIDGE, 4, 3, 1);

	for (size_t i = 0; i < device->plane.port_count && vlan; i++) {
		const struct switch_plane_port *port = &device->plane.ports[i];

		if (!switch_portlist_has(&vlan->egress, port->number))
			continue;
		mib_put_cell(&ports, 1, port->number, ASN_INTEGER, port->number);
		mib_put_cell(&ports, 2, port->number, ASN_INTEGER, port->if_index);
		mib_put_cell(&stp, 3, port->number, ASN_INTEGER, port->stp_state);
	}
	for (size_t i = 0; i < device->fdb_count; i++) {
		const struct switch_fdb_row *row = &device->fdb[i];
		struct place cell;

		if (row->vid != vid || device->faults.fdb == SWITCH_FDB_EMPTY)
			continue;
		for (oid column = 2; column <= 3; column++) {
			cell = mib_under(&fdb, column);
			cell = mib_under_mac(&cell, row->mac, 6);
			mib_put(&cell, ASN_INTEGER,
				column == 2      ? row->port
				: row->port == 0 ? 4
						 : 3);
		}
	}
}

void mib_put_cisco(struct switch_mib *mib, const struct switch_device *device)
{
	struct place serial = AT(mib, VTP, 6);
	struct place history = AT(mib, 1, 3, 6, 1, 4, 1, 9, 9, 43, 1, 1);
	struct place write_mem = AT(mib, 1, 3, 6, 1, 4, 1, 9, 2, 1);

	mib_put_vlan_bridge(mib, device, 1); /* without a VLAN it is the first one's */
	put_vlans(mib, device);
	put_domain(mib, device);
	for (size_t i = 0; i < device->cisco->port_count; i++)
		switch_mib_cisco_put_port(mib, device, &device->cisco->ports[i]);
	mib_put_scalar(&serial, 2, ASN_INTEGER, device->cisco->serial);
	if (!device->faults.no_config_copy)
		put_copies(mib, device->cisco);
	/* ccmHistoryRunningLastChanged, sysUpTime then: here, so many changes. */
	mib_put_scalar(&history, 1, ASN_TIMETICKS, device->configurations);
	mib_put_scalar(&write_mem, 54, ASN_INTEGER, 0);
}
